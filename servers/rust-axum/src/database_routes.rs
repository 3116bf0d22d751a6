//! The routes of the database workloads.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::header::SERVER;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse};
use axum::routing::get;
use axum::{Json, Router};
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

/// A database error: logged, and answered with 500.
struct Failure(DatabaseError);

impl IntoResponse for Failure {
    fn into_response(self) -> axum::response::Response {
        eprintln!("{:?}", self.0);
        (StatusCode::INTERNAL_SERVER_ERROR, "the database did not answer as it should\n").into_response()
    }
}

impl<E: Into<DatabaseError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

type Shared = State<Arc<Database>>;

pub fn database_routes(database: Database) -> Router {
    Router::new()
        .route("/db", get(one_world))
        .route("/queries", get(worlds))
        .route("/updates", get(updates))
        .route("/fortunes", get(fortunes))
        .with_state(Arc::new(database))
}

async fn one_world(State(database): Shared) -> Result<impl IntoResponse, Failure> {
    Ok(([(SERVER, "axum")], Json(database.random_world().await?)))
}

async fn worlds(
    State(database): Shared,
    parameters: Query<Parameters>,
) -> Result<impl IntoResponse, Failure> {
    Ok(([(SERVER, "axum")], Json(database.random_worlds(parameters.queries()).await?)))
}

async fn updates(
    State(database): Shared,
    parameters: Query<Parameters>,
) -> Result<impl IntoResponse, Failure> {
    Ok(([(SERVER, "axum")], Json(database.update_worlds(parameters.queries()).await?)))
}

async fn fortunes(State(database): Shared) -> Result<impl IntoResponse, Failure> {
    let page = FortunesPage { fortunes: database.fortunes().await? };
    Ok(([(SERVER, "axum")], Html(page.render()?)))
}
