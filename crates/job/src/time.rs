//! Times and rates as numbers with a unit. Arithmetic saturates, so that no user's value overflows.
//!
//! Used by every crate that handles times of a run. In JSON and TOML a time is a number under a key that ends in its
//! unit: see [`seconds`] and [`nanoseconds`].

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// An instant or a duration, in nanoseconds. Instants count from the zero of their clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// A duration of zero, or the zero of a clock.
    pub const ZERO: Nanos = Nanos(0);
    /// Later than any event.
    pub const NEVER: Nanos = Nanos(u64::MAX);

    /// Converts a whole number of seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Nanos(seconds.saturating_mul(1_000_000_000))
    }

    /// Converts a whole number of milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Nanos(millis.saturating_mul(1_000_000))
    }

    /// Converts a whole number of microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Nanos(micros.saturating_mul(1_000))
    }

    /// Converts to seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The duration from `earlier` to this instant; zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;

    #[inline]
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Nanos;

    #[inline]
    fn sub(self, other: Nanos) -> Nanos {
        self.since(other)
    }
}

impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Self {
        Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(nanos: Nanos) -> Self {
        Duration::from_nanos(nanos.0)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Duration::from(*self), f)
    }
}

/// Serde form of a duration under a key that ends in `_s`: a number of seconds, fractions allowed.
pub mod seconds {
    use super::Nanos;
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    /// Serializes as seconds.
    pub fn serialize<S: Serializer>(time: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(time.as_secs_f64())
    }

    /// Deserializes from seconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Nanos, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        // 2^64 ns are 584 years; the conversion saturates.
        if (0.0..1e10).contains(&seconds) {
            return Ok(Nanos((seconds * 1e9).round() as u64));
        }
        Err(de::Error::custom(format_args!("{seconds} is not a valid duration in seconds")))
    }
}

/// Serde form of a duration under a key that ends in `_ns`: a whole number of nanoseconds.
pub mod nanoseconds {
    use super::Nanos;
    use serde::{Deserialize as _, Deserializer, Serializer};

    /// Serializes as nanoseconds.
    pub fn serialize<S: Serializer>(time: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(time.0)
    }

    /// Deserializes from nanoseconds.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Nanos, D::Error> {
        u64::deserialize(deserializer).map(Nanos)
    }
}

/// Events per second. Always positive and finite.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
#[schemars(with = "f64")]
pub struct Rate(f64);

impl Rate {
    /// The highest rate whose events differ by at least a whole nanosecond.
    pub const HIGHEST: f64 = 1e9;

    /// A rate in events per second; `None` unless it is above 0 and at most [`Rate::HIGHEST`].
    pub fn per_second(rate: f64) -> Option<Self> {
        (rate > 0.0 && rate <= Self::HIGHEST).then_some(Self(rate))
    }

    /// The rate in events per second.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The mean gap between events, in nanoseconds.
    pub fn gap_ns(self) -> f64 {
        1e9 / self.0
    }
}

impl TryFrom<f64> for Rate {
    type Error = String;

    fn try_from(rate: f64) -> Result<Self, String> {
        Rate::per_second(rate).ok_or_else(|| {
            format!("a rate must be above 0 and at most {} per second, not {rate}", Rate::HIGHEST)
        })
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> f64 {
        rate.0
    }
}
