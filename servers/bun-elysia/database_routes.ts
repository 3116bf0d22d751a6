// The database workloads, by Bun's own client of PostgreSQL and MariaDB.
import { SQL } from 'bun';
import { Elysia } from 'elysia';

const WORLD_ROWS = 10_000;
const MOST_QUERIES = 500;

interface World {
  id: number;
  randomNumber: number;
}

interface Fortune {
  id: number;
  message: string;
}

export function databaseRoutes(processes: number) {
  const sql = open(processes);
  return new Elysia({ strictPath: true })
    .onBeforeHandle(({ set }) => {
      set.headers.server = 'Elysia';
    })
    .get('/db', () => randomWorld(sql))
    .get('/queries', ({ query }) => randomWorlds(sql, queriesAsked(query.queries)))
    .get('/updates', ({ query }) => updateWorlds(sql, queriesAsked(query.queries)))
    .get('/fortunes', async ({ set }) => {
      set.headers['content-type'] = 'text/html; charset=utf-8';
      return fortunesPage(await sortedFortunes(sql));
    });
}

// DATABASE_POOL is the size for the whole server.
function open(processes: number): SQL {
  const kind = process.env.DATABASE;
  if (kind !== 'postgresql' && kind !== 'mariadb') {
    throw new Error(`DATABASE is ${kind}: set it to postgresql or mariadb`);
  }
  return new SQL({
    adapter: kind === 'mariadb' ? 'mariadb' : 'postgres',
    hostname: process.env.DATABASE_HOST,
    port: Number(process.env.DATABASE_PORT),
    database: process.env.DATABASE_NAME,
    username: process.env.DATABASE_USER,
    password: process.env.DATABASE_PASSWORD,
    max: Math.max(1, Math.floor(Number(process.env.DATABASE_POOL) / processes)),
  });
}

const randomNumber = () => Math.floor(Math.random() * WORLD_ROWS) + 1;

// The parameter `queries`: 1 if it is missing or not an integer.
function queriesAsked(text: string | undefined): number {
  return text && /^[0-9]+$/.test(text) ? Math.min(Math.max(Number(text), 1), MOST_QUERIES) : 1;
}

async function randomWorld(sql: SQL): Promise<World> {
  const [row] = await sql`SELECT id, randomNumber AS "randomNumber" FROM world WHERE id = ${randomNumber()}`;
  return row;
}

function randomWorlds(sql: SQL, count: number): Promise<World[]> {
  return Promise.all(Array.from({ length: count }, () => randomWorld(sql)));
}

async function updateWorlds(sql: SQL, count: number): Promise<World[]> {
  const worlds = await randomWorlds(sql, count);
  for (const world of worlds) world.randomNumber = randomNumber();
  // Transactions that lock rows in the same order cannot deadlock.
  worlds.sort((a, b) => a.id - b.id);
  await sql.begin(async (transaction) => {
    for (const { id, randomNumber } of worlds) {
      await transaction`UPDATE world SET randomNumber = ${randomNumber} WHERE id = ${id}`;
    }
  });
  return worlds;
}

async function sortedFortunes(sql: SQL): Promise<Fortune[]> {
  const fortunes: Fortune[] = [...(await sql`SELECT id, message FROM fortune`)];
  fortunes.push({ id: 0, message: 'Additional fortune added at request time.' });
  return fortunes.sort((a, b) => (a.message < b.message ? -1 : 1));
}

function fortunesPage(fortunes: Fortune[]): string {
  const rows = fortunes.map(({ id, message }) => `<tr><td>${id}</td><td>${Bun.escapeHTML(message)}</td></tr>`);
  return `<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table><tr><th>id</th><th>message</th></tr>${rows.join('')}</table></body></html>`;
}
