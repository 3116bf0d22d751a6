//! The concerns of a run and their remedies: requested gates, and verdicts.
//!
//! Called by `mod.rs`, for the section below the times. The judge crate has judged them; this file finds the figures
//! in the evidence and puts them into words. `quantity.rs` formats the evidence of a verdict by its key.

use super::lines::{Style, hanging};
use super::quantity::{self, count, counted, nanos, percent};
use paceline_record::{GateOutcome, GateReason, Run, Severity, Verdict};
use serde_json::Value;

/// Each gate with its figure.
pub(super) fn gates(run: &Run, style: Style) -> String {
    run.gates.iter().map(|gate| gate_lines(gate, style)).collect()
}

fn gate_lines(gate: &GateOutcome, style: Style) -> String {
    let (mark, paint): (_, fn(Style, &str) -> String) =
        if gate.passed { ("pass", Style::good) } else { ("FAIL", Style::bad) };
    hanging(mark, paint, &format!("{}: {}", gate.gate, gate_words(gate)), style)
}

/// The figure by which a gate was judged, and why it did not pass if the figure does not show it.
pub fn gate_words(gate: &GateOutcome) -> String {
    let mut parts: Vec<String> = figure(gate).into_iter().collect();
    parts.extend(gate.reasons.iter().filter_map(|reason| words(*reason, gate)));
    parts.join("; ").replace('\u{a0}', " ")
}

/// The figure by which a gate was judged.
fn figure(gate: &GateOutcome) -> Option<String> {
    let of = |key: &str| gate.evidence.get(key).and_then(Value::as_f64);
    if let (Some(not_ok), Some(scheduled), Some(share)) = (of("not_ok"), of("scheduled"), of("share")) {
        return Some(format!("{}, {} of {}", percent(share), count(not_ok), count(scheduled)));
    }
    if let Some(share) = of("achieved_share") {
        return Some(format!(
            "{}, {}/s of {}/s offered",
            percent(share),
            count(of("achieved_per_s").unwrap_or(0.0)),
            count(of("offered_per_s").unwrap_or(0.0))
        ));
    }
    if of("least_per_s").is_some() {
        // Each of them has the rate of what it counts: valid responses, sessions or events.
        let per_s = ["achieved_per_s", "sessions_per_s", "events_per_s"].into_iter().find_map(of)?;
        return Some(format!("{}/s", count(per_s)));
    }
    if let Some(fewest) = of("events_min") {
        return Some(format!("{} in the stream with the fewest", counted(fewest, "event")));
    }
    let time = gate.evidence.iter().find(|(key, _)| key.contains("_ns_"));
    let time = time.and_then(|(_, value)| value.as_f64()).map(nanos);
    let within =
        of("within_share").map(|share| format!("{} of the requests within the limit", percent(share)));
    // Where the figure falls among the failed requests, there is no time.
    let parts: Vec<String> = time.into_iter().chain(within).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Why a gate did not pass, if its figure does not show it.
fn words(reason: GateReason, gate: &GateOutcome) -> Option<String> {
    let of = |key: &str| gate.evidence.get(key).and_then(Value::as_f64).unwrap_or(0.0);
    Some(match reason {
        GateReason::BeyondLimit => return None,
        // A gate on the number of events has no requests that are slower than a limit.
        GateReason::Failures if gate.evidence.contains_key("events_min") => {
            "some requests failed: their streams may have had fewer events".to_owned()
        }
        GateReason::Failures => {
            format!("{} failed, and each counts as slower than the limit", counted(of("misses"), "request"))
        }
        GateReason::LowerBound => "the true value is at least this: some requests got no response".to_owned(),
        GateReason::TooFewSamples => {
            format!(
                "too few requests: {}, but {} are needed",
                count(of("samples")),
                count(of("samples_needed"))
            )
        }
        GateReason::NotMeasured => "not measured in this run".to_owned(),
        GateReason::NotDelivered => "the requested load was not reached".to_owned(),
        GateReason::Invalid => "the run is invalid".to_owned(),
        GateReason::Stopped => "the run was interrupted".to_owned(),
        GateReason::BrokeRules => "the server sent invalid HTTP".to_owned(),
        GateReason::Starved => "some connections got no response".to_owned(),
        GateReason::GeneratorLate => {
            "the time may include delays of Paceline itself: without them, the server may meet the limit"
                .to_owned()
        }
        GateReason::ServerDelayed => {
            "other processes used the server's CPU: without them, the server may meet the limit".to_owned()
        }
    })
}

/// Each verdict: severity, name, evidence, remedy.
pub(super) fn verdicts(run: &Run, style: Style) -> String {
    let all: String = run.verdicts.iter().map(|verdict| verdict_lines(verdict, style)).collect();
    let first = run.verdicts.first().map(|verdict| format!("More: paceline explain {}", verdict.name));
    all + &first.map_or_else(String::new, |first| style.lines(&first, 0, Style::dim))
}

fn verdict_lines(verdict: &Verdict, style: Style) -> String {
    let (mark, paint): (_, fn(Style, &str) -> String) = match verdict.severity {
        Severity::Invalid => ("invalid", Style::bad),
        Severity::Caution => ("caution", Style::warn),
        Severity::Note => ("note", Style::dim),
    };
    let evidence: Vec<String> = verdict
        .evidence
        .iter()
        .filter(|(key, value)| !value.is_null() && !is_interval_end(key))
        .map(|(key, value)| quantity::evidence(key, value))
        .collect();
    let evidence = if evidence.is_empty() { String::new() } else { format!(" ({})", evidence.join(", ")) };
    hanging(mark, paint, &format!("{}{evidence}", verdict.name), style)
        + &style.lines(&unbroken(&verdict.remedy), 2, Style::plain)
}

/// Whether a figure is an end of another one's interval: the record has it, but in a line it would hide the others.
fn is_interval_end(key: &str) -> bool {
    key.ends_with("_low") || key.ends_with("_high")
}

/// A remedy whose flags stay on one line with their values, and short ones also with their program: `curl -i URL`.
fn unbroken(remedy: &str) -> String {
    let is_short_flag = |word: &str| word.len() == 2 && word.starts_with('-');
    let mut text = String::new();
    for word in remedy.split(' ') {
        let is_value = word.starts_with(|first: char| first.is_ascii_digit());
        let last = text.rsplit([' ', '\u{a0}']).next().unwrap_or_default();
        let is_joined = is_short_flag(word) || is_short_flag(last) || (is_value && last.starts_with('-'));
        if !text.is_empty() {
            text.push(if is_joined { '\u{a0}' } else { ' ' });
        }
        text.push_str(word);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_text::lines::wrap;
    use serde_json::json;

    #[test]
    fn a_gate_shows_the_rate_that_it_limits() {
        let words = |reasons: &[GateReason], evidence: Value| {
            gate_words(&GateOutcome {
                gate: "as written".to_owned(),
                passed: reasons.is_empty(),
                reasons: reasons.to_vec(),
                evidence: serde_json::from_value(evidence).unwrap(),
            })
        };
        for key in ["achieved_per_s", "sessions_per_s", "events_per_s"] {
            assert_eq!(words(&[], json!({ "least_per_s": 10.0, key: 25.0 })), "25/s", "{key}");
        }
        let missing = words(&[GateReason::NotMeasured], json!({ "least_per_s": 10.0 }));
        assert_eq!(missing, "not measured in this run");
        assert_eq!(
            words(&[GateReason::Failures], json!({ "least": 5, "events_min": 7 })),
            "7 events in the stream with the fewest; some requests failed: their streams may have had fewer events"
        );
        assert_eq!(
            words(&[GateReason::Failures], json!({ "limit_ns": 5, "misses": 2 })),
            "2 requests failed, and each counts as slower than the limit"
        );
    }

    #[test]
    fn a_command_is_not_broken_at_its_short_flags() {
        let remedy = unbroken("Check with: curl -i http://127.0.0.1/ and taskset -c 1 paceline");
        assert_eq!(
            wrap(&remedy, 20),
            ["Check with: curl -i", "http://127.0.0.1/", "and taskset -c 1", "paceline"]
        );
        assert_eq!(
            wrap(&remedy, 30),
            ["Check with:", "curl -i http://127.0.0.1/ and", "taskset -c 1 paceline"]
        );
    }
}
