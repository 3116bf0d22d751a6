//! What a run is asked to do, checked before anything starts.
//!
//! The binary fills it in from flags, the self-test by itself; whoever drives a run refuses what `check` finds wrong.
//! No flag, file or machine is looked at: what is left out of a command line was decided before it came here.

use crate::tls::TlsSettings;
use crate::{Address, EngineError, Life, Nanos, Pace, Requests, Segment, Shape, Think};
use std::net::IpAddr;
use std::sync::Arc;

/// What is handed to a socket at once lies in memory, in each thread; more is a mistake.
const OUTGOING_BYTES_MOST: usize = 1 << 30;

/// Closed or open loop.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// A connection sends its next request when the last is answered.
    Closed,
    /// Requests are due on a schedule, whatever the server does.
    Open {
        /// The rate the schedule asks for, over time.
        shape: Shape,
        /// How arrivals are spaced.
        arrivals: Arrivals,
    },
}

/// How arrivals are spaced in an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Evenly.
    Constant,
    /// With independent exponential gaps.
    Poisson,
}

/// What ends the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// A length of time.
    Duration(Nanos),
    /// A number of requests.
    Requests(u64),
}

/// Steps at most: each has a block with histograms of its own.
const STEPS_MOST: usize = 100;

/// What a run is asked to do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where connections go.
    pub address: Address,
    /// TLS, where it is to be spoken.
    pub tls: Option<Arc<TlsSettings>>,
    /// What is asked, and what must come back.
    pub requests: Arc<Requests>,
    /// Connections, over all threads.
    pub connections: u32,
    /// Requests outstanding on a connection at most; above 1 they are pipelined.
    pub depth: u16,
    /// Whether a connection sends its next requests only when all of them are answered, as wrk's scripts do, instead
    /// of one for each answer.
    pub batch: bool,
    /// How many requests a connection carries, and how it rests between them.
    pub life: Life,
    /// Threads, each with its own connections.
    pub threads: u32,
    /// Closed or open loop.
    pub load: Load,
    /// What ends the window.
    pub bound: Bound,
    /// Length of the warm-up.
    pub warmup: Nanos,
    /// Longest drain.
    pub drain: Nanos,
    /// From actual send; a request without a complete answer by then is timed out. It is noticed up to a 64th of the
    /// timeout later (at least 1, at most 250 ms): an answer that comes in between counts.
    pub timeout: Nanos,
    /// Longest connect phase, and longest single attempt to connect, its TLS handshake included.
    pub connect_limit: Nanos,
    /// How to wait for the next send.
    pub pace: Pace,
    /// Local addresses that connections are spread over; the kernel chooses where there are none.
    pub sources: Arc<[IpAddr]>,
    /// Whether each thread has a descriptor table of its own, and with it a limit of its own.
    pub own_descriptors: bool,
    /// Whether to ask the kernel when it received what was read.
    pub kernel_timestamps: bool,
    /// Where random arrivals, the choice among requests and the values in them come from.
    pub seed: u64,
}

impl Settings {
    /// Checks that the settings make sense together.
    ///
    /// # Errors
    /// [`EngineError::Settings`] naming the first thing that does not.
    pub fn check(&self) -> Result<(), EngineError> {
        let problem = if self.connections == 0 {
            "no connections: ask for at least one"
        } else if self.threads == 0 {
            "no threads: ask for at least one"
        } else if self.threads > self.connections {
            "more threads than connections: every thread needs a connection of its own"
        } else if !self.sources_fit() {
            "a source address is of another family than the target's"
        } else if !self.address.is_possible() {
            "the path of a unix socket has 1 to 107 bytes"
        } else if self.depth == 0 {
            "a depth of 0 sends nothing: ask for at least 1"
        } else if self.requests.is_empty() {
            "there is no request, or an empty one"
        } else if self.requests.longest().saturating_mul(self.depth.into()) > OUTGOING_BYTES_MOST {
            "the requests of one connection have more than 1 GiB together: pipeline fewer, or send shorter ones"
        } else if (self.inner_segment_ends().len() + 2) * self.requests.kinds().len() > usize::from(u16::MAX)
        {
            "too many segments of the load for so many requests: have fewer of either"
        } else if matches!(self.bound, Bound::Duration(Nanos::ZERO) | Bound::Requests(0)) {
            "an empty window measures nothing: ask for a longer duration or more requests"
        } else if self.timeout < Nanos::from_millis(1) {
            "a timeout below 1 ms cannot be kept"
        } else if self.connect_limit == Nanos::ZERO {
            "a connect timeout of 0 leaves no time to connect in"
        } else if matches!(self.bound, Bound::Requests(_)) && self.warmup != Nanos::ZERO {
            "a number of requests leaves no room for a warm-up: bound the run by a duration"
        } else if let Some(problem) = self.shape_problem().or_else(|| self.life_problem()) {
            problem
        } else {
            return Ok(());
        };
        Err(EngineError::Settings(problem))
    }

    /// What is wrong with the shape of an open loop, if anything.
    fn shape_problem(&self) -> Option<&'static str> {
        let Load::Open { shape, arrivals } = &self.load else { return None };
        let steady = matches!(shape, Shape::Steady(_));
        let length = shape.length();
        match shape {
            _ if self.batch => {
                Some("batches belong to a closed loop: an open one sends a request when it is due")
            }
            _ if !steady && matches!(self.bound, Bound::Requests(_)) => {
                Some("a rate that changes is bounded by a length of time, not by a number of requests")
            }
            Shape::Steps { rates, each } if rates.is_empty() || *each == Nanos::ZERO => {
                Some("steps need at least one rate and a length of more than nothing")
            }
            Shape::Steps { rates, .. } if rates.len() > STEPS_MOST => {
                Some("more than 100 steps: ask for fewer")
            }
            Shape::Steps { .. } if length.map(Bound::Duration) != Some(self.bound) => {
                Some("the window of steps is as long as all of them together")
            }
            Shape::Trace(times) if times.is_empty() => Some("a schedule without a send measures nothing"),
            Shape::Trace(times) if !times.is_sorted() => Some("the sends of a schedule go back in time"),
            Shape::Trace(times) if times.last().is_some_and(|last| *last < self.warmup) => {
                Some("the schedule is over before its warm-up is: shorten the warm-up")
            }
            Shape::Trace(_) if *arrivals == Arrivals::Poisson => {
                Some("a schedule of sends has no random arrivals")
            }
            _ => None,
        }
    }

    /// What is wrong with the life of the connections, if anything.
    fn life_problem(&self) -> Option<&'static str> {
        let thinks = self.life.think != Think::None;
        match self.life.requests_per_connection {
            Some(0) => Some("a connection that carries no request sends nothing: ask for at least 1"),
            Some(2..) if !self.life.keep_alive => {
                Some("without keep-alive a connection carries one request, not several")
            }
            _ if !self.life.keep_alive && self.depth > 1 => {
                Some("without keep-alive a connection carries one request: there is nothing to pipeline")
            }
            _ if thinks && self.load != Load::Closed => Some(
                "think time belongs to a closed loop: an open one sends on its schedule, whatever users think",
            ),
            _ if thinks && self.depth > 1 => {
                Some("who thinks before every request pipelines none: leave one of the two out")
            }
            _ => None,
        }
    }

    /// Kinds of request, each with a block of its own.
    pub(crate) fn kinds(&self) -> u16 {
        u16::try_from(self.requests.kinds().len()).unwrap_or(u16::MAX)
    }

    /// The parts of the window that are reported apart; none where the load does not change.
    pub fn segments(&self) -> Vec<Segment> {
        match (&self.load, self.bound) {
            (Load::Open { shape, .. }, Bound::Duration(window)) => shape.segments(window),
            _ => Vec::new(),
        }
    }

    /// Where the segments of the window end, from its beginning, but for the last, which ends with the window.
    pub(crate) fn inner_segment_ends(&self) -> Vec<Nanos> {
        let mut ends: Vec<_> = self.segments().iter().map(|segment| segment.end).collect();
        ends.pop();
        ends
    }

    /// Whether every source address can reach the target.
    fn sources_fit(&self) -> bool {
        self.sources.iter().all(|source| match &self.address {
            Address::Tcp(target) => source.is_ipv4() == target.is_ipv4(),
            Address::Unix(_) => false,
        })
    }

    /// A connection is free for another request while fewer than this are outstanding on it.
    #[inline]
    pub(crate) fn free_below(&self) -> u16 {
        if self.batch { 1 } else { self.depth }
    }

    /// How many connections worker `k` of `threads` has: `connections` dealt out one by one.
    pub(crate) fn connections_of(&self, worker: u32) -> u32 {
        self.connections / self.threads + u32::from(worker < self.connections % self.threads)
    }
}
