//! Generates random trials: each optional part present or missing, each number and text any value of its type.
//!
//! Used by `trials.rs`; the other tests use the one fixed trial and the rounds of this file. The trials need not be
//! plausible: the store returns what was put, and does not interpret it.

use paceline_job::{Nanos, Rate};
use paceline_record::{
    ArrivalCheck, Arrivals, BadBody, BalancedLoad, BalancerCounts, BalancerReceipt, Balancing, Blame, Block,
    Bytes, CapacityLoad, Censored, Check, CheckOutcome, ConnectionPlan, Connections, CoreDistance,
    CoreFrequency, CoreTime, Counts, CpuSource, DatabaseCounts, DatabaseLoad, DatabaseReceipt,
    DatabaseRecovery, DatabaseUse, DatabaseWork, Distribution, Environment, Expectations, ExpectedValue,
    FailedCheck, Fault, FaultKind, FoundBy, FoundCapacity, FrameworkPackage, GateOutcome, GateReason,
    Generator, GeneratorThread, IdleState, Imported, InjectedFault, InstanceCounts, Interval, JsonForm, Left,
    Lengths, Limit, LimitKind, Load, Loop, LoopKind, MemoryUse, Observation, ObservedFigure, Pace,
    PaceChoice, PaceKind, PackageEnergy, Phase, Phases, Pinning, ProcessRole, ProcessUse, RatePart,
    RateRange, RateShare, Rates, RequestPart, Round, Route, Run, SCHEMA, Sample, Scaled, SearchedRate,
    Segment, SendLimits, Served, Server, ServerUse, Severity, Shape, Sitting, Span, Stage, Startup,
    StoredRows, StreamExample, StreamExampleKind, StreamExamples, StreamFormat, StreamGap, Target, Think,
    Throttling, TimeKind, Times, Tls, Tool, Trace, Trial, Tried, Usage, Validation, Variant, VariantKind,
    Verdict, WorkloadProtocol,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn text() -> impl Strategy<Value = String> + Clone {
    select(vec!["", "hello", "tetra/140", "two\nlines \u{0} \"quoted\" \\", "π → ∞ \u{1f680}", "a.b/c~d"])
        .prop_map(str::to_owned)
}

/// Any number that JSON can represent: the store rejects NaN and the infinities, which are tested separately.
fn number() -> impl Strategy<Value = f64> + Clone {
    use proptest::num::f64::{NEGATIVE, NORMAL, POSITIVE, SUBNORMAL, ZERO};
    POSITIVE | NEGATIVE | NORMAL | SUBNORMAL | ZERO
}

fn whole() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![0..1000u64, any::<u64>(), Just(u64::MAX)]
}

prop_compose! {
    fn times()(count in whole(), min in whole(), mean in number(), p in vec(whole(), 8), histogram in text()) -> Times {
        Times {
            count, min, mean, p50: p[0], p75: p[1], p90: p[2], p95: p[3], p99: p[4], p99_9: p[5], p99_99: p[6],
            max: p[7], histogram,
        }
    }
}

prop_compose! {
    fn block()(
        c in vec(whole(), 12),
        status in btree_map(text(), whole(), 0..3),
        body_bytes in option::of((whole(), whole()).prop_map(|(min, max)| Lengths { min, max })),
        times in vec(option::of(times()), TimeKind::ALL.len()),
        censored in option::of((whole(), whole()).prop_map(|(count, lowest_ns)| Censored { count, lowest_ns })),
    ) -> Block {
        let mut block = Block {
            counts: Counts {
                scheduled: c[0], ok: c[1], bad_status: c[2], bad_body: c[3], connect_failed: c[4], io_failed: c[5],
                timed_out: c[6], unsent: c[7],
            },
            completed_in_window: c[8],
            status,
            bytes: Bytes { sent: c[9], received: c[10], body: c[11] },
            body_bytes,
            censored,
            ..Block::default()
        };
        TimeKind::ALL.into_iter().zip(times).for_each(|(kind, times)| *block.times_mut(kind) = times);
        block
    }
}

prop_compose! {
    fn verdict()(
        name in text(),
        blame in select(vec![Blame::Server, Blame::Generator, Blame::Environment, Blame::User]),
        severity in select(vec![Severity::Note, Severity::Caution, Severity::Invalid]),
        histogram in text(),
        number in number(),
        remedy in text(),
    ) -> Verdict {
        // Evidence may contain a key that looks like a histogram of the record.
        let evidence = serde_json::json!({ "histogram": histogram, "deep/er~": { "histogram": "x", "n": number } });
        let evidence = serde_json::from_value(evidence).unwrap();
        Verdict { name, blame, severity, evidence, remedy }
    }
}

prop_compose! {
    fn environment()(
        text in text(), whole in whole(), cores in any::<u32>(), virtual_machine in any::<bool>(),
        optional in option::of(text()), map in btree_map(text(), text(), 0..3), exit_us in option::of(whole()),
    ) -> Environment {
        Environment {
            cpu_model: text.clone(), cores, memory_bytes: whole, kernel: text.clone(), os: text.clone(), virtual_machine,
            mitigations: map.clone(), governor: optional.clone(), clock_source: optional,
            idle_states: exit_us.into_iter().map(|exit_us| IdleState { name: text.clone(), exit_us }).collect(),
            open_files_soft: whole, open_files_hard: whole, sysctl: map, held: vec![text],
        }
    }
}

prop_compose! {
    fn generator()(threads in any::<u32>(), cores in vec(any::<u32>(), 0..3), n in vec(number(), 7), w in whole()) -> Generator {
        let thread = GeneratorThread {
            user_s: n[0], system_s: n[1], spin_s: n[2], run_delay_s: n[3], voluntary_switches: w, involuntary_switches: w,
        };
        Generator {
            threads, cores, cpu_s: n[0], busy_s: n[1], spin_s: n[2], cpu_ns_per_request: n[3], utilization: n[4],
            run_delay_s: n[5], steal_s: n[6], suspended_s: Some(n[4]), rss_bytes_peak: w, longest_gap_ns: Some(w), throttling: Some(Throttling { periods: w, throttled_periods: w, throttled_s: n[5], cores_allowed: Some(n[6]) }), backlog_at_window_start: w, by_thread: vec![thread; 2],
            by_core: vec![CoreTime { core: 3, over_s: n[3], busy_s: n[0], interrupt_s: n[1], steal_s: n[2] }],
            core_frequencies: vec![CoreFrequency { core: 3, frequency_mhz_start: Some(w), throttle_events: Some(w), ..CoreFrequency::default() }],
            left: Some(Left { sockets_in_use: w, sockets_time_wait: w, ports: w, descriptors: w }),
        }
    }
}

fn arrivals() -> impl Strategy<Value = Option<Arrivals>> {
    option::of(select(vec![Arrivals::Constant, Arrivals::Poisson]))
}

fn think() -> impl Strategy<Value = Think> {
    (whole(), select(vec![Distribution::Constant, Distribution::Exponential]))
        .prop_map(|(mean, distribution)| Think { mean: Nanos(mean), distribution })
}

fn rate() -> impl Strategy<Value = Rate> {
    (1e-9..=Rate::HIGHEST).prop_map(|rate| Rate::per_second(rate).unwrap())
}

fn load_shape() -> impl Strategy<Value = Shape> {
    // In seconds a double is exact to the nanosecond for 26 days.
    let each = (0..1_u64 << 51).prop_map(Nanos);
    prop_oneof![
        rate().prop_map(|rate| Shape::Steady { rate }),
        (rate(), rate()).prop_map(|(from, to)| Shape::Ramp { from, to }),
        (vec(rate(), 0..3), each.clone()).prop_map(|(rates, each)| Shape::Steps { rates, each }),
        (rate(), rate(), each)
            .prop_map(|(from, to, length)| Shape::Parts { parts: vec![RatePart { from, to, length }; 2] }),
        whole().prop_map(|sends| Shape::Trace(Trace { sends, ..Trace::default() })),
    ]
}

prop_compose! {
    fn segment()(start_ns in whole(), end_ns in whole(), load in number(), completed_in_segment in whole(), block in block()) -> Segment {
        Segment { start_ns, end_ns, offered_per_s: load, connections: Some(load), completed_in_segment, block }
    }
}

prop_compose! {
    fn shape()(
        open in any::<bool>(), connections in any::<u32>(), depth in any::<u32>(), requests in option::of(whole()),
        rate in option::of(number()), load_shape in option::of(load_shape()), rest in option::of(think()), arrivals in arrivals(), served in option::of(whole()), failure in option::of(text()),
        closed in whole(),
    ) -> (Loop, Connections) {
        let kind = if open { LoopKind::Open } else { LoopKind::Closed };
        (
            Loop { kind, connections, connection_plan: rest.map(|_| ConnectionPlan::Ramp { from: depth, to: connections }), depth, batch: open, requests, offered_per_s: rate, sessions_offered_per_s: rate, shape: load_shape, arrivals, requests_per_connection: rest.map(|_| connections), without_keep_alive: open, think: rest },
            Connections {
                asked: closed, had: closed, closed_by_server: closed, closed_by_us: closed, closed_as_asked: closed, streams_allowed: None, compressed_unasked: closed % 2 == 1, failed_attempts: closed, failed_here: 0, redirects_followed: closed, broke_rules: 0, responses_without_end: closed, heads_too_long: closed, ended_after_cancels: closed, listen_overflows: None, tcp: Some(paceline_record::TcpCounts {
                    connections: closed, retransmits: 1, out_of_order: 2, round_trip_time_ns: Some(Served { min: 1, median: 2, max: closed }),
                    congestion_window_segments: None, send_limits: Some(SendLimits { receive_window_ns: closed, ..Default::default() }),
                }), cookies_dropped: closed,
                commonest_failure: failure, served: served.map(|n| Served { min: n, median: n, max: n }),
                service_time_ns_p50: served.map(|n| Served { min: 0, median: n, max: n }), by_address: Vec::new(),
            },
        )
    }
}

prop_compose! {
    fn gate()(gate in text(), passed in any::<bool>(), reason in option::of(select(vec![GateReason::BeyondLimit, GateReason::Invalid])), figure in number()) -> GateOutcome {
        GateOutcome { gate, passed, reasons: reason.into_iter().collect(), evidence: [("samples".to_owned(), figure.into())].into() }
    }
}

prop_compose! {
    fn expectations()(grpc_status in option::of(text()), status in option::of(any::<u16>()), body_bytes in option::of(whole()), body_sha256 in option::of(text()), pointer in text(), number in number()) -> Expectations {
        let value = serde_json::json!({ "histogram": number });
        Expectations { status, body_bytes, body_sha256, json: vec![ExpectedValue { pointer, value }], json_form: Some(JsonForm::Integer(-1, 7)), echo: number > 0.0, grpc_status }
    }
}

prop_compose! {
    fn request()(name in text(), weight in any::<u32>(), expectations in expectations(), block in block()) -> RequestPart {
        RequestPart { method: name.clone(), path: name.clone(), name, weight, expectations, block }
    }
}

prop_compose! {
    fn bad_body()(request in option::of(text()), shown in text(), status in any::<u16>(), differs_at in option::of(whole()), n in whole()) -> BadBody {
        BadBody { request, at_ns: n, status, body_bytes: n, fault: shown.clone(), differs_at, shown, shown_from: n }
    }
}

/// Examples of streams with numbers that need not be plausible.
fn stream_examples(ns: u64) -> StreamExamples {
    let longest_gap = Some(StreamGap { after_event: ns, start_ns: ns, length_ns: ns });
    let one = |kind| StreamExample {
        kind,
        intended_ns: ns,
        first_body_ns: ns,
        event_ns: vec![ns, 0, ns],
        kept_every: ns,
        events: ns,
        last_event_ns: ns,
        longest_gap,
        ended_ns: ns,
    };
    let none = StreamExample { event_ns: Vec::new(), longest_gap: None, ..one(StreamExampleKind::Typical) };
    StreamExamples { watched: ns, examples: vec![one(StreamExampleKind::LongestGap), none] }
}

prop_compose! {
    fn run()(
        (loop_, connections) in shape(),
        (text, seed, n, ns) in (text(), any::<u64>(), number(), whole()),
        (commit, checked_gaps) in (option::of(text()), option::of(whole())),
        (expectations, by_request, bad_bodies) in (expectations(), option::of(vec(request().boxed(), 0..3)), vec(bad_body(), 0..3)),
        environment in environment(),
        generator in generator(),
        total in block().boxed(),
        segments in option::of(vec(segment(), 0..3)),
        intervals in vec((select(vec![Phase::Warmup, Phase::Window]), whole(), block().boxed()), 0..4),
        verdicts in vec(verdict(), 0..3),
        gates in vec(gate(), 0..3),
    ) -> Run {
        let span = Span { start_ns: ns, end_ns: ns };
        Run {
            schema: SCHEMA, id: text.clone(), tool: Tool { name: text.clone(), version: text.clone(), commit },
            argv: vec![text.clone(); 3], seed, started_at: text.clone(), job: None,
            target: Target { url: text.clone(), protocol: text.clone(), address: text.clone(), sources: vec![text.clone(); 2], tried: vec![Tried { address: text.clone(), failure: text.clone() }],
                tls: expectations.status.map(|number| Tls { version: Some(text.clone()), cipher: Some(text.clone()), group: None, alpn: None, name: text.clone(), verified: number % 2 == 0, resumption: true, resumed: number.into(), full: 1, early_data: Some(paceline_record::EarlyData { sent: number.into(), accepted: 0 }) }) },
            loop_, pace: Pace { asked: PaceChoice::Auto, used: PaceKind::Hybrid, spin_before_ns: ns },
            expectations,
            timeout_ns: ns, phases: Phases { connect: span, warmup: span, window: span, drain: span }, window_s: n, stopped: false, not_ok_share_allowed: Some(n),
            connections, environment, generator, server: Some(ServerUse { found_by: FoundBy::Port, pid: 7, name: text.clone(), processes: 1, threads: 2, cores_allowed: 3, cpu_s: n, user_s: Some(n), system_s: Some(n), cpu_ns_per_request: n, utilization: n, busiest_thread_utilization: Some(n), rss_bytes: ns, rss_bytes_before: Some(ns), rss_bytes_peak: None, cores: vec![1], run_delay_s: Some(n), most_delayed_thread_share: Some(n), major_faults: Some(ns), memory: None, throttling: None }), behind_server: Vec::new(), unix_sockets: vec![text.clone()],
            energy: (ns % 2 == 1).then_some(PackageEnergy { over_s: n, packages: 2, joules: n, joules_per_request: n }),
            kernel: Some(paceline_record::KernelCounts { syn_retransmits: ns, ..Default::default() }),
            server_samples: vec![paceline_record::ServerSample { at_ns: ns, cpu_s: n, rss_bytes: ns, processes: 1, threads: 2 }], generator_samples: Vec::new(), profile: None, profile_failure: Some(text.clone()),
            server_metrics: Some(paceline_record::ServerMetrics { url: text.clone(), first_failure: Some(text.clone()), at_ns: vec![ns], series: vec![paceline_record::MetricSeries { name: text.clone(), values: vec![Some(n), None], ..Default::default() }], ..Default::default() }),
            gc_log: Some(paceline_record::GcLog { path: text.clone(), window_paused_s: n, pauses: vec![paceline_record::GcPause { at_ns: ns, length_ns: ns }], ..Default::default() }),
            server_waits: Some(paceline_record::ServerWaits { looks: 1, achieved_per_s: n, waits: vec![paceline_record::ThreadWait { kind: paceline_record::WaitKind::File, on: text.clone(), threads: n }], calls: Vec::new(), loop_timers: Some(paceline_record::LoopTimers { threads: n, due_ns_mean: n }) }),
            syscalls: Some(paceline_record::SystemCalls { tool: text.clone(), window_s: n, achieved_per_s: n, requests: ns, lost_events: ns, threads_started: 0, calls_per_request: n, calls: vec![paceline_record::SystemCall { name: text.clone(), calls_per_request: n, errors_per_request: n, time_ns_mean: n }] }), syscalls_failure: None,
            total, carried_over: Some(paceline_record::CarriedOver { outstanding: 2, unanswered: 1 }), arrival_check: checked_gaps.map(|gaps| ArrivalCheck { gaps, anderson_darling: n, p_value: n }), by_segment: segments.clone(), by_request, sessions: None, summary: None, failed_checks: bad_bodies.iter().map(|bad| FailedCheck { reason: bad.fault.clone(), count: bad.body_bytes }).collect(), bad_bodies, stream_examples: (ns % 3 == 2).then(|| stream_examples(ns)), expect_continue: None, body_faults: (ns % 3 == 1).then(|| paceline_record::BodyFaults { changed: vec![text.clone()], connections: ns }),
            body_waits: (ns % 3 == 2).then_some(paceline_record::BodyWaits { reads: ns, wait_ns_total: ns, wait_ns_max: ns }),
            by_generator: segments.map(|segments| segments.into_iter().map(|segment| segment.block).collect()),
            loaders: vec![paceline_record::Loader { host: "local".to_owned(), share: Some(ns), ..paceline_record::Loader::default() }],
            intervals: intervals.into_iter().map(|(phase, start_ns, block)| Interval { connections: Some(n), ..Interval::new(phase, start_ns, block) }).collect(),
            rate_per_s: Rates { offered: None, sent: n, achieved: n, sessions_achieved: None }, verdicts, gates,
        }
    }
}

prop_compose! {
    fn usage()(n in vec(number(), 5), w in whole(), pss_bytes in option::of(whole()), cgroup in any::<bool>(), threads in any::<u32>()) -> Usage {
        Usage {
            over_s: n[0], cpu_s: n[1], user_s: Some(n[2]), system_s: Some(n[3]), cpu_ns_per_request: n[2], utilization: n[3],
            source: if cgroup { CpuSource::Cgroup } else { CpuSource::Proc }, rss_bytes_peak: w, pss_bytes, rss_bytes_after: pss_bytes,
            threads_peak: threads, voluntary_switches: w, involuntary_switches: w, run_delay_s: n[4], busiest_thread_utilization: Some(n[0]),
        }
    }
}

fn found(n: u32) -> Option<FoundCapacity> {
    let per_s = f64::from(n);
    let range = RateRange { low: per_s, high: per_s };
    (n % 2 == 1).then(|| FoundCapacity {
        window_s: 5.0,
        closed_loop_per_s: per_s,
        half_pass_per_s: Some(per_s),
        interval_per_s: Some(range),
        is_precise: true,
        stalls_decide: Some(range),
        long_run_per_s: None,
        limit: Limit { kind: LimitKind::Waiting, evidence: String::new() },
        ended_early: None,
        windows: vec![SearchedRate {
            offered_per_s: per_s,
            achieved_per_s: per_s,
            outcome: "pass".to_owned(),
        }],
    })
}

prop_compose! {
    fn load()(
        name in text(), open in any::<bool>(), n in any::<u32>(), rate_per_s in option::of(number()),
        arrivals in arrivals(), duration_s in option::of(number()), requests in option::of(whole()), warmup_s in number(),
        other in option::of(text()), balanced in any::<bool>(),
    ) -> Load {
        let kind = if open { LoopKind::Open } else { LoopKind::Closed };
        let balanced = balanced.then(|| BalancedLoad {
            balancer: name.clone(), policy: name.clone(), instances: n, route: Route::Balanced, fault: Some(FaultKind::KillOne),
        });
        Load {
            name, kind, connections: n, depth: n, rate_per_s, arrivals, duration_s, requests, warmup_s,
            http: other.clone(), tls: open, protocol: if open { WorkloadProtocol::Grpc } else { WorkloadProtocol::Http },
            stream: requests.map(|_| StreamFormat::Sse), no_keep_alive: open, requests_per_connection: requests, tool: requests.map(|_| "ab -k".to_owned()),
            variant: other.map(|of| Variant { of, kind: VariantKind::FirstRun }),
            scaled: duration_s.map(|factor| Scaled { factor, connections: n, rate_per_s, requests }),
            balanced, database: duration_s.map(|_| DatabaseLoad { database: "postgresql".to_owned(), pool: n }),
            share: rate_per_s.map(|share| RateShare { share, of: String::new(), full_per_s: Some(share), full_trial: None }),
            capacity: requests.map(|_| CapacityLoad { objective: String::new(), confirm_s: warmup_s, windows_most: n }),
        }
    }
}

prop_compose! {
    fn database()(text in text(), w in whole(), n in any::<u32>(), counted in any::<bool>()) -> DatabaseUse {
        DatabaseUse {
            database: DatabaseReceipt { id: text.clone(), name: text.clone(), versions: text.clone(), settings: text },
            work: DatabaseWork { selects: n, rows_read: n, rows_updated: n },
            responses: w,
            counted: counted.then_some(DatabaseCounts { selects: w, rows_read: w, updates: w, rows_updated: w, commits: Some(w), connections: Some(w) }),
            stored: counted.then_some(StoredRows { returned: w, stored: w }),
            process: None,
            recovery: counted.then_some(DatabaseRecovery {
                answered_after_s: Some(w as f64), failed: n, last_failure: "it ended".to_owned(),
            }),
        }
    }
}

prop_compose! {
    fn balancing()(text in text(), n in number(), w in whole(), reported in any::<bool>(), core in any::<u32>()) -> Balancing {
        let process = ProcessUse {
            role: ProcessRole::Balancer, index: core, cores: vec![core], cpu_s: n, utilization: n, cpu_ns_per_request: n,
            rss_bytes_peak: w, threads_peak: core, run_delay_s: n, connections_mean: Some(n),
        };
        let instance = InstanceCounts {
            requests: Some(w), connect_failures: Some(w), response_failures: None, state_at_end: Some(text.clone()),
        };
        Balancing {
            balancer: BalancerReceipt { id: text.clone(), name: text.clone(), versions: text.clone(), configuration: text.clone() },
            processes: vec![process; 2],
            counts: reported.then(|| BalancerCounts {
                source: text.clone(), not_reported: vec![text], requests: Some(w), connections: None, retries: Some(w),
                redispatches: None, failures: Some(w), by_instance: vec![instance],
            }),
            fault: reported.then_some(InjectedFault {
                kind: FaultKind::KillOne, instance: core, at_ns: w, balancer_tells: reported, taken_out_after_s: Some(n),
            }),
        }
    }
}

fn fault() -> impl Strategy<Value = Fault> {
    let stages =
        vec![Stage::Setup, Stage::Build, Stage::Start, Stage::Validate, Stage::Load, Stage::Generate];
    (select(stages), text(), any::<bool>()).prop_map(|(stage, message, transient)| Fault {
        stage,
        message,
        transient,
    })
}

prop_compose! {
    /// Any trial of the given round, except its id.
    pub fn trial(round: String)(
        run in option::of(run().boxed()),
        load in load(),
        usage in option::of(usage()),
        startup in option::of((whole(), text())),
        samples in vec((whole(), number()), 0..3),
        validation in option::of(vec((text(), text()), 0..3)),
        error in option::of(fault()),
        verdicts in vec(verdict(), 0..2),
        (text, list, block, repeat, core) in (text(), vec(text(), 0..3), any::<u32>(), any::<u32>(), vec(any::<u32>(), 0..2)),
        (disjoint, balancing, database) in (any::<bool>(), option::of(balancing()), option::of(database())),
        imported in option::of((text(), number(), whole()).prop_map(|(text, number, ns)| Imported {
            format: text.clone(), place: text.clone(), times_ns: [(text.clone(), ns)].into(),
            figures: [(text.clone(), number)].into(), note: text,
        })),
    ) -> Trial {
        let server = Server {
            id: text.clone(), copy_of: list.first().cloned(), name: text.clone(), language: text.clone(), framework: text.clone(), engine: text.clone(),
            kind: text.clone(), tags: list.clone(), versions: text.clone(),
            framework_package: list.first().map(|name| FrameworkPackage { name: name.clone(), version: text.clone() }),
            traits: list.iter().map(|name| (name.clone(), disjoint)).collect(),
        };
        let sample = |(at_ns, n): (u64, f64)| Sample {
            at_ns, phase: Phase::Window, cpu_s: n, rss_bytes: at_ns, processes: 1, threads: 2,
            voluntary_switches: at_ns, involuntary_switches: at_ns, run_delay_s: n,
        };
        let check = |(name, detail)| Check { name, outcome: CheckOutcome::Warn, detail };
        Trial {
            schema: SCHEMA, id: "20261121-010639-00000000".to_owned(), round: round.clone(), sitting: text.clone(),
            launch: text.clone(), block, order: block, repeat, started_at: text.clone(), server, form: text.clone(),
            workload: text.clone(), load,
            pinning: Pinning {
                server: core.clone(), generator: core.clone(), disjoint, instances: vec![core.clone()], balancer: core.clone(), database: core,
            },
            generator_argv: list, run, capacity: found(block),
            startup: startup.map(|(ns, guarantee)| Startup {
                listening_ns: ns, first_answer_ns: ns, rss_bytes: ns, processes: 1, private_network: ns % 2 == 1,
                guarantee, first_since_build: Some(disjoint), disk_read_bytes: Some(ns), warm_up: None,
            }),
            memory: usage.as_ref().map(|usage| MemoryUse {
                limit_bytes: usage.pss_bytes, rss_bytes_peak: usage.rss_bytes_after,
                swapped_bytes: usage.rss_bytes_peak, oom_kills: usage.voluntary_switches,
                group_oom_kills: usage.pss_bytes,
            }),
            usage, cores: samples.iter().map(|(_, n)| CoreTime { core: 0, over_s: *n, busy_s: *n, interrupt_s: *n, steal_s: *n }).collect(),
            suspended_s: samples.first().map(|(_, n)| *n),
            core_frequencies: samples.iter().map(|(ns, _)| CoreFrequency { core: 0, frequency_mhz_end: Some(*ns), ..CoreFrequency::default() }).collect(),
            core_distance: samples.first().map(|(ns, n)| CoreDistance {
                usual_ns: *n, before_ns: *n, after_ns: (ns % 2 == 1).then_some(*n), waited_s: *n,
            }),
            energy: samples.first().map(|(ns, n)| PackageEnergy {
                over_s: *n, packages: block, joules: *n, joules_per_request: *ns as f64,
            }),
            samples: samples.into_iter().map(sample).collect(), balancing, database,
            validation: validation.map(|checks| Validation { checks: checks.into_iter().map(check).collect() }),
            machines: Vec::new(),
            limit: error.is_none().then(|| Limit { kind: LimitKind::ServerCpu, evidence: text.clone() }),
            log_tail: text, error, verdicts, imported,
        }
    }
}

/// A round with this id and start time.
pub fn round(id: &str, started_at: &str) -> Round {
    Round {
        schema: SCHEMA,
        id: id.to_owned(),
        plan: "quick".to_owned(),
        plan_toml: "seed = 7\n".to_owned(),
        seed: u64::MAX,
        started_at: started_at.to_owned(),
        finished_at: None,
        planned: 42,
        environment: Environment::default(),
        generator: None,
        sittings: vec![Sitting { id: "1".to_owned(), started_at: started_at.to_owned(), tuned: Vec::new() }],
        changes: vec!["scale 0.5".to_owned()],
        observed: vec![Observation {
            source: "001".to_owned(),
            server: Some("python-tornado".to_owned()),
            subject: "Tornado".to_owned(),
            workload: None,
            load: None,
            form: None,
            what: ObservedFigure::RequestsPerS,
            value: 2957.67,
            unit: "requests/s".to_owned(),
            note: String::new(),
        }],
    }
}

/// A fixed trial with the given round and id, with histograms in it.
pub fn some_trial(round: &str, id: &str) -> Trial {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let with_times = trial(round.to_owned()).prop_filter("has histograms", |trial| {
        let times = trial.run.as_ref().and_then(|run| run.total.service_time_ns.as_ref());
        times.is_some_and(|times| !times.histogram.is_empty()) && trial.error.is_none()
    });
    let mut trial = with_times.new_tree(&mut runner).unwrap().current();
    trial.id = id.to_owned();
    trial
}

/// The trial without NUL, which PostgreSQL does not support in a text; real histograms do not contain it.
pub fn without_nul(trial: &Trial) -> Trial {
    let text = serde_json::to_string(trial).unwrap().replace("\\u0000", "");
    serde_json::from_str(&text).unwrap()
}
