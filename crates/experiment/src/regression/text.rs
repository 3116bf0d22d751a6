//! The report of a gate for a terminal: the outcome in one sentence, then a row for each metric.

use super::profile::RegressionProfile;
use super::report::{
    CellReport, CellVerdict, JudgeRule, LoadFailures, MovedCores, RegressionOutcome, RegressionReport,
};
use crate::compare_text::compared_value;
use paceline_report::{Align, Grid};
use paceline_stats::{counted, next_look, short_percent_text, span_text};
use std::fmt::Write as _;

/// What a margin means. `tests.rs` checks each half of it by simulation.
pub const MARGIN_SENTENCE: &str = "A margin of 5 % means: the gate fails only if a loss of more than 5 % is proven, and passes only if a loss of \
     more than 5 % is excluded";

/// The outcome in one sentence. `untested` are the metrics that could decide, but were measured in too few blocks.
pub(super) fn reason(report: &RegressionReport, untested: &[String]) -> String {
    if let Some(failures) = report.failures.iter().find(|failures| failures.is_worse)
        && report.outcome == RegressionOutcome::Failed
    {
        return match ended_servers(failures) {
            Some(ended) if failures.only_candidate_ends() => format!("under {}, {ended}", failures.load),
            _ => format!("more requests of {} fail: {}", failures.load, failed_shares(failures)),
        };
    }
    let worse: Vec<&CellReport> =
        report.metrics.iter().filter(|cell| cell.verdict == CellVerdict::Worse).collect();
    match report.outcome {
        RegressionOutcome::Failed => {
            worse.iter().map(|cell| worse_sentence(cell)).collect::<Vec<_>>().join("; ")
        }
        RegressionOutcome::Passed => passed_sentence(report),
        RegressionOutcome::Undecided => undecided_sentence(report, untested),
        RegressionOutcome::Interrupted => {
            format!("interrupted after {}", counted(report.blocks, "block", "blocks"))
        }
    }
}

fn worse_sentence(cell: &CellReport) -> String {
    format!(
        "{} changed by {} ({}), which is proven to be a loss of more than {}",
        subject(cell),
        change(cell.ratio),
        interval(cell),
        short_percent_text(cell.margin)
    )
}

fn passed_sentence(report: &RegressionReport) -> String {
    let judges = report.metrics.iter().filter(|cell| cell.is_judge);
    let excluded: Vec<String> = judges
        .map(|cell| format!("{} of more than {}", subject(cell), short_percent_text(cell.margin)))
        .collect();
    format!("excluded: a loss in {}", excluded.join(", in "))
}

fn undecided_sentence(report: &RegressionReport, untested: &[String]) -> String {
    let blocks = counted(report.blocks, "block", "blocks");
    let time = span_text(report.elapsed_s.round() as u64);
    let because = disturbed(report).map_or(String::new(), |why| format!(" ({why})"));
    let first = next_look(0).unwrap_or_default();
    if let Some(failures) = report.failures.iter().find(|failures| failures.only_candidate_ends())
        && let Some(ended) = ended_servers(failures)
    {
        return format!("under {}, {ended}, which may be chance", failures.load);
    }
    if report.blocks < first {
        return format!(
            "too noisy or too short: only {blocks} of at least {first} could be measured in {time}{because}"
        );
    }
    let open = report.metrics.iter().filter(|cell| {
        cell.is_judge && matches!(cell.verdict, CellVerdict::Undecided | CellVerdict::WithinNoise)
    });
    let open: Vec<String> = open
        .map(|cell| {
            format!(
                "{} ({} is the smallest loss that could have been proven)",
                subject(cell),
                short_percent_text(cell.detectable_loss)
            )
        })
        .collect();
    let noisy = (!open.is_empty()).then(|| {
        format!("too noisy: after {blocks} in {time} no loss is proven or excluded in {}", open.join(", "))
    });
    let missing = (!untested.is_empty()).then(|| {
        format!("not measured in at least {first} of {blocks} in {time}: {}{because}", untested.join(", "))
    });
    noisy.into_iter().chain(missing).collect::<Vec<_>>().join("; ")
}

/// That a load is left out, and why.
pub(super) fn left_out_sentence(failures: &LoadFailures) -> String {
    format!(
        "The base does not have {}: none of its {} had a valid response, so this load is left out.",
        failures.load,
        counted(failures.base_requests, "request", "requests")
    )
}

/// Why nothing is compared, if the base does not have these loads.
pub(super) fn nothing_left_reason(left_out: &[&LoadFailures]) -> String {
    let names: Vec<&str> = left_out.iter().map(|failures| failures.load.as_str()).collect();
    format!("nothing can be compared: the base does not have {}", names.join(", "))
}

/// A metric with its load.
pub(super) fn subject(cell: &CellReport) -> String {
    subject_of(cell.metric_name(), cell.load.as_deref())
}

/// A metric of this name with its load, if it has one.
pub(super) fn subject_of(metric: String, load: Option<&str>) -> String {
    match load {
        Some(load) => format!("{metric} of {load}"),
        None => metric,
    }
}

/// The word for a verdict, and what the noise means for it.
pub(super) fn verdict_word(verdict: CellVerdict) -> &'static str {
    match verdict {
        CellVerdict::Worse => "worse",
        CellVerdict::SlightlyWorse => "worse, within the margin",
        CellVerdict::NotWorse => "not worse",
        CellVerdict::Better => "better",
        CellVerdict::Undecided => "undecided",
        CellVerdict::WithinNoise => "undecided: not above the noise",
    }
}

/// A ratio as a change: `+3.1 %`.
pub(super) fn change(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

/// The ends of a cell's interval, as changes.
pub(super) fn interval(cell: &CellReport) -> String {
    let end = |ratio: f64| format!("{:+.1}", (ratio - 1.0) * 100.0);
    format!("{} to {}", end(cell.ratio_interval.low), end(cell.ratio_interval.high))
}

/// The failed shares of a load.
pub(super) fn failed_shares(failures: &LoadFailures) -> String {
    let [base, candidate] = failures.shares().map(|share| share * 100.0);
    let [all, invalid] = failures.candidate_windows;
    let windows = match invalid {
        0 => String::new(),
        invalid => format!("; {invalid} of {all} windows are invalid by the server's fault"),
    };
    let ended = ended_servers(failures).map_or(String::new(), |ended| format!("; {ended}"));
    format!(
        "{candidate:.2} % of {} (base: {base:.2} % of {}){windows}{ended}",
        failures.candidate_requests, failures.base_requests
    )
}

/// How often the servers of a load ended under it; none if none did.
fn ended_servers(failures: &LoadFailures) -> Option<String> {
    let [[launches, ended], [base_launches, base_ended]] =
        [failures.candidate_launches, failures.base_launches];
    let with = failures.candidate_ended_with.as_ref().map_or(String::new(), |how| format!(" ({how})"));
    (ended + base_ended > 0).then(|| {
        format!(
            "the candidate's server ended in {ended} of {}{with}, the base's in {base_ended} of {base_launches}",
            counted(launches, "launch", "launches")
        )
    })
}

/// How many windows were disturbed, and by what.
pub(super) fn disturbed(report: &RegressionReport) -> Option<String> {
    let why = report.disturbed_by.as_ref()?;
    Some(format!(
        "{} of {}: the machine was busy ({why}); only the CPU time per request of these counts.",
        report.disturbed_windows,
        counted(report.windows, "window was disturbed", "windows were disturbed")
    ))
}

/// What was done because the host moved the cores.
fn core_moves(moved: MovedCores) -> String {
    let MovedCores { repeated_windows, waited_s } = moved;
    let repeated = (repeated_windows > 0)
        .then(|| counted(repeated_windows, "window was repeated", "windows were repeated"));
    let waited = (waited_s > 0.0).then(|| format!("the gate waited {waited_s:.1} s"));
    let parts: Vec<String> = repeated.into_iter().chain(waited).collect();
    format!("The host moved the cores of this virtual machine: {}.", parts.join(", and "))
}

/// How it was measured, in lines.
pub(super) fn footnotes(report: &RegressionReport) -> Vec<String> {
    let mut notes: Vec<String> = report.profile.iter().flat_map(RegressionProfile::lines).collect();
    notes.extend(report.notes.iter().cloned());
    let judges = match report.judge {
        JudgeRule::All => "*: judged",
        JudgeRule::Quietest => "*: the judge of its load, the metric with the least noise here",
    };
    notes.push(format!(
        "{judges}; noise: the largest difference of two copies of the base that cannot be excluded. {} in {} of at most {}.",
        counted(report.blocks, "block", "blocks"),
        span_text(report.elapsed_s.round() as u64),
        span_text(report.budget_s.round() as u64)
    ));
    notes.extend(disturbed(report));
    notes.extend(report.moved_cores.map(core_moves));
    notes.push(format!(
        "{MARGIN_SENTENCE}; an unchanged server fails in at most {} of gates, over all metrics together.",
        short_percent_text(report.error_rate)
    ));
    notes
}

/// The cells of a row: load, metric, base, candidate, change with interval, margin, noise, verdict.
pub(super) fn row(cell: &CellReport) -> [String; 8] {
    [
        cell.load.clone().unwrap_or_else(|| "launch".to_owned()),
        cell.metric_name(),
        compared_value(cell.metric, cell.base),
        compared_value(cell.metric, cell.candidate),
        format!("{} ({})", change(cell.ratio), interval(cell)),
        short_percent_text(cell.margin),
        short_percent_text(cell.noise),
        verdict_word(cell.verdict).to_owned(),
    ]
}

/// The heads of a row.
pub(super) const HEADS: [&str; 8] =
    ["load", "metric", "base", "candidate", "change (interval)", "margin", "noise", "verdict"];

/// The outcome as a word.
pub(super) fn outcome_word(outcome: RegressionOutcome) -> &'static str {
    match outcome {
        RegressionOutcome::Passed => "passed",
        RegressionOutcome::Failed => "failed",
        RegressionOutcome::Undecided => "undecided",
        RegressionOutcome::Interrupted => "interrupted",
    }
}

/// The report in lines for a terminal.
pub fn regression_text(report: &RegressionReport) -> String {
    let mut text = format!("Performance gate {}: {}\n\n", outcome_word(report.outcome), report.reason);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "base       {}\ncandidate  {}\n", report.base, report.candidate);
    if !report.metrics.is_empty() {
        let marked = |mark: &str, mut row: [String; 8]| {
            row[0].insert_str(0, mark);
            row
        };
        let mut rows = vec![marked("  ", HEADS.map(str::to_owned))];
        rows.extend(
            report.metrics.iter().map(|cell| marked(if cell.is_judge { "* " } else { "  " }, row(cell))),
        );
        // Names to the left, figures to the right.
        let aligns: [Align; 8] =
            std::array::from_fn(
                |column| if matches!(column, 0 | 1 | 4 | 7) { Align::Left } else { Align::Right },
            );
        let _ = writeln!(text, "{}", Grid::text(&aligns, &rows, 0));
    }
    for failures in
        report.failures.iter().filter(|failures| failures.candidate_failed + failures.base_failed > 0)
    {
        let _ = writeln!(text, "failed requests of {}: {}", failures.load, failed_shares(failures));
    }
    for note in footnotes(report) {
        let _ = writeln!(text, "{note}");
    }
    text
}
