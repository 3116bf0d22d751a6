//! The form of times in records, which are ordered as text: RFC 3339 with four digits of the year.
//!
//! Records of this program are in UTC; imported reports may have another offset, or only a date, a month or a year.

/// Whether a text is a time in this form, such as `2026-11-21T01:06:39.125Z`, or the beginning of one: a date, a month or
/// a year. A leap second is one.
pub fn is_timestamp(text: &str) -> bool {
    const REST: &str = "2026-01-01T00:00:00Z";
    if ["2026", "2026-11", "2026-11-21"].iter().any(|short| short.len() == text.len()) {
        return REST.get(text.len()..).is_some_and(|rest| is_timestamp(&format!("{text}{rest}")));
    }
    let Some((date_time, rest)) = text.split_at_checked("2026-11-21T01:06:39".len()) else { return false };
    let fits = |(letter, form): (u8, u8)| if form == b'0' { letter.is_ascii_digit() } else { letter == form };
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let after = fraction.trim_start_matches(|letter: char| letter.is_ascii_digit());
            if after.len() == fraction.len() { return false } else { after }
        }
        None => rest,
    };
    let number =
        |from: usize, to: usize| date_time.get(from..to).and_then(|digits| digits.parse::<u32>().ok());
    let within = |from, to, range: std::ops::RangeInclusive<u32>| {
        number(from, to).is_some_and(|number| range.contains(&number))
    };
    date_time.bytes().zip(*b"0000-00-00T00:00:00").all(fits)
        && within(5, 7, 1..=12)
        && within(8, 10, 1..=31)
        && within(11, 13, 0..=23)
        && within(14, 16, 0..=59)
        && within(17, 19, 0..=60)
        && is_offset(rest)
}

fn is_offset(text: &str) -> bool {
    let is_clock = |clock: &str| {
        let hours = clock.get(..2).and_then(|digits| digits.parse::<u8>().ok());
        let minutes = clock.get(3..).and_then(|digits| digits.parse::<u8>().ok());
        clock.len() == 5
            && clock.get(2..3) == Some(":")
            && hours <= Some(23)
            && minutes <= Some(59)
            && hours.is_some()
            && minutes.is_some()
    };
    text == "Z" || text.strip_prefix(['+', '-']).is_some_and(is_clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_records_and_reports_are_accepted() {
        for text in [
            "2026-11-21T01:06:39.125Z",
            "2026-11-21T01:06:39Z",
            "2026-11-22T18:09:05.857768703+02:00",
            "2016-12-31T23:59:60Z",
            "2013-06-11",
            "2013-06",
            "2014",
        ] {
            assert!(is_timestamp(text), "{text}");
        }
    }

    #[test]
    fn other_texts_are_not_times() {
        for text in [
            "",
            "zz<b>next year",
            "2026-11-32",
            "2026-13",
            "next",
            "2026-13-21T01:06:39Z",
            "2026-11-21T01:06:39",
            "2026-11-21T01:06:39.Z",
            "2026-11-21T24:06:39Z",
            "2026-11-21T01:06:39Z<b>",
            "2026-11-21T01:06:39+2:00",
            "2026-11-21T01:06:39+\u{e9}:00",
            "12026-11-21T01:06:39Z",
            "\u{e9}026-11-21T01:06:3Z",
        ] {
            assert!(!is_timestamp(text), "{text}");
        }
    }
}
