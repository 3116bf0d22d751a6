"""Answers Paceline's workloads with Litestar, run by uvicorn."""

import os
import pathlib

from litestar import Litestar, MediaType, Response, get

from power import WRONG_X, power

page = pathlib.Path(os.environ["PACELINE_WORKLOADS"], "page.txt").read_text()


@get("/hello", media_type=MediaType.TEXT)
async def hello() -> str:
    return "Hello World\n"


@get("/byte", media_type=MediaType.TEXT)
async def byte() -> str:
    return "x"


@get("/page", media_type=MediaType.TEXT)
async def whole_page() -> str:
    return page


@get("/json")
async def json() -> dict[str, str]:
    return {"message": "Hello, World!"}


@get("/plaintext", media_type=MediaType.TEXT)
async def plaintext() -> str:
    return "Hello, World!"


@get("/home", media_type=MediaType.TEXT)
async def home() -> str:
    return "OK, no problema!"


@get("/tetra/{x:str}", media_type=MediaType.TEXT)
async def tetra(x: str) -> Response[str]:
    digits = power(x)
    return Response(WRONG_X, status_code=400) if digits is None else Response(digits)


handlers = [hello, byte, whole_page, json, plaintext, home, tetra]
options = {"openapi_config": None, "logging_config": None}
if "DATABASE" in os.environ:
    import database_routes

    app = Litestar([*handlers, *database_routes.handlers], **options, **database_routes.options)
else:
    app = Litestar(handlers, **options)
