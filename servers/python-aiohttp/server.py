"""Answers Paceline's workloads with aiohttp, run by gunicorn."""

import os
import pathlib

from aiohttp import web

from power import WRONG_X, power

page = pathlib.Path(os.environ["PACELINE_WORKLOADS"], "page.txt").read_text()


async def json(request):
    return web.json_response({"message": "Hello, World!"})


async def tetra(request):
    digits = power(request.match_info["x"])
    return web.Response(text=WRONG_X, status=400) if digits is None else web.Response(text=digits)


def text(path, body):
    async def answer(request):
        return web.Response(text=body)

    return web.get(path, answer)


def make_app():
    app = web.Application()
    app.add_routes(
        [
            text("/hello", "Hello World\n"),
            text("/byte", "x"),
            text("/page", page),
            web.get("/json", json),
            text("/plaintext", "Hello, World!"),
            text("/home", "OK, no problema!"),
            web.get("/tetra/{x}", tetra),
        ]
    )
    if "DATABASE" in os.environ:
        import database_routes

        database_routes.add_to(app)
    return app


app = make_app()
