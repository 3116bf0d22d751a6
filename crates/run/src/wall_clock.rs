//! Wall-clock time in a record: when a run or round started, and an id that sorts by time.
//!
//! Used by `run`, `round` and `lab`; the progress of a round also shows a future time of day. Durations are not
//! measured with this clock, since a wall clock may jump; they use the engine's and the lab's clocks.

use std::hash::{BuildHasher as _, Hasher as _};

/// The current time in RFC 3339, UTC, to the millisecond: `2026-11-21T01:06:39.125Z`. Their order as text is their
/// order in time.
pub fn now_rfc3339() -> String {
    rfc3339(jiff::Timestamp::now())
}

/// A time in the same form.
pub fn rfc3339(moment: jiff::Timestamp) -> String {
    format!("{moment:.3}")
}

/// The local time of day after this duration: `14:32`.
pub fn clock_in(from_now: std::time::Duration) -> String {
    let then = jiff::Timestamp::now().checked_add(from_now).unwrap_or(jiff::Timestamp::MAX);
    then.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M").to_string()
}

/// A new id: its creation time to the second and a random part, `20261121-010639-9f3a61c4`. Ids sort by time, can be
/// abbreviated to a prefix, and need no quoting in a shell or a URL.
pub fn new_id() -> String {
    let now = jiff::Timestamp::now().to_string();
    let mut digits = now.chars().filter(char::is_ascii_digit);
    let day: String = digits.by_ref().take(8).collect();
    let second: String = digits.take(6).collect();
    // The standard library seeds each hasher's keys from the system's random source.
    let random = std::hash::RandomState::new().build_hasher().finish() as u32;
    format!("{day}-{second}-{random:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_rfc_3339_in_utc() {
        let now = now_rfc3339();
        assert_eq!(now.len(), "2026-11-21T01:06:39.125Z".len(), "{now}");
        assert!(now.ends_with('Z') && now.as_bytes()[10] == b'T', "{now}");
        assert!(now.parse::<jiff::Timestamp>().is_ok(), "{now}");
    }

    #[test]
    fn ids_differ_and_begin_with_the_day() {
        let (first, second) = (new_id(), new_id());
        assert_ne!(first, second);
        assert_eq!(first.len(), "20261121-010639-9f3a61c4".len(), "{first}");
        let today: String = now_rfc3339().chars().filter(char::is_ascii_digit).take(8).collect();
        assert!(first >= today, "{first} is before {today}");
    }
}
