// Answers Paceline's workloads with Hono.
'use strict';

const { readFileSync } = require('node:fs');
const path = require('node:path');
const { Hono } = require('hono');
const { power, WRONG_X } = require('./power');

function makeApp() {
  const page = readFileSync(path.join(process.env.PACELINE_WORKLOADS, 'page.txt'), 'utf8');
  const app = new Hono();

  app.get('/hello', (context) => context.text('Hello World\n'));
  app.get('/byte', (context) => context.text('x'));
  app.get('/page', (context) => context.text(page));
  app.get('/json', named, (context) => context.json({ message: 'Hello, World!' }));
  app.get('/plaintext', named, (context) => context.text('Hello, World!'));
  app.get('/home', (context) => context.text('OK, no problema!'));
  app.get('/tetra/:x', (context) => {
    const digits = power(context.req.param('x'));
    return digits ? context.text(digits) : context.text(WRONG_X, 400);
  });
  if (process.env.DATABASE) require('./database_routes')(app, named);
  return app;
}

// TechEmpower's tests require a `Server` header, which Hono does not send.
async function named(context, next) {
  context.header('Server', 'Hono');
  await next();
}

module.exports = { makeApp };
