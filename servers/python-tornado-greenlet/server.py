"""Answers Paceline's workloads with Tornado, each handler in its own greenlet."""

import asyncio
import contextlib
import functools
import logging
import os
import pathlib
import signal
import sys

import greenlet
import tornado.httpserver
import tornado.netutil
import tornado.process
import tornado.web

LARGEST_X = 10_000
STOP_LIMIT_S = 2


def in_greenlet(method):
    """Runs a handler's method in a greenlet, so that it may `wait` without being a coroutine."""

    @functools.wraps(method)
    async def handle(*arguments):
        task = greenlet.greenlet(method)
        waited_for = task.switch(*arguments)
        while not task.dead:
            try:
                result = await waited_for
            except Exception as error:  # raised in the handler, where it waits
                waited_for = task.throw(error)
            else:
                waited_for = task.switch(result)

    return handle


def wait(awaitable):
    """Suspends the greenlet this is called in until `awaitable` is done, and returns its result."""
    return greenlet.getcurrent().parent.switch(awaitable)


class TextHandler(tornado.web.RequestHandler):
    def initialize(self, body):
        self.body = body

    @in_greenlet
    def get(self):
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.write(self.body)


class JsonHandler(tornado.web.RequestHandler):
    @in_greenlet
    def get(self):
        self.write({"message": "Hello, World!"})


def power(x):
    return str(x**x)


class TetraHandler(tornado.web.RequestHandler):
    @in_greenlet
    def get(self, digits):
        x = int(digits)
        if x > LARGEST_X:
            raise tornado.web.HTTPError(400)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.write(wait(asyncio.get_running_loop().run_in_executor(None, power, x)))


def make_app():
    page = pathlib.Path(os.environ["PACELINE_WORKLOADS"], "page.txt").read_bytes()
    return tornado.web.Application(
        [
            (r"/hello", TextHandler, {"body": "Hello World\n"}),
            (r"/byte", TextHandler, {"body": "x"}),
            (r"/page", TextHandler, {"body": page}),
            (r"/json", JsonHandler),
            (r"/plaintext", TextHandler, {"body": "Hello, World!"}),
            (r"/home", TextHandler, {"body": "OK, no problema!"}),
            (r"/tetra/([0-9]{1,5})", TetraHandler),
        ]
    )


async def serve(sockets, parent=None):
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    if parent is not None:
        loop.add_reader(parent, stop.set)

    server = tornado.httpserver.HTTPServer(make_app())
    server.add_sockets(sockets)
    await stop.wait()
    server.stop()
    # Connections are closed one after the other, so thousands of them would delay the exit for a long time.
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(server.close_all_connections(), STOP_LIMIT_S)


def fork(processes):
    """Returns in every child, with a pipe that is closed when the parent is stopped or dies.

    fork_processes leaves its children running when the parent gets a signal.
    """
    children, parent = os.pipe()
    parent = os.fdopen(parent, "wb")
    signal.signal(signal.SIGTERM, lambda *_: parent.close())
    tornado.process.fork_processes(processes)
    parent.close()
    return children


def main():
    # Python refuses to print integers of more than 4,300 digits; the longest here has 40,001.
    sys.set_int_max_str_digits(40_001)
    # Tornado would log every refused request.
    logging.getLogger("tornado.access").setLevel(logging.CRITICAL)

    processes = int(os.environ.get("PROCESSES", "1"))
    port, host = int(os.environ["PACELINE_PORT"]), os.environ["PACELINE_HOST"]
    sockets = tornado.netutil.bind_sockets(port, host)
    parent = fork(processes) if processes > 1 else None
    asyncio.run(serve(sockets, parent))


if __name__ == "__main__":
    main()
