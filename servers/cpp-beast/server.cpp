// Answers Paceline's workloads with Boost.Beast on Asio: one coroutine per connection.
#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <boost/json/src.hpp>
#include <boost/multiprecision/gmp.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using asio::use_awaitable;
using boost::multiprecision::mpz_int;
using request_type = http::request<http::string_body>;
using response_type = http::response<http::string_body>;

constexpr unsigned largest_x = 10'000, million = 1'000'000;
constexpr auto idle_limit = std::chrono::seconds(30);
constexpr auto retry_after = std::chrono::milliseconds(10);
std::string page;

// The `Date` header (RFC 9110, section 6.6.1), formatted once a second.
const std::string& date() {
  thread_local std::string text;
  thread_local std::time_t formatted = 0;
  if (const auto now = std::time(nullptr); now != formatted) {
    char bytes[32];
    std::tm parts;
    text.assign(bytes, std::strftime(bytes, sizeof bytes, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts)));
    formatted = now;
  }
  return text;
}

response_type answer(const request_type& request, http::status status, beast::string_view type, std::string body) {
  response_type response{status, request.version()};
  response.set(http::field::server, BOOST_BEAST_VERSION_STRING);
  response.set(http::field::date, date());
  response.set(http::field::content_type, type);
  response.keep_alive(request.keep_alive());
  response.body() = std::move(body);
  response.prepare_payload();
  if (request.method() == http::verb::head) response.body().clear();  // Content-Length is kept
  return response;
}

response_type text(const request_type& request, std::string body, http::status status = http::status::ok) {
  return answer(request, status, "text/plain", std::move(body));
}

response_type json(const request_type& request) {
  const boost::json::object object{{"message", "Hello, World!"}};
  return answer(request, http::status::ok, "application/json", boost::json::serialize(object));
}

response_type power(const request_type& request, unsigned x) {
  return text(request, mpz_int(boost::multiprecision::pow(mpz_int(x), x)).str());
}

response_type tetra(const request_type& request, beast::string_view digits) {
  unsigned x = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, x);  // accepts no sign for an unsigned number
  if (parsed.ec != std::errc() || parsed.ptr != end || x > largest_x)
    return text(request, "x must be a whole number from 0 to 10000\n", http::status::bad_request);
  return power(request, x);
}

response_type route(const request_type& request) {
  if (request.method() != http::verb::get && request.method() != http::verb::head)
    return text(request, "Method Not Allowed\n", http::status::method_not_allowed);
  const beast::string_view path = request.target().substr(0, request.target().find('?'));
  if (path == "/hello") return text(request, "Hello World\n");
  if (path == "/byte") return text(request, "x");
  if (path == "/page") return text(request, page);
  if (path == "/json") return json(request);
  if (path == "/plaintext") return text(request, "Hello, World!");
  if (path == "/home") return text(request, "OK, no problema!");
  if (path == "/tetra-million") return power(request, million);
  if (path.starts_with("/tetra/")) return tetra(request, path.substr(7));
  return text(request, "Not Found\n", http::status::not_found);
}

asio::awaitable<void> serve(beast::tcp_stream stream) {
  beast::flat_buffer buffer;
  try {
    for (bool keep = true; keep;) {
      stream.expires_after(idle_limit);
      request_type request;
      co_await http::async_read(stream, buffer, request, use_awaitable);
      const response_type response = route(request);
      keep = response.keep_alive();
      co_await http::async_write(stream, response, use_awaitable);
    }
  } catch (const boost::system::system_error&) {
    // The client has disconnected or sent invalid HTTP: only this connection ends.
  }
  beast::error_code ignored;
  stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
}

asio::awaitable<void> listen(tcp::endpoint endpoint) {
  const auto executor = co_await asio::this_coro::executor;
  tcp::acceptor acceptor(executor, endpoint);
  for (;;) {
    beast::error_code error;
    auto noted = asio::redirect_error(use_awaitable, error);
    tcp::socket socket = co_await acceptor.async_accept(asio::make_strand(executor), noted);
    if (error) {  // out of file descriptors, or the client has disconnected: keep accepting
      co_await asio::steady_timer(executor, retry_after).async_wait(noted);
      continue;
    }
    socket.set_option(tcp::no_delay(true), error);
    const auto strand = socket.get_executor();
    asio::co_spawn(strand, serve(beast::tcp_stream(std::move(socket))), asio::detached);
  }
}

int main(int count, char** arguments) {  // HOST PORT THREADS PAGE
  if (count != 5) return 2;
  std::ifstream file(arguments[4], std::ios::binary);
  page.assign(std::istreambuf_iterator<char>(file), {});
  const tcp::endpoint endpoint(asio::ip::make_address(arguments[1]), std::atoi(arguments[2]));
  const int threads = std::max(1, std::atoi(arguments[3]));

  asio::io_context context(threads);
  asio::signal_set terminate(context, SIGTERM);
  terminate.async_wait([&](auto, auto) { context.stop(); });
  asio::co_spawn(context, listen(endpoint), [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  });
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; i++) others.emplace_back([&] { context.run(); });
  context.run();
}
