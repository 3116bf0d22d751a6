"""The routes of the database workloads."""

import os
import pathlib

from blacksheep import get, json
from blacksheep.server.rendering.jinja2 import JinjaRenderer
from blacksheep.server.responses import view
from blacksheep.settings.html import html_settings
from jinja2 import FileSystemLoader

from database import open_database, queries_asked, sorted_fortunes, update_worlds

html_settings.use(JinjaRenderer(FileSystemLoader(pathlib.Path(__file__).with_name("templates"))))


class Database:
    """The name of the service that is injected: an instance of one of the classes in `database`."""


async def lifespan(app):
    database = await open_database(processes=int(os.environ["WORKERS"]))
    app.services.register(Database, instance=database)
    yield
    await database.close()


@get("/db")
async def one_world(database: Database):
    [world] = await database.random_worlds(1)
    return json(world)


@get("/queries")
async def worlds(database: Database, queries: str = ""):
    return json(await database.random_worlds(queries_asked(queries)))


@get("/updates")
async def updates(database: Database, queries: str = ""):
    return json(await update_worlds(database, queries_asked(queries)))


@get("/fortunes")
async def fortunes(database: Database):
    return view("fortunes", fortunes=await sorted_fortunes(database))
