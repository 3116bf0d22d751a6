"""Answers Paceline's workloads with FastAPI, run by uvicorn."""

import asyncio
import os
import pathlib
import sys
from typing import Annotated

from fastapi import FastAPI, HTTPException, Path, Request
from fastapi.responses import PlainTextResponse, StreamingResponse

LARGEST_X = 10_000

# No documentation pages: any path that is not a workload gets 404.
options = {"openapi_url": None, "redirect_slashes": False}
if "DATABASE" in os.environ:
    import database_routes

    app = FastAPI(lifespan=database_routes.lifespan, **options)
    app.include_router(database_routes.router)
else:
    app = FastAPI(**options)
page = pathlib.Path(os.environ["PACELINE_WORKLOADS"], "page.txt").read_bytes()

# Python refuses to print integers of more than 4,300 digits; the longest here has 40,001.
sys.set_int_max_str_digits(40_001)


@app.get("/hello", response_class=PlainTextResponse)
async def hello():
    return "Hello World\n"


@app.get("/byte", response_class=PlainTextResponse)
async def byte():
    return "x"


@app.get("/page")
async def whole_page():
    return PlainTextResponse(page)


@app.get("/json")
async def json():
    return {"message": "Hello, World!"}


@app.get("/plaintext", response_class=PlainTextResponse)
async def plaintext():
    return "Hello, World!"


@app.get("/home", response_class=PlainTextResponse)
async def home():
    return "OK, no problema!"


@app.get("/tetra/{digits}", response_class=PlainTextResponse)
async def tetra(digits: Annotated[str, Path(pattern="^[0-9]{1,5}$")]):
    # Declared as `int` it would also accept "3.0" and "+3".
    x = int(digits)
    if x > LARGEST_X:
        raise HTTPException(400, "x must be a whole number from 0 to 10000")
    return str(x**x)


@app.get("/sse")
async def sse(events: int = 20, gap: float = 5, first: float | None = None):
    """Sends events as a model server sends tokens: the first after `first` milliseconds, the others `gap` apart."""

    async def stream():
        await asyncio.sleep((gap if first is None else first) / 1000)
        for index in range(events):
            yield f'data: {{"index":{index},"tokens":1}}\n\n'
            await asyncio.sleep(gap / 1000)
        yield "data: [DONE]\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})


@app.post("/upload", response_class=PlainTextResponse)
async def upload(request: Request):
    length = 0
    async for piece in request.stream():
        length += len(piece)
    return str(length)
