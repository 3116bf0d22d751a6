# Adds numbers of bodies with a length or in chunks, and serves static files; compresses where the client accepts it.
# CACHES keeps what was read first, COMPRESSES = False answers without a coding.
import gzip
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CACHES = False
COMPRESSES = True
kept = {}

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/hello":
            return self.answer(200, b"Hello World\n")
        if self.path == "/sum":
            return self.answer(200, b"55")
        if self.path.startswith("/static/"):
            return self.static(self.path.removeprefix("/static/"))
        self.answer(404, b"")

    def do_POST(self):
        self.answer(200, b"%d" % (55 + int(self.body())))

    def body(self):
        if self.headers["Transfer-Encoding"] != "chunked":
            return self.rfile.read(int(self.headers["Content-Length"]))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def static(self, name):
        path = os.path.join(os.environ["PACELINE_STATIC"], name)
        if not os.path.exists(path):
            return self.answer(404, b"")
        if not CACHES or name not in kept:
            with open(path, "rb") as file:
                kept[name] = file.read()
        self.answer(200, kept[name])

    def answer(self, status, body):
        time.sleep(0.005)
        coding = b""
        if COMPRESSES and "gzip" in self.headers.get("Accept-Encoding", ""):
            body, coding = gzip.compress(body, 1), b"Content-Encoding: gzip\r\n"
        head = b"HTTP/1.1 %d X\r\nContent-Type: text/plain\r\n%bContent-Length: %d\r\n\r\n"
        self.wfile.write(head % (status, coding, len(body)) + body)

    def log_message(self, *arguments):
        pass

class Server(ThreadingHTTPServer):
    daemon_threads = True

    # A client that goes away is no error here.
    def handle_error(self, *arguments):
        pass

Server((os.environ["PACELINE_HOST"], int(os.environ["PACELINE_PORT"])), Handler).serve_forever()
