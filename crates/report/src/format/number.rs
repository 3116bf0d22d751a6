//! Numbers for people: no more digits than the launches support, with thousands separators.
//!
//! Called by `columns.rs`, `sheets/` and `sentences.rs`. CSV and JSON do not use it: they contain every digit.
//! `run_text/quantity.rs` rounds the figures of one run, whose spread is unknown.

use crate::Figure;
pub use paceline_stats::whole;
use paceline_stats::{percent_text, rounded_percent_text, thousands};

/// From this half-width on, as a share of the mean, the lowest and highest launch are shown instead of a mean.
const MAX_HALF_WIDTH: f64 = 0.5;

/// Whether the interval of a figure is too wide for a meaningful mean.
pub fn is_wide(figure: &Figure) -> bool {
    figure.relative_half_width().is_some_and(|share| share > MAX_HALF_WIDTH)
}

/// A figure as text, and its interval: `±3%`. If the interval is too wide for a meaningful mean, the lowest and the
/// highest launch instead.
///
/// `scale` is the number of the figure's units in one unit shown.
pub fn with_interval(figure: &Figure, scale: f64) -> [String; 2] {
    match figure.relative_half_width() {
        Some(_) if is_wide(figure) => {
            let ends = [figure.min, figure.max].map(|end| value(end / scale));
            let [low, high] = &ends;
            [if low == high { low.clone() } else { format!("{low}–{high}") }, String::new()]
        }
        Some(share) => [figure_in(figure, scale), spread(share)],
        None => [figure_in(figure, scale), String::new()],
    }
}

/// A figure as text. It is rounded by its interval: to the largest power of ten that is at most a quarter of its width,
/// within two to four significant digits. Without an interval, three.
pub fn figure_in(figure: &Figure, scale: f64) -> String {
    let shown = figure.shown() / scale;
    let half = figure.relative_half_width().map_or(0.0, |share| share * shown.abs());
    if shown == 0.0 || !shown.is_finite() {
        return if shown == 0.0 { "0".to_owned() } else { "–".to_owned() };
    }
    let leading = magnitude(shown);
    let last = if half > 0.0 { magnitude(half / 2.0).clamp(leading - 3, leading - 1) } else { leading - 2 };
    rounded(shown, last)
}

/// A number rounded to the power of ten `last`, with thousands separators.
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

/// Half the width of an interval, as a share of the mean.
fn spread(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 0.05 => "±0%".to_owned(),
        percent if percent < 1.0 => "±<1%".to_owned(),
        percent => format!("±{percent:.0}%"),
    }
}

/// A share in whole percent, for a cell.
pub fn whole_percent(share: f64) -> String {
    percent_text(share).replace(' ', "")
}

/// A share in percent, to two significant digits below ten, for a cell.
pub fn percent(share: f64) -> String {
    match share {
        0.0 => "0".to_owned(),
        share if share < 1e-4 => "<0.01%".to_owned(),
        share => rounded_percent_text(share, 2).replace(' ', ""),
    }
}

/// A number from an external source: three significant digits, and all digits of its integer part.
pub fn value(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { "–".to_owned() };
    }
    rounded(value, (magnitude(value) - 2).min(0))
}

/// A rate that a load offers: whole from 100 per second on, below it to three significant digits, as few as it needs.
pub fn offered_rate(per_s: f64) -> String {
    let text = value(per_s);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(mean: f64, half: f64) -> Figure {
        let interval = (half > 0.0).then_some([mean - half, mean + half]);
        let (median, min, max) = (mean, mean - half / 3.0, mean + half / 3.0);
        Figure { median, min, max, launches: 3, mean: Some(mean), interval, ..Figure::default() }
    }

    #[test]
    fn digits_follow_the_interval() {
        for (mean, half, text) in [
            (31_204.6, 900.0, "31,200"),
            (31_204.6, 9_000.0, "31,000"),
            (31_204.6, 0.4, "31,200"),
            (5.1234, 0.05, "5.12"),
            (5.1234, 0.5, "5.1"),
            (5.1234, 0.001, "5.123"),
            (0.08712, 0.002, "0.087"),
            (0.08712, 0.00001, "0.08712"),
            (1_234_567.0, 40_000.0, "1,230,000"),
            (0.0, 0.0, "0"),
        ] {
            assert_eq!(figure_in(&figure(mean, half), 1.0), text, "{mean} ± {half}");
        }
    }

    #[test]
    fn narrow_intervals_are_percentages_and_wide_ones_have_bounds() {
        for (mean, half, texts) in [
            (100.0, 3.2, ["100", "±3%"]),
            (100.0, 0.3, ["100.0", "±<1%"]),
            (100.0, 50.0, ["100", "±50%"]),
            (100.0, 60.0, ["80.0–120", ""]),
            (100.0, 0.0, ["100", ""]),
        ] {
            assert_eq!(with_interval(&figure(mean, half), 1.0), texts);
        }
    }

    #[test]
    fn shares_are_written_in_percent() {
        for (share, text) in
            [(0.0, "0"), (0.00001, "<0.01%"), (0.0012, "0.12%"), (0.034, "3.4%"), (0.87, "87%")]
        {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn published_figures_keep_their_whole_part() {
        let table =
            [(39_077.64, "39,078"), (2_957.67, "2,958"), (0.338, "0.338"), (27.4, "27.4"), (0.0, "0")];
        for (number, text) in table {
            assert_eq!(value(number), text);
        }
    }

    #[test]
    fn offered_rates_below_one_are_not_zero() {
        for (rate, text) in [
            (0.0, "0"),
            (1.0 / 60.0, "0.0167"),
            (0.5, "0.5"),
            (1.25, "1.25"),
            (50.0, "50"),
            (100.4, "100"),
            (2_000.0, "2,000"),
            (1_039_305.0, "1,039,305"),
        ] {
            assert_eq!(offered_rate(rate), text);
        }
    }

    #[test]
    fn thousands_have_a_separator() {
        assert_eq!(whole(999.0), "999");
        assert_eq!(whole(1_039_305.0), "1,039,305");
        assert_eq!(thousands("-1234.5"), "-1,234.5");
    }
}
