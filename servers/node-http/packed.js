// Compressed answers and static files: node:http has neither.
'use strict';

const { readFile } = require('node:fs/promises');
const path = require('node:path');
const zlib = require('node:zlib');

const FILE_NAME = /^[a-z0-9][a-z0-9.-]*$/;
const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};

function acceptsGzip(request) {
  const items = (request.headers['accept-encoding'] ?? '').split(',').map((item) => item.split(';'));
  const gzip = items.find(([coding]) => coding.trim() === 'gzip');
  return gzip !== undefined && gzip[1]?.trim() !== 'q=0';
}

// Answers with a compressed body if the client accepts one; says whether it does.
function answerPacked(request, response, type, body) {
  if (!acceptsGzip(request)) return false;
  zlib.gzip(body, { level: zlib.constants.Z_BEST_SPEED }, (error, packed) => {
    if (error) {
      console.error(error);
      return refuse(response, 500);
    }
    return send(response, type, packed, 'gzip');
  });
  return true;
}

// Answers with a file, or with the compressed copy beside it if there is one and the client accepts that.
async function serveFile(request, response, name) {
  if (!FILE_NAME.test(name)) return refuse(response, 404);
  const file = path.join(process.env.PACELINE_STATIC, name);
  const packed = acceptsGzip(request) ? await contentOf(`${file}.gz`) : undefined;
  const body = packed ?? await contentOf(file);
  if (body === undefined) return refuse(response, 404);
  return send(response, TYPES[path.extname(name)] ?? 'application/octet-stream', body, packed && 'gzip');
}

function refuse(response, status) {
  response.writeHead(status, { 'Content-Length': 0 });
  response.end();
}

// The content of a file; undefined if there is none.
function contentOf(file) {
  return readFile(file).catch(() => undefined);
}

function send(response, type, body, coding) {
  if (coding) response.setHeader('Content-Encoding', coding);
  response.setHeader('Vary', 'Accept-Encoding');
  response.writeHead(200, { 'Content-Length': body.length, 'Content-Type': type, Server: 'node' });
  response.end(body);
}

module.exports = { answerPacked, serveFile };
