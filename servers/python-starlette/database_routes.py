"""The routes of the database workloads."""

import contextlib
import os
import pathlib

from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.templating import Jinja2Templates

from database import open_database, queries_asked, sorted_fortunes, update_worlds

templates = Jinja2Templates(pathlib.Path(__file__).with_name("templates"))


@contextlib.asynccontextmanager
async def lifespan(app):
    app.state.database = await open_database(processes=int(os.environ["WORKERS"]))
    yield
    await app.state.database.close()


def queries(request):
    return queries_asked(request.query_params.get("queries", ""))


async def one_world(request):
    [world] = await request.app.state.database.random_worlds(1)
    return JSONResponse(world)


async def worlds(request):
    return JSONResponse(await request.app.state.database.random_worlds(queries(request)))


async def updates(request):
    return JSONResponse(await update_worlds(request.app.state.database, queries(request)))


async def fortunes(request):
    rows = await sorted_fortunes(request.app.state.database)
    return templates.TemplateResponse(request, "fortunes.html", {"fortunes": rows})


routes = [
    Route("/db", one_world),
    Route("/queries", worlds),
    Route("/updates", updates),
    Route("/fortunes", fortunes),
]
