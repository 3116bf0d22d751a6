//! The routes of the database workloads.

use std::sync::Arc;

use askama::Template;
use ntex::http::header::SERVER;
use ntex::web::error::InternalError;
use ntex::web::types::{Query, State};
use ntex::web::{self, Error, HttpResponse, HttpResponseBuilder, ServiceConfig};
use serde::Deserialize;

use crate::database::{queries_asked, Database, DatabaseError, Fortune};

#[derive(Deserialize)]
struct Parameters {
    queries: Option<String>,
}

impl Parameters {
    fn queries(&self) -> usize {
        queries_asked(self.queries.as_deref())
    }
}

#[derive(Template)]
#[template(path = "fortunes.html")]
struct FortunesPage {
    fortunes: Vec<Fortune>,
}

type Shared = State<Arc<Database>>;

pub fn add_database_routes(config: &mut ServiceConfig) {
    config.service((one_world, worlds, updates, fortunes));
}

#[web::get("/db")]
async fn one_world(database: Shared) -> Result<HttpResponse, Error> {
    Ok(named().json(&database.random_world().await.map_err(failure)?))
}

#[web::get("/queries")]
async fn worlds(database: Shared, asked: Query<Parameters>) -> Result<HttpResponse, Error> {
    Ok(named().json(&database.random_worlds(asked.queries()).await.map_err(failure)?))
}

#[web::get("/updates")]
async fn updates(database: Shared, asked: Query<Parameters>) -> Result<HttpResponse, Error> {
    Ok(named().json(&database.update_worlds(asked.queries()).await.map_err(failure)?))
}

#[web::get("/fortunes")]
async fn fortunes(database: Shared) -> Result<HttpResponse, Error> {
    let page = FortunesPage { fortunes: database.fortunes().await.map_err(failure)? };
    let body = page.render().map_err(|error| failure(error.into()))?;
    Ok(named().content_type("text/html; charset=utf-8").body(body))
}

fn named() -> HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response.header(SERVER, "ntex");
    response
}

fn failure(error: DatabaseError) -> Error {
    eprintln!("{error:?}");
    InternalError::default(
        "the database did not answer as it should\n",
        ntex::http::StatusCode::INTERNAL_SERVER_ERROR,
    )
    .into()
}
