//! What limited a trial: one kind, with the figures that show it.
//!
//! The first that applies, from the most to the least certain. A search has the limit that its closed-loop run found.

use super::balancer::balancer_of;
use super::cores::{MIN_OWN, host};
use super::database::database_bound;
use super::server_network_bound;
use crate::facts::is_open;
use crate::limit::{self, LimitResult, MIN_DELAYED, cores_used};
use crate::{MIN_ACHIEVED, MIN_FULL, TypedVerdict, generator, loaders, overload};
use paceline_record::{Limit, LimitKind, ProcessRole, ProcessUse, Run, Trial};
use paceline_stats::{bytes_text, count_text, counted, percent_text};

/// A server that used about one of several cores was limited by one thread, where CPU time by thread is not known.
const ONE_CORE: std::ops::RangeInclusive<f64> = 0.9..=1.1;

/// What limited the trial; none if it is not usable, or imported.
pub fn trial_limit(trial: &Trial) -> Option<Limit> {
    let run = trial.usable_run().filter(|_| trial.imported.is_none())?;
    if let Some(found) = &trial.capacity {
        return Some(found.limit.clone());
    }
    let judges: [fn(&Trial, &Run) -> LimitResult; 12] = [
        |_, run| limit::errors(run),
        |trial, _| limit::memory(trial.memory.as_ref()),
        offered_rate,
        |trial, run| limit::generator_bound(run, generator::server_utilization(trial)),
        network,
        balancer,
        database_full,
        server_cores,
        one_thread,
        other_work,
        connections,
        think_time,
    ];
    let found = judges.iter().find_map(|judge| judge(trial, run));
    let (kind, evidence) = found.unwrap_or_else(|| nothing_full(trial, run));
    Some(Limit { kind, evidence })
}

/// An open loop whose load was delivered.
fn offered_rate(_: &Trial, run: &Run) -> LimitResult {
    let offered = run.rate_per_s.offered?;
    let delivered = is_open(run) && !overload::fell_short(run, MIN_ACHIEVED) && !overload::is_saturated(run);
    let achieved = run.rate_per_s.achieved;
    delivered.then(|| {
        let evidence = format!("{}/s achieved of {}/s offered", count_text(achieved), count_text(offered));
        (LimitKind::OfferedRate, evidence)
    })
}

fn network(trial: &Trial, run: &Run) -> LimitResult {
    let of_loader = loaders::network_bound(run);
    let (TypedVerdict::NetworkBound { host, interface, bytes_per_s, speed_bytes_per_s, .. }
    | TypedVerdict::ServerNetworkBound { host, interface, bytes_per_s, speed_bytes_per_s, .. }) =
        server_network_bound(trial).or(of_loader)?
    else {
        return None;
    };
    let [carried, speed] = [bytes_per_s, speed_bytes_per_s].map(|bytes| bytes_text(bytes) + "/s");
    Some((
        LimitKind::Network,
        format!("interface {interface} of {host} carried {carried}; its maximum is {speed}"),
    ))
}

fn balancer(trial: &Trial, _: &Run) -> LimitResult {
    let balancer = balancer_of(trial).filter(|balancer| balancer.utilization >= MIN_FULL)?;
    Some((
        LimitKind::Balancer,
        format!("the balancer's cores were {} busy", percent_text(balancer.utilization)),
    ))
}

fn database_full(trial: &Trial, _: &Run) -> LimitResult {
    let TypedVerdict::DatabaseBound { database_utilization, server_utilization, .. } = database_bound(trial)?
    else {
        return None;
    };
    let evidence = format!(
        "the database's cores were {} busy, the server's {}",
        percent_text(database_utilization),
        percent_text(server_utilization)
    );
    Some((LimitKind::Database, evidence))
}

/// The server's cores were full. If other roles run on them too, the one that used most of their time is the limit.
fn server_cores(trial: &Trial, _: &Run) -> LimitResult {
    let usage = trial.usage.as_ref()?;
    let cores = trial.server_cores().len().max(1) as f64;
    let used = usage.utilization * cores;
    let evidence = cores_used(used, cores, None);
    if usage.utilization >= MIN_FULL {
        return Some((LimitKind::ServerCpu, evidence));
    }
    let busy = mean(&busy_shares(trial)).filter(|busy| *busy >= MIN_FULL)?;
    let its_cores = if cores == 1.0 { "this core was" } else { "these cores were" };
    let evidence = format!("{evidence}; {its_cores} {} busy", percent_text(busy));
    let Some(sharer) = sharers(trial).max_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s)) else {
        let is_own = usage.cpu_s >= MIN_OWN * busy * cores * usage.over_s;
        return Some((if is_own { LimitKind::ServerCpu } else { LimitKind::Neighbours }, evidence));
    };
    let (kind, name) = match sharer.role {
        ProcessRole::Database => (LimitKind::Database, "database"),
        ProcessRole::Balancer | ProcessRole::Instance => (LimitKind::Balancer, "balancer"),
    };
    let of_sharer = sharer.cpu_s / usage.over_s.max(f64::MIN_POSITIVE);
    let kind = if sharer.cpu_s > usage.cpu_s { kind } else { LimitKind::ServerCpu };
    Some((
        kind,
        format!(
            "{evidence}; the {name} ran on the same cores and used CPU time equal to {of_sharer:.2} cores"
        ),
    ))
}

/// One of several cores was full, or the server used about one.
fn one_thread(trial: &Trial, run: &Run) -> LimitResult {
    let busiest = run.server.as_ref().and_then(|server| server.busiest_thread_utilization);
    if let Some(busy) = busiest.filter(|busy| *busy >= MIN_FULL) {
        let busy = percent_text(busy);
        return Some((LimitKind::ServerThread, format!("the server's busiest thread was {busy} busy")));
    }
    let usage = trial.usage.as_ref().filter(|_| trial.server_cores().len() > 1)?;
    let cores = trial.server_cores().len() as f64;
    let used = usage.utilization * cores;
    let most = busy_shares(trial).into_iter().fold(0.0, f64::max);
    let is_thread = match usage.busiest_thread_utilization {
        Some(busy) => busy >= MIN_FULL,
        // Records of older versions have no CPU time by thread.
        None => ONE_CORE.contains(&used),
    };
    (is_thread || most >= MIN_FULL).then(|| {
        let mut evidence = cores_used(used, cores, usage.busiest_thread_utilization);
        if most > 0.0 {
            evidence += &format!(", the busiest core {}", percent_text(most));
        }
        (LimitKind::ServerThread, evidence)
    })
}

fn other_work(trial: &Trial, _: &Run) -> LimitResult {
    let usage = trial.usage.as_ref().filter(|usage| usage.threads_peak == 1 && usage.over_s > 0.0)?;
    let delayed = usage.run_delay_s / usage.over_s;
    (delayed > MIN_DELAYED).then(|| {
        let evidence = format!("the server waited for a core {} of the time", percent_text(delayed));
        (LimitKind::Neighbours, evidence)
    })
}

fn connections(_: &Trial, run: &Run) -> LimitResult {
    let TypedVerdict::TooFewConnections { connections, connections_needed, .. } =
        overload::too_few_connections(run)?
    else {
        return None;
    };
    let evidence = format!(
        "{}, but the offered rate needs {connections_needed:.0}",
        counted(connections, "connection", "connections")
    );
    Some((LimitKind::Connections, evidence))
}

/// A closed loop of users that think: they offer a rate.
fn think_time(_: &Trial, run: &Run) -> LimitResult {
    run.loop_.think.as_ref()?;
    Some((LimitKind::OfferedRate, "connections pause between requests (think time)".to_owned()))
}

fn nothing_full(trial: &Trial, run: &Run) -> (LimitKind, String) {
    let generator = percent_text(run.generator.utilization);
    match &trial.usage {
        Some(usage) => {
            let server = percent_text(usage.utilization);
            let mut evidence = format!("the server's cores were {server} busy, the generator's {generator}");
            evidence += &pool_use(trial).unwrap_or_default();
            (LimitKind::Waiting, evidence)
        }
        None => (
            LimitKind::Unknown,
            format!("the server's CPU time was not measured; the generator was {generator} busy"),
        ),
    }
}

/// The database beside a server that nothing limited: its cores, and the open connections of the pool.
fn pool_use(trial: &Trial) -> Option<String> {
    let used = trial.database.as_ref()?;
    let busy = used
        .process
        .as_ref()
        .map(|process| format!(", the database's {}", percent_text(process.utilization)));
    let pool = trial.load.database.as_ref().map(|load| load.pool);
    let open = used.counted.and_then(|counted| counted.connections).zip(pool);
    let open = open.map(|(open, pool)| format!("; open connections to the database: {open} of {pool}"));
    Some(busy.unwrap_or_default() + &open.unwrap_or_default())
}

/// The busy share of each core of the server, of the time that the hypervisor left it; none if the server ran on
/// another machine.
fn busy_shares(trial: &Trial) -> Vec<f64> {
    let is_here = host(trial, ProcessRole::Instance).is_none();
    let own = trial.cores.iter().filter(|core| is_here && trial.server_cores().contains(&core.core));
    own.filter(|core| core.over_s > core.steal_s)
        .map(|core| (core.busy_s / (core.over_s - core.steal_s)).min(1.0))
        .collect()
}

fn mean(shares: &[f64]) -> Option<f64> {
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// The database and the balancer, if they run on a core of the server.
fn sharers(trial: &Trial) -> impl Iterator<Item = &ProcessUse> {
    let database = trial.database.as_ref().and_then(|used| used.process.as_ref());
    let server = host(trial, ProcessRole::Instance);
    database.into_iter().chain(balancer_of(trial)).filter(move |process| {
        host(trial, process.role) == server
            && process.cores.iter().any(|core| trial.server_cores().contains(core))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::fixture::{self, process, usage};
    use paceline_record::{
        CoreTime, CpuSource, DatabaseCounts, DatabaseLoad, DatabaseUse, LoopKind, MemoryUse,
    };

    fn closed(busy: f64) -> Trial {
        let mut trial = fixture::trial();
        let mut run = fixture::run(0);
        run.loop_.kind = LoopKind::Closed;
        (run.loop_.offered_per_s, run.rate_per_s.offered) = (None, None);
        (trial.run, trial.usage) = (Some(run), Some(usage(CpuSource::Cgroup, busy)));
        trial
    }

    fn kind(trial: &Trial) -> Option<LimitKind> {
        trial_limit(trial).map(|limit| limit.kind)
    }

    #[test]
    fn the_limit_of_a_closed_loop_follows_from_its_figures() {
        type Change = fn(&mut Trial, &mut Run);
        let cases: [(LimitKind, f64, Change); 10] = [
            (LimitKind::ServerCpu, 0.99, |_, _| {}),
            (LimitKind::Waiting, 0.3, |_, _| {}),
            (LimitKind::Generator, 0.94, |_, run| run.generator.utilization = 0.95),
            (LimitKind::ServerCpu, 0.95, |_, run| run.generator.utilization = 0.95),
            (LimitKind::Generator, 1.0, |_, run| run.generator.utilization = 0.98),
            (LimitKind::Errors, 0.99, |_, run| {
                (run.total.counts.ok, run.total.counts.bad_status) = (9_000, 1_000)
            }),
            (LimitKind::Memory, 0.99, |trial, _| {
                trial.memory = Some(MemoryUse { oom_kills: 1, ..MemoryUse::default() });
            }),
            (LimitKind::Unknown, 0.99, |trial, _| trial.usage = None),
            (LimitKind::ServerThread, 0.25, |trial, _| trial.pinning.server = vec![0, 1, 2, 3]),
            (LimitKind::OfferedRate, 0.3, |_, run| run.loop_ = fixture::run(0).loop_),
        ];
        for (expected, busy, change) in cases {
            let mut trial = closed(busy);
            let mut run = trial.run.take().unwrap_or_else(|| fixture::run(0));
            change(&mut trial, &mut run);
            if run.loop_.kind == LoopKind::Open {
                run.rate_per_s.offered = run.loop_.offered_per_s;
            }
            trial.run = Some(run);
            assert_eq!(kind(&trial), Some(expected), "{:?}", trial_limit(&trial));
        }
        assert_eq!(kind(&Trial { run: None, ..closed(0.5) }), None);
    }

    #[test]
    fn a_server_that_waits_has_the_use_of_its_pool_as_evidence() {
        let mut trial = closed(0.3);
        trial.load.database = Some(DatabaseLoad { database: "postgresql".to_owned(), pool: 8 });
        trial.database = Some(database(Some(process(ProcessRole::Database, 0, 1, 0.4)), Some(8)));
        let found = trial_limit(&trial).unwrap();
        assert_eq!(found.kind, LimitKind::Waiting);
        let expected = ", the database's 40 %; open connections to the database: 8 of 8";
        assert!(found.evidence.ends_with(expected), "{}", found.evidence);
    }

    fn database(process: Option<ProcessUse>, connections: Option<u64>) -> DatabaseUse {
        DatabaseUse {
            database: paceline_record::DatabaseReceipt::default(),
            work: paceline_record::DatabaseWork { selects: 1, rows_read: 1, rows_updated: 0 },
            responses: 100,
            counted: Some(DatabaseCounts { connections, ..DatabaseCounts::default() }),
            stored: None,
            process,
            recovery: None,
        }
    }

    #[test]
    fn one_thread_is_judged_by_its_own_cpu_time() {
        let mut trial = closed(0.25);
        trial.pinning.server = vec![0, 1, 2, 3];
        let mut judged = |busy| {
            trial.usage.iter_mut().for_each(|usage| usage.busiest_thread_utilization = busy);
            trial_limit(&trial).map(|limit| (limit.kind, limit.evidence))
        };
        assert_eq!(judged(None).map(|(kind, _)| kind), Some(LimitKind::ServerThread), "an older record");
        let (kind, evidence) = judged(Some(0.97)).unwrap();
        assert_eq!(kind, LimitKind::ServerThread);
        assert_eq!(evidence, "the server used 1.00 of 4 cores, its busiest thread was 97 % busy");
        assert_eq!(judged(Some(0.3)).map(|(kind, _)| kind), Some(LimitKind::Waiting), "four threads");
    }

    #[test]
    fn the_limit_on_shared_cores_is_their_largest_user() {
        let mut trial = closed(0.4);
        trial.pinning.server = vec![0];
        trial.cores = vec![CoreTime { core: 0, over_s: 10.0, busy_s: 9.9, interrupt_s: 0.0, steal_s: 0.0 }];
        trial.usage.iter_mut().for_each(|usage| usage.cpu_s = 0.4);
        assert_eq!(
            kind(&trial),
            Some(LimitKind::Neighbours),
            "the server used less than half of a full core"
        );
        let mut process = process(ProcessRole::Database, 0, 0, 0.55);
        trial.database = Some(database(Some(process.clone()), None));
        assert_eq!(kind(&trial), Some(LimitKind::Database));
        process.cpu_s = 0.35;
        trial.database = Some(database(Some(process), None));
        assert_eq!(kind(&trial), Some(LimitKind::ServerCpu));
    }
}
