//! Sound runs and trials for the tests of this crate, and of the crates that judge and report.
//!
//! A test starts from one of them and changes the fields it tests. Only tests use this module.

use crate::{
    BalancedLoad, BalancerReceipt, Balancing, Block, Connections, Counts, CpuSource, Environment, FoundBy,
    Generator, Interval, Phase, Phases, Pinning, ProcessRole, ProcessUse, Route, Run, ServerUse, Span, Times,
    Trial, Usage,
};
use paceline_stats::Histogram;
use serde_json::json;

const SECOND_NS: u64 = 1_000_000_000;

/// An open loop of 1,000/s for 10 s in which request i took i microseconds, except for failed requests. The window
/// begins 200 ms after the warm-up, so that no second of the run begins or ends with it. A sound run, except for the
/// failures.
pub fn run(failed: u64) -> Run {
    let mut histogram = Histogram::new();
    (1..=10_000 - failed).for_each(|micros| histogram.record(micros * 1_000));
    let times = Some(Times::from_histogram(&histogram));
    let counts = Counts { scheduled: 10_000, ok: 10_000 - failed, bad_status: failed, ..Counts::default() };
    let mut run: Run = serde_json::from_value(json!({
        "schema": 1, "id": "", "tool": {"name": "", "version": "", "commit": null}, "argv": [], "seed": 1,
        "started_at": "", "target": {"url": "", "protocol": "", "address": ""},
        "loop": {"kind": "open", "connections": 4, "depth": 1, "offered_per_s": 1000.0},
        "pace": {"asked": "auto", "used": "sleep", "spin_before_ns": 0}, "expectations": {},
        "timeout_ns": 10 * SECOND_NS, "window_s": 10.0, "phases": Phases::default(),
        "connections": Connections { asked: 20, had: 20, ..Connections::default() },
        "environment": Environment { cores: 2, ..Environment::default() },
        "generator": Generator { threads: 1, cores: vec![1], ..Generator::default() },
        "total": Block::default(), "intervals": [],
        "rate_per_s": {"offered": 1000.0, "sent": 1000.0, "achieved": counts.ok as f64 / 10.0}, "verdicts": []
    }))
    .expect("a run with every key that has no default");
    run.phases = phases(SECOND_NS / 2, SECOND_NS / 5, 10 * SECOND_NS);
    run.intervals = intervals(&run.phases, counts.ok / 10, failed / 10);
    run.total = Block {
        counts,
        completed_in_window: counts.ok,
        response_time_ns: times.clone(),
        service_time_ns: times.clone(),
        first_byte_ns: times.clone(),
        generator_lag_ns: times,
        ..Block::default()
    };
    run
}

/// Phases of these lengths, and a drain of a second.
fn phases(connect_ns: u64, warmup_ns: u64, window_ns: u64) -> Phases {
    let span = |start_ns, length_ns| Span { start_ns, end_ns: start_ns + length_ns };
    let warmup = span(connect_ns, warmup_ns);
    let window = span(warmup.end_ns, window_ns);
    Phases { connect: span(0, connect_ns), warmup, window, drain: span(window.end_ns, SECOND_NS) }
}

/// One interval per second from the beginning of the warm-up, with this many responses of the window's cohort.
fn intervals(phases: &Phases, ok: u64, bad_status: u64) -> Vec<Interval> {
    let starts = (phases.warmup.start_ns..phases.window.end_ns).step_by(SECOND_NS as usize);
    let counts = Counts { scheduled: ok + bad_status, ok, bad_status, ..Counts::default() };
    let block = Block { counts, ..Block::default() };
    starts.map(|start_ns| Interval::new(Phase::Window, start_ns, block.clone())).collect()
}

/// A sound trial without a run.
pub fn trial() -> Trial {
    serde_json::from_value(json!({
        "schema": 1, "id": "t", "round": "r", "sitting": "s", "launch": "l", "block": 0, "order": 0, "repeat": 0,
        "started_at": "2026-11-21T00:00:00.000Z", "server": crate::Server::default(), "form": "single",
        "workload": "hello",
        "load": {"name": "closed-64", "kind": "closed", "connections": 64, "depth": 1, "duration_s": 1.0, "warmup_s": 1.0},
        "pinning": {"server": [0], "generator": [1], "disjoint": true},
        "generator_argv": [], "samples": [], "cores": [], "log_tail": "", "verdicts": []
    }))
    .expect("a trial with every key that has no default")
}

/// A server of one process with one thread, observed over a window of ten seconds.
pub fn server_use(cores_allowed: u32, cpu_s: f64) -> ServerUse {
    ServerUse {
        found_by: FoundBy::Port,
        pid: 1,
        name: "server".to_owned(),
        processes: 1,
        threads: 1,
        cores_allowed,
        cpu_s,
        user_s: None,
        system_s: None,
        cpu_ns_per_request: cpu_s * 1e5,
        utilization: cpu_s / 10.0 / f64::from(cores_allowed),
        busiest_thread_utilization: Some(cpu_s / 10.0),
        rss_bytes: 1,
        rss_bytes_before: None,
        rss_bytes_peak: None,
        cores: (0..cores_allowed).collect(),
        run_delay_s: Some(0.0),
        most_delayed_thread_share: Some(0.0),
        major_faults: Some(0),
        memory: None,
        throttling: None,
    }
}

/// A CPU time of half a second over one second.
pub fn usage(source: CpuSource, utilization: f64) -> Usage {
    Usage {
        over_s: 1.0,
        cpu_s: 0.5,
        user_s: None,
        system_s: None,
        cpu_ns_per_request: 1.0,
        utilization,
        source,
        rss_bytes_peak: 0,
        pss_bytes: None,
        rss_bytes_after: None,
        threads_peak: 1,
        voluntary_switches: 0,
        involuntary_switches: 0,
        run_delay_s: 0.0,
        busiest_thread_utilization: None,
    }
}

/// One process that was sampled on one core for one second.
pub fn process(role: ProcessRole, index: u32, core: u32, utilization: f64) -> ProcessUse {
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

/// Two instances on cores 0 and 1, a balancer on core 2, the generator on core 3; no core is full.
pub fn balanced_trial() -> Trial {
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
        ..Pinning::default()
    };
    trial.balancing = Some(Balancing {
        balancer: BalancerReceipt::default(),
        processes: vec![
            process(ProcessRole::Instance, 0, 0, 0.5),
            process(ProcessRole::Instance, 1, 1, 0.5),
            process(ProcessRole::Balancer, 0, 2, 0.5),
        ],
        counts: None,
        fault: None,
    });
    trial
}
