//! Experiments that take several runs: the capacity of a server, whether two servers differ, and why one is not faster.
//!
//! This crate decides which load comes next and evaluates the results. It starts no process and reads no clock: the
//! binary implements [`LoadRunner`] (with `paceline run` as a child process), and the tests implement it with a
//! simulated server.

mod capacity;
mod capacity_text;
mod compare;
mod compare_html;
mod compare_text;
mod compared_metric;
mod conditions;
mod failures;
mod gate;
mod joint;
mod load;
mod metric_comparison;
mod next_step;
mod objective;
mod regression;
mod request_time;
mod rounds;
mod rounds_text;
mod why;
mod why_calls;
mod why_cause;
mod why_profile;
mod why_request_wait;
mod why_steps;
mod why_text;
mod why_waits;
mod window_outcome;

pub use capacity::{
    Capacity, CapacityPlan, CapacityProgress, CapacityWindow, Confirmation, CurvePoint, find_capacity,
};
pub use capacity_text::{capacity_text, rate as format_rate};
pub use compare::{
    ComparePlan, CompareProgress, ComparedSide, PairedComparison, SampleSet, compare_samples, observe,
    run_comparison,
};
pub use compare_html::compare_html;
pub use compare_text::{compare_markdown, compare_text, failure_sentence};
pub use compared_metric::{ComparedMetric, JudgedMetric};
pub use conditions::{Conditions, Difference};
pub use failures::{FailureComparison, FailureDirection, ObservedOutcomes, SideFailures};
pub use gate::{
    GatePolicy, GateResult, gate_annotations, gate_error_junit, gate_error_markdown, gate_junit,
    gate_markdown, gate_text, judge_gate,
};
pub use joint::JointComparison;
pub use load::{
    LoadError, LoadRequest, LoadResult, LoadRunner, LoadServerUse, RateUnit, RequestSummary, TimeSummary,
    warm_up,
};
pub use metric_comparison::{Direction, MetricComparison};
pub use next_step::NextStep;
pub use objective::{Objective, ObjectiveError};
pub use regression::{
    BlockSide, CellReport, CellVerdict, ERROR_RATE, EndedServer, GateLoad, GateMetric, JudgeRule,
    LoadFailures, MARGIN_SENTENCE, MovedCores, RegressionBench, RegressionOutcome, RegressionPlan,
    RegressionProfile, RegressionReport, SIDES, regression_annotations, regression_html, regression_junit,
    regression_markdown, regression_text, run_regression,
};
pub use rounds::{
    CellComparison, MARGIN, MatchedCell, RoundComparison, RoundSide, RowPlace, compare_rounds, requested,
};
pub use rounds_text::rounds_markdown;
pub use why::{RequestCost, Why, WhyLoad, explain_why};
pub use why_cause::Cause;
pub use why_text::why_text;
pub use window_outcome::WindowOutcome;
