//! Verdicts on balanced trials: each brought on by its own reason, and by none of the others.
//!
//! The trial starts sound, with a core for each of its four processes, and a test changes what it is about. What
//! clients saw of a fault is not judged here: the report tells it (`crates/report/src/balanced.rs`).

use super::*;
use crate::verdict::of_trial;
use crate::verdict::trial_for_tests as trial;
use crate::{
    BalancedLoad, BalancerReceipt, Balancing, CoreTime, FaultKind, FaultSeen, InstanceTold, Pinning, Told,
};

fn process(role: ProcessRole, index: u32, core: u32, utilization: f64) -> ProcessUse {
    ProcessUse {
        role,
        index,
        cores: vec![core],
        cpu_s: utilization,
        utilization,
        cpu_ns_per_request: 1e4,
        rss_bytes_peak: 1,
        threads_peak: 1,
        run_delay_s: 0.0,
        connections_mean: None,
    }
}

/// Two instances on cores 0 and 1, a balancer on core 2, the generator on core 3; nothing has run out.
fn balanced() -> Trial {
    let mut trial = trial();
    trial.load.balanced = Some(BalancedLoad {
        balancer: "haproxy".into(),
        policy: "roundrobin".into(),
        instances: 2,
        route: Route::Balanced,
        fault: None,
    });
    trial.pinning = Pinning {
        server: vec![0, 1],
        generator: vec![3],
        disjoint: true,
        instances: vec![vec![0], vec![1]],
        balancer: vec![2],
    };
    trial.balancing = Some(Balancing {
        balancer: BalancerReceipt::default(),
        processes: vec![
            process(ProcessRole::Instance, 0, 0, 0.5),
            process(ProcessRole::Instance, 1, 1, 0.5),
            process(ProcessRole::Balancer, 0, 2, 0.5),
        ],
        told: None,
        fault: None,
    });
    trial
}

fn names(trial: &Trial) -> Vec<String> {
    of_trial(trial).into_iter().map(|verdict| verdict.name).collect()
}

fn with(change: impl FnOnce(&mut Balancing)) -> Trial {
    let mut trial = balanced();
    change(trial.balancing.as_mut().unwrap());
    trial
}

#[test]
fn each_reason_is_named() {
    assert_eq!(names(&balanced()), [""; 0]);
    assert_eq!(names(&with(|b| b.processes[2].utilization = 0.95)), ["balancer_bound"]);
    assert_eq!(names(&with(|b| b.processes[2].cores = vec![1])), ["balancer_shares_cores"]);
    assert_eq!(names(&with(|b| b.processes[2].cores = vec![3])), ["balancer_shares_cores"]);
    assert_eq!(names(&with(|b| b.processes[1].cores = vec![0])), ["instances_share_cores"]);
    let seen = |taken_out_after_s| FaultSeen {
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
fn uneven_shares_are_told_of_enough_requests() {
    let told = |requests: [u64; 2]| Told {
        by_instance: requests
            .map(|requests| InstanceTold { requests: Some(requests), ..InstanceTold::default() })
            .into(),
        ..Told::default()
    };
    assert_eq!(names(&with(|b| b.told = Some(told([5000, 4000])))), [""; 0]);
    assert_eq!(names(&with(|b| b.told = Some(told([7000, 3000])))), ["uneven_instances"]);
    assert_eq!(names(&with(|b| b.told = Some(told([7, 3])))), [""; 0]);
}

#[test]
fn the_core_that_ran_out_is_named_with_who_runs_on_it() {
    let mut trial = balanced();
    let core = |core, busy_s| CoreTime { core, over_s: 10.0, busy_s, interrupt_s: 0.0, steal_s: 0.0 };
    trial.cores = vec![core(0, 5.0), core(2, 9.5), core(3, 9.9)];
    trial.balancing.as_mut().unwrap().processes[2].cpu_s = 9.0;
    let other = "mostly something else".to_owned();
    let expected = [(3, vec!["generator".to_owned(), other]), (2, vec!["balancer".to_owned()])];
    let found: Vec<(u32, Vec<String>)> = ran_out(&trial).into_iter().map(|c| (c.core, c.whose)).collect();
    assert_eq!(found, expected);
    assert_eq!(names(&trial), ["core_ran_out"]);
}

#[test]
fn nothing_is_said_of_the_balancer_where_requests_went_past_it() {
    let mut trial = with(|b| b.processes[2].cores = vec![0]);
    trial.load.balanced.as_mut().unwrap().route = Route::Direct;
    assert_eq!(names(&trial), [""; 0]);
}
