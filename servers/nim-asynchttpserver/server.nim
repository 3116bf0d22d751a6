## Answers Paceline's workloads with asynchttpserver of Nim's standard library.

import std/[asyncdispatch, asynchttpserver, json, os, posix, strutils, times]
import power

const
  largestX = 10_000
  acceptAgainMs = 100 ## after running out of file descriptors

type Message = object
  message: string

var
  formatted {.threadvar.}: string ## the time of `second`
  second {.threadvar.}: int64

proc date(): string =
  ## The `Date` header (RFC 9110, section 6.6.1), formatted once a second.
  let now = getTime()
  if now.toUnix != second:
    formatted = now.utc.format("ddd, dd MMM yyyy HH:mm:ss 'GMT'")
    second = now.toUnix
  formatted

proc answer(request: Request, code: HttpCode, kind, body: string): Future[void] =
  let headers = newHttpHeaders({
    "Content-Type": kind, "Content-Length": $body.len, "Server": "asynchttpserver", "Date": date()})
  request.respond(code, if request.reqMethod == HttpHead: "" else: body, headers)

proc text(request: Request, body: string, code = Http200): Future[void] =
  request.answer(code, "text/plain", body)

proc tetra(request: Request, digits: string): Future[void] =
  if digits.len in 1 .. 5 and digits.allCharsInSet(Digits) and digits.parseInt <= largestX:
    request.text(tetration(digits.parseInt))
  else:
    request.text("x must be a whole number from 0 to 10000\n", Http400)

proc routes(page: string): proc (request: Request): Future[void] {.gcsafe.} =
  return proc (request: Request): Future[void] =
    if request.reqMethod notin {HttpGet, HttpHead}:
      return request.text("Method Not Allowed\n", Http405)
    let path = request.url.path
    case path
    of "/hello": request.text("Hello World\n")
    of "/byte": request.text("x")
    of "/page": request.text(page)
    of "/json": request.answer(Http200, "application/json", $(%Message(message: "Hello, World!")))
    of "/plaintext": request.text("Hello, World!")
    of "/home": request.text("OK, no problema!")
    elif path.startsWith("/tetra/"): request.tetra(path["/tetra/".len .. ^1])
    else: request.text("Not Found\n", Http404)

proc serve(server: AsyncHttpServer, handler: proc (request: Request): Future[void] {.gcsafe.}) {.async.} =
  while true:
    if server.shouldAcceptRequest():
      await server.acceptRequest(handler)
    else:
      await sleepAsync(acceptAgainMs)

proc main() =
  let handler = routes(readFile(getEnv("PACELINE_WORKLOADS") / "page.txt"))
  var workers: seq[Pid]
  while workers.len < getEnv("PROCESSES").parseInt - 1: # this process is a worker too
    let worker = fork()
    if worker == 0:
      workers.setLen(0)
      break
    workers.add(worker)

  let server = newAsyncHttpServer(reusePort = true)
  server.listen(Port(getEnv("PACELINE_PORT").parseInt), getEnv("PACELINE_HOST"))
  var stopping = false
  addSignal(SIGTERM, proc (fd: AsyncFD): bool =
    stopping = true
    true)
  asyncCheck server.serve(handler)
  while not stopping:
    try:
      poll()
    except CatchableError:
      discard # asynchttpserver raises the error of one connection here; the other connections are not affected
  for worker in workers:
    discard kill(worker, SIGTERM)

main()
