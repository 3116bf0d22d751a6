# Queries PostgreSQL through one psql process, the connection pool: no driver is needed. FAULT is the fault to cause.
import json, os, random, subprocess, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

FAULT = "none"
# Requests answered before the fault, including readiness checks and validation.
BEFORE = 30
env = os.environ
asked, psql, pool = 0, None, threading.Lock()


def ask(statement):
    global psql
    if psql is None:
        psql = subprocess.Popen(
            ["psql", "-qAt", "-F", "\t", "-h", env["DATABASE_HOST"], "-p", env["DATABASE_PORT"], "-U", env["DATABASE_USER"],
             env["DATABASE_NAME"]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    lines = []
    try:
        psql.stdin.write(statement + ";\n\\echo done\n")
        psql.stdin.flush()
        while (line := psql.stdout.readline()) != "done\n":
            if not line:
                raise OSError("psql ended")
            lines.append(line.rstrip("\n"))
    except OSError:
        psql.kill()
        psql.wait()
        psql = None
        raise
    if not lines:
        raise OSError("no row")
    return lines


def row(update):
    i, number = map(int, ask("SELECT id, randomNumber FROM world WHERE id = %d" % random.randint(1, 10000))[0].split("\t"))
    if update:
        number = random.randint(1, 10000)
        ask("UPDATE world SET randomNumber = %d WHERE id = %d RETURNING id" % (number, i))
    return {"id": i, "randomNumber": number}


def spoil():
    if FAULT == "kill":
        # PostgreSQL runs kill in its data folder: process ids there may belong to another namespace.
        ask("COPY (SELECT 1) TO PROGRAM 'kill -9 $(head -n 1 postmaster.pid)'")
    if FAULT == "full":
        with open(os.path.join("@FULL@", "filler"), "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(1 << 16))
            except OSError:
                pass


def answer(url):
    global asked
    if not pool.acquire(blocking=FAULT != "busy"):
        return 500, b"no connection is free"
    try:
        asked += 1
        if asked == BEFORE:
            spoil()
        count = int(parse_qs(url.query).get("queries", ["1"])[0])
        if FAULT == "busy":
            time.sleep(0.002)
        if FAULT == "full" and asked >= BEFORE:
            # Needs space for new versions of all rows at the same time.
            ask("UPDATE world SET randomNumber = randomNumber RETURNING id")
        found = [row(url.path == "/updates") for _ in range(count)]
        return 200, json.dumps(found[0] if url.path == "/db" else found).encode()
    except OSError as error:
        return 500, str(error).encode()
    finally:
        pool.release()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        status, body = answer(urlparse(self.path))
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True


Server((env["PACELINE_HOST"], int(env["PACELINE_PORT"])), Handler).serve_forever()
