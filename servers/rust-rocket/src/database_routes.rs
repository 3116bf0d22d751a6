//! The routes of the database workloads.

use askama::Template;
use rocket::http::Status;
use rocket::response::content::RawHtml;
use rocket::serde::json::Json;
use rocket::{get, routes, Route, State};

use crate::database::{queries_asked, Database, DatabaseError, Fortune, World};

#[derive(Template)]
#[template(path = "fortunes.html")]
struct FortunesPage {
    fortunes: Vec<Fortune>,
}

/// What a database error is answered with; the error is logged.
type Failure = (Status, &'static str);

pub fn database_routes() -> Vec<Route> {
    routes![one_world, worlds, updates, fortunes]
}

#[get("/db")]
async fn one_world(database: &State<Database>) -> Result<Json<World>, Failure> {
    Ok(Json(database.random_world().await.map_err(failure)?))
}

#[get("/queries?<queries>")]
async fn worlds(database: &State<Database>, queries: Option<&str>) -> Result<Json<Vec<World>>, Failure> {
    Ok(Json(database.random_worlds(queries_asked(queries)).await.map_err(failure)?))
}

#[get("/updates?<queries>")]
async fn updates(database: &State<Database>, queries: Option<&str>) -> Result<Json<Vec<World>>, Failure> {
    Ok(Json(database.update_worlds(queries_asked(queries)).await.map_err(failure)?))
}

#[get("/fortunes")]
async fn fortunes(database: &State<Database>) -> Result<RawHtml<String>, Failure> {
    let page = FortunesPage { fortunes: database.fortunes().await.map_err(failure)? };
    Ok(RawHtml(page.render().map_err(|error| failure(error.into()))?))
}

fn failure(error: DatabaseError) -> Failure {
    eprintln!("{error:?}");
    (Status::InternalServerError, "the database did not answer as it should\n")
}
