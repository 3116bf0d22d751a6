"""Answers Paceline's workloads with Robyn."""

import os
import pathlib
import signal

from robyn import Response, Robyn

from power import WRONG_X, power

page = pathlib.Path(os.environ["PACELINE_WORKLOADS"], "page.txt").read_text()
app = Robyn(__file__)
# Robyn sends no `Server` header, which TechEmpower's tests require.
app.set_response_header("Server", "Robyn")


@app.get("/hello")
async def hello():
    return "Hello World\n"


@app.get("/byte")
async def byte():
    return "x"


@app.get("/page")
async def whole_page():
    return page


@app.get("/json")
async def json():
    return {"message": "Hello, World!"}


@app.get("/plaintext")
async def plaintext():
    return "Hello, World!"


@app.get("/home")
async def home():
    return "OK, no problema!"


@app.get("/tetra/:x")
async def tetra(x: str):
    digits = power(x)
    return Response(400, {"Content-Type": "text/plain"}, WRONG_X) if digits is None else digits


if "DATABASE" in os.environ:
    import database_routes

    database_routes.add(app)

if __name__ == "__main__":
    # Robyn's event loop ends on Ctrl+C, but would go on after SIGTERM.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    app.start(host=os.environ["PACELINE_HOST"], port=int(os.environ["PACELINE_PORT"]))
