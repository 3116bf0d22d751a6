//! The gate with simulated sides: what a margin means, the shared error rate, noise and the budget.

use super::cells::Cells;
use super::*;
use crate::capacity::tests::{invalid, result};
use crate::compared_metric::ComparedMetric;
use crate::load::{LoadServerUse, RequestSummary, TimeSummary};
use paceline_record::Blame;
use paceline_stats::Random;

/// Sides whose figures scatter, with a loss of the candidate.
struct SimulatedBench {
    /// The candidate's rate as a share of the base's.
    rate: f64,
    /// The standard deviation of the logarithm of a figure.
    deviation: f64,
    random: Random,
    loads: usize,
    blocks: usize,
    disturbed: usize,
    waited: usize,
    failed: u64,
    moved: Option<MovedCores>,
    /// The base does not have the first loads, as many as this.
    missing: usize,
    left_out: Vec<usize>,
    /// Whether the server of a side ends under the first load of a block.
    ends: fn(usize, usize) -> bool,
}

impl SimulatedBench {
    fn new(rate: f64, deviation: f64, seed: u64) -> Self {
        Self {
            rate,
            deviation,
            random: Random::new(seed),
            loads: 1,
            blocks: 0,
            disturbed: 0,
            waited: 0,
            failed: 0,
            moved: None,
            missing: 0,
            left_out: Vec::new(),
            ends: |_, _| false,
        }
    }

    fn side(&mut self, side: usize) -> BlockSide {
        let rate = if side == CANDIDATE { self.rate } else { 1.0 };
        let is_disturbed = self.blocks <= self.disturbed;
        if (self.ends)(side, self.blocks) {
            let ended = Some(EndedServer { load: 0, how: "exit status 1".to_owned() });
            return BlockSide { windows: vec![Vec::new(); self.loads], ended, ..BlockSide::default() };
        }
        let mut window = || {
            let mut window = result(None, 1_000.0 * rate * (self.deviation * self.random.normal()).exp());
            if side == CANDIDATE {
                window.ok -= self.failed;
            }
            if is_disturbed {
                window.verdicts.push(invalid("generator_descheduled", Blame::Environment));
            }
            window
        };
        let of_load = |load: usize| {
            let window = (!self.left_out.contains(&load)).then(&mut window);
            let is_missing = side != CANDIDATE && load < self.missing;
            window.map(|window| if is_missing { LoadResult { ok: 0, ..window } } else { window })
        };
        let windows = (0..self.loads).map(of_load).map(|window| window.into_iter().collect());
        BlockSide { windows: windows.collect(), ..BlockSide::default() }
    }
}

impl RegressionBench for SimulatedBench {
    fn block(&mut self, _: usize) -> Result<[BlockSide; SIDES], LoadError> {
        self.blocks += 1;
        Ok([0, 1, 2].map(|side| self.side(side)))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(10 * self.blocks as u64)
    }

    fn moved_cores(&self) -> Option<MovedCores> {
        self.moved
    }

    fn wait_for_quiet(&mut self, _: Duration) {
        self.waited += 1;
    }

    fn leave_out(&mut self, load: usize, _: &str) {
        self.left_out.push(load);
    }
}

/// A metric of all requests.
fn of_all(metric: ComparedMetric) -> GateMetric {
    GateMetric { metric, step: None, margin: 0.05 }
}

pub(crate) fn plan(loads: usize) -> RegressionPlan {
    let metrics = vec![of_all(ComparedMetric::RatePerS)];
    let load = |number: usize| GateLoad { name: format!("load {number}"), metrics: metrics.clone() };
    RegressionPlan {
        names: ["main (1234567)".to_owned(), "HEAD (89abcde)".to_owned()],
        loads: (0..loads).map(load).collect(),
        launch: Vec::new(),
        judge: JudgeRule::Quietest,
        budget: Duration::from_secs(600),
        max_failures: 0.001,
        notes: Vec::new(),
    }
}

/// Adds a block, and tests if that is due.
fn add(gate: &mut Gate<'_>, sides: [BlockSide; SIDES]) {
    gate.take(&sides);
    gate.look(false);
}

fn gate(bench: &mut SimulatedBench) -> RegressionReport {
    let plan = plan(bench.loads);
    run_regression(bench, &plan, &mut |_| {}).unwrap()
}

/// Shares of gates that pass and that fail.
fn shares(rate: f64, deviation: f64, loads: usize, rounds: u64) -> [f64; 2] {
    let mut counts = [0.0; 2];
    for seed in 0..rounds {
        let mut bench = SimulatedBench { loads, ..SimulatedBench::new(rate, deviation, seed + 1) };
        match gate(&mut bench).outcome {
            RegressionOutcome::Passed => counts[0] += 1.0,
            RegressionOutcome::Failed => counts[1] += 1.0,
            RegressionOutcome::Undecided | RegressionOutcome::Interrupted => {}
        }
    }
    counts.map(|count| count / rounds as f64)
}

#[test]
fn a_gate_fails_only_if_a_loss_of_more_than_the_margin_is_proven() {
    // A loss of exactly the margin: each error at most 5 %.
    let [passed, failed] = shares(0.95, 0.02, 1, 120);
    assert!(failed <= 0.08 && passed <= 0.08, "{passed} passed, {failed} failed");
    let [_, failed] = shares(0.97, 0.02, 1, 50);
    assert_eq!(failed, 0.0, "a loss within the margin");
    let [_, failed] = shares(0.90, 0.02, 1, 50);
    assert!(failed > 0.97, "{failed} of losses of 10 % found");
}

#[test]
fn the_last_look_has_all_blocks_of_the_budget_and_keeps_the_error_rates() {
    // Seven blocks: looks at 4, 6 and 7. A loss of exactly the margin.
    let plan = RegressionPlan { budget: Duration::from_secs(70), ..plan(1) };
    let mut counts = [0; 2];
    for seed in 0..120 {
        let mut bench = SimulatedBench::new(0.95, 0.02, seed + 1);
        let report = run_regression(&mut bench, &plan, &mut |_| {}).unwrap();
        counts[0] += usize::from(report.outcome == RegressionOutcome::Passed);
        counts[1] += usize::from(report.outcome == RegressionOutcome::Failed);
        if report.outcome == RegressionOutcome::Undecided {
            assert_eq!((report.blocks, report.metrics[0].blocks), (7, 7));
        }
    }
    // At most 5 % each, and chance.
    assert!(counts.iter().all(|count| *count <= 12) && counts[0] + counts[1] < 120, "{counts:?}");
}

#[test]
fn a_gate_passes_only_if_a_loss_of_more_than_the_margin_is_excluded() {
    let [passed, failed] = shares(1.0, 0.02, 1, 50);
    assert!(passed > 0.97 && failed == 0.0, "{passed}, {failed}");
    let [passed, failed] = shares(1.0, 0.3, 1, 50);
    assert!(passed < 0.25 && failed <= 0.02, "mostly undecided: {passed}, {failed}");
}

#[test]
fn the_error_rate_is_shared_among_all_loads() {
    // Six losses of exactly the margin: any of them could fail by mistake.
    let [passed, failed] = shares(0.95, 0.02, 6, 60);
    assert!(failed <= 0.09 && passed <= 0.01, "{passed}, {failed}");
}

#[test]
fn a_difference_below_that_of_the_control_pair_is_not_called() {
    let plan = plan(1);
    let mut cells = Cells::new(&plan);
    for scatter in [0.0, 0.002, 0.001, 0.003] {
        let window = |rate: f64| vec![vec![result(None, rate * (1.0f64 + scatter))]];
        let side = |rate: f64| BlockSide { windows: window(rate), ..BlockSide::default() };
        // The control is 30 % slower than the base, although both are the same build.
        cells.add(&[side(1_000.0), side(700.0 + scatter), side(700.0 - scatter)]);
    }
    cells.look();
    assert_eq!(cells.reports()[0].verdict, CellVerdict::WithinNoise);
    assert!(!cells.any_worse() && !cells.all_excluded());
}

#[test]
fn failures_are_compared_first() {
    let mut bench = SimulatedBench { failed: 9_000, ..SimulatedBench::new(1.0, 0.01, 3) };
    let report = gate(&mut bench);
    assert_eq!((report.outcome, report.blocks), (RegressionOutcome::Failed, 4));
    assert!(report.reason.starts_with("more requests of load 0 fail: 90.00 %"), "{}", report.reason);
}

#[test]
fn a_broken_candidate_fails_also_if_the_budget_ends_before_the_first_look() {
    let plan = RegressionPlan { budget: Duration::from_secs(10), ..plan(1) };
    for (failed, outcome) in [(9_000, RegressionOutcome::Failed), (100, RegressionOutcome::Undecided)] {
        let mut bench = SimulatedBench { failed, ..SimulatedBench::new(1.0, 0.01, 3) };
        let report = run_regression(&mut bench, &plan, &mut |_| {}).unwrap();
        assert_eq!((report.outcome, report.blocks), (outcome, 1), "{failed}");
    }
}

#[test]
fn a_candidate_whose_server_ends_under_load_fails() {
    let with = |ends: fn(usize, usize) -> bool, budget_s: u64| {
        let mut bench = SimulatedBench { ends, ..SimulatedBench::new(1.0, 0.01, 3) };
        let plan = RegressionPlan { budget: Duration::from_secs(budget_s), ..plan(1) };
        run_regression(&mut bench, &plan, &mut |_| {})
    };
    let always = with(|side, _| side == CANDIDATE, 600).unwrap();
    assert_eq!((always.outcome, always.blocks), (RegressionOutcome::Failed, 4));
    let reason =
        "under load 0, the candidate's server ended in 4 of 4 launches (exit status 1), the base's in 0 of 8";
    assert_eq!(always.reason, reason);
    assert!(regression_junit(&always).to_string().contains("failures=\"1\""));
    assert!(regression_markdown(&always).to_string().contains("ended in 4 of 4 launches"));
    let at_once = with(|side, _| side == CANDIDATE, 10).unwrap();
    assert_eq!((at_once.outcome, at_once.blocks), (RegressionOutcome::Failed, 1));
    let once = with(|side, block| side == CANDIDATE && block == 2, 600).unwrap();
    assert_eq!(once.outcome, RegressionOutcome::Undecided, "not proven, and not passed");
    assert!(once.reason.ends_with("which may be chance"), "{}", once.reason);
    // Of each side in one block.
    let alike = with(|side, block| side + 1 == block, 600).unwrap();
    assert_eq!(alike.outcome, RegressionOutcome::Passed, "{}", alike.reason);
    let error = with(|side, _| side != CANDIDATE, 600).unwrap_err().to_string();
    assert!(error.starts_with("both servers of main (1234567) ended under the load `load 0`"), "{error}");
}

#[test]
fn a_load_that_no_side_answers_ends_the_gate() {
    let plan = plan(2);
    let ends = |base_ok: u64, candidate_ok: u64| {
        let mut gate = Gate::new(&plan);
        let side = |ok: u64| {
            let window = |ok: u64| LoadResult { ok, ..result(None, 1_000.0) };
            BlockSide { windows: vec![vec![window(10_000)], vec![window(ok)]], ..BlockSide::default() }
        };
        add(&mut gate, [side(base_ok), side(candidate_ok), side(base_ok)]);
        gate.check_responses().err().map(|error| error.to_string())
    };
    let error = ends(0, 0).unwrap();
    assert!(error.contains("load `load 1` (30000 requests)"), "{error}");
    assert_eq!([ends(0, 1), ends(1, 0), ends(10_000, 10_000)], [None, None, None]);
}

#[test]
fn a_load_that_the_base_does_not_have_is_left_out() {
    let with = |loads: usize, missing: usize| {
        let mut bench = SimulatedBench { loads, missing, ..SimulatedBench::new(1.0, 0.01, 3) };
        (gate(&mut bench), bench.left_out)
    };
    let (report, left_out) = with(2, 1);
    assert_eq!((report.outcome, left_out), (RegressionOutcome::Passed, vec![0]));
    let judged: Vec<Option<&str>> = report.metrics.iter().map(|cell| cell.load.as_deref()).collect();
    assert_eq!(judged, [Some("load 1")]);
    let note = "The base does not have load 0: none of its 20,000 requests had a valid response";
    assert!(report.notes.iter().any(|line| line.starts_with(note)), "{:?}", report.notes);
    let (report, _) = with(2, 2);
    assert_eq!((report.outcome, report.blocks), (RegressionOutcome::Undecided, 1));
    assert_eq!(report.reason, "nothing can be compared: the base does not have load 0, load 1");
    assert!(regression_junit(&report).to_string().contains("skipped=\"1\""));
}

#[test]
fn an_unchanged_server_that_fails_now_and_then_rarely_fails_a_gate() {
    let plan = plan(1);
    let mut random = Random::new(7);
    let mut alarms = 0;
    for _ in 0..100 {
        let mut gate = Gate::new(&plan);
        for _ in 0..4 {
            let mut side = || {
                let failed = (0..1_000).filter(|_| random.uniform() < 0.01).count() as u64;
                let window = LoadResult { scheduled: 1_000, ok: 1_000 - failed, ..result(None, 1_000.0) };
                BlockSide { windows: vec![vec![window]], ..BlockSide::default() }
            };
            let sides = [side(), side(), side()];
            add(&mut gate, sides);
        }
        alarms += usize::from(gate.failures[0].is_worse);
    }
    assert!(alarms <= 5, "{alarms} of 100");
}

/// The share of whole gates, of unchanged servers, that fail by their failures alone. `window` makes a window; each side
/// has two of them in a block.
fn false_alarms(gates: usize, mut window: impl FnMut() -> LoadResult) -> f64 {
    let plan = plan(1);
    let mut fails = || {
        let mut gate = Gate::new(&plan);
        (0..20).any(|_| {
            let mut side = || BlockSide { windows: vec![vec![window(), window()]], ..BlockSide::default() };
            add(&mut gate, [side(), side(), side()]);
            gate.failures[0].is_worse
        })
    };
    (0..gates).filter(|_| fails()).count() as f64 / gates as f64
}

#[test]
fn a_server_that_fails_as_many_requests_as_its_base_fails_a_gate_at_most_at_the_error_rate() {
    // 1 % of 2,000 requests, by the normal approximation: every second window is invalid.
    let mut random = Random::new(11);
    let share = false_alarms(200, || {
        let failed = (20.0 + 19.8_f64.sqrt() * random.normal()).round().max(0.0) as u64;
        let mut window = LoadResult { scheduled: 2_000, ok: 2_000 - failed, ..result(None, 1_000.0) };
        if failed > 20 {
            window.verdicts.push(invalid("failed_requests", Blame::Server));
        }
        window
    });
    assert!(share <= ERROR_RATE, "{share} of gates failed");
    let mut random = Random::new(12);
    let share = false_alarms(200, || {
        let mut window = result(None, 1_000.0);
        if random.uniform() < 0.3 {
            window.verdicts.push(invalid("held_connections", Blame::Server));
        }
        window
    });
    assert!(share <= ERROR_RATE, "{share} of gates of servers that stop answering now and then failed");
}

#[test]
fn a_candidate_that_stops_answering_now_and_then_fails() {
    let plan = plan(1);
    let mut gate = Gate::new(&plan);
    for block in 0..10 {
        let side = |is_silent: bool| {
            let mut window = result(None, 1_000.0);
            if is_silent {
                window.verdicts.push(invalid("stopped_answering", Blame::Server));
            }
            BlockSide { windows: vec![vec![window, result(None, 1_000.0)]], ..BlockSide::default() }
        };
        add(&mut gate, [side(false), side(block % 2 == 0), side(false)]);
    }
    // 5 of 10 launches, beside none of 20: chance explains that in 1 of 566.
    assert_eq!(gate.outcome(), RegressionOutcome::Failed);
}

#[test]
fn the_error_rate_of_failed_requests_is_shared_among_all_loads() {
    let is_worse = |loads: usize| {
        let plan = plan(loads);
        let mut gate = Gate::new(&plan);
        let side = |failed: u64| {
            let window = || LoadResult { scheduled: 10_000, ok: 10_000 - failed, ..result(None, 1_000.0) };
            BlockSide { windows: (0..loads).map(|_| vec![window()]).collect(), ..BlockSide::default() }
        };
        for _ in 0..4 {
            add(&mut gate, [side(100), side(119), side(100)]);
        }
        gate.failures.iter().any(|failures| failures.is_worse)
    };
    // 1.00 % and 1.19 % differ by 3.0 standard errors; the limits are 2.8 for one load and 3.3 for six.
    assert!(is_worse(1) && !is_worse(6));
}

#[test]
fn requests_that_a_disturbed_generator_lost_are_no_failures_of_the_candidate() {
    let plan = plan(1);
    let failed = |censored: u64, bad_status: u64| {
        let mut gate = Gate::new(&plan);
        let side = |censored: u64, bad_status: u64| {
            let ok = 10_000 - censored - bad_status;
            let mut window = LoadResult { ok, censored, ..result(Some(500.0), 500.0) };
            window.verdicts.push(invalid("generator_descheduled", Blame::Environment));
            BlockSide { windows: vec![vec![window]], ..BlockSide::default() }
        };
        for _ in 0..4 {
            add(&mut gate, [side(0, 0), side(censored, bad_status), side(0, 0)]);
        }
        (gate.failures[0].candidate_failed, gate.failures[0].is_worse)
    };
    assert_eq!(failed(2_000, 0), (0, false));
    assert_eq!(failed(2_000, 50), (200, true), "the server answered these");
}

#[test]
fn a_candidate_that_stops_answering_fails() {
    let plan = plan(1);
    let mut gate = Gate::new(&plan);
    let side = |is_dead: bool| {
        let mut window = result(None, 1_000.0);
        if is_dead {
            window.verdicts.push(invalid("stopped_answering", Blame::Server));
        }
        BlockSide { windows: vec![vec![window]], ..BlockSide::default() }
    };
    for _ in 0..4 {
        add(&mut gate, [side(false), side(true), side(false)]);
    }
    assert_eq!(gate.outcome(), RegressionOutcome::Failed);
    let reason = gate.report(Duration::ZERO, None, RegressionOutcome::Failed).reason;
    assert!(reason.contains("4 of 4 windows are invalid by the server's fault"), "{reason}");
}

#[test]
fn a_disturbed_window_counts_only_for_cpu_time() {
    let mut bench = SimulatedBench { disturbed: 3, ..SimulatedBench::new(1.0, 0.01, 3) };
    let report = gate(&mut bench);
    assert_eq!((report.outcome, report.disturbed_windows, bench.waited), (RegressionOutcome::Passed, 9, 3));
    assert_eq!(report.metrics[0].blocks, 4, "{report:?}");
    let mut bench = SimulatedBench { disturbed: 1_000, ..SimulatedBench::new(1.0, 0.01, 3) };
    let report = gate(&mut bench);
    assert_eq!(report.outcome, RegressionOutcome::Undecided);
    assert!(report.elapsed_s <= report.budget_s && report.metrics.is_empty(), "{report:?}");
    assert!(report.reason.contains("generator_descheduled"), "{report:?}");
    let cpu = |cpu_s: f64| {
        let mut window = result(None, 1_000.0);
        window.verdicts.push(invalid("generator_descheduled", Blame::Environment));
        window.server = Some(LoadServerUse { cpu_s, ..LoadServerUse::default() });
        BlockSide { windows: vec![vec![window]], ..BlockSide::default() }
    };
    let mut plan = plan(1);
    plan.loads[0].metrics.push(of_all(ComparedMetric::ServerCpuNsPerRequest));
    let mut cells = Cells::new(&plan);
    for scatter in [0.000, 0.002, 0.001, 0.003] {
        cells.add(&[cpu(1.0), cpu(1.3 + scatter), cpu(1.0 + scatter)]);
    }
    cells.look();
    assert!(cells.any_worse(), "{:?}", cells.reports());
}

#[test]
fn repeated_and_delayed_windows_are_reported_only_if_there_were_any() {
    let shown = |moved: Option<MovedCores>| {
        let report = gate(&mut SimulatedBench { moved, ..SimulatedBench::new(1.0, 0.01, 3) });
        let markdown = regression_markdown(&report).to_string();
        [regression_text(&report), markdown, serde_json::to_string(&report).unwrap()]
    };
    for text in shown(None) {
        assert!(!text.contains("moved"), "{text}");
    }
    let [text, markdown, json] = shown(Some(MovedCores { repeated_windows: 3, waited_s: 12.3 }));
    let sentence = "3 windows were repeated, and the gate waited 12.3 s.";
    assert!(text.contains(sentence) && markdown.contains("3 windows were repeated"), "{text}\n{markdown}");
    assert!(json.contains("\"moved_cores\":{\"repeated_windows\":3,\"waited_s\":12.3}"), "{json}");
    let [text, ..] = shown(Some(MovedCores { repeated_windows: 0, waited_s: 0.4 }));
    assert!(text.contains("virtual machine: the gate waited 0.4 s.") && !text.contains("repeated"), "{text}");
}

#[test]
fn an_undecided_gate_names_the_smallest_loss_that_it_could_have_proven() {
    let report = gate(&mut SimulatedBench::new(0.95, 0.3, 4));
    assert_eq!(report.outcome, RegressionOutcome::Undecided);
    assert!(report.reason.starts_with("too noisy: after 20 blocks in 3 min 20 s"), "{}", report.reason);
    let detectable = report.metrics[0].detectable_loss;
    assert!((0.1..0.5).contains(&detectable), "{detectable}");
}

#[test]
fn an_undecided_gate_names_metrics_that_could_not_be_measured() {
    let mut plan = plan(1);
    plan.judge = JudgeRule::All;
    plan.launch = vec![of_all(ComparedMetric::RssBytes)];
    // The simulation has no memory.
    let report = run_regression(&mut SimulatedBench::new(1.0, 0.01, 3), &plan, &mut |_| {}).unwrap();
    assert_eq!(report.outcome, RegressionOutcome::Undecided);
    let expected = "not measured in at least 4 of 20 blocks in 3 min 20 s: memory";
    assert_eq!(report.reason, expected);
    plan.launch.clear();
    plan.judge = JudgeRule::Quietest;
    plan.loads[0].metrics.push(of_all(ComparedMetric::ServerCpuNsPerRequest));
    let mut gate = Gate::new(&plan);
    assert_eq!(gate.cells.untested(), ["rate of load 0", "cpu of load 0"]);
    let mut bench = SimulatedBench::new(1.0, 0.01, 3);
    (0..4).for_each(|number| add(&mut gate, bench.block(number).unwrap()));
    assert!(gate.cells.untested().is_empty(), "the other metric judges this load");
}

#[test]
fn junit_of_a_gate_without_an_outcome_has_a_skipped_test_case() {
    let plan = plan(1);
    let mut gate = Gate::new(&plan);
    for outcome in [RegressionOutcome::Undecided, RegressionOutcome::Interrupted] {
        let junit = regression_junit(&gate.report(Duration::ZERO, None, outcome)).to_string();
        let head = "tests=\"2\" failures=\"0\" skipped=\"1\"";
        assert!(junit.contains(head) && junit.contains("name=\"gate\"><skipped message="), "{junit}");
    }
    let failing = LoadResult { ok: 0, ..result(None, 1_000.0) };
    let side =
        |window: &LoadResult| BlockSide { windows: vec![vec![window.clone()]], ..BlockSide::default() };
    let good = result(None, 1_000.0);
    add(&mut gate, [side(&good), side(&failing), side(&good)]);
    let report = gate.report(Duration::ZERO, None, gate.outcome());
    let junit = regression_junit(&report).to_string();
    assert!(report.outcome == RegressionOutcome::Undecided && !junit.contains("<failure"), "{junit}");
}

#[test]
fn the_time_of_one_request_of_a_mix_can_fail_a_gate() {
    let of_step = |step: &str| {
        let mut plan = plan(1);
        let metric = ComparedMetric::ServiceTimeNsP99;
        plan.loads[0].metrics = vec![GateMetric { step: Some(step.to_owned()), ..of_all(metric) }];
        let window = |name: &str, p99: u64, scatter: u64| {
            let time_ns = Some(TimeSummary { mean: 1e6, p50: 1_000_000, p99: p99 + scatter, max: 9_000_000 });
            RequestSummary { name: name.to_owned(), scheduled: 100, failed: 0, time_ns }
        };
        let mut gate = Gate::new(&plan);
        for scatter in [0, 2_000, 1_000, 3_000] {
            let side = |login_ns: u64, scatter: u64| {
                let mut whole = result(None, 1_000.0);
                whole.by_request =
                    vec![window("log in", login_ns, scatter), window("list", 2_000_000, scatter)];
                BlockSide { windows: vec![vec![whole]], ..BlockSide::default() }
            };
            add(
                &mut gate,
                [
                    side(2_000_000, scatter),
                    side(2_400_000, 7 * scatter % 5_000),
                    side(2_000_000, 3_000 - scatter),
                ],
            );
        }
        gate.report(Duration::ZERO, None, gate.outcome())
    };
    let report = of_step("login");
    assert_eq!(report.outcome, RegressionOutcome::Failed);
    assert!(report.reason.starts_with("step(login).p99 of load 0 changed by +"), "{}", report.reason);
    assert_eq!(report.metrics[0].step.as_deref(), Some("login"));
    assert!(regression_markdown(&report).to_string().contains("step(login).p99"));
    assert_eq!(of_step("list").outcome, RegressionOutcome::Passed, "the other request is not slower");
    assert_eq!(of_step("logout").metrics, [], "there is no such request");
    let one = result(None, 1_000.0);
    assert_eq!(one.step_time_ns("any"), one.service_time_ns, "a load of one request has no parts");
    assert_eq!(result(Some(500.0), 500.0).step_time_ns("any").unwrap().p99, 2_000_000);
}

#[test]
fn the_judge_is_the_metric_with_the_least_noise() {
    let mut two = plan(1);
    two.loads[0].metrics.push(of_all(ComparedMetric::ServiceTimeNsP50));
    // The service time of the simulation is constant.
    let report = run_regression(&mut SimulatedBench::new(1.0, 0.3, 5), &two, &mut |_| {}).unwrap();
    let judges: Vec<bool> = report.metrics.iter().map(|cell| cell.is_judge).collect();
    assert_eq!((judges, report.outcome), (vec![false, true], RegressionOutcome::Passed));
    two.judge = JudgeRule::All;
    let report = run_regression(&mut SimulatedBench::new(1.0, 0.3, 5), &two, &mut |_| {}).unwrap();
    assert_eq!(report.outcome, RegressionOutcome::Undecided);
}

#[test]
fn every_format_has_the_outcome_and_escapes_names() {
    let mut report = gate(&mut SimulatedBench::new(0.8, 0.02, 3));
    report.base = "<b>|x".to_owned();
    let text = regression_text(&report);
    assert!(text.starts_with("Performance gate failed: rate of load 0 changed by -1"), "{text}");
    let markdown = regression_markdown(&report).to_string();
    assert!(
        markdown.contains("| load 0 | rate\\* |") || markdown.contains("| load 0 | rate* |"),
        "{markdown}"
    );
    assert!(markdown.contains("&lt;b&gt;\\|x"), "{markdown}");
    let junit = regression_junit(&report).to_string();
    assert!(junit.contains("tests=\"2\" failures=\"1\"") && junit.contains("&lt;b&gt;"), "{junit}");
    let page = regression_html(&report).to_string();
    assert!(page.contains("<tr class=\"worse\">") && !page.contains("<b>|x"), "{page}");
    assert!(!page.contains("<svg"), "{page}");
    let grown = paceline_report::FunctionChange {
        name: "<b>parse".to_owned(),
        shares: [0.25, 0.5],
        cpu_ns_per_request: None,
        change: 0.25,
    };
    let difference = Some(paceline_escape::html!("<svg></svg>"));
    report.profile =
        Some(RegressionProfile { grown: vec![grown], difference, ..RegressionProfile::default() });
    let page = regression_html(&report).to_string();
    assert!(page.contains("<svg></svg>") && page.contains("&lt;b&gt;parse: 25.0 % before"), "{page}");
    assert!(regression_text(&report).contains("\n  <b>parse: 25.0 % before, 50.0 % after"));
    report.profile = None;
    let annotation = regression_annotations(&report);
    assert!(annotation.starts_with("::error title=Performance gate failed::rate of load 0"), "{annotation}");
    assert!(annotation.contains("%25") && !annotation.trim_end().contains('\n'), "{annotation}");
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<RegressionReport>(&json).unwrap(), report);
}

#[test]
fn the_schema_of_a_report_is_published() {
    let current = format!("{:#}\n", paceline_record::schema_of::<RegressionReport>());
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/gate.schema.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == current,
        "docs/schema/gate.schema.json: UPDATE=1 cargo test -p paceline-experiment schema"
    );
}
