//! Answers Paceline's workloads with ntex, on Tokio.

mod database;
mod database_routes;

use std::error::Error;
use std::{env, fs};

use ntex::http::header::SERVER;
use ntex::time::Seconds;
use ntex::util::Bytes;
use ntex::web::types::{Path, State};
use ntex::web::{self, App, HttpResponse, HttpServer};
use num_bigint::BigUint;
use serde::Serialize;

use crate::database::Database;
use crate::database_routes::add_database_routes;

const LARGEST_X: u32 = 10_000;
const STOP_LIMIT: Seconds = Seconds(2);

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

#[ntex::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let workloads = env::var("PACELINE_WORKLOADS")?;
    let page = Bytes::from(fs::read(format!("{workloads}/page.txt"))?);
    let port: u16 = env::var("PACELINE_PORT")?.parse()?;
    let workers = env::var("WORKERS")?.parse()?;
    let database = Database::open()?.map(std::sync::Arc::new);

    let server = HttpServer::new(async move || {
        let app = App::new().state(page.clone()).service((
            hello,
            one_byte,
            send_page,
            greet_in_json,
            plaintext,
            home,
            tetra,
        ));
        match &database {
            Some(database) => app.state(database.clone()).configure(add_database_routes),
            None => app,
        }
    })
    .workers(workers)
    .shutdown_timeout(STOP_LIMIT)
    .bind((env::var("PACELINE_HOST")?, port))?;
    Ok(server.run().await?)
}

#[web::get("/hello")]
async fn hello() -> &'static str {
    "Hello World\n"
}

#[web::get("/byte")]
async fn one_byte() -> &'static str {
    "x"
}

#[web::get("/page")]
async fn send_page(page: State<Bytes>) -> HttpResponse {
    text(HttpResponse::Ok(), page.get_ref().clone())
}

#[web::get("/json")]
async fn greet_in_json() -> HttpResponse {
    HttpResponse::Ok().header(SERVER, "ntex").json(&Message { message: "Hello, World!" })
}

#[web::get("/plaintext")]
async fn plaintext() -> HttpResponse {
    let mut response = HttpResponse::Ok();
    response.header(SERVER, "ntex");
    text(response, "Hello, World!")
}

#[web::get("/home")]
async fn home() -> &'static str {
    "OK, no problema!"
}

#[web::get("/tetra/{x}")]
async fn tetra(digits: Path<String>) -> HttpResponse {
    match whole_number(&digits) {
        Some(x) if x <= LARGEST_X => text(HttpResponse::Ok(), BigUint::from(x).pow(x).to_string()),
        _ => text(HttpResponse::BadRequest(), "x must be a whole number from 0 to 10000\n"),
    }
}

fn text(mut response: web::HttpResponseBuilder, body: impl Into<ntex::http::body::Body>) -> HttpResponse {
    response.content_type("text/plain; charset=utf-8").body(body)
}

/// `parse` alone would accept a leading plus sign.
fn whole_number(digits: &str) -> Option<u32> {
    let decimal = digits.bytes().all(|byte| byte.is_ascii_digit());
    decimal.then(|| digits.parse().ok()).flatten()
}
