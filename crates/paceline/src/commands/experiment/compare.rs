//! `paceline compare A B`: is B faster than A, slower, or equivalent?
//!
//! URLs and servers of the lab are measured in adjacent pairs; files hold earlier measurements: the record of a run, or
//! the output of `compare` or `gate --save`. `gate` uses this module.

use super::child::{LoadFlags, MAX_RECORD_BYTES};
use super::compare_flags::CompareFlags;
use super::compare_rounds::compared_rounds;
use super::measured_side::MeasuredSide;
use super::output::{ResultFlags, ResultFormats};
use super::profiles::{ProfileSource, draw_difference};
use super::{ExperimentContext, ExperimentTarget, complaint, status_of};
use crate::commands::format::Format;
use crate::exit::{self, Complaint, Status};
use crate::masked_argv::own_argv;
use paceline_escape::TerminalText;
use paceline_experiment::{
    ComparePlan, CompareProgress, Difference, LoadRequest, LoadResult, PairedComparison, SampleSet,
    compare_html, compare_markdown, compare_samples, compare_text, observe, run_comparison,
};
use paceline_host::CpuQuota;
use paceline_web::Records;
use std::path::Path;

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

/// The formats of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct CompareFormats;

impl ResultFormats for CompareFormats {
    const FORMATS: &'static [Format] = FORMATS;
}

/// What a comparison can be shown as.
pub const FORMATS: &[Format] = &[Format::Text, Format::Markdown, Format::Json, Format::Html];

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
    let command = ["paceline", "compare", sides[0], sides[1]];
    output.write(|format| compared_rounds(&rounds, command, metric, flags.margin / 100.0, format))?;
    Ok(Status::Done)
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
fn read_samples(path: &Path) -> anyhow::Result<SampleSet> {
    let name = path.display().to_string();
    let text = paceline_files::read_text(path, MAX_RECORD_BYTES)
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

/// One line of progress.
fn line(progress: &CompareProgress) -> String {
    let ratio = progress.ratio.map_or(String::new(), |ratio| format!(": ratio second / first {ratio:.3}"));
    let next = progress.next_look.map_or(String::new(), |look| format!("; next check after pair {look}"));
    format!("pair {}{ratio}{next}", progress.pairs)
}
