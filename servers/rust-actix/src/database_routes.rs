//! The routes of the database workloads.

use actix_web::error::ErrorInternalServerError;
use actix_web::http::header::{ContentType, SERVER};
use actix_web::web::{Data, Query, ServiceConfig};
use actix_web::{get, HttpResponse, HttpResponseBuilder};
use askama::Template;
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

pub fn add_database_routes(config: &mut ServiceConfig) {
    config.service(one_world).service(worlds).service(updates).service(fortunes);
}

#[get("/db")]
async fn one_world(database: Data<Database>) -> actix_web::Result<HttpResponse> {
    Ok(named().json(database.random_world().await.map_err(failure)?))
}

#[get("/queries")]
async fn worlds(database: Data<Database>, asked: Query<Parameters>) -> actix_web::Result<HttpResponse> {
    Ok(named().json(database.random_worlds(asked.queries()).await.map_err(failure)?))
}

#[get("/updates")]
async fn updates(database: Data<Database>, asked: Query<Parameters>) -> actix_web::Result<HttpResponse> {
    Ok(named().json(database.update_worlds(asked.queries()).await.map_err(failure)?))
}

#[get("/fortunes")]
async fn fortunes(database: Data<Database>) -> actix_web::Result<HttpResponse> {
    let page = FortunesPage { fortunes: database.fortunes().await.map_err(failure)? };
    let body = page.render().map_err(|error| failure(error.into()))?;
    Ok(named().content_type(ContentType::html()).body(body))
}

fn named() -> HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response.insert_header((SERVER, "actix-web"));
    response
}

fn failure(error: DatabaseError) -> actix_web::Error {
    eprintln!("{error:?}");
    ErrorInternalServerError("the database did not answer as it should\n")
}
