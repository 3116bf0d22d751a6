"""A server of one page with a thread for each connection, from Python's library, for the servers of this folder."""

import socketserver
from http.server import BaseHTTPRequestHandler


class Handler(BaseHTTPRequestHandler):
    """Answers every GET with `body()`, in one write."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def body(self):
        raise NotImplementedError

    def do_GET(self):
        body = self.body()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *arguments):
        pass


class ThreadServer(socketserver.ThreadingTCPServer):
    """A thread for each connection."""

    daemon_threads = True
    request_queue_size = 256


def serve(handler, server_class=ThreadServer):
    """Serves on a free port, and prints it."""
    with server_class(("127.0.0.1", 0), handler) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()
