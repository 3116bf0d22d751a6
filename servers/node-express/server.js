// Answers Paceline's workloads with Express, and with Node's cluster module on several cores.
'use strict';

const cluster = require('node:cluster');
const { readFileSync } = require('node:fs');
const path = require('node:path');
const express = require('express');
const { openDatabase, queriesAsked, randomWorld, randomWorlds, updateWorlds, sortedFortunes } = require('./database');

const WORKERS = Number(process.env.WORKERS ?? 1);
const LARGEST_X = 10_000;
const WHOLE_NUMBER = /^[0-9]{1,5}$/;

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
  const server = makeApp().listen(Number(process.env.PACELINE_PORT), process.env.PACELINE_HOST, (error) => {
    if (error) throw error;
  });
  process.on('SIGTERM', () => {
    server.close(() => process.exit(0));
    server.closeIdleConnections();
    // A connection that has not sent a complete request does not count as idle, so the wait has a limit.
    setTimeout(() => server.closeAllConnections(), 2000).unref();
  });
}

function makeApp() {
  const page = readFileSync(path.join(process.env.PACELINE_WORKLOADS, 'page.txt'), 'utf8');
  const app = express();
  // Only the exact paths: neither `/hello/` nor `/HELLO`.
  app.enable('strict routing');
  app.enable('case sensitive routing');

  app.get('/hello', (request, response) => text(response, 'Hello World\n'));
  app.get('/byte', (request, response) => text(response, 'x'));
  app.get('/page', (request, response) => text(response, page));
  app.get('/json', named, (request, response) => response.json({ message: 'Hello, World!' }));
  app.get('/plaintext', named, (request, response) => text(response, 'Hello, World!'));
  app.get('/home', (request, response) => text(response, 'OK, no problema!'));
  app.get('/tetra/:x', tetra);
  app.get('/tetra-million', (request, response) => text(response, (1_000_000n ** 1_000_000n).toString()));
  if (process.env.DATABASE) addDatabaseRoutes(app);
  return app;
}

function addDatabaseRoutes(app) {
  // DATABASE_POOL is the size for the whole server.
  const database = openDatabase(Math.max(1, Math.floor(Number(process.env.DATABASE_POOL) / WORKERS)));
  const queries = (request) => queriesAsked(request.query.queries);
  app.set('view engine', 'ejs');
  app.set('views', path.join(__dirname, 'views'));

  app.get('/db', named, async (request, response) => response.json(await randomWorld(database)));
  app.get('/queries', named, async (request, response) => response.json(await randomWorlds(database, queries(request))));
  app.get('/updates', named, async (request, response) => response.json(await updateWorlds(database, queries(request))));
  app.get('/fortunes', named, async (request, response) => {
    response.render('fortunes', { fortunes: await sortedFortunes(database) });
  });
}

// TechEmpower's tests require a `Server` header, which neither Express nor Node sends by default; Node does send `Date`.
function named(request, response, next) {
  response.set('Server', 'Express');
  next();
}

function tetra(request, response) {
  const digits = request.params.x;
  if (!WHOLE_NUMBER.test(digits) || Number(digits) > LARGEST_X) {
    return text(response.status(400), 'x must be a whole number from 0 to 10000\n');
  }
  const x = BigInt(digits);
  return text(response, (x ** x).toString());
}

function text(response, body) {
  return response.type('text/plain').send(body);
}
