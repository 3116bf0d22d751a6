# Answers Paceline's workloads with Sinatra; puma.rb configures Puma.

require 'json'
require 'sinatra/base'
require 'time'

class App < Sinatra::Base
  LARGEST_X = 10_000
  PAGE = File.read(File.join(ENV.fetch('PACELINE_WORKLOADS'), 'page.txt')).freeze

  helpers do
    # TechEmpower's tests require both headers; neither Sinatra nor Puma sends them.
    def server_and_date
      headers 'Server' => 'Puma', 'Date' => Time.now.httpdate
    end
  end

  before { content_type 'text/plain' }

  get('/hello') { "Hello World\n" }

  get('/byte') { 'x' }

  get('/page') { PAGE }

  get '/json' do
    server_and_date
    content_type :json
    JSON.generate({ message: 'Hello, World!' })
  end

  get '/plaintext' do
    server_and_date
    'Hello, World!'
  end

  get('/home') { 'OK, no problema!' }

  get %r{/tetra/([0-9]{1,5})} do |digits|
    x = digits.to_i
    halt 400, "x must be a whole number from 0 to 10000\n" if x > LARGEST_X
    (x**x).to_s
  end

  get('/tetra-million') { (1_000_000**1_000_000).to_s }

  if ENV.key?('DATABASE')
    require_relative 'database_routes'
    register DatabaseRoutes
  end
end
