//! The routes of the database workloads.

use std::sync::Arc;

use askama::Template;
use salvo::affix_state;
use salvo::prelude::*;

use crate::database::{queries_asked, Database, DatabaseError, Fortune, World};
use crate::named;

#[derive(Template)]
#[template(path = "fortunes.html")]
struct FortunesPage {
    fortunes: Vec<Fortune>,
}

/// A database error: logged, and answered with 500.
struct Failure(DatabaseError);

impl<E: Into<DatabaseError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl Scribe for Failure {
    fn render(self, response: &mut Response) {
        eprintln!("{:?}", self.0);
        response.status_code(StatusCode::INTERNAL_SERVER_ERROR);
        response.render(Text::Plain("the database did not answer as it should\n"));
    }
}

pub fn database_routes(database: Database) -> Router {
    Router::with_hoop(affix_state::inject(Arc::new(database)))
        .hoop(named)
        .push(Router::with_path("db").get(one_world))
        .push(Router::with_path("queries").get(worlds))
        .push(Router::with_path("updates").get(updates))
        .push(Router::with_path("fortunes").get(fortunes))
}

fn opened(depot: &Depot) -> Result<&Database, Failure> {
    let database = depot.get_typed::<Arc<Database>>().map_err(|_| "the state has no database")?;
    Ok(database)
}

fn queries(request: &Request) -> usize {
    queries_asked(request.queries().get("queries").map(String::as_str))
}

#[handler]
async fn one_world(depot: &mut Depot) -> Result<Json<World>, Failure> {
    Ok(Json(opened(depot)?.random_world().await?))
}

#[handler]
async fn worlds(request: &mut Request, depot: &mut Depot) -> Result<Json<Vec<World>>, Failure> {
    Ok(Json(opened(depot)?.random_worlds(queries(request)).await?))
}

#[handler]
async fn updates(request: &mut Request, depot: &mut Depot) -> Result<Json<Vec<World>>, Failure> {
    Ok(Json(opened(depot)?.update_worlds(queries(request)).await?))
}

#[handler]
async fn fortunes(depot: &mut Depot) -> Result<Text<String>, Failure> {
    let page = FortunesPage { fortunes: opened(depot)?.fortunes().await? };
    Ok(Text::Html(page.render()?))
}
