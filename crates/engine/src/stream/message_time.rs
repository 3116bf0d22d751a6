//! Reads the time that a message carries, and computes the message's delay: its arrival minus that time.
//!
//! A time is a number since 1970-01-01T00:00:00Z in seconds, milliseconds, microseconds or nanoseconds, or a text in
//! the form of RFC 3339. The ranges of the four units do not overlap, because a time must be between 1973 and 5138:
//! other numbers, such as counters, are no times.

use super::json_place::{JsonPlace, JsonScalar};
use crate::Nanos;
use std::ops::Range;

/// Nanoseconds in a second.
const SECOND: i128 = 1_000_000_000;
/// The times that are read, in nanoseconds since 1970: from 1973-03-03 to 5138-11-16. The end is a thousand times the
/// start, so that the unit of a number follows from its size.
const READ: Range<i128> = 100_000_000 * SECOND..100_000_000_000 * SECOND;
/// The nanoseconds in each unit of a number, the longest first.
const UNITS: [i128; 4] = [SECOND, 1_000_000, 1_000, 1];

/// Where messages have the time at which they were sent, and how the clock of these times relates to that of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageTime {
    place: JsonPlace,
    /// The wall clock minus the clock of the run, in nanoseconds.
    distance: i128,
}

impl MessageTime {
    /// The time at a JSON pointer, which is empty or begins with a slash. `distance` is the wall clock minus the clock
    /// of the run, in nanoseconds ([`crate::kernel::wall_clock_distance`]).
    pub fn at(pointer: &str, distance: i128) -> Self {
        Self { place: JsonPlace::at(pointer), distance }
    }

    /// The delay of a message that arrived at this moment of the run's clock, in nanoseconds; negative if the clock of
    /// its sender is ahead. None if it has no time.
    pub(crate) fn delay(&self, message: &[u8], arrival: Nanos) -> Option<i128> {
        let SentAt(sent) = self.place.read::<SentAt>(message)?;
        Some(i128::from(arrival.0) + self.distance - sent)
    }
}

/// The time that a message carries, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SentAt(i128);

impl SentAt {
    fn from_nanoseconds(time: i128) -> Option<Self> {
        READ.contains(&time).then_some(Self(time))
    }
}

impl JsonScalar for SentAt {
    fn from_integer(number: i128) -> Option<Self> {
        UNITS.into_iter().find_map(|unit| Self::from_nanoseconds(number.checked_mul(unit)?))
    }

    fn from_float(number: f64) -> Option<Self> {
        // The whole part is taken separately: its nanoseconds have more digits than the number.
        let time = |unit: i128| (number.trunc() as i128).checked_mul(unit);
        let fraction = |unit: i128| (number.fract() * unit as f64).round() as i128;
        UNITS.into_iter().find_map(|unit| Self::from_nanoseconds(time(unit)? + fraction(unit)))
    }

    fn from_text(text: &str) -> Option<Self> {
        Self::from_nanoseconds(text.parse::<jiff::Timestamp>().ok()?.as_nanosecond())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-11-21T01:06:39.125Z.
    const TIME: i128 = 1_795_223_199_125_000_000;

    fn read(message: &str) -> Option<i128> {
        // The delay of a message that arrives at the zero of a clock that began in 1970.
        MessageTime::at("/t", 0).delay(message.as_bytes(), Nanos::ZERO).map(|delay| -delay)
    }

    #[test]
    fn the_unit_follows_from_the_size() {
        for time in [
            "1795223199.125",
            "1795223199125",
            "1795223199125000",
            "1795223199125000000",
            "1.795223199125e12",
            "1795223199125.0",
            "\"2026-11-21T01:06:39.125Z\"",
            "\"2026-11-21T03:36:39.125+02:30\"",
            "\"2026-11-20T20:06:39.125-05:00\"",
        ] {
            assert_eq!(read(&format!("{{\"t\": {time}}}")), Some(TIME), "{time}");
        }
        assert_eq!(read("{\"t\": 1795223199}"), Some(TIME - 125_000_000));
        assert_eq!(read("{\"t\": 1795223199125000001}"), Some(TIME + 1), "nanoseconds are exact");
    }

    #[test]
    fn what_is_no_time_has_no_delay() {
        for time in [
            "7",
            "99999999",
            "0",
            "-1795223199",
            "1e300",
            "-1e300",
            "1e20",
            "18446744073709551616000000000000",
            "true",
            "null",
            "[1795223199]",
            "{}",
            "\"1795223199\"",
            "\"yesterday\"",
            "\"2026-11-21T01:06:39\"",
            "\"0001-01-01T00:00:00Z\"",
            "\"\"",
        ] {
            assert_eq!(read(&format!("{{\"t\": {time}}}")), None, "{time}");
        }
        for message in ["", "[DONE]", "{\"t\": 1795223199", "{\"at\": 1795223199}", "[1795223199]"] {
            assert_eq!(read(message), None, "{message}");
        }
    }

    #[test]
    fn a_delay_is_the_arrival_minus_the_time() {
        // The clock of the run began a second before the message was sent.
        let time = MessageTime::at("/t", TIME - SECOND);
        let message = b"{\"t\": 1795223199125}";
        assert_eq!(time.delay(message, Nanos::from_millis(1_250)), Some(250_000_000));
        assert_eq!(time.delay(message, Nanos::from_millis(1_000)), Some(0));
        assert_eq!(time.delay(message, Nanos::from_millis(900)), Some(-100_000_000));
    }

    proptest! {
        /// A time is read as the same moment in each unit, up to what the unit leaves out.
        #[test]
        fn every_moment_is_read_in_each_unit(time in 100_000_000_000_000_000..u64::MAX) {
            let time = i128::from(time);
            for unit in UNITS {
                prop_assert_eq!(SentAt::from_integer(time / unit), Some(SentAt(time / unit * unit)));
            }
            // A double has 53 bits, of which the seconds of these centuries need at most 35.
            let SentAt(read) = SentAt::from_float(time as f64 / 1e9).unwrap();
            prop_assert!((read - time).abs() <= 4_000, "{} read as {}", time, read);
        }

        #[test]
        fn no_text_causes_a_panic(text in any::<String>(), number in any::<f64>()) {
            let _ = (SentAt::from_text(&text), SentAt::from_float(number));
            let document = serde_json::json!({ "t": text }).to_string();
            let _ = MessageTime::at("/t", i128::from(i64::MAX)).delay(document.as_bytes(), Nanos::NEVER);
        }
    }
}
