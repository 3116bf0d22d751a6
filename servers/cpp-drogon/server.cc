// Answers Paceline's workloads with Drogon.

#include "routes.h"

#include <algorithm>
#include <cstdlib>
#include <drogon/drogon.h>
#include <fstream>
#include <functional>
#include <gmpxx.h>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>

using namespace drogon;

namespace {

using Callback = std::function<void(const HttpResponsePtr &)>;

constexpr unsigned long LARGEST_X = 10'000;
constexpr unsigned long MILLION = 1'000'000;

HttpResponsePtr text(std::string body, HttpStatusCode status = k200OK) {
    auto response = HttpResponse::newHttpResponse();
    response->setStatusCode(status);
    response->setContentTypeCode(CT_TEXT_PLAIN);
    response->setBody(std::move(body));
    return response;
}

HttpResponsePtr json_message() {
    Json::Value message;
    message["message"] = "Hello, World!";
    return HttpResponse::newHttpJsonResponse(message);
}

HttpResponsePtr power(unsigned long x) {
    mpz_class result;
    mpz_ui_pow_ui(result.get_mpz_t(), x, x);
    return text(result.get_str());
}

HttpResponsePtr tetra(const std::string &digits) {
    const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
    const bool is_short = !digits.empty() && digits.size() <= 5;
    if (!is_short || !std::all_of(digits.begin(), digits.end(), is_digit) || std::stoul(digits) > LARGEST_X) {
        return text("x must be a whole number from 0 to 10000\n", k400BadRequest);
    }
    return power(std::stoul(digits));
}

std::string contents(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void add_route(const std::string &path, std::function<HttpResponsePtr()> answer) {
    auto handler = [answer = std::move(answer)](const HttpRequestPtr &, Callback &&callback) { callback(answer()); };
    app().registerHandler(path, std::move(handler), {Get});
}

} // namespace

std::string variable(const char *name) {
    const char *value = std::getenv(name);
    if (value == nullptr) {
        std::cerr << name << " is not set\n";
        std::exit(1);
    }
    return value;
}

int main() {
    add_route("/hello", [] { return text("Hello World\n"); });
    add_route("/byte", [] { return text("x"); });
    add_route("/page", [page = contents(variable("PAGE"))] { return text(page); });
    add_route("/json", json_message);
    add_route("/plaintext", [] { return text("Hello, World!"); });
    add_route("/home", [] { return text("OK, no problema!"); });
    add_route("/tetra-million", [] { return power(MILLION); });
    app().registerHandler(
        "/tetra/{x}",
        [](const HttpRequestPtr &, Callback &&callback, const std::string &x) { callback(tetra(x)); },
        {Get});
    add_database_routes();
    app()
        .setLogLevel(trantor::Logger::kWarn)
        .addListener(variable("HOST"), static_cast<uint16_t>(std::stoul(variable("PORT"))))
        .setThreadNum(std::stoul(variable("THREADS")))
        .run();
}
