//! Answers Paceline's workloads over HTTP/3 with h3 on quinn, and over TCP with hyper's HTTP/1 and HTTP/2 servers.

use std::time::{Duration, SystemTime};
use std::{env, error::Error, fs, net::IpAddr, sync::Arc};

use h3::server::RequestResolver;
use h3_quinn::Connection;
use http_body_util::channel::Channel;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Body, Buf, Bytes, Incoming};
use hyper::header::{HeaderValue, CONTENT_LENGTH, CONTENT_TYPE, DATE, SERVER};
use hyper::{service::service_fn, Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::{conn::auto, graceful::GracefulShutdown};
use quinn::crypto::rustls::QuicServerConfig;
use rustls::pki_types::{pem::PemObject, CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{signal, SignalKind};
use tokio::time::{sleep, timeout};

type Failure = Box<dyn Error + Send + Sync>;
type Content = Either<Full<Bytes>, Channel<Bytes>>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let page = Bytes::from(fs::read(format!("{}/page.txt", env::var("PACELINE_WORKLOADS")?))?);
    let host: IpAddr = env::var("PACELINE_HOST")?.parse()?;
    let chain = CertificateDer::pem_file_iter(env::var("PACELINE_TLS_CERT")?)?.collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_file(env::var("PACELINE_TLS_KEY")?)?;
    let mut tls = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let endpoint = quinn::Endpoint::server(config, (host, env::var("PACELINE_TLS_PORT")?.parse()?).into())?;
    let listener = TcpListener::bind((host, env::var("PACELINE_PORT")?.parse()?)).await?;
    let mut terminate = signal(SignalKind::terminate())?;
    let connections = GracefulShutdown::new();
    loop {
        tokio::select! {
            Some(incoming) = endpoint.accept() => {
                tokio::spawn(serve_quic(incoming, page.clone()));
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => serve_tcp(stream, page.clone(), &connections),
                // Out of file descriptors, or the client disconnected before it was accepted: keep accepting.
                Err(_) => sleep(Duration::from_millis(10)).await,
            },
            _ = terminate.recv() => break,
        }
    }
    drop(listener);
    // Without a limit, a client that does not read its answer would keep the process running.
    let _ = timeout(Duration::from_secs(2), connections.shutdown()).await;
    endpoint.close(0x100_u32.into(), b""); // H3_NO_ERROR
    let _ = timeout(Duration::from_secs(1), endpoint.wait_idle()).await;
    Ok(())
}

/// An error ends only this connection.
async fn serve_quic(incoming: quinn::Incoming, page: Bytes) -> Result<(), Failure> {
    let mut connection = h3::server::Connection::new(Connection::new(incoming.await?)).await?;
    while let Some(resolver) = connection.accept().await? {
        tokio::spawn(over_quic(resolver, page.clone()));
    }
    Ok(())
}

async fn over_quic(resolver: RequestResolver<Connection, Bytes>, page: Bytes) -> Result<(), Failure> {
    let (request, mut stream) = resolver.resolve_request().await?;
    let mut received = 0;
    while let Some(data) = stream.recv_data().await? {
        received += data.remaining();
    }
    let (mut parts, mut body) = answer(&request, received, page).into_parts();
    // hyper adds these two; h3 adds no fields.
    if let Some(length) = body.size_hint().exact() {
        parts.headers.insert(CONTENT_LENGTH, length.into());
    }
    parts.headers.insert(DATE, httpdate::fmt_http_date(SystemTime::now()).try_into()?);
    stream.send_response(Response::from_parts(parts, ())).await?;
    while let Some(frame) = if request.method() == Method::HEAD { None } else { body.frame().await } {
        if let Ok(data) = frame?.into_data() {
            stream.send_data(data).await?;
        }
    }
    Ok(stream.finish().await?)
}

fn serve_tcp(stream: TcpStream, page: Bytes, connections: &GracefulShutdown) {
    // hyper sends each answer with one write, so Nagle's algorithm would only delay the next one.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| over_tcp(request, page.clone()));
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new());
    let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    tokio::spawn(connections.watch(connection));
}

async fn over_tcp(mut request: Request<Incoming>, page: Bytes) -> hyper::Result<Response<Content>> {
    let mut received = 0;
    while let Some(frame) = request.body_mut().frame().await {
        received += frame?.data_ref().map_or(0, Bytes::len);
    }
    Ok(answer(&request, received, page))
}

/// The same over TCP and QUIC; `received` is the length of the request's body.
fn answer<B>(request: &Request<B>, received: usize, page: Bytes) -> Response<Content> {
    let method = request.method();
    match request.uri().path() {
        "/upload" if method == Method::POST => text(StatusCode::OK, received.to_string()),
        _ if method != Method::GET && method != Method::HEAD => text(StatusCode::METHOD_NOT_ALLOWED, ""),
        "/hello" => text(StatusCode::OK, "Hello World\n"),
        "/byte" => text(StatusCode::OK, "x"),
        "/page" => text(StatusCode::OK, page),
        "/json" => typed("application/json", json!({ "message": "Hello, World!" }).to_string()),
        "/plaintext" => text(StatusCode::OK, "Hello, World!"),
        "/sse" => events(),
        _ => text(StatusCode::NOT_FOUND, "Not Found\n"),
    }
}

/// Twenty events and the end, each after five milliseconds. A client that disconnects drops the receiver.
fn events() -> Response<Content> {
    let (mut sender, events) = Channel::new(1);
    tokio::spawn(async move {
        for index in 0..20 {
            sleep(Duration::from_millis(5)).await;
            sender.send_data(format!("data: {{\"index\":{index},\"tokens\":1}}\n\n").into()).await?;
        }
        sleep(Duration::from_millis(5)).await;
        sender.send_data("data: [DONE]\n\n".into()).await
    });
    let mut response = Response::new(Either::Right(events));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<Content> {
    let mut response = typed("text/plain; charset=utf-8", body);
    *response.status_mut() = status;
    response
}

fn typed(kind: &'static str, body: impl Into<Bytes>) -> Response<Content> {
    let mut response = Response::new(Either::Left(Full::new(body.into())));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(SERVER, HeaderValue::from_static("h3"));
    response
}
