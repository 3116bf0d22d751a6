//! What a gate between two builds measures, and its report.

use super::profile::RegressionProfile;
use crate::compared_metric::ComparedMetric;
use crate::load::{LoadResult, Range};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The version of the report's keys.
pub(super) const SCHEMA: u32 = 1;
/// The share of gates that fail although no judged loss is larger than its margin, at most.
pub const ERROR_RATE: f64 = 0.05;
/// The sides of a block: base, candidate, and the base again.
pub const SIDES: usize = 3;
pub(super) const BASE: usize = 0;
pub(super) const CANDIDATE: usize = 1;
pub(super) const CONTROL: usize = 2;

/// A metric with the largest loss that is accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct GateMetric {
    /// The metric.
    pub metric: ComparedMetric,
    /// The request of a mix whose time it is, without spaces; none for all requests.
    pub step: Option<String>,
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
    pub max_failures: f64,
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
    /// That its server ended under a load. The loads after it have no windows.
    pub ended: Option<EndedServer>,
}

/// A server that ended under a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedServer {
    /// The load, by its place.
    pub load: usize,
    /// How it ended, in a few words: `exit status 1`.
    pub how: String,
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
    /// The base's launches under this load, both copies, and those whose server ended under it.
    #[serde(default)]
    pub base_launches: [usize; 2],
    /// The same of the candidate.
    #[serde(default)]
    pub candidate_launches: [usize; 2],
    /// How the last of the candidate's servers ended that did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub candidate_ended_with: Option<String>,
    /// Whether the candidate fails more often than accepted.
    pub is_worse: bool,
}

impl LoadFailures {
    fn share(failed: u64, requests: u64) -> f64 {
        failed as f64 / requests.max(1) as f64
    }

    /// Counts a launch, and how its server ended, if it did.
    pub(super) fn count_launch(&mut self, is_candidate: bool, ended: Option<&EndedServer>) {
        let counted = if is_candidate { &mut self.candidate_launches } else { &mut self.base_launches };
        *counted = [counted[0] + 1, counted[1] + usize::from(ended.is_some())];
        if let Some(ended) = ended.filter(|_| is_candidate) {
            self.candidate_ended_with = Some(ended.how.clone());
        }
    }

    /// Whether most requests of the candidate fail, or its server always ends, and not so the base.
    pub(super) fn fails_most(&self) -> bool {
        let [base, candidate] = self.shares();
        let [launches, ended] = self.candidate_launches;
        candidate > 0.5 && base <= 0.5 || self.only_candidate_ends() && ended == launches
    }

    /// Whether a server ended under the load.
    pub(super) fn has_ended(&self) -> bool {
        self.candidate_launches[1] + self.base_launches[1] > 0
    }

    /// Whether the candidate's server ended in some launch, and that of the base in none.
    pub(super) fn only_candidate_ends(&self) -> bool {
        self.candidate_launches[1] > 0 && self.base_launches[1] == 0
    }

    /// The failed shares of base and candidate.
    pub fn shares(&self) -> [f64; 2] {
        [
            Self::share(self.base_failed, self.base_requests),
            Self::share(self.candidate_failed, self.candidate_requests),
        ]
    }
}

/// What a gate did because the host of a virtual machine moved its cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MovedCores {
    /// Windows that were measured again because the cores were moved meanwhile.
    pub repeated_windows: usize,
    /// How long windows were delayed until the cores were as far apart as usual, in seconds.
    pub waited_s: f64,
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
    /// What was done because the host moved the cores; none if nothing was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub moved_cores: Option<MovedCores>,
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
    /// The profiles of both sides, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub profile: Option<RegressionProfile>,
}

/// What is proven about one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CellVerdict {
    /// The candidate's loss is larger than the margin.
    Worse,
    /// The candidate has a loss, which is smaller than the margin.
    SlightlyWorse,
    /// A loss larger than the margin is excluded.
    NotWorse,
    /// The candidate is better.
    Better,
    /// Nothing is proven.
    Undecided,
    /// A loss larger than the margin would be proven, but both copies of the base differ by as much.
    WithinNoise,
}

/// One metric of a gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellReport {
    /// The load; none for a metric of a launch.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub load: Option<String>,
    /// The metric.
    pub metric: ComparedMetric,
    /// The request of a mix whose time it is; none for all requests.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub step: Option<String>,
    /// The largest accepted loss, as a share.
    pub margin: f64,
    /// Whether the gate passes only if this metric excludes a loss.
    pub is_judge: bool,
    /// Blocks that count for it.
    pub blocks: usize,
    /// Geometric mean of the base, both copies.
    pub base: f64,
    /// Geometric mean of the candidate.
    pub candidate: f64,
    /// Candidate divided by base.
    pub ratio: f64,
    /// The range of the ratio that matches the verdict.
    pub ratio_interval: Range,
    /// The largest difference of both copies of the base that its interval includes, as a share.
    pub noise: f64,
    /// The smallest loss that this look proves with 80 % probability, as a share.
    pub detectable_loss: f64,
    /// The verdict.
    pub verdict: CellVerdict,
}

impl CellReport {
    /// The metric's name, such as `rate` or `step(login).p99`.
    pub fn metric_name(&self) -> String {
        self.metric.name_of(self.step.as_deref())
    }
}
