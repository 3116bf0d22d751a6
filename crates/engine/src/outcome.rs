//! Defines the result of a run: tallies, intervals and counts of the connections, before formatting.
//!
//! Each worker returns a [`ThreadOutcome`]; `run.rs` combines them, and the binary makes the record from that
//! (`commands/run/outcome.rs`). Rates, utilization and verdicts are not part of it.

use crate::stream::StreamExamples;
use crate::tally::Endings;
use crate::tls::{TlsError, TlsFault, TlsOutcome};
use crate::{Ending, KeptInterval, Nanos, PhaseTimes, Tally, TcpCounts, WrongBody};
use paceline_http::websocket::CloseCode;
use paceline_stats::Histogram;
use std::io;

/// The reason why an attempt to connect failed or a connection broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConnectionFailure {
    /// The kernel's error number.
    Os(i32),
    /// The attempt took longer than its limit.
    ConnectLimit,
    /// A fault of TLS.
    Tls(TlsFault),
    /// The connection was closed, without an error number.
    Closed,
    /// The server closed a connection that had not been used.
    ClosedUnused,
    /// The server closed without answering a request.
    ClosedUnanswered,
    /// The server closed a connection that had carried responses, without answering the next request.
    ClosedReused,
    /// The server closed in the middle of a response.
    Truncated,
    /// The run ended before the response came.
    CutOff,
    /// The server did not send the SETTINGS with which HTTP/2 begins within the limit.
    NoSettings,
    /// The first bytes of the server are not HTTP/2.
    NotHttp2,
    /// The received bytes break the rules of HTTP/2.
    Http2,
    /// More frames of HTTP/2 or WebSocket without effect than any server needs to send.
    Flood,
    /// The server ended the connection with an error code (GOAWAY).
    GoAway,
    /// The server ended the connection with ENHANCE_YOUR_CALM after requests on it had been cancelled, as it must treat
    /// rapid resets (CVE-2023-44487).
    GoAwayAfterCancels,
    /// The server ended one request with an error code (RST_STREAM, in QUIC RESET_STREAM).
    StreamReset,
    /// The server handed a request back unprocessed too often (REFUSED_STREAM, GOAWAY, a Close frame).
    Refused,
    /// An HTTP/2 or HTTP/3 response that breaks the rules: its request failed, its connection did not.
    MalformedResponse,
    /// No QUIC server answered within the limit.
    NoQuic,
    /// The server speaks no version of QUIC that Paceline does.
    QuicVersion,
    /// The received packets break the rules of QUIC.
    Quic,
    /// The server ended a QUIC connection with an error code.
    QuicClosed,
    /// The server no longer knows a QUIC connection, as after a restart (a stateless reset).
    QuicReset,
    /// No packet came for longer than the idle timeout of a QUIC connection, with requests in flight.
    QuicTimeout,
    /// The received bytes break the rules of HTTP/3.
    Http3,
    /// The server did not answer the handshake of a WebSocket within the limit.
    NoUpgrade,
    /// The server answered the handshake of a WebSocket with another status than 101, this one.
    UpgradeRefused(u16),
    /// The server's SETTINGS of HTTP/2 do not allow a WebSocket (RFC 8441).
    NoExtendedConnect,
    /// The server accepted the handshake of a WebSocket in a way that breaks its rules.
    InvalidUpgrade,
    /// The received frames break the rules of WebSocket.
    WebSocket,
    /// The server closed a WebSocket with this code, which reports an error.
    WebSocketClosed(CloseCode),
    /// The received bytes are not HTTP.
    Protocol,
    /// Bytes were received that no request had asked for.
    Unsolicited,
    /// A response with more header bytes than are read.
    HeadTooLong,
    /// A response that timed out because only a close could end it, and the server did not close.
    NoEnd,
    /// A response with both Content-Length and Transfer-Encoding, or chunks in HTTP/1.0.
    SuspectFraming,
    /// A request timed out.
    TimedOut,
    /// No further event of a stream came within the timeout.
    SilentStream,
    /// The server answered all requests, and read no more bytes for longer than the timeout.
    Unread,
    /// The content of a request's body could not be read to its end while it was sent.
    BodyUnreadable,
}

impl ConnectionFailure {
    /// Whether the server broke the rules of the protocol: further input on that connection cannot be trusted.
    pub fn breaks_rules(self) -> bool {
        use ConnectionFailure::{
            Flood, Http2, Http3, InvalidUpgrade, MalformedResponse, NotHttp2, Protocol, Quic, SuspectFraming,
            Unsolicited, WebSocket,
        };
        let of_http =
            matches!(self, Protocol | SuspectFraming | NotHttp2 | Http2 | MalformedResponse | Http3);
        of_http || matches!(self, Unsolicited | Flood | Quic | InvalidUpgrade | WebSocket)
    }

    /// Whether this machine ran out of a resource, which is not the server's fault.
    pub fn is_ours(self) -> bool {
        use libc::{EADDRNOTAVAIL, EMFILE, ENFILE, ENOBUFS, ENOMEM};
        matches!(self, ConnectionFailure::Os(EADDRNOTAVAIL | EMFILE | ENFILE | ENOBUFS | ENOMEM))
    }

    /// The failure that an error was made from. None for an error of the kernel or of TLS.
    pub fn within(error: &io::Error) -> Option<Self> {
        let error = error.get_ref()?;
        let detailed = error.downcast_ref::<DetailedFailure>().map(|detailed| detailed.failure);
        detailed.or_else(|| error.downcast_ref().copied())
    }
}

impl std::error::Error for ConnectionFailure {}

/// A failure with the details of its first case.
#[derive(Debug, thiserror::Error)]
#[error("{failure} ({details})")]
struct DetailedFailure {
    failure: ConnectionFailure,
    details: String,
}

impl std::fmt::Display for ConnectionFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ConnectionFailure::Os(number) => return io::Error::from_raw_os_error(*number).fmt(f),
            ConnectionFailure::ConnectLimit => "connecting took longer than the connect timeout",
            ConnectionFailure::Tls(fault) => return fault.fmt(f),
            ConnectionFailure::Closed => "the connection was closed",
            ConnectionFailure::ClosedUnused => "the server closed a new connection before any request was sent on it",
            ConnectionFailure::ClosedUnanswered => "the server closed the connection without a response",
            ConnectionFailure::ClosedReused => {
                "the server closed a connection after earlier responses, without a response to the next request (an idle \
                 timeout?)"
            }
            ConnectionFailure::Truncated => "the server closed the connection in the middle of a response",
            ConnectionFailure::CutOff => "the run ended with a request in flight",
            ConnectionFailure::NoSettings => "no HTTP/2 SETTINGS from the server within the connect timeout",
            ConnectionFailure::NotHttp2 => "the server does not speak HTTP/2",
            ConnectionFailure::Http2 => "the server violated HTTP/2",
            ConnectionFailure::Flood => "the server flooded the connection with useless frames",
            ConnectionFailure::GoAway => "the server ended the connection with an error by GOAWAY",
            ConnectionFailure::GoAwayAfterCancels => {
                "the server ended the connection by GOAWAY because requests on it had been cancelled"
            }
            ConnectionFailure::StreamReset => "the server reset the stream of a request",
            ConnectionFailure::Refused => "the server refused the same request repeatedly",
            ConnectionFailure::MalformedResponse => "malformed response",
            ConnectionFailure::NoQuic => {
                "no answer over UDP: no server speaks HTTP/3 on this port, or UDP does not arrive"
            }
            ConnectionFailure::QuicVersion => "the server speaks no version of QUIC that Paceline does (version 1)",
            ConnectionFailure::Quic => "the server violated QUIC",
            ConnectionFailure::QuicClosed => "the server ended the QUIC connection with an error",
            ConnectionFailure::QuicReset => "the server no longer knew the QUIC connection (a stateless reset)",
            ConnectionFailure::QuicTimeout => "no packet from the server within the idle timeout of QUIC",
            ConnectionFailure::Http3 => "the server violated HTTP/3",
            ConnectionFailure::NoUpgrade => "no answer to the WebSocket handshake within the connect timeout",
            ConnectionFailure::UpgradeRefused(status) => {
                return write!(f, "the server answered the WebSocket handshake with status {status}");
            }
            ConnectionFailure::NoExtendedConnect => {
                "the server does not offer WebSocket over HTTP/2 (SETTINGS_ENABLE_CONNECT_PROTOCOL, RFC 8441)"
            }
            ConnectionFailure::InvalidUpgrade => "the server's answer to the WebSocket handshake is invalid",
            ConnectionFailure::WebSocket => "the server violated the WebSocket protocol",
            ConnectionFailure::WebSocketClosed(code) => {
                return write!(f, "the server closed the WebSocket with code {code}");
            }
            ConnectionFailure::Protocol => "the response is not HTTP",
            ConnectionFailure::HeadTooLong => "a response has more headers than Paceline reads",
            ConnectionFailure::NoEnd => {
                "the response has no Content-Length and no chunks, and the server did not close the connection: its \
                 end is unknown"
            }
            ConnectionFailure::Unsolicited => "the server sent bytes although no request was outstanding",
            ConnectionFailure::SuspectFraming => {
                "Paceline closed the connection: the response had both Content-Length and Transfer-Encoding, or \
                 chunks in HTTP/1.0"
            }
            ConnectionFailure::TimedOut => "no complete response within the timeout",
            ConnectionFailure::SilentStream => "no further event of a stream within the timeout",
            ConnectionFailure::Unread => "the server stopped reading: the request could not be sent within the timeout",
            ConnectionFailure::BodyUnreadable => {
                "Paceline closed the connection: the file of a request's body became shorter or unreadable during the \
                 run"
            }
        })
    }
}

/// The counts of the connections of a worker, or of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionCounts {
    /// Open when the warm-up began.
    pub had: u64,
    /// Made in all.
    pub made: u64,
    /// Closed by the server.
    pub closed_by_server: u64,
    /// Closed by us: after a timeout, a broken rule, or in the middle of requests cut off at the drain's end.
    pub closed_by_us: u64,
    /// Closed after the last request that they were to carry, by either side.
    pub closed_as_asked: u64,
    /// Attempts to connect that failed.
    pub failed_attempts: u64,
    /// The lowest limit to concurrent streams that a server announced, if it is below the requested one.
    pub stream_limit: Option<u32>,
    /// Whether a response was compressed.
    pub saw_compressed: bool,
    /// Requests that servers handed back unprocessed, and that were sent again.
    pub handed_back: u64,
    /// Redirects that were followed, including those of the warm-up.
    pub redirects: u64,
    /// Failures and their numbers.
    pub failures: Vec<(ConnectionFailure, u64)>,
    /// The details of the first case of failures that have any.
    pub details: Vec<(ConnectionFailure, String)>,
    /// Cookies that users did not keep: too many, or too long.
    pub cookies_dropped: u64,
    /// Requests of the window that each connection served.
    pub served: Vec<u64>,
    /// The median service time of each connection of an open loop with enough responses; the true one is within a ninth
    /// of the reported one.
    pub medians: Vec<Nanos>,
    /// What the kernel counted on TCP connections.
    pub tcp: TcpCounts,
    /// The same by address, in the order of the settings; empty if there is only one.
    pub by_address: Vec<AddressCounts>,
}

/// The counts of the connections to one of several addresses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AddressCounts {
    /// Connections made in all.
    pub made: u64,
    /// Attempts to connect that failed.
    pub failed_attempts: u64,
    /// Requests of the window that were sent on the connections and have ended.
    pub requests: u64,
    /// Those that did not end as expected.
    pub failed_requests: u64,
    /// Failures of attempts and connections, with their numbers.
    pub failures: Vec<(ConnectionFailure, u64)>,
}

impl AddressCounts {
    /// Counts a failure.
    pub(crate) fn note(&mut self, failure: ConnectionFailure, count: u64) {
        add_failure(&mut self.failures, failure, count);
    }

    /// Adds the counts of another worker.
    fn absorb(&mut self, other: AddressCounts) {
        self.made += other.made;
        self.failed_attempts += other.failed_attempts;
        self.requests += other.requests;
        self.failed_requests += other.failed_requests;
        other.failures.into_iter().for_each(|(failure, count)| self.note(failure, count));
    }
}

/// How the waits of request bodies for 100 Continue have ended, for requests of the window.
#[derive(Clone, Debug, Default)]
pub struct ContinueCounts {
    /// 100 Continue came.
    pub continued: u64,
    /// A final status came: the body was not sent.
    pub answered: u64,
    /// Nothing came within the limit: the body was sent then.
    pub silent: u64,
    /// The time from the actual send to 100 Continue, of those that got it.
    pub waits: Histogram,
}

impl ContinueCounts {
    /// Adds the counts of another worker.
    pub(crate) fn absorb(&mut self, other: &ContinueCounts) {
        self.continued += other.continued;
        self.answered += other.answered;
        self.silent += other.silent;
        self.waits.merge(&other.waits);
    }
}

/// Adds a number of failures of one kind.
fn add_failure(failures: &mut Vec<(ConnectionFailure, u64)>, failure: ConnectionFailure, count: u64) {
    match failures.iter_mut().find(|(seen, _)| *seen == failure) {
        Some((_, seen)) => *seen += count,
        None => failures.push((failure, count)),
    }
}

impl ConnectionCounts {
    /// Counts a failure.
    pub(crate) fn note(&mut self, failure: ConnectionFailure, count: u64) {
        add_failure(&mut self.failures, failure, count);
    }

    /// Keeps the details of the first case of a failure.
    pub(crate) fn note_details(&mut self, failure: ConnectionFailure, details: Option<String>) {
        if let Some(details) = details
            && self.details_of(failure).is_none()
        {
            self.details.push((failure, details));
        }
    }

    /// The details of the first case of a failure.
    pub fn details_of(&self, failure: ConnectionFailure) -> Option<&str> {
        self.details.iter().find(|(known, _)| *known == failure).map(|(_, details)| details.as_str())
    }

    /// A failure as an error, with the details of its first case if there are any.
    pub(crate) fn error_of(&self, failure: ConnectionFailure) -> io::Error {
        match self.details_of(failure) {
            Some(details) => io::Error::other(DetailedFailure { failure, details: details.to_owned() }),
            None => failure.into(),
        }
    }

    /// Adds the counts of another worker.
    pub(crate) fn absorb(&mut self, other: ConnectionCounts) {
        self.had += other.had;
        self.made += other.made;
        self.closed_by_server += other.closed_by_server;
        self.closed_by_us += other.closed_by_us;
        self.closed_as_asked += other.closed_as_asked;
        self.failed_attempts += other.failed_attempts;
        self.handed_back += other.handed_back;
        self.redirects += other.redirects;
        self.saw_compressed |= other.saw_compressed;
        self.stream_limit = self.stream_limit.into_iter().chain(other.stream_limit).min();
        other.failures.into_iter().for_each(|(failure, count)| self.note(failure, count));
        other.details.into_iter().for_each(|(failure, details)| self.note_details(failure, Some(details)));
        self.cookies_dropped += other.cookies_dropped;
        self.served.extend(other.served);
        self.medians.extend(other.medians);
        self.by_address
            .resize_with(self.by_address.len().max(other.by_address.len()), AddressCounts::default);
        self.by_address.iter_mut().zip(other.by_address).for_each(|(ours, theirs)| ours.absorb(theirs));
        self.tcp.absorb(&other.tcp);
    }
}

/// Requests of the warm-up that had not ended when the window opened. They are in no count and no time of the window,
/// but they may have occupied the connections on which they were sent during all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// In flight when the window opened.
    pub outstanding: u64,
    /// The endings of these, and of those that were due in the warm-up and sent later: a server that never answered,
    /// for example, left them as [`Ending::TimedOut`] or [`Ending::IoFailed`].
    pub ended: Endings,
}

impl Carried {
    /// The number of them with this ending.
    pub fn ended(&self, ending: Ending) -> u64 {
        self.ended[ending as usize]
    }

    /// Adds the counts of another worker.
    pub(crate) fn absorb(&mut self, other: &Carried) {
        self.outstanding += other.outstanding;
        self.ended.iter_mut().zip(other.ended).for_each(|(ours, theirs)| *ours += theirs);
    }
}

/// A time in which a worker's loop did not return although it had no reason to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// When it should have returned, on the run's clock.
    pub at: Nanos,
    /// The delay. Some of it is work: reading the responses that one wait returned, and sending the next requests.
    pub length: Nanos,
}

/// The results of one worker.
#[derive(Debug)]
pub struct ThreadOutcome {
    /// Some of the actual sends of random arrivals, by stretch of the window.
    pub noted_sends: Vec<Vec<Nanos>>,
    /// The window's cohort.
    pub total: Tally,
    /// The same by segment of the window; empty if there is only one.
    pub by_segment: Vec<Tally>,
    /// The same by kind of request; empty if there is only one.
    pub by_request: Vec<Tally>,
    /// The counts by interval.
    pub intervals: Vec<KeptInterval>,
    /// Length of those intervals.
    pub interval: Nanos,
    /// Its connections.
    pub connections: ConnectionCounts,
    /// Requests that the window took over from the warm-up.
    pub carried: Carried,
    /// The longest stall of its loop in the window.
    pub stall: Stall,
    /// Time inside the window spent in polls without an event.
    pub spun: Nanos,
    /// Requests due and unsent when the window began.
    pub backlog: u64,
    /// The times of its phases.
    pub spans: PhaseTimes,
    /// The results of TLS, if it was used.
    pub tls: Option<TlsOutcome>,
    /// The first wrong body of each kind of request.
    pub wrong_bodies: Vec<Option<WrongBody>>,
    /// How the waits of bodies for 100 Continue have ended.
    pub continues: ContinueCounts,
    /// Sessions that were completed inside the window, by session.
    pub sessions_completed: Vec<u64>,
    /// The durations of the window's completed sessions, by session.
    pub session_times: Vec<Histogram>,
    /// Examples of the window's streams.
    pub stream_examples: StreamExamples,
}

/// The result of a run.
#[derive(Debug)]
pub struct RunOutcome {
    /// A sample of the gaps between the actual sends of random arrivals, as their cumulative hazard: exponentially
    /// distributed with mean one if sends follow the requested process. With Poisson arrivals these are the gaps as
    /// multiples of the requested mean.
    pub arrival_gaps: Vec<f64>,
    /// For one of several loaders: its sends noted for that sample, since the beginning of the warm-up, by stretch.
    pub noted_sends: Vec<Vec<Nanos>>,
    /// The window's cohort, of all threads.
    pub total: Tally,
    /// The same by segment of the window; empty if there is only one. The total is their sum.
    pub by_segment: Vec<Tally>,
    /// The same by kind of request; empty if there is only one. The total is their sum.
    pub by_request: Vec<Tally>,
    /// The counts by interval, of all threads.
    pub intervals: Vec<KeptInterval>,
    /// All connections.
    pub connections: ConnectionCounts,
    /// Requests that the window took over from the warm-up.
    pub carried: Carried,
    /// The longest stall of a thread's loop in the window, in an open or closed loop: caused by the generator, not by
    /// the server.
    pub stall: Stall,
    /// Time inside the window spent in polls without an event, by thread.
    pub spun: Vec<Nanos>,
    /// Requests due and unsent when the window began.
    pub backlog: u64,
    /// The times of the phases.
    pub spans: PhaseTimes,
    /// The first wrong body of each kind of request, warm-up included.
    pub wrong_bodies: Vec<Option<WrongBody>>,
    /// How the waits of bodies for 100 Continue have ended.
    pub continues: ContinueCounts,
    /// Sessions of either cohort that were completed inside the window, by session; empty without sessions.
    pub sessions_completed: Vec<u64>,
    /// The durations of the window's completed sessions, by session; empty without sessions.
    pub session_times: Vec<Histogram>,
    /// Examples of the window's streams; none without streams.
    pub stream_examples: StreamExamples,
    /// Whether it was stopped before its planned end.
    pub stopped: bool,
    /// The results of TLS, if it was used.
    pub tls: Option<TlsOutcome>,
}

impl ConnectionFailure {
    /// The failure with the details of its first case.
    pub(crate) fn with_details(self, tls: &TlsOutcome) -> io::Error {
        match self {
            ConnectionFailure::Tls(fault) => {
                tls.error(fault).map_or_else(|| self.into(), |error| error.clone().into())
            }
            other => other.into(),
        }
    }
}

impl From<ConnectionFailure> for io::Error {
    fn from(failure: ConnectionFailure) -> Self {
        match failure {
            ConnectionFailure::Os(number) => io::Error::from_raw_os_error(number),
            ConnectionFailure::Tls(fault) => TlsError::plain(fault).into(),
            ConnectionFailure::ConnectLimit => io::Error::new(io::ErrorKind::TimedOut, failure),
            ConnectionFailure::NotHttp2 => io::Error::new(io::ErrorKind::Unsupported, failure),
            other => io::Error::other(other),
        }
    }
}
