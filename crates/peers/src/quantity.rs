//! Numbers as programs print them: counts, times and sizes with units.

/// Parses a time with its unit (`247.05us`, `1.12ms`, `32 s`, `0.95m`) into nanoseconds.
///
/// # Errors
/// The text, if it is not a time.
pub fn time_ns(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let scale = match text[end..].trim() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" | "secs" | "" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        unit => return Err(format!("{text:?} is not a time: unknown unit {unit:?}")),
    };
    number(&text[..end]).map(|value| value * scale)
}

/// Parses a number of bytes with its unit, by 1,024 (`1.44GB`, `3.83GB/s`, `75MiB`).
///
/// # Errors
/// The text, if it is not a number of bytes.
pub fn bytes(text: &str) -> Result<f64, String> {
    let text = text.trim().trim_end_matches("/s");
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let unit = text[end..].trim().trim_end_matches('B').trim_end_matches('i');
    let power = ["", "K", "M", "G", "T"].iter().position(|known| unit.eq_ignore_ascii_case(known));
    let power = power.ok_or_else(|| format!("{text:?} is not a number of bytes"))?;
    number(&text[..end]).map(|value| value * 1024f64.powi(i32::try_from(power).unwrap_or(0)))
}

/// Parses a finite number that is not negative.
///
/// # Errors
/// The text, if it is not such a number.
pub fn number(text: &str) -> Result<f64, String> {
    let value =
        text.trim().replace(',', "").parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| format!("{:?} is not a number", text.trim()))
}

/// The sum of counts from an untrusted text, without overflow.
pub fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Parses a count.
///
/// # Errors
/// The text, if it is not a count.
pub fn count(text: &str) -> Result<u64, String> {
    let text = text.trim().replace(',', "");
    text.parse().map_err(|_| format!("{text:?} is not a count"))
}
