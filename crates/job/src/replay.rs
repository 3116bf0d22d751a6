//! How an access log is replayed.

use jiff::civil::Time;
use jiff::fmt::strtime;
use jiff::{Timestamp, tz::Offset};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The speeds at which a log can be replayed.
const SPEEDS: std::ops::RangeInclusive<f64> = 1e-3..=1e6;

/// Which requests of an access log are sent, and how fast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReplaySpec {
    /// How many times as fast as they were logged.
    pub speed: f64,
    /// Whether requests with a method that is not safe (RFC 9110 §9.2.1) are sent too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all_methods: bool,
    /// Earlier requests are left out: a time of day (`14:05`), or one with a date (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub from: Option<LogTime>,
    /// Requests from this time on are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub until: Option<LogTime>,
    /// The form of a line, as in nginx's `log_format`; if missing, each line is in one of the known formats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

impl Default for ReplaySpec {
    fn default() -> Self {
        Self { speed: 1.0, all_methods: false, from: None, until: None, format: None }
    }
}

impl ReplaySpec {
    /// Whether a log can be replayed this many times as fast as it was logged.
    pub fn is_speed(factor: f64) -> bool {
        SPEEDS.contains(&factor)
    }
}

/// A time in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LogTime {
    /// A time of the day of the log's first line, with the offset from UTC that this line has.
    OfDay(Time),
    /// A time with a date.
    Instant(Timestamp),
}

impl LogTime {
    /// The instant that is meant, if times of day are those of the day of `first` at this offset from UTC; `None` for a time
    /// that cannot be represented.
    pub fn instant(self, first: Timestamp, offset: Offset) -> Option<Timestamp> {
        match self {
            LogTime::OfDay(time) => {
                let at = offset.to_datetime(first).date().to_datetime(time);
                offset.to_timestamp(at).ok()
            }
            LogTime::Instant(at) => Some(at),
        }
    }
}

/// A text that is no time in a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a time: use a time of day (14:05 or 14:05:30) or RFC 3339 (2026-11-21T14:05:00Z)")]
pub struct LogTimeError(String);

impl FromStr for LogTime {
    type Err = LogTimeError;

    fn from_str(text: &str) -> Result<Self, LogTimeError> {
        let of_day = |format| strtime::parse(format, text).and_then(|parsed| parsed.to_time()).ok();
        let time = ["%H:%M:%S", "%H:%M"].into_iter().find_map(of_day).map(LogTime::OfDay);
        let instant = || text.parse().ok().map(LogTime::Instant);
        time.or_else(instant).ok_or_else(|| LogTimeError(text.to_owned()))
    }
}

impl TryFrom<String> for LogTime {
    type Error = LogTimeError;

    fn try_from(text: String) -> Result<Self, LogTimeError> {
        text.parse()
    }
}

impl From<LogTime> for String {
    fn from(time: LogTime) -> Self {
        time.to_string()
    }
}

impl fmt::Display for LogTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogTime::OfDay(time) => time.fmt(f),
            LogTime::Instant(at) => at.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_a_log_is_read_back_as_written() {
        for text in ["14:05:00", "00:00:59", "2026-11-21T14:05:00Z", "2026-11-21T14:05:00.25Z"] {
            let time: LogTime = text.parse().unwrap();
            assert_eq!(time.to_string(), text);
        }
        assert_eq!("14:05".parse::<LogTime>(), "14:05:00".parse());
        assert_eq!("2026-11-21T15:05:00+01:00".parse::<LogTime>(), "2026-11-21T14:05:00Z".parse());
        for text in ["", "14", "25:00", "2026-11-21", "2026-11-21T14:05", "noon"] {
            assert!(text.parse::<LogTime>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_of_day_is_that_of_the_log() {
        let first: Timestamp = "2026-11-21T23:30:00Z".parse().unwrap();
        let instant = |text: &str, hours| {
            let time: LogTime = text.parse().unwrap();
            time.instant(first, Offset::from_hours(hours).unwrap()).unwrap().to_string()
        };
        assert_eq!(instant("14:05", 0), "2026-11-21T14:05:00Z");
        assert_eq!(instant("14:05", 2), "2026-11-22T12:05:00Z");
        assert_eq!(instant("2026-11-21T14:05:00Z", 2), "2026-11-21T14:05:00Z");
    }
}
