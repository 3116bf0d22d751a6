// The routes of the database workloads.
'use strict';

const { readFileSync } = require('node:fs');
const path = require('node:path');
const ejs = require('ejs');
const { openDatabase, queriesAsked, randomWorld, randomWorlds, updateWorlds, sortedFortunes } = require('./database');
const { poolOfProcess } = require('./workers');

const fortunesPage = ejs.compile(readFileSync(path.join(__dirname, 'fortunes.ejs'), 'utf8'));

module.exports = function addDatabaseRoutes(router, named) {
  const database = openDatabase(poolOfProcess());
  const queries = (context) => queriesAsked(context.query.queries);

  router.get('/db', named, async (context) => {
    context.body = await randomWorld(database);
  });
  router.get('/queries', named, async (context) => {
    context.body = await randomWorlds(database, queries(context));
  });
  router.get('/updates', named, async (context) => {
    context.body = await updateWorlds(database, queries(context));
  });
  router.get('/fortunes', named, async (context) => {
    context.body = fortunesPage({ fortunes: await sortedFortunes(database) });
  });
};
