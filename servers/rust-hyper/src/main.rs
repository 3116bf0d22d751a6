//! Answers Paceline's workloads with hyper's HTTP/1 and HTTP/2 servers on Tokio.

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;
use std::{env, fs};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, CONTENT_TYPE, SERVER};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use num_bigint::BigUint;
use serde::Serialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{signal, SignalKind};

const LARGEST_X: u32 = 10_000;
const MILLION: u32 = 1_000_000;

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let workloads = env::var("PACELINE_WORKLOADS")?;
    let page = Bytes::from(fs::read(format!("{workloads}/page.txt"))?);
    let port: u16 = env::var("PACELINE_PORT")?.parse()?;
    let listener = TcpListener::bind((env::var("PACELINE_HOST")?, port)).await?;
    let mut terminate = signal(SignalKind::terminate())?;
    let connections = GracefulShutdown::new();

    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => serve(stream, page.clone(), &connections),
                // Out of file descriptors, or the client disconnected before it was accepted: keep accepting.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
            _ = terminate.recv() => break,
        }
    }
    drop(listener);

    tokio::select! {
        () = connections.shutdown() => {}
        // Without a limit, a client that does not read its answer would keep the process running.
        () = tokio::time::sleep(Duration::from_secs(2)) => {}
    }
    Ok(())
}

fn serve(stream: TcpStream, page: Bytes, connections: &GracefulShutdown) {
    // hyper sends each answer with one write, so Nagle's algorithm would only delay the next one.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let response = answer(&request, &page);
        async move { Ok::<_, Infallible>(response) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // Without a timer there is no limit for receiving headers.
    builder.http1().timer(TokioTimer::new());
    let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    let connection = connections.watch(connection);
    tokio::spawn(async move {
        // A connection reset or invalid HTTP ends only this connection.
        let _ = connection.await;
    });
}

fn answer(request: &Request<Incoming>, page: &Bytes) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed\n");
    }
    match request.uri().path() {
        "/hello" => text(StatusCode::OK, "Hello World\n"),
        "/byte" => text(StatusCode::OK, "x"),
        "/page" => text(StatusCode::OK, page.clone()),
        "/json" => named(json(&Message { message: "Hello, World!" })),
        "/plaintext" => named(text(StatusCode::OK, "Hello, World!")),
        "/home" => text(StatusCode::OK, "OK, no problema!"),
        "/tetra-million" => power(MILLION),
        path => match path.strip_prefix("/tetra/") {
            Some(digits) => tetra(digits),
            None => text(StatusCode::NOT_FOUND, "Not Found\n"),
        },
    }
}

fn tetra(digits: &str) -> Response<Full<Bytes>> {
    match whole_number(digits) {
        Some(x) if x <= LARGEST_X => power(x),
        _ => text(StatusCode::BAD_REQUEST, "x must be a whole number from 0 to 10000\n"),
    }
}

/// `parse` alone would accept a leading plus sign.
fn whole_number(digits: &str) -> Option<u32> {
    let decimal = digits.bytes().all(|byte| byte.is_ascii_digit());
    decimal.then(|| digits.parse().ok()).flatten()
}

fn power(x: u32) -> Response<Full<Bytes>> {
    text(StatusCode::OK, BigUint::from(x).pow(x).to_string())
}

fn json(value: &impl Serialize) -> Response<Full<Bytes>> {
    match serde_json::to_vec(value) {
        Ok(body) => typed(StatusCode::OK, "application/json", body),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

/// hyper adds `Date`, but no `Server`.
fn named(mut response: Response<Full<Bytes>>) -> Response<Full<Bytes>> {
    response.headers_mut().insert(SERVER, HeaderValue::from_static("hyper"));
    response
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    typed(status, "text/plain; charset=utf-8", body)
}

fn typed(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
