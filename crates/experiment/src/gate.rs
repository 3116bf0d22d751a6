//! A comparison as a check in CI: pass or fail, with a Markdown summary and JUnit XML.
//!
//! Failed requests are judged first, then one metric decides. The false-alarm rate is that of the comparison's test: at
//! most 5 % for all looks together.

use crate::compare::{INTERRUPTED, PairedComparison};
use crate::compare_text::{compare_markdown, compare_text, failure_cells, sentence};
use crate::metric_comparison::Direction;
use paceline_escape::{HtmlText, MarkdownText, html, markdown};

/// The policy for an undecided comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatePolicy {
    /// An undecided comparison passes, with a note.
    PassUndecided,
    /// An undecided comparison fails.
    FailUndecided,
}

/// The result of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateResult {
    /// Whether it passed.
    pub passed: bool,
    /// Whether it was interrupted before a decision: it has neither passed nor failed.
    pub is_interrupted: bool,
    /// Why, in one sentence.
    pub reason: String,
}

impl GateResult {
    /// The outcome as a word.
    fn outcome(&self) -> &'static str {
        match (self.is_interrupted, self.passed) {
            (true, _) => "interrupted",
            (false, true) => "passed",
            (false, false) => "failed",
        }
    }
}

/// Judges the second side of a comparison against the first.
pub fn judge_gate(comparison: &PairedComparison, policy: GatePolicy) -> GateResult {
    let is_worse = comparison.failures.is_worse();
    let is_interrupted = !is_worse && comparison.ended_early.as_deref() == Some(INTERRUPTED);
    let passed = !is_worse && !is_interrupted && passes_metric(comparison, policy);
    GateResult { passed, is_interrupted, reason: sentence(comparison) }
}

/// Whether the deciding metric passes.
fn passes_metric(comparison: &PairedComparison, policy: GatePolicy) -> bool {
    match comparison.decision().map(|decision| decision.direction) {
        Some(Direction::Worse) => false,
        Some(Direction::Better | Direction::Equivalent) => true,
        Some(
            Direction::Higher
            | Direction::Lower
            | Direction::Undecided { .. }
            | Direction::Single
            | Direction::NotComparable,
        )
        | None => policy == GatePolicy::PassUndecided,
    }
}

/// The share of gates that an unchanged server fails, at most: the level of the comparison's tests, all looks together.
const MAX_FALSE_ALARMS: f64 = 0.05;

/// How often an unchanged server fails.
fn false_alarms(comparison: &PairedComparison) -> String {
    let most =
        format!("An unchanged server is judged worse in at most {:.0} % of runs", 100.0 * MAX_FALSE_ALARMS);
    match comparison.is_interleaved {
        true => format!("{most}."),
        false => format!("{most}, if the machine is as fast as when the baseline was measured."),
    }
}

/// The gate in lines for a terminal.
pub fn gate_text(comparison: &PairedComparison, result: &GateResult) -> String {
    let (outcome, alarms) = (result.outcome(), false_alarms(comparison));
    format!("Performance gate {outcome}\n\n{}\n{alarms}\n", compare_text(comparison))
}

/// The gate as a Markdown section.
pub fn gate_markdown(comparison: &PairedComparison, result: &GateResult) -> MarkdownText {
    let (outcome, alarms) = (result.outcome(), false_alarms(comparison));
    markdown!("### Performance gate {}\n\n{}\n{}\n", outcome, compare_markdown(comparison), alarms)
}

/// The gate as JUnit XML: a test case for the failed requests and one for each metric. Only the failed requests and the
/// deciding metric can fail. If the gate was interrupted, the test case of that metric is skipped.
pub fn gate_junit(comparison: &PairedComparison, result: &GateResult) -> HtmlText {
    let case = |name: &str, body: HtmlText| {
        html!("  <testcase classname=\"paceline\" name=\"{}\">{}</testcase>\n", name, body)
    };
    let failed = || html!("<failure message=\"{}\"/>", result.reason);
    let is_by_failures = comparison.failures.is_worse();
    let [_, first, second, ..] = failure_cells(comparison);
    let failures = html!(
        "{}<system-out>failed requests: first {}, second {}</system-out>",
        if is_by_failures { failed() } else { HtmlText::default() },
        first,
        second
    );
    let verdict = || match result.is_interrupted {
        true => html!("<skipped message=\"interrupted: {}\"/>", result.reason),
        false if result.passed || is_by_failures => HtmlText::default(),
        false => failed(),
    };
    let undecided = comparison.decision().is_none().then(|| case(comparison.primary.name(), verdict()));
    let decided = comparison.metrics.iter().map(|metric| {
        let range = metric.ratio_interval;
        let decides = metric.metric == comparison.primary;
        let figures = html!(
            "{}<system-out>ratio {:.4}, 95 % interval {:.4} to {:.4}</system-out>",
            if decides { verdict() } else { HtmlText::default() },
            metric.ratio,
            range.low,
            range.high
        );
        case(metric.metric.name(), figures)
    });
    let cases: Vec<HtmlText> =
        std::iter::once(case("failed requests", failures)).chain(undecided).chain(decided).collect();
    html!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"paceline gate\" tests=\"{}\" failures=\"{}\" \
         skipped=\"{}\">\n  <properties>\
         <property name=\"false_alarm_rate_most\" value=\"{}\"/></properties>\n{}</testsuite>\n",
        cases.len(),
        usize::from(!result.passed && !result.is_interrupted),
        usize::from(result.is_interrupted),
        MAX_FALSE_ALARMS,
        cases.into_iter().collect::<HtmlText>()
    )
}

/// The outcome as an annotation for GitHub Actions.
pub fn gate_annotations(result: &GateResult) -> String {
    let level = match (result.is_interrupted, result.passed) {
        (true, _) => "warning",
        (false, true) => "notice",
        (false, false) => "error",
    };
    annotation(level, result.outcome(), &result.reason)
}

/// A workflow command of GitHub Actions (docs.github.com, "Workflow commands for GitHub Actions"): %, CR and LF are
/// escaped.
pub(crate) fn annotation(level: &str, outcome: &str, reason: &str) -> String {
    let message = reason.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    format!("::{level} title=Performance gate {outcome}::{message}\n")
}

/// A gate that could not be evaluated, as a Markdown section.
pub fn gate_error_markdown(reason: &str) -> MarkdownText {
    markdown!("### Performance gate not evaluated\n\nThere is no result: {}\n", reason)
}

/// A gate that could not be evaluated, as JUnit XML: one test case with an `error`, which is neither passed nor failed.
pub fn gate_error_junit(reason: &str) -> HtmlText {
    html!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"paceline gate\" tests=\"1\" failures=\"0\" errors=\"1\">\n  \
         <testcase classname=\"paceline\" name=\"gate\"><error message=\"{}\"/></testcase>\n</testsuite>\n",
        reason
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::{compare, compare_failing};

    #[test]
    fn only_a_significant_slowdown_fails_by_default() {
        for (ratio, sd, policy, passed) in [
            (0.9, 0.02, GatePolicy::PassUndecided, false),
            (1.1, 0.02, GatePolicy::FailUndecided, true),
            (1.0, 0.01, GatePolicy::FailUndecided, true),
            (1.0, 0.3, GatePolicy::PassUndecided, true),
            (1.0, 0.3, GatePolicy::FailUndecided, false),
        ] {
            let result = judge_gate(&compare(ratio, sd), policy);
            assert_eq!(result.passed, passed, "{ratio}, {sd}, {policy:?}: {result:?}");
        }
    }

    #[test]
    fn failed_requests_fail_a_gate_whatever_the_speed() {
        let more = compare_failing(60, None);
        assert_eq!(more.decision().unwrap().direction, Direction::Equivalent);
        for (comparison, said) in [
            (more, "new fails more requests: 0.60 %, old 0 %"),
            (compare_failing(9_000, Some("failed_requests")), "failed requests: 0 % of old, 90 % of new"),
            (compare_failing(0, Some("stopped_answering")), "cannot be compared"),
        ] {
            let result = judge_gate(&comparison, GatePolicy::PassUndecided);
            assert!(!result.passed && result.reason.contains(said), "{result:?}");
            let xml = gate_junit(&comparison, &result).to_string();
            assert_eq!(xml.matches("<failure").count(), 1, "{xml}");
            assert!(xml.contains("name=\"failed requests\"><failure message="), "{xml}");
            let page = gate_markdown(&comparison, &result).to_string();
            assert!(
                page.starts_with("### Performance gate failed") && page.contains("| failed | 0 % |"),
                "{page}"
            );
        }
        assert!(judge_gate(&compare_failing(5, None), GatePolicy::FailUndecided).passed, "below the margin");
    }

    #[test]
    fn junit_has_one_failure_and_is_escaped() {
        let mut comparison = compare(0.9, 0.02);
        comparison.samples[1].name = "a<b>&\"c\"\u{1}".to_owned();
        let result = judge_gate(&comparison, GatePolicy::PassUndecided);
        let xml = gate_junit(&comparison, &result).to_string();
        assert_eq!(xml.matches("<failure").count(), 1, "{xml}");
        assert!(
            xml.contains("failures=\"1\"") && xml.contains("a&lt;b&gt;&amp;&quot;c&quot;\\u{1} "),
            "{xml}"
        );
        let page = gate_markdown(&comparison, &result);
        assert!(page.as_str().starts_with("### Performance gate failed"));
        assert!(
            page.as_str().contains("An unchanged server is judged worse in at most 5 % of runs"),
            "{page}"
        );
    }

    #[test]
    fn an_interrupted_gate_has_neither_passed_nor_failed() {
        for policy in [GatePolicy::PassUndecided, GatePolicy::FailUndecided] {
            let mut comparison = compare(1.0, 0.3);
            comparison.ended_early = Some(INTERRUPTED.to_owned());
            let result = judge_gate(&comparison, policy);
            let xml = gate_junit(&comparison, &result).to_string();
            assert!(xml.contains("failures=\"0\" skipped=\"1\""), "{xml}");
            assert_eq!((xml.matches("<skipped").count(), xml.matches("<failure").count()), (1, 0), "{xml}");
            let page = gate_markdown(&comparison, &result).to_string();
            assert!(page.starts_with("### Performance gate interrupted\n"), "{page}");
            assert!(gate_text(&comparison, &result).starts_with("Performance gate interrupted\n"));
            assert!(gate_annotations(&result).starts_with("::warning title=Performance gate interrupted::"));
        }
    }

    #[test]
    fn a_gate_without_a_result_is_an_error_and_escaped() {
        let xml = gate_error_junit("no <rate> met \"x\"").to_string();
        assert!(xml.contains("errors=\"1\"") && !xml.contains("<failure"), "{xml}");
        assert!(xml.contains("<error message=\"no &lt;rate&gt; met &quot;x&quot;\"/>"), "{xml}");
        let page = gate_error_markdown("no rate met it");
        assert!(
            page.as_str().starts_with("### Performance gate not evaluated\n\nThere is no result"),
            "{page}"
        );
    }
}
