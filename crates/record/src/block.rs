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

    fn add(&mut self, other: &Counts) {
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
    /// Service time: completed minus actual send.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub service_time_ns: Option<Times>,
    /// Completed minus intended send; open loop only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_time_ns: Option<Times>,
    /// Actual send minus the later of intended send and free at: caused by the generator; open loop only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub generator_lag_ns: Option<Times>,
    /// Free at minus intended send if positive: no free connection; open loop only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connection_wait_ns: Option<Times>,
    /// Time to establish a connection, for connections made in this block: without the TLS handshake.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connect_time_ns: Option<Times>,
    /// Time of the TLS handshake after connecting, full and resumed ones together.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub handshake_time_ns: Option<Times>,
    /// Connect time (its TLS handshake included) and service time end to end, without keep-alive; closed loop only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connect_and_service_time_ns: Option<Times>,
    /// First byte of the response minus actual send.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_byte_ns: Option<Times>,
    /// Last byte read minus last byte received by the kernel (`--timestamps kernel`): how long responses waited for the
    /// generator. It is part of the service time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub receive_delay_ns: Option<Times>,
    /// Time to failure (from intended send, or from actual send in a closed loop) of requests that failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed_time_ns: Option<Times>,
    /// Requests that are in the histograms at the time waited so far.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub censored: Option<Censored>,
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

    /// The distributions that it has.
    pub fn distributions(&self) -> impl Iterator<Item = &Times> {
        self.all_times().into_iter().flatten()
    }

    /// Every distribution that a block may have.
    fn all_times(&self) -> [&Option<Times>; DISTRIBUTIONS] {
        [
            &self.service_time_ns,
            &self.response_time_ns,
            &self.generator_lag_ns,
            &self.connection_wait_ns,
            &self.connect_time_ns,
            &self.connect_and_service_time_ns,
            &self.first_byte_ns,
            &self.receive_delay_ns,
            &self.failed_time_ns,
            &self.handshake_time_ns,
        ]
    }

    /// The same, mutable.
    pub(crate) fn all_times_mut(&mut self) -> [&mut Option<Times>; DISTRIBUTIONS] {
        [
            &mut self.service_time_ns,
            &mut self.response_time_ns,
            &mut self.generator_lag_ns,
            &mut self.connection_wait_ns,
            &mut self.connect_time_ns,
            &mut self.connect_and_service_time_ns,
            &mut self.first_byte_ns,
            &mut self.receive_delay_ns,
            &mut self.failed_time_ns,
            &mut self.handshake_time_ns,
        ]
    }
}

/// Distributions that a block may have.
const DISTRIBUTIONS: usize = 10;

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
        for (sum, times) in self.times.iter_mut().zip(block.all_times()) {
            let Some(times) = times else { continue };
            sum.get_or_insert_default().merge(&times.decode()?);
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
        sum.censored = both(sum.censored, block.censored, |a, b| Censored {
            count: a.count.saturating_add(b.count),
            lowest_ns: a.lowest_ns.min(b.lowest_ns),
        });
        Ok(())
    }

    /// The sum.
    pub fn into_block(self) -> Block {
        let mut block = self.plain;
        for (times, sum) in block.all_times_mut().into_iter().zip(self.times) {
            *times = sum.as_ref().map(Times::from_histogram);
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
