"""Slow because of name lookups: every request asks the name server for a backend's address, as a client without a cache
does. The name server is `name_server.py`, in a resolv.conf of this process alone.
"""

import socket

import page


class Handler(page.Handler):
    def body(self):
        found = socket.getaddrinfo("backend.example.com", 80, socket.AF_INET, socket.SOCK_STREAM)
        return found[0][4][0].encode()


page.serve(Handler)
