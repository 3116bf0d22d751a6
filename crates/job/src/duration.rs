//! Durations as people write them: `3s`, `500ms`, `2m`, `1m30s`, `1.5s`. Plans and flags use the same form.

use std::time::Duration;

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// A number without a unit.
    #[error("`{0}` has no unit; write {0}s, {0}ms or {0}us")]
    NoUnit(String),
    /// More than 10,000 hours.
    #[error("`{0}` is too long: the maximum is 10000h")]
    TooLong(String),
    /// Anything else.
    #[error("`{0}` is not a duration; write 500ms, 3s, 2m or 1m30s")]
    Invalid(String),
}

/// The longest duration that a text can state: 10,000 hours.
pub const MAX_DURATION: Duration = Duration::from_secs(36_000_000);
/// The units and their nanoseconds, longest name first so that `ms` is not read as `m`.
const UNITS: [(&str, f64); 6] =
    [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3_600e9)];

/// Parses a duration: one or more numbers, each with a unit of `ns`, `us`, `ms`, `s`, `m` or `h`; `0` needs no unit.
///
/// # Errors
/// [`DurationError`] when the text is not a duration, or longer than [`MAX_DURATION`].
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let error = || DurationError::Invalid(text.into());
    if text.trim() == "0" {
        return Ok(Duration::ZERO);
    }
    if text.trim().bytes().all(|byte| byte.is_ascii_digit()) && !text.trim().is_empty() {
        return Err(DurationError::NoUnit(text.trim().into()));
    }
    let mut rest = text.trim();
    let mut total_ns = 0.0_f64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(error)?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let (_, unit_ns) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(error)?;
        total_ns += number.parse::<f64>().map_err(|_| error())? * unit_ns;
        rest = after;
    }
    if text.trim().is_empty() {
        return Err(error());
    }
    if total_ns > MAX_DURATION.as_nanos() as f64 {
        return Err(DurationError::TooLong(text.trim().into()));
    }
    // Within the limit the conversion is exact to a few nanoseconds and cannot overflow.
    Ok(Duration::from_nanos(total_ns.round() as u64))
}

/// Formats a duration so that [`parse_duration`] returns the same value: in the largest unit, at most seconds, in which
/// it is a whole number.
pub fn format_duration(duration: Duration) -> String {
    let ns = duration.as_nanos();
    match ns {
        _ if ns.is_multiple_of(1_000_000_000) => format!("{}s", ns / 1_000_000_000),
        _ if ns.is_multiple_of(1_000_000) => format!("{}ms", ns / 1_000_000),
        _ if ns.is_multiple_of(1_000) => format!("{}us", ns / 1_000),
        _ => format!("{ns}ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn common_notations_are_read() {
        let ms = Duration::from_millis;
        let table = [("3s", 3_000), ("500ms", 500), ("2m", 120_000), ("1m30s", 90_000), ("1.5s", 1_500)];
        for (text, expected) in table {
            assert_eq!(parse_duration(text), Ok(ms(expected)), "{text}");
        }
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
        assert_eq!(parse_duration("1h"), Ok(Duration::from_secs(3_600)));
    }

    #[test]
    fn other_notations_are_rejected() {
        for text in ["", "3", "s", "3 parsecs", "-1s", "1..5s", "3s!", "99999h", "s3", "1e3s", "٣s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_written_duration_is_read_back(us in 0..10_000_000_000_u64) {
            let duration = Duration::from_micros(us);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }

        #[test]
        fn no_input_causes_a_panic(text in ".{0,20}") {
            let _ = parse_duration(&text);
        }
    }
}
