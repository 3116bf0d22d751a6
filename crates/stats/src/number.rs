//! Numbers for people, with thousands separators: `12,175`.
//!
//! Here, and not in the report, because the evidence of a limit contains such numbers.

/// A whole number with thousands separators.
pub fn whole(value: f64) -> String {
    thousands(&format!("{value:.0}"))
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
}
