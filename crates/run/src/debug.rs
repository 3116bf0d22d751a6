//! One exchange at a time, with details that a run does not keep: the bytes sent and received, and the time of each
//! step (`--debug`).
//!
//! It uses the same addresses, TLS settings, request bytes and checks as a run, over a separate blocking socket, so
//! that it shows what the run would do. The caller escapes the server's bytes before printing them.

use crate::{Prepared, RunError};
use paceline_engine::session::{Cookies, Redirect, Session};
use paceline_engine::tls::TlsError;
use paceline_engine::{Address, DecodeError, RequestKind, decoded};
use paceline_http::{ContentCoding, DecodeStep, Decoder, Expander, HeadCache, LineEnds, RandomBits};
use paceline_job::{Nanos, Protocol, RequestSpec};
use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Most bytes of a body that are kept.
const MAX_BODY_BYTES: usize = 16 << 20;

/// The result of one exchange.
#[derive(Debug)]
pub struct DebugExchange {
    /// The name of the request; requests that follow its redirects have the same name.
    pub name: String,
    /// The address of the connection.
    pub address: Address,
    /// The TLS parameters agreed on: version, cipher, whether the certificate was checked.
    pub tls: Option<String>,
    /// The request as sent.
    pub request: Vec<u8>,
    /// The head of the response as received, including its blank line.
    pub head: Vec<u8>,
    /// The status.
    pub status: u16,
    /// The body as received, without chunk framing.
    pub body: Vec<u8>,
    /// The coding of the body.
    pub coding: ContentCoding,
    /// Faults of the response, if any.
    pub faults: Vec<String>,
    /// How long each step took, in order.
    pub times: Vec<(&'static str, Duration)>,
}

/// A socket whose system calls can be limited in time.
trait TimedSocket: Read + Write {
    /// Limits each following call.
    fn limit_calls(&self, limit: Duration) -> io::Result<()>;
}

impl TimedSocket for TcpStream {
    fn limit_calls(&self, limit: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(limit))?;
        self.set_write_timeout(Some(limit))
    }
}

impl TimedSocket for UnixStream {
    fn limit_calls(&self, limit: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(limit))?;
        self.set_write_timeout(Some(limit))
    }
}

/// A connection with a deadline. A limit of each call alone would not end an exchange with a server that sends slowly
/// or without end.
struct DebugConnection {
    socket: Box<dyn TimedSocket>,
    deadline: Rc<Cell<Instant>>,
}

impl DebugConnection {
    /// Runs a call within the deadline.
    fn within<T>(&mut self, call: impl FnOnce(&mut dyn TimedSocket) -> io::Result<T>) -> io::Result<T> {
        let left = self.deadline.get().saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.socket.limit_calls(left)?;
        call(&mut *self.socket).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
            _ => error,
        })
    }
}

impl Read for DebugConnection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.within(|socket| socket.read(buffer))
    }
}

impl Write for DebugConnection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.within(|socket| socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// A stream for the request and the response.
trait ReadWrite: Read + Write {}
impl<S: Read + Write> ReadWrite for S {}

/// The first numbers that a worker would draw from the seed.
struct FirstBits(paceline_engine::Random);

impl RandomBits for FirstBits {
    fn next_bits(&mut self) -> u64 {
        self.0.next_u64()
    }
}

impl DebugExchange {
    /// The decoded body.
    ///
    /// # Errors
    /// [`DecodeError`] if it cannot be decoded.
    pub fn content(&self) -> Result<Cow<'_, [u8]>, DecodeError> {
        decoded(self.coding, &self.body)
    }
}

impl Prepared {
    /// Sends each kind of request once, and returns the exchanges.
    ///
    /// # Errors
    /// [`RunError`] if the target cannot be reached or does not speak HTTP.
    pub fn debug(&self) -> Result<Vec<DebugExchange>, RunError> {
        if self.settings.job.protocol == Protocol::Http2 {
            return Err(RunError::usage("--debug cannot be combined with --http 2")
                .hint("remove --http 2: over HTTP/1.1 the response is usually the same"));
        }
        let kinds = self.settings.requests.kinds();
        let files = self.settings.requests.files();
        let bits = FirstBits(paceline_engine::Random::new(self.settings.seed));
        let templates = kinds.iter().map(|kind| &kind.template);
        let mut expander = Expander::new(0, 1, bits, files, templates);
        let plan = self.settings.requests.sessions();
        let mut values = vec![Vec::new(); plan.map_or(0, |plan| plan.variables)];
        let mut cookies = Cookies::default();
        let mut exchanges = Vec::new();
        for (number, kind) in kinds.iter().enumerate() {
            let begins = |session: &Session| usize::from(session.first) == number;
            if plan.is_none_or(|plan| plan.sessions.iter().any(begins)) {
                values.iter_mut().for_each(Vec::clear);
                cookies.clear();
            }
            let mut request = Vec::new();
            expander.set_variables(&values);
            expander.expand(&kind.template, &mut request);
            let mut cookie_bytes = cookies.put_into(&mut request, 0);
            let name = self.settings.job.requests.get(number).map_or("", RequestSpec::shown_name);
            let mut exchange = self.exchange(name, kind, request)?;
            for followed in 0..self.settings.job.follow {
                if plan.is_some_and(|plan| plan.takes_cookies) {
                    cookies.take(&exchange.head);
                }
                let Some(next) = self.redirected(&mut exchange, followed) else { break };
                let mut request = next;
                cookie_bytes = cookies.put_into(&mut request, cookie_bytes);
                exchanges.push(std::mem::replace(&mut exchange, self.exchange(name, kind, request)?));
            }
            if let Some(step) = plan.and_then(|plan| plan.steps.get(number)) {
                if plan.is_some_and(|plan| plan.takes_cookies) {
                    cookies.take(&exchange.head);
                }
                let content = decoded(exchange.coding, &exchange.body);
                for extract in &step.extract {
                    match extract.value(&exchange.head, content.as_deref()) {
                        Ok(value) => values[extract.variable] = value,
                        Err(fault) => exchange.faults.push(fault.to_string()),
                    }
                }
            }
            exchanges.push(exchange);
        }
        Ok(exchanges)
    }

    /// The request that follows the redirect in an exchange's response.
    fn redirected(&self, exchange: &mut DebugExchange, followed: u16) -> Option<Vec<u8>> {
        if !Redirect::is_one(exchange.status) {
            return None;
        }
        let job = &self.settings.job;
        let redirect =
            Redirect { request: &exchange.request, status: exchange.status, head: &exchange.head, followed };
        match redirect.next_request(job.url.scheme, job.follow) {
            Ok(next) => {
                exchange.faults.clear();
                Some(next)
            }
            Err(fault) => {
                exchange.faults.push(fault.to_string());
                None
            }
        }
    }

    fn exchange(&self, name: &str, kind: &RequestKind, request: Vec<u8>) -> Result<DebugExchange, RunError> {
        let job = &self.settings.job;
        let failed = |what: &str, limit: Timeout, error: io::Error| {
            let failed = RunError::environment(format!("{what} {}", self.destination.address));
            match error.kind() {
                io::ErrorKind::TimedOut => failed.because(limit),
                _ => failed.because(error),
            }
        };
        let start = Instant::now();
        let connecting = Timeout { flag: "--connect-timeout", limit: job.connect_timeout };
        let deadline = Rc::new(Cell::new(start + Duration::from(connecting.limit)));
        let mut times = Vec::new();
        let connection = self.connect(Rc::clone(&deadline)).map_err(|error| {
            failed("cannot connect to", connecting, error)
                .hint("check that the server is running and listens on that address and port")
        })?;
        times.push(("connect", start.elapsed()));
        let (mut stream, tls) = self.secure(connection).map_err(|error| match TlsError::within(&error) {
            Some(tls) => {
                let remedy = crate::remedy(tls.fault);
                failed("no TLS session with", connecting, error).hint(remedy)
            }
            None => failed("no TLS session with", connecting, error),
        })?;
        if tls.is_some() {
            times.push(("TLS handshake", start.elapsed().saturating_sub(times[0].1)));
        }
        let sent = Instant::now();
        let answering = Timeout { flag: "--timeout", limit: job.timeout };
        deadline.set(sent + Duration::from(answering.limit));
        let written = stream.write_all(&request).and_then(|()| stream.flush());
        let received = receive(&mut *stream, kind, job.line_ends(), sent, &mut times);
        // A server may answer and close before it has read the whole request (RFC 9112 §9.5).
        let response = match (received, written) {
            (Ok(response), _) => response,
            (Err(_), Err(error)) => return Err(failed("cannot send the request to", answering, error)),
            (Err(error), Ok(())) => return Err(failed("no complete response from", answering, error)),
        };
        times.push(("complete", sent.elapsed()));
        let DebugResponse { head, status, coding, body } = response;
        let mut faults = Vec::new();
        if !kind.check.admits(status) {
            faults.push(match kind.check.status {
                Some(expected) => format!("status {status} instead of {expected}"),
                None => format!("status {status} is not 2xx"),
            });
        }
        faults.extend(kind.check.body.judge(coding, &body).err().map(|fault| format!("body: {fault}")));
        Ok(DebugExchange {
            name: name.to_owned(),
            address: self.destination.address.clone(),
            tls,
            request,
            head,
            status,
            coding,
            body,
            faults,
            times,
        })
    }

    fn connect(&self, deadline: Rc<Cell<Instant>>) -> io::Result<DebugConnection> {
        let socket: Box<dyn TimedSocket> = match &self.destination.address {
            Address::Tcp(address) => {
                let left = deadline.get().saturating_duration_since(Instant::now());
                let stream = TcpStream::connect_timeout(address, left)?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
            Address::Unix(path) => Box::new(UnixStream::connect(path)?),
        };
        Ok(DebugConnection { socket, deadline })
    }

    /// The stream, with TLS if the URL requires it, and the TLS parameters agreed on.
    fn secure(&self, mut stream: DebugConnection) -> io::Result<(Box<dyn ReadWrite>, Option<String>)> {
        let Some(settings) = &self.destination.tls else { return Ok((Box::new(stream), None)) };
        let client = settings.handshake(b"http/1.1", &mut stream)?;
        let mut agreed = vec![format!("name {}", self.destination.tls_name)];
        agreed.extend(client.protocol_version().map(|version| format!("{version:?}")));
        agreed.extend(client.negotiated_cipher_suite().map(|suite| format!("{:?}", suite.suite())));
        agreed.extend(client.alpn_protocol().map(|alpn| format!("ALPN {}", String::from_utf8_lossy(alpn))));
        let checked = if settings.verified() { "certificate checked" } else { "certificate not checked" };
        agreed.push(checked.to_owned());
        let stream = Box::new(rustls::StreamOwned::new(client, stream));
        Ok((stream, Some(agreed.join(", "))))
    }
}

/// The limit that an exchange exceeded.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not within {} s ({flag})", limit.as_secs_f64())]
struct Timeout {
    flag: &'static str,
    limit: Nanos,
}

/// A response as received.
#[derive(Default)]
struct DebugResponse {
    head: Vec<u8>,
    status: u16,
    coding: ContentCoding,
    body: Vec<u8>,
}

/// Reads one response.
fn receive(
    stream: &mut dyn ReadWrite,
    kind: &RequestKind,
    line_ends: LineEnds,
    sent: Instant,
    times: &mut Vec<(&'static str, Duration)>,
) -> io::Result<DebugResponse> {
    let mut decoder = Decoder::new(kind.method).with_line_ends(line_ends);
    let mut cache = HeadCache::new();
    let mut response = DebugResponse::default();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = stream.read(&mut buffer)?;
        if response.head.is_empty() {
            times.push(("first byte", sent.elapsed()));
        }
        if count == 0 {
            return match decoder.end_of_input().map_err(io::Error::other)? {
                true => Ok(response),
                false => Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the server closed the connection before the response was complete",
                )),
            };
        }
        let mut input = &buffer[..count];
        loop {
            let (step, taken) = decoder.decode(&mut cache, input).map_err(io::Error::other)?;
            match step {
                DecodeStep::NeedMore if response.status == 0 => {
                    response.head.extend_from_slice(&input[..taken])
                }
                DecodeStep::NeedMore => {}
                DecodeStep::Interim(_) => response.head.clear(),
                DecodeStep::Head(head) => {
                    response.head.extend_from_slice(&input[..taken]);
                    (response.status, response.coding) = (head.status, head.coding);
                }
                DecodeStep::Body(piece) => {
                    let room = MAX_BODY_BYTES - response.body.len().min(MAX_BODY_BYTES);
                    response.body.extend_from_slice(&piece[..piece.len().min(room)]);
                }
                DecodeStep::End => return Ok(response),
            }
            input = &input[taken..];
            if matches!(step, DecodeStep::NeedMore) {
                break;
            }
        }
    }
}
