// The database workloads: PostgreSQL by Drogon's own client, in coroutines.

#include "fortune.h"
#include "routes.h"

#include <algorithm>
#include <drogon/drogon.h>
#include <drogon/orm/DbClient.h>
#include <random>
#include <string>
#include <vector>

using namespace drogon;

namespace {

constexpr int WORLD_ROWS = 10'000;
constexpr int MOST_QUERIES = 500;
constexpr size_t CONNECTIONS = 32;

struct World {
    int id;
    int number;
};

int random_number() {
    thread_local std::mt19937 generator{std::random_device{}()};
    return std::uniform_int_distribution<int>{1, WORLD_ROWS}(generator);
}

// The parameter `queries`: 1 if it is missing or not an integer.
int asked(const HttpRequestPtr &request) {
    const std::string &text = request->getParameter("queries");
    const auto is_digit = [](char c) { return '0' <= c && c <= '9'; };
    if (text.empty() || text.size() > 9 || !std::all_of(text.begin(), text.end(), is_digit)) {
        return 1;
    }
    return std::clamp(std::stoi(text), 1, MOST_QUERIES);
}

Json::Value shown(const World &world) {
    Json::Value row;
    row["id"] = world.id;
    row["randomNumber"] = world.number;
    return row;
}

Json::Value shown(const std::vector<World> &worlds) {
    Json::Value rows(Json::arrayValue);
    for (const auto &world : worlds) {
        rows.append(shown(world));
    }
    return rows;
}

Task<std::vector<World>> random_worlds(int count) {
    const auto database = app().getDbClient();
    std::vector<World> worlds;
    for (int i = 0; i < count; i++) {
        const auto rows =
            co_await database->execSqlCoro("SELECT id, randomNumber FROM world WHERE id = $1", random_number());
        // PostgreSQL's name of the column is in lower case.
        worlds.push_back({rows[0]["id"].as<int>(), rows[0]["randomnumber"].as<int>()});
    }
    co_return worlds;
}

Task<HttpResponsePtr> db(HttpRequestPtr) {
    const auto worlds = co_await random_worlds(1);
    co_return HttpResponse::newHttpJsonResponse(shown(worlds.front()));
}

Task<HttpResponsePtr> queries(HttpRequestPtr request) {
    const auto worlds = co_await random_worlds(asked(request));
    co_return HttpResponse::newHttpJsonResponse(shown(worlds));
}

// Each statement is a transaction of one row, so that none waits for another while it holds a lock.
Task<HttpResponsePtr> updates(HttpRequestPtr request) {
    auto worlds = co_await random_worlds(asked(request));
    const auto database = app().getDbClient();
    for (auto &world : worlds) {
        world.number = random_number();
        co_await database->execSqlCoro("UPDATE world SET randomNumber = $1 WHERE id = $2", world.number, world.id);
    }
    co_return HttpResponse::newHttpJsonResponse(shown(worlds));
}

Task<HttpResponsePtr> fortunes(HttpRequestPtr) {
    const auto rows = co_await app().getDbClient()->execSqlCoro("SELECT id, message FROM fortune");
    std::vector<Fortune> fortunes{{0, "Additional fortune added at request time."}};
    for (const auto &row : rows) {
        fortunes.push_back({row["id"].as<int>(), row["message"].as<std::string>()});
    }
    std::sort(fortunes.begin(), fortunes.end(), [](const Fortune &a, const Fortune &b) { return a.message < b.message; });
    HttpViewData data;
    data.insert("fortunes", std::move(fortunes));
    co_return HttpResponse::newHttpViewResponse("fortunes", data);
}

} // namespace

void add_database_routes() {
    app().createDbClient("postgresql", variable("DATABASE_HOST"), 5432, "hello_world", "benchmarkdbuser",
                         "benchmarkdbpass", CONNECTIONS);
    app().registerHandler("/db", &db, {Get});
    app().registerHandler("/queries", &queries, {Get});
    app().registerHandler("/updates", &updates, {Get});
    app().registerHandler("/fortunes", &fortunes, {Get});
}
