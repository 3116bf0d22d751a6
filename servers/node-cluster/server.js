// Answers Paceline's workloads with Node's cluster module: a primary, and workers with Node's http module.
'use strict';

const cluster = require('node:cluster');
const { readFileSync } = require('node:fs');
const http = require('node:http');
const path = require('node:path');

const LARGEST_X = 10_000;
const TETRA = /^\/tetra\/([0-9]+)$/;

if (cluster.isPrimary) supervise();
else serve();

function supervise() {
  let stopping = false;
  for (let i = 0; i < Number(process.env.WORKERS); i++) cluster.fork();
  cluster.on('exit', () => {
    // A silent restart of a worker would hide a crash from the measurement.
    if (!stopping) process.exit(1);
  });
  process.on('SIGTERM', () => {
    stopping = true;
    for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGTERM');
  });
}

function serve() {
  const page = readFileSync(path.join(process.env.PACELINE_WORKLOADS, 'page.txt'));
  const server = http.createServer((request, response) => answer(request, response, page));
  server.listen(Number(process.env.PACELINE_PORT), process.env.PACELINE_HOST);

  process.on('SIGTERM', () => {
    server.close(() => process.exit(0));
    server.closeIdleConnections();
    // A connection that has not sent a complete request does not count as idle, so the wait has a limit.
    setTimeout(() => server.closeAllConnections(), 2000).unref();
  });
}

function answer(request, response, page) {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    return text(response, 405, 'Method Not Allowed\n');
  }
  const [pathname] = request.url.split('?', 1);
  switch (pathname) {
    case '/hello':
      return text(response, 200, 'Hello World\n');
    case '/byte':
      return text(response, 200, 'x');
    case '/page':
      return text(response, 200, page);
    case '/json':
      return named(response, 'application/json', JSON.stringify({ message: 'Hello, World!' }));
    case '/plaintext':
      return named(response, 'text/plain; charset=utf-8', 'Hello, World!');
    case '/home':
      return text(response, 200, 'OK, no problema!');
    case '/tetra-million':
      return text(response, 200, (1_000_000n ** 1_000_000n).toString());
    default:
      return tetra(response, TETRA.exec(pathname));
  }
}

function tetra(response, match) {
  if (!match) return text(response, 404, 'Not Found\n');
  if (Number(match[1]) > LARGEST_X) {
    return text(response, 400, 'x must be a whole number from 0 to 10000\n');
  }
  const x = BigInt(match[1]);
  return text(response, 200, (x ** x).toString());
}

// TechEmpower's tests require a `Server` header, which Node does not send by default; it does send `Date`.
function named(response, type, body) {
  response.writeHead(200, { 'Content-Length': Buffer.byteLength(body), 'Content-Type': type, Server: 'node' });
  response.end(body);
}

function text(response, status, body) {
  response.writeHead(status, {
    'Content-Length': Buffer.byteLength(body),
    'Content-Type': 'text/plain; charset=utf-8',
  });
  response.end(body);
}
