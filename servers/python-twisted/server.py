"""Answers Paceline's workloads with twisted.web."""

import json
import os
import pathlib
import re
import sys

from twisted.internet import defer, endpoints, task
from twisted.web import pages, resource, server

LARGEST_X = 10_000
WHOLE_NUMBER = re.compile(rb"[0-9]{1,5}")


class Text(resource.Resource):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def render_GET(self, request):
        request.setHeader(b"content-type", b"text/plain; charset=utf-8")
        return self.body


class Json(resource.Resource):
    def render_GET(self, request):
        request.setHeader(b"content-type", b"application/json")
        return json.dumps({"message": "Hello, World!"}).encode()


class Power(resource.Resource):
    def __init__(self, x):
        super().__init__()
        self.x = x

    def render_GET(self, request):
        request.setHeader(b"content-type", b"text/plain; charset=utf-8")
        return str(self.x**self.x).encode()


class Tetra(resource.Resource):
    def getChild(self, name, request):
        if WHOLE_NUMBER.fullmatch(name) and int(name) <= LARGEST_X:
            return Power(int(name))
        return pages.notFound()

    def render(self, request):
        return pages.notFound().render(request)


class Site(server.Site):
    def log(self, request):
        """Writes nothing: by default each request is formatted for an access log."""


def make_site():
    page = pathlib.Path(os.environ["PACELINE_WORKLOADS"], "page.txt").read_bytes()
    root = resource.Resource()
    root.putChild(b"hello", Text(b"Hello World\n"))
    root.putChild(b"byte", Text(b"x"))
    root.putChild(b"page", Text(page))
    root.putChild(b"json", Json())
    root.putChild(b"plaintext", Text(b"Hello, World!"))
    root.putChild(b"home", Text(b"OK, no problema!"))
    root.putChild(b"tetra", Tetra())
    return Site(root)


async def main(reactor):
    # Python refuses to print integers of more than 4,300 digits; the longest here has 40,001.
    sys.set_int_max_str_digits(40_001)
    port, host = int(os.environ["PACELINE_PORT"]), os.environ["PACELINE_HOST"]
    endpoint = endpoints.TCP4ServerEndpoint(reactor, port, backlog=511, interface=host)
    await endpoint.listen(make_site())
    await defer.Deferred()  # until SIGTERM stops the reactor


if __name__ == "__main__":
    task.react(main)
