"""Slow because of N+1 queries: a request reads a list from a service, and each of its 50 entries with another query.

`many_queries.py PORT`, with the port of `key_value.py`.
"""

import socket
import sys
import threading

import page

ENTRIES = 50
CONNECTIONS = threading.local()


def query(key):
    if not hasattr(CONNECTIONS, "service"):
        service = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
        service.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        CONNECTIONS.service = service.makefile("rwb")
    CONNECTIONS.service.write(b"GET " + key + b"\n")
    CONNECTIONS.service.flush()
    return CONNECTIONS.service.readline().rstrip()


class Handler(page.Handler):
    def body(self):
        query(b"list")
        return b"\n".join(query(b"entry %d" % number) for number in range(ENTRIES))


page.serve(Handler)
