//! Judges how the generator and its machine affected the numbers.
//!
//! Every judge is a pure function of the run. The scale for time lost to the environment is the same for a run and a
//! trial: above it a round retries the trial.

use crate::facts::{
    DISTURBANCE_LEAST, achieved_share, is_open, is_pinned, is_throttled, pin, throttled_share,
};
use crate::{ACHIEVED_LEAST, TypedVerdict};
use paceline_record::{CoreTime, Run, Severity};

/// A generator busier than this share of a core was the bottleneck, or close to it.
pub const GENERATOR_BUSY_MOST: f64 = 0.9;
/// Above this share of time lost to other processes or to the hypervisor the number is spoiled: one request in ten met
/// other work. The self-test calls a machine unfit above the same share.
pub const DISTURBANCE_MOST: f64 = 0.1;
/// Share of the response time from which generator lag matters.
const LAG_SHARE_MOST: f64 = 0.1;
/// Generator lag below this, in nanoseconds, is normal for a sleeping generator: timers wake late.
const LAG_UNAVOIDABLE_NS: u64 = 200_000;
/// Minimum lag of a generator stall, in nanoseconds,
const STALL_NS_LEAST: u64 = 10_000_000;
/// and its share of the window: above it the stall is in the 99th percentile.
const STALL_SHARE_LEAST: f64 = 0.01;
/// The same share for a stall that was seen in the loop itself, which is common on a busy machine.
const GAP_SHARE_LEAST: f64 = 0.02;
/// A stall above this share of the window reduces the rate by the same share.
const STALL_SHARE_MOST: f64 = 0.1;
/// Above this share of a median, the time that the generator added spoils it: less than half of the time is the
/// server's.
const OWN_SHARE_MOST: f64 = 0.5;
/// Below this probability the sends of random arrivals were not random: a false alarm in a thousand runs.
const ARRIVALS_P_LEAST: f64 = 0.001;

/// The severity of a share of time lost to the environment; none if it is too small to matter.
pub(crate) fn disturbance(share: f64) -> Option<Severity> {
    if share > DISTURBANCE_MOST {
        Some(Severity::Invalid)
    } else {
        (share > DISTURBANCE_LEAST).then_some(Severity::Caution)
    }
}

/// A closed loop's rate is then a minimum; an open loop that did not deliver its load does not measure the server.
pub(crate) fn bound(run: &Run) -> Option<TypedVerdict> {
    let delivered = !is_open(run) || achieved_share(run) >= ACHIEVED_LEAST;
    let severity = if delivered { Severity::Caution } else { Severity::Invalid };
    (run.generator.utilization > GENERATOR_BUSY_MOST).then_some(TypedVerdict::GeneratorBound {
        generator_utilization: run.generator.utilization,
        threads: run.generator.threads,
        severity,
    })
}

pub(crate) fn stall(run: &Run) -> Option<TypedVerdict> {
    let longest_ns = run.generator.longest_gap_ns?;
    let share = longest_ns as f64 / (run.window_s * 1e9).max(1.0);
    (longest_ns >= STALL_NS_LEAST && share >= GAP_SHARE_LEAST).then(|| TypedVerdict::GeneratorStall {
        longest_s: longest_ns as f64 / 1e9,
        share_of_window: share.min(1.0),
        severity: if share > STALL_SHARE_MOST { Severity::Invalid } else { Severity::Caution },
        pin: pin(run),
    })
}

pub(crate) fn throttled(run: &Run) -> Option<TypedVerdict> {
    let limit = run.generator.throttling?;
    disturbance(throttled_share(run)).map(|severity| TypedVerdict::GeneratorThrottled {
        throttled_periods: limit.throttled_periods,
        periods: limit.periods,
        throttled_s: limit.throttled_s,
        cores_allowed: limit.cores_allowed,
        severity,
        limit: limit.cores_allowed.map_or_else(String::new, |cores| format!(" of {cores} cores")),
    })
}

pub(crate) fn lag(run: &Run) -> Option<TypedVerdict> {
    let lag = run.total.generator_lag_ns.as_ref()?;
    let response = run.total.response_time_ns.as_ref()?;
    let late = lag.p99 > LAG_UNAVOIDABLE_NS && lag.p99 as f64 > LAG_SHARE_MOST * response.p99 as f64;
    let spoils = lag.p50 as f64 > OWN_SHARE_MOST * response.p50 as f64 && lag.p50 > LAG_UNAVOIDABLE_NS;
    let stall_ns = STALL_NS_LEAST.max((STALL_SHARE_LEAST * run.window_s * 1e9) as u64);
    let stalled = lag.max >= stall_ns && lag.max as f64 > OWN_SHARE_MOST * response.p99 as f64;
    (late || spoils || stalled).then(|| TypedVerdict::GeneratorLag {
        generator_lag_ns_p99: lag.p99,
        generator_lag_ns_max: lag.max,
        response_time_ns_p99: response.p99,
        severity: if spoils { Severity::Invalid } else { Severity::Caution },
        lag: millis(lag.p99),
        pin: pin(run),
    })
}

fn millis(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    match ms {
        _ if ms < 1.0 => format!("{:.0} µs", 1e3 * ms),
        _ if ms < 9.995 => format!("{ms:.2} ms"),
        _ if ms < 99.95 => format!("{ms:.1} ms"),
        _ => format!("{ms:.0} ms"),
    }
}

/// Only `--timestamps kernel` provides the data for this.
pub(crate) fn own_queue(run: &Run) -> Option<TypedVerdict> {
    let delay = run.total.receive_delay_ns.as_ref()?;
    let service = run.total.service_time_ns.as_ref()?;
    (delay.p50 as f64 > OWN_SHARE_MOST * service.p50 as f64).then_some(TypedVerdict::OwnQueue {
        receive_delay_ns_p50: delay.p50,
        service_time_ns_p50: service.p50,
    })
}

pub(crate) fn arrivals_off(run: &Run) -> Option<TypedVerdict> {
    let check = run.arrival_check.filter(|check| check.p_value < ARRIVALS_P_LEAST)?;
    Some(TypedVerdict::ArrivalsOff {
        anderson_darling: check.anderson_darling,
        p_value: check.p_value,
        gaps: check.gaps,
        pin: pin(run),
    })
}

/// The time that the generator's threads were ready but did not run, as a share of the window.
fn run_delay_share(run: &Run) -> f64 {
    let available_s = run.window_s * f64::from(run.generator.threads);
    run.generator.run_delay_s / available_s.max(f64::MIN_POSITIVE)
}

/// Whether the environment took so much time from the generator that a change of the numbers may be due to it.
pub(crate) fn is_spoiled(run: &Run) -> bool {
    run_delay_share(run).max(steal_share(run)).max(throttled_share(run)) > DISTURBANCE_MOST
}

pub(crate) fn descheduled(run: &Run) -> Option<TypedVerdict> {
    let share = run_delay_share(run);
    // Threads that a limit stops are counted as waiting for a core.
    if is_throttled(run) {
        return None;
    }
    disturbance(share).map(|severity| TypedVerdict::GeneratorDescheduled {
        run_delay_share: share,
        // An unpinned generator regularly shares its cores with the server.
        severity: if is_pinned(run) { severity } else { severity.min(Severity::Caution) },
        percent: 100.0 * share,
        pin: pin(run),
    })
}

/// The share of the generator's cores that the hypervisor took, at least.
fn steal_share(run: &Run) -> f64 {
    let cores = &run.generator.by_core;
    cores.iter().map(CoreTime::steal_share_least).sum::<f64>() / cores.len().max(1) as f64
}

pub(crate) fn steal(run: &Run) -> Option<TypedVerdict> {
    let share = steal_share(run);
    disturbance(share).map(|severity| TypedVerdict::Steal { steal_share: share, severity })
}
