"""The routes of the database workloads."""

import contextlib
import os
import pathlib
from typing import Any

from litestar import get
from litestar.contrib.jinja import JinjaTemplateEngine
from litestar.datastructures import State
from litestar.response import Template
from litestar.template.config import TemplateConfig

from database import open_database, queries_asked, sorted_fortunes, update_worlds


@contextlib.asynccontextmanager
async def lifespan(app):
    app.state.database = await open_database(processes=int(os.environ["WORKERS"]))
    yield
    await app.state.database.close()


@get("/db")
async def one_world(state: State) -> dict[str, Any]:
    [world] = await state.database.random_worlds(1)
    return world


@get("/queries")
async def worlds(state: State, queries: str = "") -> list[dict[str, Any]]:
    return await state.database.random_worlds(queries_asked(queries))


@get("/updates")
async def updates(state: State, queries: str = "") -> list[dict[str, Any]]:
    return await update_worlds(state.database, queries_asked(queries))


@get("/fortunes")
async def fortunes(state: State) -> Template:
    return Template("fortunes.html", context={"fortunes": await sorted_fortunes(state.database)})


handlers = [one_world, worlds, updates, fortunes]
options = {
    "lifespan": [lifespan],
    "template_config": TemplateConfig(
        directory=pathlib.Path(__file__).with_name("templates"), engine=JinjaTemplateEngine
    ),
}
