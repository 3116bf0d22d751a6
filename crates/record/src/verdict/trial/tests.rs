//! Verdicts on trials, each brought on by its own reason, and the cores that a trial's cost is shared among.
//!
//! The sound trial that the tests start from serves those of balanced trials and of slim ones, too. The run's own
//! verdicts have theirs in `verdict/run/tests.rs`.

use super::*;
use crate::{BalancedLoad, Check, CoreTime, Fault, Load, LoopKind, Route, SCHEMA, Server, Usage, Validation};

/// A sound trial without a run.
pub fn trial() -> Trial {
    Trial {
        schema: SCHEMA,
        id: "t".into(),
        round: "r".into(),
        sitting: "s".into(),
        launch: "l".into(),
        block: 0,
        order: 0,
        repeat: 0,
        started_at: "2026-11-21T00:00:00.000Z".into(),
        server: Server::default(),
        form: "single".into(),
        workload: "hello".into(),
        load: Load {
            name: "closed-64".into(),
            kind: LoopKind::Closed,
            connections: 64,
            depth: 1,
            duration_s: Some(1.0),
            warmup_s: 1.0,
            ..Load::default()
        },
        pinning: Pinning { server: vec![0], generator: vec![1], disjoint: true, ..Pinning::default() },
        generator_argv: Vec::new(),
        run: None,
        startup: None,
        usage: None,
        samples: Vec::new(),
        cores: Vec::new(),
        balancing: None,
        validation: None,
        log_tail: String::new(),
        error: None,
        verdicts: Vec::new(),
    }
}

fn usage(source: CpuSource) -> Usage {
    Usage {
        over_s: 1.0,
        cpu_s: 0.5,
        cpu_ns_per_request: 1.0,
        utilization: 0.5,
        source,
        rss_bytes_peak: 0,
        pss_bytes: None,
        rss_bytes_after: None,
        threads_peak: 1,
        voluntary_switches: 0,
        involuntary_switches: 0,
        run_delay_s: 0.0,
    }
}

fn names(trial: &Trial) -> Vec<String> {
    of_trial(trial).into_iter().map(|verdict| verdict.name).collect()
}

#[test]
fn a_sound_trial_has_none() {
    let core = CoreTime { core: 0, over_s: 10.0, busy_s: 10.0, interrupt_s: 0.0, steal_s: 0.1 };
    let usage = Some(usage(CpuSource::Cgroup));
    assert_eq!(names(&Trial { usage, cores: vec![core], ..trial() }), [] as [&str; 0]);
}

#[test]
fn much_stolen_time_spoils_a_trial() {
    let severity = |steal_s| {
        let core = CoreTime { core: 0, over_s: 10.0, busy_s: 10.0, interrupt_s: 0.0, steal_s };
        of_trial(&Trial { cores: vec![core], ..trial() }).first().map(|verdict| verdict.severity)
    };
    assert_eq!(severity(0.11), None);
    assert_eq!((severity(0.12), severity(1.0)), (Some(Severity::Caution), Some(Severity::Caution)));
    assert_eq!(severity(1.1), Some(Severity::Invalid));
}

#[test]
fn time_stolen_from_a_core_that_nobody_uses_spoils_nothing() {
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
fn a_load_past_the_balancer_has_the_cores_of_one_instance() {
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
}

#[test]
fn one_tick_of_a_short_window_is_no_evidence() {
    let core = |steal_s| CoreTime { core: 0, over_s: 0.025, busy_s: 0.02, interrupt_s: 0.0, steal_s };
    let names = |steal_s| names(&Trial { cores: vec![core(steal_s)], ..trial() });
    assert_eq!(names(0.01), [] as [&str; 0]);
    assert_eq!(names(0.02), ["stolen_time"]);
}

#[test]
fn each_reason_is_named() {
    let shared = Pinning { server: vec![0], generator: vec![0], disjoint: false, ..Pinning::default() };
    assert_eq!(names(&Trial { pinning: shared, ..trial() }), ["shared_cores"]);
    let usage = Some(usage(CpuSource::Proc));
    assert_eq!(names(&Trial { usage, ..trial() }), ["cpu_lower_bound"]);
    let fault = Fault { stage: Stage::Load, message: "signal 11".into(), transient: false };
    assert_eq!(names(&Trial { error: Some(fault), ..trial() }), ["server_died"]);
    let core = CoreTime { core: 1, over_s: 10.0, busy_s: 9.0, interrupt_s: 0.0, steal_s: 0.3 };
    assert_eq!(names(&Trial { cores: vec![core], ..trial() }), ["stolen_time"]);
    let check = Check { name: "pipelining".into(), outcome: CheckOutcome::Warn, detail: "no".into() };
    let validation = Some(Validation { checks: vec![check] });
    assert_eq!(names(&Trial { validation, ..trial() }), ["claim_does_not_hold"]);
}
