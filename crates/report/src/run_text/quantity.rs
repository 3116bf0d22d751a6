//! Quantities for people: three significant digits and a unit, joined by a no-break space, so that no line ends between
//! them.
//!
//! Called by all sections of a run's text and by the live view. `lines.rs` replaces the space by a blank when a line is
//! complete. The digits of a figure over several launches depend on its spread: see `format/number.rs`.

use paceline_record::Counts;
pub(crate) use paceline_stats::count_text as count;
use paceline_stats::{bytes_text, plural, time_text};

/// A length of time in nanoseconds, in the unit that gives one to three digits before the point.
pub(crate) fn nanos(value: f64) -> String {
    time_text(value).replace(' ', "\u{a0}")
}

/// The unit of all times of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl TimeUnit {
    /// A number of nanoseconds, to the tenth of a microsecond or better; the unit stays on the line of its number.
    pub(crate) fn of_nanos(self, value: f64) -> String {
        self.text(value).replace(' ', "\u{a0}")
    }

    /// The same with a blank: `1.002 ms`.
    pub fn text(self, value_ns: f64) -> String {
        let (scale, symbol, digits) = match self {
            TimeUnit::Microseconds => (1e3, "\u{b5}s", 1),
            TimeUnit::Milliseconds => (1e6, "ms", 3),
            TimeUnit::Seconds => (1e9, "s", 6),
        };
        format!("{:.digits$} {symbol}", value_ns / scale)
    }
}

/// A length of time in seconds, without insignificant digits.
pub(crate) fn seconds(value: f64) -> String {
    if value >= 1.0 && (value - value.round()).abs() < 5e-4 {
        format!("{value:.0}\u{a0}s")
    } else {
        nanos(value * 1e9)
    }
}

/// How requests that did not end well are counted in words: `16 lost the connection`.
pub(crate) fn not_ok(counts: &Counts) -> [(&'static str, u64); 6] {
    [
        ("bad status", counts.bad_status),
        ("bad body", counts.bad_body),
        ("failed to connect", counts.connect_failed),
        ("lost the connection", counts.io_failed),
        ("timed out", counts.timed_out),
        ("unsent", counts.unsent),
    ]
}

/// A number with a regular noun, which gets an s unless the number is 1.
pub(crate) fn counted(value: f64, name: &str) -> String {
    format!("{} {name}{}", count(value), plural(value, "", "s"))
}

/// A share with as many digits as distinguish it from 0 % and 100 %.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let from_the_end = percent.min(100.0 - percent).abs();
    match from_the_end {
        0.0 => format!("{percent:.0}%"),
        _ if from_the_end >= 9.95 => format!("{percent:.1}%"),
        _ if from_the_end >= 0.0095 => format!("{percent:.2}%"),
        _ => format!("{percent:.4}%"),
    }
}

/// An amount of memory.
pub(crate) fn bytes(value: u64) -> String {
    bytes_text(value as f64).replace(' ', "\u{a0}")
}

/// An amount of energy in joules, shown in microjoules as in the reports of rounds.
pub(crate) fn microjoules(value_j: f64) -> String {
    format!("{}\u{a0}\u{b5}J", count(value_j * 1e6))
}

/// A part of a verdict's evidence with its name; a number is formatted by the unit in its key.
pub(crate) fn evidence(key: &str, value: &serde_json::Value) -> String {
    if let Some(number) = value.as_f64() {
        let (name, figure) = figure(key, number);
        return format!("{name} {figure}");
    }
    let name = key.replace('_', " ");
    match value {
        serde_json::Value::String(text) => format!("{name}: {text}"),
        serde_json::Value::Object(counts) => {
            let counts = counts.iter().map(|(key, value)| {
                format!("{key}: {}", value.as_f64().map_or_else(|| value.to_string(), count))
            });
            format!("{name} {}", counts.collect::<Vec<_>>().join(", "))
        }
        other => format!("{name}: {other}"),
    }
}

/// The lowest and the highest of some figures of a verdict's evidence: `generator lag p99 210 µs to 1.02 ms`.
pub(crate) fn evidence_range(key: &str, [lowest, highest]: [f64; 2]) -> String {
    let ((name, lowest), (_, highest)) = (figure(key, lowest), figure(key, highest));
    if lowest == highest { format!("{name} {lowest}") } else { format!("{name} {lowest} to {highest}") }
}

/// The name of a figure of a verdict's evidence without its unit, and the figure with it.
fn figure(key: &str, number: f64) -> (String, String) {
    let name = match key {
        "run_delay_share" => "waited for a CPU".to_owned(),
        "lowest_ns" => "shortest wait ns".to_owned(),
        "variation_share" => "varied by".to_owned(),
        key => key.replace('_', " "),
    };
    let without = |unit: &str| name.replacen(unit, "", 1);
    if key.contains("_ns") {
        (without(" ns"), nanos(number))
    } else if key.ends_with("_s_per_s") {
        (without(" s per s"), format!("{number:.3}\u{a0}s/s"))
    } else if key.ends_with("_per_s") || key.contains("_per_s_") {
        (without(" per s"), format!("{}/s", count(number)))
    } else if key.ends_with("_s") {
        (name.trim_end_matches(" s").to_owned(), seconds(number))
    } else if key.contains("share") || key.contains("utilization") || key == "change" {
        (name, format!("{:.1}%", number * 100.0))
    } else if number.fract() != 0.0 {
        (name, format!("{number:.3}"))
    } else {
        (name, count(number))
    }
}
