//! Tests of instances behind a balancer: the cores among which a load is shared, and the text on a fault.
//!
//! A trial or two, built by hand, of four instances with a core each. `twins.rs` compares a load with its twin that
//! bypasses the balancer.

use crate::built::{self, Seen};
use crate::grouping::SEEN;
use paceline_judge::Metric;
use paceline_record::{
    BalancedLoad, BalancerReceipt, Balancing, Block, Counts, FaultKind, InjectedFault, Interval, Load, Phase,
    Route, Span, Times, Trial,
};
use paceline_report::{Options, Report};

/// A trial of four instances on a core each, with a balancer and a generator on separate cores.
fn trial(route: Route) -> Trial {
    let (balancer, policy) = ("haproxy".to_owned(), "roundrobin".to_owned());
    let balanced = Some(BalancedLoad { balancer, policy, instances: 4, route, fault: None });
    let load = Load { balanced, ..built::closed() };
    let mut trial = built::trial("go-nethttp", &load, 0, Seen { per_s: 1000.0, ..SEEN });
    trial.pinning.server = vec![0, 1, 2, 3];
    trial.pinning.instances = vec![vec![0], vec![1], vec![2], vec![3]];
    (trial.pinning.balancer, trial.pinning.generator) = (vec![4], vec![5]);
    trial
}

fn text(report: &Report) -> String {
    report.text(Options { width: 160, colour: false, full: true }).to_string()
}

#[test]
fn a_direct_load_has_the_cores_of_its_instance() {
    let by = |route| {
        let report = Report::new(&built::round(), &[trial(route)]);
        let figures = &report.tables[0].rows[0].figures;
        let per_core = figures.get(&Metric::ACHIEVED_PER_CORE).unwrap().median;
        (figures.server_cores, per_core, text(&report))
    };
    let (cores, per_core, text) = by(Route::Direct);
    assert_eq!((cores, per_core), (Some(1), 1000.0));
    assert!(text.contains("server on core 0, generator on core 5, balancer on core 4"), "{text}");
    assert!(!text.contains("per core"), "{text}");
    let (cores, per_core, text) = by(Route::Balanced);
    assert_eq!((cores, per_core), (Some(4), 250.0));
    assert!(text.contains("server on cores 0 to 3") && text.contains("per core"), "{text}");
}

/// A trial of two seconds; in the first, an instance was killed. Its intervals have these times.
fn killed(times: Option<&Times>) -> Trial {
    let mut trial = trial(Route::Balanced);
    let fault = InjectedFault {
        kind: FaultKind::KillOne,
        instance: 3,
        at_ns: 500_000_000,
        balancer_tells: false,
        taken_out_after_s: None,
    };
    let balancer = BalancerReceipt::default();
    trial.balancing = Some(Balancing { balancer, processes: Vec::new(), counts: None, fault: Some(fault) });
    let block = Block {
        counts: Counts { scheduled: 1000, ok: 1000, ..Counts::default() },
        service_time_ns: times.cloned(),
        ..Block::default()
    };
    let run = trial.run.as_mut().unwrap();
    run.phases.window = Span { start_ns: 0, end_ns: 2_000_000_000 };
    run.intervals =
        [0, 1_000_000_000].map(|start_ns| Interval::new(Phase::Window, start_ns, block.clone())).into();
    trial
}

#[test]
fn a_stored_repeat_may_have_any_number() {
    let at = |server, repeat: u32, per_s| {
        let seen = Seen { per_s, ..SEEN };
        Trial { repeat, ..built::trial(server, &built::closed(), repeat.min(1), seen) }
    };
    let report = |last| {
        let trials = [("a", 0, 1000.0), ("a", last, 1010.0), ("b", 0, 500.0), ("b", last, 504.0)];
        Report::new(&built::round(), &trials.map(|(server, repeat, per_s)| at(server, repeat, per_s)))
    };
    let (near, far) = (report(1), report(u32::MAX));
    assert_eq!((near.round.launches_planned, far.round.launches_planned), (2, u32::MAX));
    let ranks = |report: &Report| -> Vec<_> {
        report.tables[0].rows.iter().map(|row| (row.rank, row.rank_worst, row.launches_usable)).collect()
    };
    assert_eq!(ranks(&near), ranks(&far));
    let fault = Trial { repeat: u32::MAX, ..killed(None) };
    let text = text(&Report::new(&built::round(), &[fault]));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("(repeat 4294967296)"), "{text}");
}

#[test]
fn the_longest_time_after_a_fault_is_shown_only_if_known() {
    let times = built::trial("go-nethttp", &built::closed(), 0, SEEN).run.unwrap().total.service_time_ns;
    let times = times.map(|times| Times { max: 7_000_000, ..times });
    let reported = |times| {
        let report = Report::new(&built::round(), &[killed(times)]);
        (report.balanced[0].rows[0].faults[0].time_ns_max, text(&report))
    };
    let (longest, text) = reported(times.as_ref());
    assert!(longest == Some(7_000_000) && text.contains("slowest request 7 ms"), "{longest:?} in {text}");
    let (longest, text) = reported(None);
    assert!(longest.is_none() && text.contains("slowest request not known"), "{longest:?} in {text}");
}
