//! Tests of verdicts on trials, each with its own cause, and of the cores that a trial's cost is divided by.
//!
//! The tests of balanced trials and of slim trials start from the same sound trial. Verdicts on runs are tested in
//! `src/tests.rs`.

use super::*;
use crate::Metric;
use paceline_record::fixture::{balanced_trial, process, run, trial, usage};
use paceline_record::{
    BalancedLoad, BalancerCounts, Balancing, Blame, Check, ClockOffset, CoreDistance, CoreTime,
    DatabaseCounts, DatabaseLoad, DatabaseReceipt, DatabaseUse, DatabaseWork, Environment, Fault, FaultKind,
    FoundCapacity, InjectedFault, InstanceCounts, Limit, LimitKind, Load, Loader, MemoryUse, NetworkUse,
    Pinning, RateRange, RoleMachine, Route, Run, SearchedRate, Severity, Startup, StoredRows, Usage,
    Validation, WarmUp,
};

fn names(trial: &Trial) -> Vec<String> {
    trial_verdicts(trial).into_iter().map(|verdict| verdict.name).collect()
}

#[test]
fn a_sound_trial_has_no_verdict() {
    let core = CoreTime { core: 0, over_s: 10.0, busy_s: 10.0, interrupt_s: 0.0, steal_s: 0.1 };
    let usage = Some(usage(CpuSource::Cgroup, 0.5));
    assert_eq!(names(&Trial { usage, cores: vec![core], ..trial() }), [] as [&str; 0]);
}

#[test]
fn a_full_server_takes_back_that_the_generator_was_the_limit() {
    let judged = |used: f64| {
        let mut run = run(0);
        run.loop_.kind = LoopKind::Closed;
        (run.loop_.offered_per_s, run.rate_per_s.offered) = (None, None);
        run.generator.utilization = 0.95;
        run.verdicts = crate::run_verdicts(&run);
        let mut judged = Trial { run: Some(run), usage: Some(usage(CpuSource::Cgroup, used)), ..trial() };
        crate::judge_trial(&mut judged);
        let is_named = crate::VerdictName::GeneratorBound.is_in(&judged.run.as_ref().unwrap().verdicts);
        (is_named, judged.limit.map(|limit| limit.kind))
    };
    assert_eq!(judged(0.94), (true, Some(LimitKind::Generator)));
    assert_eq!(judged(0.95), (false, Some(LimitKind::ServerCpu)));
}

#[test]
fn a_search_without_a_capacity_has_a_reason() {
    let window =
        |offered_per_s: f64| SearchedRate { offered_per_s, achieved_per_s: 1.0, outcome: "miss".into() };
    let found = FoundCapacity {
        window_s: 5.0,
        closed_loop_per_s: 100.0,
        half_pass_per_s: None,
        interval_per_s: None,
        is_precise: false,
        stalls_decide: None,
        long_run_per_s: None,
        limit: Limit { kind: LimitKind::Waiting, evidence: String::new() },
        ended_early: None,
        windows: vec![window(70.0), window(40.0)],
    };
    let judged = |capacity: FoundCapacity| trial_verdicts(&Trial { capacity: Some(capacity), ..trial() });
    let none = judged(found.clone());
    assert_eq!((none[0].name.as_str(), none[0].blame), ("capacity_not_found", Blame::Server));
    assert_eq!(none[0].evidence["lowest_offered_per_s"], 40.0);
    assert!(none[0].remedy.contains("a lower rate"), "{}", none[0].remedy);
    let ended_early = Some("3 windows in a row were disturbed: verdict stolen_time".to_owned());
    let disturbed = &judged(FoundCapacity { ended_early, ..found.clone() })[0];
    assert_eq!(disturbed.blame, Blame::Environment);
    let remedy = "The search ended early: 3 windows in a row were disturbed: verdict stolen_time. \
                  Remove the cause, then repeat the search.";
    assert_eq!(disturbed.remedy, remedy);
    let span = Some(RateRange { low: 30.0, high: 90.0 });
    let stalls = judged(FoundCapacity { stalls_decide: span, ..found.clone() });
    assert_eq!(stalls[0].name, "stalls_decide");
    assert!(stalls[0].remedy.contains("-r 45"), "{}", stalls[0].remedy);
    assert_eq!(judged(FoundCapacity { half_pass_per_s: Some(80.0), ..found }), []);
}

#[test]
fn memory_is_the_limit_after_swapping_or_a_kill() {
    let judged = |memory: MemoryUse| trial_verdicts(&Trial { memory: Some(memory), ..trial() });
    let used = |rss_bytes_peak| MemoryUse {
        limit_bytes: Some(100 << 20),
        rss_bytes_peak: Some(rss_bytes_peak),
        ..MemoryUse::default()
    };
    assert_eq!(judged(used(89 << 20)), []);
    let near = judged(used(90 << 20));
    assert_eq!((near[0].name.as_str(), near[0].severity), ("memory_bound", Severity::Caution));
    assert_eq!(judged(used(400 << 20)), [], "the sum over processes counts shared pages several times");
    assert_eq!(judged(MemoryUse { limit_bytes: None, ..used(1 << 40) }), []);
    assert_eq!(judged(MemoryUse { swapped_bytes: 15 << 20, ..used(0) }), []);
    assert!(judged(MemoryUse { swapped_bytes: 16 << 20, ..used(0) })[0].remedy.contains("machine was short"));
    let killed = judged(MemoryUse { oom_kills: 1, rss_bytes_peak: None, ..used(0) });
    assert_eq!((killed[0].severity, killed[0].blame), (Severity::Invalid, Blame::Environment));
    assert!(!killed[0].evidence.contains_key("rss_bytes_peak"), "{killed:?}");
}

#[test]
fn much_steal_time_makes_a_trial_invalid() {
    let severity = |steal_s| {
        let core = CoreTime { core: 0, over_s: 10.0, busy_s: 10.0, interrupt_s: 0.0, steal_s };
        trial_verdicts(&Trial { cores: vec![core], ..trial() }).first().map(|verdict| verdict.severity)
    };
    assert_eq!(severity(0.11), None);
    assert_eq!((severity(0.12), severity(1.0)), (Some(Severity::Caution), Some(Severity::Caution)));
    assert_eq!(severity(1.1), Some(Severity::Invalid));
}

#[test]
fn steal_time_of_an_unused_core_is_ignored() {
    let core = |core, steal_s| CoreTime { core, over_s: 10.0, busy_s: 9.0, interrupt_s: 0.0, steal_s };
    let stolen = |number, pinning: Pinning| {
        let cores = (0..5).map(|other| core(other, if other == number { 5.0 } else { 0.0 })).collect();
        names(&Trial { cores, pinning: Pinning { disjoint: true, ..pinning }, ..trial() })
    };
    let used = Pinning {
        server: vec![0],
        generator: vec![1],
        instances: vec![vec![0], vec![2]],
        balancer: vec![3],
        ..Pinning::default()
    };
    for number in 0..4 {
        assert_eq!(stolen(number, used.clone()), ["stolen_time"], "core {number}");
    }
    assert_eq!(stolen(4, used), [] as [&str; 0]);
    assert_eq!(stolen(4, Pinning::default()), ["stolen_time"], "where nobody was kept to a core");
}

#[test]
fn cores_that_the_host_moved_disturb_a_trial() {
    let with = |after_ns| {
        let distance = CoreDistance { usual_ns: 50.0, before_ns: 52.0, after_ns, waited_s: 0.0 };
        let trial = Trial { core_distance: Some(distance), ..trial() };
        let names: Vec<String> = trial_verdicts(&trial).into_iter().map(|verdict| verdict.name).collect();
        (names, trial.is_disturbed())
    };
    assert_eq!(with(Some(55.0)), (vec![], false));
    assert_eq!(with(None), (vec![], false));
    assert_eq!(with(Some(210.0)), (vec!["cores_moved".to_owned()], true));
}

#[test]
fn a_suspend_disturbs_a_trial_and_is_named_once() {
    let mut suspended = Trial { suspended_s: Some(12.0), ..trial() };
    suspended.verdicts = trial_verdicts(&suspended);
    assert_eq!(suspended.verdicts[0].name, "machine_suspended");
    assert_eq!(suspended.verdicts[0].evidence["suspended_s"], 12.0);
    assert!(suspended.is_disturbed() && !trial().is_disturbed());
    let mut of_run = run(0);
    of_run.generator.suspended_s = Some(12.0);
    of_run.verdicts = crate::run_verdicts(&of_run);
    let suspended = Trial { run: Some(of_run), ..suspended };
    assert_eq!(names(&suspended), [] as [&str; 0], "the run has it");
    assert!(Trial { verdicts: Vec::new(), ..suspended }.is_disturbed());
}

#[test]
fn a_direct_load_has_the_cores_of_one_instance() {
    let mut trial = trial();
    assert_eq!(trial.server_cores(), [0]);
    trial.pinning.server = vec![0, 1, 2, 3];
    assert_eq!(trial.server_cores(), [0, 1, 2, 3]);
    trial.pinning.instances = vec![vec![0], vec![1], vec![2], vec![3]];
    let by = |route| {
        let (balancer, policy) = ("haproxy".to_owned(), "roundrobin".to_owned());
        let balanced = Some(BalancedLoad { balancer, policy, instances: 4, route, fault: None });
        Trial { load: Load { balanced, ..trial.load.clone() }, ..trial.clone() }
    };
    assert_eq!(by(Route::Direct).server_cores(), [0]);
    assert_eq!(by(Route::Balanced).server_cores(), [0, 1, 2, 3]);
    assert_eq!(by(Route::Spread).server_cores(), [0, 1, 2, 3]);
}

#[test]
fn one_tick_of_a_short_window_is_not_evidence() {
    let core = |steal_s| CoreTime { core: 0, over_s: 0.025, busy_s: 0.02, interrupt_s: 0.0, steal_s };
    let names = |steal_s| names(&Trial { cores: vec![core(steal_s)], ..trial() });
    assert_eq!(names(0.01), [] as [&str; 0]);
    assert_eq!(names(0.02), ["stolen_time"]);
}

#[test]
fn each_cause_has_its_verdict() {
    let shared = Pinning { server: vec![0], generator: vec![0], disjoint: false, ..Pinning::default() };
    assert_eq!(names(&Trial { pinning: shared, ..trial() }), ["shared_cores"]);
    let usage = Some(usage(CpuSource::Proc, 0.5));
    assert_eq!(names(&Trial { usage, ..trial() }), ["cpu_lower_bound"]);
    for process in ["the server", "the balancer", "the database"] {
        let message = format!("{process} ended with signal 11 under load");
        let fault = Fault { stage: Stage::Load, message: message.clone(), transient: false };
        let ended = &trial_verdicts(&Trial { error: Some(fault), ..trial() })[0];
        assert_eq!((ended.name.as_str(), &ended.evidence["message"]), ("server_died", &message.into()));
        assert!(ended.remedy.starts_with("The server, or its load balancer or database, ended"));
    }
    let core = CoreTime { core: 1, over_s: 10.0, busy_s: 9.0, interrupt_s: 0.0, steal_s: 0.3 };
    assert_eq!(names(&Trial { cores: vec![core], ..trial() }), ["stolen_time"]);
    let check = Check { name: "pipelining".into(), outcome: CheckOutcome::Warn, detail: "no".into() };
    let validation = Some(Validation { checks: vec![check] });
    assert_eq!(names(&Trial { validation, ..trial() }), ["claim_does_not_hold"]);
}

fn at(role: ProcessRole, host: &str) -> RoleMachine {
    RoleMachine {
        role,
        index: 0,
        host: host.to_owned(),
        environment: Environment::default(),
        clock: ClockOffset::default(),
        network: None,
    }
}

fn with_loaders(hosts: &[&str]) -> Option<Run> {
    let loaders = hosts.iter().map(|host| Loader { host: (*host).to_owned(), ..Loader::default() }).collect();
    Some(Run { loaders, ..run(0) })
}

#[test]
fn a_loader_on_the_machine_of_a_role_shares_its_cores() {
    let trial = |loaders: &[&str]| Trial {
        machines: vec![at(ProcessRole::Instance, "n1"), at(ProcessRole::Database, "n2")],
        run: with_loaders(loaders),
        usage: Some(usage(CpuSource::Cgroup, 0.5)),
        ..with_database(DatabaseWork::default(), DatabaseCounts::default(), None)
    };
    let judged = |loaders: &[&str]| {
        let mut trial = trial(loaders);
        if let Some(database) = &mut trial.database {
            database.process = Some(process(ProcessRole::Database, 0, 0, 0.5));
        }
        names(&trial)
    };
    assert_eq!(judged(&["n3", "n4"]), [""; 0]);
    assert_eq!(judged(&["n3", "n1"]), ["shared_cores"]);
    assert_eq!(judged(&["n2"]), ["database_shares_cores"]);
    let verdicts = trial_verdicts(&trial(&["n3", "n1"]));
    assert_eq!(verdicts[0].evidence["loaders"], serde_json::json!(["n3", "n1"]));
    assert!(verdicts[0].remedy.contains("other machines"), "{}", verdicts[0].remedy);
    // The same machine under another name, as the lab found out.
    let mut other_name = trial(&["n3"]);
    other_name.pinning.disjoint = false;
    assert_eq!(names(&other_name), ["shared_cores"]);
}

fn with_database(work: DatabaseWork, counted: DatabaseCounts, stored: Option<StoredRows>) -> Trial {
    let database = DatabaseUse {
        database: DatabaseReceipt::default(),
        work,
        responses: 100,
        counted: Some(counted),
        stored,
        process: None,
        recovery: None,
    };
    Trial { database: Some(database), ..trial() }
}

#[test]
fn a_server_that_does_not_ask_its_database_is_named() {
    let work = DatabaseWork { selects: 20, rows_read: 20, rows_updated: 0 };
    let counts = |selects, rows_read| DatabaseCounts { selects, rows_read, ..DatabaseCounts::default() };
    let judged = |selects, rows_read| names(&with_database(work, counts(selects, rows_read), None));
    assert_eq!(judged(2_000, 2_000), [""; 0]);
    assert_eq!(judged(1_985, 1_985), [""; 0], "a counter that lags");
    assert_eq!(judged(100, 2_000), ["queries_not_run"], "one statement for twenty rows");
    assert_eq!(judged(2_000, 1_000), ["queries_not_run"]);
    assert_eq!(judged(0, 0), ["queries_not_run"], "a cache");
    let mut forged = with_database(work, counts(2_000, 2_000), None);
    forged.database.as_mut().unwrap().responses = u64::MAX;
    assert_eq!(names(&forged), ["queries_not_run"], "numbers of a forged record");
}

#[test]
fn updates_that_are_not_stored_are_named() {
    let work = DatabaseWork { selects: 20, rows_read: 20, rows_updated: 20 };
    let counts = |rows_updated| DatabaseCounts {
        selects: 2_000,
        rows_read: 2_000,
        rows_updated,
        ..DatabaseCounts::default()
    };
    let judged =
        |rows, stored| names(&with_database(work, counts(rows), Some(StoredRows { returned: 20, stored })));
    assert_eq!(judged(1_962, 20), [""; 0], "some rows twice in one response");
    assert_eq!(judged(0, 20), ["updates_not_stored"]);
    assert_eq!(judged(2_000, 19), ["updates_not_stored"]);
    let stored = |stored| names(&with_database(work, counts(2_000), stored));
    assert_eq!(stored(Some(StoredRows::default())), ["updates_not_stored"], "a response without rows");
    assert_eq!(stored(None), ["database_not_counted"], "no response after the run");
}

#[test]
fn more_connections_than_the_pool_are_named() {
    let judged = |pool, connections| {
        let counts = DatabaseCounts { connections: Some(connections), ..DatabaseCounts::default() };
        let mut trial = with_database(DatabaseWork::default(), counts, None);
        trial.load.database = Some(DatabaseLoad { database: "postgresql".to_owned(), pool });
        names(&trial)
    };
    assert_eq!(judged(32, 32), [""; 0]);
    assert_eq!(judged(1, 3), [""; 0], "connections by which a driver watches the server");
    assert_eq!(judged(8, 15), ["pool_exceeded"]);
    assert_eq!(judged(32, 64), ["pool_exceeded"]);
}

#[test]
fn a_full_database_is_the_limit_unless_it_shares_the_servers_cores() {
    let work = DatabaseWork { selects: 1, rows_read: 1, rows_updated: 0 };
    let counts = DatabaseCounts { selects: 100, rows_read: 100, ..DatabaseCounts::default() };
    let judged = |core, utilization| {
        let mut trial = with_database(work, counts, None);
        trial.usage = Some(usage(CpuSource::Cgroup, 0.5));
        trial.pinning = Pinning { server: vec![0], generator: vec![2], disjoint: true, ..Pinning::default() };
        if let Some(database) = &mut trial.database {
            database.process = Some(process(ProcessRole::Database, 0, core, utilization));
        }
        names(&trial)
    };
    assert_eq!(judged(1, 0.95), ["database_bound"]);
    assert_eq!(judged(1, 0.5), [""; 0]);
    assert_eq!(judged(0, 0.95), ["database_shares_cores"]);
    assert_eq!(judged(2, 0.5), ["database_shares_cores"], "the generator's");
}

#[test]
fn a_run_that_the_database_did_not_count_is_not_ranked() {
    let work = DatabaseWork { selects: 1, rows_read: 1, rows_updated: 0 };
    let mut trial = with_database(work, DatabaseCounts::default(), None);
    if let Some(database) = &mut trial.database {
        database.counted = None;
    }
    assert_eq!(names(&trial), ["database_not_counted"]);
    let fault = Fault { stage: Stage::Load, message: "the database ended".into(), transient: false };
    assert_eq!(names(&Trial { error: Some(fault), ..trial }), ["server_died"]);
}

#[test]
fn the_metrics_include_the_cost_of_the_database() {
    let counts = DatabaseCounts { connections: Some(32), ..DatabaseCounts::default() };
    let mut trial = with_database(DatabaseWork::default(), counts, None);
    let figures = |trial: &Trial| {
        let run = run(0);
        [Metric::DATABASE_CPU, Metric::DATABASE_UTILIZATION, Metric::DATABASE_CONNECTIONS]
            .map(|metric| (metric.of)(trial, &run).map(|value| value.value))
    };
    assert_eq!(figures(&trial), [None, None, Some(32.0)]);
    if let Some(database) = &mut trial.database {
        database.process = Some(process(ProcessRole::Database, 0, 1, 0.25));
    }
    assert_eq!(figures(&trial), [Some(10.0), Some(0.25), Some(32.0)]);
    assert_eq!(figures(&Trial { database: None, ..trial }), [None; 3]);
}

// balanced trials

fn with(change: impl FnOnce(&mut Balancing)) -> Trial {
    let mut trial = balanced_trial();
    change(trial.balancing.as_mut().unwrap());
    trial
}

#[test]
fn each_cause_of_a_balanced_trial_has_its_verdict() {
    assert_eq!(names(&balanced_trial()), [""; 0]);
    assert_eq!(names(&with(|b| b.processes[2].utilization = 0.95)), ["balancer_bound"]);
    assert_eq!(names(&with(|b| b.processes[2].cores = vec![1])), ["balancer_shares_cores"]);
    assert_eq!(names(&with(|b| b.processes[2].cores = vec![3])), ["balancer_shares_cores"]);
    assert_eq!(names(&with(|b| b.processes[1].cores = vec![0])), ["instances_share_cores"]);
    let seen = |taken_out_after_s| InjectedFault {
        kind: FaultKind::KillOne,
        instance: 1,
        at_ns: 0,
        balancer_tells: true,
        taken_out_after_s,
    };
    assert_eq!(names(&with(|b| b.fault = Some(seen(None)))), ["instance_not_taken_out"]);
    assert_eq!(names(&with(|b| b.fault = Some(seen(Some(6.0))))), [""; 0]);
}

#[test]
fn an_idle_balancer_is_no_limit_of_instances_that_are_asked_directly() {
    let spread = |change: fn(&mut Balancing)| {
        let mut trial = with(change);
        trial.load.balanced.as_mut().unwrap().route = Route::Spread;
        names(&trial)
    };
    assert_eq!(spread(|b| b.processes[2].utilization = 0.95), [""; 0]);
    assert_eq!(spread(|b| b.processes[2].cores = vec![1]), [""; 0]);
    assert_eq!(spread(|b| b.processes[1].cores = vec![0]), ["instances_share_cores"]);
}

#[test]
fn roles_on_other_machines_have_separate_cores_and_networks() {
    let machine = |role, host: &str, sent_bytes_per_s| RoleMachine {
        role,
        index: 0,
        host: host.to_owned(),
        environment: Environment::default(),
        clock: ClockOffset::default(),
        network: Some(NetworkUse {
            interface: "eth0".to_owned(),
            sent_bytes_per_s,
            received_bytes_per_s: 1e5,
            speed_bytes_per_s: Some(12.5e6),
            sent_limit_bytes_per_s: None,
        }),
    };
    let trial = |balancer: &str, sent_bytes_per_s| {
        let mut trial = with(|b| b.processes[2].cores = vec![0]);
        trial.machines = vec![
            machine(ProcessRole::Instance, "n1", sent_bytes_per_s),
            machine(ProcessRole::Balancer, balancer, 1e5),
        ];
        trial
    };
    assert_eq!(names(&trial("n1", 1e6)), ["balancer_shares_cores"]);
    assert_eq!(names(&trial("n2", 1e6)), [""; 0]);
    assert_eq!(names(&trial("n2", 12e6)), ["server_network_bound"]);
}

#[test]
fn a_database_beside_the_balancer_shares_its_cores() {
    let mut trial = balanced_trial();
    let cores = trial.balancing.as_ref().unwrap().processes[2].cores.clone();
    let other = with_database(DatabaseWork::default(), DatabaseCounts::default(), None);
    trial.database = other.database;
    trial.usage = Some(usage(CpuSource::Cgroup, 0.5));
    trial.pinning.balancer = cores.clone();
    if let Some(database) = &mut trial.database {
        database.process = Some(process(ProcessRole::Database, 0, cores[0], 0.5));
    }
    assert_eq!(names(&trial), ["database_shares_cores"]);
    trial.load.balanced.as_mut().unwrap().route = Route::Direct;
    assert_eq!(names(&trial), [""; 0]);
}

#[test]
fn uneven_shares_are_reported_with_enough_requests() {
    let reported = |requests: [u64; 2]| BalancerCounts {
        by_instance: requests
            .map(|requests| InstanceCounts { requests: Some(requests), ..InstanceCounts::default() })
            .into(),
        ..BalancerCounts::default()
    };
    assert_eq!(names(&with(|b| b.counts = Some(reported([5000, 4000])))), [""; 0]);
    assert_eq!(names(&with(|b| b.counts = Some(reported([7000, 3000])))), ["uneven_instances"]);
    assert_eq!(names(&with(|b| b.counts = Some(reported([7, 3])))), [""; 0]);
    assert_eq!(names(&with(|b| b.counts = Some(reported([u64::MAX, u64::MAX])))), [""; 0], "a forged record");
}

#[test]
fn a_full_core_is_named_with_its_processes() {
    let mut trial = balanced_trial();
    let core = |core, busy_s| CoreTime { core, over_s: 10.0, busy_s, interrupt_s: 0.0, steal_s: 0.0 };
    trial.cores = vec![core(0, 5.0), core(2, 9.5), core(3, 9.9)];
    trial.balancing.as_mut().unwrap().processes[2].cpu_s = 9.0;
    let other = "mostly other processes".to_owned();
    let expected = [(3, vec!["generator".to_owned(), other]), (2, vec!["balancer".to_owned()])];
    let found: Vec<(u32, Vec<String>)> =
        full_cores(&trial).into_iter().map(|c| (c.core, c.processes)).collect();
    assert_eq!(found, expected);
    assert_eq!(names(&trial), ["core_ran_out"]);
}

#[test]
fn a_generator_on_other_machines_shares_no_core_with_the_server() {
    let core = CoreTime { core: 3, over_s: 10.0, busy_s: 9.9, interrupt_s: 0.0, steal_s: 0.0 };
    let mut trial = Trial { run: Some(run(0)), cores: vec![core], ..balanced_trial() };
    let named = |trial: &Trial| full_cores(trial)[0].processes.contains(&"generator".to_owned());
    assert!(named(&trial));
    let loaders = |host: &str| vec![Loader { host: host.to_owned(), ..Loader::default() }];
    trial.run.as_mut().unwrap().loaders = loaders(Loader::LOCAL);
    assert!(named(&trial));
    trial.run.as_mut().unwrap().loaders = loaders("n3");
    assert!(!named(&trial));
}

#[test]
fn the_balancer_is_not_judged_for_direct_requests() {
    let mut trial = with(|b| b.processes[2].cores = vec![0]);
    trial.load.balanced.as_mut().unwrap().route = Route::Direct;
    assert_eq!(names(&trial), [""; 0]);
}

#[test]
fn a_slow_response_on_an_idle_machine_is_a_wait() {
    let waiting = |change: &dyn Fn(&mut Trial)| {
        let mut run = run(0);
        run.loop_.kind = LoopKind::Closed;
        let usage = Some(Usage { utilization: 0.02, ..usage(CpuSource::Cgroup, 0.5) });
        let mut trial = Trial { run: Some(run), usage, ..trial() };
        change(&mut trial);
        names(&trial)
    };
    assert_eq!(waiting(&|_| {}), ["waiting"]);
    assert_eq!(waiting(&|trial| trial.usage.as_mut().unwrap().utilization = 0.6), [""; 0]);
    assert_eq!(waiting(&|trial| trial.run.as_mut().unwrap().generator.utilization = 0.6), [""; 0]);
    assert_eq!(waiting(&|trial| trial.run.as_mut().unwrap().loop_.kind = LoopKind::Open), [""; 0]);
    let core = CoreTime { core: 0, over_s: 10.0, busy_s: 9.9, interrupt_s: 0.0, steal_s: 0.0 };
    assert_eq!(waiting(&|trial| trial.cores = vec![core]), [""; 0]);
}

#[test]
fn a_warm_up_that_is_too_short_for_the_rule_is_told_from_one_that_still_gains() {
    let finding = |rate_per_s: &[f64]| {
        let warm_up = WarmUp {
            warmed_s: rate_per_s.len() as f64,
            steady_after_s: None,
            limit_s: rate_per_s.len() as f64,
            bursts: None,
            connections: 64,
            workloads: Vec::new(),
            rate_per_s: rate_per_s.to_vec(),
        };
        let startup = Some(Startup { warm_up: Some(warm_up), ..Startup::default() });
        let mut verdicts = trial_verdicts(&Trial { startup, ..trial() });
        verdicts.retain(|verdict| verdict.name == "still_warming");
        let [verdict] = verdicts.try_into().unwrap();
        (verdict.remedy, verdict.evidence.contains_key("rate_before_per_s"))
    };
    let (gains, has_rate) = finding(&[50.0, 100.0, 100.0, 100.0, 100.0, 120.0, 120.0, 120.0, 120.0]);
    assert!(gains.starts_with("In the last 4 s of the launch's warm-up the rate was 20 % above"), "{gains}");
    assert!(has_rate);
    let (silent, _) = finding(&[100.0, 100.0, 100.0, 100.0, 0.0, 0.0, 0.0, 0.0]);
    assert!(silent.contains("no valid response in the last 4 s"), "{silent}");
    let (short, has_rate) = finding(&[100.0, 100.0, 100.0]);
    assert!(short.contains("too short") && short.contains("it had 3 whole seconds of load"), "{short}");
    assert!(!has_rate);
}
