"""Rows of the database workloads, from PostgreSQL by asyncpg, from MariaDB by aiomysql or by PyMongo's asyncio client."""

import operator
import os
import random

WORLD_ROWS = 10_000
MOST_QUERIES = 500


class PostgreSQL:
    """asyncpg prepares each statement once per connection."""

    def __init__(self, pool):
        self.pool = pool

    @classmethod
    async def open(cls, connections):
        import asyncpg

        return cls(await asyncpg.create_pool(**address("database"), min_size=1, max_size=connections))

    async def close(self):
        self.pool.terminate()

    async def random_worlds(self, count):
        async with self.pool.acquire() as connection:
            rows = [
                await connection.fetchrow("SELECT id, randomNumber FROM world WHERE id = $1", random_number())
                for _ in range(count)
            ]
        return [{"id": row[0], "randomNumber": row[1]} for row in rows]

    async def store(self, rows):
        async with self.pool.acquire() as connection:
            # asyncpg runs them in one transaction.
            await connection.executemany("UPDATE world SET randomNumber = $1 WHERE id = $2", rows)

    async def fortunes(self):
        async with self.pool.acquire() as connection:
            return [tuple(row) for row in await connection.fetch("SELECT id, message FROM fortune")]


class MariaDB:
    """aiomysql puts the parameters into the statement's text: it does not prepare statements."""

    def __init__(self, pool):
        self.pool = pool

    @classmethod
    async def open(cls, connections):
        import aiomysql

        options = {"minsize": 1, "maxsize": connections, "autocommit": True, "charset": "utf8mb4"}
        return cls(await aiomysql.create_pool(**address("db"), **options))

    async def close(self):
        self.pool.terminate()
        await self.pool.wait_closed()

    async def random_worlds(self, count):
        worlds = []
        async with self.pool.acquire() as connection, connection.cursor() as cursor:
            for _ in range(count):
                await cursor.execute("SELECT id, randomNumber FROM world WHERE id = %s", (random_number(),))
                world_id, number = await cursor.fetchone()
                worlds.append({"id": world_id, "randomNumber": number})
        return worlds

    async def store(self, rows):
        async with self.pool.acquire() as connection, connection.cursor() as cursor:
            await connection.begin()
            try:
                await cursor.executemany("UPDATE world SET randomNumber = %s WHERE id = %s", rows)
                await connection.commit()
            except BaseException:
                connection.close()  # which ends the transaction
                raise

    async def fortunes(self):
        async with self.pool.acquire() as connection, connection.cursor() as cursor:
            await cursor.execute("SELECT id, message FROM fortune")
            return list(await cursor.fetchall())


class MongoDB:
    """Anything that speaks MongoDB's protocol; the client has its own pool."""

    def __init__(self, database):
        self.database = database

    @classmethod
    async def open(cls, connections):
        import pymongo

        client = pymongo.AsyncMongoClient(
            os.environ["DATABASE_HOST"], int(os.environ["DATABASE_PORT"]), maxPoolSize=connections
        )
        return cls(client[os.environ["DATABASE_NAME"]])

    async def close(self):
        await self.database.client.close()

    async def random_worlds(self, count):
        without_key = {"_id": False}
        return [await self.database.world.find_one({"_id": random_number()}, without_key) for _ in range(count)]

    async def store(self, rows):
        from pymongo import UpdateOne

        await self.database.world.bulk_write(
            [UpdateOne({"_id": world_id}, {"$set": {"randomNumber": number}}) for number, world_id in rows]
        )

    async def fortunes(self):
        return [(fortune["id"], fortune["message"]) async for fortune in self.database.fortune.find()]


def address(name_of_database):
    return {
        "host": os.environ["DATABASE_HOST"],
        "port": int(os.environ["DATABASE_PORT"]),
        "user": os.environ["DATABASE_USER"],
        "password": os.environ["DATABASE_PASSWORD"],
        name_of_database: os.environ["DATABASE_NAME"],
    }


async def open_database(processes):
    """A pool for this process: the pools of all processes together have DATABASE_POOL connections."""
    kinds = {"postgresql": PostgreSQL, "mariadb": MariaDB, "mongo-java-server": MongoDB}
    kind = os.environ["DATABASE"]
    if kind not in kinds:
        raise ValueError(f"DATABASE is {kind}: set it to one of {', '.join(kinds)}")
    return await kinds[kind].open(max(1, int(os.environ["DATABASE_POOL"]) // processes))


def random_number():
    return random.randint(1, WORLD_ROWS)


def queries_asked(text):
    """The parameter `queries`: 1 if it is missing or not an integer."""
    queries = int(text) if text.isascii() and text.isdigit() else 1
    return min(max(queries, 1), MOST_QUERIES)


async def update_worlds(database, count):
    worlds = await database.random_worlds(count)
    for world in worlds:
        world["randomNumber"] = random_number()
    # Transactions that lock rows in the same order cannot deadlock.
    worlds.sort(key=operator.itemgetter("id"))
    await database.store([(world["randomNumber"], world["id"]) for world in worlds])
    return worlds


async def sorted_fortunes(database):
    fortunes = await database.fortunes()
    fortunes.append((0, "Additional fortune added at request time."))
    return sorted(fortunes, key=operator.itemgetter(1))
