"""A key-value service: answers a line `GET KEY` with the value of the key, after a time: `key_value.py SECONDS`."""

import socketserver
import sys
import time

import page


class Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self):
        for line in self.rfile:
            time.sleep(float(sys.argv[1]))
            self.wfile.write(b"value of " + line.removeprefix(b"GET "))


page.serve(Handler)
