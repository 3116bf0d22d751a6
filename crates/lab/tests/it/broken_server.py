# A server for the database workloads: correct, or broken in the one way that its argument names.
#
# It queries PostgreSQL through one psql process, so that it needs no driver. It prints its port.
import html, json, os, random, subprocess, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlparse

BROKEN = sys.argv[1]
env = os.environ
psql = subprocess.Popen(
    ["psql", "-qAt", "-F", "\t", "-h", env["DATABASE_HOST"], "-p", env["DATABASE_PORT"], "-U", env["DATABASE_USER"], env["DATABASE_NAME"]],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")


def ask(statement):
    psql.stdin.write(statement + ";\n\\echo done\n")
    psql.stdin.flush()
    return list(iter(lambda: psql.stdout.readline().rstrip("\n"), "done"))


def rows(ids):
    if BROKEN == "in":
        lines = ask("SELECT id, randomNumber FROM world WHERE id IN (%s)" % ",".join(map(str, ids)))
        found = dict(map(int, line.split("\t")) for line in lines)
        return [{"id": i, "randomNumber": found[i]} for i in ids]
    lines = [ask("SELECT id, randomNumber FROM world WHERE id = %d" % i)[0] for i in ids]
    return [dict(zip(("id", "randomNumber"), map(int, line.split("\t")))) for line in lines]


def draw(query):
    text = parse_qs(query).get("queries", ["1"])[0]
    most = 501 if BROKEN == "many" else 500
    count = min(max(int(text), 1), most) if text.lstrip("-").isdigit() else 1
    return [random.randint(1, 10000) for _ in range(count)]


updates = 0


def update(query):
    global updates
    updates += 1
    wrong = 1 if BROKEN == "some" and updates % 20 == 0 else 0
    found = rows(draw(query))
    for row in found:
        row["randomNumber"] = random.randint(1, 10000)
        if BROKEN != "skip":
            ask("UPDATE world SET randomNumber = %d WHERE id = %d" % (row["randomNumber"] + wrong, row["id"]))
    return found


def fortunes():
    found = [line.split("\t") for line in ask("SELECT id, message FROM fortune")]
    found.append(["0", "Additional fortune added at request time."])
    found.sort(key=lambda row: row[1].encode())
    escape = (lambda text: text) if BROKEN == "raw" else html.escape
    cells = "".join("<tr><td>%s</td><td>%s</td></tr>" % (i, escape(text)) for i, text in found)
    return ("<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table>"
            "<tr><th>id</th><th>message</th></tr>%s</table></body></html>" % cells)


KEPT = rows([1])[0]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        url = urlparse(self.path)
        kind = "application/json"
        if url.path == "/db":
            body = json.dumps(KEPT if BROKEN == "cache" else rows(draw(""))[0])
        elif url.path == "/queries":
            body = json.dumps(rows(draw(url.query)))
        elif url.path == "/updates":
            body = json.dumps(update(url.query))
        else:
            kind, body = "text/html; charset=utf-8", fortunes()
        data = body.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
