//! A block: the outcomes and times of a set of requests.
//!
//! Two blocks add up to a block, so a run, its intervals, the segments of a ramp and the requests of a mix all have
//! this shape. The binary makes them from the engine's tallies, the lab from the output of another load generator;
//! verdicts, gates and reports read them. A block contains no rate, because a rate needs the length of the window.

use crate::RecordError;
use paceline_stats::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The outcomes of the requests of a cohort. `scheduled` is always the sum of all the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Requests that were due, all outcomes together.
    pub scheduled: u64,
    /// Requests with the expected response.
    pub ok: u64,
    /// Requests answered with another status than expected.
    pub bad_status: u64,
    /// Requests answered with another body than expected.
    pub bad_body: u64,
    /// Requests without a connection, because connecting failed.
    pub connect_failed: u64,
    /// Requests whose connection broke, or whose response was not valid HTTP.
    pub io_failed: u64,
    /// Requests without a complete response within the timeout.
    pub timed_out: u64,
    /// Requests that still waited for a connection when the drain's limit was over.
    pub unsent: u64,
}

impl Counts {
    /// The sum of the outcomes, which must equal `scheduled`.
    pub fn ended(&self) -> u64 {
        total([self.ok, self.failed(), self.timed_out, self.unsent])
    }

    /// Requests that failed outright: bad status or body, failed connect, broken connection.
    pub fn failed(&self) -> u64 {
        total([self.bad_status, self.bad_body, self.connect_failed, self.io_failed])
    }

    /// All requests that are not ok.
    pub fn not_ok(&self) -> u64 {
        total([self.failed(), self.timed_out, self.unsent])
    }

    /// The failed share, 0 to 1: all requests that are not ok, those without a response included, among those that were
    /// due. Verdicts, gates, reports and pages use this definition.
    pub fn not_ok_share(&self) -> f64 {
        self.not_ok() as f64 / (self.scheduled as f64).max(1.0)
    }

    /// Requests that were sent, or for which connecting failed: all but the unsent ones.
    pub fn attempted(&self) -> u64 {
        self.scheduled.saturating_sub(self.unsent)
    }

    /// Requests of which only the time that they waited is known: timed out or unsent.
    pub fn censored(&self) -> u64 {
        total([self.timed_out, self.unsent])
    }

    /// Adds the counts of other requests.
    pub fn add(&mut self, other: &Counts) {
        add(&mut self.scheduled, other.scheduled);
        add(&mut self.ok, other.ok);
        add(&mut self.bad_status, other.bad_status);
        add(&mut self.bad_body, other.bad_body);
        add(&mut self.connect_failed, other.connect_failed);
        add(&mut self.io_failed, other.io_failed);
        add(&mut self.timed_out, other.timed_out);
        add(&mut self.unsent, other.unsent);
    }
}

/// Adds to a count with saturation: a stored record may contain any number.
fn add(count: &mut u64, more: u64) {
    *count = count.saturating_add(more);
}

/// The sum of some counts, with saturation.
pub(crate) fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// Bytes on the wire, and in bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bytes {
    /// Bytes that were handed to sockets.
    pub sent: u64,
    /// Bytes read from sockets, heads and framing included.
    pub received: u64,
    /// Bytes of response bodies, framing removed.
    pub body: u64,
}

/// The lengths of the bodies of valid responses: they should not vary unless the target intends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lengths {
    /// Length of the shortest body, in bytes.
    pub min: u64,
    /// Length of the longest body, in bytes.
    pub max: u64,
}

/// The events of streams (`--stream`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventCounts {
    /// Streams whose responses have ended, however they ended.
    pub streams: u64,
    /// Those that the server ended before what was asked for, in the middle of an event, or without one.
    pub ended_early: u64,
    /// Events of all streams, also of those that failed later.
    pub events: u64,
    /// Those that came inside the window.
    pub events_in_window: u64,
    /// Those of streams that ended as asked inside the window; the rate of messages of gRPC counts these alone.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub events_of_ok_in_window: u64,
    /// The sum of the number that `--count-json` names, over all events.
    pub counted: f64,
    /// The sum over those that came inside the window.
    pub counted_in_window: f64,
    /// Events without a time where `--message-time` points; they have no delay.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub events_without_time: u64,
    /// Events whose time is after their arrival, because the clocks of sender and Paceline differ; they have no delay.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub events_ahead_of_clock: u64,
    /// The longest time by which one of these is ahead, in nanoseconds.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub ahead_of_clock_ns_max: u64,
    /// Fewest events of a stream that ended as asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub events_min: Option<u64>,
    /// Most events of a stream that ended as asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub events_max: Option<u64>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl EventCounts {
    fn sum(self, other: Self) -> Self {
        Self {
            streams: self.streams.saturating_add(other.streams),
            ended_early: self.ended_early.saturating_add(other.ended_early),
            events: self.events.saturating_add(other.events),
            events_in_window: self.events_in_window.saturating_add(other.events_in_window),
            events_of_ok_in_window: self.events_of_ok_in_window.saturating_add(other.events_of_ok_in_window),
            counted: self.counted + other.counted,
            counted_in_window: self.counted_in_window + other.counted_in_window,
            events_without_time: self.events_without_time.saturating_add(other.events_without_time),
            events_ahead_of_clock: self.events_ahead_of_clock.saturating_add(other.events_ahead_of_clock),
            ahead_of_clock_ns_max: self.ahead_of_clock_ns_max.max(other.ahead_of_clock_ns_max),
            events_min: self.events_min.into_iter().chain(other.events_min).min(),
            events_max: self.events_max.max(other.events_max),
        }
    }
}

/// Requests without a response, at the time waited so far: the true time is at least that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Censored {
    /// Their number (`timed_out` and `unsent`).
    pub count: u64,
    /// The lowest of the times waited, in nanoseconds; percentiles at or above it are lower bounds.
    pub lowest_ns: u64,
}

/// A distribution of times, in nanoseconds: some percentiles for reading, the whole histogram for computation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// Number of recorded times. With a count of 0 every number is 0.
    pub count: u64,
    /// The lowest time, exact.
    pub min: u64,
    /// The arithmetic mean of the times.
    pub mean: f64,
    /// The median, to three significant digits, as are the other percentiles.
    pub p50: u64,
    /// 75 % of the times were at or below it.
    pub p75: u64,
    /// 90 % of the times were at or below it.
    pub p90: u64,
    /// 95 % of the times were at or below it.
    pub p95: u64,
    /// 99 % of the times were at or below it.
    pub p99: u64,
    /// 99.9 % of the times were at or below it.
    pub p99_9: u64,
    /// 99.99 % of the times were at or below it.
    pub p99_99: u64,
    /// The highest time, exact.
    pub max: u64,
    /// HdrHistogram V2 compressed encoding, base64.
    pub histogram: String,
}

impl Times {
    /// Its columns in a table, lowest first, each with its value in nanoseconds; the mean follows separately.
    pub fn columns(&self) -> [(&'static str, u64); 7] {
        [
            ("p50", self.p50),
            ("p75", self.p75),
            ("p90", self.p90),
            ("p95", self.p95),
            ("p99", self.p99),
            ("p99_9", self.p99_9),
            ("max", self.max),
        ]
    }

    /// The times of a histogram.
    pub fn from_histogram(histogram: &Histogram) -> Self {
        let quantiles = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];
        let [p50, p75, p90, p95, p99, p99_9, p99_99] = histogram.quantiles(quantiles).unwrap_or_default();
        Self {
            count: histogram.count(),
            min: histogram.min().unwrap_or(0),
            mean: histogram.mean().unwrap_or(0.0),
            p50,
            p75,
            p90,
            p95,
            p99,
            p99_9,
            p99_99,
            max: histogram.max().unwrap_or(0),
            histogram: histogram.to_base64(),
        }
    }

    /// Adds another distribution: counts merge, minimum, maximum and mean stay exact.
    ///
    /// # Errors
    /// [`RecordError::Histogram`] when either histogram cannot be decoded.
    pub fn merge(&self, other: &Times) -> Result<Times, RecordError> {
        let mut merged = self.decode()?;
        merged.merge(&other.decode()?);
        Ok(Times::from_histogram(&merged))
    }

    /// The histogram, with the exact minimum, maximum and mean put back.
    ///
    /// # Errors
    /// [`RecordError::Histogram`] when it cannot be decoded.
    pub fn decode(&self) -> Result<Histogram, RecordError> {
        let sum = (self.mean * self.count as f64).round() as u128;
        Ok(Histogram::from_base64(&self.histogram)?.with_exact(self.min, self.max, sum))
    }
}

/// The loops in which a time is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeLoops {
    /// Both.
    Both,
    /// Open loops only.
    Open,
    /// Closed loops only.
    Closed,
}

/// Defines [`Block`] and [`TimeKind`] from the table of times: for each its definition, its key, its name, the loops
/// in which it is measured, and what else it needs.
macro_rules! block_with_times {
    ($(
        $(#[doc = $line:literal])+
        $kind:ident $field:ident $name:literal, $loops:ident, $needs:expr;
    )+) => {
        /// The outcomes and times of a set of requests. A time that was not measured is left out, never zero.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        pub struct Block {
            /// The number of requests by outcome.
            pub counts: Counts,
            /// Valid responses completed inside the window, whenever they fell due: what the achieved rate counts.
            pub completed_in_window: u64,
            /// Number of responses by status code.
            pub status: BTreeMap<String, u64>,
            /// Bytes sent and received.
            pub bytes: Bytes,
            /// Body lengths of valid responses.
            #[serde(skip_serializing_if = "Option::is_none", default)]
            pub body_bytes: Option<Lengths>,
            /// The events of streams; none without streams.
            #[serde(skip_serializing_if = "Option::is_none", default)]
            pub stream_events: Option<EventCounts>,
            $(
                $(#[doc = $line])+
                #[serde(skip_serializing_if = "Option::is_none", default)]
                pub $field: Option<Times>,
            )+
            /// Requests that are in the histograms at the time waited so far.
            #[serde(skip_serializing_if = "Option::is_none", default)]
            pub censored: Option<Censored>,
        }

        /// A time of requests or connections. Texts, files, pages and documents are made from this table: a time that is
        /// added here appears in all of them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum TimeKind {
            $(
                $(#[doc = $line])+
                $kind,
            )+
        }

        impl TimeKind {
            /// Every time, in the order of a table.
            pub const ALL: [Self; DISTRIBUTIONS] = [$( Self::$kind, )+];

            /// Its key in a block.
            pub fn key(self) -> &'static str {
                match self {
                    $( Self::$kind => stringify!($field), )+
                }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $( Self::$kind => $name, )+
                }
            }

            /// Its definition.
            pub fn definition(self) -> String {
                let lines: &[&str] = match self {
                    $( Self::$kind => &[$( $line ),+], )+
                };
                lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
            }

            /// The loops in which it is measured.
            pub fn loops(self) -> TimeLoops {
                match self {
                    $( Self::$kind => TimeLoops::$loops, )+
                }
            }

            /// What it needs besides; empty if nothing.
            pub fn needs(self) -> &'static str {
                match self {
                    $( Self::$kind => $needs, )+
                }
            }
        }

        impl Block {
            /// The times of this kind.
            pub fn times(&self, kind: TimeKind) -> Option<&Times> {
                match kind {
                    $( TimeKind::$kind => self.$field.as_ref(), )+
                }
            }

            /// The place of the times of this kind.
            pub fn times_mut(&mut self, kind: TimeKind) -> &mut Option<Times> {
                match kind {
                    $( TimeKind::$kind => &mut self.$field, )+
                }
            }
        }

        /// Distributions that a block may have.
        const DISTRIBUTIONS: usize = [$( stringify!($kind) ),+].len();
    };
}

/// What the times of streams need.
const STREAMS: &str = "`--stream`";
/// What the delays of their events need besides.
const MESSAGE_TIMES: &str = "`--message-time`";

block_with_times! {
    /// From the moment at which the request was due by the schedule (the intended send) to the last byte of the response.
    /// It includes waiting for a connection and any lag of the load generator.
    Response response_time_ns "response time", Open, "";

    /// From the actual send (the first byte of the request is passed to the socket) to the last byte of the response.
    Service service_time_ns "service time", Both, "";

    /// From the actual send to the first byte of the response.
    FirstByte first_byte_ns "first byte", Both, "";

    /// From the intended send (closed loop: the actual send) to the first byte of a stream's body.
    FirstBody first_body_ns "first body byte", Both, STREAMS;

    /// From the intended send (closed loop: the actual send) to the end of a stream's first event: for a language model,
    /// the time to the first token as its user sees it. Streams that failed later are included.
    FirstEvent first_event_ns "first event", Both, STREAMS;

    /// Time between two events of a stream. Events that were read together have a gap of 0. Streams that failed later are
    /// included.
    EventGap event_gap_ns "gap between events", Both, STREAMS;

    /// The longest gap between two events of each stream that ended as asked.
    LongestGap longest_gap_ns "longest gap", Both, STREAMS;

    /// From the first byte of a stream's body to the end of the stream, for each stream that ended as asked.
    StreamTime stream_time_ns "stream duration", Both, STREAMS;

    /// From the time that an event of a stream carries to its arrival, by the wall clock of the load generator: the
    /// clocks must agree. Events without a time, or with one after their arrival, have no delay; they are counted.
    MessageDelay message_delay_ns "message delay", Both, MESSAGE_TIMES;

    /// From when a request was due until a connection, or a stream on one, was free for it.
    ConnectionWait connection_wait_ns "connection wait", Open, "";

    /// Delay caused by the load generator: it begins when the request is due and a connection is free, and ends when
    /// the request is sent. It is part of the response time.
    GeneratorLag generator_lag_ns "generator lag", Open, "";

    /// Time to establish a connection, for connections made in this block, without the TLS handshake.
    Connect connect_time_ns "connect time", Both, "connections that are made in the window";

    /// Time of the TLS handshake after connecting, full and resumed ones together. Early data is sent meanwhile.
    Handshake handshake_time_ns "handshake time", Both, "TLS";

    /// From the start of connecting, TLS handshake included, to the last byte of the response.
    ConnectAndService connect_and_service_time_ns "connect + service", Closed, "a connection for each request";

    /// From when the kernel had received the last byte to when it was read: how long responses waited for the load
    /// generator. It is part of the service time.
    ReceiveDelay receive_delay_ns "receive delay", Both, "`--timestamps kernel`";

    /// Time until each failed request failed, from the intended send, or from the actual send in a closed loop.
    /// Requests that timed out are not included: they count in the response time (closed loop: in the service time).
    Failed failed_time_ns "time to failure", Both, "failed requests";
}

impl TimeKind {
    /// The time of this key.
    pub fn parse(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.key() == key)
    }

    /// Its name as a title: `Response time`.
    pub fn title(self) -> String {
        let (first, rest) = self.name().split_at(1);
        first.to_uppercase() + rest
    }

    /// Whether only responses that are read as streams have it.
    pub fn is_of_streams(self) -> bool {
        matches!(self.needs(), STREAMS | MESSAGE_TIMES)
    }

    /// Its key without the unit: its id in pages.
    pub fn id(self) -> &'static str {
        self.key().trim_end_matches("_ns")
    }

    /// Its tag in histogram logs: `response`, `connection_wait`.
    pub fn tag(self) -> &'static str {
        self.id().trim_end_matches("_time")
    }
}

impl Block {
    /// The sum of two blocks: associative and commutative up to the rounding of means, with the empty block as zero.
    ///
    /// # Errors
    /// [`RecordError::Histogram`] when a histogram cannot be decoded.
    pub fn merge(&self, other: &Block) -> Result<Block, RecordError> {
        let mut sum = BlockSum::default();
        sum.add(self)?;
        sum.add(other)?;
        Ok(sum.into_block())
    }

    /// The distributions that it has, with their kinds.
    pub fn distributions(&self) -> impl Iterator<Item = (TimeKind, &Times)> {
        TimeKind::ALL.into_iter().filter_map(|kind| Some((kind, self.times(kind)?)))
    }
}

/// Adds up any number of blocks: each histogram is decoded once, and the sum is encoded once.
#[derive(Clone, Debug, Default)]
pub struct BlockSum {
    /// Everything except the times.
    plain: Block,
    times: [Option<Histogram>; DISTRIBUTIONS],
}

impl BlockSum {
    /// Adds a block.
    ///
    /// # Errors
    /// [`RecordError::Histogram`] when a histogram cannot be decoded.
    pub fn add(&mut self, block: &Block) -> Result<(), RecordError> {
        for (kind, times) in block.distributions() {
            self.times[kind as usize].get_or_insert_default().merge(&times.decode()?);
        }
        let sum = &mut self.plain;
        sum.counts.add(&block.counts);
        add(&mut sum.completed_in_window, block.completed_in_window);
        for (status, count) in &block.status {
            add(sum.status.entry(status.clone()).or_default(), *count);
        }
        add(&mut sum.bytes.sent, block.bytes.sent);
        add(&mut sum.bytes.received, block.bytes.received);
        add(&mut sum.bytes.body, block.bytes.body);
        sum.body_bytes = both(sum.body_bytes, block.body_bytes, |a, b| Lengths {
            min: a.min.min(b.min),
            max: a.max.max(b.max),
        });
        sum.stream_events = both(sum.stream_events, block.stream_events, EventCounts::sum);
        sum.censored = both(sum.censored, block.censored, |a, b| Censored {
            count: a.count.saturating_add(b.count),
            lowest_ns: a.lowest_ns.min(b.lowest_ns),
        });
        Ok(())
    }

    /// The sum.
    pub fn into_block(self) -> Block {
        let mut block = self.plain;
        for (kind, sum) in TimeKind::ALL.into_iter().zip(self.times) {
            *block.times_mut(kind) = sum.as_ref().map(Times::from_histogram);
        }
        block
    }
}

fn both<T>(a: Option<T>, b: Option<T>, join: impl Fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(join(a, b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(values: &[u64]) -> Block {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        let n = values.len() as u64;
        Block {
            counts: Counts { scheduled: n, ok: n, ..Counts::default() },
            status: [("200".to_owned(), n)].into(),
            service_time_ns: (n > 0).then(|| Times::from_histogram(&histogram)),
            ..Block::default()
        }
    }

    proptest! {
        #[test]
        fn blocks_add_up(a in prop::collection::vec(0..1u64 << 40, 0..60), b in prop::collection::vec(0..1u64 << 40, 0..60)) {
            let sum = block(&a).merge(&block(&b)).unwrap();
            let whole = block(&[a, b].concat());
            prop_assert_eq!(sum.counts, whole.counts);
            match (sum.service_time_ns, whole.service_time_ns) {
                (Some(sum), Some(whole)) => {
                    prop_assert!((sum.mean - whole.mean).abs() <= whole.mean * 1e-9);
                    prop_assert_eq!((sum.min, sum.max, sum.count, sum.p50, sum.p99), (whole.min, whole.max, whole.count, whole.p50, whole.p99));
                }
                (sum, whole) => prop_assert_eq!(sum.is_none(), whole.is_none()),
            }
        }
    }

    #[test]
    fn the_empty_block_is_zero() {
        let one = block(&[5, 6, 7]);
        assert_eq!(one.merge(&Block::default()).unwrap().service_time_ns, one.service_time_ns);
        assert_eq!(Block::default().merge(&one).unwrap().counts, one.counts);
    }
}
