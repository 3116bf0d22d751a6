// The routes of the database workloads.
'use strict';

const { html } = require('hono/html');
const { openDatabase, queriesAsked, randomWorld, randomWorlds, updateWorlds, sortedFortunes } = require('./database');
const { poolOfProcess } = require('./workers');

module.exports = function addDatabaseRoutes(app, named) {
  const database = openDatabase(poolOfProcess());
  const queries = (context) => queriesAsked(context.req.query('queries'));

  app.get('/db', named, async (context) => context.json(await randomWorld(database)));
  app.get('/queries', named, async (context) => context.json(await randomWorlds(database, queries(context))));
  app.get('/updates', named, async (context) => context.json(await updateWorlds(database, queries(context))));
  app.get('/fortunes', named, async (context) => context.html(fortunesPage(await sortedFortunes(database))));
};

// `html` escapes what it inserts.
function fortunesPage(fortunes) {
  const rows = fortunes.map(({ id, message }) => html`<tr><td>${id}</td><td>${message}</td></tr>`);
  return html`<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table><tr><th>id</th><th>message</th></tr>${rows}</table></body></html>`;
}
