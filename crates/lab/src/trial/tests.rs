//! Tests how observations become a trial: seeds, and the division of CPU time by answers.
//!
//! No server and no generator runs here: their output is made up. The binary's tests cover carrying out and keeping
//! trials.

use super::*;
use crate::generator::tests::run_of;
use crate::generator::{GeneratorResult, ReportedWindow};
use paceline_host::tree::TreeSample;
use paceline_host::{CoreTicks, ModeTime};
use paceline_record::{BalancedLoad, Route};

/// A run of a second with a hundred answers, sampled between two moments in seconds, with this much CPU time.
fn followed(window: ReportedWindow, from_s: f64, to_s: f64, cpu_s: f64) -> ObservedRun {
    let at = |at_s: f64, cpu_s| TreeSample {
        monotonic_ns: (at_s * 1e9) as u64,
        cpu_s,
        processes: 1,
        ..TreeSample::default()
    };
    ObservedRun {
        argv: Vec::new(),
        measured: GeneratorResult { run: run_of(100), verdicts: Vec::new(), capacity: None },
        samples: Vec::new(),
        over: (at(from_s, 1.0), at(to_s, 1.0 + cpu_s)),
        window,
        cores: (CoreTicks::now(), CoreTicks::now()),
        suspended_s: None,
        core_frequencies: Vec::new(),
        networks: Vec::new(),
        rss_bytes_after: 0,
        pss_bytes: None,
        energy: None,
        each: Vec::new(),
        counted: None,
        fault: None,
    }
}

#[test]
fn without_processes_the_cost_of_a_server_is_unknown() {
    let reported = ReportedWindow::From(5_000_000_000);
    let judged = |answers, cpu_s, processes| {
        let mut followed = followed(reported, 5.0, 6.0, cpu_s);
        followed.measured.run.total.completed_in_window = answers;
        (followed.over.0.processes, followed.over.1.processes) = (processes, processes);
        let verdict = not_sampled(&followed).map(|verdict| verdict.name);
        (usage(&followed, 1, CpuSource::Cgroup).is_some(), verdict.as_deref() == Some("not_sampled"))
    };
    assert_eq!(judged(50_000, 0.5, 1), (true, false));
    assert_eq!(judged(50_000, 0.0, 1), (false, true), "50,000 answers cost something");
    assert_eq!(judged(100, 0.0, 1), (true, false), "100 may cost less than a clock tick");
    assert_eq!(judged(100, 0.5, 0), (false, true), "no process was there");
}

#[test]
fn exact_counters_find_a_server_that_did_not_answer_its_few_requests() {
    let is_missing = |scheduled_s: f64| {
        let mut followed = followed(ReportedWindow::From(5_000_000_000), 5.0, 6.0, 0.0);
        followed.measured.run.total.completed_in_window = 100;
        (followed.over.0.scheduled_s, followed.over.1.scheduled_s) = (Some(2.0), Some(2.0 + scheduled_s));
        not_sampled(&followed).is_some()
    };
    assert!(is_missing(0.0), "100 answers cost something, if less than a clock tick");
    assert!(!is_missing(0.000_2));
}

#[test]
fn user_and_system_time_add_up_to_the_cpu_time_if_both_are_known() {
    let modes_of = |modes: [Option<ModeTime>; 2]| {
        let mut followed = followed(ReportedWindow::From(5_000_000_000), 5.0, 6.0, 0.5);
        (followed.over.0.modes, followed.over.1.modes) = (modes[0], modes[1]);
        let usage = usage(&followed, 1, CpuSource::Cgroup).unwrap();
        usage.user_s.zip(usage.system_s)
    };
    let at = |user_s, system_s| Some(ModeTime { user_s, system_s });
    let (user_s, system_s) = modes_of([at(1.0, 1.0), at(1.1, 1.3)]).unwrap();
    assert!((user_s + system_s - 0.5).abs() < 1e-9 && (system_s - 0.375).abs() < 1e-6, "{user_s} {system_s}");
    assert_eq!(modes_of([at(1.0, 1.0), at(1.03, 1.03)]), None, "six ticks");
    assert_eq!(modes_of([None, at(1.1, 1.3)]), None);
}

#[test]
fn cpu_time_and_responses_cover_the_same_interval() {
    let reported = ReportedWindow::From(5_000_000_000);
    let per_request_us = |window, from_s, to_s, cpu_s| {
        let usage = usage(&followed(window, from_s, to_s, cpu_s), 1, CpuSource::Cgroup)?;
        Some((usage.cpu_ns_per_request / 1e3).round())
    };
    assert_eq!(per_request_us(reported, 5.0, 6.0, 0.5), Some(5_000.0));
    // Read late: less of the window was sampled, or some of the time after it.
    assert_eq!(per_request_us(reported, 5.2, 6.0, 0.4), Some(5_000.0));
    assert_eq!(per_request_us(reported, 5.0, 6.05, 0.5), Some(5_000.0));
    assert_eq!(per_request_us(ReportedWindow::Nothing, 4.96, 6.02, 0.5), Some(5_000.0));
    // Both ends read after the window, or its end never reported.
    assert_eq!(per_request_us(reported, 6.001, 6.002, 0.0), None);
    assert_eq!(per_request_us(ReportedWindow::StartOnly, 5.0, 6.0, 0.5), None);
}

#[test]
fn energy_and_responses_cover_the_same_interval() {
    let reported = ReportedWindow::From(5_000_000_000);
    let used = |window, from_s, to_s, energy| {
        let followed = ObservedRun { energy, ..followed(window, from_s, to_s, 0.5) };
        energy_of(&followed).map(|used| (used.packages, (used.joules_per_request * 1e3).round()))
    };
    assert_eq!(used(reported, 5.0, 6.0, Some((50.0, 2))), Some((2, 500.0)), "50 J for 100 responses");
    assert_eq!(used(reported, 5.2, 6.0, Some((40.0, 1))), Some((1, 500.0)), "0.8 s of the window");
    assert_eq!(used(reported, 5.0, 6.0, None), None);
    assert_eq!(used(ReportedWindow::StartOnly, 5.0, 6.0, Some((50.0, 1))), None);
    let mut unanswered = followed(reported, 5.0, 6.0, 0.5);
    (unanswered.energy, unanswered.measured.run.total.completed_in_window) = (Some((50.0, 1)), 0);
    assert_eq!(energy_of(&unanswered), None);
}

#[test]
fn a_direct_load_is_divided_by_the_cores_of_one_instance() {
    let pinning = Pinning {
        server: vec![0, 1, 2, 3],
        generator: vec![5],
        disjoint: true,
        instances: vec![vec![0], vec![1], vec![2], vec![3]],
        balancer: vec![4],
        ..Pinning::default()
    };
    let server = Server::default();
    let place =
        TrialContext { round: "r", sitting: "s", launch: "l", block: 0, server: &server, pinning: &pinning };
    let plan = "name = \"one\"\nrepeats = 1\nworkloads = [\"hello\"]\n\
                [[load]]\nname = \"closed\"\nconnections = 4\nduration = \"1s\"\n";
    let catalogue = paceline_catalogue::fixture::TestTree::with(&["a-one"]).catalogue();
    let cells = paceline_catalogue::Plan::parse("one.toml", plan).unwrap().resolve(&catalogue).unwrap().cells;
    let utilization = |route| {
        let mut trial = begin(&place, &cells[0], "t".into(), 0, String::new());
        let (balancer, policy) = ("fake".to_owned(), "roundrobin".to_owned());
        trial.load.balanced = Some(BalancedLoad { balancer, policy, instances: 4, route, fault: None });
        let followed = followed(ReportedWindow::From(5_000_000_000), 5.0, 6.0, 0.8);
        complete(trial, followed, CpuSource::Cgroup).usage.unwrap().utilization
    };
    assert!((utilization(Route::Direct) - 0.8).abs() < 1e-9, "{}", utilization(Route::Direct));
    assert!((utilization(Route::Balanced) - 0.2).abs() < 1e-9, "{}", utilization(Route::Balanced));
}

#[test]
fn an_unsampled_window_is_noted() {
    let name = |window| unsampled(&followed(window, 5.0, 6.0, 0.5)).map(|verdict| verdict.name);
    assert_eq!(name(ReportedWindow::From(5_000_000_000)), None);
    assert_eq!(name(ReportedWindow::StartOnly).as_deref(), Some("window_not_sampled"));
}

#[test]
fn each_trial_has_a_reproducible_seed() {
    let seed = seed_of(7, "go-nethttp single hello closed-64", 0);
    assert_eq!(seed, seed_of(7, "go-nethttp single hello closed-64", 0));
    assert!(seed <= paceline_catalogue::MAX_SEED);
    assert_ne!(seed, seed_of(7, "go-nethttp single hello closed-64", 1));
    assert_ne!(seed, seed_of(8, "go-nethttp single hello closed-64", 0));
}
