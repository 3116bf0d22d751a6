//! Echoes WebSocket messages with tokio-tungstenite.

use std::env;
use std::error::Error;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{signal, SignalKind};
use tokio::time::{sleep, timeout};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::header::{HeaderValue, CONNECTION};
use tokio_tungstenite::tungstenite::http::StatusCode;

/// For TLS and for WebSocket, each; an open WebSocket may be idle for any time.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(60);

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let tls = TlsAcceptor::from(Arc::new(tls_config()?));
    let secure = listen("PACELINE_TLS_PORT").await?;
    let plain = listen("PACELINE_PORT").await?;
    tokio::select! {
        () = accept(secure, Some(tls)) => {}
        () = accept(plain, None) => {}
        // The connections end with the process.
        _ = terminate.recv() => {}
    }
    Ok(())
}

fn tls_config() -> Outcome<ServerConfig> {
    let certificates =
        CertificateDer::pem_file_iter(env::var("PACELINE_TLS_CERT")?)?.collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_file(env::var("PACELINE_TLS_KEY")?)?;
    Ok(ServerConfig::builder().with_no_client_auth().with_single_cert(certificates, key)?)
}

async fn listen(port: &str) -> Outcome<TcpListener> {
    let port: u16 = env::var(port)?.parse()?;
    Ok(TcpListener::bind((env::var("PACELINE_HOST")?, port)).await?)
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>) {
    loop {
        match listener.accept().await {
            // A failed handshake, or a client that left, ends only this connection.
            Ok((stream, _)) => drop(tokio::spawn(serve(stream, tls.clone()))),
            // Out of file descriptors, or the client disconnected before it was accepted: keep accepting.
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn serve(stream: TcpStream, tls: Option<TlsAcceptor>) -> Outcome<()> {
    // Echoes are written when no further message is there: Nagle's algorithm would only delay them.
    stream.set_nodelay(true)?;
    match tls {
        Some(tls) => echo(timeout(HANDSHAKE_LIMIT, tls.accept(stream)).await??).await,
        None => echo(stream).await,
    }
}

/// Sends each message back as it came, text as text and binary as binary. Pings and closes are the library's.
async fn echo(stream: impl AsyncRead + AsyncWrite + Unpin) -> Outcome<()> {
    let socket = timeout(HANDSHAKE_LIMIT, accept_hdr_async(stream, only_one_path)).await??;
    let (sink, messages) = socket.split();
    messages.try_filter(|message| ready(message.is_text() || message.is_binary())).forward(sink).await?;
    Ok(())
}

fn only_one_path(request: &Request, response: Response) -> Result<Response, ErrorResponse> {
    if request.uri().path() == "/ws" {
        return Ok(response);
    }
    let mut refusal = ErrorResponse::new(Some("Not Found\n".to_owned()));
    *refusal.status_mut() = StatusCode::NOT_FOUND;
    refusal.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    Err(refusal)
}
