//! `paceline report`: the kept results as tables.
//!
//! It finds the round in the store or in an exported folder and keeps the selected tables. The report crate builds and
//! renders the tables. If there is no store, none is created.

use super::archive;
use super::experiment::{MAX_RECORD_BYTES, compare, compare_rounds};
use super::format::Format;
use super::run::run_page;
use crate::exit::{Complaint, Status, print};
use crate::lab_folders::path_or_nothing;
use crate::store_location::{ReadableRecords, StoreArguments, complain, nothing_kept, state_dir};
use crate::{file, terminal as screen};
use paceline_escape::{Printable, terminal};
use paceline_judge::Metric;
use paceline_record::{Round, Trial};
use paceline_report::{
    Align, Chart, CopyTally, Grid, Options, Report, RunTextOptions, Table, copies_text, run_markdown,
    run_svg, run_text, svg,
};
use paceline_stats::counted;
use paceline_store::Store;
use paceline_web::{Records, SingleFilePages, single_file};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  paceline report                          the newest round
  paceline report --list                   every stored round
  paceline report 20261121-01              the round with this id or prefix
  paceline report 20261120 20261121-01     two rounds row by row, as ratios
  paceline report run.json -o run.html     a run that `run -o run.json` wrote
  paceline report --copies                 how often a server seems to differ from its copy
  paceline report --workload tetra -o tetra.md
  paceline report -o report.html           with charts, in one file to share
  paceline report --svg ranking --workload hello -o hello.svg
  paceline report --format csv | column -t -s,
  paceline report --export history/quick   the newest round as a folder to keep
  paceline report --from history/quick     the report of that folder";

/// Flags of `paceline report`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Round, by id or folder; two are compared [default: newest]
    ///
    /// A prefix of the id is enough; a folder is one that --export wrote. Two rounds are compared row by row. The record of a
    /// run (a file of `run -o FILE.json`) is shown as text, Markdown, page or picture.
    rounds: Vec<String>,
    /// Count how often a server differed from its own copy
    ///
    /// Each such difference is a false positive. `copies` in a plan names servers that are measured twice, as original
    /// and copy. Without ROUNDS, all stored rounds are counted.
    #[arg(long, conflicts_with_all = ["list", "format", "svg", "full", "workload", "load", "export", "from"])]
    copies: bool,
    /// List the stored rounds, newest first
    #[arg(long, conflicts_with_all = ["rounds", "format", "workload", "load"])]
    list: bool,
    /// Format of the report [default: by the file extension of --output, else text]
    #[arg(long, value_name = "FORMAT", value_parser = Format::among(FORMATS))]
    format: Option<Format>,
    /// Write to a file; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Draw a chart: ranking, percentiles, load-curve, or a metric's name, such as time_ns_p99, to rank by it
    ///
    /// It has one panel for each table.
    #[arg(long, value_name = "CHART", conflicts_with_all = ["list", "format", "full", "export"])]
    svg: Option<String>,
    /// Also show remedies, bottlenecks, versions and a legend
    ///
    /// Startup times too. Markdown always includes all of them.
    #[arg(long, conflicts_with_all = ["list", "export"])]
    full: bool,
    /// Show only these workloads, for example hello,json
    ///
    /// If a workload has several cases, its name (tetra) shows all of them, and tetra/140 only one. May be repeated.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    workload: Vec<String>,
    /// Show only this load, by its name in the plan
    ///
    /// May be repeated.
    #[arg(long, value_name = "NAME")]
    load: Vec<String>,
    /// Export the round with its trials to a folder
    ///
    /// It is small enough to commit to a repository: usually below 2 MB.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["list", "format", "output", "workload", "load", "from"])]
    export: Option<PathBuf>,
    /// Read the round from a folder that --export wrote
    #[arg(long, value_name = "DIR", conflicts_with_all = ["rounds", "list", "store"])]
    from: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArguments,
    /// Folder for builds, logs and results [default: `.paceline` next to the servers' folder]
    #[arg(long, value_name = "DIR", env = "PACELINE_HOME", hide_env_values = true, value_parser = path_or_nothing())]
    state_dir: Option<PathBuf>,
}

/// The formats of a report.
const FORMATS: &[Format] =
    &[Format::Text, Format::Markdown, Format::Csv, Format::Json, Format::Html, Format::Svg];

/// How a result is shown.
#[derive(Clone, Copy)]
struct Rendering {
    format: Format,
    /// The picture of a round.
    chart: Chart,
    to_terminal: bool,
}

/// What is reported.
enum ReportMode<'a> {
    /// The stored rounds.
    List,
    /// A round of the store, the newest by default.
    StoredRound(Option<&'a str>),
    /// The same, as a folder.
    Export(Option<&'a str>, &'a Path),
    /// A round from an exported folder.
    Folder(&'a Path),
    /// Two rounds, each by id or folder.
    Comparison([&'a str; 2]),
    /// How often servers differed from their copies.
    Copies,
    /// The record of a run.
    Run(&'a Path),
}

impl<'a> ReportMode<'a> {
    /// # Errors
    /// A complaint about names and flags that do not belong together.
    fn parse(arguments: &'a Arguments) -> anyhow::Result<Self> {
        if let Some(folder) = &arguments.from {
            return Ok(Self::Folder(folder));
        }
        if arguments.copies {
            return Ok(Self::Copies);
        }
        if arguments.list {
            return Ok(Self::List);
        }
        match (arguments.rounds.as_slice(), &arguments.export) {
            ([_, _, ..], Some(_)) => Err(Complaint::usage("--export can write only one round")
                .hint("use the id of one round; `paceline report --list` lists them")
                .into()),
            ([_, _], None) if arguments.full => {
                Err(Complaint::usage("--full applies to the report of one round, and two are compared")
                    .hint("remove --full, or name one round")
                    .into())
            }
            ([first, second], None) => Ok(Self::Comparison([first, second])),
            ([_, _, ..], None) => {
                Err(Complaint::usage("at most two rounds can be compared").hint("give two rounds").into())
            }
            ([file], _) if Path::new(file).is_file() => {
                check_run(file, arguments)?;
                Ok(Self::Run(Path::new(file)))
            }
            ([folder], Some(_)) if Path::new(folder).is_dir() => {
                Err(Complaint::usage(format!("--export: {folder} already contains an exported round"))
                    .hint("copy the folder instead, or add its round to a store with `paceline store import`")
                    .into())
            }
            ([folder], None) if Path::new(folder).is_dir() => Ok(Self::Folder(Path::new(folder))),
            (rounds, Some(folder)) => Ok(Self::Export(rounds.first().map(String::as_str), folder)),
            (rounds, None) => Ok(Self::StoredRound(rounds.first().map(String::as_str))),
        }
    }
}

/// Renders a round, or lists them.
pub fn run(arguments: Arguments) -> anyhow::Result<Status> {
    let output = arguments.output.as_deref().filter(|output| *output != Path::new("-"));
    let (format, chart) = match &arguments.svg {
        Some(name) => (Format::Svg, chart(name)?),
        None => (format(arguments.format, output)?, Chart::Ranking(None)),
    };
    let rendering = Rendering { format, chart, to_terminal: output.is_none() };
    let state_dir = state_dir(arguments.state_dir.clone());
    let store = || Store::open_existing(&arguments.store.path(&state_dir)).map_err(complain);
    let (text, status) = match ReportMode::parse(&arguments)? {
        ReportMode::List => listed(&store()?)?,
        ReportMode::StoredRound(name) => stored_round(&store()?, name, &arguments, rendering)?,
        ReportMode::Export(name, folder) => export(&store()?, name, folder, &state_dir)?,
        ReportMode::Folder(folder) => {
            let (round, trials) = archive::read(folder)?;
            (rendered(&round, &trials, &arguments, rendering)?, Status::Done)
        }
        ReportMode::Comparison(names) => (comparison(names, &arguments, &state_dir, format)?, Status::Done),
        ReportMode::Copies => copies(&arguments, &state_dir)?,
        ReportMode::Run(file) => (run_record(file, rendering)?, Status::Done),
    };
    match output {
        Some(output) => file::write_whole(output, text.as_bytes())?,
        None => print(text)?,
    }
    Ok(status)
}

/// Refuses the flags that apply only to rounds.
fn check_run(file: &str, arguments: &Arguments) -> anyhow::Result<()> {
    let given = [
        ("--export", arguments.export.is_some()),
        ("--workload", !arguments.workload.is_empty()),
        ("--load", !arguments.load.is_empty()),
        ("--full", arguments.full),
        ("--svg", arguments.svg.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((flag, _)) => {
            Err(Complaint::usage(format!("{flag} applies only to a round, and {file} is a file"))
                .hint("use -o FILE.html, .svg, .md or .txt alone")
                .into())
        }
    }
}

/// The record of a run as text, Markdown, a page or a picture.
fn run_record(file: &Path, rendering: Rendering) -> anyhow::Result<Printable> {
    let name = file.display();
    let text = paceline_files::read_text(file, MAX_RECORD_BYTES)
        .map_err(|error| Complaint::usage(format!("cannot read {name}: {error}")))?;
    let run = paceline_record::read_run(&text).map_err(|error| {
        Complaint::usage(format!("{name} is not the record of a run: {error}")).hint(
            "name a round by its id, or a file of `paceline run -o FILE.json` that has its histograms (without --histograms none)",
        )
    })?;
    let to_terminal = rendering.to_terminal;
    Ok(match rendering.format {
        Format::Html => run_page(&run)?,
        Format::Svg => run_svg(&run),
        Format::Markdown => run_markdown(&run, None).into(),
        Format::Text => {
            let options = RunTextOptions {
                colour: to_terminal && screen::wants_colour(),
                width: screen::width_for_text(to_terminal),
                full: false,
                time_unit: None,
            };
            run_text(&run, options).into()
        }
        Format::Csv | Format::Json | Format::Hgrm | Format::Junit => {
            return Err(Complaint::usage(format!("{name} is the record of a run, not of a round"))
                .hint("use .html, .svg, .md or .txt; the record itself is JSON")
                .into());
        }
    })
}

/// The round of a store with this id or prefix, or the newest.
fn find_round(store: &Store, name: Option<&str>) -> anyhow::Result<Round> {
    match name {
        Some(prefix) => store.find_round(prefix).map_err(complain),
        None => store.newest().map_err(complain)?.ok_or_else(|| nothing_kept(store).into()),
    }
}

/// Writes a round of the store to a folder. Damaged records make it a failure.
fn export(
    store: &Store,
    name: Option<&str>,
    folder: &Path,
    state_dir: &Path,
) -> anyhow::Result<(Printable, Status)> {
    let round = find_round(store, name)?;
    let trials = ReadableRecords::from_read(store.readable_whole_trials(&round.id))?;
    let written = archive::write(folder, &round, &trials.records, state_dir, store.file())?;
    Ok((written.into(), trials.status()))
}

/// The report of a round of the store. Damaged records make it a failure.
fn stored_round(
    store: &Store,
    name: Option<&str>,
    arguments: &Arguments,
    rendering: Rendering,
) -> anyhow::Result<(Printable, Status)> {
    let round = find_round(store, name)?;
    // Percentile curves and heat maps need histograms.
    let trials = match matches!(rendering.format, Format::Html | Format::Svg) {
        true => ReadableRecords::from_read(store.readable_whole_trials(&round.id))?,
        false => ReadableRecords::from_read(store.readable_trials(&round.id))?,
    };
    Ok((rendered(&round, &trials.records, arguments, rendering)?, trials.status()))
}

/// A round with its trials, from an exported folder or from the store.
fn records(name: &str, arguments: &Arguments, state_dir: &Path) -> anyhow::Result<Records> {
    if Path::new(name).is_dir() {
        let (round, trials) = archive::read(Path::new(name))?;
        return Ok(Records { round, trials, unreadable: Vec::new() });
    }
    let store = Store::open_existing(&arguments.store.path(state_dir)).map_err(complain)?;
    let round = store.find_round(name).map_err(complain)?;
    let trials = store.readable_trials(&round.id);
    Ok(Records { trials: ReadableRecords::from_read(trials)?.records, round, unreadable: Vec::new() })
}

/// Two rounds, cell by cell.
fn comparison(
    names: [&str; 2],
    arguments: &Arguments,
    state_dir: &Path,
    format: Format,
) -> anyhow::Result<Printable> {
    if !compare::FORMATS.contains(&format) {
        return Err(Complaint::usage("two rounds can be compared as text, Markdown, JSON or HTML").into());
    }
    let mut rounds = names.map(|name| records(name, arguments, state_dir));
    for round in rounds.iter_mut().flatten() {
        let fits = |wanted: &[String], name: &str| {
            wanted.is_empty()
                || wanted.iter().any(|wanted| wanted == name || name.split('/').next() == Some(wanted))
        };
        round.trials.retain(|trial| {
            fits(&arguments.workload, &trial.workload) && fits(&arguments.load, &trial.load.name)
        });
    }
    let [first, second] = rounds;
    let rounds = [first?, second?];
    let command = ["paceline", "report", &rounds[0].round.id, &rounds[1].round.id];
    compare_rounds::compared_rounds(&rounds, command, None, paceline_experiment::MARGIN, format)
}

/// The differences that rounds claimed between servers and their copies. More false claims than 95 % intervals allow
/// are a failure.
fn copies(arguments: &Arguments, state_dir: &Path) -> anyhow::Result<(Printable, Status)> {
    let names = match arguments.rounds.as_slice() {
        [] => {
            let store = Store::open_existing(&arguments.store.path(state_dir)).map_err(complain)?;
            ReadableRecords::from_read(store.readable_rounds())?
                .records
                .into_iter()
                .map(|round| round.id)
                .collect()
        }
        names => names.to_vec(),
    };
    let report = |name: &String| {
        let records = records(name, arguments, state_dir)?;
        anyhow::Ok(Report::new(&records.round, &records.trials))
    };
    let reports = names.iter().map(report).collect::<anyhow::Result<Vec<Report>>>()?;
    let tally = CopyTally::from_reports(&reports);
    if tally.deciding.compared == 0 {
        let hint = "`copies = [\"ID\"]` in a plan measures a server twice; see plans/aa.toml";
        return Err(Complaint::usage(
            "no stored round measured a server and a copy of it (A/A comparison) with at least two launches of each",
        )
        .hint(hint)
        .into());
    }
    let status = if tally.is_kept() { Status::Done } else { Status::Failed };
    Ok((copies_text(&reports).into(), status))
}

fn rendered(
    round: &Round,
    trials: &[Trial],
    arguments: &Arguments,
    rendering: Rendering,
) -> anyhow::Result<Printable> {
    let mut report = Report::new(round, trials);
    only(&mut report, "workload", &arguments.workload, |table, wanted| {
        table.workload == wanted || table.workload.split('/').next() == Some(wanted)
    })?;
    only(&mut report, "load", &arguments.load, |table, wanted| table.load.name == wanted)?;
    let to_terminal = rendering.to_terminal;
    Ok(match rendering.format {
        Format::Text => report.text(Options {
            width: if to_terminal { terminal_width() } else { WIDTH_OF_A_FILE },
            colour: to_terminal && screen::wants_colour(),
            full: arguments.full,
        }),
        Format::Markdown => report.markdown(),
        Format::Csv => report.csv(),
        Format::Json => report.json(),
        Format::Html => page(round, trials, &report)?,
        Format::Svg => {
            let nothing = || Complaint::usage(format!("round {} has no data for this chart", round.id));
            let hint = "a load curve needs one workload at several offered rates; `paceline report` lists the tables";
            return svg(rendering.chart, &report, trials).ok_or_else(|| nothing().hint(hint).into());
        }
        Format::Hgrm | Format::Junit => return Err(rendering.format.unavailable()),
    })
}

/// The tables of a report as pages, in one file.
pub fn page(round: &Round, trials: &[Trial], report: &Report) -> anyhow::Result<Printable> {
    let is_in = |trial: &&Trial| {
        report
            .tables
            .iter()
            .any(|table| (&table.workload, &table.load.name) == (&trial.workload, &trial.load.name))
    };
    let trials = trials.iter().filter(is_in).cloned().collect();
    let records = Records { round: round.clone(), trials, unreadable: Vec::new() };
    Ok(single_file(&format!("{} · Paceline", round.plan), &SingleFilePages::of_round(&records)?)?)
}

/// Keeps the selected tables. A name that matches none is an error, which lists the available names.
fn only(
    report: &mut Report,
    what: &str,
    wanted: &[String],
    fits: fn(&Table, &str) -> bool,
) -> anyhow::Result<()> {
    for name in wanted {
        if !report.tables.iter().any(|table| fits(table, name)) {
            let mut known: Vec<&str> = report
                .tables
                .iter()
                .map(|table| if what == "load" { table.load.name.as_str() } else { table.workload.as_str() })
                .collect();
            known.sort_unstable();
            known.dedup();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let complaint =
                Complaint::usage(format!("no trial of round {} has the {what} {name:?}", report.round.id));
            return Err(complaint.hint(format!("this round has: {known}")).into());
        }
    }
    if !wanted.is_empty() {
        report.retain(|table| wanted.iter().any(|name| fits(table, name)));
    }
    Ok(())
}

/// The rounds of a store, newest first, one a line.
fn listed(store: &Store) -> anyhow::Result<(Printable, Status)> {
    let rounds = ReadableRecords::from_read(store.readable_rounds())?;
    if rounds.records.is_empty() && !rounds.is_damaged {
        return Err(nothing_kept(store).into());
    }
    let mut rows = Vec::new();
    for round in &rounds.records {
        let (kept, usable) = store.tally(&round.id).map_err(complain)?;
        let state = if round.finished_at.is_some() { "finished" } else { "not finished" };
        let day = match round.started_at.get(..16) {
            Some(minute) => format!("{} UTC", minute.replace('T', " ")),
            None => round.started_at.clone(),
        };
        // A trial that was repeated is kept twice.
        let repeated = kept.saturating_sub(u64::from(round.planned));
        let repeats = if repeated > 0 { format!(", {repeated} repeated") } else { String::new() };
        let trials = format!(
            "{} of {}{repeats}, {usable} usable, {state}",
            kept - repeated,
            counted(round.planned, "trial", "trials")
        );
        rows.push([round.id.clone(), day, round.plan.clone(), trials]);
    }
    let grid = Grid::fitting(&[Align::Left; 4], &rows);
    let is_wide = screen::width_of_stdout().is_some_and(|columns| grid.width() > columns);
    let mut text = terminal!("{}\n\n", store.path().display().to_string());
    for row in &rows {
        match is_wide {
            true => text.push(&terminal!("{}\n    {}\n", grid.line(&row[..3]), row[3])),
            false => text.push(&terminal!("{}\n", grid.line(row))),
        }
    }
    Ok((text.into(), rounds.status()))
}

/// The format: the one given, else by the file's extension. An unknown extension is an error rather than text, since
/// the user expects another format. A path that is not a regular file, such as `/dev/stdout`, has no extension.
fn format(asked: Option<Format>, output: Option<&Path>) -> anyhow::Result<Format> {
    let ending = output.and_then(|output| Some((output, output.extension()?)));
    match (asked, ending) {
        (Some(format), _) => Ok(format),
        (None, None) => Ok(Format::Text),
        (None, Some((output, ending))) => Format::of_path(output, FORMATS).ok_or_else(|| {
            Complaint::usage(format!("--output: unknown file extension `.{}`", ending.display()))
                .hint(format!("use {}, or choose with --format", Format::extensions(FORMATS)))
                .into()
        }),
    }
}

/// The chart of this name.
fn chart(name: &str) -> anyhow::Result<Chart> {
    Chart::parse(name).ok_or_else(|| {
        let metrics: Vec<&str> = Metric::ALL.iter().map(|metric| metric.key).collect();
        Complaint::usage(format!("--svg: there is no chart {name:?}"))
            .hint(format!("the charts are ranking, percentiles, load-curve, {}", metrics.join(", ")))
            .into()
    })
}

/// Wide enough for every column of a table, since a file is scrolled and not wrapped.
const WIDTH_OF_A_FILE: usize = 180;

/// The columns of the terminal; if output is not a terminal, the value of `COLUMNS`, else the width for files.
fn terminal_width() -> usize {
    screen::width_of_stdout().or_else(screen::width_in_environment).unwrap_or(WIDTH_OF_A_FILE)
}
