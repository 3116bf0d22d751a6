//! Rows of the database workloads, from PostgreSQL by tokio-postgres or from MariaDB by mysql_async.

use std::env;
use std::error::Error;

use deadpool_postgres::tokio_postgres::{self, NoTls};
use deadpool_postgres::{Manager, ManagerConfig, RecyclingMethod};
use mysql_async::prelude::Queryable;
use mysql_async::{OptsBuilder, PoolConstraints, PoolOpts, TxOpts};
use serde::Serialize;

const WORLD_ROWS: i32 = 10_000;
const MOST_QUERIES: usize = 500;

pub type DatabaseError = Box<dyn Error + Send + Sync>;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct World {
    id: i32,
    random_number: i32,
}

pub struct Fortune {
    pub id: i32,
    pub message: String,
}

/// A pool of connections that a request waits for.
pub enum Database {
    PostgreSql(deadpool_postgres::Pool),
    MariaDb(mysql_async::Pool),
}

impl Database {
    /// `None` if the environment names no database.
    pub fn open() -> Result<Option<Self>, DatabaseError> {
        let Ok(kind) = env::var("DATABASE") else { return Ok(None) };
        let connections: usize = env::var("DATABASE_POOL")?.parse()?;
        match kind.as_str() {
            "postgresql" => Ok(Some(Self::PostgreSql(open_postgresql(connections)?))),
            "mariadb" => Ok(Some(Self::MariaDb(open_mariadb(connections)?))),
            _ => Err(format!("DATABASE is {kind}: set it to postgresql or mariadb").into()),
        }
    }

    pub async fn random_world(&self) -> Result<World, DatabaseError> {
        let mut worlds = self.random_worlds(1).await?;
        worlds.pop().ok_or_else(|| "no row was read".into())
    }

    /// One SELECT for each row, all on one connection.
    pub async fn random_worlds(&self, count: usize) -> Result<Vec<World>, DatabaseError> {
        let mut worlds = Vec::with_capacity(count);
        match self {
            Self::PostgreSql(pool) => {
                let client = pool.get().await?;
                let select =
                    client.prepare_cached("SELECT id, randomNumber FROM world WHERE id = $1").await?;
                for _ in 0..count {
                    let row = client.query_one(&select, &[&random_number()]).await?;
                    worlds.push(World { id: row.try_get(0)?, random_number: row.try_get(1)? });
                }
            }
            Self::MariaDb(pool) => {
                let mut connection = pool.get_conn().await?;
                let select = connection.prep("SELECT id, randomNumber FROM world WHERE id = ?").await?;
                for _ in 0..count {
                    let row = connection.exec_first(&select, (random_number(),)).await?;
                    let (id, random_number) = row.ok_or("a row is missing in world")?;
                    worlds.push(World { id, random_number });
                }
            }
        }
        Ok(worlds)
    }

    pub async fn update_worlds(&self, count: usize) -> Result<Vec<World>, DatabaseError> {
        let mut worlds = self.random_worlds(count).await?;
        for world in &mut worlds {
            world.random_number = random_number();
        }
        // Transactions that lock rows in the same order cannot deadlock.
        worlds.sort_by_key(|world| world.id);
        self.store(&worlds).await?;
        Ok(worlds)
    }

    async fn store(&self, worlds: &[World]) -> Result<(), DatabaseError> {
        match self {
            Self::PostgreSql(pool) => {
                let mut client = pool.get().await?;
                let transaction = client.transaction().await?;
                let update =
                    transaction.prepare_cached("UPDATE world SET randomNumber = $1 WHERE id = $2").await?;
                for world in worlds {
                    transaction.execute(&update, &[&world.random_number, &world.id]).await?;
                }
                transaction.commit().await?;
            }
            Self::MariaDb(pool) => {
                let mut transaction = pool.start_transaction(TxOpts::default()).await?;
                let update = transaction.prep("UPDATE world SET randomNumber = ? WHERE id = ?").await?;
                for world in worlds {
                    transaction.exec_drop(&update, (world.random_number, world.id)).await?;
                }
                transaction.commit().await?;
            }
        }
        Ok(())
    }

    /// The rows and the one that is added for each request, sorted by message.
    pub async fn fortunes(&self) -> Result<Vec<Fortune>, DatabaseError> {
        const SELECT: &str = "SELECT id, message FROM fortune";
        let mut fortunes = Vec::new();
        match self {
            Self::PostgreSql(pool) => {
                let client = pool.get().await?;
                let select = client.prepare_cached(SELECT).await?;
                for row in client.query(&select, &[]).await? {
                    fortunes.push(Fortune { id: row.try_get(0)?, message: row.try_get(1)? });
                }
            }
            Self::MariaDb(pool) => {
                let mut connection = pool.get_conn().await?;
                fortunes = connection.exec_map(SELECT, (), |(id, message)| Fortune { id, message }).await?;
            }
        }
        fortunes.push(Fortune { id: 0, message: "Additional fortune added at request time.".to_owned() });
        fortunes.sort_by(|a, b| a.message.cmp(&b.message));
        Ok(fortunes)
    }
}

fn open_postgresql(connections: usize) -> Result<deadpool_postgres::Pool, DatabaseError> {
    let mut config = tokio_postgres::Config::new();
    config.host(env::var("DATABASE_HOST")?).port(env::var("DATABASE_PORT")?.parse()?);
    config.dbname(env::var("DATABASE_NAME")?);
    config.user(env::var("DATABASE_USER")?).password(env::var("DATABASE_PASSWORD")?);
    let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(config, NoTls, recycling);
    Ok(deadpool_postgres::Pool::builder(manager).max_size(connections).build()?)
}

fn open_mariadb(connections: usize) -> Result<mysql_async::Pool, DatabaseError> {
    // The minimum equals the maximum, so that idle connections are kept.
    let constraints =
        PoolConstraints::new(connections, connections).ok_or("DATABASE_POOL must be at least 1")?;
    // A reset discards the prepared statements of a connection.
    let pool = PoolOpts::new().with_constraints(constraints).with_reset_connection(false);
    let options = OptsBuilder::default()
        .ip_or_hostname(env::var("DATABASE_HOST")?)
        .tcp_port(env::var("DATABASE_PORT")?.parse()?)
        .db_name(Some(env::var("DATABASE_NAME")?))
        .user(Some(env::var("DATABASE_USER")?))
        .pass(Some(env::var("DATABASE_PASSWORD")?))
        .pool_opts(pool);
    Ok(mysql_async::Pool::new(options))
}

fn random_number() -> i32 {
    rand::random_range(1..=WORLD_ROWS)
}

/// The parameter `queries`: 1 if it is missing or not an integer.
pub fn queries_asked(text: Option<&str>) -> usize {
    text.and_then(|text| text.parse().ok()).unwrap_or(1).clamp(1, MOST_QUERIES)
}
