# Answers `hello` on one thread, whatever the number of connections. The test sets WRONG_AFTER and DIES_AT. With many
# connections it pauses before each response, so that a closed loop leaves the processors to other tests.
import asyncio
import os

WRONG_AFTER = None
DIES_AT = None
answered = connected = 0

async def converse(reader, writer):
    global answered, connected
    connected += 1
    if DIES_AT is not None and connected >= DIES_AT:
        print("too many connections:", connected, flush=True)
        os._exit(9)
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            answered += 1
            known = b" /hello " in head
            body = b"Hello World\n" if known else b""
            if known and WRONG_AFTER is not None and answered > WRONG_AFTER:
                body = b"Hello world\n"
            status = b"200 OK" if known else b"404 Not Found"
            if connected > 100:
                await asyncio.sleep(0.5)
            writer.write(b"HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        connected -= 1
        writer.close()

async def main():
    server = await asyncio.start_server(converse, os.environ["PACELINE_HOST"], int(os.environ["PACELINE_PORT"]), backlog=4096)
    await server.serve_forever()

asyncio.run(main())
