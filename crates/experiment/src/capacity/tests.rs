//! The search on a simulated server: a queue whose response time follows from the rate, with pauses and failures.

use super::*;
use crate::warm_up;
use paceline_record::{Blame, GateOutcome, GateReason, Severity, Verdict};
use paceline_stats::Random;
use std::collections::BTreeMap;

/// A server with a service rate; p99 of an M/M/1 queue.
struct SimulatedServer {
    service_per_s: f64,
    /// The rate of the closed loop as a share of the service rate.
    closed_share: f64,
    /// Standard deviation of the service rate between windows, as a logarithm.
    noise: f64,
    /// Share of windows with a stall that misses any objective.
    stalls: f64,
    /// Share of windows in which the generator stalled: detected, and a miss too.
    disturbed: f64,
    /// Numbers of the windows that miss at any rate, with no sign of the cause.
    unlucky: Vec<usize>,
    /// The median response time, and requests of each window that fail.
    p50: u64,
    failed: u64,
    /// Requests of each session; 0 for a load without sessions.
    requests: f64,
    limit_ns: f64,
    void: bool,
    interrupt_after: usize,
    loads: Vec<LoadRequest>,
    random: Random,
}

impl SimulatedServer {
    fn new(service_per_s: f64) -> Self {
        Self {
            service_per_s,
            closed_share: 1.0,
            noise: 0.01,
            stalls: 0.0,
            disturbed: 0.0,
            unlucky: Vec::new(),
            p50: 1_000_000,
            failed: 0,
            requests: 0.0,
            limit_ns: 10e6,
            void: false,
            interrupt_after: usize::MAX,
            loads: Vec::new(),
            random: Random::new(8),
        }
    }

    /// Counts the achieved rate as sessions, if the load has them.
    fn with_sessions(&self, mut result: LoadResult) -> LoadResult {
        if self.requests > 0.0 {
            result.sessions_per_s = Some(result.achieved_per_s);
            result.achieved_per_s *= self.requests;
            let time_ns = result.service_time_ns;
            result.by_request =
                vec![RequestSummary { name: "login".into(), scheduled: 10, failed: 0, time_ns }];
        }
        result
    }

    /// The rate at which p99 is the limit: ln(100) / (service rate - rate) = limit.
    fn capacity(&self) -> f64 {
        self.service_per_s - 100f64.ln() / (self.limit_ns * 1e-9)
    }
}

pub(crate) fn invalid(name: &str, blame: Blame) -> Verdict {
    Verdict {
        name: name.to_owned(),
        blame,
        severity: Severity::Invalid,
        evidence: BTreeMap::new(),
        remedy: String::new(),
    }
}

pub(crate) fn result(offered: Option<f64>, achieved: f64) -> LoadResult {
    let times = TimeSummary { mean: 1e6, p50: 1_000_000, p99: 2_000_000, max: 3_000_000 };
    LoadResult {
        offered_per_s: offered,
        achieved_per_s: achieved,
        sessions_per_s: None,
        by_session: Vec::new(),
        by_request: Vec::new(),
        window_s: 5.0,
        connections: 64,
        scheduled: 10_000,
        ok: 10_000,
        censored: 0,
        not_ok_share_allowed: None,
        response_time_ns: offered.map(|_| times),
        service_time_ns: Some(times),
        gates: Vec::new(),
        verdicts: Vec::new(),
        generator_busy_share: 0.3,
        server: None,
        limit: None,
        load_s: 6.0,
        ok_in_run: 0,
        conditions: None,
        rate_per_second: Vec::new(),
        intervals: Vec::new(),
        start_ns: None,
        capacity_per_s: None,
        record: None,
    }
}

/// p99 in nanoseconds of an M/M/1 queue; 10 s of one that is overloaded.
fn p99_of(rate: f64, service: f64) -> f64 {
    if rate < service { 100f64.ln() / (service - rate) * 1e9 } else { 1e10 }
}

impl LoadRunner for SimulatedServer {
    fn run(&mut self, request: &LoadRequest) -> Result<LoadResult, LoadError> {
        self.loads.push(*request);
        if self.loads.len() > self.interrupt_after {
            return Err(LoadError::Interrupted);
        }
        let service = self.service_per_s * (self.noise * self.random.normal()).exp();
        let Some(rate) = request.rate_per_s else {
            return Ok(self.with_sessions(result(None, self.closed_share * service)));
        };
        let is_stalled = self.random.uniform() < self.stalls;
        let p99 = if is_stalled { 5e7 } else { p99_of(rate, service) };
        let mut result = result(Some(rate), rate.min(service));
        if let Some(times) = &mut result.response_time_ns {
            times.p99 = p99 as u64;
            times.p50 = self.p50;
        }
        result.ok -= self.failed;
        result = self.with_sessions(result);
        let is_disturbed = self.random.uniform() < self.disturbed;
        let is_unlucky = self.unlucky.contains(&self.loads.len());
        let is_missed = p99 >= self.limit_ns || is_stalled || is_disturbed || is_unlucky;
        if is_disturbed {
            let severity = Severity::Caution;
            result.verdicts.push(Verdict { severity, ..invalid("generator_stall", Blame::Generator) });
        }
        result.gates.push(GateOutcome {
            gate: "response.p99<10ms".into(),
            passed: !is_missed,
            reasons: if is_missed { vec![GateReason::BeyondLimit] } else { Vec::new() },
            evidence: BTreeMap::new(),
        });
        if self.void {
            result.verdicts.push(invalid("generator_lag", Blame::Generator));
        }
        Ok(result)
    }
}

fn plan() -> CapacityPlan {
    CapacityPlan {
        objective: Objective::parse("response.p99<10ms").unwrap(),
        window: Duration::from_secs(5),
        warmup: Duration::from_secs(1),
        half_width: 0.05,
        max_windows: 40,
        confirm: Duration::from_secs(60),
        curve: true,
    }
}

fn find(server: &mut SimulatedServer) -> Result<Capacity, LoadError> {
    find_capacity(server, &plan(), &mut |_| {})
}

#[test]
fn capacity_of_a_queue_is_found_with_its_curve_and_knee() {
    let mut server = SimulatedServer::new(5_000.0);
    let capacity = find(&mut server).unwrap();
    let interval = capacity.interval_per_s.unwrap();
    assert!(interval.low < server.capacity() && server.capacity() < interval.high, "{capacity:?}");
    assert!(capacity.is_precise && capacity.stalls_decide.is_none());
    assert!(capacity.windows.len() <= 25, "{} windows", capacity.windows.len());
    let long_run = capacity.long_run_per_s.unwrap();
    assert!(long_run <= interval.low && long_run > 0.8 * server.capacity());
    assert_eq!(capacity.curve.len(), CURVE.len());
    assert!(capacity.curve[..6].iter().all(|point| point.outcome == WindowOutcome::Pass));
    // p99 doubles when the headroom to the service rate halves: 4,500 to 2,250 of 5,000, up to the noise.
    let knee = capacity.knee_per_s.unwrap();
    assert!((2_300.0..3_200.0).contains(&knee), "{knee}");
    let text = crate::capacity_text(&capacity);
    assert!(text.starts_with("capacity") && text.contains("half of all 5 s windows"), "{text}");
}

#[test]
fn stalls_give_a_span_instead_of_an_interval() {
    let mut server = SimulatedServer { stalls: 0.6, ..SimulatedServer::new(5_000.0) };
    let capacity = find(&mut server).unwrap();
    let span = capacity.stalls_decide.unwrap();
    assert!(span.low < span.high, "{span:?}");
    assert_eq!((capacity.half_pass_per_s, capacity.interval_per_s), (None, None));
    assert!(crate::capacity_text(&capacity).contains("depends on pauses of the server"));
}

#[test]
fn windows_disturbed_by_the_generator_are_repeated() {
    let mut server = SimulatedServer { disturbed: 0.3, ..SimulatedServer::new(5_000.0) };
    let capacity = find(&mut server).unwrap();
    let interval = capacity.interval_per_s.unwrap_or_else(|| panic!("{capacity:?}"));
    assert!(interval.low < server.capacity() && server.capacity() < interval.high, "{capacity:?}");
    let void = capacity.windows.iter().filter(|window| window.outcome == WindowOutcome::Void);
    let reasons: Vec<_> = void.map(|window| window.void_because.as_deref()).collect();
    assert!(!reasons.is_empty() && reasons.iter().all(|why| *why == Some("generator_stall")), "{reasons:?}");
    assert!(capacity.long_run_per_s.is_some() && capacity.stalls_decide.is_none());
}

#[test]
fn a_pause_of_the_machine_is_not_a_stall_of_the_server() {
    // The second load is the first window, far below the capacity.
    let mut server = SimulatedServer { unlucky: vec![2], limit_ns: 1e8, ..SimulatedServer::new(5_000.0) };
    let capacity = find(&mut server).unwrap();
    assert_eq!(capacity.stalls_decide, None, "{capacity:?}");
    let interval = capacity.interval_per_s.unwrap();
    assert!(interval.low < server.capacity() && server.capacity() < interval.high, "{capacity:?}");
    assert_eq!(capacity.windows[0].void_because.as_deref(), Some(ISOLATED), "{capacity:?}");
}

#[test]
fn repeated_windows_are_not_called_disturbed() {
    use WindowOutcome::{Miss, Pass, Void};
    let (mut engine, mut windows) = (CapacitySearch::new(1_000.0, 0.05, 3), Vec::new());
    for (rate, outcome) in [(700.0, Pass), (500.0, Miss), (600.0, Void), (800.0, Pass)] {
        if outcome != Void {
            engine.add(SearchWindow { rate, passed: outcome == Pass });
        }
        windows.push(CapacityWindow {
            offered_per_s: rate,
            outcome,
            void_because: None,
            achieved_per_s: rate,
            response_time_ns: None,
            failed: 0,
            by_session: Vec::new(),
            by_request: Vec::new(),
            record: None,
        });
    }
    let mut search = Search { engine, windows, ended_early: None };
    let request = LoadRequest { rate_per_s: None, warmup: Duration::ZERO, window: Duration::from_secs(5) };
    search.carry_out(&mut SimulatedServer::new(5_000.0), request, &mut |_| {}).unwrap();
    assert_eq!((search.windows.len(), search.ended_early), (6, None));
}

#[test]
fn repeated_misses_count_despite_disturbances() {
    let mut window = result(Some(100.0), 100.0);
    window.gates = vec![GateOutcome {
        gate: "response.p99<10ms".into(),
        passed: false,
        reasons: vec![GateReason::BeyondLimit],
        evidence: BTreeMap::new(),
    }];
    window.verdicts = vec![Verdict { severity: Severity::Caution, ..invalid("steal", Blame::Environment) }];
    assert_eq!(WindowOutcome::from_result(&window), WindowOutcome::Void);
    assert_eq!(WindowOutcome::of_undisturbed(&window), WindowOutcome::Miss);
    window.verdicts.push(Verdict { severity: Severity::Caution, ..invalid("saturated", Blame::Server) });
    assert_eq!(WindowOutcome::from_result(&window), WindowOutcome::Miss, "overload is the server's");
    window.gates.clear();
    assert_eq!(
        WindowOutcome::from_result(&window),
        WindowOutcome::Pass,
        "a disturbance makes nothing faster"
    );
}

#[test]
fn disturbed_windows_are_ignored_and_end_the_search() {
    let capacity = find(&mut SimulatedServer { void: true, ..SimulatedServer::new(5_000.0) }).unwrap();
    assert_eq!(capacity.windows.len(), MAX_VOID);
    assert!(capacity.windows.iter().all(|window| window.outcome == WindowOutcome::Void));
    assert!(capacity.ended_early.unwrap().contains("generator_lag"));
    assert_eq!(capacity.half_pass_per_s, None);
}

#[test]
fn an_interruption_keeps_the_results_so_far() {
    let capacity =
        find(&mut SimulatedServer { interrupt_after: 6, ..SimulatedServer::new(5_000.0) }).unwrap();
    assert_eq!((capacity.windows.len(), capacity.ended_early.as_deref()), (5, Some("interrupted")));
    assert!(capacity.half_pass_per_s.is_some() && !capacity.is_precise);
}

#[test]
fn an_objective_that_is_never_met_has_no_capacity() {
    let mut server = SimulatedServer { limit_ns: 1.0, ..SimulatedServer::new(5_000.0) };
    let capacity = find(&mut server).unwrap();
    assert_eq!((capacity.half_pass_per_s, capacity.long_run_per_s), (None, None));
    assert!(crate::capacity_text(&capacity).contains("none: no offered rate met"), "{capacity:?}");
    let ended =
        find(&mut SimulatedServer { interrupt_after: 3, limit_ns: 1.0, ..SimulatedServer::new(5_000.0) })
            .unwrap();
    assert_eq!((ended.windows.len(), ended.half_pass_per_s), (2, None));
}

#[test]
fn an_objective_that_is_always_met_has_no_capacity() {
    let mut server = SimulatedServer { closed_share: 0.05, ..SimulatedServer::new(5_000.0) };
    let capacity = find(&mut server).unwrap();
    assert_eq!((capacity.half_pass_per_s, capacity.interval_per_s), (None, None), "{capacity:?}");
    assert!(!capacity.is_precise && capacity.curve.is_empty() && capacity.long_run_per_s.is_none());
    assert!(capacity.ended_early.as_ref().unwrap().contains("began too low"), "{capacity:?}");
    assert!(crate::capacity_text(&capacity).contains("every offered rate met"), "{capacity:?}");
}

#[test]
fn windows_are_long_enough_for_the_percentile() {
    let mut plan = plan();
    plan.objective = Objective::parse("response.p99.9<10ms").unwrap();
    let length = |plan: &CapacityPlan, per_s: f64| window_length(plan, &result(None, per_s));
    assert_eq!(length(&plan, 5_000.0), Duration::from_secs(5));
    assert_eq!(length(&plan, 2_500.0), Duration::from_secs(10));
    assert_eq!(length(&plan, 10.0), MAX_WINDOW);
    // A session of four requests: an objective on requests needs a quarter of the time of one on sessions.
    let mut closed = result(None, 1_000.0);
    closed.sessions_per_s = Some(250.0);
    let step = RequestSummary { name: "log in".to_owned(), scheduled: 625, failed: 0, time_ns: None };
    closed.by_request = vec![step];
    let of = |objective: &str| {
        let objective = Objective::parse(objective).unwrap();
        window_length(&CapacityPlan { objective, ..plan.clone() }, &closed).as_secs()
    };
    assert_eq!([of("response.p99<1s"), of("session.p99<1s"), of("step(log in).p99<1s")], [5, 10, 20]);
}

#[test]
fn a_search_for_sessions_counts_sessions() {
    let mut server = SimulatedServer { requests: 4.0, ..SimulatedServer::new(400.0) };
    server.limit_ns = 100e6;
    let capacity = find(&mut server).unwrap();
    assert_eq!(capacity.unit, RateUnit::Sessions);
    assert!((350.0..450.0).contains(&capacity.closed_loop_per_s), "{capacity:?}");
    let most = capacity.windows.iter().map(|window| window.offered_per_s).fold(0.0, f64::max);
    assert!(most < 500.0, "no window far above the capacity: {most}");
    let text = crate::capacity_text(&capacity);
    assert!(text.contains(" sessions/s (95 % interval") && text.contains("\nlong run     "), "{text}");
    assert!(!text.replace(" sessions/s", "").contains("/s"), "no rate in another unit: {text}");
    let row = text.lines().find(|line| line.starts_with("request login")).unwrap_or_else(|| panic!("{text}"));
    assert!(row.ends_with("1.00 ms  2.00 ms"), "{row}");
}

#[test]
fn an_estimate_counts_windows_of_their_real_length() {
    let plan = plan();
    let seconds = |window: u64| plan.estimate(Duration::from_secs(window)).map(|time| time.as_secs());
    // 14 or 30 windows and 8 of the curve of 1 + 5 + 0.5 s each, and one or four long windows of 61.5 s.
    assert_eq!(seconds(5), [204, 493]);
    assert_eq!(seconds(18), [490, 987]);
    let short = CapacityPlan { max_windows: 10, confirm: Duration::ZERO, curve: false, ..plan };
    assert_eq!(short.estimate(Duration::from_secs(5)), [Duration::from_secs(65); 2]);
}

#[test]
fn disturbed_windows_do_not_extend_a_search_without_limit() {
    // Two of three attempts are void, and what counts is far from precise.
    let mut server = SimulatedServer { disturbed: 0.6, noise: 0.3, ..SimulatedServer::new(5_000.0) };
    let capacity = find_capacity(
        &mut server,
        &CapacityPlan { half_width: 1e-4, curve: false, confirm: Duration::ZERO, ..plan() },
        &mut |_| {},
    );
    let windows = capacity.unwrap().windows.len();
    assert!(windows <= WINDOWS_WITH_VOID * 40 + MAX_VOID, "{windows}");
}

#[test]
fn errors_miss_the_objective_and_too_few_requests_do_not() {
    let mut window = result(Some(100.0), 100.0);
    let gate = |reason| GateOutcome {
        gate: "response.p99<10ms".into(),
        passed: false,
        reasons: vec![reason],
        evidence: BTreeMap::new(),
    };
    window.gates = vec![gate(GateReason::TooFewSamples)];
    assert_eq!(WindowOutcome::from_result(&window), WindowOutcome::Pass);
    window.gates = vec![gate(GateReason::Failures)];
    assert_eq!(WindowOutcome::from_result(&window), WindowOutcome::Miss);
    window.gates.clear();
    window.verdicts = vec![invalid("saturated", Blame::Server)];
    assert_eq!(WindowOutcome::from_result(&window), WindowOutcome::Miss);
}

#[test]
fn pauses_at_any_rate_are_stalls_and_failures_are_not() {
    let mut server = SimulatedServer { stalls: 1.0, ..SimulatedServer::new(5_000.0) };
    let find_with = |server: &mut SimulatedServer, p50: u64, failed: u64| {
        server.p50 = p50;
        server.failed = failed;
        find(server).unwrap()
    };
    let stalled = find_with(&mut server, 50_000, 0);
    let span = stalled.stalls_decide.unwrap_or_else(|| panic!("{stalled:?}"));
    assert!(span.high == 0.0 && span.low < 500.0, "{span:?}");
    assert!(crate::capacity_text(&stalled).contains("the objective was missed at every rate"), "{stalled:?}");
    assert_eq!(find_with(&mut server, 50_000, 100).stalls_decide, None, "failures are no pauses");
    assert_eq!(find_with(&mut server, 10_000_000, 0).stalls_decide, None, "every request is slow");
}

/// A server whose rate of valid responses grows by this factor each second.
struct Warming {
    rate_per_s: f64,
    growth: f64,
    loads: usize,
}

impl LoadRunner for Warming {
    fn run(&mut self, request: &LoadRequest) -> Result<LoadResult, LoadError> {
        self.loads += 1;
        let mut result = result(None, self.rate_per_s);
        result.ok = (self.rate_per_s * request.window.as_secs_f64()) as u64;
        for _ in 1..request.window.as_secs() {
            result.rate_per_second.push(self.rate_per_s);
            self.rate_per_s *= self.growth;
        }
        Ok(result)
    }
}

#[test]
fn a_warm_up_ends_when_the_rate_is_steady_or_no_response_is_valid() {
    let warm = |rate_per_s: f64, growth: f64| {
        let mut server = Warming { rate_per_s, growth, loads: 0 };
        let is_warm = warm_up(&mut server, Duration::from_secs(20));
        (is_warm.map_err(|error| error.to_string()), server.loads)
    };
    assert_eq!(warm(100.0, 1.0), (Ok(true), 1));
    assert_eq!(warm(100.0, 1.1), (Ok(false), 4), "9 + 5 + 5 + 5 s");
    let (failed, loads) = warm(0.0, 1.0);
    assert_eq!(loads, 1);
    assert!(failed.is_err_and(|error| error.contains("in the warm-up") && error.contains("--debug")));
}
