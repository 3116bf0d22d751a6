//! Scenarios that trigger each verdict, beside a sound run and a sound trial without any.
//!
//! A verdict without a scenario fails the test below. For a verdict that the lab gives, the scenario names the test
//! that triggers it. Bounds are tested beside the judges.

use paceline_judge::{VerdictName, row_verdicts, run_verdicts, trial_verdicts, unequal_work};
use paceline_record::fixture::{self, process, usage};
use paceline_record::{
    ArrivalCheck, BalancerCounts, Balancing, Block, BodyFaults, BodyWaits, CarriedOver, Censored, Check,
    CheckOutcome, ClockOffset, CoreDistance, CoreFrequency, CoreTime, Counts, CpuSource, DatabaseCounts,
    DatabaseLoad, DatabaseReceipt, DatabaseUse, DatabaseWork, Environment, EventCounts, Fault, FaultKind,
    FoundCapacity, InjectedFault, InstanceCounts, KernelCounts, Lengths, Limit, LimitKind, Loader, LoopKind,
    MemoryUse, NetworkUse, ProcessRole, RateRange, RoleMachine, Run, SendLimits, ServerSample, ServerUse,
    Span, Stage, StoredRows, TcpCounts, Throttling, Times, Trial, Validation, Verdict,
};
use paceline_stats::Histogram;
use std::path::Path;

/// The scenario that triggers a verdict.
#[expect(clippy::large_enum_variant, reason = "a few of them live at once, in a test")]
enum Scenario {
    /// A change to a sound run.
    Run(Run),
    /// A change to a sound trial.
    Trial(Trial),
    /// Verdicts on rows that differ.
    Rows(Vec<Verdict>),
    /// A file of the workspace with tests, and the verdict that it must name.
    Test(&'static str, &'static str),
}

fn open(change: impl FnOnce(&mut Run)) -> Scenario {
    let mut run = fixture::run(0);
    let mut lag = run.total.response_time_ns.clone().unwrap();
    (lag.p50, lag.p75, lag.p90, lag.p95, lag.p99) = (50_000, 60_000, 70_000, 80_000, 90_000);
    run.total.generator_lag_ns = Some(lag);
    change(&mut run);
    Scenario::Run(run)
}

fn closed(change: impl FnOnce(&mut Run)) -> Scenario {
    open(|run| {
        run.loop_.kind = LoopKind::Closed;
        (run.loop_.offered_per_s, run.rate_per_s.offered) = (None, None);
        (run.total.response_time_ns, run.total.generator_lag_ns) = (None, None);
        (run.connections.asked, run.connections.had) = (5, 5);
        change(run);
    })
}

fn trial(change: impl FnOnce(&mut Trial)) -> Scenario {
    let mut trial = fixture::trial();
    change(&mut trial);
    Scenario::Trial(trial)
}

fn full_link() -> NetworkUse {
    NetworkUse {
        interface: "eth0".to_owned(),
        sent_bytes_per_s: 1e5,
        received_bytes_per_s: 12e6,
        speed_bytes_per_s: Some(12.5e6),
        sent_limit_bytes_per_s: None,
    }
}

fn core(core: u32, busy_s: f64, steal_s: f64) -> CoreTime {
    CoreTime { core, over_s: 10.0, busy_s, interrupt_s: 0.0, steal_s }
}

/// The number of good responses in each interval.
fn rates(rates: [u64; 9]) -> impl FnOnce(&mut Run) {
    move |run| {
        for (interval, rate) in run.intervals[1..10].iter_mut().zip(rates) {
            (interval.block.counts.ok, interval.block.counts.scheduled) = (rate, rate);
        }
    }
}

/// The service time of each interval, in microseconds.
fn times(times: [u64; 9]) -> impl FnOnce(&mut Run) {
    move |run| {
        for (interval, time_us) in run.intervals[1..10].iter_mut().zip(times) {
            let mut histogram = Histogram::new();
            histogram.record_n(1_000 * time_us, 1_000);
            interval.block.service_time_ns = Some(Times::from_histogram(&histogram));
        }
    }
}

fn loaders(run: &mut Run, change: impl FnOnce(&mut [Loader], &mut [Block])) {
    let window = Some(Span { start_ns: 1_000_000_000, end_ns: 11_000_000_000 });
    let loader =
        |host: &str| Loader { host: host.to_owned(), share: Some(5_000), window, ..Loader::default() };
    let mut times = Histogram::new();
    times.record_n(1_000_000, 5_000);
    let counts = Counts { scheduled: 5_000, ok: 5_000, ..Counts::default() };
    let block = Block { counts, service_time_ns: Some(Times::from_histogram(&times)), ..Block::default() };
    let (mut loaders, mut blocks) = (vec![loader("n3"), loader("n4")], vec![block.clone(), block]);
    change(&mut loaders, &mut blocks);
    (run.loaders, run.by_generator) = (loaders, Some(blocks));
}

fn balanced(change: impl FnOnce(&mut Balancing)) -> Scenario {
    let mut trial = fixture::balanced_trial();
    change(trial.balancing.as_mut().unwrap());
    Scenario::Trial(trial)
}

fn database(change: impl FnOnce(&mut Trial, &mut DatabaseUse)) -> Scenario {
    trial(|trial| {
        trial.usage = Some(usage(CpuSource::Cgroup, 0.5));
        let mut used = DatabaseUse {
            database: DatabaseReceipt::default(),
            work: DatabaseWork { selects: 1, rows_read: 1, rows_updated: 1 },
            responses: 100,
            counted: Some(DatabaseCounts {
                selects: 100,
                rows_read: 100,
                rows_updated: 100,
                ..DatabaseCounts::default()
            }),
            stored: Some(StoredRows { returned: 1, stored: 1 }),
            process: Some(process(ProcessRole::Database, 0, 2, 0.5)),
            recovery: None,
        };
        change(trial, &mut used);
        trial.database = Some(used);
    })
}

fn searched(change: impl FnOnce(&mut FoundCapacity)) -> Scenario {
    let mut found = FoundCapacity {
        window_s: 5.0,
        closed_loop_per_s: 100.0,
        half_pass_per_s: Some(80.0),
        interval_per_s: None,
        is_precise: true,
        stalls_decide: None,
        long_run_per_s: None,
        limit: Limit { kind: LimitKind::Waiting, evidence: String::new() },
        ended_early: None,
        windows: Vec::new(),
    };
    change(&mut found);
    trial(|trial| trial.capacity = Some(found))
}

/// Scenarios of the load and the server.
fn of_load(name: VerdictName) -> Option<Scenario> {
    Some(match name {
        VerdictName::NothingScheduled => open(|run| run.total = Block::default()),
        VerdictName::NothingSent => open(|run| {
            run.total.counts = Counts { scheduled: 10_000, unsent: 10_000, ..Counts::default() };
            run.total.completed_in_window = 0;
        }),
        VerdictName::GaveUp => closed(|run| run.loop_.requests = Some(10_001)),
        VerdictName::StoppedAnswering => closed(|run| {
            for interval in &mut run.intervals[6..] {
                interval.block.counts = Counts { scheduled: 5, connect_failed: 5, ..Counts::default() };
            }
        }),
        VerdictName::HeldConnections => closed(|run| {
            run.total.censored = Some(Censored { count: 2, lowest_ns: 5_000_000_000 });
            run.intervals[9].block.counts.timed_out = 2;
        }),
        VerdictName::Outage => closed(|run| run.intervals[4].block.counts.ok = 0),
        VerdictName::Saturated => open(|run| {
            for interval in &mut run.intervals {
                (interval.block.counts.ok, interval.block.counts.scheduled) = (900, 900);
            }
            run.total.completed_in_window = 9_000;
        }),
        VerdictName::ServerBusy => open(|run| {
            run.server = Some(fixture::server_use(1, 9.9));
        }),
        VerdictName::TooFewConnections => open(|run| {
            let mut wait = run.total.service_time_ns.clone().unwrap();
            wait.p50 = 1;
            run.total.connection_wait_ns = Some(wait);
            (run.connections.asked, run.connections.had) = (4, 4);
        }),
        VerdictName::SlowingDown => closed(rates([1000, 990, 1010, 900, 800, 700, 200, 210, 190])),
        VerdictName::StillWarming => closed(rates([500, 510, 490, 700, 800, 900, 1000, 990, 1010])),
        VerdictName::Unsteady => closed(rates([500, 500, 600, 600, 1000, 900, 900, 1000, 600])),
        _ => return None,
    })
}

/// Scenarios of the generator, its machine and its loaders.
fn of_generator(name: VerdictName) -> Option<Scenario> {
    Some(match name {
        VerdictName::GeneratorBound => closed(|run| run.generator.utilization = 0.91),
        VerdictName::GeneratorStall => closed(|run| run.generator.longest_gap_ns = Some(1_100_000_000)),
        VerdictName::SlowBodyFile => closed(|run| {
            let waits = BodyWaits { reads: 600, wait_ns_total: 600_000_000, wait_ns_max: 4_000_000 };
            run.body_waits = Some(waits);
        }),
        VerdictName::GeneratorLag => open(|run| {
            let lag = run.total.generator_lag_ns.as_mut().unwrap();
            (lag.p50, lag.p99) = (2_600_000, 2_700_000);
        }),
        VerdictName::OwnQueue => closed(|run| {
            let mut delay = run.total.service_time_ns.clone().unwrap();
            delay.p50 = 2_600_000;
            run.total.receive_delay_ns = Some(delay);
        }),
        VerdictName::ArrivalsOff => open(|run| {
            run.arrival_check = Some(ArrivalCheck { gaps: 100, anderson_darling: 9.0, p_value: 1e-4 });
        }),
        VerdictName::IdleConnections => closed(|run| (run.connections.asked, run.connections.had) = (7, 7)),
        VerdictName::ServerDescheduled => closed(|run| {
            let mut server = fixture::server_use(1, 4.0);
            (server.run_delay_s, server.most_delayed_thread_share) = (Some(0.6), Some(0.06));
            run.server = Some(server);
            run.generator.by_core = vec![core(0, 9.0, 0.0)];
        }),
        VerdictName::GeneratorDescheduled => closed(|run| run.generator.run_delay_s = 1.1),
        VerdictName::Steal => {
            closed(|run| run.generator.by_core = vec![core(0, 1.0, 0.0), core(1, 1.0, 2.1)])
        }
        VerdictName::LoaderLost => open(|run| {
            loaders(run, |loaders, _| loaders[1].lost = Some("ended without a result".to_owned()));
        }),
        VerdictName::LoadersApart => open(|run| {
            let late = Some(Span { start_ns: 2_500_000_000, end_ns: 12_500_000_000 });
            loaders(run, |loaders, _| loaders[1].window = late);
        }),
        VerdictName::LoadersDiffer => open(|run| {
            loaders(run, |_, blocks| {
                (blocks[0].counts.ok, blocks[0].counts.timed_out) = (4_900, 100);
            });
        }),
        VerdictName::NetworkBound => open(|run| {
            loaders(run, |loaders, _| loaders[1].network = Some(full_link()));
        }),
        VerdictName::GeneratorChanged => {
            let mut other = fixture::run(0);
            other.tool.version = "0.0.1".to_owned();
            Scenario::Rows(row_verdicts(&[fixture::run(0), other]))
        }
        VerdictName::SharedMachine => {
            Scenario::Test("crates/paceline/tests/it/lab/concurrent_rounds.rs", "shared_machine")
        }
        VerdictName::ForeignGenerator => {
            Scenario::Test("crates/lab/src/generator/third_party.rs", "foreign_generator")
        }
        _ => return None,
    })
}

/// A CPU limit that was reached in these of 100 periods.
fn throttled(throttled_periods: u64) -> Throttling {
    let throttled_s = 0.05 * throttled_periods as f64;
    Throttling { periods: 100, throttled_periods, throttled_s, cores_allowed: None }
}

/// A run whose streams had these events.
fn events(counted: EventCounts) -> Scenario {
    closed(|run| run.total.stream_events = Some(counted))
}

/// Scenarios of responses and connections.
fn of_answers(name: VerdictName) -> Option<Scenario> {
    Some(match name {
        VerdictName::BrokeRules => closed(|run| run.connections.broke_rules = 1),
        VerdictName::StarvedConnections => {
            open(|run| run.carried_over = Some(CarriedOver { outstanding: 12, unanswered: 12 }))
        }
        VerdictName::NoValidResponse => closed(|run| {
            run.total.counts = Counts { scheduled: 10_000, bad_status: 10_000, ..Counts::default() };
            run.total.completed_in_window = 0;
        }),
        VerdictName::FailedRequests => {
            closed(|run| (run.total.counts.ok, run.total.counts.bad_body) = (9_999, 1))
        }
        VerdictName::Censored => closed(|run| run.total.censored = Some(Censored { count: 1, lowest_ns: 5 })),
        VerdictName::ConnectionsShort => closed(|run| run.connections.had = 4),
        VerdictName::StreamsLimited => {
            closed(|run| (run.loop_.depth, run.connections.streams_allowed) = (10, Some(1)))
        }
        VerdictName::BodyChanged => {
            let changed = BodyFaults { changed: vec!["body".to_owned()], connections: 0 };
            closed(|run| run.body_faults = Some(changed))
        }
        VerdictName::CompressedUnasked => closed(|run| run.connections.compressed_unasked = true),
        VerdictName::EndedAfterCancels => closed(|run| run.connections.ended_after_cancels = 2),
        VerdictName::ListenOverflows => closed(|run| {
            run.connections.listen_overflows = Some(7);
            let mut histogram = Histogram::new();
            histogram.record(3_010_000_000);
            run.intervals[0].block.connect_time_ns = Some(Times::from_histogram(&histogram));
        }),
        VerdictName::ClocksDiffer => {
            events(EventCounts { events_ahead_of_clock: 3, ..EventCounts::default() })
        }
        VerdictName::NoMessageTimes => {
            events(EventCounts { events_without_time: 3, ..EventCounts::default() })
        }
        VerdictName::CookiesDropped => closed(|run| run.connections.cookies_dropped = 7),
        VerdictName::GeneratorThrottled => closed(|run| run.generator.throttling = Some(throttled(90))),
        VerdictName::ServerThrottled => closed(|run| {
            run.server = Some(ServerUse { throttling: Some(throttled(20)), ..fixture::server_use(1, 4.0) });
        }),
        VerdictName::KeepAliveRefused => closed(|run| {
            run.intervals[0].block.status.insert("200".to_owned(), 1_000);
            run.connections.closed_by_server = 10_000;
        }),
        VerdictName::DelayedAck => closed(|run| {
            run.total.first_byte_ns.as_mut().unwrap().p50 = 96_000;
            run.total.service_time_ns.as_mut().unwrap().p50 = 44_096_000;
        }),
        VerdictName::BodyLengthVaries => {
            closed(|run| run.total.body_bytes = Some(Lengths { min: 5, max: 6 }))
        }
        VerdictName::TooShort => closed(|run| run.window_s = 0.01),
        VerdictName::FewSamples => closed(|run| run.total.service_time_ns.as_mut().unwrap().count = 369),
        _ => return None,
    })
}

/// Scenarios of trials: what was checked, sent and sampled beside their requests.
fn of_trials(name: VerdictName) -> Option<Scenario> {
    Some(match name {
        VerdictName::ClaimDoesNotHold => trial(|trial| {
            let check = Check { name: "pipelining".into(), outcome: CheckOutcome::Warn, detail: "no".into() };
            trial.validation = Some(Validation { checks: vec![check] });
        }),
        VerdictName::UnequalWork => {
            let run = |body: u64| {
                let mut run = fixture::run(0);
                (run.total.bytes.body, run.total.bytes.received) = (body * 10_000, (body + 150) * 10_000);
                run
            };
            let runs = [run(12), run(12), run(40)];
            Scenario::Rows(
                unequal_work(&runs.each_ref().map(|run| vec![run])).into_iter().flatten().collect(),
            )
        }
        VerdictName::NotSampled => Scenario::Test("crates/lab/src/trial/tests.rs", "not_sampled"),
        VerdictName::WindowNotSampled => {
            Scenario::Test("crates/lab/src/trial/tests.rs", "window_not_sampled")
        }
        _ => return None,
    })
}

/// Verdicts on what the kernel counted: memory, lost packets, waits for a disk.
fn of_kernel(name: VerdictName) -> Option<Scenario> {
    Some(match name {
        VerdictName::MemoryGrowing => closed(|run| {
            let start_ns = run.phases.window.start_ns;
            let sample = |second: u64| ServerSample {
                at_ns: start_ns + second * 1_000_000_000,
                rss_bytes: 50_000_000 + second * 1_000_000,
                ..ServerSample::default()
            };
            run.server_samples = (0..=10).map(sample).collect();
        }),
        VerdictName::SynRetransmits => closed(|run| {
            run.kernel = Some(KernelCounts { syn_retransmits: 7, ..KernelCounts::default() });
            let mut histogram = Histogram::new();
            histogram.record(3_010_000_000);
            run.intervals[0].block.connect_time_ns = Some(Times::from_histogram(&histogram));
        }),
        VerdictName::Retransmits => closed(|run| {
            run.connections.tcp = Some(TcpCounts { connections: 5, retransmits: 30, ..TcpCounts::default() });
            if let Some(times) = &mut run.total.service_time_ns {
                times.p99_9 = 230_000_000;
            }
        }),
        VerdictName::ReceiveWindowFull => closed(|run| {
            let send_limits = SendLimits { receive_window_ns: 20_000_000_000, ..SendLimits::default() };
            let tcp = TcpCounts { send_limits: Some(send_limits), ..TcpCounts::default() };
            run.connections.tcp = Some(tcp);
        }),
        VerdictName::MachineSuspended => closed(|run| run.generator.suspended_s = Some(12.0)),
        VerdictName::ThermalThrottling => closed(|run| {
            let hot = CoreFrequency { core: 1, throttle_events: Some(3), ..CoreFrequency::default() };
            run.generator.core_frequencies = vec![hot];
        }),
        VerdictName::FrequencyChanged => closed(|run| {
            let (frequency_mhz_start, frequency_mhz_end) = (Some(3_600), Some(2_400));
            let slower =
                CoreFrequency { core: 1, frequency_mhz_start, frequency_mhz_end, ..CoreFrequency::default() };
            run.generator.by_core = vec![core(1, 9.0, 0.0)];
            run.generator.core_frequencies = vec![slower];
        }),
        VerdictName::MajorFaults => closed(|run| {
            run.server = Some(ServerUse { major_faults: Some(1_000), ..fixture::server_use(2, 1.0) });
        }),
        _ => return None,
    })
}

/// Scenarios of balancers and databases.
fn of_roles(name: VerdictName) -> Option<Scenario> {
    Some(match name {
        VerdictName::CoreRanOut => balanced(|_| {}).and(|trial| trial.cores = vec![core(2, 9.5, 0.0)]),
        VerdictName::BalancerBound => balanced(|b| b.processes[2].utilization = 0.95),
        VerdictName::BalancerSharesCores => balanced(|b| b.processes[2].cores = vec![3]),
        VerdictName::InstancesShareCores => balanced(|b| b.processes[1].cores = vec![0]),
        VerdictName::UnevenInstances => balanced(|b| {
            let counts = |requests| InstanceCounts { requests: Some(requests), ..InstanceCounts::default() };
            let by_instance = vec![counts(7_000), counts(3_000)];
            b.counts = Some(BalancerCounts { by_instance, ..BalancerCounts::default() });
        }),
        VerdictName::InstanceNotTakenOut => balanced(|b| {
            b.fault = Some(InjectedFault {
                kind: FaultKind::KillOne,
                instance: 1,
                at_ns: 0,
                balancer_tells: true,
                taken_out_after_s: None,
            });
        }),
        VerdictName::QueriesNotRun => database(|_, used| used.counted.as_mut().unwrap().selects = 50),
        VerdictName::UpdatesNotStored => database(|_, used| used.stored.as_mut().unwrap().stored = 0),
        VerdictName::DatabaseNotCounted => database(|_, used| used.counted = None),
        VerdictName::PoolExceeded => database(|trial, used| {
            trial.load.database = Some(DatabaseLoad { database: "postgresql".to_owned(), pool: 8 });
            used.counted.as_mut().unwrap().connections = Some(64);
        }),
        VerdictName::DatabaseBound => {
            database(|_, used| used.process = Some(process(ProcessRole::Database, 0, 2, 0.95)))
        }
        VerdictName::DatabaseSharesCores => database(|trial, _| trial.pinning.server = vec![2]),
        _ => return None,
    })
}

/// Scenarios of a launch and a search.
fn of_launch(name: VerdictName) -> Option<Scenario> {
    Some(match name {
        VerdictName::SharedCores => trial(|trial| trial.pinning.disjoint = false),
        VerdictName::ServerNetworkBound => trial(|trial| {
            trial.machines = vec![RoleMachine {
                role: ProcessRole::Instance,
                index: 0,
                host: "n1".to_owned(),
                environment: Environment::default(),
                clock: ClockOffset::default(),
                network: Some(full_link()),
            }];
        }),
        VerdictName::CpuLowerBound => trial(|trial| trial.usage = Some(usage(CpuSource::Proc, 0.9))),
        VerdictName::ServerDied => trial(|trial| {
            trial.error = Some(Fault { stage: Stage::Load, message: "signal 11".into(), transient: false });
        }),
        VerdictName::StolenTime => trial(|trial| trial.cores = vec![core(1, 9.0, 1.2)]),
        VerdictName::CoresMoved => trial(|trial| {
            trial.core_distance =
                Some(CoreDistance { usual_ns: 50.0, before_ns: 50.0, after_ns: Some(210.0), waited_s: 0.0 });
        }),
        VerdictName::Waiting => trial(|trial| {
            let mut run = fixture::run(0);
            run.loop_.kind = LoopKind::Closed;
            (trial.run, trial.usage) = (Some(run), Some(usage(CpuSource::Cgroup, 0.02)));
        }),
        VerdictName::MemoryBound => trial(|trial| {
            trial.memory = Some(MemoryUse { oom_kills: 1, ..MemoryUse::default() });
        }),
        VerdictName::StallsDecide => searched(|found| {
            (found.half_pass_per_s, found.stalls_decide) = (None, Some(RateRange { low: 30.0, high: 90.0 }));
        }),
        VerdictName::CapacityNotFound => searched(|found| found.half_pass_per_s = None),
        VerdictName::BusyAfterLoad => {
            Scenario::Test("crates/paceline/tests/it/lab/idle_wait.rs", "busy_after_load")
        }
        _ => return None,
    })
}

/// The scenario that triggers a verdict.
fn scenario(name: VerdictName) -> Option<Scenario> {
    [of_load, of_generator, of_answers, of_trials, of_kernel, of_roles, of_launch]
        .into_iter()
        .find_map(|of| of(name))
}

impl Scenario {
    /// A trial changed once more.
    fn and(self, change: impl FnOnce(&mut Trial)) -> Self {
        match self {
            Self::Trial(mut trial) => {
                change(&mut trial);
                Self::Trial(trial)
            }
            other => other,
        }
    }

    /// The verdicts that it triggers; for a file with tests, the verdict that it names.
    fn verdicts(self) -> Vec<String> {
        let names = |verdicts: Vec<Verdict>| verdicts.into_iter().map(|verdict| verdict.name).collect();
        match self {
            Self::Run(run) => names(run_verdicts(&run)),
            Self::Trial(trial) => names(trial_verdicts(&trial)),
            Self::Rows(verdicts) => names(verdicts),
            Self::Test(file, word) => {
                let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
                let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
                let has_test = text.contains("#[test]") && text.contains(&format!("\"{word}\""));
                has_test.then(|| word.to_owned()).into_iter().collect()
            }
        }
    }
}

#[test]
fn every_verdict_has_a_scenario_that_triggers_it() {
    for name in VerdictName::ALL {
        let scenario =
            scenario(*name).unwrap_or_else(|| panic!("{}: no scenario provokes it", name.as_str()));
        let found = scenario.verdicts();
        assert!(
            found.iter().any(|found| found == name.as_str()),
            "{}: its scenario gives {found:?}",
            name.as_str()
        );
    }
}

#[test]
fn a_large_change_is_named_in_the_noise_of_a_busy_machine() {
    let noisy = |expected: &str, scenario: Scenario| assert_eq!(scenario.verdicts(), [expected]);
    noisy("slowing_down", closed(rates([1000, 600, 1400, 700, 1300, 600, 200, 120, 280])));
    noisy("slowing_down", open(times([200, 350, 130, 300, 180, 600, 1000, 600, 1400])));
    noisy("still_warming", closed(rates([200, 350, 130, 700, 300, 1300, 1000, 600, 1400])));
    noisy("still_warming", open(times([1000, 600, 1400, 700, 1300, 600, 200, 120, 280])));
    let flat = closed(rates([1000, 600, 1400, 700, 1300, 600, 1400, 700, 1000]));
    assert_eq!(flat.verdicts(), [] as [&str; 0], "noise alone");
}

#[test]
fn a_slow_drift_of_some_40_us_on_a_virtual_machine_is_not_blamed_on_the_server() {
    let drift = |virtual_machine, factor: u64| {
        open(|run| {
            run.environment.virtual_machine = virtual_machine;
            times([90, 92, 107, 99, 111, 116, 122, 136, 134].map(|time_us| factor * time_us))(run);
        })
        .verdicts()
    };
    assert_eq!(drift(true, 1), [] as [&str; 0]);
    assert_eq!(drift(true, 10), ["slowing_down"]);
    assert_eq!(drift(false, 1), ["slowing_down"]);
}

#[test]
fn pauses_of_a_few_requests_do_not_make_an_open_loop_unsteady() {
    let paused = open(|run| {
        for (interval, late) in run.intervals[1..10].iter_mut().zip([80, 60, 70, 50, 60, 8, 6, 4, 5]) {
            let mut histogram = Histogram::new();
            histogram.record_n(100_000, 1_000 - late);
            histogram.record_n(8_000_000, late);
            interval.block.service_time_ns = Some(Times::from_histogram(&histogram));
        }
    });
    assert_eq!(paused.verdicts(), [] as [&str; 0], "the mean falls from 0.7 to 0.1 ms, the median stays");
}

#[test]
fn the_baseline_of_the_scenarios_has_no_verdict() {
    for (clean, what) in [
        (open(|_| {}), "an open loop"),
        (closed(|_| {}), "a closed loop"),
        (open(|run| loaders(run, |_, _| {})), "two loaders"),
        (trial(|_| {}), "a trial"),
        (balanced(|_| {}), "a balanced trial"),
        (database(|_, _| {}), "a trial with a database"),
        (searched(|_| {}), "a trial with a search"),
    ] {
        let found = clean.verdicts();
        assert_eq!(found, [] as [&str; 0], "{what}");
    }
}
