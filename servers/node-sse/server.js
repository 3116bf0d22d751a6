// Sends streams of server-sent events, as a model server sends tokens, with Node's http and http2 modules.
'use strict';

const http = require('node:http');
const http2 = require('node:http2');

const host = process.env.PACELINE_HOST;
// Without TLS a Node server speaks either HTTP/1.1 or HTTP/2 on a port, not both.
const server2 = http2.createServer(answer);
const server = http.createServer(answer);
const sessions = new Set();
server2.on('session', (session) => {
  sessions.add(session);
  session.on('close', () => sessions.delete(session));
});
server2.listen(Number(process.env.PACELINE_HTTP2_PORT), host, () => {
  server.listen(Number(process.env.PACELINE_PORT), host);
});

process.on('SIGTERM', () => {
  server.close(() => server2.close(() => process.exit(0)));
  server.closeIdleConnections();
  for (const session of sessions) session.close();
  // A stream may be long, so the wait has a limit.
  setTimeout(() => {
    server.closeAllConnections();
    for (const session of sessions) session.destroy();
  }, 2000).unref();
});

// `/sse?events=N&gap=MS&first=MS`: N events, the first after `first` milliseconds, the others `gap` apart.
function answer(request, response) {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  const isHead = request.method === 'HEAD';
  if (pathname !== '/sse' || (request.method !== 'GET' && !isHead)) {
    response.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': 10 });
    return response.end('Not Found\n');
  }
  const number = (name, otherwise) => Math.min(Number(searchParams.get(name) ?? otherwise) || 0, 1_000_000);
  const [events, gap] = [number('events', 20), number('gap', 5)];
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
  if (isHead) return response.end();
  response.flushHeaders?.();
  const send = (index) => {
    if (index >= events) return response.end('data: [DONE]\n\n');
    response.write(`data: {"index":${index},"tokens":1}\n\n`);
    timer = setTimeout(send, gap, index + 1);
  };
  let timer = setTimeout(send, number('first', gap), 0);
  response.on('close', () => clearTimeout(timer));
}
