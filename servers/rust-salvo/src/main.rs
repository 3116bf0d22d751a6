//! Answers Paceline's workloads with Salvo.

mod database;
mod database_routes;

use std::error::Error;
use std::time::Duration;
use std::{env, fs};

use num_bigint::BigUint;
use salvo::http::header::{HeaderValue, SERVER};
use salvo::prelude::*;
use serde::Serialize;
use tokio::signal::unix::{signal, SignalKind};

use crate::database::Database;
use crate::database_routes::database_routes;

const LARGEST_X: u32 = 10_000;
const STOP_LIMIT: Duration = Duration::from_secs(2);

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let workloads = env::var("PACELINE_WORKLOADS")?;
    let page = fs::read_to_string(format!("{workloads}/page.txt"))?;
    let port: u16 = env::var("PACELINE_PORT")?.parse()?;
    let mut terminate = signal(SignalKind::terminate())?;

    let mut router = routes(page);
    if let Some(database) = Database::open()? {
        router = router.push(database_routes(database));
    }
    let acceptor = TcpListener::new((env::var("PACELINE_HOST")?, port)).try_bind().await?;
    let server = Server::new(acceptor);
    let handle = server.handle();
    tokio::spawn(async move {
        terminate.recv().await;
        handle.stop_graceful(STOP_LIMIT);
    });
    Ok(server.try_serve(router).await?)
}

fn routes(page: String) -> Router {
    Router::new()
        .push(Router::with_path("hello").get(hello))
        .push(Router::with_path("byte").get(one_byte))
        .push(Router::with_path("page").get(Page(page)))
        .push(Router::with_path("json").hoop(named).get(greet_in_json))
        .push(Router::with_path("plaintext").hoop(named).get(plaintext))
        .push(Router::with_path("home").get(home))
        .push(Router::with_path("tetra/{x}").get(tetra))
}

/// Adds `Server`, which TechEmpower's tests require and Salvo does not send; hyper does send `Date`.
#[handler]
pub async fn named(response: &mut Response) {
    response.headers_mut().insert(SERVER, HeaderValue::from_static("Salvo"));
}

#[handler]
async fn hello() -> &'static str {
    "Hello World\n"
}

#[handler]
async fn one_byte() -> &'static str {
    "x"
}

struct Page(String);

#[handler]
impl Page {
    async fn handle(&self, response: &mut Response) {
        response.render(Text::Plain(self.0.clone()));
    }
}

#[handler]
async fn greet_in_json() -> Json<Message> {
    Json(Message { message: "Hello, World!" })
}

#[handler]
async fn plaintext() -> &'static str {
    "Hello, World!"
}

#[handler]
async fn home() -> &'static str {
    "OK, no problema!"
}

#[handler]
async fn tetra(request: &mut Request, response: &mut Response) {
    let digits: String = request.param("x").unwrap_or_default();
    match whole_number(&digits) {
        Some(x) if x <= LARGEST_X => response.render(Text::Plain(BigUint::from(x).pow(x).to_string())),
        _ => {
            response.status_code(StatusCode::BAD_REQUEST);
            response.render(Text::Plain("x must be a whole number from 0 to 10000\n"));
        }
    }
}

/// `parse` alone would accept a leading plus sign.
fn whole_number(digits: &str) -> Option<u32> {
    let decimal = digits.bytes().all(|byte| byte.is_ascii_digit());
    decimal.then(|| digits.parse().ok()).flatten()
}
