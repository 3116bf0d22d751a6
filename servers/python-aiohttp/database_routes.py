"""The routes of the database workloads."""

import os
import pathlib

import aiohttp_jinja2
import jinja2
from aiohttp import web

from database import open_database, queries_asked, sorted_fortunes, update_worlds

DATABASE = web.AppKey("database", object)


def add_to(app):
    templates = pathlib.Path(__file__).with_name("templates")
    aiohttp_jinja2.setup(app, loader=jinja2.FileSystemLoader(templates))
    app.cleanup_ctx.append(with_database)
    app.add_routes(
        [
            web.get("/db", one_world),
            web.get("/queries", worlds),
            web.get("/updates", updates),
            web.get("/fortunes", fortunes),
        ]
    )


async def with_database(app):
    app[DATABASE] = await open_database(processes=int(os.environ["WORKERS"]))
    yield
    await app[DATABASE].close()


def queries(request):
    return queries_asked(request.query.get("queries", ""))


async def one_world(request):
    [world] = await request.app[DATABASE].random_worlds(1)
    return web.json_response(world)


async def worlds(request):
    return web.json_response(await request.app[DATABASE].random_worlds(queries(request)))


async def updates(request):
    return web.json_response(await update_worlds(request.app[DATABASE], queries(request)))


@aiohttp_jinja2.template("fortunes.html")
async def fortunes(request):
    return {"fortunes": await sorted_fortunes(request.app[DATABASE])}
