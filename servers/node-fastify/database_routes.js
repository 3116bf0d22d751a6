// The routes of the database workloads, a plugin.
'use strict';

const path = require('node:path');
const { openDatabase, queriesAsked, randomWorld, randomWorlds, updateWorlds, sortedFortunes } = require('./database');
const { poolOfProcess } = require('./workers');

const WORLD = { type: 'object', properties: { id: { type: 'integer' }, randomNumber: { type: 'integer' } } };
const ONE_WORLD = { schema: { response: { 200: WORLD } } };
const WORLDS = { schema: { response: { 200: { type: 'array', items: WORLD } } } };

module.exports = async function databaseRoutes(app) {
  const database = openDatabase(poolOfProcess());
  const queries = (request) => queriesAsked(request.query.queries);
  app.register(require('@fastify/view'), { engine: { ejs: require('ejs') }, root: path.join(__dirname, 'views') });
  app.addHook('onRequest', async (request, reply) => {
    reply.header('Server', 'Fastify');
  });

  app.get('/db', ONE_WORLD, async () => randomWorld(database));
  app.get('/queries', WORLDS, async (request) => randomWorlds(database, queries(request)));
  app.get('/updates', WORLDS, async (request) => updateWorlds(database, queries(request)));
  app.get('/fortunes', async (request, reply) => reply.viewAsync('fortunes.ejs', { fortunes: await sortedFortunes(database) }));
};
