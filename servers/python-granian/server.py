"""Answers Paceline's workloads with Granian's own application interface, RSGI."""

import json
import os
import pathlib
import re
import sys

LARGEST_X = 10_000
TETRA = re.compile("/tetra/([0-9]{1,5})")
TEXT = [("content-type", "text/plain; charset=utf-8")]
JSON = [("content-type", "application/json")]

page = pathlib.Path(os.environ["PACELINE_WORKLOADS"], "page.txt").read_text()

# Python refuses to print integers of more than 4,300 digits; the longest here has 40,001.
sys.set_int_max_str_digits(40_001)


def hello():
    return TEXT, "Hello World\n"


def byte():
    return TEXT, "x"


def whole_page():
    return TEXT, page


def message():
    return JSON, json.dumps({"message": "Hello, World!"})


def plaintext():
    return TEXT, "Hello, World!"


def home():
    return TEXT, "OK, no problema!"


ROUTES = {
    "/hello": hello,
    "/byte": byte,
    "/page": whole_page,
    "/json": message,
    "/plaintext": plaintext,
    "/home": home,
}


async def app(scope, protocol):
    if scope.method not in ("GET", "HEAD"):
        protocol.response_str(405, [*TEXT, ("allow", "GET, HEAD")], "Method Not Allowed\n")
    elif route := ROUTES.get(scope.path):
        protocol.response_str(200, *route())
    elif digits := TETRA.fullmatch(scope.path):
        tetra(int(digits[1]), protocol)
    else:
        protocol.response_str(404, TEXT, "Not Found\n")


def tetra(x, protocol):
    if x > LARGEST_X:
        protocol.response_str(400, TEXT, "x must be a whole number from 0 to 10000\n")
    else:
        protocol.response_str(200, TEXT, str(x**x))
