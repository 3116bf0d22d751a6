//! Compares two rounds cell by cell: the same server, form, workload and load in both.
//!
//! The rounds were not measured side by side, so each cell uses Welch's t test over launches. With many cells some
//! differ by chance: a difference is claimed only if it survives Holm's correction over all cells.

use crate::compare::{Direction, PairedComparison, SampleSet, compare_samples};
use crate::compare_text::{compared_cells, failure_cells};
use crate::compared_metric::ComparedMetric;
use crate::failures::ObservedOutcomes;
use crate::load::LoadResult;
use paceline_escape::{MarkdownText, markdown};
use paceline_record::{Blame, Severity, Trial};
use paceline_stats::holm;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A combination that both rounds have measured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MatchedCell {
    /// The server's id.
    pub server: String,
    /// The form in which it was started.
    pub form: String,
    /// The workload.
    pub workload: String,
    /// The plan's name for the load.
    pub load: String,
}

impl MatchedCell {
    fn from_trial(trial: &Trial) -> Self {
        Self {
            server: trial.server.id.clone(),
            form: trial.form.clone(),
            workload: trial.workload.clone(),
            load: trial.load.name.clone(),
        }
    }
}

/// One cell of both rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellComparison {
    /// The cell.
    pub cell: MatchedCell,
    /// The second round's launches compared with the first's.
    pub comparison: PairedComparison,
}

/// Compares the cells that both rounds have, by the requested metric or else by the default of each cell. Cells
/// with fewer than two launches in a round are left out, unless a launch failed or is invalid because of the server.
pub fn compare_rounds(
    rounds: [(&str, &[Trial]); 2],
    primary: Option<ComparedMetric>,
    margin: f64,
) -> Vec<CellComparison> {
    let [first, second] = rounds.map(|(name, trials)| cells(name, trials));
    let mut compared: Vec<CellComparison> = first
        .into_iter()
        .filter_map(|(cell, first)| {
            let comparison = compare_samples(&[first, second.get(&cell)?.clone()], primary, margin);
            let is_known = comparison.decision().is_some() || !comparison.failures.is_usable();
            is_known.then_some(CellComparison { cell, comparison })
        })
        .collect();
    let p_value = |cell: &CellComparison| cell.comparison.decision().map_or(1.0, |decision| decision.p_value);
    let corrected = holm(&compared.iter().map(p_value).collect::<Vec<_>>());
    for (cell, p_value) in compared.iter_mut().zip(corrected) {
        let launches = cell.comparison.pairs.max(1);
        // The deciding metric is the first.
        if let Some(decision) = cell.comparison.metrics.first_mut() {
            decision.p_value = p_value;
            if matches!(decision.direction, Direction::Better | Direction::Worse) && p_value > 0.05 {
                decision.direction = Direction::Undecided { more_pairs: launches };
            }
        }
    }
    compared
}

/// The observations of each cell of a round. A launch that failed, or is invalid because of the server, adds only its
/// outcomes; one that the generator or the machine spoiled is left out.
fn cells(name: &str, trials: &[Trial]) -> BTreeMap<MatchedCell, SampleSet> {
    let mut cells = BTreeMap::new();
    for trial in trials {
        let mut invalid = trial.verdicts.iter().chain(trial.run.iter().flat_map(|run| &run.verdicts));
        let is_spoiled =
            invalid.any(|verdict| verdict.severity == Severity::Invalid && verdict.blame != Blame::Server);
        if is_spoiled || trial.error.as_ref().is_some_and(|fault| fault.transient) {
            continue;
        }
        let result = trial.run.as_ref().map(LoadResult::from_run);
        let set = cells.entry(MatchedCell::from_trial(trial)).or_insert_with(|| SampleSet::new(name));
        let mut outcomes = result.as_ref().map(ObservedOutcomes::from_result).unwrap_or_default();
        let fault = trial.error.as_ref().map(|fault| fault.message.clone());
        let judged = || paceline_judge::unusable_because(&trial.verdicts).map(|verdict| verdict.name.clone());
        outcomes.unusable_because = fault.or(outcomes.unusable_because).or_else(judged);
        let is_usable = outcomes.unusable_because.is_none();
        set.outcomes.push(outcomes);
        let Some(result) = result.filter(|_| is_usable) else { continue };
        for metric in ComparedMetric::ALL {
            let usage = trial.usage.as_ref();
            let value = match metric {
                ComparedMetric::ServerCpuNsPerRequest => usage.map(|usage| usage.cpu_ns_per_request),
                ComparedMetric::RssBytes => usage.map(|usage| usage.rss_bytes_peak as f64),
                ComparedMetric::CapacityPerS => {
                    trial.capacity.as_ref().and_then(|found| found.half_pass_per_s)
                }
                ComparedMetric::StartNs => {
                    trial.startup.as_ref().map(|startup| startup.first_answer_ns as f64)
                }
                ComparedMetric::RatePerS
                | ComparedMetric::ResponseTimeNsP50
                | ComparedMetric::ResponseTimeNsP99
                | ComparedMetric::ServiceTimeNsP50
                | ComparedMetric::ServiceTimeNsP99 => metric.value(&result),
            };
            if let Some(value) = value.filter(|value| *value > 0.0 && value.is_finite()) {
                set.values.entry(metric).or_default().push(value);
            }
        }
    }
    cells
}

/// The cells as a Markdown table with padded columns, which is readable in a terminal too; the failed requests and
/// the deciding metric of each cell first.
pub fn rounds_markdown(cells: &[CellComparison]) -> MarkdownText {
    let heads = [
        "server",
        "workload",
        "load",
        "metric",
        "first",
        "second",
        "second / first, 95 % interval",
        "decision",
    ];
    let mut lines: Vec<[MarkdownText; 8]> = vec![heads.map(MarkdownText::escaped)];
    for CellComparison { cell, comparison } in cells {
        let metrics = comparison.metrics.iter().map(|metric| {
            let [first, second, ratio, decision] = compared_cells(comparison, metric);
            [metric.metric.name().to_owned(), first, second, ratio, decision]
        });
        for (place, cells) in std::iter::once(failure_cells(comparison)).chain(metrics).enumerate() {
            let name = |text: &str| MarkdownText::escaped(if place == 0 { text } else { "" });
            let [metric, first, second, ratio, decision] = cells.map(|cell| MarkdownText::escaped(&cell));
            lines.push([
                name(&format!("{} {}", cell.server, cell.form)),
                name(&cell.workload),
                name(&cell.load),
                metric,
                first,
                second,
                ratio,
                decision,
            ]);
        }
    }
    let columns = |text: &MarkdownText| text.as_str().chars().count();
    let widths: [usize; 8] =
        std::array::from_fn(|column| lines.iter().map(|line| columns(&line[column])).max().unwrap_or(0));
    let mut text = MarkdownText::default();
    for (number, line) in lines.iter().enumerate() {
        let padded = line
            .iter()
            .zip(widths)
            .map(|(cell, width)| markdown!("{}{}", cell, " ".repeat(width - columns(cell))));
        text.push(&markdown!("| {} |\n", MarkdownText::joined(padded, " | ")));
        if number == 0 {
            let rules = widths.map(|width| MarkdownText::escaped(&"-".repeat(width + 2)));
            text.push(&markdown!("|{}|\n", MarkdownText::joined(rules, "|")));
        }
    }
    text.push(&markdown!(
        "\nRows in both rounds: {}. A difference in a row's deciding metric is reported only if it is significant after \
         Holm's correction over all rows. The rounds were measured at different times, so every ratio includes drift of the machine.\n",
        cells.len()
    ));
    text
}

#[cfg(test)]
#[path = "rounds/tests.rs"]
mod tests;
