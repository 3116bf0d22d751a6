//! Parses the values of flags: durations, whole numbers and rates.

use paceline_job::{DurationError, Rate, parse_duration};
use std::time::Duration;

/// Parses a duration: `500ms`, `10s`, `2m`; a number without a unit is in seconds, as in other load generators.
pub fn duration(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Err(DurationError::NoUnit(number)) => {
            let seconds = parse_duration(&format!("{number}s")).map_err(|error| error.to_string())?;
            crate::exit::say(&format!("paceline: {number} has no unit; using {number}s"));
            Ok(seconds)
        }
        read => read.map_err(|error| error.to_string()),
    }
}

/// Parses a whole number: `64`, `100_000`, `100k`, `2M`.
pub fn whole<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => text.strip_suffix('M').map_or((text, 1), |digits| (digits, 1_000_000)),
    };
    let digits = digits.replace('_', "");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("write a whole number of 0 or more, such as 64, 100_000 or 100k".to_owned());
    }
    let number = digits.parse().ok().and_then(|number: u64| N::try_from(number.checked_mul(factor)?).ok());
    let most = u64::MAX >> (u64::BITS as usize - 8 * size_of::<N>());
    number.ok_or_else(|| format!("the number is too large: the maximum is {most}"))
}

/// Parses a rate: `20000`, `20_000`, `20k`, `1.5M`.
pub fn rate(text: &str) -> Result<Rate, String> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |digits| (digits, 1e6)),
    };
    let number: f64 = digits
        .replace('_', "")
        .parse()
        .map_err(|_| "a rate must be a number, such as 20000 or 20k".to_owned())?;
    let highest = Rate::HIGHEST;
    Rate::per_second(number * factor)
        .ok_or_else(|| format!("a rate must be above 0 and at most {highest} per second"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        assert_eq!((whole::<u32>("64"), whole::<u64>("100_000")), (Ok(64), Ok(100_000)));
        assert_eq!((whole::<u64>("1k"), whole::<u64>("2M")), (Ok(1_000), Ok(2_000_000)));
        assert!(whole::<u16>("66k").is_err());
        for text in ["", "-5", "1.5", "1e5", "x"] {
            assert!(
                whole::<u64>(text).unwrap_err().starts_with("write a whole number of 0 or more"),
                "{text}"
            );
        }
        let too_large = |most: &str| format!("the number is too large: the maximum is {most}");
        assert_eq!(whole::<u16>("65536"), Err(too_large("65535")));
        assert_eq!(whole::<u32>("4294967296"), Err(too_large("4294967295")));
        assert_eq!(whole::<u64>("18446744073709551616"), Err(too_large("18446744073709551615")));
    }

    #[test]
    fn a_number_without_a_unit_is_seconds() {
        assert_eq!(duration("10"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert!(duration("99999999").unwrap_err().contains("too long"));
    }

    #[test]
    fn rates() {
        for (text, per_second) in
            [("20000", 2e4), ("20_000", 2e4), ("20k", 2e4), ("1.5M", 1.5e6), ("0.5", 0.5)]
        {
            assert_eq!(rate(text).unwrap().get(), per_second, "{text}");
        }
        for text in ["", "k", "0", "-1", "nan", "inf", "1e12", "20 k"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
