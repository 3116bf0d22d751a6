// Rows of the database workloads, from PostgreSQL by pg, from MariaDB by mysql2 or by MongoDB's driver.
const WORLD_ROWS = 10_000;
const MOST_QUERIES = 500;

export interface World {
  id: number;
  randomNumber: number;
}

export interface Fortune {
  id: number;
  message: string;
}

interface Database {
  world(id: number): Promise<World>;
  fortunes(): Promise<Fortune[]>;
  store(worlds: World[]): Promise<unknown>;
  close(): Promise<void>;
}

interface Address {
  host: string | undefined;
  port: number;
  database: string | undefined;
  user: string | undefined;
  password: string | undefined;
}

// A driver is loaded only if the environment names its database.
export function openDatabase(connections: number): Promise<Database> {
  const address = {
    host: Deno.env.get('DATABASE_HOST'),
    port: Number(Deno.env.get('DATABASE_PORT')),
    database: Deno.env.get('DATABASE_NAME'),
    user: Deno.env.get('DATABASE_USER'),
    password: Deno.env.get('DATABASE_PASSWORD'),
  };
  switch (Deno.env.get('DATABASE')) {
    case 'postgresql':
      return openPostgreSQL(address, connections);
    case 'mariadb':
      return openMariaDB(address, connections);
    case 'mongo-java-server':
      return openMongoDB(address, connections);
    default:
      throw new Error(`DATABASE is ${Deno.env.get('DATABASE')}: set it to postgresql, mariadb or mongo-java-server`);
  }
}

async function openPostgreSQL(address: Address, connections: number): Promise<Database> {
  const { Pool } = (await import('pg')).default;
  const pool = new Pool({ ...address, max: connections, idleTimeoutMillis: 0 });
  // An idle connection that breaks leaves the pool; without a listener it would end the process.
  pool.on('error', (error: Error) => console.error(error.message));

  // pg prepares a statement with a name once on each connection.
  const selectWorld = { name: 'world', text: 'SELECT id, randomNumber AS "randomNumber" FROM world WHERE id = $1' };
  const selectFortunes = { name: 'fortunes', text: 'SELECT id, message FROM fortune' };
  const update = { name: 'update', text: 'UPDATE world SET randomNumber = $1 WHERE id = $2' };

  return {
    world: async (id) => (await pool.query({ ...selectWorld, values: [id] })).rows[0],
    fortunes: async () => (await pool.query(selectFortunes)).rows,
    close: () => pool.end(),
    async store(worlds) {
      const client = await pool.connect();
      let failure: unknown;
      try {
        await client.query('BEGIN');
        for (const { id, randomNumber } of worlds) await client.query({ ...update, values: [randomNumber, id] });
        await client.query('COMMIT');
      } catch (error) {
        failure = error;
        throw error;
      } finally {
        // A failed connection is closed, which ends its transaction.
        client.release(failure);
      }
    },
  };
}

async function openMariaDB(address: Address, connections: number): Promise<Database> {
  const { createPool } = await import('mysql2/promise');
  const pool = createPool({ ...address, connectionLimit: connections });

  // `execute` prepares a statement once on each connection, `query` would not.
  return {
    async world(id) {
      const [rows] = await pool.execute('SELECT id, randomNumber FROM world WHERE id = ?', [id]);
      return (rows as World[])[0];
    },
    fortunes: async () => (await pool.execute('SELECT id, message FROM fortune'))[0] as Fortune[],
    close: () => pool.end(),
    async store(worlds) {
      const connection = await pool.getConnection();
      try {
        await connection.beginTransaction();
        for (const { id, randomNumber } of worlds) {
          await connection.execute('UPDATE world SET randomNumber = ? WHERE id = ?', [randomNumber, id]);
        }
        await connection.commit();
        connection.release();
      } catch (error) {
        connection.destroy();
        throw error;
      }
    },
  };
}

async function openMongoDB({ host, port, database }: Address, connections: number): Promise<Database> {
  const { MongoClient } = await import('mongodb');
  const client = new MongoClient(`mongodb://${host}:${port}`, { maxPoolSize: connections });
  const documents = client.db(database);
  const worlds = documents.collection<World & { _id: number }>('world');
  const options = { projection: { _id: 0 } };

  return {
    world: (id) => worlds.findOne({ _id: id }, options) as Promise<World>,
    fortunes: () => documents.collection<Fortune>('fortune').find({}, options).toArray(),
    close: () => client.close(),
    store: (rows) =>
      worlds.bulkWrite(
        rows.map(({ id, randomNumber }) => ({
          updateOne: { filter: { _id: id }, update: { $set: { randomNumber } } },
        })),
      ),
  };
}

const randomNumber = () => Math.floor(Math.random() * WORLD_ROWS) + 1;

// The parameter `queries`: 1 if it is missing or not an integer.
export function queriesAsked(text: string | undefined): number {
  return text && /^[0-9]+$/.test(text) ? Math.min(Math.max(Number(text), 1), MOST_QUERIES) : 1;
}

export const randomWorld = (database: Database) => database.world(randomNumber());

export function randomWorlds(database: Database, count: number): Promise<World[]> {
  return Promise.all(Array.from({ length: count }, () => randomWorld(database)));
}

export async function updateWorlds(database: Database, count: number): Promise<World[]> {
  const worlds = await randomWorlds(database, count);
  for (const world of worlds) world.randomNumber = randomNumber();
  // Transactions that lock rows in the same order cannot deadlock.
  worlds.sort((a, b) => a.id - b.id);
  await database.store(worlds);
  return worlds;
}

export async function sortedFortunes(database: Database): Promise<Fortune[]> {
  const fortunes = await database.fortunes();
  fortunes.push({ id: 0, message: 'Additional fortune added at request time.' });
  return fortunes.sort((a, b) => (a.message < b.message ? -1 : 1));
}
