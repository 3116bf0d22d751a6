# Pauses before each response, so that a closed loop leaves the processors to other tests.
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        status, body = (200, b"Hello World\n") if self.path == "/hello" else (404, b"")
        time.sleep(0.005)
        self.wfile.write(b"HTTP/1.1 %d X\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body)

    def log_message(self, *arguments):
        pass

class Server(ThreadingHTTPServer):
    daemon_threads = True

Server((os.environ["PACELINE_HOST"], int(os.environ["PACELINE_PORT"])), Handler).serve_forever()
