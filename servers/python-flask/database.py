"""Rows of the database workloads, from PostgreSQL by psycopg, from MariaDB by PyMySQL or by PyMongo."""

import contextlib
import operator
import os
import random

WORLD_ROWS = 10_000
MOST_QUERIES = 500

# psycopg's default timeout for a connection is thirty seconds; here a request waits without a practical limit.
WAIT_S = 3600

SELECT_WORLD = "SELECT id, randomNumber FROM world WHERE id = %s"
SELECT_FORTUNES = "SELECT id, message FROM fortune"
UPDATE = "UPDATE world SET randomNumber = %s WHERE id = %s"


class SqlDatabase:
    """The common part of both: subclasses provide a `cursor` and a `transaction` of a pooled connection."""

    def random_worlds(self, count):
        worlds = []
        with self.cursor() as cursor:
            for _ in range(count):
                cursor.execute(SELECT_WORLD, (random_number(),))
                world_id, number = cursor.fetchone()
                worlds.append({"id": world_id, "randomNumber": number})
        return worlds

    def store(self, rows):
        with self.transaction() as cursor:
            cursor.executemany(UPDATE, rows)

    def fortunes(self):
        with self.cursor() as cursor:
            cursor.execute(SELECT_FORTUNES)
            return list(cursor.fetchall())


class PostgreSQL(SqlDatabase):
    """psycopg prepares a statement after a connection has used it five times."""

    def __init__(self, connections):
        import psycopg_pool

        options = {**address("dbname"), "autocommit": True}
        pool = {"min_size": 1, "max_size": connections, "timeout": WAIT_S}
        self.pool = psycopg_pool.ConnectionPool(kwargs=options, **pool)

    @contextlib.contextmanager
    def cursor(self):
        with self.pool.connection() as connection, connection.cursor() as cursor:
            yield cursor

    @contextlib.contextmanager
    def transaction(self):
        with self.pool.connection() as connection, connection.transaction(), connection.cursor() as cursor:
            yield cursor


class MariaDB(SqlDatabase):
    """PyMySQL puts the parameters into the statement's text: it does not prepare statements."""

    def __init__(self, connections):
        import dbutils.pooled_db
        import pymysql

        options = {**address("database"), "autocommit": True, "charset": "utf8mb4"}
        pool = {"maxconnections": connections, "maxcached": connections, "blocking": True}
        self.pool = dbutils.pooled_db.PooledDB(pymysql, **pool, **options)

    @contextlib.contextmanager
    def cursor(self):
        with self.pool.connection() as connection, connection.cursor() as cursor:
            yield cursor

    @contextlib.contextmanager
    def transaction(self):
        # A connection that is returned without a commit is rolled back.
        with self.pool.connection() as connection, connection.cursor() as cursor:
            connection.begin()
            yield cursor
            connection.commit()


class MongoDB:
    """Anything that speaks MongoDB's protocol; the client has its own pool."""

    def __init__(self, connections):
        import pymongo

        host, port = os.environ["DATABASE_HOST"], int(os.environ["DATABASE_PORT"])
        client = pymongo.MongoClient(host, port, maxPoolSize=connections)
        self.database = client[os.environ["DATABASE_NAME"]]

    def random_worlds(self, count):
        without_key = {"_id": False}
        return [self.database.world.find_one({"_id": random_number()}, without_key) for _ in range(count)]

    def store(self, rows):
        from pymongo import UpdateOne

        self.database.world.bulk_write(
            [UpdateOne({"_id": world_id}, {"$set": {"randomNumber": number}}) for number, world_id in rows]
        )

    def fortunes(self):
        return [(fortune["id"], fortune["message"]) for fortune in self.database.fortune.find()]


def address(name_of_database):
    return {
        "host": os.environ["DATABASE_HOST"],
        "port": int(os.environ["DATABASE_PORT"]),
        "user": os.environ["DATABASE_USER"],
        "password": os.environ["DATABASE_PASSWORD"],
        name_of_database: os.environ["DATABASE_NAME"],
    }


def open_database(processes):
    """A pool for this process: the pools of all processes together have DATABASE_POOL connections."""
    kinds = {"postgresql": PostgreSQL, "mariadb": MariaDB, "mongo-java-server": MongoDB}
    kind = os.environ["DATABASE"]
    if kind not in kinds:
        raise ValueError(f"DATABASE is {kind}: set it to one of {', '.join(kinds)}")
    return kinds[kind](max(1, int(os.environ["DATABASE_POOL"]) // processes))


def random_number():
    return random.randint(1, WORLD_ROWS)


def queries_asked(text):
    """The parameter `queries`: 1 if it is missing or not an integer."""
    queries = int(text) if text.isascii() and text.isdigit() else 1
    return min(max(queries, 1), MOST_QUERIES)


def update_worlds(database, count):
    worlds = database.random_worlds(count)
    for world in worlds:
        world["randomNumber"] = random_number()
    # Transactions that lock rows in the same order cannot deadlock.
    worlds.sort(key=operator.itemgetter("id"))
    database.store([(world["randomNumber"], world["id"]) for world in worlds])
    return worlds


def sorted_fortunes(database):
    fortunes = [*database.fortunes(), (0, "Additional fortune added at request time.")]
    return sorted(fortunes, key=operator.itemgetter(1))
