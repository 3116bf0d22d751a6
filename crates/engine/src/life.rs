//! The life of a connection: how many requests it carries, and how long it rests between an answer and the next.
//!
//! The binary makes it from `--requests-per-connection`, `--no-keepalive` and `--think`; `hot/life.rs` lives by it.
//! What does not go with the rest of a run's settings is refused there (`settings.rs`).

use crate::{Nanos, Random};

/// How many requests a connection carries, and how it rests between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Life {
    /// Whether a connection is used for more than one request. Where not, the requests have to say so themselves
    /// (`Connection: close`).
    pub keep_alive: bool,
    /// After so many requests a connection is closed and another made; none for as many as the server lets it carry.
    pub requests_per_connection: Option<u32>,
    /// Between an answer and the next request of a connection; closed loop only.
    pub think: Think,
}

impl Default for Life {
    /// Kept alive, for any number of requests, without a rest.
    fn default() -> Self {
        Self { keep_alive: true, requests_per_connection: None, think: Think::None }
    }
}

impl Life {
    /// Requests that a connection carries at most.
    pub(crate) fn requests_most(&self) -> u32 {
        if self.keep_alive { self.requests_per_connection.unwrap_or(u32::MAX) } else { 1 }
    }

    /// Whether anything is out of the ordinary, so that it has to be looked after.
    pub(crate) fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// How long a user of a closed loop thinks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Think {
    /// Not at all.
    None,
    /// Always as long.
    Constant(Nanos),
    /// Exponentially distributed, with this mean.
    Exponential(Nanos),
}

impl Think {
    /// How long this time.
    pub(crate) fn draw(self, random: &mut Random) -> Nanos {
        match self {
            Think::None => Nanos::ZERO,
            Think::Constant(time) => time,
            Think::Exponential(mean) => Nanos(random.exponential(mean.0 as f64) as u64),
        }
    }

    /// Nobody thinks longer: of an exponential time, but for one in 10^17.
    pub(crate) fn longest(self) -> Nanos {
        match self {
            Think::None => Nanos::ZERO,
            Think::Constant(time) => time,
            Think::Exponential(mean) => Nanos(mean.0.saturating_mul(40)),
        }
    }
}
