# Answers over HTTP/1.1 and WebSocket, on a plain port and on one with TLS. REVERSES makes its echo wrong.
import base64
import hashlib
import os
import ssl
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REVERSES = False

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/ws":
            return self.echo()
        if self.path == "/sse":
            return self.stream()
        time.sleep(0.005)
        self.answer(*((200, b"Hello World\n") if self.path == "/hello" else (404, b"")))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(200, b"%d" % len(body))

    def answer(self, status, body):
        self.wfile.write(b"HTTP/1.1 %d X\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body)

    def stream(self):
        self.wfile.write(b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for event in [b"data: 1\n\n", b"data: 2\n\n", b"data: [DONE]\n\n"]:
            time.sleep(0.005)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")

    def echo(self):
        key = self.headers["Sec-WebSocket-Key"].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key).digest())
        self.wfile.write(b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n" % accept)
        self.close_connection = True
        while True:
            head = self.rfile.read(2)
            if len(head) < 2 or head[0] & 0x0F == 8:
                return
            length = head[1] & 0x7F
            if length == 126:
                (length,) = struct.unpack(">H", self.rfile.read(2))
            mask = self.rfile.read(4)
            message = bytes(byte ^ mask[place % 4] for place, byte in enumerate(self.rfile.read(length)))
            message = message[::-1] if REVERSES else message
            short = len(message) < 126
            size = bytes([len(message)]) if short else b"\x7e" + struct.pack(">H", len(message))
            time.sleep(0.005)
            self.wfile.write(bytes([head[0]]) + size + message)

    def log_message(self, *arguments):
        pass

class Server(ThreadingHTTPServer):
    daemon_threads = True

    # A client that goes away is no error here.
    def handle_error(self, *arguments):
        pass

def listen(port):
    return Server((os.environ["PACELINE_HOST"], int(os.environ[port])), Handler)

secure = listen("PACELINE_TLS_PORT")
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(os.environ["PACELINE_TLS_CERT"], os.environ["PACELINE_TLS_KEY"])
# The handshake is in the thread of its connection.
secure.socket = tls.wrap_socket(secure.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=secure.serve_forever, daemon=True).start()
listen("PACELINE_PORT").serve_forever()
