//! The system calls of a run's server for each request.
//!
//! Called by `mod.rs`.

use super::lines::{Style, table};
use super::profile::cost;
use super::quantity::{counted, nanos};
use paceline_record::{Run, SystemCall, SystemCalls};

/// Kinds of system calls in the table.
const ROWS: usize = 10;
/// An error in fewer requests than this is not shown: it would be 0.00.
const MIN_ERRORS: f64 = 0.005;

/// A sentence about the calls, and the most frequent of them; or why they were not counted.
pub(super) fn of_run(run: &Run, style: Style) -> String {
    if let Some(failure) = &run.syscalls_failure {
        return style.lines(&format!("system calls not counted: {failure}"), 2, Style::warn);
    }
    let Some(calls) = &run.syscalls else { return String::new() };
    let mark = if calls.is_lower_bound() { "\u{2265}" } else { "" };
    let row = |call: &SystemCall| {
        let errors = Some(call.errors_per_request).filter(|errors| *errors >= MIN_ERRORS);
        vec![
            call.name.clone(),
            format!("{mark}{:.2}", call.calls_per_request),
            errors.map_or(String::new(), |errors| format!("{mark}{errors:.2}")),
            nanos(call.time_ns_mean),
        ]
    };
    let rows: Vec<Vec<String>> = calls.calls.iter().take(ROWS).map(row).collect();
    style.lines(&about(calls, mark, run), 2, Style::dim)
        + &missing(calls).map_or(String::new(), |missing| style.lines(&missing, 2, Style::warn))
        + &table(&["System calls per request", "calls", "errors", "mean time"], &rows, style)
}

/// `system calls: 4.02 per request in a separate window; times include waiting; 970 requests/s while traced`.
fn about(calls: &SystemCalls, mark: &str, run: &Run) -> String {
    format!(
        "system calls: {mark}{:.2} per request in a separate window; times include waiting{}",
        calls.calls_per_request,
        cost(calls.achieved_per_s, "traced", run)
    )
}

/// Why the counts are lower bounds.
fn missing(calls: &SystemCalls) -> Option<String> {
    let lost =
        (calls.lost_events > 0).then(|| format!("perf lost {}", counted(calls.lost_events as f64, "event")));
    let started = (calls.threads_started > 0)
        .then(|| format!("without those of {}", counted(calls.threads_started as f64, "new thread")));
    let reasons: Vec<String> = lost.into_iter().chain(started).collect();
    (!reasons.is_empty()).then(|| format!("lower bounds: {}", reasons.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::fixture;

    fn words(run: &Run) -> String {
        of_run(run, Style::new(false, 100)).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn calls_are_listed_below_a_sentence_about_them() {
        let mut run = fixture::run(0);
        assert_eq!(words(&run), "");
        let call = |name: &str, errors_per_request| SystemCall {
            name: name.to_owned(),
            calls_per_request: 1.5,
            errors_per_request,
            time_ns_mean: 2_500.0,
        };
        let mut calls = vec![call("read", 0.5), call("write", 0.0)];
        calls.extend((0..20).map(|_| call("other", 0.0)));
        run.syscalls = Some(SystemCalls {
            calls_per_request: 4.02,
            achieved_per_s: 970.0,
            calls,
            ..SystemCalls::default()
        });
        let text = words(&run);
        assert!(
            text.starts_with("system calls: 4.02 per request in a separate window; times include"),
            "{text}"
        );
        assert!(text.contains("; 970 requests/s while traced (97% of the run)"), "{text}");
        let rows = "errors mean time read 1.50 0.50 2.50 \u{b5}s write 1.50 2.50 \u{b5}s other";
        assert!(text.contains(rows), "{text}");
        assert_eq!(text.matches("other").count(), ROWS - 2, "{text}");
    }

    #[test]
    fn lower_bounds_are_marked_and_explained() {
        let mut run = fixture::run(0);
        let read = SystemCall { name: "read".to_owned(), calls_per_request: 3.0, ..SystemCall::default() };
        run.syscalls = Some(SystemCalls {
            lost_events: 12,
            threads_started: 1,
            calls_per_request: 3.0,
            calls: vec![read],
            ..SystemCalls::default()
        });
        let text = words(&run);
        assert!(text.starts_with("system calls: \u{2265}3.00 per request"), "{text}");
        let why = "lower bounds: perf lost 12 events; without those of 1 new thread";
        assert!(text.contains(why) && text.contains("read \u{2265}3.00"), "{text}");
    }

    #[test]
    fn a_failure_is_reported() {
        let mut run = fixture::run(0);
        run.syscalls_failure = Some("perf is not installed".to_owned());
        assert_eq!(words(&run), "system calls not counted: perf is not installed");
    }
}
