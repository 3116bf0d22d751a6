//! Whether a change makes a server slower: two builds, measured side by side with a second copy of the base.
//!
//! A block starts the base, the candidate and the base again (the control), and puts every load on each of them in
//! turn. A metric's loss is the candidate's figure against the mean of both copies of the base; its noise is one copy
//! against the other. `cells.rs` tests the losses at the looks of a sequential test; this file decides when to measure
//! another block. Text is in `text.rs`, documents for CI are in `documents.rs`.

mod cells;
mod documents;
mod text;

pub use cells::{CellReport, CellVerdict};
pub use documents::{regression_annotations, regression_html, regression_junit, regression_markdown};
pub use text::{MARGIN_SENTENCE, regression_text};

use crate::compare::ComparedMetric;
use crate::load::{LoadError, LoadResult};
use cells::Cells;
use paceline_record::{Blame, Severity, Verdict};
use paceline_stats::next_look;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The version of the report's keys.
const SCHEMA: u32 = 1;
/// The share of gates that fail although no judged loss is larger than its margin, at most.
pub const ERROR_RATE: f64 = 0.05;
/// The sides of a block: base, candidate, and the base again.
pub const SIDES: usize = 3;
const BASE: usize = 0;
const CANDIDATE: usize = 1;
const CONTROL: usize = 2;

/// A metric with the largest loss that is accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateMetric {
    /// The metric.
    pub metric: ComparedMetric,
    /// The largest accepted loss, as a share: 0.05.
    pub margin: f64,
}

/// A load of the gate.
#[derive(Clone, Debug, PartialEq)]
pub struct GateLoad {
    /// Its name.
    pub name: String,
    /// The metrics that are judged under it.
    pub metrics: Vec<GateMetric>,
}

/// Which metrics must exclude a loss for the gate to pass. Each can fail it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JudgeRule {
    /// All of them.
    All,
    /// Of each load, the one whose control pair scatters least, as a share of its margin.
    Quietest,
}

/// What is measured and how it is judged.
#[derive(Clone, Debug)]
pub struct RegressionPlan {
    /// What base and candidate are, for people.
    pub names: [String; 2],
    /// The loads.
    pub loads: Vec<GateLoad>,
    /// Metrics of a launch: memory and start-up.
    pub launch: Vec<GateMetric>,
    /// Which metrics must exclude a loss.
    pub judge: JudgeRule,
    /// The time within which it must be decided.
    pub budget: Duration,
    /// The share of failed requests by which the candidate may exceed the base.
    pub failures_most: f64,
    /// Facts to print beside the result: the same content on both sides, uncommitted changes.
    pub notes: Vec<String>,
}

/// One side in one block.
#[derive(Clone, Debug, Default)]
pub struct BlockSide {
    /// From the start to the first response, in nanoseconds.
    pub start_ns: Option<u64>,
    /// Resident memory after the last load, in bytes.
    pub rss_bytes: Option<u64>,
    /// The windows of each load. Of one that the generator or the machine disturbed, only the CPU time per request
    /// counts.
    pub windows: Vec<Vec<LoadResult>>,
}

/// Measures blocks; the binary implements it with servers of the lab.
pub trait RegressionBench {
    /// Measures the block of this number, from 0. The order of the sides depends on it.
    ///
    /// # Errors
    /// [`LoadError`] if a server does not start, or a load has no result.
    fn block(&mut self, number: usize) -> Result<[BlockSide; SIDES], LoadError>;

    /// Time since the first block began.
    fn elapsed(&self) -> Duration;

    /// Waits until the machine is quiet, at most `limit`.
    fn wait_for_quiet(&mut self, limit: Duration);
}

/// How a gate ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RegressionOutcome {
    /// A loss beyond the margin is excluded.
    Passed,
    /// A loss beyond the margin is proven, or more requests fail.
    Failed,
    /// Neither, within the budget.
    Undecided,
    /// The user stopped it before a decision.
    Interrupted,
}

/// Requests of one load, all blocks together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFailures {
    /// The load.
    pub load: String,
    /// Requests that the base should have answered, both copies.
    pub base_requests: u64,
    /// Those that did not end ok.
    pub base_failed: u64,
    /// The same of the candidate.
    pub candidate_requests: u64,
    /// Those that did not end ok.
    pub candidate_failed: u64,
    /// The base's windows, both copies, and those that are invalid by its own fault.
    pub base_windows: [usize; 2],
    /// The same of the candidate.
    pub candidate_windows: [usize; 2],
    /// Whether the candidate fails more often than accepted.
    pub is_worse: bool,
}

impl LoadFailures {
    fn share(failed: u64, requests: u64) -> f64 {
        failed as f64 / requests.max(1) as f64
    }

    /// Whether most windows of the candidate are invalid by its own fault, and not those of the base: a server that stops
    /// answering need not have many failed requests.
    fn is_invalid(&self) -> bool {
        let is_most = |[all, invalid]: [usize; 2]| 2 * invalid > all;
        is_most(self.candidate_windows) && !is_most(self.base_windows)
    }

    /// The failed shares of base and candidate.
    pub fn shares(&self) -> [f64; 2] {
        [
            Self::share(self.base_failed, self.base_requests),
            Self::share(self.candidate_failed, self.candidate_requests),
        ]
    }
}

/// The result of a gate. Its keys are stable; new ones are added beside them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RegressionReport {
    /// The version of these keys.
    pub schema: u32,
    /// How it ended.
    pub outcome: RegressionOutcome,
    /// The same in one sentence.
    pub reason: String,
    /// The base.
    pub base: String,
    /// The candidate.
    pub candidate: String,
    /// Blocks.
    pub blocks: usize,
    /// Windows, all sides and loads together.
    pub windows: usize,
    /// Windows of which only the CPU time per request counts, because the generator or the machine was disturbed.
    pub disturbed_windows: usize,
    /// Why the last of these was disturbed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub disturbed_by: Option<String>,
    /// How long the measurement took, in seconds.
    pub elapsed_s: f64,
    /// How long it could have taken, in seconds.
    pub budget_s: f64,
    /// The share of gates that fail although no judged loss is larger than its margin, at most.
    pub error_rate: f64,
    /// Which metrics must exclude a loss.
    pub judge: JudgeRule,
    /// The metrics of each load, then those of a launch.
    pub metrics: Vec<CellReport>,
    /// Failed requests of each load.
    pub failures: Vec<LoadFailures>,
    /// Facts beside the result.
    pub notes: Vec<String>,
}

impl RegressionReport {
    /// The report of a gate that passes because nothing that could change the speed differs.
    pub fn passed_unmeasured(plan: &RegressionPlan, reason: &str) -> Self {
        let mut report = Gate::new(plan).report(Duration::ZERO, RegressionOutcome::Passed);
        report.failures.clear();
        reason.clone_into(&mut report.reason);
        report
    }
}

/// Measures until the gate is decided or its budget is used up.
///
/// # Errors
/// [`LoadError`] if a server does not start or a load has no result; an interruption is a result.
pub fn run_regression(
    bench: &mut dyn RegressionBench,
    plan: &RegressionPlan,
    observer: &mut dyn FnMut(&RegressionReport),
) -> Result<RegressionReport, LoadError> {
    let mut gate = Gate::new(plan);
    loop {
        let was_disturbed = match bench.block(gate.blocks) {
            Err(LoadError::Interrupted) => {
                return Ok(gate.report(bench.elapsed(), RegressionOutcome::Interrupted));
            }
            sides => gate.take(&sides?),
        };
        let elapsed = bench.elapsed();
        let outcome = gate.outcome();
        let each = elapsed / u32::try_from(gate.blocks).unwrap_or(u32::MAX);
        let is_last = next_look(gate.blocks).is_none() || elapsed + each > plan.budget;
        let report = gate.report(elapsed, outcome);
        observer(&report);
        if outcome != RegressionOutcome::Undecided || is_last {
            return Ok(report);
        }
        if was_disturbed {
            bench.wait_for_quiet(plan.budget.saturating_sub(elapsed + each));
        }
    }
}

/// Whether a window is invalid by the server's own fault. Overload is a matter of speed.
fn is_own_fault(window: &LoadResult) -> bool {
    let is_own = |verdict: &Verdict| {
        verdict.blame == Blame::Server && verdict.severity == Severity::Invalid && verdict.name != "saturated"
    };
    window.verdicts.iter().any(is_own)
}

/// The state of a gate.
struct Gate<'a> {
    plan: &'a RegressionPlan,
    cells: Cells,
    failures: Vec<LoadFailures>,
    blocks: usize,
    windows: usize,
    disturbed: usize,
    disturbed_by: Option<String>,
}

impl<'a> Gate<'a> {
    fn new(plan: &'a RegressionPlan) -> Self {
        let of_load = |load: &GateLoad| LoadFailures { load: load.name.clone(), ..LoadFailures::default() };
        Self {
            plan,
            cells: Cells::new(plan),
            failures: plan.loads.iter().map(of_load).collect(),
            blocks: 0,
            windows: 0,
            disturbed: 0,
            disturbed_by: None,
        }
    }

    /// Adds a block. Returns whether any of its windows was disturbed.
    fn take(&mut self, sides: &[BlockSide; SIDES]) -> bool {
        let disturbed_before = self.disturbed;
        for window in sides.iter().flat_map(|side| side.windows.iter().flatten()) {
            self.windows += 1;
            if let Some(verdict) = window.void_because() {
                self.disturbed += 1;
                self.disturbed_by = Some(verdict.name.clone());
            }
        }
        self.blocks += 1;
        self.count_failures(sides);
        self.cells.add(sides);
        if next_look(self.blocks - 1) == Some(self.blocks) {
            self.cells.look();
        }
        self.disturbed > disturbed_before
    }

    fn count_failures(&mut self, sides: &[BlockSide; SIDES]) {
        for (load, failures) in self.failures.iter_mut().enumerate() {
            let counts = |side: &BlockSide| {
                let windows = side.windows.get(load).into_iter().flatten();
                windows.fold((0, 0, [0, 0]), |(requests, failed, [all, invalid]), window| {
                    let missing = window.scheduled.saturating_sub(window.ok);
                    let invalid = invalid + usize::from(is_own_fault(window));
                    (requests + window.scheduled, failed + missing, [all + 1, invalid])
                })
            };
            let add = |sum: &mut [usize; 2], [all, invalid]: [usize; 2]| {
                *sum = [sum[0] + all, sum[1] + invalid];
            };
            for side in [BASE, CONTROL] {
                let (requests, failed, windows) = counts(&sides[side]);
                failures.base_requests += requests;
                failures.base_failed += failed;
                add(&mut failures.base_windows, windows);
            }
            let (requests, failed, windows) = counts(&sides[CANDIDATE]);
            failures.candidate_requests += requests;
            failures.candidate_failed += failed;
            add(&mut failures.candidate_windows, windows);
            let [base, candidate] = failures.shares();
            failures.is_worse = candidate > base + self.plan.failures_most || failures.is_invalid();
        }
    }

    /// The outcome so far. Failures are compared first.
    fn outcome(&self) -> RegressionOutcome {
        let has_look = next_look(0).is_some_and(|first| self.blocks >= first);
        let fails = has_look && self.failures.iter().any(|failures| failures.is_worse);
        if fails || self.cells.any_worse() {
            RegressionOutcome::Failed
        } else if has_look && self.cells.all_excluded() {
            RegressionOutcome::Passed
        } else {
            RegressionOutcome::Undecided
        }
    }

    fn report(&self, elapsed: Duration, outcome: RegressionOutcome) -> RegressionReport {
        let mut report = RegressionReport {
            schema: SCHEMA,
            outcome,
            reason: String::new(),
            base: self.plan.names[0].clone(),
            candidate: self.plan.names[1].clone(),
            blocks: self.blocks,
            windows: self.windows,
            disturbed_windows: self.disturbed,
            disturbed_by: self.disturbed_by.clone(),
            elapsed_s: elapsed.as_secs_f64(),
            budget_s: self.plan.budget.as_secs_f64(),
            error_rate: ERROR_RATE,
            judge: self.plan.judge,
            metrics: self.cells.reports(),
            failures: self.failures.clone(),
            notes: self.plan.notes.clone(),
        };
        report.reason = text::reason(&report);
        report
    }
}

#[cfg(test)]
pub(crate) mod tests;
