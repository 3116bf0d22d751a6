//! Numbers as text: with thousands separators (`12,175`), with a noun (`1 request`, `2 requests`), with a unit of time
//! (`9.87 ms`, `3 min 20 s`); and ratios.
//!
//! Here, and not in the report, because errors of the engine and the evidence of a limit contain such numbers.

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
pub fn three_digits(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// A share in whole percent: `12 %`.
pub fn percent_text(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
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
