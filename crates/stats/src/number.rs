//! Numbers as text: with thousands separators (`12,175`), with a noun (`1 request`, `2 requests`), as percent, with a
//! unit of time (`9.87 ms`, `3 min 20 s`) or of memory (`12.6 MB`); and ratios.
//!
//! Here, and not in the report, because errors of the engine and the evidence of a limit contain such numbers.

use std::time::Duration;

/// A part by its whole: a rate or a share; 0 of an empty whole, such as the window of a run that ended at once.
pub fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[test]
fn the_ratio_to_an_empty_whole_is_0() {
    assert_eq!((ratio(3.0, 4.0), ratio(3.0, 0.0), ratio(3.0, f64::NAN)), (0.75, 0.0, 0.0));
}

/// A whole number with thousands separators.
pub fn whole(value: f64) -> String {
    thousands(&format!("{value:.0}"))
}

/// A count with its noun: `1 core`, `2 cores`.
pub fn counted(number: impl TryInto<u64>, one: &str, many: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX) as f64;
    format!("{} {}", whole(number), plural(number, one, many))
}

/// The form of a noun after this number.
pub fn plural<'a>(number: f64, one: &'a str, many: &'a str) -> &'a str {
    if number == 1.0 { one } else { many }
}

/// Inserts thousands separators into the integer part of a decimal number.
pub fn thousands(number: &str) -> String {
    let (whole, fraction) = number.split_once('.').map_or((number, None), |(w, f)| (w, Some(f)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut text = sign.to_owned();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

/// A number from 0 to 1,000 with three significant digits.
fn three_digits(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// A share in percent with at most ten decimals, to be printed in full: 55 of 0.55, whose product with 100 is
/// 55.00000000000001 in binary.
pub fn percent_of(share: f64) -> f64 {
    (share * 1e12).round() / 1e10
}

/// A share in whole percent: `12 %`.
pub fn percent_text(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// A share in percent, below ten with a decimal if it has one, as a margin is set: `2.5 %`, `5 %`, `12 %`.
pub fn short_percent_text(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 10.0 || (percent - percent.round()).abs() < 0.05 {
        format!("{percent:.0} %")
    } else {
        format!("{percent:.1} %")
    }
}

/// A share in percent with two significant digits or more: `0.031 %`, `3.4 %`, `12 %`.
pub fn fine_percent_text(share: f64) -> String {
    rounded_percent_text(share, 6)
}

/// The same with at most this many decimals: `0.03 %` with two.
pub fn rounded_percent_text(share: f64, max_decimals: u8) -> String {
    let percent = 100.0 * share;
    if percent <= 0.0 {
        return "0 %".to_owned();
    }
    let decimals = (1.0 - percent.log10().floor()).clamp(0.0, max_decimals.into()) as usize;
    format!("{percent:.decimals$} %")
}

/// A count or a rate, with thousands separators; below 100 with a decimal if it has one, below 1 with up to four.
pub fn count_text(value: f64) -> String {
    if value > 0.0 && value < 1.0 {
        return format!("{value:.4}").trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    if value < 100.0 && (value - value.round()).abs() > 0.05 {
        return format!("{value:.1}");
    }
    whole(value)
}

/// An amount of memory, of a file or of a transfer, with three digits: `999 B`, `1.24 kB`, `12.6 MB`.
pub fn bytes_text(bytes: f64) -> String {
    let (scaled, unit) = match bytes {
        bytes if bytes < 999.5 => return format!("{bytes:.0} B"),
        bytes if bytes < 999.5e3 => (bytes / 1e3, "kB"),
        bytes if bytes < 999.5e6 => (bytes / 1e6, "MB"),
        bytes => (bytes / 1e9, "GB"),
    };
    format!("{} {unit}", three_digits(scaled))
}

/// A length of time in nanoseconds, in the unit that gives one to three digits before the point: `9.87 ms`.
pub fn time_text(ns: f64) -> String {
    let (scaled, unit) = match ns {
        ns if ns < 999.5 => return format!("{ns:.0} ns"),
        ns if ns < 999.5e3 => (ns / 1e3, "\u{b5}s"),
        ns if ns < 999.5e6 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(scaled))
}

/// A length of time in seconds, in two units at most: `40 s`, `3 min 20 s`, `2 h 5 min`.
pub fn span_text(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// How long a step took, or may take: `0.4 s`, `12 s`, `3 min 20 s`.
pub fn duration_text(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds if seconds < 9.95 => format!("{seconds:.1} s"),
        seconds => span_text(seconds.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (12_300.0, "12.3 µs"),
            (250e3, "250 µs"),
            (999.6e3, "1.00 ms"),
            (9.996e6, "10.0 ms"),
            (1.5e9, "1.50 s"),
        ] {
            assert_eq!(time_text(ns), text);
        }
    }

    #[test]
    fn spans_have_two_units() {
        assert_eq!([40, 200, 7_500].map(span_text), ["40 s", "3 min 20 s", "2 h 5 min"]);
    }

    #[test]
    fn durations_of_steps_have_tenths_below_ten_seconds() {
        let texts = [0, 430, 9_940, 9_960, 200_000].map(|ms| duration_text(Duration::from_millis(ms)));
        assert_eq!(texts, ["0.0 s", "0.4 s", "9.9 s", "10 s", "3 min 20 s"]);
    }

    #[test]
    fn percent_has_no_digits_of_binary_fractions() {
        for text in ["55", "99.9", "28", "0.07", "99.99999"] {
            let percent: f64 = text.parse().unwrap();
            assert_eq!(percent_of(percent / 100.0).to_string(), text);
        }
    }

    #[test]
    fn small_shares_are_not_rounded_to_zero() {
        let shares = [0.0, 0.000_031, 0.0062, 0.0999, 0.898, 1.0].map(fine_percent_text);
        assert_eq!(shares, ["0 %", "0.0031 %", "0.62 %", "10.0 %", "90 %", "100 %"]);
        assert_eq!([0.000_31, 0.0062].map(|share| rounded_percent_text(share, 2)), ["0.03 %", "0.62 %"]);
    }

    #[test]
    fn margins_have_a_decimal_only_if_they_need_one() {
        assert_eq!(
            [0.0, 0.025, 0.05, 0.0999, 0.124].map(short_percent_text),
            ["0 %", "2.5 %", "5 %", "10 %", "12 %"]
        );
    }

    #[test]
    fn amounts_of_memory_have_three_digits_and_a_unit() {
        let texts = [0.0, 999.0, 999.6, 12_600_000.0, 999.6e6, 1.24e9].map(bytes_text);
        assert_eq!(texts, ["0 B", "999 B", "1.00 kB", "12.6 MB", "1.00 GB", "1.24 GB"]);
    }

    #[test]
    fn rates_below_a_hundred_have_decimals() {
        let texts = [0.0, 0.031, 0.5, 42.5, 42.02, 100.4, 16_230.0].map(count_text);
        assert_eq!(texts, ["0", "0.031", "0.5", "42.5", "42", "100", "16,230"]);
    }

    #[test]
    fn thousands_are_separated() {
        assert_eq!([999.0, 1_000.4, -1_234_567.0].map(whole), ["999", "1,000", "-1,234,567"]);
        assert_eq!(thousands("12345.678"), "12,345.678");
    }

    #[test]
    fn only_one_is_singular() {
        let texts = [0_u64, 1, 2, 1_000].map(|number| counted(number, "launch", "launches"));
        assert_eq!(texts, ["0 launches", "1 launch", "2 launches", "1,000 launches"]);
        assert_eq!([0.5, 1.0].map(|number| plural(number, "request", "requests")), ["requests", "request"]);
    }
}
