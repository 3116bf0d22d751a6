//! Paceline beside its peers and the physical floor: runs them alternately and writes `docs/performance.md`.
//!
//! `speed/run` builds and starts this; `make speed` calls that. It measures and prints; it asserts no speed.

mod cores;
mod experiments;
mod install;
mod machine;
mod page;
mod plan;
mod process;
mod runner;
mod server;
mod statistics;
mod tools;
mod workplace;

use anyhow::{Context as _, ensure};
use clap::{CommandFactory as _, Parser};
use plan::Plan;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use workplace::Workplace;

/// Paceline beside its peers and the physical floor, round after round; writes docs/performance.md.
#[derive(Parser)]
#[command(name = "speed/run", version, about, max_term_width = 100)]
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
    #[arg(long, default_value_t = 60, value_name = "S", value_parser = clap::value_parser!(u32).range(10..=120))]
    freeze_seconds: u32,

    /// Build the peers that are not packaged too: oha, k6, fortio
    #[arg(long)]
    with_built: bool,

    /// Install nothing; what is missing is left out
    #[arg(long, conflicts_with = "with_built")]
    no_install: bool,

    /// Where the page goes
    #[arg(long, default_value = "docs/performance.md", value_name = "FILE")]
    output: PathBuf,

    /// The Paceline to compare [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    paceline: Option<PathBuf>,

    /// The server's core
    #[arg(long, default_value_t = 0, value_name = "N")]
    server_core: u32,

    /// The generator's core
    #[arg(long, default_value_t = 1, value_name = "N")]
    generator_core: u32,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::from(3)
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let settings =
        experiments::Settings { seconds: arguments.seconds, freeze_seconds: arguments.freeze_seconds, cores };
    let mut plans = experiments::all(&settings);
    if arguments.list {
        let mut stdout = std::io::stdout().lock();
        return Ok(plans.iter().try_for_each(|plan| writeln!(stdout, "{:18} {}", plan.name, plan.title))?);
    }
    refuse_unknown(&plans, &arguments.experiments);
    ensure!(cores >= 2, "a server and a generator need a core each; this machine offers {cores}");
    ensure!(
        arguments.server_core != arguments.generator_core,
        "the server and the generator need a core each"
    );
    let paceline = arguments.paceline.clone().map_or_else(beside_this, Ok)?;
    let workplace = Workplace::prepare(paceline, arguments.server_core, arguments.generator_core)?;
    get_peers(arguments, &workplace);
    let titles: Vec<String> = plans.iter().map(|plan| plan.title.clone()).collect();
    for plan in plans.iter_mut().filter(|plan| is_chosen(plan, &arguments.experiments)) {
        let section = take(plan, arguments.rounds, &workplace)?;
        // After each, so that an interrupted comparison leaves what it has.
        write_page(&titles, section, &arguments.output)?;
    }
    say(&format!("wrote {}", arguments.output.display()));
    Ok(())
}

fn is_chosen(plan: &Plan, names: &[String]) -> bool {
    names.is_empty() || names.iter().any(|name| name == plan.name)
}

/// Ends with the status of a usage error where a name is no experiment's.
fn refuse_unknown(plans: &[Plan], names: &[String]) {
    let known: Vec<&str> = plans.iter().map(|plan| plan.name).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let what = format!("no experiment {name:?}; there are {}\n", known.join(", "));
        Arguments::command().error(clap::error::ErrorKind::InvalidValue, what).exit();
    }
}

fn beside_this() -> anyhow::Result<PathBuf> {
    Ok(std::env::current_exe().context("where this program is")?.with_file_name("paceline"))
}

fn get_peers(arguments: &Arguments, workplace: &Workplace) {
    if !arguments.no_install {
        install::packaged(workplace);
    }
    if arguments.with_built {
        install::built(workplace);
    }
}

/// Carries an experiment out and keeps its samples; its section.
fn take(plan: &mut Plan, rounds: u32, workplace: &Workplace) -> anyhow::Result<String> {
    let taken = format!("{} at {} on {}", machine::today(), machine::commit(), machine::describe());
    let outcome = runner::run(plan, rounds, workplace);
    let kept = workplace.folder.join("results").join(plan.name).with_extension("json");
    fs::write(&kept, serde_json::to_string_pretty(&outcome.samples)?)
        .with_context(|| kept.display().to_string())?;
    Ok(page::section(plan, &outcome, &taken, workplace))
}

/// The page with a new section and those it had of the other experiments, in the experiments' own order.
fn write_page(titles: &[String], section: String, output: &Path) -> anyhow::Result<()> {
    let before = fs::read_to_string(output).unwrap_or_default();
    let text = page::page(&page::merged(titles, &before, section));
    fs::write(output, text).with_context(|| output.display().to_string())
}

/// Prints progress.
fn say(what: &str) {
    // A closed standard error is no reason to stop.
    let _ = writeln!(std::io::stderr(), "speed: {what}");
}
