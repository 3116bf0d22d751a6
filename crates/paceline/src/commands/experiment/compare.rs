//! `paceline compare A B`: is B faster than A, slower, or equivalent?
//!
//! URLs and servers of the lab are measured in adjacent pairs; files hold earlier measurements: the record of a run, or
//! the output of `compare` or `gate --save`. `gate` uses this module.

use super::capacity::percent;
use super::child::LoadFlags;
use super::output::{ResultFlags, ResultFormats};
use super::profiles::{ProfileSource, draw_difference};
use super::{ExperimentContext, ExperimentTarget, OpenTarget, complaint, own_argv, status_of};
use crate::commands::format::Format;
use crate::exit::{self, Complaint, Status};
use paceline_escape::{Printable, TerminalText, markdown};
use paceline_experiment::{
    CapacityPlan, ComparePlan, CompareProgress, ComparedMetric, ComparedSide, Difference, LoadError,
    LoadRequest, LoadResult, LoadRunner as _, LoadServerUse, Objective, PairedComparison, RoundSide,
    SampleSet, compare_html, compare_markdown, compare_rounds, compare_samples, compare_text, find_capacity,
    observe, rounds_markdown, run_comparison,
};
use paceline_host::CpuQuota;
use paceline_record::Round;
use paceline_web::{Records, SingleFilePages, single_file};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest file of results that is read.
pub const MAX_FILE_BYTES: u64 = 1 << 28;

/// Flags of `paceline compare`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  paceline compare http://127.0.0.1:8080/ http://127.0.0.1:8081/
  paceline compare go-nethttp go-fasthttp -r 2000  by CPU per request at 2,000/s
  paceline compare before.json after.json          records of earlier runs
  paceline compare URL_A URL_B -o result.html      a page to share
  paceline compare history/a history/b             two exported rounds, row by row

Exit status: 0 compared (also undecided), 1 a run of a side cannot be used
(as in `paceline run`), 2 usage, 3 environment, 130 interrupted")]
pub struct Arguments {
    /// First side: a URL, a server of the lab, a file or a round
    ///
    /// A server of the lab is named by its id, a file is JSON, a round is the folder of an exported round.
    first: String,
    /// Second side, which is compared with the first
    second: String,
    #[command(flatten)]
    flags: CompareFlags,
    #[command(flatten)]
    output: ResultFlags<CompareFormats>,
    #[command(flatten)]
    load: LoadFlags,
}

/// A metric, and the request of a mix that it is limited to.
pub type MetricOfStep = (ComparedMetric, Option<String>);

/// Flags that `compare` and `gate` share.
#[derive(clap::Args, Clone, Debug)]
pub struct CompareFlags {
    /// Offer this rate instead of a closed loop
    #[arg(short, long, value_name = "PER_SECOND")]
    pub(super) rate: Option<f64>,
    /// Length of the measured window of each run [default: 3s]
    ///
    /// With `gate --base` the default is 1s.
    #[arg(short, long, value_name = "T", value_parser = super::super::run::duration)]
    pub(super) duration: Option<Duration>,
    /// Differences below PERCENT do not matter
    ///
    /// With `gate --base`: the gate fails only if a loss of more than PERCENT is proven, and passes only if such a loss is
    /// excluded.
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT", value_parser = percent)]
    pub(super) margin: f64,
    /// Maximum number of pairs to measure [default: 20]
    ///
    /// The comparison ends after 4, 6, 8, 10, 14 or 20 pairs if the result is then decided.
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = clap::value_parser!(u16).range(4..=20))]
    pairs: Option<u16>,
    /// The metric that decides the comparison: capacity, sessions, rate, cpu, response.p50, response.p99, service.p50,
    /// service.p99, memory or start-up
    ///
    /// With `gate --base` also step(NAME).p50 and step(NAME).p99 of a request of --mix, by its name.
    /// [default: capacity if --slo is given; cpu if --rate is given, or response.p50 if the server's CPU time cannot be
    /// read; sessions if the load has sessions; otherwise rate]. memory and start-up need servers of the lab or, in `compare`, exported rounds.
    #[arg(long, value_name = "METRIC", value_parser = metric)]
    pub(super) metric: Option<MetricOfStep>,
    /// Accept up to this many failed requests in each run: 1% or 10
    ///
    /// A run in which more fail cannot be compared, and fails a gate. Default: at most 1 % in each run, and together no
    /// more than on the other side.
    #[arg(hide_short_help = true, long, value_name = "SHARE|N", value_parser = super::super::run::checked_max_errors, allow_hyphen_values = true)]
    pub(super) max_errors: Option<String>,
    /// Compare with a result of another machine, kernel, CPU quota or version of Paceline
    #[arg(hide_short_help = true, long)]
    pub(super) accept_other_machine: bool,
    /// Also find the highest rate that meets this objective
    ///
    /// Each search takes 14 to 30 windows of --duration.
    #[arg(hide_short_help = true, long, value_name = "OBJECTIVE", value_parser = super::capacity::objective)]
    pub(super) slo: Option<Objective>,
    /// Then profile both sides: differential flame graph (difference.svg)
    ///
    /// The second side's functions: red if one costs more CPU per request than on the first, blue if less. A side that is
    /// a record must have a profile (`paceline run --profile`). With `gate --base`, PATH is a folder, also for the flame
    /// graph of each side [default: that of --html or of the records].
    #[arg(hide_short_help = true, long, value_name = "PATH", num_args = 0..=1, require_equals = true)]
    pub(super) profile: Option<Option<PathBuf>>,
}

impl CompareFlags {
    /// The largest number of pairs.
    fn max_pairs(&self) -> usize {
        usize::from(self.pairs.unwrap_or(20))
    }

    /// The measured window of each run.
    fn window(&self) -> Duration {
        self.duration.unwrap_or(Duration::from_secs(3))
    }

    /// The metric that decides; an error if it is that of one request.
    fn metric_of_all(&self) -> anyhow::Result<Option<ComparedMetric>> {
        match &self.metric {
            Some((metric, Some(step))) => {
                let name = metric.name_of(Some(step));
                Err(Complaint::usage(format!(
                    "--metric {name}: only a gate between two commits has this metric"
                ))
                .hint("use `paceline gate --base REF`, or a metric of all requests")
                .into())
            }
            Some((metric, None)) => Ok(Some(*metric)),
            None => Ok(None),
        }
    }

    /// The flags that are given, but mean nothing to a gate between two revisions.
    pub(super) fn unused_by_revisions(&self) -> impl Iterator<Item = &'static str> {
        let flags = [
            ("--pairs", self.pairs.is_some()),
            ("--accept-other-machine", self.accept_other_machine),
            ("--slo", self.slo.is_some()),
        ];
        flags.into_iter().filter_map(|(name, is_given)| is_given.then_some(name))
    }
}

/// The formats of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct CompareFormats;

impl ResultFormats for CompareFormats {
    const FORMATS: &'static [Format] = FORMATS;
}

/// What a comparison can be shown as.
pub const FORMATS: &[Format] = &[Format::Text, Format::Markdown, Format::Json, Format::Html];

fn metric(name: &str) -> Result<MetricOfStep, String> {
    ComparedMetric::of_named(name).ok_or_else(|| {
        format!(
            "there is no metric {name:?}; choose one of {}; with gate --base also step(NAME).p50 and step(NAME).p99",
            ComparedMetric::ALL.map(ComparedMetric::name).join(", ")
        )
    })
}

/// Compares and prints.
pub fn run(arguments: Arguments) -> anyhow::Result<Status> {
    exit::check_printable()?;
    let sides = [arguments.first.as_str(), arguments.second.as_str()];
    arguments.output.check(&sides)?;
    if sides.iter().all(|side| Path::new(side).is_dir()) {
        return compare_folders(sides, &arguments.flags, &arguments.output);
    }
    let comparison = compare(sides, &arguments.flags, arguments.load)?;
    arguments.output.write(|format| {
        Ok(match format {
            Format::Text => TerminalText::lines(&exit::fitted_lines(&compare_text(&comparison))).into(),
            Format::Markdown => compare_markdown(&comparison).into(),
            Format::Json => exit::json(&comparison)?,
            Format::Html => compare_html(&comparison).into(),
            Format::Csv | Format::Svg | Format::Hgrm | Format::Junit => return Err(format.unavailable()),
        })
    })?;
    let status = if comparison.failures.is_usable() { Status::Done } else { Status::Failed };
    Ok(status_of(comparison.ended_early.as_deref(), status))
}

/// Compares two exported rounds cell by cell.
fn compare_folders(
    sides: [&str; 2],
    flags: &CompareFlags,
    output: &ResultFlags<CompareFormats>,
) -> anyhow::Result<Status> {
    let read = |side: &str| {
        let (round, trials) = paceline_store::archive::read(Path::new(side))
            .map_err(|error| Complaint::usage(format!("cannot read the round {side}: {error}")))?;
        anyhow::Ok(Records { round, trials, unreadable: Vec::new() })
    };
    let metric = flags.metric_of_all()?;
    let rounds = [read(sides[0])?, read(sides[1])?];
    output.write(|format| compared_rounds(&rounds, metric, flags.margin / 100.0, format))?;
    Ok(Status::Done)
}

/// The comparison of two rounds, matched cell by cell, in a format.
pub fn compared_rounds(
    rounds: &[Records; 2],
    metric: Option<ComparedMetric>,
    margin: f64,
    format: Format,
) -> anyhow::Result<Printable> {
    let reports = rounds.each_ref().map(Records::report);
    let side =
        |place: usize| RoundSide { report: &reports[place], trials: &rounds[place].trials, server: None };
    let result = compare_rounds([side(0), side(1)], metric, margin);
    if result.cells.is_empty() {
        return Err(Complaint::usage(
            "the two rounds have no row in common: server, form, workload and load",
        )
        .hint("compare rounds of the same plan")
        .into());
    }
    let [first, second] = rounds;
    let about = |round: &Round| {
        format!(
            "round {} ({}), {}, on {}",
            round.id, round.plan, round.started_at, round.environment.cpu_model
        )
    };
    Ok(match format {
        Format::Text | Format::Markdown => markdown!(
            "First: {}.\nSecond: {}.\n\n{}",
            about(&first.round),
            about(&second.round),
            rounds_markdown(&result)
        )
        .into(),
        Format::Json => exit::json(&result.cells)?,
        Format::Html => single_file(
            &format!("{} · Paceline", first.round.plan),
            &SingleFilePages::of_comparison([first, second], reports.each_ref(), &result)?,
        )?,
        Format::Csv | Format::Svg | Format::Hgrm | Format::Junit => return Err(format.unavailable()),
    })
}

/// Compares two sides, each measured now or read from a file.
pub(super) fn compare(
    sides: [&str; 2],
    flags: &CompareFlags,
    load: LoadFlags,
) -> anyhow::Result<PairedComparison> {
    let picture = flags.profile.as_ref().map(|file| file.as_deref().unwrap_or(Path::new("difference.svg")));
    picture.map_or(Ok(()), crate::file::check_writable)?;
    let comparison = PairedComparison { argv: own_argv(), ..compare_sides(sides, flags, load.clone())? };
    if let Some(picture) = picture {
        let source = |side| match is_file(side) {
            true => ProfileSource::Record(side),
            false => ProfileSource::Target(side),
        };
        let warmup = load.warm_up();
        let request = LoadRequest { rate_per_s: flags.rate, warmup, window: flags.window() };
        draw_difference(sides.map(source), &request, &load, picture);
    }
    Ok(comparison)
}

fn compare_sides(
    sides: [&str; 2],
    flags: &CompareFlags,
    load: LoadFlags,
) -> anyhow::Result<PairedComparison> {
    let primary = flags.metric_of_all()?;
    let load = load.accepting(flags.max_errors.clone());
    let margin = flags.margin / 100.0;
    let stored = |side: &str| is_file(side).then(|| read_samples(Path::new(side))).transpose();
    // Files are read first: one that is missing or damaged is reported before anything is measured.
    match [stored(sides[0])?, stored(sides[1])?] {
        [None, None] => {
            let context = ExperimentContext::new(load)?;
            let [first, second] = sides.map(ExperimentTarget::from_text);
            let mut first = MeasuredSide::open(&context, flags, first, "a-").map_err(complaint)?;
            let mut second = MeasuredSide::open(&context, flags, second, "b-").map_err(complaint)?;
            let plan = ComparePlan {
                names: sides.map(str::to_owned),
                primary,
                margin,
                max_pairs: flags.max_pairs(),
            };
            run_comparison([&mut first, &mut second], &plan, &mut |progress| exit::say(&line(&progress)))
                .map_err(complaint)
        }
        [Some(first), Some(second)] => compare_stored([first, second], flags),
        [Some(first), None] => {
            let second = measure_like(sides[1], flags, load, Some(&first))?;
            compare_stored([first, second], flags)
        }
        [None, Some(second)] => {
            let first = measure_like(sides[0], flags, load, Some(&second))?;
            compare_stored([first, second], flags)
        }
    }
}

/// Compares two sets that were measured at different times, if their conditions were the same.
fn compare_stored(samples: [SampleSet; 2], flags: &CompareFlags) -> anyhow::Result<PairedComparison> {
    check_conditions([&samples[0], &samples[1]], flags)?;
    Ok(compare_samples(&samples, flags.metric_of_all()?, flags.margin / 100.0))
}

/// Refuses sets of another load, and sets of another machine or version unless the user accepts that.
fn check_conditions([first, second]: [&SampleSet; 2], flags: &CompareFlags) -> anyhow::Result<()> {
    let [Some(a), Some(b)] = [&first.conditions, &second.conditions] else {
        exit::say("one side does not say under which load and on which machine it was measured");
        return Ok(());
    };
    let listed = |differences: &[Difference]| {
        differences.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ")
    };
    let times = format!("{} ({}) and {} ({})", first.name, a.measured_at, second.name, b.measured_at);
    let load = a.load_differences(b);
    if !load.is_empty() {
        return Err(Complaint::usage(format!("{times} have different loads: {}", listed(&load)))
            .hint("measure with the same flags, or save the baseline again with `paceline gate URL --save FILE`")
            .into());
    }
    let machine = a.machine_differences(b);
    if !machine.is_empty() && !flags.accept_other_machine {
        return Err(Complaint::usage(format!(
            "{times} were measured on different machines: {}",
            listed(&machine)
        ))
        .hint(
            "compare both versions on one machine: `paceline gate --base REF`, or two URLs; \
                 --accept-other-machine compares in any case",
        )
        .into());
    }
    Ok(())
}

/// Whether a side is a file: its name ends in `.json`, and it is not a URL.
fn is_file(side: &str) -> bool {
    side.ends_with(".json") && !side.contains("://")
}

/// Measures one side alone, half as often as there are pairs.
pub(super) fn measure(side: &str, flags: &CompareFlags, load: LoadFlags) -> anyhow::Result<SampleSet> {
    measure_like(side, flags, load, None)
}

/// As [`measure`]. If the first observation has other conditions than a stored set, no more are made.
fn measure_like(
    side: &str,
    flags: &CompareFlags,
    load: LoadFlags,
    stored: Option<&SampleSet>,
) -> anyhow::Result<SampleSet> {
    let context = ExperimentContext::new(load.accepting(flags.max_errors.clone()))?;
    let mut measured =
        MeasuredSide::open(&context, flags, ExperimentTarget::from_text(side), "").map_err(complaint)?;
    let mut samples = SampleSet::new(side);
    for number in 1..=flags.max_pairs().div_ceil(2) {
        let mut result = observe(&mut measured).map_err(complaint)?;
        if let Some(conditions) = &mut result.conditions {
            let quota = CpuQuota::now().map_or(serde_json::Value::Null, |quota| quota.cores.into());
            conditions.machine.insert("cpu_quota_cores".to_owned(), quota);
        }
        samples.add(&result);
        if let Some(stored) = stored.filter(|_| number == 1) {
            check_conditions([stored, &samples], flags)?;
        }
        exit::say(&format!("{side}: run {number}"));
        if samples.unusable_because().is_some() {
            break;
        }
    }
    Ok(samples)
}

/// Reads observations: the output of `gate --save`, or the record of a run as one observation.
pub(super) fn read_samples(path: &Path) -> anyhow::Result<SampleSet> {
    let name = path.display().to_string();
    let text = paceline_files::read_text(path, MAX_FILE_BYTES)
        .map_err(|error| Complaint::usage(format!("cannot read {name}: {error}")))?;
    if let Ok(samples) = serde_json::from_str::<SampleSet>(&text) {
        let is_usable = |value: &f64| *value > 0.0 && value.is_finite();
        if !samples.values.values().flatten().all(is_usable) {
            return Err(
                Complaint::usage(format!("the baseline {name} has a value that is not above 0")).into()
            );
        }
        return Ok(samples);
    }
    let run = paceline_record::read_run(&text).map_err(|error| {
        Complaint::usage(format!("{name} is neither a run's record nor a baseline: {error}"))
            .hint("use a file that was written by `paceline run -o FILE.json` or `paceline gate --save`")
    })?;
    let mut samples = SampleSet::new(&name);
    samples.add(&LoadResult::from_run(&run));
    Ok(samples)
}

/// A side that is measured now. A server of the lab is started for each observation; a URL is loaded as it is.
struct MeasuredSide<'a> {
    context: &'a ExperimentContext,
    target: ExperimentTarget,
    request: LoadRequest,
    prefix: String,
    launches: usize,
    url: Option<OpenTarget>,
    objective: Option<Objective>,
}

impl<'a> MeasuredSide<'a> {
    fn open(
        context: &'a ExperimentContext,
        flags: &CompareFlags,
        target: ExperimentTarget,
        prefix: &str,
    ) -> Result<Self, LoadError> {
        let request =
            LoadRequest { rate_per_s: flags.rate, warmup: context.flags.warm_up(), window: flags.window() };
        let url = match &target {
            ExperimentTarget::Url(_) => {
                let mut open = context.open(&target, prefix)?;
                warm(&mut open, context)?;
                Some(open)
            }
            ExperimentTarget::Server(_) => None,
        };
        Ok(Self {
            context,
            target,
            request,
            prefix: prefix.to_owned(),
            launches: 0,
            url,
            objective: flags.slo.clone(),
        })
    }
}

impl ComparedSide for MeasuredSide<'_> {
    fn observe(&mut self) -> Result<LoadResult, LoadError> {
        let objective = self.objective.as_ref();
        if let Some(open) = &mut self.url {
            let mut result = measure_once(open, &self.request, objective)?;
            // If the same process runs throughout, its memory is one observation, however often it is read.
            result.server = result.server.map(|server| LoadServerUse { rss_bytes: 0, ..server });
            return Ok(result);
        }
        self.launches += 1;
        let mut open = self.context.open(&self.target, &format!("{}{:02}-", self.prefix, self.launches))?;
        warm(&mut open, self.context)?;
        measure_once(&mut open, &self.request, objective)
    }
}

/// Window limit of a capacity search that is one of many observations.
const MAX_SEARCH_WINDOWS: usize = 30;
/// Half of the interval width to reach, as a share; the scatter between launches is added to it.
const SEARCH_HALF_WIDTH: f64 = 0.05;

/// Warms a target up. A server without a valid response is measured all the same: its record says why.
fn warm(open: &mut OpenTarget, context: &ExperimentContext) -> Result<(), LoadError> {
    match open.warm(context.flags.warm_limit()) {
        Ok(_) | Err(LoadError::NoValidResponse { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// One observation: a run and, if there is an objective and the run can be used, a search for the capacity.
fn measure_once(
    open: &mut OpenTarget,
    request: &LoadRequest,
    objective: Option<&Objective>,
) -> Result<LoadResult, LoadError> {
    let mut result = open.load.run(request)?;
    result.start_ns = open.start_ns();
    let is_usable = result.unusable_because().is_none() && result.void_because().is_none();
    let Some(objective) = objective.filter(|_| is_usable) else { return Ok(result) };
    if let Some(conditions) = &mut result.conditions {
        conditions.add_objective(objective);
    }
    let plan = CapacityPlan {
        objective: objective.clone(),
        window: request.window,
        warmup: request.warmup,
        half_width: SEARCH_HALF_WIDTH,
        max_windows: MAX_SEARCH_WINDOWS,
        confirm: Duration::ZERO,
        curve: false,
    };
    open.load.judge_by(Some(objective.clone()));
    let capacity = find_capacity(&mut open.load, &plan, &mut |_| {})?;
    open.load.judge_by(None);
    let why = || {
        match (&capacity.ended_early, capacity.stalls_decide) {
        (Some(why), _) if why == "interrupted" => LoadError::Interrupted,
        (Some(why), _) => LoadError::Failed(format!("the search for the capacity ended early: {why}")),
        (None, Some(_)) => LoadError::Failed(
            "the capacities cannot be compared, because one is undefined: whether a window met the objective \
             depended on pauses of the server, not on the load. Find the cause of the pauses, or use longer \
             windows (--duration)"
                .to_owned(),
        ),
        (None, None) => LoadError::Failed(format!("no offered rate met {objective}")),
    }
    };
    result.capacity_per_s =
        Some(capacity.half_pass_per_s.filter(|_| capacity.ended_early.is_none()).ok_or_else(why)?);
    Ok(result)
}

/// One line of progress.
fn line(progress: &CompareProgress) -> String {
    let ratio = progress.ratio.map_or(String::new(), |ratio| format!(": ratio second / first {ratio:.3}"));
    let next = progress.next_look.map_or(String::new(), |look| format!("; next check after pair {look}"));
    format!("pair {}{ratio}{next}", progress.pairs)
}
