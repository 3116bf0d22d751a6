"""Slow because of its control group, which may use a fifth of a core: each response takes a millisecond of CPU."""

import hashlib

import page


class Handler(page.Handler):
    def body(self):
        return hashlib.pbkdf2_hmac("sha256", self.path.encode(), b"salt", 1500).hex().encode()


page.serve(Handler)
