//! The part of a log that is replayed.

use super::entry::{EntryTime, since_1970};
use jiff::tz::Offset;
use paceline_job::{LogTime, ReplaySpec};
use std::ops::Range;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The times of the requests that are replayed.
#[derive(Debug)]
pub struct LogRange {
    from: Option<LogTime>,
    until: Option<LogTime>,
    /// The same, since 1970, once the first line is known.
    range: Option<Range<Duration>>,
}

impl LogRange {
    /// The range of a replay.
    pub fn new(spec: &ReplaySpec) -> Self {
        Self { from: spec.from, until: spec.until, range: None }
    }

    /// Whether the range has a time. Times of day are those of the day of the first one that is asked for; an end
    /// before the beginning is on the next day.
    pub fn contains(&mut self, time: &EntryTime) -> bool {
        let (from, until) = (self.from, self.until);
        self.range.get_or_insert_with(|| range(from, until, time)).contains(&time.at)
    }
}

fn range(from: Option<LogTime>, until: Option<LogTime>, first: &EntryTime) -> Range<Duration> {
    let instant = |time: LogTime, day: Duration, offset: Offset| {
        let day = jiff::Timestamp::UNIX_EPOCH.checked_add(day).ok()?;
        since_1970(time.instant(day, offset)?)
    };
    let start = from.and_then(|from| instant(from, first.at, first.offset));
    let day = start.unwrap_or(first.at);
    let end = until.and_then(|until| instant(until, day, first.offset)).map(|end| {
        let is_next_day = matches!(until, Some(LogTime::OfDay(_))) && end <= day;
        if is_next_day { end + DAY } else { end }
    });
    start.unwrap_or(Duration::ZERO)..end.unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> EntryTime {
        EntryTime::from_text(text).unwrap()
    }

    #[test]
    fn a_range_of_times() {
        let first = "2026-11-21T10:00:00+01:00";
        let contains = |from: Option<&str>, until: Option<&str>| {
            let parsed = |text: Option<&str>| text.map(|text| text.parse().unwrap());
            let spec = ReplaySpec { from: parsed(from), until: parsed(until), ..ReplaySpec::default() };
            let mut range = LogRange::new(&spec);
            let others =
                ["2026-11-21T10:30:00+01:00", "2026-11-21T11:00:00+01:00", "2026-11-22T01:00:00+01:00"];
            [first, others[0], others[1], others[2]].map(|at| range.contains(&time(at)))
        };
        assert_eq!(contains(None, None), [true; 4]);
        assert_eq!(contains(Some("10:30"), None), [false, true, true, true]);
        assert_eq!(contains(Some("10:30"), Some("11:00")), [false, true, false, false]);
        assert_eq!(contains(None, Some("10:30:01")), [true, true, false, false]);
        assert_eq!(contains(Some("11:00"), Some("02:00")), [false, false, true, true]);
        assert_eq!(
            contains(Some("2026-11-21T09:30:00Z"), Some("2026-11-21T10:00:00Z")),
            [false, true, false, false]
        );
        assert_eq!(contains(Some("2026-11-21T12:00:00Z"), Some("2026-11-21T10:00:00Z")), [false; 4]);
    }
}
