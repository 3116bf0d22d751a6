"""The routes of the database workloads."""

import pathlib

from robyn.templating import JinjaTemplate

from database import open_database, queries_asked, sorted_fortunes, update_worlds

templates = JinjaTemplate(pathlib.Path(__file__).with_name("templates"))
database = None


def add(app):
    @app.startup_handler
    async def open_pool():
        global database
        database = await open_database(processes=app.config.processes)

    @app.get("/db")
    async def one_world():
        [world] = await database.random_worlds(1)
        return world

    @app.get("/queries")
    async def worlds(queries: str = ""):
        return await database.random_worlds(queries_asked(queries))

    @app.get("/updates")
    async def updates(queries: str = ""):
        return await update_worlds(database, queries_asked(queries))

    @app.get("/fortunes")
    async def fortunes():
        return templates.render_template("fortunes.html", fortunes=await sorted_fortunes(database))
