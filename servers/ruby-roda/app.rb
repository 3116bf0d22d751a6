# Answers Paceline's workloads with Roda; puma.rb configures Puma.

require 'json'
require 'roda'
require 'time'
require_relative 'database'

class App < Roda
  LARGEST_X = 10_000
  PAGE = File.read(ENV.fetch('PAGE')).freeze

  plugin :head
  plugin :render, escape: true

  route do |r|
    r.get('hello') { text "Hello World\n" }
    r.get('byte') { text 'x' }
    r.get('page') { text PAGE }
    r.get('json') { json({ message: 'Hello, World!' }) }
    r.get('plaintext') { server_and_date; text 'Hello, World!' }
    r.get('home') { text 'OK, no problema!' }
    r.get('tetra', /([0-9]{1,5})/) { |digits| tetra(digits.to_i) }
    r.get('tetra-million') { text((1_000_000**1_000_000).to_s) }
    r.get('db') { json Database.random_world }
    r.get('queries') { json Database.random_worlds(queries) }
    r.get('updates') { json Database.update_worlds(queries) }
    r.get('fortunes') { fortunes }
  end

  private

  # TechEmpower's tests require both headers; neither Roda nor Puma sends them.
  def server_and_date
    response['server'] = 'Puma'
    response['date'] = Time.now.httpdate
  end

  def text(body)
    response['content-type'] = 'text/plain'
    body
  end

  def json(value)
    server_and_date
    response['content-type'] = 'application/json'
    JSON.generate(value)
  end

  def tetra(x)
    return text((x**x).to_s) if x <= LARGEST_X

    response.status = 400
    text "x must be a whole number from 0 to 10000\n"
  end

  def queries
    Database.queries_asked(request.params['queries'])
  end

  def fortunes
    server_and_date
    response['content-type'] = 'text/html; charset=utf-8'
    render('fortunes', locals: { rows: Database.fortunes })
  end
end
