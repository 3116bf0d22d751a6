"""Slow because of a small listen queue: the thread that accepts connections spends 2 ms on each; others answer them.

Meanwhile two connections may wait; the kernel drops the attempts of others, which try again after a second.
"""

import time

import page


class Handler(page.Handler):
    def body(self):
        return b"accepted at last"


class SlowServer(page.ThreadServer):
    request_queue_size = 1

    def verify_request(self, connection, client):
        time.sleep(0.002)  # A look at a list of clients.
        return True


page.serve(Handler, SlowServer)
