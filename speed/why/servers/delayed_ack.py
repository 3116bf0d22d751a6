"""Slow because of delayed acknowledgements: the head and the body of a response are two writes, without TCP_NODELAY.

This is how Python's `http.server` behaves without further settings.
"""

import page


class Handler(page.Handler):
    disable_nagle_algorithm = False
    wbufsize = 0

    def body(self):
        return b"in two writes"


page.serve(Handler)
