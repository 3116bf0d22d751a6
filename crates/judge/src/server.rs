//! Judges the server's CPU: whether it had any left, and whether other processes took it from the server.
//!
//! Only a server on the generator's machine is observed (`paceline_run`'s `server.rs`).

use crate::facts::{core_list, is_open, is_throttled, share_of_mean_time};
use crate::{MIN_FULL, TypedVerdict};
use paceline_record::{LoopKind, Run, ServerUse};
use paceline_stats::{percent_text, time_text};

/// From this share of the window on, waiting of a thread for a core takes a part of a closed loop's rate that is larger
/// than launches differ; also the smallest use of a core by other processes that is not their background work.
const MIN_DELAYED_SHARE: f64 = 0.05;
/// From this share of the mean time on, waiting for a core is a part of it that matters.
const MIN_WAIT_SHARE: f64 = 0.1;
/// A wait below this, in nanoseconds, is the cost of waking a thread.
const MIN_WAIT_NS: f64 = 10_000.0;

/// The part of an observed server that had no time left: its cores, or one of its threads. In a closed loop this is the
/// limit that the load looks for; at a fixed rate it is a warning.
pub fn server_limit(run: &Run) -> Option<&'static str> {
    let server = run.server.as_ref()?;
    if server.utilization >= MIN_FULL {
        return Some(if server.cores_allowed == 1 {
            "its core was fully used"
        } else {
            "its cores were fully used"
        });
    }
    (server.busiest_thread_utilization >= Some(MIN_FULL))
        .then_some("one of its threads was nearly always busy")
}

/// At a fixed rate: the server used all of its cores, or all of one thread.
pub(crate) fn busy(run: &Run) -> Option<TypedVerdict> {
    let server = run.server.as_ref().filter(|_| is_open(run) && server_limit(run).is_some())?;
    let is_full = server.utilization >= MIN_FULL;
    let advice = match (is_full, server.cores_allowed) {
        (true, 1) => {
            "The server's core was fully used. Give the server more cores, or reduce its CPU time per request."
        }
        (true, _) => {
            "The server's cores were fully used. Give the server more cores, or reduce its CPU time per request."
        }
        (false, _) => {
            "One thread of the server was nearly always busy. Give the server more threads or processes, or reduce its CPU time per request."
        }
    };
    Some(TypedVerdict::ServerBusy {
        cores_used: server.utilization * f64::from(server.cores_allowed),
        cores_allowed: server.cores_allowed,
        busiest_thread_utilization: server.busiest_thread_utilization,
        advice,
    })
}

/// The server's waiting for a core because of other processes.
struct ServerDelay {
    /// CPU time of the other processes on the server's cores, per second.
    others_cores: f64,
    /// Of the thread that waited most, as a share of the window.
    thread_share: f64,
    /// Of all threads, in seconds.
    delay_s: f64,
}

/// Threads of a server that wait for each other, or for the generator, are not delayed by others: what these did not use,
/// others cannot have taken.
fn delay(run: &Run) -> Option<ServerDelay> {
    let server = run.server.as_ref()?;
    let others_cores = others_cores(run, server)?;
    let delay_s = (server.run_delay_s? - stopped_s(server)).clamp(0.0, others_cores * run.window_s);
    let thread_share = most_delayed_share(server, run.window_s)?.min(others_cores);
    Some(ServerDelay { others_cores, thread_share, delay_s })
}

/// Time in which the most delayed thread of a server waited for a core, as a share of a window of so many seconds,
/// without that in which a CPU limit stopped it; none in records of older versions.
pub fn most_delayed_share(server: &ServerUse, window_s: f64) -> Option<f64> {
    let stopped_share = paceline_stats::ratio(stopped_s(server), window_s);
    Some((server.most_delayed_thread_share? - stopped_share).max(0.0))
}

/// The time in which a CPU limit stopped the server, in seconds: the kernel counts it as waiting for a core.
fn stopped_s(server: &ServerUse) -> f64 {
    server.throttling.map_or(0.0, |limit| limit.throttled_s)
}

/// The delay as a share of what a change is judged by: in an open loop of the mean time, for each request, in a closed
/// loop of the window.
pub(crate) fn delayed_share(run: &Run) -> f64 {
    delay(run).map_or(0.0, |delay| match run.loop_.kind {
        LoopKind::Open => share_of_mean_time(run, delay.delay_s),
        LoopKind::Closed => delay.thread_share,
    })
}

/// Other processes used the server's cores while its threads waited for one, and this is a part of the rate or of the
/// mean time that matters.
pub(crate) fn descheduled(run: &Run) -> Option<TypedVerdict> {
    let ServerDelay { others_cores, thread_share, delay_s } = delay(run)?;
    let cores = core_list(&run.server.as_ref()?.cores);
    let share = delayed_share(run);
    let wait_mean_ns = delay_s * 1e9 / (run.total.counts.attempted() as f64).max(1.0);
    let (is_affected, finding) = match run.loop_.kind {
        LoopKind::Closed => (
            share > MIN_DELAYED_SHARE,
            format!("for {} of the window: its rate may be higher by as much.", percent_text(share)),
        ),
        LoopKind::Open => (
            share > MIN_WAIT_SHARE && wait_mean_ns > MIN_WAIT_NS,
            format!(
                "during each request for {} on average, {} of the mean response time.",
                time_text(wait_mean_ns),
                percent_text(share)
            ),
        ),
    };
    (others_cores > MIN_DELAYED_SHARE && is_affected).then_some(TypedVerdict::ServerDescheduled {
        others_cores,
        most_delayed_thread_share: thread_share,
        wait_mean_ns,
        finding,
        cores,
    })
}

/// From this share of its periods on, a CPU limit of the server changes a percentile that is read.
const MIN_THROTTLED_PERIODS: f64 = 0.01;

/// A CPU limit stopped the server.
pub(crate) fn throttled(run: &Run) -> Option<TypedVerdict> {
    let limit = run.server.as_ref()?.throttling?;
    let share = paceline_stats::ratio(limit.throttled_periods as f64, limit.periods as f64);
    (share > MIN_THROTTLED_PERIODS && !is_throttled(run)).then(|| TypedVerdict::ServerThrottled {
        throttled_periods: limit.throttled_periods,
        periods: limit.periods,
        throttled_s: limit.throttled_s,
        cores_allowed: limit.cores_allowed,
        limit: limit.cores_allowed.map_or_else(String::new, |cores| format!(" of {cores} cores")),
    })
}

/// CPU time of the processes behind the server that may run on such cores, in seconds.
pub(crate) fn behind_s(run: &Run, is_meant: impl Fn(&[u32]) -> bool) -> f64 {
    run.behind_server.iter().filter(|behind| is_meant(&behind.cores)).map(|behind| behind.cpu_s).sum()
}

/// CPU time per second that other processes than the server, those behind it and Paceline used on the server's cores,
/// at least; none if it was not measured.
fn others_cores(run: &Run, server: &ServerUse) -> Option<f64> {
    let cores = run.generator.by_core.iter().filter(|core| server.cores.contains(&core.core));
    let used =
        cores.filter(|core| core.over_s > 0.0).map(|core| (core.busy_s - core.interrupt_s) / core.over_s);
    let used = used.reduce(|a, b| a + b)?;
    let is_shared = run.generator.cores.iter().any(|core| server.cores.contains(core));
    let generator_s = if is_shared { run.generator.cpu_s } else { 0.0 };
    let behind_s = behind_s(run, |cores| cores.iter().any(|core| server.cores.contains(core)));
    Some((used - paceline_stats::ratio(server.cpu_s + generator_s + behind_s, run.window_s)).max(0.0))
}
