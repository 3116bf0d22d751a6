//! One exchange at a time, with details that a run does not keep: the bytes sent and received, and the time of each
//! step (`--debug`).
//!
//! It is a run with one connection in which every session, or request, is sent once, and whose transport notes what
//! passes ([`run_tapped`]): protocol, TLS, cookies, values, redirects and checks are those of any run. The exchanges
//! are read from the noted bytes. The caller escapes the server's bytes before printing them.

mod http3;
mod websocket;

use crate::exchange::{Message, over_http1, over_http2};
use crate::{Prepared, RunError};
use paceline_engine::session::{Redirect, SessionPlan};
use paceline_engine::{
    Address, BodyFault, Bound, DecodeError, Ending, LoadModel, Nanos, PaceKind, RequestKind, Requests,
    Settings, ThreadOutcome, decoded, run_tapped,
};
use paceline_http::ContentCoding;
use paceline_job::{Protocol, RequestSpec};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// The exchanges that were made.
#[derive(Debug)]
pub struct DebugOutcome {
    /// The exchanges in order; the last may be incomplete.
    pub exchanges: Vec<DebugExchange>,
    /// Why there are no more, if a request has no complete response.
    pub error: Option<RunError>,
}

/// The result of one exchange.
#[derive(Debug)]
pub struct DebugExchange {
    /// The name of the request; requests that follow its redirects have the same name.
    pub name: String,
    /// The address of the connection, if it was made for this request.
    pub address: Option<Address>,
    /// The TLS parameters agreed on: version, cipher, whether the certificate was checked.
    pub tls: Option<String>,
    /// The frames of HTTP/2 or HTTP/3 that passed, a line each: `>` for those sent, `<` for those received.
    pub frames: Vec<String>,
    /// The request as sent; over HTTP/2 and HTTP/3 its fields, a line each.
    pub request: Vec<u8>,
    /// The head of the response as received, including its blank line; over HTTP/2 and HTTP/3 its fields, a line each.
    pub head: Vec<u8>,
    /// The status.
    pub status: u16,
    /// The body as received, without framing.
    pub body: Vec<u8>,
    /// The trailers over HTTP/2 and HTTP/3 as received, a line each.
    pub trailers: Vec<u8>,
    /// The messages of gRPC in the body as JSON, if their type is known.
    pub messages: Option<Vec<String>>,
    /// The frames of the WebSocket that the exchange opened, a line each, as `frames`.
    pub websocket: Option<Vec<String>>,
    /// The coding of the body.
    pub coding: ContentCoding,
    /// Whether the server has not processed the request, which was sent again.
    pub is_handed_back: bool,
    /// Faults of the response, if any.
    pub faults: Vec<String>,
    /// How long each step took, in order.
    pub times: Vec<(&'static str, Duration)>,
}

impl DebugExchange {
    /// The alternative services that the server announces for HTTP/3 (RFC 7838 §3, RFC 9114 §3.1.1), unless the
    /// response came over it.
    pub fn http3_offer(&self) -> Option<String> {
        let head = String::from_utf8_lossy(&self.head);
        let mut lines = head.lines();
        if lines.next().is_none_or(|first| first.starts_with("HTTP/3")) {
            return None;
        }
        let fields = lines.filter_map(|line| line.split_once(':'));
        let mut services = fields.filter(|(name, _)| name.eq_ignore_ascii_case("alt-svc"));
        services.find_map(|(_, value)| value.contains("h3=").then(|| value.trim().to_owned()))
    }

    /// The decoded body.
    ///
    /// # Errors
    /// [`DecodeError`] if it cannot be decoded.
    pub fn content(&self) -> Result<Cow<'_, [u8]>, DecodeError> {
        decoded(self.coding, &self.body)
    }
}

/// The limit that an exchange exceeded.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not within {} s (--timeout)", limit.as_secs_f64())]
struct Timeout {
    limit: Nanos,
}

impl Prepared {
    /// Sends each kind of request once, and returns the exchanges. A session ends at a step that fails. Each kind of
    /// message of a WebSocket has a connection.
    ///
    /// # Errors
    /// [`RunError`] if a body cannot be sent, or no request was.
    pub fn debug(&self) -> Result<DebugOutcome, RunError> {
        if self.settings.job.is_websocket() {
            return self.debug_websockets();
        }
        self.check_bodies()?;
        let settings = self.debug_settings();
        let (outcome, events) = run_tapped(&settings);
        let outcome = outcome.map_err(RunError::Engine)?;
        let messages = match settings.job.protocol {
            Protocol::Http10 | Protocol::Http11 => over_http1(&events, settings.job.line_ends()),
            Protocol::Http2 => over_http2(&events),
            Protocol::Http3 => http3::over_http3(&events),
        };
        let has_all = messages.iter().all(|message| message.complete.is_some()) || all_answered(&outcome);
        let error = (!has_all || messages.is_empty()).then(|| self.incomplete(&outcome));
        Ok(DebugOutcome { exchanges: self.exchanges(&settings, messages, &outcome), error })
    }

    /// Refuses bodies that sessions do not send.
    fn check_bodies(&self) -> Result<(), RunError> {
        let job = &self.settings.job;
        let is_refused = |spec: &RequestSpec| {
            spec.expect_continue
                || spec.generated_body() != Ok(None)
                || spec.chunk_bytes.is_some() && job.protocol.has_streams()
        };
        if self.settings.requests.have_read_bodies() {
            let what = "--debug cannot show a body from a file above 32 MiB, which is read while it is sent";
            return Err(RunError::usage(what).hint("use a shorter file"));
        }
        if !job.requests.iter().any(is_refused) {
            return Ok(());
        }
        let what = "--debug cannot show a body that is generated or waits for 100 Continue, or chunks over HTTP/2 and HTTP/3";
        Err(RunError::usage(what).hint("leave --expect-continue, {bytes:SIZE} or --chunked out"))
    }

    /// The settings of a run that carries out every session once, on one connection.
    fn debug_settings(&self) -> Settings {
        let requests = &self.settings.requests;
        let plan = match requests.sessions() {
            Some(plan) => SessionPlan { begins_with_each: true, ..plan.clone() },
            None => SessionPlan {
                takes_cookies: false,
                begins_with_each: true,
                ..SessionPlan::of_single_steps(requests.kinds())
            },
        };
        let sessions = plan.sessions.len() as u64;
        self.once(Requests::clone(requests).with_sessions(plan), sessions)
    }

    /// The settings of a run that sends so many requests or sessions one after the other, on one connection.
    fn once(&self, requests: Requests, count: u64) -> Settings {
        let requests = Arc::new(requests);
        Settings { requests, threads: 1, pace: PaceKind::Sleep, ..self.settings.clone() }.with(|job| {
            (job.connections, job.threads, job.depth, job.batch) = (1, 1, 1, false);
            job.connection_plan = None;
            (job.load, job.window, job.warmup) = (LoadModel::Closed, Bound::Requests(count), Nanos::ZERO);
            (job.think, job.requests_per_connection, job.share) = (None, None, None);
        })
    }

    /// The error for an exchange without a complete response.
    fn incomplete(&self, outcome: &ThreadOutcome) -> RunError {
        let error = RunError::environment(format!("no complete response from {}", self.destination.address));
        if outcome.total.counts.ended(Ending::TimedOut) > 0 {
            return error.because(Timeout { limit: self.settings.job.timeout });
        }
        let Some((failure, _)) = outcome.connections.failures.first() else { return error };
        match outcome.connections.details_of(*failure) {
            Some(details) => error.because(details),
            None => error.because(failure.to_string()),
        }
    }

    /// The exchanges, each with its kind of request: a redirect that is followed stays with its kind, and after a step
    /// that fails comes the next session.
    fn exchanges(
        &self,
        settings: &Settings,
        messages: Vec<Message>,
        outcome: &ThreadOutcome,
    ) -> Vec<DebugExchange> {
        let (job, kinds) = (&settings.job, settings.requests.kinds());
        let firsts: Vec<usize> = settings
            .requests
            .sessions()
            .map_or_else(Vec::new, |plan| plan.sessions.iter().map(|session| session.first.into()).collect());
        let (mut kind, mut followed) = (0, 0);
        let mut exchanges = Vec::new();
        for message in messages {
            let Some(of) = kinds.get(kind) else { break };
            let wrong = outcome.wrong_bodies.get(kind).and_then(Option::as_ref).map(|wrong| &wrong.fault);
            let is_followed = is_redirect(of, message.status)
                && followed < job.follow
                && !matches!(wrong, Some(BodyFault::NotFollowed(_)));
            let (of_kind, name) = (kind, job.requests.get(kind).map_or("", RequestSpec::shown_name));
            let is_handed_back = message.complete.is_none() && all_answered(outcome);
            let is_last = !is_followed && !is_handed_back;
            let faults = if is_last { faults(of, &message, wrong) } else { Vec::new() };
            (kind, followed) = match (is_last, faults.is_empty()) {
                (false, _) => (kind, followed + u16::from(is_followed)),
                (true, true) => (kind + 1, 0),
                (true, false) => {
                    (firsts.iter().copied().find(|first| *first > kind).unwrap_or(kinds.len()), 0)
                }
            };
            let messages = self.calls.as_ref().and_then(|calls| calls.decoded(of_kind, &message.body));
            let exchange = self.shown(name, message, messages, faults, Some(outcome));
            exchanges.push(DebugExchange { is_handed_back, ..exchange });
        }
        exchanges
    }

    fn shown(
        &self,
        name: &str,
        message: Message,
        messages: Option<Vec<String>>,
        faults: Vec<String>,
        outcome: Option<&ThreadOutcome>,
    ) -> DebugExchange {
        let is_new = message.connected.is_some();
        DebugExchange {
            name: name.to_owned(),
            address: is_new.then(|| self.destination.address.clone()),
            tls: outcome.filter(|_| is_new).and_then(|outcome| self.tls_agreed(outcome)),
            times: times(&message),
            frames: message.frames,
            request: message.request,
            head: message.head,
            trailers: message.trailers,
            messages,
            status: message.status,
            websocket: message.websocket.map(|frames| frames.lines),
            coding: message.coding,
            body: message.body,
            is_handed_back: false,
            faults,
        }
    }

    /// The TLS parameters agreed on.
    fn tls_agreed(&self, outcome: &ThreadOutcome) -> Option<String> {
        let settings = self.destination.tls.as_ref()?;
        let agreed = outcome.tls.as_ref()?.agreed.as_ref()?;
        let mut parts = vec![
            format!("name {}", self.destination.tls_name),
            format!("TLS {}", agreed.version),
            agreed.cipher.clone(),
        ];
        parts.extend(agreed.alpn.as_ref().map(|alpn| format!("ALPN {alpn}")));
        let checked = if settings.verified() { "certificate checked" } else { "certificate not checked" };
        parts.push(checked.to_owned());
        Some(parts.join(", "))
    }
}

/// Whether every request was answered, so that one without a response was sent again.
fn all_answered(outcome: &ThreadOutcome) -> bool {
    let unanswered = [Ending::ConnectFailed, Ending::IoFailed, Ending::TimedOut, Ending::Unsent];
    unanswered.iter().all(|ending| outcome.total.counts.ended(*ending) == 0)
}

/// Whether a response is a redirect that its request does not expect.
fn is_redirect(kind: &RequestKind, status: u16) -> bool {
    Redirect::is_one(status) && kind.check.status != Some(status)
}

/// The faults of a response. Those of extractions, redirects and calls of gRPC were found by the run.
fn faults(kind: &RequestKind, message: &Message, wrong: Option<&BodyFault>) -> Vec<String> {
    if message.complete.is_none() {
        return vec!["the response is not complete".to_owned()];
    }
    let mut faults = Vec::new();
    if !kind.check.admits(message.status) {
        faults.push(match kind.check.status {
            Some(expected) => format!("status {} instead of {expected}", message.status),
            None => format!("status {} is not 2xx", message.status),
        });
    }
    let body = kind.check.body.judge(message.coding, &message.body);
    faults.extend(body.err().map(|fault| format!("body: {fault}")));
    let of_sessions = |fault: &&BodyFault| {
        matches!(fault, BodyFault::NotExtracted(_) | BodyFault::NotFollowed(_) | BodyFault::Call(_))
    };
    faults.extend(wrong.filter(of_sessions).map(ToString::to_string));
    faults
}

/// How long each step of an exchange took.
fn times(message: &Message) -> Vec<(&'static str, Duration)> {
    let &Message { connecting, handshake_began, connected, sent, first_byte, complete, .. } = message;
    let (first, last) = match message.websocket {
        Some(_) => ("WebSocket handshake", "last frame"),
        None => ("first byte", "complete"),
    };
    [
        ("connect", connecting, handshake_began.or(connected)),
        ("TLS handshake", handshake_began, connected),
        (first, sent, first_byte),
        (last, sent, complete),
    ]
    .into_iter()
    .filter_map(|(name, from, until)| Some((name, until?.since(from?).into())))
    .collect()
}
