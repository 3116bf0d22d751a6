"""Answers Paceline's workloads with Starlette, run by Hypercorn."""

import asyncio
import os
import pathlib

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, StreamingResponse
from starlette.routing import Route

from power import WRONG_X, power

page = pathlib.Path(os.environ["PACELINE_WORKLOADS"], "page.txt").read_text()


async def json(request):
    return JSONResponse({"message": "Hello, World!"})


async def tetra(request):
    digits = power(request.path_params["x"])
    return PlainTextResponse(WRONG_X, 400) if digits is None else PlainTextResponse(digits)


async def upload(request):
    length = 0
    async for piece in request.stream():
        length += len(piece)
    return PlainTextResponse(str(length))


async def sse(request):
    """Sends events as a model server sends tokens: the first after `first` milliseconds, the others `gap` apart."""
    try:
        events = int(request.query_params.get("events", 20))
        gap = float(request.query_params.get("gap", 5))
        first = float(request.query_params.get("first", gap))
    except ValueError:
        return PlainTextResponse("events, gap and first must be numbers\n", 400)

    async def stream():
        await asyncio.sleep(first / 1000)
        for index in range(events):
            yield f'data: {{"index":{index},"tokens":1}}\n\n'
            await asyncio.sleep(gap / 1000)
        yield "data: [DONE]\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})


def text(path, body):
    async def answer(request):
        return PlainTextResponse(body)

    return Route(path, answer)


app = Starlette(
    routes=[
        text("/hello", "Hello World\n"),
        text("/byte", "x"),
        text("/page", page),
        Route("/json", json),
        text("/plaintext", "Hello, World!"),
        text("/home", "OK, no problema!"),
        Route("/tetra/{x}", tetra),
        Route("/sse", sse),
        Route("/upload", upload, methods=["POST"]),
    ]
)
# Otherwise `/hello/` would be redirected to `/hello`.
app.router.redirect_slashes = False
