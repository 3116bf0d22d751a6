//! Paceline beside its peers and the floor (tiny C programs): runs them alternately and writes `docs/reference/performance.md`.
//!
//! `speed/run` builds and starts this; `make speed` calls that. It measures and prints; it asserts no speed.

mod experiment;
mod freeze;
mod number;
mod page;
mod progress;
mod run;
mod tool;
mod workspace;

use anyhow::{Context as _, ensure};
use clap::{CommandFactory as _, Parser};
use experiment::Experiment;
use progress::say;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use workspace::Workspace;

/// Calls per second that `httperf` is expected to manage: it has no closed loop for a given time, only a number of
/// calls on each connection.
const CALLS_PER_S: u32 = 40_000;
/// Connections in the experiment `peers`.
const PEER_CONNECTIONS: u32 = 64;

/// Paceline beside its peers and the floor (tiny C programs), round after round; writes docs/reference/performance.md.
#[derive(Parser)]
#[command(name = "speed/run", version, about, max_term_width = 100)]
#[command(
    after_help = "speed/run also takes --no-install (install nothing; what is missing is left out) and --with-built \
                        (build oha, k6, fortio and wrk2 from source too; needs Go for two of them)."
)]
struct Arguments {
    /// Experiments to take, of those that --list shows; the page keeps the sections of the others [default: all]
    experiments: Vec<String>,

    /// List the experiments and do nothing
    #[arg(long)]
    list: bool,

    /// Rounds of each experiment
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Length of one run; a 10,000-connection run takes twice as long
    #[arg(long, default_value_t = 4, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=60))]
    seconds: u32,

    /// Length of one run against the freezing server: a multiple of its period of 10
    #[arg(long, default_value_t = 60, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=120))]
    freeze_seconds: u32,

    /// Where the page goes
    #[arg(long, default_value = "docs/reference/performance.md", value_name = "FILE")]
    output: PathBuf,

    /// The Paceline to compare [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    paceline: Option<PathBuf>,

    /// An older Paceline: each row of Paceline is followed by one of this binary, and compared with it
    #[arg(long, value_name = "FILE")]
    before: Option<PathBuf>,

    /// The server's core
    #[arg(long, default_value_t = 0, value_name = "N")]
    server_core: u32,

    /// The generator's core
    #[arg(long, default_value_t = 1, value_name = "N")]
    generator_core: u32,
}

fn main() -> ExitCode {
    match take(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::from(3)
        }
    }
}

fn take(arguments: &Arguments) -> anyhow::Result<()> {
    let mut experiments = experiment::all(&texts(arguments), arguments.before.is_some())?;
    if arguments.list {
        let mut stdout = std::io::stdout().lock();
        return Ok(experiments
            .iter()
            .try_for_each(|one| writeln!(stdout, "{:18} {}", one.name, one.title))?);
    }
    refuse_unknown(&experiments, &arguments.experiments);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    ensure!(cores >= 2, "a server and a generator need a core each; this machine has {cores}");
    ensure!(
        arguments.server_core != arguments.generator_core,
        "the server and the generator need a core each"
    );
    let workspace = workspace(arguments)?;
    workspace.prepare(arguments.seconds)?;
    let titles: Vec<String> = experiments.iter().map(|experiment| experiment.title.clone()).collect();
    let names = &arguments.experiments;
    let is_chosen = |one: &Experiment| {
        if names.is_empty() { one.machine_cores_least <= cores } else { names.contains(&one.name) }
    };
    for experiment in experiments.iter_mut().filter(|experiment| is_chosen(experiment)) {
        let section = section(experiment, arguments.rounds, &workspace)?;
        // Written after each, so that an interrupted comparison keeps its results so far.
        write_page(&titles, section, &arguments.output)?;
    }
    say(&format!("wrote {}", arguments.output.display()));
    Ok(())
}

/// Texts that the experiments fill in.
fn texts(arguments: &Arguments) -> BTreeMap<&'static str, String> {
    let seconds = arguments.seconds;
    let numbers = [
        ("seconds", seconds),
        ("twice_seconds", seconds * 2),
        ("freeze_seconds", arguments.freeze_seconds),
        // Of the peers' own command lines.
        ("duration_s", seconds),
        ("connections", PEER_CONNECTIONS),
        ("threads", 1),
        ("calls", CALLS_PER_S * seconds / PEER_CONNECTIONS),
    ];
    numbers.map(|(name, number)| (name, number.to_string())).into()
}

/// Exits with the status of a usage error if a name is no experiment's.
fn refuse_unknown(experiments: &[Experiment], names: &[String]) {
    let known: Vec<&str> = experiments.iter().map(|experiment| experiment.name.as_str()).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let what = format!("no experiment {name:?}; there are {}\n", known.join(", "));
        Arguments::command().error(clap::error::ErrorKind::InvalidValue, what).exit();
    }
}

fn workspace(arguments: &Arguments) -> anyhow::Result<Workspace> {
    let own = std::env::current_exe().context("where this program is")?;
    let beside = own.with_file_name("paceline");
    // This program is in target/release.
    let target =
        own.ancestors().nth(2).with_context(|| format!("{} is in no target folder", own.display()))?;
    Ok(Workspace {
        folder: target.join("speed"),
        shepherd: [beside.display().to_string(), "shepherd".to_owned()],
        paceline: arguments.paceline.clone().unwrap_or(beside),
        before: arguments.before.clone(),
        server_core: arguments.server_core,
        generator_core: arguments.generator_core,
    })
}

/// Carries an experiment out and keeps its samples; its section.
fn section(experiment: &mut Experiment, rounds: u32, workspace: &Workspace) -> anyhow::Result<String> {
    let today: String = jiff::Timestamp::now().to_string().chars().take(10).collect();
    let taken = format!("{today} at {} on {}", commit(), machine());
    let outcome = run::run(experiment, rounds, workspace);
    let kept = workspace.folder.join("results").join(&experiment.name).with_extension("json");
    fs::write(&kept, serde_json::to_string_pretty(&outcome.samples)?)
        .with_context(|| kept.display().to_string())?;
    Ok(page::section(experiment, &outcome, &taken))
}

/// The machine in a line: processor, cores, memory, kernel.
fn machine() -> String {
    let machine = paceline_run::environment::read();
    let kind = if machine.virtual_machine { ", virtual" } else { "" };
    let gib = machine.memory_bytes as f64 / f64::from(1 << 30);
    let kernel: Vec<&str> = machine.kernel.split(' ').take(2).collect();
    format!("{}, {} cores{kind}, {gib:.0} GiB, {}", machine.cpu_model, machine.cores, kernel.join(" "))
}

/// The commit of the tree, with a mark where the tree differs from it.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    match (git(&["rev-parse", "--short=12", "HEAD"]), git(&["status", "--porcelain", "-uno"])) {
        (Some(commit), Some(changes)) if changes.is_empty() => commit,
        (Some(commit), _) => format!("{commit} with changes"),
        (None, _) => "an unknown commit".to_owned(),
    }
}

/// The page with a new section and those it had of the other experiments, in the experiments' own order.
fn write_page(titles: &[String], section: String, output: &Path) -> anyhow::Result<()> {
    let before = fs::read_to_string(output).unwrap_or_default();
    let text = page::page(&page::merged(titles, &before, section));
    fs::write(output, text).with_context(|| output.display().to_string())
}
