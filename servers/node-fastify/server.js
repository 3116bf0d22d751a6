// Answers Paceline's workloads with Fastify.
'use strict';

const { readFileSync } = require('node:fs');
const path = require('node:path');
const { fastify } = require('fastify');
const { power, WRONG_X } = require('./power');
const { runWorkers, stopOnSignal } = require('./workers');

// With a schema of the response Fastify compiles its serialiser.
const MESSAGE = { response: { 200: { type: 'object', properties: { message: { type: 'string' } } } } };

runWorkers(async () => {
  const app = await makeApp();
  await app.listen({ host: process.env.PACELINE_HOST, port: Number(process.env.PACELINE_PORT) });
  stopOnSignal(app.server, () => app.close(() => process.exit(0)));
});

async function makeApp() {
  const page = readFileSync(path.join(process.env.PACELINE_WORKLOADS, 'page.txt'), 'utf8');
  const app = fastify();

  app.get('/hello', async () => 'Hello World\n');
  app.get('/byte', async () => 'x');
  app.get('/page', async () => page);
  app.get('/json', { schema: MESSAGE }, async (request, reply) => {
    named(reply);
    return { message: 'Hello, World!' };
  });
  app.get('/plaintext', async (request, reply) => {
    named(reply);
    return 'Hello, World!';
  });
  app.get('/home', async () => 'OK, no problema!');
  app.get('/tetra/:x', async (request, reply) => power(request.params.x) ?? reply.code(400).send(WRONG_X));
  if (process.env.DATABASE) await app.register(require('./database_routes'));
  return app;
}

// TechEmpower's tests require a `Server` header, which neither Fastify nor Node sends by default; Node does send `Date`.
function named(reply) {
  reply.header('Server', 'Fastify');
}
