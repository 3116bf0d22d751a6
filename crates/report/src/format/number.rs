//! Numbers for people: no more digits than the launches bear out, thousands set apart.
//!
//! Called by `columns.rs`, `sheet.rs` and `words.rs`. CSV and JSON do without: they have every digit. The figures of
//! one run, of which no spread is known, are rounded in `run_text/quantity.rs`.

use crate::Figure;

/// A figure's median as text. The spread over the launches says where to round: to the largest power of ten that is at
/// most half of half the range, so that rounding hides no difference that the launches show, within two to four
/// significant digits. One launch, or none that differ, give three.
///
/// `scale` of the figure's unit make one of the unit shown.
pub fn figure_in(figure: &Figure, scale: f64) -> String {
    let median = figure.median / scale;
    let half = figure.half_range().unwrap_or(0.0) / scale;
    if median == 0.0 || !median.is_finite() {
        return if median == 0.0 { "0".to_owned() } else { "–".to_owned() };
    }
    let leading = magnitude(median);
    let last = if half > 0.0 { magnitude(half / 2.0).clamp(leading - 3, leading - 1) } else { leading - 2 };
    rounded(median, last)
}

/// A number rounded to the power of ten `last`, thousands set apart.
fn rounded(value: f64, last: i32) -> String {
    let Ok(decimals) = usize::try_from(-last) else {
        let step = 10f64.powi(last);
        return whole((value / step).round() * step);
    };
    thousands(&format!("{value:.decimals$}"))
}

/// The power of ten of a number's first digit.
fn magnitude(value: f64) -> i32 {
    value.abs().log10().floor() as i32
}

/// How far the launches lie from the median, as a share of it: `±3%`.
pub fn spread(figure: &Figure) -> String {
    let Some(half) = figure.half_range() else { return String::new() };
    let share = if figure.median == 0.0 { 0.0 } else { half / figure.median.abs() * 100.0 };
    match share {
        0.0 => "±0%".to_owned(),
        share if share < 1.0 => "±<1%".to_owned(),
        share if share < 1000.0 => format!("±{share:.0}%"),
        _ => "±>9×".to_owned(),
    }
}

/// A share in percent, to two significant digits below ten.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0".to_owned(),
        percent if percent < 0.01 => "<0.01%".to_owned(),
        percent if percent < 1.0 => format!("{percent:.2}%"),
        percent if percent < 10.0 => format!("{percent:.1}%"),
        percent => format!("{percent:.0}%"),
    }
}

/// A number that somebody else wrote down: three significant digits, all of a whole part.
pub fn value(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { "–".to_owned() };
    }
    rounded(value, (magnitude(value) - 2).min(0))
}

/// A whole number with thousands set apart.
pub fn whole(value: f64) -> String {
    thousands(&format!("{value:.0}"))
}

/// Sets thousands apart in the whole part of a decimal number.
fn thousands(number: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(median: f64, half: f64, launches: usize) -> Figure {
        Figure { median, min: median - half, max: median + half, launches }
    }

    #[test]
    fn digits_follow_the_spread() {
        for (median, half, text) in [
            (31_204.6, 900.0, "31,200"),
            (31_204.6, 9_000.0, "31,000"),
            (31_204.6, 0.4, "31,200"),
            (5.1234, 0.05, "5.12"),
            (5.1234, 0.5, "5.1"),
            (5.1234, 0.001, "5.123"),
            (5.1234, 5.0, "5.1"),
            (0.08712, 0.002, "0.087"),
            (0.08712, 0.00001, "0.08712"),
            (1_234_567.0, 40_000.0, "1,230,000"),
            (0.0, 0.0, "0"),
        ] {
            assert_eq!(figure_in(&of(median, half, 3), 1.0), text, "{median} ± {half}");
        }
    }

    #[test]
    fn one_launch_gives_three_digits_and_no_spread() {
        assert_eq!(figure_in(&of(31_204.6, 0.0, 1), 1.0), "31,200");
        assert_eq!(spread(&of(31_204.6, 0.0, 1)), "");
    }

    #[test]
    fn spreads_are_shares_of_the_median() {
        for (median, half, text) in [
            (100.0, 3.2, "±3%"),
            (100.0, 0.3, "±<1%"),
            (100.0, 0.0, "±0%"),
            (1.0, 20.0, "±>9×"),
            (0.0, 0.0, "±0%"),
        ] {
            assert_eq!(spread(&of(median, half, 3)), text);
        }
    }

    #[test]
    fn shares_in_percent() {
        for (share, text) in
            [(0.0, "0"), (0.00001, "<0.01%"), (0.0012, "0.12%"), (0.034, "3.4%"), (0.87, "87%")]
        {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn what_others_wrote_keeps_its_whole_part() {
        let table =
            [(39_077.64, "39,078"), (2_957.67, "2,958"), (0.338, "0.338"), (27.4, "27.4"), (0.0, "0")];
        for (number, text) in table {
            assert_eq!(value(number), text);
        }
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(whole(999.0), "999");
        assert_eq!(whole(1_039_305.0), "1,039,305");
        assert_eq!(thousands("-1234.5"), "-1,234.5");
    }
}
