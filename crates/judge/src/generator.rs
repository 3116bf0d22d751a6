//! Judges how the generator and its machine affected the numbers.
//!
//! Every judge is a pure function of the run. The scale for time lost to the environment is the same for a run and a
//! trial: above it a round retries the trial.

use crate::facts::{
    MIN_DISTURBANCE, achieved_share, is_open, is_pinned, is_throttled, pin, share_of_mean_time,
    throttled_share,
};
use crate::{MIN_ACHIEVED, TypedVerdict, judged_times};
use paceline_record::{CoreTime, Generator, Loader, Run, Severity, Times, Trial};
use paceline_stats::time_text;

/// A generator busier than this share of a core was the bottleneck, or close to it, unless the server was full.
pub const MAX_GENERATOR_BUSY: f64 = 0.9;
/// A generator busier than this hardly ever waited for the server: it was the bottleneck, however busy the server was.
const GENERATOR_FULL: f64 = 0.97;
/// A server that used this share of its cores was full: with a faster generator its rate could grow by 5.3 % at most.
const SERVER_FULL: f64 = 0.95;
/// Above this share of time lost to other processes or to the hypervisor the number is spoiled: one request in ten met
/// other work. The self-test calls a machine unfit above the same share.
pub const MAX_DISTURBANCE: f64 = 0.1;
/// Below this share of the window, lost time changes the rate of a closed loop by less than launches differ.
const MIN_RATE_LOST: f64 = 0.05;
/// Share of the response time from which generator lag matters.
const MAX_LAG_SHARE: f64 = 0.1;
/// Generator lag below this, in nanoseconds, is normal for a sleeping generator: timers wake late.
const LAG_UNAVOIDABLE_NS: u64 = 200_000;
/// Minimum lag of a generator stall, in nanoseconds,
const MIN_STALL_NS: u64 = 10_000_000;
/// and its share of the window: above it the stall is in the 99th percentile.
const MIN_STALL_SHARE: f64 = 0.01;
/// The same share for a stall that was seen in the loop itself, which is common on a busy machine.
const MIN_GAP_SHARE: f64 = 0.02;
/// A stall above this share of the window reduces the rate by the same share.
const MAX_STALL_SHARE: f64 = 0.1;
/// Above this share of a median, the time that the generator added spoils it: less than half of the time is the
/// server's.
const MAX_OWN_SHARE: f64 = 0.5;
/// Below this probability the sends of random arrivals were not random: a false alarm in a thousand runs.
const MIN_ARRIVALS_P: f64 = 0.001;

/// The severity of a share of time lost to the environment; none if it is too small to matter.
pub(crate) fn disturbance(share: f64) -> Option<Severity> {
    if share > MAX_DISTURBANCE {
        Some(Severity::Invalid)
    } else {
        (share > MIN_DISTURBANCE).then_some(Severity::Caution)
    }
}

/// Whether the generator was the bottleneck of a run, given the share of its cores that the server used, if it is known.
/// A generator that is nearly full beside a full server is not: the server limits the rate.
pub(crate) fn is_bound(run: &Run, server_utilization: Option<f64>) -> bool {
    let busy = run.generator.utilization;
    let server_is_full = server_utilization >= Some(SERVER_FULL);
    busy > MAX_GENERATOR_BUSY && (busy > GENERATOR_FULL || !server_is_full)
}

/// Whether the generator was the bottleneck of a trial with this run.
pub fn is_generator_bound(trial: &Trial, run: &Run) -> bool {
    is_bound(run, server_utilization(trial))
}

/// The share of its cores that a trial's server used, if it was measured.
pub(crate) fn server_utilization(trial: &Trial) -> Option<f64> {
    trial.usage.as_ref().map(|usage| usage.utilization)
}

/// A closed loop's rate is then a minimum; an open loop that did not deliver its load does not measure the server.
pub(crate) fn bound(run: &Run) -> Option<TypedVerdict> {
    let delivered = !is_open(run) || achieved_share(run) >= MIN_ACHIEVED;
    let severity = if delivered { Severity::Caution } else { Severity::Invalid };
    let server_utilization = run.server.as_ref().map(|server| server.utilization);
    is_bound(run, server_utilization).then_some(TypedVerdict::GeneratorBound {
        generator_utilization: run.generator.utilization,
        threads: run.generator.threads,
        severity,
    })
}

pub(crate) fn stall(run: &Run) -> Option<TypedVerdict> {
    let longest_ns = run.generator.longest_gap_ns?;
    let share = longest_ns as f64 / (run.window_s * 1e9).max(1.0);
    // Beside times that are far longer, the stall moved none of them.
    let p99_ns = judged_times(&run.total, run.loop_.kind).map_or(0, |times| times.p99);
    let moves = longest_ns as f64 > MAX_LAG_SHARE * p99_ns as f64 || share > MAX_STALL_SHARE;
    (longest_ns >= MIN_STALL_NS && share >= MIN_GAP_SHARE && moves).then(|| TypedVerdict::GeneratorStall {
        longest_s: longest_ns as f64 / 1e9,
        share_of_window: share.min(1.0),
        severity: if share > MAX_STALL_SHARE { Severity::Invalid } else { Severity::Caution },
        // A wait that is half of the stall or more is a reason for it.
        pin: match run.body_waits {
            Some(waits) if slow_body_file(run).is_some() && waits.wait_ns_max >= longest_ns / 2 => {
                "Waits for the disk may have caused it: see `slow_body_file`.".to_owned()
            }
            _ => pin(run),
        },
    })
}

/// Waiting for the disk takes the same part of a closed loop's rate as waiting for a CPU.
pub(crate) fn slow_body_file(run: &Run) -> Option<TypedVerdict> {
    let waits = run.body_waits?;
    let service = run.total.service_time_ns.as_ref()?;
    let threads_s = run.window_s * f64::from(run.generator.threads);
    let of_s = threads_s.min(service.count as f64 * service.mean / 1e9);
    let waited_s = waits.wait_ns_total as f64 / 1e9;
    let share = paceline_stats::ratio(waited_s, of_s);
    (share > MIN_RATE_LOST || waits.wait_ns_max > service.p99).then(|| TypedVerdict::SlowBodyFile {
        share: share.min(1.0),
        waited_s,
        of_s,
        longest_s: waits.wait_ns_max as f64 / 1e9,
        reads: waits.reads,
        finding: format!(
            "Reads of the body's file took {} of {}; the longest took {}.",
            time_text(waits.wait_ns_total as f64),
            time_text(1e9 * of_s),
            time_text(waits.wait_ns_max as f64)
        ),
    })
}

/// The effect of the generator's lag on the response times of an open loop.
struct LagEffect {
    /// The lowest percentile of which the lag is a part that matters.
    affected_from: &'static str,
    lag_ns_p99: u64,
    lag_ns_max: u64,
    response_ns_p99: u64,
    /// Whether the lag is the larger part of the median.
    spoils: bool,
}

/// A percentile, by its name.
type Level = (&'static str, fn(&Times) -> u64);

/// Percentiles by which the effect of lag is judged: those of a report.
const LEVELS: [Level; 5] = [
    ("p50", |times| times.p50),
    ("p75", |times| times.p75),
    ("p90", |times| times.p90),
    ("p95", |times| times.p95),
    ("p99", |times| times.p99),
];

fn lag_effect(run: &Run) -> Option<LagEffect> {
    let lag = run.total.generator_lag_ns.as_ref()?;
    let response = run.total.response_time_ns.as_ref()?;
    let matters = |level: &fn(&Times) -> u64| {
        let (lag_ns, response_ns) = (level(lag), level(response));
        lag_ns > LAG_UNAVOIDABLE_NS && lag_ns as f64 > MAX_LAG_SHARE * response_ns as f64
    };
    let from = LEVELS.iter().find(|(_, level)| matters(level)).map(|(name, _)| *name);
    let spoils = lag.p50 as f64 > MAX_OWN_SHARE * response.p50 as f64 && lag.p50 > LAG_UNAVOIDABLE_NS;
    let stall_ns = MIN_STALL_NS.max((MIN_STALL_SHARE * run.window_s * 1e9) as u64);
    let stalled = lag.max >= stall_ns && lag.max as f64 > MAX_OWN_SHARE * response.p99 as f64;
    let affected_from = from.or(stalled.then_some("p99"))?;
    Some(LagEffect {
        affected_from,
        lag_ns_p99: lag.p99,
        lag_ns_max: lag.max,
        response_ns_p99: response.p99,
        spoils,
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
    let effect = lag_effect(run).filter(|_| descheduled(run).is_none())?;
    let share = run_delay_share(run);
    let is_explained = is_throttled(run) || stall(run).is_some();
    let cause = if share > MIN_DISTURBANCE && !is_explained {
        format!(" Other processes used its CPU for {:.1} % of the window.", 100.0 * share)
    } else {
        String::new()
    };
    Some(TypedVerdict::GeneratorLag {
        affected_from: effect.affected_from,
        generator_lag_ns_p99: effect.lag_ns_p99,
        generator_lag_ns_max: effect.lag_ns_max,
        response_time_ns_p99: effect.response_ns_p99,
        severity: if effect.spoils { Severity::Invalid } else { Severity::Caution },
        lag: time_text(effect.lag_ns_p99 as f64),
        cause,
        pin: pin(run),
    })
}

/// Only `--timestamps kernel` provides the data for this.
pub(crate) fn own_queue(run: &Run) -> Option<TypedVerdict> {
    let delay = run.total.receive_delay_ns.as_ref()?;
    let service = run.total.service_time_ns.as_ref()?;
    (delay.p50 as f64 > MAX_OWN_SHARE * service.p50 as f64).then_some(TypedVerdict::OwnQueue {
        receive_delay_ns_p50: delay.p50,
        service_time_ns_p50: service.p50,
    })
}

pub(crate) fn arrivals_off(run: &Run) -> Option<TypedVerdict> {
    let check = run.arrival_check.filter(|check| check.p_value < MIN_ARRIVALS_P)?;
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
    paceline_stats::ratio(run.generator.run_delay_s, available_s)
}

/// Whether the environment took so much time from the generator that a change of the numbers may be due to it.
pub(crate) fn is_spoiled(run: &Run) -> bool {
    throttled(run).is_some()
        || descheduled(run).is_some()
        || steal(run).is_some()
        || lag_effect(run).is_some()
}

/// The time that the generator's threads waited for a CPU, as a share of what a change is judged by: in an open loop of
/// the mean time, for each request, in a closed loop of the window.
pub(crate) fn delayed_share(run: &Run) -> f64 {
    if !is_open(run) {
        return run_delay_share(run);
    }
    share_of_mean_time(run, run.generator.run_delay_s)
}

/// Waiting for a CPU matters in an open loop if requests were sent late by it, in a closed loop if it takes a part of
/// the rate.
pub(crate) fn descheduled(run: &Run) -> Option<TypedVerdict> {
    let share = run_delay_share(run);
    // Threads that a limit stops are counted as waiting for a core.
    if is_throttled(run) {
        return None;
    }
    let effect = lag_effect(run);
    let (severity, finding) = match (is_open(run), &effect) {
        (true, Some(effect)) if share > MAX_DISTURBANCE => (
            if is_pinned(run) || effect.spoils { Severity::Invalid } else { Severity::Caution },
            format!(
                "Requests were sent late (p99 {}), which response times from {} on contain.",
                time_text(effect.lag_ns_p99 as f64),
                effect.affected_from
            ),
        ),
        (false, _) if share > MIN_RATE_LOST => rate_lost(run, share),
        _ => return None,
    };
    Some(TypedVerdict::GeneratorDescheduled {
        run_delay_share: share,
        affected_from: effect.filter(|_| is_open(run)).map(|effect| effect.affected_from),
        idle_cores: idle_cores(run).filter(|_| !is_open(run)),
        severity,
        percent: 100.0 * share,
        finding,
        pin: pin(run),
    })
}

/// What a closed loop lost while the generator waited for a CPU. An unpinned generator on a machine whose cores are all
/// in use shares them with the server; if one was idle meanwhile, or the generator has its own cores, another placement
/// gives a higher rate.
fn rate_lost(run: &Run, share: f64) -> (Severity, String) {
    let waited_cores = paceline_stats::ratio(run.generator.run_delay_s, run.window_s);
    let avoidable = idle_cores(run).is_some_and(|idle| idle >= waited_cores);
    let finding = match avoidable && !is_pinned(run) {
        true => {
            "A core was idle for as long: Paceline shared one with the server, or with another process, and the server may be up to twice as fast."
        }
        false => "The server may be faster than this result by as much.",
    };
    let is_invalid = share > MAX_DISTURBANCE && (avoidable || is_pinned(run));
    (if is_invalid { Severity::Invalid } else { Severity::Caution }, finding.to_owned())
}

/// Cores that the generator could have used and that were idle: idle time per second of the window. None if the record
/// does not have it.
fn idle_cores(run: &Run) -> Option<f64> {
    let usable = run.generator.by_core.iter().filter(|core| run.generator.cores.contains(&core.core));
    let idle = usable.filter(|core| core.over_s > 0.0).map(|core| {
        let used_s = core.busy_s + core.steal_s;
        (1.0 - used_s / core.over_s).max(0.0)
    });
    idle.reduce(|a, b| a + b)
}

/// The part of the time of the generator's cores that the hypervisor took, at least, or of the server's if that is
/// more. With several loaders it is that of the one that lost the most: each may run on another machine.
fn steal_share(run: &Run) -> f64 {
    let of_generator = |generator: &Generator| stolen_share(&generator.by_core, &generator.cores);
    let of_loaders = run.loaders.iter().filter_map(|loader| loader.generator.as_ref()).map(of_generator);
    let of_generators = of_loaders.reduce(f64::max).unwrap_or_else(|| of_generator(&run.generator));
    let of_server =
        run.server.as_ref().map_or(0.0, |server| stolen_share(&run.generator.by_core, &server.cores));
    of_generators.max(of_server)
}

/// The part of the time of these cores that the hypervisor took, at least; of all cores, if it is not known which of
/// them were in use.
fn stolen_share(times: &[CoreTime], cores: &[u32]) -> f64 {
    let used = times.iter().filter(|time| cores.is_empty() || cores.contains(&time.core));
    let shares: Vec<f64> = used.map(CoreTime::min_steal_share).collect();
    paceline_stats::ratio(shares.iter().sum(), shares.len() as f64)
}

/// The machine was suspended, or that of a loader: the one that was suspended for the longest time.
pub(crate) fn suspended(run: &Run) -> Option<TypedVerdict> {
    let own = run.generator.suspended_s.map(|suspended_s| (suspended_s, None));
    let of_loader =
        |loader: &Loader| Some((loader.generator.as_ref()?.suspended_s?, Some(loader.host.clone())));
    let all = own.into_iter().chain(run.loaders.iter().filter_map(of_loader));
    let (suspended_s, host) = all.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    Some(TypedVerdict::MachineSuspended { suspended_s, host })
}

/// Stolen time matters in an open loop if requests were sent late, or if it is large, in a closed loop if it takes a part
/// of the rate.
pub(crate) fn steal(run: &Run) -> Option<TypedVerdict> {
    let share = steal_share(run);
    let least = match is_open(run) {
        true if lag_effect(run).is_some() => MIN_DISTURBANCE,
        true => MAX_DISTURBANCE,
        false => MIN_RATE_LOST,
    };
    let severity = disturbance(share).filter(|_| share > least);
    severity.map(|severity| TypedVerdict::Steal { steal_share: share, severity })
}
