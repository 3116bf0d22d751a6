//! Finds what limited a server, with the figures that show it.
//!
//! The closed-loop run decides, because it drives the server to its maximum, together with the generator's own figures.
//! A limit that the data do not show is `unknown`.

use crate::load::{LoadResult, LoadServerUse, RateUnit};
use paceline_judge::{MAX_GENERATOR_BUSY, MIN_DELAYED, MIN_FULL, cores_used, memory_shortage};
use paceline_record::{Limit, LimitKind, MemoryUse};
use paceline_stats::{counted, percent_text};

/// Finds the limit of a closed-loop run.
pub(crate) fn limit_of(closed: &LoadResult) -> Limit {
    let failed_share = 1.0 - closed.ok as f64 / closed.scheduled.max(1) as f64;
    if failed_share > 0.01 {
        let evidence =
            format!("{} of the requests of the closed-loop run failed", percent_text(failed_share));
        return Limit { kind: LimitKind::Errors, evidence };
    }
    if let Some(evidence) = closed.server.and_then(|server| memory_shortage(&memory_of(&server))) {
        return Limit { kind: LimitKind::Memory, evidence };
    }
    let generator = percent_text(closed.generator_busy_share);
    if closed.has_verdict("generator_bound") || closed.generator_busy_share > MAX_GENERATOR_BUSY {
        let evidence =
            format!("the generator was {generator} busy: give it more threads (-t) or other cores");
        return Limit { kind: LimitKind::Generator, evidence };
    }
    let Some(server) = closed.server.filter(|server| server.over_s > 0.0) else {
        let evidence = format!(
            "the server's processes were not found on this machine; the generator was {generator} busy"
        );
        return Limit { kind: LimitKind::Unknown, evidence };
    };
    let cores = f64::from(server.cores.max(1));
    let (busy, thread) = (server.cpu_s / server.over_s, server.busiest_thread_s / server.over_s);
    let used = format!("{}, its busiest thread was {} busy", cores_used(busy, cores), percent_text(thread));
    if busy >= MIN_FULL * cores {
        Limit { kind: LimitKind::ServerCpu, evidence: used }
    } else if server.run_delay_s > MIN_DELAYED * server.over_s {
        let delay = percent_text(server.run_delay_s / server.over_s);
        let evidence = format!("a thread of the server waited for a core {delay} of the time; {used}");
        Limit { kind: LimitKind::Neighbours, evidence }
    } else if thread >= MIN_FULL {
        Limit { kind: LimitKind::ServerThread, evidence: used }
    } else if closed.has_verdict("too_few_connections") {
        Limit {
            kind: LimitKind::Connections,
            evidence: format!("{}; {used}", counted(closed.connections, "connection", "connections")),
        }
    } else if closed.unit() == RateUnit::Sessions {
        let users = counted(closed.connections, "connection", "connections");
        let evidence = format!("{users} are as many users at a time: raise -c; {used}");
        Limit { kind: LimitKind::Connections, evidence }
    } else {
        Limit { kind: LimitKind::Waiting, evidence: format!("{used}; the generator was {generator} busy") }
    }
}

fn memory_of(server: &LoadServerUse) -> MemoryUse {
    MemoryUse {
        limit_bytes: server.memory_limit_bytes,
        rss_bytes_peak: Some(server.rss_bytes),
        swapped_bytes: server.swapped_bytes,
        oom_kills: server.oom_kills,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::tests::result;

    fn limit(change: impl Fn(&mut LoadResult, &mut LoadServerUse)) -> LimitKind {
        let mut closed = result(None, 1_000.0);
        let mut server = LoadServerUse {
            cpu_s: 1.0,
            busiest_thread_s: 0.5,
            over_s: 5.0,
            cores: 2,
            ..LoadServerUse::default()
        };
        change(&mut closed, &mut server);
        closed.server = Some(server);
        limit_of(&closed).kind
    }

    #[test]
    fn each_limit_is_derived_from_its_figures() {
        assert_eq!(limit(|_, _| {}), LimitKind::Waiting);
        assert_eq!(limit(|_, server| server.cpu_s = 9.5), LimitKind::ServerCpu);
        assert_eq!(limit(|_, server| server.busiest_thread_s = 4.9), LimitKind::ServerThread);
        assert_eq!(limit(|_, server| server.run_delay_s = 2.0), LimitKind::Neighbours);
        assert_eq!(limit(|closed, _| closed.generator_busy_share = 0.97), LimitKind::Generator);
        assert_eq!(limit(|_, server| server.oom_kills = 1), LimitKind::Memory);
        assert_eq!(limit(|_, server| server.swapped_bytes = 16 << 20), LimitKind::Memory);
        let near = |_: &mut LoadResult, server: &mut LoadServerUse| {
            (server.rss_bytes, server.memory_limit_bytes) = (95 << 20, Some(100 << 20));
        };
        assert_eq!(limit(near), LimitKind::Memory);
        assert_eq!(limit(|closed, _| closed.ok = closed.scheduled / 2), LimitKind::Errors);
        assert_eq!(limit_of(&result(None, 1_000.0)).kind, LimitKind::Unknown);
        assert_eq!(limit(|closed, _| closed.sessions_per_s = Some(250.0)), LimitKind::Connections);
    }
}
