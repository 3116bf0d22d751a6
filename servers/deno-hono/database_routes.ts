// The routes of the database workloads.
import type { Context, Hono } from 'hono';
import { html } from 'hono/html';
import { openDatabase, queriesAsked, randomWorld, randomWorlds, sortedFortunes, updateWorlds } from './database.ts';
import type { Fortune } from './database.ts';
import { named } from './named.ts';

export async function addDatabaseRoutes(app: Hono) {
  const database = await openDatabase(poolOfThread());
  const queries = (context: Context) => queriesAsked(context.req.query('queries'));

  app.get('/db', named, async (context) => context.json(await randomWorld(database)));
  app.get('/queries', named, async (context) => context.json(await randomWorlds(database, queries(context))));
  app.get('/updates', named, async (context) => context.json(await updateWorlds(database, queries(context))));
  app.get('/fortunes', named, async (context) => context.html(fortunesPage(await sortedFortunes(database))));

  // Otherwise its connections would keep the process running after the last request.
  Deno.addSignalListener('SIGTERM', () => database.close());
}

// DATABASE_POOL is the size for the whole server; DENO_JOBS is the number of its threads.
function poolOfThread(): number {
  return Math.max(1, Math.floor(Number(Deno.env.get('DATABASE_POOL')) / Number(Deno.env.get('DENO_JOBS'))));
}

// `html` escapes what it inserts.
function fortunesPage(fortunes: Fortune[]) {
  const rows = fortunes.map(({ id, message }) => html`<tr><td>${id}</td><td>${message}</td></tr>`);
  return html`<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table><tr><th>id</th><th>message</th></tr>${rows}</table></body></html>`;
}
