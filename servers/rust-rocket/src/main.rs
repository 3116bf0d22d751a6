//! Answers Paceline's workloads with Rocket, which the environment configures (`ROCKET_*`).

mod database;
mod database_routes;

use std::error::Error;
use std::{env, fs};

use num_bigint::BigUint;
use rocket::http::Status;
use rocket::serde::json::Json;
use rocket::{get, routes, State};
use serde::Serialize;

use crate::database::Database;
use crate::database_routes::database_routes;

const LARGEST_X: u32 = 10_000;

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

struct Page(String);

#[rocket::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let workloads = env::var("PACELINE_WORKLOADS")?;
    let page = Page(fs::read_to_string(format!("{workloads}/page.txt"))?);

    let mut server = rocket::build()
        .manage(page)
        .mount("/", routes![hello, one_byte, send_page, greet_in_json, plaintext, home, tetra]);
    if let Some(database) = Database::open()? {
        server = server.manage(database).mount("/", database_routes());
    }
    server.launch().await?;
    Ok(())
}

#[get("/hello")]
fn hello() -> &'static str {
    "Hello World\n"
}

#[get("/byte")]
fn one_byte() -> &'static str {
    "x"
}

#[get("/page")]
fn send_page(page: &State<Page>) -> &str {
    &page.inner().0
}

#[get("/json")]
fn greet_in_json() -> Json<Message> {
    Json(Message { message: "Hello, World!" })
}

#[get("/plaintext")]
fn plaintext() -> &'static str {
    "Hello, World!"
}

#[get("/home")]
fn home() -> &'static str {
    "OK, no problema!"
}

#[get("/tetra/<digits>")]
fn tetra(digits: &str) -> Result<String, (Status, &'static str)> {
    match whole_number(digits) {
        Some(x) if x <= LARGEST_X => Ok(BigUint::from(x).pow(x).to_string()),
        _ => Err((Status::BadRequest, "x must be a whole number from 0 to 10000\n")),
    }
}

/// `parse` alone, and so a parameter of the type `u32`, would accept a leading plus sign.
fn whole_number(digits: &str) -> Option<u32> {
    let decimal = digits.bytes().all(|byte| byte.is_ascii_digit());
    decimal.then(|| digits.parse().ok()).flatten()
}
