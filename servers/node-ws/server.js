// Echoes WebSocket messages with the ws library, and with Node's cluster module on several cores.
'use strict';

const cluster = require('node:cluster');
const { readFileSync } = require('node:fs');
const http = require('node:http');
const https = require('node:https');
const { WebSocketServer } = require('ws');

const WORKERS = Number(process.env.WORKERS ?? 1);

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
  const host = process.env.PACELINE_HOST;
  const plain = http.createServer(notFound);
  const secure = https.createServer(
    { cert: readFileSync(process.env.PACELINE_TLS_CERT), key: readFileSync(process.env.PACELINE_TLS_KEY) },
    notFound,
  );
  const servers = [plain, secure];
  const endpoints = servers.map((server) => {
    const endpoint = new WebSocketServer({ server, path: '/ws' });
    endpoint.on('connection', echo);
    return endpoint;
  });
  secure.listen(Number(process.env.PACELINE_TLS_PORT), host, () => {
    plain.listen(Number(process.env.PACELINE_PORT), host);
  });

  process.on('SIGTERM', () => {
    const clients = endpoints.flatMap((endpoint) => [...endpoint.clients]);
    for (const client of clients) client.close(1001);
    for (const server of servers) server.close();
    // A client need not answer the close, so the wait has a limit.
    setTimeout(() => process.exit(0), 2000).unref();
  });
}

function echo(socket) {
  socket.on('message', (message, isBinary) => socket.send(message, { binary: isBinary }));
  // The connection is closed after an error; without a listener the process would end.
  socket.on('error', () => {});
}

function notFound(_request, response) {
  response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': 10 });
  response.end('Not Found\n');
}
