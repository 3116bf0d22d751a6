// Answers Paceline's workloads with Node's http module, and with its cluster module on several cores.
'use strict';

const cluster = require('node:cluster');
const { readFileSync } = require('node:fs');
const http = require('node:http');
const http2 = require('node:http2');
const path = require('node:path');

const { listItems, sum } = require('./arena');
const { answerPacked, serveFile } = require('./packed');
const { openDatabase, queriesAsked, randomWorld, randomWorlds, updateWorlds, sortedFortunes } = require('./database');

const WORKERS = Number(process.env.WORKERS ?? 1);
const LARGEST_X = 10_000;
const TETRA = /^\/tetra\/([0-9]+)$/;

if (WORKERS > 1 && cluster.isPrimary) supervise();
else serve();

function supervise() {
  let stopping = false;
  for (let i = 0; i < WORKERS; i++) cluster.fork();
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
  const databaseRoutes = process.env.DATABASE ? makeDatabaseRoutes() : new Map();
  const listener = (request, response) => answer(request, response, page, databaseRoutes);
  const server = http.createServer(listener);
  // Without TLS a Node server speaks either HTTP/1.1 or HTTP/2 on a port, not both.
  const server2 = http2.createServer(listener);
  const sessions = new Set();
  server2.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
  });
  const host = process.env.PACELINE_HOST;
  server2.listen(Number(process.env.PACELINE_HTTP2_PORT), host, () => {
    server.listen(Number(process.env.PACELINE_PORT), host);
  });

  process.on('SIGTERM', () => {
    server.close(() => server2.close(() => process.exit(0)));
    server.closeIdleConnections();
    for (const session of sessions) session.close();
    // A connection that has not sent a complete request does not count as idle, so the wait has a limit.
    setTimeout(() => {
      server.closeAllConnections();
      for (const session of sessions) session.destroy();
    }, 2000).unref();
  });
}

function answer(request, response, page, databaseRoutes) {
  if (request.method === 'POST' && request.url === '/upload') return upload(request, response);
  if (request.method === 'POST' && request.url.startsWith('/baseline11?')) return addBody(request, response);
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    return text(response, 405, 'Method Not Allowed\n');
  }
  const [pathname, query] = request.url.split('?', 2);
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
    case '/pipeline':
      return text(response, 200, 'ok');
    case '/baseline11':
      return checked(response, 'text/plain; charset=utf-8', sum(query, ''));
    case '/tetra-million':
      return text(response, 200, (1_000_000n ** 1_000_000n).toString());
    default:
      if (pathname.startsWith('/json/')) return answerItems(request, response, listItems(pathname, query));
      if (pathname.startsWith('/static/')) return serveFile(request, response, pathname.slice('/static/'.length));
      if (databaseRoutes.has(pathname)) return answerFromDatabase(response, databaseRoutes.get(pathname), query);
      return tetra(response, TETRA.exec(pathname));
  }
}

function makeDatabaseRoutes() {
  const ejs = require('ejs');
  const page = ejs.compile(readFileSync(path.join(__dirname, 'fortunes.ejs'), 'utf8'));
  // DATABASE_POOL is the size for the whole server.
  const database = openDatabase(Math.max(1, Math.floor(Number(process.env.DATABASE_POOL) / WORKERS)));
  const json = (rows) => ['application/json', JSON.stringify(rows)];
  return new Map([
    ['/db', async () => json(await randomWorld(database))],
    ['/queries', async (queries) => json(await randomWorlds(database, queries))],
    ['/updates', async (queries) => json(await updateWorlds(database, queries))],
    ['/fortunes', async () => ['text/html; charset=utf-8', page({ fortunes: await sortedFortunes(database) })]],
  ]);
}

async function answerFromDatabase(response, route, query) {
  try {
    const [type, body] = await route(queriesAsked(new URLSearchParams(query).get('queries')));
    named(response, type, body);
  } catch (error) {
    console.error(error);
    text(response, 500, 'the database did not answer as it should\n');
  }
}

function upload(request, response) {
  let length = 0;
  request.on('data', (piece) => { length += piece.length; });
  request.on('end', () => text(response, 200, String(length)));
}

function addBody(request, response) {
  const query = request.url.split('?', 2)[1];
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (piece) => { body += piece; });
  request.on('end', () => checked(response, 'text/plain; charset=utf-8', sum(query, body.trim())));
}

function answerItems(request, response, body) {
  if (body === undefined || !answerPacked(request, response, 'application/json', body)) {
    checked(response, 'application/json', body);
  }
}

// An answer, or 400 if the request has none.
function checked(response, type, body) {
  if (body === undefined) return text(response, 400, 'the request has a number that is none\n');
  return named(response, type, body);
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
