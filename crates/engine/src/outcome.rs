//! What a run comes to: tallies, intervals and the story of the connections, before anybody formats them.
//!
//! Each worker leaves a [`ThreadOutcome`]; `run.rs` puts them together, and the binary makes the record from that
//! (`commands/run/outcome.rs`). Rates, utilization and verdicts are not part of it.

use crate::tally::Endings;
use crate::tls::{TlsError, TlsFault, TlsOutcome};
use crate::{Ending, KeptInterval, Nanos, Spans, Tally, WrongBody};
use paceline_stats::Histogram;
use std::io;

/// Why an attempt to connect failed or a connection broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// The kernel's error number.
    Os(i32),
    /// The attempt took longer than its limit.
    ConnectLimit,
    /// Something went wrong with TLS.
    Tls(TlsFault),
    /// The connection was closed, without an error number.
    Closed,
    /// The server closed a connection that had not been used.
    ClosedUnused,
    /// The server closed without answering a request.
    ClosedUnanswered,
    /// The server closed in the middle of a response.
    Truncated,
    /// The server announced with an answer that it closes, and more requests had been sent behind that one.
    ClosedBehind,
    /// The run was over before the answer came.
    CutOff,
    /// The server did not say within the limit what HTTP/2 begins with.
    NoSettings,
    /// What the server says first is not HTTP/2.
    NotHttp2,
    /// What came breaks the rules of HTTP/2.
    Http2,
    /// More HTTP/2 frames without effect than any server needs.
    Flood,
    /// The server ended the connection with an error code (GOAWAY).
    GoAway,
    /// The server ended one request with an error code (RST_STREAM).
    StreamReset,
    /// The server handed a request back unprocessed too often (REFUSED_STREAM, GOAWAY).
    Refused,
    /// An HTTP/2 response that breaks the rules: its request failed, its connection did not.
    MalformedResponse,
    /// What came is not HTTP.
    Protocol,
    /// Bytes came that no request had asked for.
    Unsolicited,
    /// A response with both Content-Length and Transfer-Encoding, or chunks in HTTP/1.0.
    SuspectFraming,
    /// A request timed out.
    TimedOut,
    /// The server answered all requests, and read nothing more for longer than the timeout.
    Unread,
}

impl Failure {
    /// Whether the server broke the rules of the protocol: what else it said on that connection cannot be trusted.
    pub fn breaks_rules(self) -> bool {
        use Failure::{Flood, Http2, MalformedResponse, NotHttp2, Protocol, SuspectFraming, Unsolicited};
        matches!(self, Protocol | SuspectFraming | Unsolicited | NotHttp2 | Http2 | Flood | MalformedResponse)
    }

    /// Whether this machine ran out of something, which is not the server's doing.
    pub fn is_ours(self) -> bool {
        use libc::{EADDRNOTAVAIL, EMFILE, ENFILE, ENOBUFS, ENOMEM};
        matches!(self, Failure::Os(EADDRNOTAVAIL | EMFILE | ENFILE | ENOBUFS | ENOMEM))
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Failure::Os(number) => return io::Error::from_raw_os_error(*number).fmt(f),
            Failure::ConnectLimit => "no connection within the limit",
            Failure::Tls(fault) => return fault.fmt(f),
            Failure::Closed => "the connection was closed",
            Failure::ClosedUnused => "the server closed a fresh connection before it was used",
            Failure::ClosedUnanswered => "the server closed the connection without answering",
            Failure::Truncated => "the server closed the connection in the middle of a response",
            Failure::ClosedBehind => "the server closed with requests still sent ahead",
            Failure::CutOff => "the run ended with a request in flight",
            Failure::NoSettings => "no HTTP/2 SETTINGS from the server within the limit",
            Failure::NotHttp2 => "the server does not speak HTTP/2",
            Failure::Http2 => "the server broke the rules of HTTP/2",
            Failure::Flood => "the server flooded the connection with HTTP/2 frames without effect",
            Failure::GoAway => "the server ended the connection with an error (GOAWAY)",
            Failure::StreamReset => "the server reset the stream of a request (RST_STREAM)",
            Failure::Refused => "the server refused the same request again and again (REFUSED_STREAM)",
            Failure::MalformedResponse => "malformed HTTP/2 response",
            Failure::Protocol => "the response is not HTTP",
            Failure::Unsolicited => "the server sent bytes that no request had asked for",
            Failure::SuspectFraming => {
                "closed by Paceline: a response with both Content-Length and Transfer-Encoding, or chunks in HTTP/1.0"
            }
            Failure::TimedOut => "no complete response within the timeout",
            Failure::Unread => "the server stopped reading, and no room to send came within the timeout",
        })
    }
}

/// The story of the connections of a worker, or of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConnectionCounts {
    /// Open when the warm-up began.
    pub had: u64,
    /// Made in all.
    pub made: u64,
    /// Closed by the server.
    pub closed_by_server: u64,
    /// Closed by us: after a timeout, a broken rule, or in the middle of what the drain's end cut off.
    pub closed_by_us: u64,
    /// Closed after the last request they were to carry, by either side.
    pub closed_as_asked: u64,
    /// Attempts to connect that failed.
    pub failed_attempts: u64,
    /// The lowest limit to concurrent streams that a server announced, if it is below the one asked for.
    pub stream_limit: Option<u32>,
    /// Whether a response was compressed.
    pub saw_compressed: bool,
    /// Requests that servers handed back unprocessed, and that were sent again.
    pub handed_back: u64,
    /// Redirects that were followed, of the warm-up too.
    pub redirects: u64,
    /// What went wrong how often.
    pub failures: Vec<(Failure, u64)>,
    /// What was wrong with the first response or connection that broke the rules.
    pub protocol_error: Option<String>,
    /// Requests of the window that each connection served.
    pub served: Vec<u64>,
    /// The median service time of each connection of an open loop that answered often enough; the true one is within a
    /// ninth of what is reported.
    pub medians: Vec<Nanos>,
}

impl ConnectionCounts {
    /// Counts a failure.
    pub(crate) fn note(&mut self, failure: Failure, count: u64) {
        match self.failures.iter_mut().find(|(seen, _)| *seen == failure) {
            Some((_, seen)) => *seen += count,
            None => self.failures.push((failure, count)),
        }
    }

    /// Adds another worker's.
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
        self.protocol_error = self.protocol_error.take().or(other.protocol_error);
        self.served.extend(other.served);
        self.medians.extend(other.medians);
    }
}

/// Requests of the warm-up that had not ended when the window opened. They are in no count and no time of the window, but
/// the connections they were sent on may have done nothing else in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// In flight when the window opened.
    pub outstanding: u64,
    /// How they ended, and those that were due in the warm-up and sent later: a server that never answered, say, left
    /// them as [`Ending::TimedOut`] or [`Ending::IoFailed`].
    pub ended: Endings,
}

impl Carried {
    /// How many of them ended this way.
    pub fn ended(&self, ending: Ending) -> u64 {
        self.ended[ending as usize]
    }

    /// Adds another worker's.
    pub(crate) fn absorb(&mut self, other: &Carried) {
        self.outstanding += other.outstanding;
        self.ended.iter_mut().zip(other.ended).for_each(|(ours, theirs)| *ours += theirs);
    }
}

/// A time in which a worker's loop did not come around although it had no reason to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// When it should have come around, on the run's clock.
    pub at: Nanos,
    /// How much later it did. Some of it is work: reading the answers that one wait brought, and sending on.
    pub length: Nanos,
}

/// What one worker saw.
#[derive(Debug)]
pub struct ThreadOutcome {
    /// Some of the actual sends of random arrivals, by stretch of the window.
    pub noted_sends: Vec<Vec<Nanos>>,
    /// The window's cohort.
    pub total: Tally,
    /// The same by segment of the window; empty where there is one.
    pub by_segment: Vec<Tally>,
    /// The same by kind of request; empty where there is one.
    pub by_request: Vec<Tally>,
    /// What ended when.
    pub intervals: Vec<KeptInterval>,
    /// Length of those intervals.
    pub interval: Nanos,
    /// Its connections.
    pub connections: ConnectionCounts,
    /// Requests that the window took over from the warm-up.
    pub carried: Carried,
    /// The longest stall of its loop in the window.
    pub stall: Stall,
    /// Time inside the window spent in polls that found nothing.
    pub spun: Nanos,
    /// Requests due and unsent when the window began.
    pub backlog: u64,
    /// When its phases were.
    pub spans: Spans,
    /// What came of TLS, where it was spoken.
    pub tls: Option<TlsOutcome>,
    /// The first wrong body of each kind of request.
    pub wrong_bodies: Vec<Option<WrongBody>>,
    /// How long the sessions of the window took that were completed, by session.
    pub session_times: Vec<Histogram>,
}

/// What a run comes to.
#[derive(Debug)]
pub struct RunOutcome {
    /// A sample of the gaps between the actual sends of random arrivals, as multiples of the mean gap asked for.
    pub arrival_gaps: Vec<f64>,
    /// Of one of several loaders: the sends it noted for that sample, since the beginning of the warm-up, by stretch.
    pub noted_sends: Vec<Vec<Nanos>>,
    /// The window's cohort, all threads.
    pub total: Tally,
    /// The same by segment of the window; empty where there is one. The total is their sum.
    pub by_segment: Vec<Tally>,
    /// The same by kind of request; empty where there is one. The total is their sum.
    pub by_request: Vec<Tally>,
    /// What ended when, all threads.
    pub intervals: Vec<KeptInterval>,
    /// All connections.
    pub connections: ConnectionCounts,
    /// Requests that the window took over from the warm-up.
    pub carried: Carried,
    /// The longest stall of a thread's loop in the window, in either loop: the generator's, not the server's.
    pub stall: Stall,
    /// Time inside the window spent in polls that found nothing, by thread.
    pub spun: Vec<Nanos>,
    /// Requests due and unsent when the window began.
    pub backlog: u64,
    /// When the phases were.
    pub spans: Spans,
    /// The first wrong body of each kind of request, warm-up included.
    pub wrong_bodies: Vec<Option<WrongBody>>,
    /// How long the sessions of the window took that were completed, by session; empty without sessions.
    pub session_times: Vec<Histogram>,
    /// Whether it was stopped before its planned end.
    pub stopped: bool,
    /// What came of TLS, where it was spoken.
    pub tls: Option<TlsOutcome>,
}

impl Failure {
    /// The failure with the details of its first case.
    pub(crate) fn with_details(self, tls: &TlsOutcome) -> io::Error {
        match self {
            Failure::Tls(fault) => tls.error(fault).map_or_else(|| self.into(), |error| error.clone().into()),
            other => other.into(),
        }
    }
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Os(number) => io::Error::from_raw_os_error(number),
            Failure::Tls(fault) => TlsError::plain(fault).into(),
            Failure::ConnectLimit => io::Error::new(io::ErrorKind::TimedOut, failure.to_string()),
            Failure::NotHttp2 => io::Error::new(io::ErrorKind::Unsupported, failure.to_string()),
            other => io::Error::other(other.to_string()),
        }
    }
}
