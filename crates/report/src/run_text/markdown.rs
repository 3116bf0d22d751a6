//! The summary of one run as Markdown: a sentence about the load and a table, for issues and CI summaries.
//!
//! Called by `paceline run` for `--format md` and `-o FILE.md`. It has the figures of [`Run::summarize`], and the
//! energy where it was counted.

use super::concerns::gate_words;
use super::quantity::{TimeUnit, count, microjoules, nanos, not_ok};
use super::times::has_tail;
use crate::row::rate_is_minimum;
use paceline_escape::{MarkdownText, markdown};
use paceline_record::Run;

/// The summary of a run as Markdown. Without `unit`, each time has the unit that suits it.
pub fn run_markdown(run: &Run, unit: Option<TimeUnit>) -> MarkdownText {
    let summary = run.summarize();
    let time = |ns: f64| unit.map_or_else(|| nanos(ns), |unit| unit.of_nanos(ns));
    let mut rows = vec![(achieved_name(run).to_owned(), count(summary.achieved_per_s))];
    rows.extend(summary.offered_per_s.map(|rate| ("offered requests/s".to_owned(), count(rate))));
    rows.push(("requests".to_owned(), count(summary.requests as f64)));
    rows.push(("ok".to_owned(), count(summary.ok as f64)));
    let bad = not_ok(&run.total.counts).into_iter().filter(|(_, number)| *number > 0);
    rows.extend(bad.map(|(name, number)| (name.to_owned(), count(number as f64))));
    let kind = run.loop_.kind.judged_time().name();
    let whole = |value: Option<u64>| value.map(|ns| ns as f64);
    let times = [
        ("mean", summary.mean_ns),
        ("p50", whole(summary.p50_ns)),
        ("p90", whole(summary.p90_ns)),
        ("p95", whole(summary.p95_ns)),
        ("p99", whole(summary.p99_ns)),
        ("p99.9", whole(summary.p99_9_ns).filter(|_| has_tail(run))),
        ("max", whole(summary.max_ns)),
    ];
    rows.extend(times.into_iter().filter_map(|(name, ns)| Some((format!("{kind}, {name}"), time(ns?)))));
    let main = run.loop_.kind.judged_time();
    let others = run.total.distributions().filter(|(kind, times)| *kind != main && times.count > 0);
    rows.extend(others.map(|(kind, times)| {
        let values = [times.p50, times.p99, times.max].map(|ns| time(ns as f64));
        (format!("{}, p50 / p99 / max", kind.name()), values.join(" / "))
    }));
    let energy = run.energy.map(|energy| microjoules(energy.joules_per_request));
    rows.extend(energy.map(|energy| ("energy of the CPU packages per request".to_owned(), energy)));
    rows.extend(run.gates.iter().map(|gate| {
        let result = if gate.passed { "pass" } else { "FAIL" };
        (gate.gate.clone(), format!("{result}: {}", gate_words(gate)))
    }));
    let rows = rows.into_iter().map(|(name, value)| markdown!("| {} | {} |\n", name, value));
    let verdicts = summary.verdicts.iter().map(|name| MarkdownText::key(name));
    let verdicts = match summary.verdicts.is_empty() {
        true => MarkdownText::literal(""),
        false => markdown!("| verdicts | {} |\n", MarkdownText::joined(verdicts, ", ")),
    };
    markdown!(
        "{}: {}\n\n| | |\n|---|--:|\n{}{}",
        run.target.url,
        super::load_words(run),
        rows.collect::<MarkdownText>(),
        verdicts
    )
}

/// The name of the achieved rate, which may be a minimum.
fn achieved_name(run: &Run) -> &'static str {
    if rate_is_minimum(run) { "requests/s, at least" } else { "requests/s" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::fixture;

    #[test]
    fn figures_have_names_and_units_and_foreign_text_is_escaped() {
        let mut run = fixture::run(0);
        run.target.url = "http://[::1]:80/<b>|".to_owned();
        let text = run_markdown(&run, Some(TimeUnit::Milliseconds)).to_string();
        let (first, table) = text.split_once("\n\n").unwrap();
        assert!(first.contains(": open loop, ") && !first.contains("<b>"), "{text}");
        assert!(table.starts_with("| | |\n|---|--:|\n| requests/s | "), "{text}");
        assert!(table.lines().all(|line| line.starts_with("| ") || line == "|---|--:|"), "{text}");
        let p99 = table.lines().find(|line| line.starts_with("| response time, p99 | ")).unwrap();
        assert!(p99.ends_with("\u{a0}ms |"), "{p99}");
    }
}
