"""The routes of the database workloads."""

import contextlib
import os
import pathlib

from fastapi import APIRouter, Request
from fastapi.templating import Jinja2Templates

from database import open_database, queries_asked, sorted_fortunes, update_worlds

router = APIRouter()
templates = Jinja2Templates(pathlib.Path(__file__).with_name("templates"))


@contextlib.asynccontextmanager
async def lifespan(app):
    app.state.database = await open_database(processes=int(os.environ["WORKERS"]))
    yield
    await app.state.database.close()


@router.get("/db")
async def one_world(request: Request):
    [world] = await request.app.state.database.random_worlds(1)
    return world


@router.get("/queries")
async def worlds(request: Request, queries: str = ""):
    return await request.app.state.database.random_worlds(queries_asked(queries))


@router.get("/updates")
async def updates(request: Request, queries: str = ""):
    return await update_worlds(request.app.state.database, queries_asked(queries))


@router.get("/fortunes")
async def fortunes(request: Request):
    rows = await sorted_fortunes(request.app.state.database)
    return templates.TemplateResponse(request, "fortunes.html", {"fortunes": rows})
