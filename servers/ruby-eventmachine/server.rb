# Answers Paceline's workloads with EventMachine and http_parser.rb: one reactor per process.

require 'eventmachine'
require 'http/parser'
require 'json'
require 'time'

LARGEST_X = 10_000
STATUS = { 200 => 'OK', 400 => 'Bad Request', 404 => 'Not Found', 405 => 'Method Not Allowed' }.freeze
TEXT = 'text/plain; charset=utf-8'.freeze
PAGE = File.binread(File.join(ENV.fetch('PACELINE_WORKLOADS'), 'page.txt')).freeze

# The lines of an answer, for a request that asks for `path`: status, content type, body.
module Routes
  module_function

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

# One connection. http_parser.rb calls back for each request it finds in what was received.
class HttpConnection < EM::Connection
  class << self
    attr_accessor :date # RFC 9110, section 6.6.1; formatted once a second
  end

  def post_init
    @parser = Http::Parser.new(self)
  end

  def receive_data(data)
    @parser << data
  rescue Http::Parser::Error
    refuse
  end

  def on_message_complete
    return if @last # sent after a request that asked to close

    @last = true unless @parser.keep_alive?
    path = @parser.request_url.split('?', 2).first
    get = %w[GET HEAD].include?(@parser.http_method)
    respond(*(get ? Routes.answer(path) : [405, TEXT, "Method Not Allowed\n"]))
  end

  private

  def refuse
    return if @last

    @last = true
    respond(400, TEXT, "Bad Request\n")
  end

  def respond(status, type, body)
    send_data(head(status, type, body.bytesize))
    send_data(body) unless @parser.http_method == 'HEAD'
    close_connection_after_writing if @last
  end

  def head(status, type, length)
    "HTTP/1.1 #{status} #{STATUS[status]}\r\n" \
      "Server: EventMachine\r\nDate: #{self.class.date}\r\n" \
      "Content-Type: #{type}\r\nContent-Length: #{length}\r\n" \
      "#{"Allow: GET, HEAD\r\n" if status == 405}" \
      "#{connection_header}\r\n"
  end

  def connection_header
    return "Connection: close\r\n" if @last

    "Connection: keep-alive\r\n" if @parser.http_minor.zero?
  end
end

def serve(host, port)
  EM.epoll
  EM.run do
    trap('TERM') { EM.stop_event_loop }
    tick = -> { HttpConnection.date = Time.now.httpdate }
    tick.call
    EM.add_periodic_timer(1, &tick)
    EM.start_server(host, port, HttpConnection)
  end
end

serve(ENV.fetch('PACELINE_HOST'), Integer(ENV.fetch('PACELINE_PORT')))
