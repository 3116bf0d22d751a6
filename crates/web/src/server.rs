//! The server: pages as JSON, the files of the user interface, downloads, live events. It only reads.
//!
//! `paceline view` runs it until it is stopped, `run --view` and `round --view` during the measurement. Access control
//! is in `guard.rs`, the contents of pages in `page`. Records are read in blocking threads, a few at a time.

use crate::assets::{self, ASSETS};
use crate::connections::Connections;
use crate::content::{ResponseContent, page_json, typed};
use crate::guard::{Access, protect};
use crate::live::LiveFeed;
use crate::page::{CapacityPage, RunPage};
use crate::{Library, WebError, download};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Response, StatusCode};
use axum::middleware::{self, Next};
use axum::response::IntoResponse as _;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::Read as _;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::{Arc, RwLock};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_stream::StreamExt as _;

/// Pages that are built concurrently: each may read a whole round.
const AT_ONCE: usize = 4;

/// Connections that are open at a time: half of the usual limit of 1,024 open files.
const MAX_CONNECTIONS: usize = 512;

/// The time a client has for the head of a request, also of the next one on its connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The time after which a connection is closed whose client reads nothing of its response.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest time that a request waits for its turn to be answered: the largest round takes some seconds.
const TURN_TIMEOUT: Duration = Duration::from_secs(60);

/// The pause after an accept that failed, usually because no file descriptor is free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Runs that one request returns at most: eight servers, or the launches of one.
const RUNS_AT_ONCE: usize = 24;

/// Rounds whose pages are built before a request.
const PREPARED: usize = 4;

/// A server that listens but does not answer yet.
pub struct WebServer {
    listener: TcpListener,
    address: SocketAddr,
    state: AppState,
}

/// State shared by all requests.
#[derive(Clone)]
struct AppState {
    access: Arc<Access>,
    library: Arc<RwLock<Arc<Library>>>,
    live: LiveFeed,
    turns: Arc<Semaphore>,
}

/// Changes what a running server shows.
#[derive(Clone)]
pub struct ShownLibrary(Arc<RwLock<Arc<Library>>>);

impl ShownLibrary {
    /// Shows other results from now on.
    pub fn replace(&self, library: Library) {
        *self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner) = Arc::new(library);
    }
}

impl WebServer {
    /// Listens on an address; port 0 takes any. `names` are host names by which visitors may call this machine.
    ///
    /// # Errors
    /// [`WebError`] when the address cannot be bound.
    pub fn bind(
        address: SocketAddr,
        names: Vec<String>,
        library: Library,
        live: LiveFeed,
    ) -> Result<Self, WebError> {
        let failed = |source| WebError::Listen { address: address.to_string(), source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let access = Access::at(address, token()?, names);
        let state = AppState {
            access: Arc::new(access),
            library: Arc::new(RwLock::new(Arc::new(library))),
            live,
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        };
        Ok(Self { listener, address, state })
    }

    /// The address to open in a browser, with the token where one is required.
    pub fn url(&self) -> String {
        match self.state.access.token() {
            Some(token) => format!("http://{}/?token={token}", self.address),
            None => format!("http://{}/", self.address),
        }
    }

    /// What it shows, to be changed while it runs.
    pub fn shown(&self) -> ShownLibrary {
        ShownLibrary(self.state.library.clone())
    }

    /// Begins to make the pages of the newest measured rounds, in a separate thread: their ranks take longer than a
    /// visitor waits. Do not call it during a measurement, which it would disturb.
    ///
    /// # Errors
    /// [`WebError::Start`] when there is no thread for it.
    pub fn prepare(&self) -> Result<(), WebError> {
        let library = self.state.library.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let prepare = move || {
            let Ok(index) = library.index() else { return };
            for round in index.rounds.iter().filter(|round| !round.imported).take(PREPARED) {
                // Errors are reported when the page is requested.
                let _ = library.round(&round.id).and_then(|read| Ok(read.json()?.gzipped().len()));
            }
            let _ = library.answers();
        };
        let thread = std::thread::Builder::new().name("prepare".to_owned()).spawn(prepare);
        thread.map(drop).map_err(WebError::Start)
    }

    /// Answers until the process ends.
    ///
    /// # Errors
    /// [`WebError::Start`] when it cannot begin or go on.
    pub fn serve(self) -> Result<(), WebError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(WebError::Start)?.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener).map_err(WebError::Start)?;
            accept(listener, router(self.state)).await;
            Ok(())
        })
    }
}

/// Serves connections until the process ends. `axum::serve` has no limit on connections and no timeout.
async fn accept(listener: tokio::net::TcpListener, router: Router) {
    let connections = Connections::at_most(MAX_CONNECTIONS);
    loop {
        let Ok((stream, client)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        if limit_stalls(&stream, STALL_TIMEOUT).is_err() {
            // The client is gone.
            continue;
        }
        let mut server = http1::Builder::new();
        server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
        let place = connections.place(client.ip());
        let (number, touched) = (place.number(), connections.clone());
        let service = TowerToHyperService::new(router.clone());
        let service = service_fn(move |request| {
            touched.touch(number);
            service.call(request)
        });
        let connection = server.serve_connection(TokioIo::new(stream), service);
        let task = tokio::spawn(async move {
            // An error concerns only this client, which is gone.
            let _ = connection.await;
            drop(place);
        });
        connections.run_by(number, task.abort_handle());
    }
}

/// Makes the kernel close a connection when nothing that was sent to its client was acknowledged for so long, or when
/// the client's window stayed closed (`TCP_USER_TIMEOUT`, RFC 5482).
fn limit_stalls(stream: &impl AsFd, timeout: Duration) -> std::io::Result<()> {
    let timeout_ms = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
    Ok(rustix::net::sockopt::set_tcp_user_timeout(stream, timeout_ms)?)
}

fn router(state: AppState) -> Router {
    let html = ResponseContent::new("text/html; charset=utf-8", assets::index());
    let mut router = with_file(Router::new(), "/", html);
    for asset in ASSETS {
        let content = || ResponseContent::new(asset.media_type, asset.bytes);
        router = with_file(router, asset.path, content());
        router = with_file(router, &format!("{}{}", assets::folder(), asset.path), content().forever());
    }
    router
        .route("/api/index", get(index))
        .route("/api/answers", get(answers))
        .route("/api/servers/{server}", get(timeline))
        .route("/api/rounds/{round}", get(round))
        .route("/api/rounds/{round}/servers", get(servers_of_round))
        .route("/api/rounds/{round}/overall", get(overall))
        .route("/api/rounds/{round}/runs", get(runs_of_round))
        .route("/api/rounds/{round}/runs/{trial}", get(run_of_round))
        .route("/api/rounds/{round}/runs/{trial}/{file}", get(download_of_round))
        .route("/api/run", get(single_run))
        .route("/api/run/{file}", get(download_of_run))
        .route("/api/capacity", get(capacity))
        .route("/api/compare", get(compare))
        .route("/api/then", get(then))
        .route("/api/live", get(live))
        .fallback(|| async { problem(StatusCode::NOT_FOUND, "there is no page at this address") })
        .layer(middleware::from_fn_with_state(state.clone(), guard))
        .with_state(state)
}

fn with_file(router: Router<AppState>, path: &str, content: ResponseContent) -> Router<AppState> {
    let content = Arc::new(content);
    router.route(path, get(move |headers: HeaderMap| async move { content.response(&headers) }))
}

/// Refuses unauthorised requests and adds the security headers to every response.
async fn guard(State(state): State<AppState>, request: Request, next: Next) -> Response<Body> {
    let cookie = state.access.cookie(&request);
    let mut response = match (state.access.refusal(&request), cookie) {
        (Some((StatusCode::UNAUTHORIZED, _)), Some(cookie)) => {
            // Removes the token from the address at once, so that it is not copied with a link.
            let mut response = StatusCode::SEE_OTHER.into_response();
            response.headers_mut().insert(header::SET_COOKIE, cookie);
            response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
            response
        }
        (Some((status, what)), _) => problem(status, what),
        (None, _) => next.run(request).await,
    };
    protect(&mut response);
    response
}

async fn index(State(state): State<AppState>, headers: HeaderMap) -> Response<Body> {
    page(&state, &headers, |library| library.index()).await
}

async fn answers(State(state): State<AppState>, headers: HeaderMap) -> Response<Body> {
    content(&state, &headers, |library| library.answers()).await
}

async fn timeline(
    State(state): State<AppState>,
    headers: HeaderMap,
    Path(server): Path<String>,
) -> Response<Body> {
    content(&state, &headers, move |library| library.timeline(&server)).await
}

async fn round(
    State(state): State<AppState>,
    headers: HeaderMap,
    Path(round): Path<String>,
) -> Response<Body> {
    content(&state, &headers, move |library| library.round(&round)?.json()).await
}

async fn servers_of_round(
    State(state): State<AppState>,
    headers: HeaderMap,
    Path(round): Path<String>,
) -> Response<Body> {
    page(&state, &headers, move |library| Ok(library.round(&round)?.page().servers.clone())).await
}

async fn then(State(state): State<AppState>, headers: HeaderMap) -> Response<Body> {
    page(&state, &headers, |library| library.then()).await
}

async fn run_of_round(
    State(state): State<AppState>,
    headers: HeaderMap,
    Path((round, trial)): Path<(String, String)>,
) -> Response<Body> {
    page(&state, &headers, move |library| Ok(RunPage::of_trial(&library.trial(&round, &trial)?))).await
}

/// The runs of a round that are wanted, by id.
#[derive(Deserialize)]
struct WantedRuns {
    ids: String,
}

/// Runs of a round in one response, in the order of their ids: a chart of several launches needs one request.
async fn runs_of_round(
    State(state): State<AppState>,
    headers: HeaderMap,
    Path(round): Path<String>,
    Query(wanted): Query<WantedRuns>,
) -> Response<Body> {
    page(&state, &headers, move |library| {
        let ids: Vec<&str> = wanted.ids.split(',').filter(|id| !id.is_empty()).collect();
        if ids.len() > RUNS_AT_ONCE {
            return Err(WebError::Request(format!("{} runs; at most {RUNS_AT_ONCE}", ids.len())));
        }
        ids.into_iter()
            .map(|id| Ok(RunPage::of_trial(&library.trial(&round, id)?)))
            .collect::<Result<Vec<_>, _>>()
    })
    .await
}

/// The metric of overall scores, and the ids of the chosen tables.
#[derive(Deserialize)]
struct WantedScores {
    metric: String,
    #[serde(default)]
    tables: String,
}

async fn overall(
    State(state): State<AppState>,
    headers: HeaderMap,
    Path(round): Path<String>,
    Query(wanted): Query<WantedScores>,
) -> Response<Body> {
    page(&state, &headers, move |library| {
        let tables: Vec<&str> = wanted.tables.split('|').filter(|id| !id.is_empty()).collect();
        let missing = || WebError::NotFound { kind: "metric", id: wanted.metric.clone() };
        library.round(&round)?.overall(&wanted.metric, &tables).ok_or_else(missing)
    })
    .await
}

async fn single_run(State(state): State<AppState>, headers: HeaderMap) -> Response<Body> {
    let missing = || WebError::NotFound { kind: "run", id: String::new() };
    page(&state, &headers, move |library| library.run().map(RunPage::of_run).ok_or_else(missing)).await
}

async fn capacity(State(state): State<AppState>, headers: HeaderMap) -> Response<Body> {
    let missing = || WebError::NotFound { kind: "capacity", id: String::new() };
    page(&state, &headers, move |library| library.capacity().map(CapacityPage::new).ok_or_else(missing)).await
}

/// The two rounds to compare, and one server of each where they are named.
#[derive(Deserialize)]
struct Pair {
    a: String,
    b: String,
    #[serde(default)]
    server_a: Option<String>,
    #[serde(default)]
    server_b: Option<String>,
}

async fn compare(
    State(state): State<AppState>,
    headers: HeaderMap,
    Query(pair): Query<Pair>,
) -> Response<Body> {
    page(&state, &headers, move |library| {
        let (a, b) = (library.round(&pair.a)?, library.round(&pair.b)?);
        let servers = [pair.server_a.as_deref(), pair.server_b.as_deref()];
        Ok(library.comparison([&a, &b], servers))
    })
    .await
}

async fn download_of_round(
    State(state): State<AppState>,
    Path((round, trial, file)): Path<(String, String, String)>,
) -> Response<Body> {
    attachment(&state, move |library| download::of_trial(&library.trial(&round, &trial)?, &file)).await
}

async fn download_of_run(State(state): State<AppState>, Path(file): Path<String>) -> Response<Body> {
    attachment(&state, move |library| {
        let missing = || WebError::NotFound { kind: "run", id: String::new() };
        download::of_run(library.run().ok_or_else(missing)?, &file)
    })
    .await
}

/// Events of a run or a round in progress: those so far, then each as it comes.
async fn live(State(state): State<AppState>) -> Response<Body> {
    let events = state.live.follow().map(|event| {
        Ok::<_, Infallible>(
            Event::default().event(event.kind).id(event.number.to_string()).data(&*event.json),
        )
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

/// Runs a function over the results in a blocking thread.
async fn read<T: Send + 'static>(
    state: &AppState,
    make: impl FnOnce(Arc<Library>) -> Result<T, WebError> + Send + 'static,
) -> Result<T, Response<Body>> {
    let library = state.library.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    let Ok(turn) = tokio::time::timeout(TURN_TIMEOUT, state.turns.clone().acquire_owned()).await else {
        let what = "other pages are being created: reload this page in a minute";
        return Err(problem(StatusCode::SERVICE_UNAVAILABLE, what));
    };
    let made = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        make(library)
    });
    match made.await {
        Ok(Ok(made)) => Ok(made),
        Ok(Err(error)) => {
            let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Err(problem(status, &error.chain()))
        }
        Err(_) => Err(problem(
            StatusCode::INTERNAL_SERVER_ERROR,
            "this page could not be created; the terminal shows the error",
        )),
    }
}

async fn page<T: Serialize>(
    state: &AppState,
    headers: &HeaderMap,
    make: impl FnOnce(Arc<Library>) -> Result<T, WebError> + Send + 'static,
) -> Response<Body> {
    content(state, headers, |library| Ok(Arc::new(ResponseContent::json(&make(library)?)?))).await
}

/// A response that is compressed where it is made, in a blocking thread.
async fn content(
    state: &AppState,
    headers: &HeaderMap,
    make: impl FnOnce(Arc<Library>) -> Result<Arc<ResponseContent>, WebError> + Send + 'static,
) -> Response<Body> {
    let headers = headers.clone();
    read(state, move |library| Ok(make(library)?.response(&headers))).await.unwrap_or_else(|refused| refused)
}

async fn attachment(
    state: &AppState,
    make: impl FnOnce(Arc<Library>) -> Result<download::Download, WebError> + Send + 'static,
) -> Response<Body> {
    match read(state, make).await {
        Ok(download) => {
            let mut response = typed(download.media_type, Body::from(download.bytes));
            let disposition = format!("attachment; filename=\"{}\"", download.name);
            if let Ok(disposition) = HeaderValue::from_str(&disposition) {
                response.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
            }
            response
        }
        Err(refused) => refused,
    }
}

/// What went wrong, as the pages show it.
fn problem(status: StatusCode, what: &str) -> Response<Body> {
    let json = page_json(&HashMap::from([("error", what)])).unwrap_or_default();
    let mut response = typed("application/json", Body::from(json));
    *response.status_mut() = status;
    response
}

/// 128 random bits of the kernel.
fn token() -> Result<String, WebError> {
    let mut bytes = [0; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(WebError::Start)?;
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Write as _};
    use std::net::TcpStream;

    #[test]
    fn a_client_that_reads_nothing_is_disconnected() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        limit_stalls(&stream, Duration::from_millis(100)).unwrap();
        // Without the limit, the write would never end once the buffers are full.
        let error = std::iter::repeat_with(|| stream.write(&[0; 65_536])).find_map(Result::err).unwrap();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }
}
