"""Answers Paceline's workloads with Starlette, run by uvicorn."""

import os
import pathlib

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from power import WRONG_X, power

page = pathlib.Path(os.environ["PACELINE_WORKLOADS"], "page.txt").read_text()


async def json(request):
    return JSONResponse({"message": "Hello, World!"})


async def tetra(request):
    digits = power(request.path_params["x"])
    return PlainTextResponse(WRONG_X, 400) if digits is None else PlainTextResponse(digits)


def text(path, body):
    async def answer(request):
        return PlainTextResponse(body)

    return Route(path, answer)


routes = [
    text("/hello", "Hello World\n"),
    text("/byte", "x"),
    text("/page", page),
    Route("/json", json),
    text("/plaintext", "Hello, World!"),
    text("/home", "OK, no problema!"),
    Route("/tetra/{x}", tetra),
]
if "DATABASE" in os.environ:
    import database_routes

    app = Starlette(routes=routes + database_routes.routes, lifespan=database_routes.lifespan)
else:
    app = Starlette(routes=routes)
# Otherwise `/hello/` would be redirected to `/hello`.
app.router.redirect_slashes = False
