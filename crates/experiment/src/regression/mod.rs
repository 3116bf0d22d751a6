//! Whether a change makes a server slower: two builds, measured side by side with a second copy of the base.
//!
//! A block starts the base, the candidate and the base again (the control), and puts every load on each of them in
//! turn. A metric's loss is the candidate's figure against the mean of both copies of the base; its noise is one copy
//! against the other. `cells.rs` tests the losses at the looks of a sequential test, `report.rs` has the types; this
//! file decides when to measure another block. Text is in `text.rs`, documents for CI are in `documents.rs`;
//! `profile.rs` has what a profile of both sides adds.

mod cells;
mod documents;
mod profile;
mod report;
mod text;

pub use documents::{regression_annotations, regression_html, regression_junit, regression_markdown};
pub use profile::RegressionProfile;
pub use report::{
    BlockSide, CellReport, CellVerdict, ERROR_RATE, EndedServer, GateLoad, GateMetric, JudgeRule,
    LoadFailures, MovedCores, RegressionOutcome, RegressionPlan, RegressionReport, SIDES,
};
pub use text::{MARGIN_SENTENCE, regression_text};

use crate::failures::{ObservedOutcomes, SideFailures, bad_beyond_chance, differs_beyond_chance};
use crate::load::{LoadError, LoadResult};
use cells::Cells;
use paceline_record::{Blame, Severity, Verdict};
use paceline_stats::next_look;
use report::{CANDIDATE, SCHEMA};
use std::time::Duration;

/// Tests of the failures of a load: of its failed requests, and of the launches that did not answer.
const FAILURE_TESTS: usize = 2;
/// Invalid by the server's fault because of the share of failed requests, which has a test of its own.
const FAILED_SHARE_VERDICTS: [&str; 2] = ["failed_requests", "no_valid_response"];

/// Measures blocks; the binary implements it with servers of the lab.
pub trait RegressionBench {
    /// Measures the block of this number, from 0. The order of the sides depends on it.
    ///
    /// # Errors
    /// [`LoadError`] if a server does not start, or a load has no result.
    fn block(&mut self, number: usize) -> Result<[BlockSide; SIDES], LoadError>;

    /// Time since the first block began.
    fn elapsed(&self) -> Duration;

    /// What was done so far because the host moved the cores; none if nothing was.
    fn moved_cores(&self) -> Option<MovedCores>;

    /// Waits until the machine is quiet, at most `limit`.
    fn wait_for_quiet(&mut self, limit: Duration);

    /// Measures the load with this index no more: later blocks have no windows of it. `why` is for people.
    fn leave_out(&mut self, load: usize, why: &str);
}

impl RegressionReport {
    /// The report of a gate that passes because nothing that could change the speed differs.
    pub fn passed_unmeasured(plan: &RegressionPlan, reason: &str) -> Self {
        let mut report = Gate::new(plan).report(Duration::ZERO, None, RegressionOutcome::Passed);
        report.failures.clear();
        reason.clone_into(&mut report.reason);
        report
    }
}

/// Measures until the gate is decided or its budget is used up.
///
/// # Errors
/// [`LoadError`] if a server does not start, a load has no result, no side answers a load, or both copies of the base end
/// under one; an interruption is a result.
pub fn run_regression(
    bench: &mut dyn RegressionBench,
    plan: &RegressionPlan,
    observer: &mut dyn FnMut(&RegressionReport),
) -> Result<RegressionReport, LoadError> {
    let mut gate = Gate::new(plan);
    loop {
        let sides = match bench.block(gate.blocks) {
            Err(LoadError::Interrupted) => {
                let interrupted = RegressionOutcome::Interrupted;
                return Ok(gate.report(bench.elapsed(), bench.moved_cores(), interrupted));
            }
            sides => sides?,
        };
        let was_disturbed = gate.take(&sides);
        gate.check_responses()?;
        for load in gate.leave_out_missing() {
            bench.leave_out(load, &text::left_out_sentence(&gate.failures[load]));
        }
        let elapsed = bench.elapsed();
        let each = elapsed / u32::try_from(gate.blocks).unwrap_or(u32::MAX);
        let is_last = next_look(gate.blocks).is_none() || elapsed + each > plan.budget;
        gate.look(is_last);
        let outcome = gate.outcome();
        let report = gate.report(elapsed, bench.moved_cores(), outcome);
        observer(&report);
        if outcome != RegressionOutcome::Undecided || is_last || gate.has_nothing_left() {
            return Ok(report);
        }
        if was_disturbed {
            bench.wait_for_quiet(plan.budget.saturating_sub(elapsed + each));
        }
    }
}

/// Whether a window is invalid by the server's own fault. Overload is a matter of speed.
fn is_own_fault(window: &LoadResult) -> bool {
    window.verdicts.iter().any(is_fault)
}

fn is_fault(verdict: &Verdict) -> bool {
    verdict.blame == Blame::Server && verdict.severity == Severity::Invalid && verdict.name != "saturated"
}

/// Whether the server did not answer, for a reason that the failed requests of a window do not show: one that stops
/// answering need not have many. A window with too many failed requests is no such case: with a share near the limit,
/// every second window of an unchanged server is beyond it.
fn is_unanswered(window: &LoadResult) -> bool {
    let is_share = |verdict: &Verdict| FAILED_SHARE_VERDICTS.contains(&verdict.name.as_str());
    window.verdicts.iter().any(|verdict| is_fault(verdict) && !is_share(verdict))
}

/// The outcomes of a window's requests. In a window that the generator or the machine disturbed, requests without a
/// response do not count: that they were not sent in time, or not read, is not the server's fault.
fn outcomes_of(window: &LoadResult) -> ObservedOutcomes {
    let all = ObservedOutcomes::from_result(window);
    let lost = window.void_because().map_or(0, |_| all.censored);
    let (scheduled, not_ok) = (all.scheduled.saturating_sub(lost), all.not_ok.saturating_sub(lost));
    ObservedOutcomes { scheduled, not_ok, ..all }
}

/// What the failures of a load are judged by, beside their counts: that of the base, both copies, and that of the
/// candidate.
#[derive(Clone, Default)]
struct FailureEvidence {
    /// The outcomes of each window.
    outcomes: [Vec<ObservedOutcomes>; 2],
    /// The launches that did not answer in some window. The windows of one launch are not independent.
    unanswered: [usize; 2],
}

/// The state of a gate.
struct Gate<'a> {
    plan: &'a RegressionPlan,
    cells: Cells,
    failures: Vec<LoadFailures>,
    /// The evidence for the failures of each load.
    evidence: Vec<FailureEvidence>,
    /// The loads that the base does not have.
    left_out: Vec<usize>,
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
            evidence: vec![FailureEvidence::default(); plan.loads.len()],
            left_out: Vec::new(),
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
        self.disturbed > disturbed_before
    }

    /// Tests metrics and failures if they are due: at a look, and after the last block, so that all blocks of the budget
    /// are used. When the budget ends does not depend on the figures.
    fn look(&mut self, is_last: bool) {
        if is_last {
            self.cells.last_look();
        } else if self.is_at_look() {
            self.cells.look();
        } else {
            return;
        }
        self.judge_failures();
    }

    fn count_failures(&mut self, sides: &[BlockSide; SIDES]) {
        for (load, (failures, evidence)) in self.failures.iter_mut().zip(&mut self.evidence).enumerate() {
            for (place, side) in sides.iter().enumerate() {
                let windows: &[LoadResult] = side.windows.get(load).map_or(&[], Vec::as_slice);
                let invalid = windows.iter().filter(|window| is_own_fault(window)).count();
                let is_candidate = place == CANDIDATE;
                let counted =
                    if is_candidate { &mut failures.candidate_windows } else { &mut failures.base_windows };
                *counted = [counted[0] + windows.len(), counted[1] + invalid];
                let ended = side.ended.as_ref().filter(|ended| ended.load <= load);
                if ended.is_none_or(|ended| ended.load == load) {
                    let is_bad = ended.is_some() || windows.iter().any(is_unanswered);
                    evidence.unanswered[usize::from(is_candidate)] += usize::from(is_bad);
                    failures.count_launch(is_candidate, ended);
                }
                evidence.outcomes[usize::from(is_candidate)].extend(windows.iter().map(outcomes_of));
            }
            let sides = evidence.outcomes.each_ref();
            let [base, candidate] = sides.map(|side| SideFailures::from_outcomes(side));
            (failures.base_requests, failures.base_failed) = (base.scheduled, base.not_ok);
            (failures.candidate_requests, failures.candidate_failed) =
                (candidate.scheduled, candidate.not_ok);
        }
    }

    /// An error if no request of a load had a valid response, whatever the side, or if every server of the base ended
    /// under it: the load is wrong, and more blocks would not make it right. A base that does not have the path yet is no
    /// error, and neither is a candidate that lost it.
    fn check_responses(&self) -> Result<(), LoadError> {
        let always_ends = |failures: &&LoadFailures| {
            let [launches, ended] = failures.base_launches;
            ended > 0 && ended == launches
        };
        if let Some(failures) = self.failures.iter().find(always_ends) {
            return Err(LoadError::Failed(format!(
                "both servers of {} ended under the load `{}` (see above): there is nothing to compare with",
                self.plan.names[0], failures.load
            )));
        }
        let fails = |failed: u64, requests: u64| requests > 0 && failed == requests;
        let all_fail = |failures: &&LoadFailures| {
            fails(failures.base_failed, failures.base_requests)
                && fails(failures.candidate_failed, failures.candidate_requests)
        };
        let Some(failures) = self.failures.iter().find(all_fail) else { return Ok(()) };
        Err(LoadError::Failed(format!(
            "neither base nor candidate gave a valid response to the load `{}` ({} requests): check its path and \
             flags; show one response with `paceline run URL --debug`",
            failures.load,
            failures.base_requests.saturating_add(failures.candidate_requests)
        )))
    }

    /// Leaves out the loads that the base does not have, such as that of a new path: the base gave no valid response, and
    /// the candidate gave some. More blocks would not make them comparable. Returns those that are left out now.
    fn leave_out_missing(&mut self) -> Vec<usize> {
        let is_missing = |load: &usize| {
            let failures = &self.failures[*load];
            failures.base_requests > 0
                && failures.base_failed == failures.base_requests
                && failures.candidate_failed < failures.candidate_requests
                && !self.left_out.contains(load)
        };
        let missing: Vec<usize> = (0..self.failures.len()).filter(is_missing).collect();
        for load in &missing {
            self.cells.leave_out(*load);
        }
        self.left_out.extend(&missing);
        missing
    }

    /// Whether nothing can be compared because the base does not have the loads.
    fn has_nothing_left(&self) -> bool {
        let is_left_out = self.left_out.len() == self.plan.loads.len() || self.cells.is_empty();
        !self.left_out.is_empty() && is_left_out
    }

    /// Whether the metrics are tested after the last block.
    fn is_at_look(&self) -> bool {
        self.blocks > 0 && next_look(self.blocks - 1) == Some(self.blocks)
    }

    /// Compares the failed requests: at the looks of the metrics and after the last block, because a test after every
    /// block would call chance a difference more often. One load is enough to fail, so the loads share the error rate,
    /// as the cells do, and so do both tests of a load. Each test compares the sides, so that what happens on both as
    /// often decides against none. If the budget ends before the first look, too little is known for a test: then only
    /// a candidate that fails most requests, or whose server always ends, is worse.
    fn judge_failures(&mut self) {
        let has_look = next_look(0).is_none_or(|first| self.blocks >= first);
        let tests = FAILURE_TESTS * self.failures.len();
        for (failures, evidence) in self.failures.iter_mut().zip(&self.evidence) {
            let [of_base, of_candidate] = &evidence.outcomes;
            let [base_unanswered, candidate_unanswered] = evidence.unanswered;
            let base_launches = [failures.base_launches[0], base_unanswered];
            let candidate_launches = [failures.candidate_launches[0], candidate_unanswered];
            let [base, candidate] = failures.shares();
            let is_more = candidate > base + self.plan.max_failures
                && differs_beyond_chance(of_base, of_candidate, tests);
            failures.is_worse = match has_look {
                true => is_more || bad_beyond_chance(base_launches, candidate_launches, tests),
                false => failures.fails_most(),
            };
        }
    }

    /// The outcome so far. Failures are compared first.
    fn outcome(&self) -> RegressionOutcome {
        let has_look = next_look(0).is_some_and(|first| self.blocks >= first);
        let fails = self.failures.iter().any(|failures| failures.is_worse);
        let only_candidate_ends = self.failures.iter().any(LoadFailures::only_candidate_ends);
        if fails || self.cells.any_worse() {
            RegressionOutcome::Failed
        } else if only_candidate_ends {
            RegressionOutcome::Undecided
        } else if has_look && !self.has_nothing_left() && self.cells.all_excluded() {
            RegressionOutcome::Passed
        } else {
            RegressionOutcome::Undecided
        }
    }

    fn report(
        &self,
        elapsed: Duration,
        moved_cores: Option<MovedCores>,
        outcome: RegressionOutcome,
    ) -> RegressionReport {
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
            moved_cores,
            elapsed_s: elapsed.as_secs_f64(),
            budget_s: self.plan.budget.as_secs_f64(),
            error_rate: ERROR_RATE,
            judge: self.plan.judge,
            metrics: self.cells.reports(),
            failures: self.failures.clone(),
            notes: self.plan.notes.clone(),
            profile: None,
        };
        let left_out: Vec<&LoadFailures> = self.left_out.iter().map(|load| &self.failures[*load]).collect();
        report.notes.extend(left_out.iter().map(|failures| text::left_out_sentence(failures)));
        let is_empty = outcome == RegressionOutcome::Undecided && self.has_nothing_left();
        report.reason = match is_empty {
            true => text::nothing_left_reason(&left_out),
            false => text::reason(&report, &self.cells.untested()),
        };
        report
    }
}

#[cfg(test)]
pub(crate) mod tests;
