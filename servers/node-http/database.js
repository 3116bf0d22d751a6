// Rows of the database workloads, from PostgreSQL by pg, from MariaDB by mysql2 or by MongoDB's driver.
'use strict';

const WORLD_ROWS = 10_000;
const MOST_QUERIES = 500;

// A driver is loaded only if the environment names its database.
function openDatabase(connections) {
  const address = {
    host: process.env.DATABASE_HOST,
    port: Number(process.env.DATABASE_PORT),
    database: process.env.DATABASE_NAME,
    user: process.env.DATABASE_USER,
    password: process.env.DATABASE_PASSWORD,
  };
  switch (process.env.DATABASE) {
    case 'postgresql':
      return openPostgreSQL(address, connections);
    case 'mariadb':
      return openMariaDB(address, connections);
    case 'mongo-java-server':
      return openMongoDB(address, connections);
    default:
      throw new Error(`DATABASE is ${process.env.DATABASE}: set it to postgresql, mariadb or mongo-java-server`);
  }
}

function openPostgreSQL(address, connections) {
  const { Pool } = require('pg');
  const pool = new Pool({ ...address, max: connections, idleTimeoutMillis: 0 });
  // An idle connection that breaks leaves the pool; without a listener it would end the process.
  pool.on('error', (error) => console.error(error.message));

  // pg prepares a statement with a name once on each connection.
  const selectWorld = { name: 'world', text: 'SELECT id, randomNumber AS "randomNumber" FROM world WHERE id = $1' };
  const selectFortunes = { name: 'fortunes', text: 'SELECT id, message FROM fortune' };
  const update = { name: 'update', text: 'UPDATE world SET randomNumber = $1 WHERE id = $2' };

  return {
    world: async (id) => (await pool.query({ ...selectWorld, values: [id] })).rows[0],
    fortunes: async () => (await pool.query(selectFortunes)).rows,
    async store(worlds) {
      const client = await pool.connect();
      let failure;
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

function openMariaDB(address, connections) {
  const pool = require('mysql2/promise').createPool({ ...address, connectionLimit: connections });

  // `execute` prepares a statement once on each connection, `query` would not.
  return {
    world: async (id) => (await pool.execute('SELECT id, randomNumber FROM world WHERE id = ?', [id]))[0][0],
    fortunes: async () => (await pool.execute('SELECT id, message FROM fortune'))[0],
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

function openMongoDB({ host, port, database }, connections) {
  const { MongoClient } = require('mongodb');
  const documents = new MongoClient(`mongodb://${host}:${port}`, { maxPoolSize: connections }).db(database);
  const worlds = documents.collection('world');
  const options = { projection: { _id: 0 } };

  return {
    world: (id) => worlds.findOne({ _id: id }, options),
    fortunes: () => documents.collection('fortune').find({}, options).toArray(),
    store: (rows) =>
      worlds.bulkWrite(
        rows.map(({ id, randomNumber }) => ({ updateOne: { filter: { _id: id }, update: { $set: { randomNumber } } } })),
      ),
  };
}

const randomNumber = () => Math.floor(Math.random() * WORLD_ROWS) + 1;

// The parameter `queries`: 1 if it is missing or not an integer.
function queriesAsked(text) {
  return /^[0-9]+$/.test(text) ? Math.min(Math.max(Number(text), 1), MOST_QUERIES) : 1;
}

const randomWorld = (database) => database.world(randomNumber());

function randomWorlds(database, count) {
  return Promise.all(Array.from({ length: count }, () => randomWorld(database)));
}

async function updateWorlds(database, count) {
  const worlds = await randomWorlds(database, count);
  for (const world of worlds) world.randomNumber = randomNumber();
  // Transactions that lock rows in the same order cannot deadlock.
  worlds.sort((a, b) => a.id - b.id);
  await database.store(worlds);
  return worlds;
}

async function sortedFortunes(database) {
  const fortunes = await database.fortunes();
  fortunes.push({ id: 0, message: 'Additional fortune added at request time.' });
  return fortunes.sort((a, b) => (a.message < b.message ? -1 : 1));
}

module.exports = { openDatabase, queriesAsked, randomWorld, randomWorlds, updateWorlds, sortedFortunes };
