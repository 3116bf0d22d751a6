//! A comparison as text and Markdown (`compare_html.rs` makes the page): the decision first, then every metric. The
//! second side is described relative to the first.

use crate::capacity_text::rate;
use crate::compare::{INTERRUPTED, PairedComparison};
use crate::compared_metric::ComparedMetric;
use crate::failures::{FailureComparison, FailureDirection, SideFailures};
use crate::load::RateUnit;
use crate::metric_comparison::{Direction, MetricComparison};
use paceline_escape::{MarkdownText, markdown};
use paceline_judge::Unit;
use paceline_report::{Align, Grid};
use paceline_stats::{bytes_text, counted, fine_percent_text, short_percent_text, time_text, whole};
use std::fmt::Write as _;

/// The decision in one sentence.
pub(crate) fn sentence(comparison: &PairedComparison) -> String {
    let [first, second] = comparison.samples.each_ref().map(|set| set.name.as_str());
    if let Some(sentence) = failure_sentence(comparison, first, second) {
        return sentence;
    }
    let Some(decision) = comparison.decision() else {
        let is_unmeasured = comparison.ended_early.as_deref().is_some_and(|why| why != INTERRUPTED);
        if is_unmeasured || !comparison.metrics.is_empty() {
            return format!(
                "undecided: {} was not measured in every observation of {first} and {second}",
                comparison.primary.name()
            );
        }
        return match comparison.is_interleaved {
            true => {
                format!(
                    "undecided: too few pairs to compare {first} with {second} (complete pairs: {})",
                    comparison.pairs
                )
            }
            false => format!(
                "undecided: comparing {first} with {second} needs at least two observations of each, but one side has only {}; \
                 `paceline gate URL --save FILE` measures ten",
                comparison.pairs
            ),
        };
    };
    let (metric, size) = (decision.metric, (decision.ratio - 1.0).abs() * 100.0);
    let (better, worse) = adjectives(metric);
    match decision.direction {
        Direction::Better => {
            format!("{second} is {better}: {size:.1} % {}", than(metric, decision.ratio, first))
        }
        Direction::Worse => {
            format!("{second} is {worse}: {size:.1} % {}", than(metric, decision.ratio, first))
        }
        Direction::Equivalent => format!(
            "{second} and {first} are equivalent: {} differs by less than {}",
            metric.name(),
            short_percent_text(comparison.margin)
        ),
        Direction::Higher | Direction::Lower => {
            format!("{second} differs: {size:.1} % {}", than(metric, decision.ratio, first))
        }
        Direction::Single => {
            format!("undecided: one observation of {first} or {second} does not show how much it varies")
        }
        Direction::NotComparable => {
            format!("{second} and {first} cannot be compared in {}", metric.name())
        }
        Direction::Undecided { more_pairs } => format!(
            "undecided after {}: about {more_pairs} more are needed to detect a difference of {} in {}",
            observed(comparison),
            short_percent_text((size / 100.0).max(comparison.margin)),
            metric.name()
        ),
    }
}

/// The decision if failures make it: a side cannot be used, or the second fails more requests.
pub fn failure_sentence(comparison: &PairedComparison, first: &str, second: &str) -> Option<String> {
    let failures = &comparison.failures;
    let shares = || [&failures.first, &failures.second].map(share);
    let sides = [(second, &failures.second), (first, &failures.first)];
    if let Some((name, side)) = sides.into_iter().find(|(_, side)| side.unusable > 0) {
        let [of_first, of_second] = shares();
        let because = side.unusable_because.as_deref().unwrap_or_default();
        return Some(format!(
            "{second} and {first} cannot be compared: {} of {} of {name} cannot be used; failed requests: {of_first} of {first}, {of_second} of {second}. {because}",
            side.unusable,
            counted(side.observations, "observation", "observations"),
        ));
    }
    (failures.direction == FailureDirection::More).then(|| {
        let [of_first, of_second] = shares();
        format!("{second} fails more requests: {of_second}, {first} {of_first}")
    })
}

/// The failed share of a side.
fn share(side: &SideFailures) -> String {
    side.share.map_or("not recorded".to_owned(), fine_percent_text)
}

/// The row of the failed requests: the name, both shares, their difference, the decision.
pub(crate) fn failure_cells(comparison: &PairedComparison) -> [String; 5] {
    let failures = &comparison.failures;
    let difference = failures.first.share.zip(failures.second.share).map_or("-".to_owned(), |(a, b)| {
        let sign = if b < a { "-" } else { "+" };
        format!("{sign}{} points", fine_percent_text((b - a).abs()).trim_end_matches(" %"))
    });
    let decision = match failures.direction {
        _ if !failures.is_usable() => "not usable",
        FailureDirection::Unknown => "unknown",
        FailureDirection::Fewer => "fewer",
        FailureDirection::Equivalent => "equivalent",
        FailureDirection::Accepted => "accepted",
        FailureDirection::More => "more",
    };
    ["failed".to_owned(), share(&failures.first), share(&failures.second), difference, decision.to_owned()]
}

fn observed(comparison: &PairedComparison) -> String {
    let [one, many] =
        if comparison.is_interleaved { ["pair", "pairs"] } else { ["observation", "observations"] };
    counted(comparison.pairs, one, many)
}

/// The adjectives for a better and for a worse second side.
fn adjectives(metric: ComparedMetric) -> (&'static str, &'static str) {
    match metric {
        ComparedMetric::ServerCpuNsPerRequest => ("cheaper", "more expensive"),
        ComparedMetric::RssBytes => ("smaller", "larger"),
        ComparedMetric::CapacityPerS
        | ComparedMetric::SessionsPerS
        | ComparedMetric::RatePerS
        | ComparedMetric::ResponseTimeNsP50
        | ComparedMetric::ResponseTimeNsP99
        | ComparedMetric::ServiceTimeNsP50
        | ComparedMetric::ServiceTimeNsP99
        | ComparedMetric::StartNs => ("faster", "slower"),
        ComparedMetric::Judged(_) => ("better", "worse"),
    }
}

fn than(metric: ComparedMetric, ratio: f64, first: &str) -> String {
    format!("{} {} than {first}", if ratio > 1.0 { "higher" } else { "lower" }, metric.name())
}

/// The comparison in lines for a terminal.
pub fn compare_text(comparison: &PairedComparison) -> String {
    let mut text = format!("{}\n\n", sentence(comparison));
    if comparison.metrics.is_empty() && comparison.failures == FailureComparison::default() {
        return text;
    }
    // Writing to a string cannot fail.
    for (side, set) in ["first", "second"].iter().zip(&comparison.samples) {
        let _ = writeln!(text, "{side:<6}  {}", set.name);
    }
    let mut rows =
        vec![["  metric", "first", "second", "ratio (95 % interval)", "decision"].map(str::to_owned)];
    let [name, first, second, difference, decision] = failure_cells(comparison);
    rows.push([format!("  {name}"), first, second, difference, decision]);
    rows.extend(comparison.metrics.iter().map(|metric| {
        let mark = if metric.metric == comparison.primary { '*' } else { ' ' };
        let [first, second, ratio, _] = compared_cells(comparison, metric);
        let decision = decision_word(metric).to_owned();
        [format!("{mark} {}", metric.metric.name()), first, second, ratio, decision]
    }));
    let aligns = [Align::Left, Align::Right, Align::Right, Align::Left, Align::Left];
    let _ = write!(text, "\n{}", Grid::text(&aligns, &rows, 0));
    let is_equivalent = comparison.metrics.iter().any(|metric| metric.direction == Direction::Equivalent);
    let within = match is_equivalent {
        true => format!("equivalent: differs by less than {}; ", short_percent_text(comparison.margin)),
        false => String::new(),
    };
    let _ =
        writeln!(text, "\n*: the deciding metric; ratio: second / first; {within}{}", footnote(comparison));
    text
}

/// The comparison as a Markdown section.
pub fn compare_markdown(comparison: &PairedComparison) -> MarkdownText {
    let [first, second] = comparison.samples.each_ref().map(|set| set.name.as_str());
    let mut text = markdown!(
        "**{}**\n\n| metric | {} | {} | second / first, 95 % interval | decision |\n|---|---:|---:|---|---|\n",
        sentence(comparison),
        first,
        second
    );
    let cells = failure_cells(comparison).map(|cell| MarkdownText::from_text(&cell));
    text.push(&markdown!("| {} |\n", MarkdownText::joined(cells, " | ")));
    for metric in &comparison.metrics {
        let cells = compared_cells(comparison, metric).map(|cell| MarkdownText::from_text(&cell));
        text.push(&markdown!("| {} | {} |\n", metric.metric.name(), MarkdownText::joined(cells, " | ")));
    }
    text.push(&markdown!("\n{}\n", footnote(comparison)));
    text
}

/// Both values, their ratio with its interval, and the decision.
pub(crate) fn compared_cells(comparison: &PairedComparison, metric: &MetricComparison) -> [String; 4] {
    let interval = metric.ratio_interval;
    let ratio = format!("{:.3} ({:.3} to {:.3})", metric.ratio, interval.low, interval.high);
    let within = match metric.direction {
        Direction::Equivalent => format!(" within {}", short_percent_text(comparison.margin)),
        Direction::Better
        | Direction::Worse
        | Direction::Higher
        | Direction::Lower
        | Direction::Undecided { .. }
        | Direction::Single
        | Direction::NotComparable => String::new(),
    };
    let decides = if metric.metric == comparison.primary { " (decides)" } else { "" };
    [
        compared_value(metric.metric, metric.first),
        compared_value(metric.metric, metric.second),
        ratio,
        format!("{}{within}{decides}", decision_word(metric)),
    ]
}

fn decision_word(metric: &MetricComparison) -> &'static str {
    match metric.direction {
        Direction::Better => adjectives(metric.metric).0,
        Direction::Worse => adjectives(metric.metric).1,
        Direction::Higher => "higher",
        Direction::Lower => "lower",
        Direction::Equivalent => "equivalent",
        Direction::Undecided { .. } => "undecided",
        Direction::Single => "one launch",
        Direction::NotComparable => "not comparable",
    }
}

/// How the comparison was made, for the end of every format.
pub(crate) fn footnote(comparison: &PairedComparison) -> String {
    let how = if comparison.is_interleaved {
        format!(
            "{}; the result may be tested several times during the measurement, and the intervals are corrected for that",
            counted(comparison.pairs, "adjacent pair", "adjacent pairs")
        )
    } else {
        format!(
            "{} of each side, measured at different times: the difference includes drift of the machine",
            counted(comparison.pairs, "observation", "observations")
        )
    };
    let early = comparison.ended_early.as_ref().map_or(String::new(), |why| format!("; ended early: {why}"));
    let quieter = comparison.quieter_metric().map_or(String::new(), |(metric, pairs)| {
        let percent = |metric| comparison.pair_sd(metric).unwrap_or_default() * 100.0;
        format!(
            " Pairs vary by {:.1} % in {} and by {:.1} % in {}: with --metric {}, about {pairs} pairs are enough to detect a difference of {}.",
            percent(comparison.primary),
            comparison.primary.name(),
            percent(metric),
            metric.name(),
            metric.name(),
            short_percent_text(comparison.margin)
        )
    });
    format!(
        "{how}; p-values of the other metrics are corrected for multiple comparisons (Holm){early}.{quieter}"
    )
}

/// A metric's value with its unit.
pub(crate) fn compared_value(metric: ComparedMetric, value: f64) -> String {
    let judged_value = value / metric.units_per_judged();
    match metric.judged().unit {
        Unit::PerSecond if metric == ComparedMetric::SessionsPerS => rate(value, RateUnit::Sessions),
        Unit::PerSecond => rate(value, RateUnit::Requests),
        Unit::Bytes => bytes_text(value),
        Unit::Nanoseconds => time_text(judged_value),
        Unit::Microseconds => time_text(judged_value * 1e3),
        Unit::Milliseconds => time_text(judged_value * 1e6),
        Unit::Share => fine_percent_text(value),
        Unit::Count => whole(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::tests::compare;

    #[test]
    fn the_decision_comes_first() {
        let slower = compare_text(&compare(0.9, 0.02));
        assert!(slower.starts_with("new is slower: 1"), "{slower}");
        assert!(slower.contains("% lower rate than old") && slower.contains("\n* rate "), "{slower}");
        let table = slower.split("\n\n").nth(2).unwrap();
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        let equal = compare_markdown(&compare(1.0, 0.01)).to_string();
        assert!(
            equal.starts_with("**new and old are equivalent: rate differs by less than 5 %**"),
            "{equal}"
        );
        assert!(equal.contains("| rate | "), "{equal}");
        assert!(compare_text(&compare(1.0, 0.3)).starts_with("undecided after 20 pairs: about "));
    }

    #[test]
    fn markdown_escapes_names() {
        let mut comparison = compare(0.9, 0.02);
        "<script>|\u{1b}".clone_into(&mut comparison.samples[1].name);
        let section = compare_markdown(&comparison).to_string();
        assert!(
            section.contains("| &lt;script&gt;\\|\\u{1b} |") && !section.contains("<script>"),
            "{section}"
        );
    }
}
