//! Builds rounds and trials by hand: the record fields that a report needs, with chosen numbers.
//!
//! Used by `formats.rs` and `grouping.rs`, which change the fields they test. Nothing is random here: the store's tests
//! make records with random values everywhere.

use paceline_record::{
    Arrivals, Blame, Block, Censored, Connections, Counts, CpuSource, Environment, Expectations, Fault,
    Generator, Load, Loop, LoopKind, Pace, PaceChoice, PaceKind, Phases, Pinning, Rates, Round, Run, SCHEMA,
    Server, Severity, Sitting, Stage, Startup, Target, Times, Tool, Trial, Usage, Verdict,
};
use std::collections::BTreeMap;

/// A round of 42 trials on a small machine.
pub fn round() -> Round {
    Round {
        schema: SCHEMA,
        id: "20261121-010639-9f3a61c4".to_owned(),
        plan: "quick".to_owned(),
        plan_toml: "name = \"quick\"\n".to_owned(),
        seed: 7,
        started_at: "2026-11-21T01:06:39.125Z".to_owned(),
        finished_at: Some("2026-11-21T01:12:01.000Z".to_owned()),
        planned: 42,
        environment: environment(),
        generator: None,
        sittings: vec![Sitting {
            id: "1".to_owned(),
            started_at: "2026-11-21T01:06:39.125Z".to_owned(),
            tuned: Vec::new(),
        }],
        changes: Vec::new(),
        observed: Vec::new(),
    }
}

/// A small virtual machine.
pub fn environment() -> Environment {
    Environment {
        cpu_model: "AMD EPYC 9R14".to_owned(),
        cores: 2,
        memory_bytes: 8_203_923_456,
        kernel: "Linux 6.1.0-18-amd64".to_owned(),
        os: "Debian GNU/Linux 12 (bookworm)".to_owned(),
        virtual_machine: true,
        governor: Some("performance".to_owned()),
        ..Environment::default()
    }
}

/// The closed loop of the quick plan.
pub fn closed() -> Load {
    Load {
        name: "closed-64".to_owned(),
        kind: LoopKind::Closed,
        connections: 64,
        depth: 1,
        duration_s: Some(3.0),
        warmup_s: 1.0,
        ..Load::default()
    }
}

/// The open loop of the quick plan.
pub fn open() -> Load {
    Load {
        name: "rate-2000".to_owned(),
        kind: LoopKind::Open,
        rate_per_s: Some(2000.0),
        arrivals: Some(Arrivals::Constant),
        ..closed()
    }
}

/// The result of the server in one launch: the numbers that a table shows.
#[derive(Clone, Copy)]
pub struct Seen {
    pub per_s: f64,
    pub server_cpu_us: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub p99_9_us: f64,
    pub rss_mb: f64,
    pub start_ms: f64,
    pub generator: f64,
}

/// A usable trial.
pub fn trial(server: &str, load: &Load, repeat: u32, seen: Seen) -> Trial {
    let mut trial = bare(server, load, repeat);
    let window_s = load.duration_s.unwrap_or(3.0);
    let ok = (seen.per_s * window_s) as u64;
    trial.startup = Some(Startup {
        listening_ns: (seen.start_ms * 0.9e6) as u64,
        first_answer_ns: (seen.start_ms * 1e6) as u64,
        rss_bytes: (seen.rss_mb * 0.8e6) as u64,
        processes: 1,
        guarantee: "subreaper".to_owned(),
        first_since_build: Some(repeat == 0),
        disk_read_bytes: Some(if repeat == 0 { 2_500_000 } else { 0 }),
        private_network: false,
        warm_up: None,
    });
    trial.usage = Some(Usage {
        over_s: window_s,
        cpu_s: seen.per_s * window_s * seen.server_cpu_us / 1e6,
        user_s: None,
        system_s: None,
        cpu_ns_per_request: seen.server_cpu_us * 1e3,
        utilization: (seen.per_s * seen.server_cpu_us / 1e6).min(1.0),
        source: CpuSource::Proc,
        rss_bytes_peak: (seen.rss_mb * 1e6) as u64,
        pss_bytes: None,
        rss_bytes_after: Some((seen.rss_mb * 0.95e6) as u64),
        threads_peak: 4,
        voluntary_switches: 100,
        involuntary_switches: 3,
        run_delay_s: 0.01,
        busiest_thread_utilization: None,
    });
    trial.run = Some(run(load, seen, window_s, ok));
    trial
}

/// A trial that failed.
pub fn failed(server: &str, load: &Load, repeat: u32, stage: Stage, message: &str) -> Trial {
    let error = Some(Fault { stage, message: message.to_owned(), transient: false });
    Trial { error, ..bare(server, load, repeat) }
}

/// A verdict.
pub fn verdict(name: &str, blame: Blame, severity: Severity, remedy: &str) -> Verdict {
    Verdict { name: name.to_owned(), blame, severity, evidence: BTreeMap::new(), remedy: remedy.to_owned() }
}

fn bare(server: &str, load: &Load, repeat: u32) -> Trial {
    let (language, framework) = server.split_once('-').unwrap_or((server, ""));
    Trial {
        schema: SCHEMA,
        id: format!("{server}-{}-{repeat}", load.name),
        round: round().id,
        sitting: "1".to_owned(),
        launch: format!("{server}-{repeat}"),
        block: repeat,
        order: 0,
        repeat,
        started_at: format!("2026-11-21T01:0{}:00.000Z", 7 + repeat),
        server: Server {
            id: server.to_owned(),
            copy_of: server.strip_suffix("-copy").map(str::to_owned),
            name: server.to_owned(),
            language: language.to_owned(),
            framework: framework.to_owned(),
            engine: framework.to_owned(),
            kind: "platform".to_owned(),
            tags: vec!["idiomatic".to_owned()],
            traits: BTreeMap::new(),
            versions: format!("{framework} 1.0"),
            framework_package: None,
        },
        form: "single".to_owned(),
        workload: "hello".to_owned(),
        load: load.clone(),
        pinning: Pinning { server: vec![0], generator: vec![1], disjoint: true, ..Pinning::default() },
        generator_argv: Vec::new(),
        run: None,
        startup: None,
        usage: None,
        memory: None,
        samples: Vec::new(),
        cores: Vec::new(),
        suspended_s: None,
        core_frequencies: Vec::new(),
        core_distance: None,
        energy: None,
        balancing: None,
        database: None,
        validation: None,
        log_tail: String::new(),
        error: None,
        verdicts: Vec::new(),
        imported: None,
        limit: None,
        machines: Vec::new(),
        capacity: None,
    }
}

fn run(load: &Load, seen: Seen, window_s: f64, ok: u64) -> Run {
    let offered = load.rate_per_s;
    let scheduled = offered.map_or(ok, |rate| (rate * window_s) as u64).max(ok);
    let times = times(seen, ok);
    Run {
        schema: SCHEMA,
        id: "run".to_owned(),
        tool: Tool { name: "paceline".to_owned(), version: "0.1.0".to_owned(), commit: None },
        argv: Vec::new(),
        seed: 7,
        started_at: "2026-11-21T01:07:00.000Z".to_owned(),
        job: None,
        target: Target {
            url: "http://127.0.0.1:20000/hello".to_owned(),
            protocol: "http/1.1".to_owned(),
            address: "127.0.0.1:20000".to_owned(),
            ..Target::default()
        },
        loop_: Loop {
            kind: load.kind,
            connections: load.connections,
            depth: load.depth,
            requests: load.requests,
            offered_per_s: offered,
            arrivals: load.arrivals,
            ..Loop::default()
        },
        pace: Pace { asked: PaceChoice::Auto, used: PaceKind::Hybrid, spin_before_ns: 50_000 },
        expectations: Expectations::default(),
        timeout_ns: 2_000_000_000,
        phases: Phases::default(),
        window_s,
        stopped: false,
        connections: Connections::default(),
        environment: environment(),
        generator: Generator { threads: 1, utilization: seen.generator, ..Generator::default() },
        total: Block {
            counts: Counts { scheduled, ok, unsent: scheduled - ok, ..Counts::default() },
            completed_in_window: ok,
            response_time_ns: offered.map(|_| times.clone()),
            service_time_ns: Some(times),
            censored: (scheduled > ok)
                .then_some(Censored { count: scheduled - ok, lowest_ns: (seen.p99_us * 1e3) as u64 }),
            ..Block::default()
        },
        rate_per_s: Rates { offered, sent: seen.per_s, achieved: seen.per_s, sessions_achieved: None },
        ..Run::default()
    }
}

fn times(seen: Seen, count: u64) -> Times {
    let ns = |us: f64| (us * 1e3) as u64;
    Times {
        count,
        min: ns(seen.p50_us * 0.5),
        mean: seen.p50_us * 1.1e3,
        p50: ns(seen.p50_us),
        p75: ns(seen.p50_us * 1.2),
        p90: ns(seen.p50_us * 1.4),
        p95: ns(seen.p99_us * 0.9),
        p99: ns(seen.p99_us),
        p99_9: ns(seen.p99_9_us),
        p99_99: ns(seen.p99_9_us * 1.3),
        max: ns(seen.p99_9_us * 1.6),
        histogram: String::new(),
    }
}
