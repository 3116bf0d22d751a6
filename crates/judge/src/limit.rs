//! What limited a load: the rules that a run and a trial share, and the limit of a run outside a round.
//!
//! `trial/limit.rs` adds what only the lab observes: the network, the balancer, the database, the time of each core.

use crate::memory::memory_shortage;
use crate::server::behind_s;
use crate::{MAX_NOT_OK_SHARE, MIN_FULL, generator, most_delayed_share, overload};
use paceline_record::{Limit, LimitKind, MemoryUse, Run, ServerUse};
use paceline_stats::{counted, percent_text, plural, ratio};

/// Time that a server was ready but not running, per second, from which other processes were the limit.
pub(crate) const MIN_DELAYED: f64 = 0.2;
/// From this share of its periods on, a CPU limit that stopped the server was its limit, whatever its cores could do.
const MIN_STOPPED: f64 = 0.5;

/// A kind of limit with its evidence; none if it was not the limit.
pub(crate) type LimitResult = Option<(LimitKind, String)>;

/// What limited a closed-loop run outside a round, which drives the server to its maximum: the first rule that applies,
/// from the most to the least certain. The server is known if it runs on the generator's machine.
pub fn run_limit(run: &Run) -> Limit {
    let memory_use = run.server.as_ref().and_then(|server| server.memory.as_ref());
    let more = |(kind, evidence)| (kind, format!("{evidence}: give it more threads (-t) or other cores"));
    let server_utilization = run.server.as_ref().map(|server| server.utilization);
    let found = errors(run)
        .or_else(|| memory(memory_use))
        .or_else(|| generator_bound(run, server_utilization).map(more));
    let (kind, evidence) = found.unwrap_or_else(|| server(run));
    Limit { kind, evidence }
}

pub(crate) fn errors(run: &Run) -> LimitResult {
    let counts = run.total.counts;
    // Requests that a growing queue left without a response are not a limit by errors.
    let is_queue = counts.failed() == 0 && overload::is_saturated(run);
    let failed = counts.not_ok_share();
    (failed > MAX_NOT_OK_SHARE && !is_queue)
        .then(|| (LimitKind::Errors, format!("{} of the requests failed", percent_text(failed))))
}

pub(crate) fn memory(memory_use: Option<&MemoryUse>) -> LimitResult {
    Some((LimitKind::Memory, memory_shortage(memory_use?)?))
}

pub(crate) fn generator_bound(run: &Run, server_utilization: Option<f64>) -> LimitResult {
    let busy = percent_text(run.generator.utilization);
    generator::is_bound(run, server_utilization)
        .then(|| (LimitKind::Generator, format!("the generator's busiest thread was {busy} busy")))
}

/// The part of the cores that a server used, in words, and how busy its busiest thread was, if that is known.
pub(crate) fn cores_used(used: f64, cores: f64, busiest_thread: Option<f64>) -> String {
    let evidence = format!("the server used {used:.2} of {cores} {}", plural(cores, "core", "cores"));
    match busiest_thread {
        Some(busy) => format!("{evidence}, its busiest thread was {} busy", percent_text(busy)),
        None => evidence,
    }
}

/// The limit by the server's own figures.
fn server(run: &Run) -> (LimitKind, String) {
    let generator = percent_text(run.generator.utilization);
    let Some(server) = run.server.as_ref().filter(|_| run.window_s > 0.0) else {
        let evidence = format!(
            "the server's processes were not found on this machine; the generator was {generator} busy"
        );
        return (LimitKind::Unknown, evidence);
    };
    let cores = f64::from(server.cores_allowed.max(1));
    let busiest = server.busiest_thread_utilization;
    let used = cores_used(ratio(server.cpu_s, run.window_s), cores, busiest);
    let delayed = most_delayed_share(server, run.window_s).unwrap_or_default();
    if server.utilization >= MIN_FULL {
        (LimitKind::ServerCpu, used)
    } else if let Some(more) = stopped(server).or_else(|| with_those_behind(run, server)) {
        (LimitKind::ServerCpu, format!("{used}; {more}"))
    } else if delayed > MIN_DELAYED {
        let delay = percent_text(delayed);
        let shared = match cores_with_paceline(run).is_empty() {
            true => "",
            false => "; Paceline may run on the same cores",
        };
        let evidence =
            format!("a thread of the server waited for a core {delay} of the time; {used}{shared}");
        (LimitKind::Neighbours, evidence)
    } else if busiest >= Some(MIN_FULL) {
        (LimitKind::ServerThread, used)
    } else if run.sessions_achieved_per_s().is_some() {
        let users = counted(run.loop_.connections, "connection", "connections");
        (LimitKind::Connections, format!("{users} are as many users at a time: raise -c; {used}"))
    } else {
        (LimitKind::Waiting, format!("{used}; the generator was {generator} busy"))
    }
}

/// The cores that the server and Paceline may both run on; none if the server is not on Paceline's machine.
pub fn cores_with_paceline(run: &Run) -> Vec<u32> {
    let cores = run.server.iter().flat_map(|server| &server.cores);
    cores.copied().filter(|core| run.generator.cores.contains(core)).collect()
}

/// How a CPU limit of its control group stopped a server, if it did so in most of its periods.
fn stopped(server: &ServerUse) -> Option<String> {
    let limit = server.throttling?;
    let share = ratio(limit.throttled_periods as f64, limit.periods as f64);
    let of = limit.cores_allowed.map_or_else(String::new, |cores| format!(" of {cores} cores"));
    (share >= MIN_STOPPED).then(|| {
        format!("its CPU limit{of} stopped it in {} of {} periods", limit.throttled_periods, limit.periods)
    })
}

/// What the processes behind a server used of its cores, if these were full with both: an application behind a proxy.
fn with_those_behind(run: &Run, server: &ServerUse) -> Option<String> {
    let is_beside = |cores: &[u32]| !cores.is_empty() && cores.iter().all(|core| server.cores.contains(core));
    let behind = ratio(behind_s(run, is_beside), run.window_s);
    let used = ratio(server.cpu_s, run.window_s) + behind;
    (behind > 0.0 && used >= MIN_FULL * f64::from(server.cores_allowed.max(1)))
        .then(|| format!("the processes behind it used {behind:.2} of the same cores"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::{LoopKind, SessionPart, Throttling, fixture};

    fn limit(change: impl Fn(&mut Run, &mut ServerUse)) -> LimitKind {
        let mut run = fixture::run(0);
        run.loop_.kind = LoopKind::Closed;
        (run.loop_.offered_per_s, run.rate_per_s.offered) = (None, None);
        let mut server = fixture::server_use(2, 5.0);
        change(&mut run, &mut server);
        run.server = Some(server);
        run_limit(&run).kind
    }

    #[test]
    fn each_limit_of_a_run_is_derived_from_its_figures() {
        assert_eq!(limit(|_, _| {}), LimitKind::Waiting);
        assert_eq!(limit(|_, server| server.utilization = 0.95), LimitKind::ServerCpu);
        assert_eq!(
            limit(|_, server| server.busiest_thread_utilization = Some(0.98)),
            LimitKind::ServerThread
        );
        assert_eq!(limit(|_, server| server.most_delayed_thread_share = Some(0.4)), LimitKind::Neighbours);
        assert_eq!(limit(|run, _| run.generator.utilization = 0.97), LimitKind::Generator);
        assert_eq!(limit(|_, server| server.memory = memory_use(|of| of.oom_kills = 1)), LimitKind::Memory);
        let swapped = memory_use(|of| of.swapped_bytes = 16 << 20);
        assert_eq!(limit(|_, server| server.memory = swapped), LimitKind::Memory);
        let near = memory_use(|of| (of.rss_bytes_peak, of.limit_bytes) = (Some(95 << 20), Some(100 << 20)));
        assert_eq!(limit(|_, server| server.memory = near), LimitKind::Memory);
        let half_failed = |run: &mut Run, _: &mut ServerUse| {
            (run.total.counts.ok, run.total.counts.bad_status) = (5_000, 5_000);
        };
        assert_eq!(limit(half_failed), LimitKind::Errors);
        assert_eq!(limit(|run, _| run.sessions = Some(vec![session()])), LimitKind::Connections);
        assert_eq!(run_limit(&fixture::run(0)).kind, LimitKind::Unknown);
    }

    /// The kernel counts the time in which a CPU limit stops a thread as waiting for a core.
    #[test]
    fn a_cpu_limit_is_the_server_s_and_not_that_of_other_processes() {
        let judged = |throttled_periods, throttled_s| {
            limit(|_, server| {
                server.most_delayed_thread_share = Some(0.8);
                let (periods, cores_allowed) = (100, Some(0.5));
                server.throttling =
                    Some(Throttling { periods, throttled_periods, throttled_s, cores_allowed });
            })
        };
        assert_eq!(judged(98, 8.0), LimitKind::ServerCpu);
        assert_eq!(judged(20, 8.0), LimitKind::Waiting, "it was stopped, and others took nothing");
        assert_eq!(judged(20, 2.0), LimitKind::Neighbours);
    }

    #[test]
    fn a_proxy_that_waits_for_the_application_behind_it_has_no_cores_left() {
        let judged = |behind_cpu_s: f64, cores: u32| {
            limit(|run, server| {
                server.most_delayed_thread_share = Some(0.4);
                run.behind_server = vec![fixture::server_use(cores, behind_cpu_s)];
            })
        };
        // Each of the two cores has ten seconds; the proxy used five of them.
        assert_eq!(judged(13.5, 2), LimitKind::ServerCpu);
        assert_eq!(judged(12.5, 2), LimitKind::Neighbours);
        assert_eq!(judged(13.5, 3), LimitKind::Neighbours, "it has another core");
    }

    #[test]
    fn paceline_is_named_if_it_may_take_the_server_s_cores() {
        let mut run = fixture::run(0);
        run.loop_.kind = LoopKind::Closed;
        run.server = Some(ServerUse { most_delayed_thread_share: Some(0.4), ..fixture::server_use(2, 5.0) });
        let named = |run: &Run| run_limit(run).evidence.contains("Paceline");
        run.generator.cores = vec![1];
        assert!(named(&run) && cores_with_paceline(&run) == [1]);
        run.generator.cores = vec![2];
        assert!(!named(&run));
    }

    fn memory_use(change: impl Fn(&mut MemoryUse)) -> Option<MemoryUse> {
        let mut memory = MemoryUse::default();
        change(&mut memory);
        Some(memory)
    }

    fn session() -> SessionPart {
        SessionPart {
            name: String::new(),
            weight: 1,
            started: 1,
            completed: 1,
            completed_in_window: Some(1),
            failed: 0,
            unfinished: 0,
            steps: Vec::new(),
            session_time_ns: None,
        }
    }
}
