//! Numbers as text: with thousands separators (`12,175`) and with a noun (`1 request`, `2 requests`); and ratios.
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

#[cfg(test)]
mod tests {
    use super::*;

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
