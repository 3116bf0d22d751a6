//! Judges how far a record's numbers can be trusted: verdicts, gates and metrics, as tables and pure functions of
//! records.
//!
//! The binary requests the verdicts and gates on a run, the lab those on a trial, a report those on a row. A verdict
//! corrects nothing and drops nothing: the number stays beside it.

mod answers;
mod cpu_parts;
mod facts;
mod frequency;
pub mod gate;
mod generator;
mod limit;
mod load;
mod loaders;
mod memory;
mod metric;
mod network;
mod overload;
mod row;
mod server;
mod silence;
mod steady;
mod table;
mod trial;
mod usable;
mod verdict;

pub use answers::MAX_NOT_OK_SHARE;
pub use cpu_parts::{CpuPart, cpu_parts_of_run, cpu_parts_of_trial};
pub use facts::{MIN_ACHIEVED, MIN_FULL, achieved_share, core_list, percentiles_of_run};
pub use generator::{MAX_DISTURBANCE, MAX_GENERATOR_BUSY, is_generator_bound};
pub use limit::{cores_with_paceline, run_limit};
pub use memory::is_server_short_of_memory;
pub use metric::{
    Better, Metric, MetricColumn, NO_SPREAD, SAMPLES_FOR_INTERVAL, Unit, Value, judged_times,
    metric_reference,
};
pub use overload::fell_short;
pub use row::{row_verdicts, unequal_work};
pub use server::{most_delayed_share, server_limit};
pub use table::{TypedVerdict, VerdictName};
pub use trial::{FullCore, full_cores, process_name, trial_limit, trial_verdicts};
pub use usable::unusable_because;
pub use verdict::{Scope, VerdictDoc, verdict_reference};

use paceline_record::{Run, Trial, Verdict};

/// A judge of a run.
type Judge = fn(&Run) -> Option<TypedVerdict>;

/// The judges of a run, in the order of their verdicts within a severity. True for those that judge a share of the
/// window, or a change in it.
const JUDGES: [(Judge, bool); 54] = [
    (load::nothing_scheduled, false),
    (load::nothing_sent, false),
    (answers::body_changed, false),
    (answers::no_valid_response, false),
    (silence::stopped_answering, false),
    (silence::held_connections, true),
    (load::gave_up, false),
    (loaders::lost, false),
    (loaders::apart, false),
    (loaders::differ, false),
    (loaders::network_bound, true),
    (generator::throttled, true),
    (generator::stall, true),
    (generator::slow_body_file, true),
    (load::outage, false),
    (answers::broke_rules, false),
    (answers::starved_connections, false),
    (generator::bound, true),
    (overload::saturated, false),
    (server::busy, true),
    (generator::lag, false),
    (generator::own_queue, false),
    (generator::arrivals_off, false),
    (overload::too_few_connections, false),
    (load::idle_connections, true),
    (answers::streams_limited, false),
    (answers::compressed_unasked, false),
    (answers::cookies_dropped, false),
    (answers::ended_after_cancels, false),
    (answers::listen_overflows, false),
    (network::syn_retransmits, false),
    (network::retransmits, false),
    (network::receive_window_full, true),
    (answers::failed_requests, false),
    (answers::censored, false),
    (load::connections_short, false),
    (answers::keep_alive_refused, false),
    (steady::not_steady, true),
    (answers::delayed_ack, false),
    (generator::descheduled, true),
    (server::descheduled, true),
    (server::throttled, false),
    (memory::bound, false),
    (memory::growing, false),
    (network::major_faults, false),
    (generator::steal, true),
    (generator::suspended, false),
    (frequency::thermal_throttling, false),
    (frequency::frequency_changed, true),
    (answers::clocks_differ, false),
    (answers::no_message_times, false),
    (answers::body_length_varies, false),
    (answers::too_short, false),
    (answers::few_samples, false),
];

/// Every verdict on a run, the most severe first.
pub fn run_verdicts(run: &Run) -> Vec<Verdict> {
    let is_short = run.window_s < facts::SHARES_NEED_S;
    let judges = JUDGES.iter().filter(|(_, is_share)| !(is_short && *is_share));
    verdict::verdicts(judges.filter_map(|(judge, _)| judge(run)))
}

/// Judges a run: sets its verdicts and the outcomes of its gates.
pub fn judge_run(run: &mut Run, gates: &[gate::Gate]) {
    run.not_ok_share_allowed = gate::not_ok_share_allowed(gates, run.total.counts.scheduled);
    run.verdicts = run_verdicts(run);
    run.gates = gate::judge(gates, run);
}

/// Judges a trial: adds its verdicts and sets its limit. Its run was judged without the server's figures; with them a
/// busy generator may not have been the bottleneck.
pub fn judge_trial(trial: &mut Trial) {
    let found = trial_verdicts(trial);
    trial.verdicts.extend(found);
    trial.limit = trial_limit(trial);
    let server_utilization = generator::server_utilization(trial);
    if let Some(run) = trial.run.as_mut().filter(|run| !generator::is_bound(run, server_utilization)) {
        run.verdicts.retain(|verdict| verdict.name != VerdictName::GeneratorBound.as_str());
    }
}

#[cfg(test)]
mod tests;
