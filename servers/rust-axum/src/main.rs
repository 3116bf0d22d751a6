//! Answers Paceline's workloads with axum, served by `axum::serve`.

mod database;
mod database_routes;

use std::error::Error;
use std::future::IntoFuture;
use std::time::Duration;
use std::{env, fs};

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_TYPE, SERVER};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::serve::ListenerExt;
use axum::{Json, Router};
use num_bigint::BigUint;
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::oneshot;

use crate::database::Database;
use crate::database_routes::database_routes;

const LARGEST_X: u32 = 10_000;
const MILLION: u32 = 1_000_000;

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let workloads = env::var("PACELINE_WORKLOADS")?;
    let page = Bytes::from(fs::read(format!("{workloads}/page.txt"))?);
    let port: u16 = env::var("PACELINE_PORT")?.parse()?;
    let mut terminate = signal(SignalKind::terminate())?;
    let listener = TcpListener::bind((env::var("PACELINE_HOST")?, port)).await?.tap_io(|stream| {
        // Each answer is sent with one write, so Nagle's algorithm would only delay the next one.
        let _ = stream.set_nodelay(true);
    });

    let mut app = routes(page);
    if let Some(database) = Database::open()? {
        app = app.merge(database_routes(database));
    }
    let (stop, stopping) = oneshot::channel();
    let serving = axum::serve(listener, app).with_graceful_shutdown(async {
        // The sender is never dropped before it has sent.
        let _ = stopping.await;
    });
    let serving = tokio::spawn(serving.into_future());
    terminate.recv().await;
    let _ = stop.send(());
    // Without a limit, a client that does not read its answer would keep the process running.
    match tokio::time::timeout(Duration::from_secs(2), serving).await {
        Ok(served) => Ok(served??),
        Err(_) => Ok(()),
    }
}

fn routes(page: Bytes) -> Router {
    Router::new()
        .route("/hello", get(|| async { "Hello World\n" }))
        .route("/byte", get(|| async { "x" }))
        .route("/page", get(send_page))
        .route("/json", get(greet_in_json))
        .route("/plaintext", get(|| async { ([(SERVER, "axum")], "Hello, World!") }))
        .route("/home", get(|| async { "OK, no problema!" }))
        .route("/tetra/{x}", get(tetra))
        .route("/tetra-million", get(|| async { power(MILLION) }))
        .with_state(page)
}

async fn send_page(State(page): State<Bytes>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain; charset=utf-8")], page)
}

async fn greet_in_json() -> impl IntoResponse {
    ([(SERVER, "axum")], Json(Message { message: "Hello, World!" }))
}

async fn tetra(Path(digits): Path<String>) -> Result<String, (StatusCode, &'static str)> {
    match whole_number(&digits) {
        Some(x) if x <= LARGEST_X => Ok(power(x)),
        _ => Err((StatusCode::BAD_REQUEST, "x must be a whole number from 0 to 10000\n")),
    }
}

fn power(x: u32) -> String {
    BigUint::from(x).pow(x).to_string()
}

/// `parse` alone, and so `Path<u32>`, would accept a leading plus sign.
fn whole_number(digits: &str) -> Option<u32> {
    let decimal = digits.bytes().all(|byte| byte.is_ascii_digit());
    decimal.then(|| digits.parse().ok()).flatten()
}
