// Answers Paceline's workloads with Koa and its router.
'use strict';

const { readFileSync } = require('node:fs');
const path = require('node:path');
const Koa = require('koa');
const { Router } = require('@koa/router');
const { power, WRONG_X } = require('./power');
const { runWorkers, stopOnSignal } = require('./workers');

runWorkers(() => {
  const server = makeApp().listen(Number(process.env.PACELINE_PORT), process.env.PACELINE_HOST);
  stopOnSignal(server, () => {
    server.close(() => process.exit(0));
    server.closeIdleConnections();
  });
});

function makeApp() {
  const page = readFileSync(path.join(process.env.PACELINE_WORKLOADS, 'page.txt'), 'utf8');
  // Only the exact paths: neither `/hello/` nor `/HELLO`.
  const router = new Router({ strict: true, sensitive: true });

  router.get('/hello', text('Hello World\n'));
  router.get('/byte', text('x'));
  router.get('/page', text(page));
  router.get('/json', named, (context) => {
    context.body = { message: 'Hello, World!' };
  });
  router.get('/plaintext', named, text('Hello, World!'));
  router.get('/home', text('OK, no problema!'));
  router.get('/tetra/:x', (context) => {
    const digits = power(context.params.x);
    context.status = digits ? 200 : 400;
    context.body = digits ?? WRONG_X;
  });
  if (process.env.DATABASE) require('./database_routes')(router, named);

  const app = new Koa();
  app.use(router.routes());
  app.use(router.allowedMethods());
  return app;
}

// Koa sends a string as text/plain, unless it begins with `<`.
function text(body) {
  return (context) => {
    context.body = body;
  };
}

// TechEmpower's tests require a `Server` header, which neither Koa nor Node sends by default; Node does send `Date`.
function named(context, next) {
  context.set('Server', 'Koa');
  return next();
}
