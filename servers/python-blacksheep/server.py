"""Answers Paceline's workloads with BlackSheep, run by uvicorn."""

import os
import pathlib

from blacksheep import Application, get, json, text

from power import WRONG_X, power

page = pathlib.Path(os.environ["PACELINE_WORKLOADS"], "page.txt").read_text()
app = Application()


@get("/hello")
async def hello():
    return text("Hello World\n")


@get("/byte")
async def byte():
    return text("x")


@get("/page")
async def whole_page():
    return text(page)


@get("/json")
async def message():
    return json({"message": "Hello, World!"})


@get("/plaintext")
async def plaintext():
    return text("Hello, World!")


@get("/home")
async def home():
    return text("OK, no problema!")


@get("/tetra/{x}")
async def tetra(x: str):
    digits = power(x)
    return text(WRONG_X, 400) if digits is None else text(digits)


if "DATABASE" in os.environ:
    import database_routes

    app.lifespan(database_routes.lifespan)
