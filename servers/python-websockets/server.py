"""Echoes WebSocket messages with the websockets library, on asyncio."""

import asyncio
import http
import os
import signal
import ssl

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed


async def echo(connection):
    try:
        async for message in connection:
            await connection.send(message)
    except ConnectionClosed:
        # The client left without a close frame.
        pass


def only_one_path(connection, request):
    if request.path != "/ws":
        return connection.respond(http.HTTPStatus.NOT_FOUND, "Not Found\n")


async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(os.environ["PACELINE_TLS_CERT"], os.environ["PACELINE_TLS_KEY"])
    host, port = os.environ["PACELINE_HOST"], int(os.environ["PACELINE_PORT"])
    tls_port = int(os.environ["PACELINE_TLS_PORT"])
    # A client need not answer the close at the end, so the wait has a limit.
    options = {"process_request": only_one_path, "close_timeout": 2}
    async with (
        serve(echo, host, tls_port, ssl=tls, **options),
        serve(echo, host, port, **options),
    ):
        await stop.wait()


asyncio.run(main())
