//! Reads the chosen series of a metrics page: Prometheus text (also OpenMetrics), or JSON.
//!
//! Format: version 0.0.4 of "Exposition formats" in Prometheus' documentation. A line that is not valid is skipped, as one
//! series less; the other lines count.

use super::labels::labels;
use super::selector::{MAX_SERIES, SeriesSelector};
use paceline_record::SeriesKind;
use serde_json::Value;
use std::collections::HashMap;

/// A value of a series.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reading {
    /// The name with its labels, or the JSON pointer.
    pub name: String,
    pub kind: SeriesKind,
    pub value: f64,
    /// The place of the selector that chose it.
    pub rank: usize,
}

/// The chosen series of a page, in the order of their selectors; of JSON without a choice, the first numbers.
pub(super) fn readings(
    page: &str,
    selectors: &[SeriesSelector],
    is_choice: bool,
) -> Result<Vec<Reading>, String> {
    let mut found = match page.trim_start().starts_with(['{', '[']) {
        true => {
            let json =
                serde_json::from_str(page).map_err(|error| format!("the JSON is not valid: {error}"))?;
            if is_choice { by_pointers(&json, selectors) } else { numbers(&json) }
        }
        false => prometheus(page, selectors),
    };
    found.sort_by_key(|reading| reading.rank);
    Ok(found)
}

fn gauge((name, value, rank): (&str, f64, usize)) -> Option<Reading> {
    value.is_finite().then(|| Reading { name: name.to_owned(), kind: SeriesKind::Gauge, value, rank })
}

fn by_pointers(json: &Value, selectors: &[SeriesSelector]) -> Vec<Reading> {
    let value = |(rank, selector): (usize, &SeriesSelector)| {
        let pointer = selector.pointer()?;
        gauge((pointer, json.pointer(pointer)?.as_f64()?, rank))
    };
    selectors.iter().enumerate().filter_map(value).collect()
}

/// The first numbers of a document, by their pointers.
fn numbers(json: &Value) -> Vec<Reading> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), json)];
    while let Some((pointer, value)) = open.pop()
        && found.len() <= MAX_SERIES
    {
        let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
        match value {
            Value::Object(members) => {
                let members = members.iter().rev();
                open.extend(members.map(|(key, value)| (format!("{pointer}/{}", escaped(key)), value)));
            }
            Value::Array(items) => {
                let items = items.iter().enumerate().take(MAX_SERIES).rev();
                open.extend(items.map(|(at, value)| (format!("{pointer}/{at}"), value)));
            }
            other => {
                found.extend(other.as_f64().and_then(|value| gauge((&pointer, value, found.len()))));
            }
        }
    }
    found
}

fn prometheus(page: &str, selectors: &[SeriesSelector]) -> Vec<Reading> {
    let mut types: HashMap<&str, &str> = HashMap::new();
    let mut found = Vec::new();
    for line in page.lines() {
        if let Some(about) = line.strip_prefix("# TYPE ") {
            types.extend(about.split_once(' ').map(|(name, kind)| (name, kind.trim())));
        } else if !line.starts_with('#') {
            found.extend(sample(line, selectors, &types));
        }
    }
    found
}

/// `name{label="value"} 1.5 1700000000000`.
fn sample(line: &str, selectors: &[SeriesSelector], types: &HashMap<&str, &str>) -> Option<Reading> {
    let line = line.trim_start();
    let (name, rest) = line.split_at(line.find(['{', ' ', '\t'])?);
    if !selectors.iter().any(|selector| selector.takes_name(name)) {
        return None;
    }
    let (labels, after) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let takes = |selector: &SeriesSelector| selector.takes_name(name) && selector.takes_labels(&labels);
    let rank = selectors.iter().position(takes)?;
    let value: f64 = after.split_ascii_whitespace().next()?.parse().ok()?;
    let series = &line[..line.len() - after.len()];
    let kind = if is_counter(name, types) { SeriesKind::Counter } else { SeriesKind::Gauge };
    value.is_finite().then(|| Reading { name: series.to_owned(), kind, value, rank })
}

/// Whether a series counts from the start of the process: by the type of its family, else by its name.
fn is_counter(name: &str, types: &HashMap<&str, &str>) -> bool {
    let family = ["_total", "_sum", "_count", "_bucket"]
        .iter()
        .find_map(|ending| types.get(name.strip_suffix(ending)?).copied());
    match types.get(name).copied().or(family) {
        Some("counter") => true,
        Some("histogram" | "summary") => !types.contains_key(name),
        Some("gauge") => false,
        _ => name.ends_with("_total"),
    }
}

/// Reads any page, for fuzzing: values are finite, and each name is in the page.
#[doc(hidden)]
pub fn fuzz_metrics_page(page: &str) {
    let mut selectors = SeriesSelector::usual();
    selectors.extend(["a*", "/a"].map(SeriesSelector::parse).into_iter().flatten());
    for is_choice in [false, true] {
        for reading in readings(page, &selectors, is_choice).unwrap_or_default() {
            assert!(reading.value.is_finite(), "{reading:?}");
            assert!(
                reading.name.starts_with('/') || reading.name.is_empty() || page.contains(&reading.name),
                "{reading:?}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(texts: &[&str]) -> Vec<SeriesSelector> {
        texts.iter().map(|text| SeriesSelector::parse(text).unwrap()).collect()
    }

    fn read(page: &str, selectors: &[SeriesSelector]) -> Vec<(String, SeriesKind, f64)> {
        let found = readings(page, selectors, true).unwrap();
        found.into_iter().map(|reading| (reading.name, reading.kind, reading.value)).collect()
    }

    #[test]
    fn a_page_of_prometheus_gives_the_chosen_series() {
        let page = "# HELP go_goroutines Number\n# TYPE go_goroutines gauge\ngo_goroutines 7\n\
            # TYPE go_gc_duration_seconds summary\ngo_gc_duration_seconds{quantile=\"0.5\"} 1e-05\n\
            go_gc_duration_seconds_sum 0.25\ngo_gc_duration_seconds_count 12\n\
            # TYPE pool_total gauge\npool_total{name=\"a,}\\\"b\", kind=\"x\",} 3 1700000000000\npool_total{name=\"c\"} NaN\n\
            requests_total 9\nbroken{a=\"b 1\nno_value\n";
        let (gauge, counter) = (SeriesKind::Gauge, SeriesKind::Counter);
        let found = read(page, &chosen(&["pool_*", "go_*", "requests_total", "broken", "no_value"]));
        let expected = [
            ("pool_total{name=\"a,}\\\"b\", kind=\"x\",}", gauge, 3.0),
            ("go_goroutines", gauge, 7.0),
            ("go_gc_duration_seconds{quantile=\"0.5\"}", gauge, 1e-5),
            ("go_gc_duration_seconds_sum", counter, 0.25),
            ("go_gc_duration_seconds_count", counter, 12.0),
            ("requests_total", counter, 9.0),
        ];
        let found: Vec<_> = found.iter().map(|(name, kind, value)| (name.as_str(), *kind, *value)).collect();
        assert_eq!(found, expected);
        assert_eq!(read(page, &chosen(&["pool_total{name=\"a,}\\\"b\"}"])).len(), 1);
    }

    #[test]
    fn json_gives_the_numbers_at_pointers_or_the_first_ones() {
        let page = r#"{"pool": {"active": 3, "a/b": [1, "x", {"deep": 2.5}]}, "name": "s"}"#;
        let selectors = chosen(&["/pool/a~1b/2/deep", "/pool/active", "/name", "/none"]);
        let found = read(page, &selectors);
        let found: Vec<_> = found.iter().map(|(name, _, value)| (name.as_str(), *value)).collect();
        assert_eq!(found, [("/pool/a~1b/2/deep", 2.5), ("/pool/active", 3.0)]);
        let mut all = readings(page, &[], false).unwrap();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        let names: Vec<_> = all.iter().map(|reading| reading.name.as_str()).collect();
        assert_eq!(names, ["/pool/active", "/pool/a~1b/0", "/pool/a~1b/2/deep"]);
        assert!(readings("{", &[], false).is_err());
    }

    #[test]
    fn damaged_pages_are_read_without_a_panic() {
        for page in
            ["", "{", "a{", "a{b=\"\\", "# TYPE", "# TYPE a", "a 1e999", "é{é=\"é\"} é", "[[[1]]]", "a{} \t"]
        {
            fuzz_metrics_page(page);
        }
    }
}
