"""Answers Paceline's workloads with Flask under gunicorn."""

import os
import pathlib
import re
import sys

import flask

LARGEST_X = 10_000
WHOLE_NUMBER = re.compile("[0-9]{1,5}")

app = flask.Flask(__name__, static_folder=None)
page = pathlib.Path(os.environ["PACELINE_WORKLOADS"], "page.txt").read_bytes()

# Python refuses to print integers of more than 4,300 digits; the longest here has 40,001.
sys.set_int_max_str_digits(40_001)


def text(body):
    return flask.Response(body, mimetype="text/plain")


@app.get("/hello")
def hello():
    return text("Hello World\n")


@app.get("/byte")
def byte():
    return text("x")


@app.get("/page")
def whole_page():
    return text(page)


@app.get("/json")
def json():
    return {"message": "Hello, World!"}


@app.get("/plaintext")
def plaintext():
    return text("Hello, World!")


@app.get("/home")
def home():
    return text("OK, no problema!")


@app.get("/tetra/<digits>")
def tetra(digits):
    # The converter `int` would accept the digits of every script (Unicode).
    if not WHOLE_NUMBER.fullmatch(digits) or int(digits) > LARGEST_X:
        flask.abort(400)
    x = int(digits)
    return text(str(x**x))


if "DATABASE" in os.environ:
    import database_routes

    app.register_blueprint(database_routes.routes)
