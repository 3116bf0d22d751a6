//! Answers Paceline's workloads with actix-web.

mod database;
mod database_routes;

use std::error::Error;
use std::{env, fs};

use actix_web::error::ErrorBadRequest;
use actix_web::http::header::{ContentType, SERVER};
use actix_web::web::{Bytes, Data, Path};
use actix_web::{get, App, HttpResponse, HttpServer, Responder};
use num_bigint::BigUint;
use serde::Serialize;

use crate::database::Database;
use crate::database_routes::add_database_routes;

const LARGEST_X: u32 = 10_000;
const MILLION: u32 = 1_000_000;
const STOP_LIMIT_S: u64 = 2;

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let workloads = env::var("PACELINE_WORKLOADS")?;
    let page = Data::new(Bytes::from(fs::read(format!("{workloads}/page.txt"))?));
    let port: u16 = env::var("PACELINE_PORT")?.parse()?;
    let workers = env::var("WORKERS")?.parse()?;

    let database = Database::open()?.map(Data::new);

    let server = HttpServer::new(move || {
        let app = App::new()
            .app_data(page.clone())
            .service(hello)
            .service(one_byte)
            .service(send_page)
            .service(greet_in_json)
            .service(plaintext)
            .service(home)
            .service(tetra)
            .service(tetra_million);
        match &database {
            Some(database) => app.app_data(database.clone()).configure(add_database_routes),
            None => app,
        }
    })
    .workers(workers)
    .shutdown_timeout(STOP_LIMIT_S)
    .bind((env::var("PACELINE_HOST")?, port))?;
    Ok(server.run().await?)
}

#[get("/hello")]
async fn hello() -> impl Responder {
    "Hello World\n"
}

#[get("/byte")]
async fn one_byte() -> impl Responder {
    "x"
}

#[get("/page")]
async fn send_page(page: Data<Bytes>) -> impl Responder {
    HttpResponse::Ok().content_type(ContentType::plaintext()).body(Bytes::clone(&page))
}

#[get("/json")]
async fn greet_in_json() -> impl Responder {
    HttpResponse::Ok().insert_header((SERVER, "actix-web")).json(Message { message: "Hello, World!" })
}

#[get("/plaintext")]
async fn plaintext() -> impl Responder {
    HttpResponse::Ok()
        .insert_header((SERVER, "actix-web"))
        .content_type(ContentType::plaintext())
        .body("Hello, World!")
}

#[get("/home")]
async fn home() -> impl Responder {
    "OK, no problema!"
}

#[get("/tetra/{x}")]
async fn tetra(digits: Path<String>) -> actix_web::Result<String> {
    match whole_number(&digits) {
        Some(x) if x <= LARGEST_X => Ok(power(x)),
        _ => Err(ErrorBadRequest("x must be a whole number from 0 to 10000\n")),
    }
}

#[get("/tetra-million")]
async fn tetra_million() -> impl Responder {
    power(MILLION)
}

fn power(x: u32) -> String {
    BigUint::from(x).pow(x).to_string()
}

/// `parse` alone, and so `Path<u32>`, would accept a leading plus sign.
fn whole_number(digits: &str) -> Option<u32> {
    let decimal = digits.bytes().all(|byte| byte.is_ascii_digit());
    decimal.then(|| digits.parse().ok()).flatten()
}
