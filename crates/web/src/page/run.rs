//! A run as a page shows it: with its trial where it has one, its percentile curves, its seconds and its heat map.
//!
//! Histograms become curves and cells here, so that the browser draws and computes nothing.

use super::explanation::{self, Explanation};
use super::heat::Heat;
use super::series::{self, MetricLine, Stretch, UsagePoint};
use paceline_escape::shell_line;
use paceline_judge::{CpuPart, SAMPLES_FOR_INTERVAL, cpu_parts_of_run, cpu_parts_of_trial};
use paceline_record::{PackageEnergy, Run, Segment, TimeKind, Times, Trial, Verdict};
use paceline_report::{RunTextOptions, energy_words, run_text, unix_sockets_words};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Points of a percentile curve for each halving of the distance to 100 %.
const STEPS_PER_HALF: u32 = 5;
/// The report as a terminal of this width shows it.
const AS_TEXT: RunTextOptions = RunTextOptions { colour: false, width: 100, full: false, time_unit: None };
/// Share of the samples from which on a call is drawn: about a pixel.
const MIN_CALL_SHARE: f64 = 0.001;
/// Characters of a server's log that are shown: its end.
const LOG_TAIL: usize = 16_000;

/// Everything about one run: its record, without the parts that pages do not show, and what follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunPage {
    /// The trial's id, or the run's where there is no trial.
    pub id: String,
    /// The trial with its conditions, without its run and samples; none for a run outside a round.
    pub trial: Option<Trial>,
    /// CPU and memory of the server over time.
    pub usage_points: Vec<UsagePoint>,
    /// The CPU time of a request by where it was spent; empty where that is not known.
    pub cpu_parts: Vec<CpuPartPage>,
    /// What else is known of the server, by name and in words: energy, and Unix sockets to services behind it.
    pub server_facts: Vec<(&'static str, String)>,
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

/// What the generator measured, and what follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Measured {
    /// The record without intervals and histograms.
    #[serde(flatten)]
    pub run: Run,
    /// The seed as text: JavaScript's numbers are too short for it.
    pub seed_text: String,
    /// Whether the achieved rate is a minimum, because the generator was the bottleneck or was disturbed.
    pub rate_is_minimum: bool,
    /// The seconds in which pauses of the server ended, that of the longest first.
    pub pauses_at_s: Vec<f64>,
    /// Each distribution of times that was recorded.
    pub times: Vec<TimesPage>,
    /// The achieved rate of each segment.
    pub segments_per_s: Vec<f64>,
    /// What ended in each second.
    pub seconds: Vec<Stretch>,
    /// The series that the server published and that changed.
    pub metric_lines: Vec<MetricLine>,
    /// CPU and memory of the generator over time; its CPU time includes spinning.
    pub generator_points: Vec<UsagePoint>,
    /// Times over time, where the record has the histograms of its seconds.
    pub heat: Option<Heat>,
    /// For each gate, the figure by which it was judged, and why it did not pass.
    pub gate_words: Vec<String>,
    /// The report that a terminal shows of it.
    pub text: String,
}

/// A part of the CPU time of a request.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CpuPartPage {
    /// Its name: user, kernel, interrupts, and the database or what else is behind the server.
    pub name: &'static str,
    /// CPU time per request, in nanoseconds.
    pub ns_per_request: f64,
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
        let skipped = trial.log_tail.chars().count().saturating_sub(LOG_TAIL);
        let shown = Trial {
            run: None,
            samples: Vec::new(),
            log_tail: trial.log_tail.chars().skip(skipped).collect(),
            ..trial.clone()
        };
        Self {
            id: trial.id.clone(),
            command: trial.run.as_ref().map_or_else(|| shell_line(&trial.generator_argv), run_command),
            started_at: trial.started_at.clone(),
            usage_points: series::usage_of_trial(&trial.samples),
            cpu_parts: cpu_parts(cpu_parts_of_trial(trial)),
            server_facts: server_facts(trial.energy, trial.run.as_ref()),
            trial: Some(shown),
            ..Self::new(trial.run.as_ref(), of_run.chain(trial.verdicts.clone()).collect())
        }
    }

    /// The page of a run outside a round.
    pub fn of_run(run: &Run) -> Self {
        Self {
            id: run.id.clone(),
            command: run_command(run),
            started_at: run.started_at.clone(),
            usage_points: series::usage(&run.server_samples),
            cpu_parts: cpu_parts(cpu_parts_of_run(run)),
            server_facts: server_facts(run.energy, Some(run)),
            ..Self::new(Some(run), run.verdicts.clone())
        }
    }

    fn new(run: Option<&Run>, mut verdicts: Vec<Verdict>) -> Self {
        verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.severity));
        Self {
            id: String::new(),
            trial: None,
            usage_points: Vec::new(),
            cpu_parts: Vec::new(),
            server_facts: Vec::new(),
            measured: run.map(Measured::from_run),
            command: String::new(),
            started_at: String::new(),
            explanations: explanations(&verdicts),
            verdicts,
        }
    }
}

impl Measured {
    fn from_run(run: &Run) -> Self {
        Self {
            seed_text: run.seed.to_string(),
            rate_is_minimum: paceline_report::rate_is_minimum(run),
            segments_per_s: run.by_segment.iter().flatten().map(Segment::achieved_per_s).collect(),
            pauses_at_s: series::pauses(run),
            times: distributions(&run.total),
            seconds: series::seconds(run),
            metric_lines: series::metric_lines(run),
            generator_points: series::usage(&run.generator_samples),
            heat: Heat::from_run(run),
            gate_words: run.gates.iter().map(paceline_report::gate_words).collect(),
            text: run_text(run, AS_TEXT).to_string(),
            run: shown(run),
        }
    }
}

/// The parts that are known.
fn cpu_parts(parts: Option<[CpuPart; 4]>) -> Vec<CpuPartPage> {
    let page = |part: CpuPart| {
        part.ns_per_request.map(|ns_per_request| CpuPartPage { name: part.name, ns_per_request })
    };
    parts.into_iter().flatten().filter_map(page).collect()
}

/// Energy and sockets as the terminal words them. The energy of a trial is the trial's, not its run's.
fn server_facts(energy: Option<PackageEnergy>, run: Option<&Run>) -> Vec<(&'static str, String)> {
    let sockets = run.map_or(&[] as &[String], |run| run.unix_sockets.as_slice());
    let facts = [
        ("energy", energy.as_ref().map(energy_words).unwrap_or_default()),
        ("Unix sockets", unix_sockets_words(sockets)),
    ];
    facts.into_iter().filter(|(_, words)| !words.is_empty()).collect()
}

/// The record without the parts that pages show in another form: intervals, histograms, and the job, which is in the
/// command.
fn shown(run: &Run) -> Run {
    let mut shown = Run {
        intervals: Vec::new(),
        server_samples: Vec::new(),
        generator_samples: Vec::new(),
        job: None,
        ..run.clone()
    };
    if let Some(profile) = &mut shown.profile {
        let least = (profile.samples as f64 * MIN_CALL_SHARE).ceil() as u64;
        profile.calls.retain(|call| call.samples >= least);
    }
    // They are in the lines.
    shown.server_metrics.iter_mut().for_each(|metrics| (metrics.at_ns, metrics.series) = Default::default());
    let segments = shown.by_segment.iter_mut().flatten().map(|segment| &mut segment.block);
    let requests = shown.by_request.iter_mut().flatten().map(|part| &mut part.block);
    for block in std::iter::once(&mut shown.total).chain(segments).chain(requests) {
        for kind in TimeKind::ALL {
            block.times_mut(kind).iter_mut().for_each(|times| times.histogram.clear());
        }
    }
    let sessions = shown.sessions.iter_mut().flatten();
    sessions.filter_map(|part| part.session_time_ns.as_mut()).for_each(|times| times.histogram.clear());
    shown
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

/// The command that repeats a run on the same cores: with its job, or in records without one as it was given.
fn run_command(run: &Run) -> String {
    let words = || shell_line(&run.argv);
    let repeats = run.repeated_job().map_or_else(words, |job| job.to_command());
    pinned(repeats, &run.generator.cores, run.environment.cores)
}

/// A command that is restricted to the same cores, if they are not all.
fn pinned(command: String, cores: &[u32], online: u32) -> String {
    if cores.is_empty() || cores.len() >= online as usize {
        return command;
    }
    let cores: Vec<String> = cores.iter().map(u32::to_string).collect();
    format!("taskset -c {} {command}", cores.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_stats::Histogram;

    #[test]
    fn a_page_has_the_known_parts_of_the_cpu_time() {
        let mut run = paceline_record::fixture::run(0);
        let mut server = paceline_record::fixture::server_use(1, 2.0);
        (server.user_s, server.system_s) = (Some(0.5), Some(1.5));
        run.server = Some(server);
        let names = |run: &Run| -> Vec<&'static str> {
            RunPage::of_run(run).cpu_parts.iter().map(|part| part.name).collect()
        };
        assert_eq!(names(&run), ["user", "kernel"]);
        run.server = None;
        assert!(names(&run).is_empty());
    }

    #[test]
    fn a_page_has_the_energy_and_the_sockets_of_a_server() {
        let mut run = paceline_record::fixture::run(0);
        assert!(RunPage::of_run(&run).server_facts.is_empty());
        run.energy =
            Some(PackageEnergy { over_s: 3.0, packages: 2, joules: 96.0, joules_per_request: 0.000_214 });
        run.unix_sockets = vec!["@queue".to_owned()];
        let facts = RunPage::of_run(&run).server_facts;
        let [("energy", energy), ("Unix sockets", sockets)] = facts.as_slice() else { panic!("{facts:?}") };
        assert!(energy.contains("2 CPU packages"), "{energy}");
        assert!(sockets.starts_with("@queue"), "{sockets}");
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
