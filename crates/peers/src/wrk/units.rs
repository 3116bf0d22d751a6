//! wrk's numbers with units (`src/units.c`): a unit is used from 0.85 of it on, and the last of each list never.

use std::fmt::Write as _;

struct UnitList {
    scale: f64,
    base: &'static str,
    units: &'static [&'static str],
}

const MICROSECONDS: UnitList = UnitList { scale: 1000.0, base: "us", units: &["ms", "s"] };
const SECONDS: UnitList = UnitList { scale: 60.0, base: "s", units: &["m", "h"] };
const BINARY: UnitList = UnitList { scale: 1024.0, base: "", units: &["K", "M", "G", "T", "P"] };
const METRIC: UnitList = UnitList { scale: 1000.0, base: "", units: &["k", "M", "G", "T", "P"] };
/// The share of a unit from which it is used.
const FROM: f64 = 0.85;

fn with_unit(number: f64, list: &UnitList, digits: usize) -> String {
    let (mut amount, mut unit) = (number, list.base);
    for next in &list.units[..list.units.len() - 1] {
        if amount.is_nan() || amount < list.scale * FROM {
            break;
        }
        amount /= list.scale;
        unit = next;
    }
    // The C library prints the sign of a quotient 0/0.
    if amount.is_nan() { format!("-nan{unit}") } else { format!("{amount:.digits$}{unit}") }
}

/// A time given in microseconds.
pub fn time_us(us: f64) -> String {
    if us >= 1_000_000.0 { with_unit(us / 1_000_000.0, &SECONDS, 2) } else { with_unit(us, &MICROSECONDS, 2) }
}

/// A time in whole seconds or minutes.
pub fn time_s(seconds: f64) -> String {
    with_unit(seconds, &SECONDS, 0)
}

/// A number of bytes, without the `B`.
pub fn binary(bytes: f64) -> String {
    with_unit(bytes, &BINARY, 2)
}

/// A number.
pub fn metric(number: f64) -> String {
    with_unit(number, &METRIC, 2)
}

/// Adds a number right-aligned in a column, with blanks in place of the letters that its unit lacks (`print_units`).
pub fn push_column(text: &mut String, number: &str, width: usize) {
    let is_letter = |from_end: usize| {
        number.chars().rev().nth(from_end).is_some_and(|letter| letter.is_ascii_alphabetic())
    };
    let pad = 2 - usize::from(is_letter(0)) - usize::from(is_letter(1));
    let width = width - pad;
    let _ = write!(text, "{number:>width$.width$}{:pad$}", "");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_begin_below_their_size() {
        for (us, expected) in [
            (849.9, "849.90us"),
            (850.0, "0.85ms"),
            (999_999.0, "1000.00ms"),
            (1_000_000.0, "1.00s"),
            (51_000_000.0, "0.85m"),
            (7_200_000_000.0, "120.00m"),
            (f64::NAN, "-nanus"),
        ] {
            assert_eq!(time_us(us), expected);
        }
        assert_eq!([1.0, 50.0, 51.0, 90.0, 150.0].map(time_s), ["1s", "50s", "1m", "2m", "2m"]);
        assert_eq!(
            [805.0, 870.4, 1e15].map(binary),
            ["805.00".to_owned(), "0.85K".to_owned(), "909.49T".to_owned()]
        );
        assert_eq!([98.59, 850.0].map(metric), ["98.59", "0.85k"]);
    }

    #[test]
    fn columns_are_aligned_without_units() {
        let column = |number: &str| {
            let mut text = String::new();
            push_column(&mut text, number, 8);
            text
        };
        assert_eq!(column("98.59"), " 98.59  ");
        assert_eq!(column("56.20k"), " 56.20k ");
        assert_eq!(column("0.89ms"), "  0.89ms");
    }
}
