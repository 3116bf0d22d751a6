# Answers Paceline's workloads with EventMachine and evma_httpserver, as the gem's own example does.

require 'eventmachine'
require 'evma_httpserver'
require 'json'
require 'time'

TEXT = 'text/plain'
LARGEST_X = 10_000
PAGE = File.binread(ENV.fetch('PAGE')).freeze

module Routes
  module_function

  # Status, content type and body.
  def answer(path)
    case path
    when '/hello' then [200, TEXT, "Hello World\n"]
    when '/byte' then [200, TEXT, 'x']
    when '/page' then [200, TEXT, PAGE]
    when '/json' then [200, 'application/json', JSON.generate({ message: 'Hello, World!' })]
    when '/plaintext' then [200, TEXT, 'Hello, World!']
    when '/home' then [200, TEXT, 'OK, no problema!']
    when '/tetra-million' then [200, TEXT, (1_000_000**1_000_000).to_s]
    when %r{\A/tetra/([0-9]{1,5})\z} then tetra(Regexp.last_match(1).to_i)
    else [404, TEXT, "Not Found\n"]
    end
  end

  def tetra(x)
    return [400, TEXT, "x must be a whole number from 0 to 10000\n"] if x > LARGEST_X

    [200, TEXT, (x**x).to_s]
  end
end

# One connection. evma_httpserver parses its request and calls `process_http_request`.
class HttpConnection < EM::Connection
  include EM::HttpServer

  class << self
    attr_accessor :date # RFC 9110, section 6.6.1; formatted once a second
  end

  def post_init
    super
    # Otherwise each request would be copied into variables of the environment.
    no_environment_strings
  end

  def process_http_request
    get = %w[GET HEAD].include?(@http_request_method)
    status, type, body = get ? Routes.answer(@http_path_info) : [405, TEXT, "Method Not Allowed\n"]
    response = EM::DelegatedHttpResponse.new(self)
    response.status = status
    response.content_type(type)
    response.headers['Server'] = 'evma_httpserver'
    response.headers['Date'] = self.class.date
    response.headers['Connection'] = 'close'
    if @http_request_method == 'HEAD'
      response.headers['Content-Length'] = body.bytesize
    else
      response.content = body
    end
    response.send_response
  end
end

EM.epoll
EM.run do
  trap('TERM') { EM.stop_event_loop }
  tick = -> { HttpConnection.date = Time.now.httpdate }
  tick.call
  EM.add_periodic_timer(1, &tick)
  EM.start_server(ENV.fetch('HOST'), Integer(ENV.fetch('PORT')), HttpConnection)
end
