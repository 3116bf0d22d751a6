"""The handlers of the database workloads."""

import json

import tornado.web

from database import queries_asked, sorted_fortunes, update_worlds


class DatabaseHandler(tornado.web.RequestHandler):
    def initialize(self, database):
        self.database = database

    def queries(self):
        return queries_asked(self.get_query_argument("queries", ""))

    def write_json(self, rows):
        # Tornado's `write` does not accept lists.
        self.set_header("Content-Type", "application/json")
        self.write(json.dumps(rows))


class WorldHandler(DatabaseHandler):
    async def get(self):
        [world] = await self.database.random_worlds(1)
        self.write_json(world)


class WorldsHandler(DatabaseHandler):
    async def get(self):
        self.write_json(await self.database.random_worlds(self.queries()))


class UpdatesHandler(DatabaseHandler):
    async def get(self):
        self.write_json(await update_worlds(self.database, self.queries()))


class FortunesHandler(DatabaseHandler):
    async def get(self):
        self.render("fortunes.html", fortunes=await sorted_fortunes(self.database))


def database_routes(database):
    arguments = {"database": database}
    return [
        (r"/db", WorldHandler, arguments),
        (r"/queries", WorldsHandler, arguments),
        (r"/updates", UpdatesHandler, arguments),
        (r"/fortunes", FortunesHandler, arguments),
    ]
