//! A run as a page shows it: with its trial where it has one, its percentile curves, its seconds and its heat map.
//!
//! Histograms become curves and cells here, so that the browser draws and computes nothing.

use super::explanation::{self, Explanation};
use super::heat::Heat;
use super::round::ServerEntry;
use super::series::{self, Stretch, UsagePoint};
use paceline_judge::{SAMPLES_FOR_INTERVAL, judged_times};
use paceline_record::{
    Bytes, Censored, Connections, CoreTime, Counts, DatabaseUse, Environment, Fault, FoundCapacity,
    GateOutcome, Generator, Load, Loop, Pace, Phases, Pinning, Rates, RequestPart, Run, SessionPart, Startup,
    Target, TimeKind, Times, Tool, Trial, Usage, Validation, Verdict,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Points of a percentile curve for each halving of the distance to 100 %.
const STEPS_PER_HALF: u32 = 5;
/// Characters of a server's log that are shown: its end.
const LOG_TAIL: usize = 16_000;

/// Everything about one run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunPage {
    /// The trial's id, or the run's where there is no trial.
    pub id: String,
    /// The conditions it ran under; none for a run outside a round.
    pub trial: Option<TrialFacts>,
    /// What the generator measured; none where it left nothing.
    pub measured: Option<Measured>,
    /// The command that repeats it.
    pub command: String,
    /// Wall-clock start, RFC 3339, UTC.
    pub started_at: String,
    /// Why a number may not mean what it seems to.
    pub verdicts: Vec<Verdict>,
    /// What each of them means.
    pub explanations: BTreeMap<String, Explanation>,
}

/// What a trial adds to a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TrialFacts {
    /// The round it belongs to.
    pub round: String,
    /// What was under test.
    pub server: ServerEntry,
    /// `single` or `cores`.
    pub form: String,
    /// The workload.
    pub workload: String,
    /// The load asked for.
    pub load: Load,
    /// The start of the server it ran against.
    pub launch: String,
    /// The sitting.
    pub sitting: String,
    /// Which repeat of its cell it counts as, from 0.
    pub repeat: u32,
    /// Which process was allowed where.
    pub pinning: Pinning,
    /// How the server started.
    pub startup: Option<Startup>,
    /// What a search for the capacity found.
    pub capacity: Option<FoundCapacity>,
    /// What became of the database.
    pub database: Option<DatabaseUse>,
    /// What the server cost over the window.
    pub usage: Option<Usage>,
    /// CPU and memory of the server over time.
    pub samples: Vec<UsagePoint>,
    /// Time of every core over the window.
    pub cores: Vec<CoreTime>,
    /// The responses checked before the load.
    pub validation: Option<Validation>,
    /// The end of what the server printed.
    pub log_tail: String,
    /// Why there is no usable run.
    pub error: Option<Fault>,
}

/// What the generator measured.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Measured {
    /// What measured.
    pub tool: Tool,
    /// What was measured.
    pub target: Target,
    /// The shape of the load.
    #[serde(rename = "loop")]
    pub loop_: Loop,
    /// How the generator waited for the next send.
    pub pace: Pace,
    /// The seed of every random choice, as text: JavaScript's numbers are too short for it.
    pub seed: String,
    /// When a request timed out, after its actual send.
    pub timeout_ns: u64,
    /// When each phase was, from the start of the run.
    pub phases: Phases,
    /// Length of the window, in seconds.
    pub window_s: f64,
    /// Whether it was stopped before its planned end.
    pub stopped: bool,
    /// Rates over the window.
    pub rate_per_s: Rates,
    /// Whether the achieved rate is a minimum, because the generator was the bottleneck or was disturbed.
    pub rate_is_minimum: bool,
    /// The seconds in which pauses of the server ended, that of the longest first.
    pub pauses_at_s: Vec<f64>,
    /// How the window's requests ended.
    pub counts: Counts,
    /// Responses by status code.
    pub status: BTreeMap<String, u64>,
    /// Bytes moved.
    pub bytes: Bytes,
    /// Connections asked for and had.
    pub connections: Connections,
    /// What the generator itself cost.
    pub generator: Generator,
    /// The machine.
    pub environment: Environment,
    /// Each distribution of times that was recorded.
    pub times: Vec<TimesPage>,
    /// What ended in each second.
    pub seconds: Vec<Stretch>,
    /// Times over time, where the record has the histograms of its seconds.
    pub heat: Option<Heat>,
    /// Requests whose response was never seen.
    pub censored: Option<Censored>,
    /// The job as TOML, with the seed of the run; secrets are masked. `paceline run --job` repeats it.
    pub job: Option<String>,
    /// How each gate came out.
    pub gates: Vec<GatePage>,
    /// Sessions that began in a second; open loop of sessions.
    pub sessions_offered_per_s: Option<f64>,
    /// Each session of the request file.
    pub sessions: Vec<SessionRow>,
    /// Each request of a mix, and each step of a session.
    pub requests: Vec<RequestRow>,
}

/// A requested limit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GatePage {
    /// The expression.
    pub gate: String,
    /// Whether it passed.
    pub passed: bool,
    /// The figure by which it was judged, and why it did not pass.
    pub words: String,
}

/// The sessions of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SessionRow {
    /// Its name in the request file.
    pub name: String,
    /// Those that began.
    pub started: u64,
    /// Those whose last step was answered as expected.
    pub completed: u64,
    /// Those with a failed step.
    pub failed: u64,
    /// Those that the end of the run interrupted.
    pub unfinished: u64,
    /// Their times, in nanoseconds.
    pub times: Option<RowTimes>,
}

/// The requests of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RequestRow {
    /// Its name in the request file.
    pub name: String,
    /// Those that were due.
    pub scheduled: u64,
    /// Those that did not get a valid response.
    pub not_ok: u64,
    /// Their response times (closed loop: service times), in nanoseconds.
    pub times: Option<RowTimes>,
}

/// Percentiles of a row, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RowTimes {
    /// The median.
    pub p50: u64,
    /// 99 % were at or below it.
    pub p99: u64,
    /// The exact highest.
    pub max: u64,
}

impl From<&Times> for RowTimes {
    fn from(times: &Times) -> Self {
        Self { p50: times.p50, p99: times.p99, max: times.max }
    }
}

/// A distribution of times, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimesPage {
    /// `response_time`, `service_time` and so on.
    pub id: &'static str,
    /// Its name.
    pub name: String,
    /// What it is.
    pub definition: String,
    /// Count, percentiles and extremes; the histogram is left out.
    #[serde(flatten)]
    pub times: Times,
    /// The percentile curve: 1/(1 - p), and the time.
    pub curve: Vec<(f64, u64)>,
    /// Up to which 1/(1 - p) there were samples enough for a 95 % interval of order statistics.
    pub reliable_to: f64,
}

impl RunPage {
    /// The page of a trial.
    pub fn of_trial(trial: &Trial) -> Self {
        let of_run = trial.run.iter().flat_map(|run| run.verdicts.clone());
        let mut verdicts: Vec<Verdict> = of_run.chain(trial.verdicts.clone()).collect();
        verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.severity));
        Self {
            id: trial.id.clone(),
            command: trial.run.as_ref().map_or_else(|| command(&trial.generator_argv), run_command),
            started_at: trial.started_at.clone(),
            explanations: explanations(&verdicts),
            verdicts,
            measured: trial.run.as_ref().map(Measured::from_run),
            trial: Some(TrialFacts::from_trial(trial)),
        }
    }

    /// The page of a run outside a round.
    pub fn of_run(run: &Run) -> Self {
        let mut verdicts = run.verdicts.clone();
        verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.severity));
        Self {
            id: run.id.clone(),
            trial: None,
            command: run_command(run),
            started_at: run.started_at.clone(),
            explanations: explanations(&verdicts),
            verdicts,
            measured: Some(Measured::from_run(run)),
        }
    }
}

impl TrialFacts {
    fn from_trial(trial: &Trial) -> Self {
        let skipped = trial.log_tail.chars().count().saturating_sub(LOG_TAIL);
        Self {
            round: trial.round.clone(),
            server: ServerEntry::from(&trial.server),
            form: trial.form.clone(),
            workload: trial.workload.clone(),
            load: trial.load.clone(),
            launch: trial.launch.clone(),
            sitting: trial.sitting.clone(),
            repeat: trial.repeat,
            pinning: trial.pinning.clone(),
            startup: trial.startup.clone(),
            capacity: trial.capacity.clone(),
            database: trial.database.clone(),
            usage: trial.usage.clone(),
            samples: series::usage(&trial.samples),
            cores: trial.cores.clone(),
            validation: trial.validation.clone(),
            log_tail: trial.log_tail.chars().skip(skipped).collect(),
            error: trial.error.clone(),
        }
    }
}

impl Measured {
    fn from_run(run: &Run) -> Self {
        let total = &run.total;
        Self {
            tool: run.tool.clone(),
            target: run.target.clone(),
            loop_: run.loop_.clone(),
            pace: run.pace,
            seed: run.seed.to_string(),
            timeout_ns: run.timeout_ns,
            phases: run.phases,
            window_s: run.window_s,
            stopped: run.stopped,
            rate_per_s: run.rate_per_s,
            rate_is_minimum: paceline_report::rate_is_minimum(run),
            pauses_at_s: series::pauses(run),
            counts: total.counts,
            status: total.status.clone(),
            bytes: total.bytes,
            connections: run.connections.clone(),
            generator: run.generator.clone(),
            environment: run.environment.clone(),
            times: distributions(total),
            seconds: series::seconds(run),
            heat: Heat::from_run(run),
            censored: total.censored,
            job: run.job.as_ref().map(|job| {
                let mut job = job.masked();
                job.seed = Some(run.seed);
                job.to_toml()
            }),
            gates: run.gates.iter().map(gate).collect(),
            sessions_offered_per_s: run.loop_.sessions_offered_per_s,
            sessions: run.sessions.iter().flatten().map(session_row).collect(),
            requests: run.by_request.iter().flatten().map(|part| request_row(part, run)).collect(),
        }
    }
}

fn gate(outcome: &GateOutcome) -> GatePage {
    let words = paceline_report::gate_words(outcome);
    GatePage { gate: outcome.gate.clone(), passed: outcome.passed, words }
}

fn session_row(part: &SessionPart) -> SessionRow {
    let times = part.session_time_ns.as_ref().map(RowTimes::from);
    let SessionPart { name, started, completed, failed, unfinished, .. } = part.clone();
    SessionRow { name, started, completed, failed, unfinished, times }
}

fn request_row(part: &RequestPart, run: &Run) -> RequestRow {
    let counts = part.block.counts;
    let times = judged_times(&part.block, run.loop_.kind).map(RowTimes::from);
    RequestRow { name: part.name.clone(), scheduled: counts.scheduled, not_ok: counts.not_ok(), times }
}

/// Every distribution of a block that has values, the one to judge by first.
fn distributions(block: &paceline_record::Block) -> Vec<TimesPage> {
    block.distributions().filter(|(_, times)| times.count > 0).map(TimesPage::new).collect()
}

impl TimesPage {
    fn new((kind, times): (TimeKind, &Times)) -> Self {
        Self {
            id: kind.id(),
            name: kind.title(),
            definition: kind.definition().replace('`', ""),
            times: Times { histogram: String::new(), ..times.clone() },
            curve: curve(times),
            reliable_to: times.count as f64 / SAMPLES_FOR_INTERVAL,
        }
    }
}

/// The percentile curve: from the histogram, or from the percentiles that are stored where it was left out.
fn curve(times: &Times) -> Vec<(f64, u64)> {
    let end = times.count as f64;
    let histogram = (!times.histogram.is_empty()).then(|| times.decode().ok()).flatten();
    let Some(histogram) = histogram else {
        let stored =
            [(1.0, times.min), (2.0, times.p50), (4.0, times.p75), (10.0, times.p90), (20.0, times.p95)];
        let tail = [(100.0, times.p99), (1_000.0, times.p99_9), (10_000.0, times.p99_99)];
        let points = stored.into_iter().chain(tail).filter(|(x, _)| *x < end);
        return points.chain([(end.max(1.0), times.max)]).collect();
    };
    let points = histogram.spectrum(STEPS_PER_HALF).into_iter().map(|step| {
        let x = if step.quantile < 1.0 { 1.0 / (1.0 - step.quantile) } else { end };
        (x.min(end), step.value)
    });
    let mut curve: Vec<(f64, u64)> = Vec::new();
    for (x, time) in points {
        match curve.last_mut() {
            // Beyond the number of samples every level is the maximum.
            Some(last) if x <= last.0 => last.1 = last.1.max(time),
            _ => curve.push((round(x), time)),
        }
    }
    curve
}

/// To five significant digits: a curve is drawn, not computed with.
fn round(x: f64) -> f64 {
    let scale = 10f64.powi(4 - x.abs().max(1e-9).log10().floor() as i32);
    (x * scale).round() / scale
}

fn explanations(verdicts: &[Verdict]) -> BTreeMap<String, Explanation> {
    explanation::explanations(|name| verdicts.iter().any(|verdict| verdict.name == name))
}

/// The command line of a run, with the cores that it was restricted to and its seed, without its output files.
fn run_command(run: &Run) -> String {
    let mut argv = without_outputs(&run.argv);
    let is_run = argv.get(1).is_some_and(|word| word == "run");
    if is_run && !argv.iter().any(|word| word == "--seed" || word.starts_with("--seed=")) {
        argv.extend(["--seed".to_owned(), run.seed.to_string()]);
    }
    pinned(command(&argv), &run.generator.cores, run.environment.cores)
}

/// Flags of `paceline run` that name a file to write.
const OUTPUT_FLAGS: [&str; 5] = ["-o", "--output", "--csv", "--ndjson", "--hdr"];

/// A command line without its output files: repeating a run must not overwrite them.
fn without_outputs(argv: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = argv.iter();
    while let Some(word) = words.next() {
        let (flag, value) =
            word.split_once('=').map_or((word.as_str(), None), |(flag, value)| (flag, Some(value)));
        match (OUTPUT_FLAGS.contains(&flag), value) {
            (true, None) => drop(words.next()),
            (true, Some(_)) => {}
            (false, _) => kept.push(word.clone()),
        }
    }
    kept
}

/// A command that is restricted to the same cores, if they are not all.
fn pinned(command: String, cores: &[u32], online: u32) -> String {
    if cores.is_empty() || cores.len() >= online as usize {
        return command;
    }
    let cores: Vec<String> = cores.iter().map(u32::to_string).collect();
    format!("taskset -c {} {command}", cores.join(","))
}

/// A command line that a shell takes, each word quoted where it has to be.
fn command(argv: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let quoted = argv.iter().map(|word| match word {
        word if !word.is_empty() && word.chars().all(plain) => word.clone(),
        word => format!("'{}'", word.replace('\'', r"'\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_stats::Histogram;

    #[test]
    fn a_command_is_quoted_for_a_shell() {
        let argv = ["paceline", "run", "http://h/?a=b&c", "-H", "X: it's"].map(str::to_owned);
        assert_eq!(command(&argv), r"paceline run 'http://h/?a=b&c' -H 'X: it'\''s'");
    }

    #[test]
    fn the_command_writes_no_files() {
        let argv = "paceline run http://h/ -o a.html --output=b.json -c 2 --output c --csv s.csv --ndjson=s --hdr h.hlog";
        let kept = without_outputs(&argv.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(kept, ["paceline", "run", "http://h/", "-c", "2"]);
    }

    #[test]
    fn the_command_of_a_pinned_run_pins_again() {
        let pinned = |cores: &[u32]| pinned("paceline run".to_owned(), cores, 4);
        assert_eq!(pinned(&[1, 3]), "taskset -c 1,3 paceline run");
        assert_eq!(
            (pinned(&[0, 1, 2, 3]), pinned(&[])),
            ("paceline run".to_owned(), "paceline run".to_owned())
        );
    }

    #[test]
    fn a_curve_rises_to_the_maximum_at_the_number_of_samples() {
        let mut histogram = Histogram::new();
        (1..=10_000).for_each(|value| histogram.record(value * 1_000));
        let mut times = Times::from_histogram(&histogram);
        for _ in 0..2 {
            let curve = curve(&times);
            assert!(
                curve.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1),
                "{curve:?}"
            );
            assert_eq!(curve.last(), Some(&(10_000.0, 10_000_000)));
            let median = curve.iter().find(|(x, _)| *x == 2.0).unwrap().1 as f64;
            assert!((median / 5_000_000.0 - 1.0).abs() < 0.01);
            // The same from stored percentiles alone.
            times.histogram.clear();
        }
    }

    #[test]
    fn numbers_are_rounded_to_five_digits() {
        assert_eq!((round(1.0), round(3.333_333), round(123_456.7)), (1.0, 3.3333, 123_460.0));
    }
}
