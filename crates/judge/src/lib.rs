//! Judges how far a record's numbers can be trusted: verdicts, gates and metrics, as tables and pure functions of
//! records.
//!
//! The binary requests the verdicts and gates on a run, the lab those on a trial, a report those on a row. A verdict
//! corrects nothing and drops nothing: the number stays beside it.

mod answers;
mod facts;
pub mod gate;
mod generator;
mod load;
mod loaders;
mod metric;
mod steady;
mod table;
mod trial;
mod usable;
mod verdict;

pub use answers::NOT_OK_SHARE_MOST;
pub use facts::{ACHIEVED_LEAST, achieved_share, percentiles_of_run};
pub use generator::{DISTURBANCE_MOST, GENERATOR_BUSY_MOST};
pub use load::{fell_short, server_limit};
pub use metric::{
    Better, Metric, MetricColumn, NO_SPREAD, SAMPLES_FOR_INTERVAL, Unit, Value, judged_times,
    metric_reference,
};
pub use table::{TypedVerdict, VerdictName};
pub use trial::{
    DELAYED_LEAST, FULL_LEAST, FullCore, cores_used, full_cores, limit, memory_shortage, process_name,
    row_verdicts, trial_verdicts, unequal_work,
};
pub use usable::unusable_because;
pub use verdict::{Scope, VerdictDoc, verdict_reference};

use paceline_record::{Run, Verdict};

/// Every verdict on a run, the most severe first.
pub fn run_verdicts(run: &Run) -> Vec<Verdict> {
    let judges: [fn(&Run) -> Option<TypedVerdict>; 34] = [
        load::nothing_scheduled,
        load::nothing_sent,
        answers::no_valid_response,
        load::gave_up,
        loaders::lost,
        loaders::apart,
        loaders::differ,
        loaders::network_bound,
        generator::throttled,
        generator::stall,
        load::outage,
        answers::broke_rules,
        answers::starved_connections,
        generator::bound,
        load::saturated,
        load::server_busy,
        generator::lag,
        generator::own_queue,
        generator::arrivals_off,
        load::too_few_connections,
        load::idle_connections,
        answers::streams_limited,
        answers::compressed_unasked,
        answers::cookies_dropped,
        answers::failed_requests,
        answers::censored,
        load::connections_short,
        answers::keep_alive_refused,
        steady::not_steady,
        answers::delayed_ack,
        generator::descheduled,
        generator::steal,
        answers::body_length_varies,
        answers::few_samples,
    ];
    verdict::verdicts(judges.iter().filter_map(|judge| judge(run)))
}

/// Judges a run: sets its verdicts and the outcomes of its gates.
pub fn judge_run(run: &mut Run, gates: &[gate::Gate]) {
    run.not_ok_share_allowed = gate::not_ok_share_allowed(gates, run.total.counts.scheduled);
    run.verdicts = run_verdicts(run);
    run.gates = gate::judge(gates, run);
}

#[cfg(test)]
mod tests;
