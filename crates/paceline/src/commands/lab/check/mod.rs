//! `paceline lab check`: starts servers, sends every request that their workloads and the HTTP checks require, and
//! prints deviations.
//!
//! Several servers are checked at once: most of a check is waiting. It prints one table row per server, in order, then
//! the differences. The checks are in the lab crate (`examine`).

mod server;
mod table;

use super::selection::{ServerSelection, check_form, check_workloads, notify_of_untried, remedy, working};
use crate::commands::format::PrintFormatFlag;
use crate::exit::{Complaint, Status, fitted_lines, print};
use crate::lab_folders::{complain, scratch, server_user, shepherd_command};
use anyhow::Context as _;
use paceline_catalogue::{Catalogue, Manifest, fresh_seed, parse_duration};
use paceline_host::Interrupt;
use paceline_host::shepherd::TrackingMethod;
use paceline_lab::{ExamineOptions, LabError, Rules, Starter};
use paceline_run::wall_clock;
use server::{Checker, ServerCheck};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use table::CheckTable;

/// Flags of `paceline lab check`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  paceline lab check go-nethttp         all checks, the server as one process
  paceline lab check --all              every server that is set up
  paceline lab check 'go-*' --idle 75s  leave a connection idle for 75 s, as long
                                        as nginx keeps it by default

Exit status: 0 no server failed, 1 at least one failed, 2 an error in the usage
or in a named server's files, 3 a server named by its id is not set up,
130 interrupted")]
pub struct Arguments {
    #[command(flatten)]
    selection: ServerSelection,
    /// The form to start servers in: single (one process) or cores (all given)
    #[arg(long, default_value = "single", value_name = "FORM")]
    form: String,
    /// How long the check keeps a connection idle
    #[arg(long, default_value = "6s", value_name = "T", value_parser = parse_duration)]
    idle: Duration,
    /// Whose rules the servers must follow: those of a board are its requests and responses alone
    #[arg(long, value_enum, default_value_t = RulesFlag::Paceline, value_name = "RULES")]
    rules: RulesFlag,
    /// How many servers are checked at once [default: two for each core, at most 16]
    ///
    /// Checks that run side by side make each other's start times longer: 1 measures them alone.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Seed of the random numbers [default: chosen at random and printed]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Show passed checks too
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    print: PrintFormatFlag,
}

impl Arguments {
    /// Every check of one server, with the defaults of the flags.
    fn of_server(id: &str) -> Self {
        Self {
            selection: ServerSelection::of_server(id),
            form: "single".to_owned(),
            idle: IDLE,
            rules: RulesFlag::Paceline,
            jobs: None,
            seed: None,
            verbose: false,
            print: PrintFormatFlag::text(),
        }
    }
}

/// How long a connection is kept idle by default.
const IDLE: Duration = Duration::from_secs(6);

/// Values of `--rules`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum RulesFlag {
    /// Every check of Paceline
    Paceline,
    /// TechEmpower's rules
    Techempower,
    /// HttpArena's rules
    Httparena,
}

impl RulesFlag {
    fn rules(self) -> Rules {
        match self {
            RulesFlag::Paceline => Rules::Paceline,
            // Their workloads differ, not what is asked of a server beside them.
            RulesFlag::Techempower | RulesFlag::Httparena => Rules::Board,
        }
    }
}

/// For each server: builds it if anything changed, starts, checks and stops it.
pub fn run(arguments: &Arguments, catalogue: &Catalogue) -> anyhow::Result<Status> {
    let servers = arguments.selection.servers_in(catalogue)?;
    notify_of_untried(&servers);
    check_servers(&servers, arguments, catalogue)
}

/// Every check of one server, with the defaults of the flags, without a notice that it is marked as untried.
pub(super) fn check_one(server: &Arc<Manifest>, catalogue: &Catalogue) -> anyhow::Result<Status> {
    check_servers(std::slice::from_ref(server), &Arguments::of_server(&server.id), catalogue)
}

fn check_servers(
    servers: &[Arc<Manifest>],
    arguments: &Arguments,
    catalogue: &Catalogue,
) -> anyhow::Result<Status> {
    check_selection(servers, arguments, catalogue)?;
    let broken = arguments.selection.print_broken(catalogue);
    let interrupt = Interrupt::listen().context("cannot install the handler for Ctrl-C (SIGINT)")?;
    let logs = Some(catalogue.folders.state_dir.join("logs"));
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    let user = server_user(&catalogue.folders)?;
    let scratch = scratch(&catalogue.folders.state_dir, &wall_clock::new_id())?;
    let checker = Checker {
        catalogue,
        provisioner: &working(catalogue)?,
        starter: &Starter {
            shepherd: shepherd_command()?,
            guard: TrackingMethod::Namespace,
            logs,
            scratch: scratch.folder().to_owned(),
            interrupt,
            user,
        },
        form: &arguments.form,
        options: ExamineOptions { rules: arguments.rules.rules(), idle: arguments.idle, seed },
        fixed_ports: &Mutex::new(()),
        job: 0,
    };
    let mut table = CheckTable::new(servers.iter().map(|server| server.id.as_str()), arguments.verbose);
    let jobs = jobs(arguments.jobs, servers.len());
    let begun = Instant::now();
    let outcome = each(servers, &checker, jobs, &mut table, arguments.print);
    if !arguments.print.is_json() {
        print(&fitted_lines(&table.below(seed, jobs, begun.elapsed())))?;
    }
    outcome?;
    arguments.print.print_document(&table.document(seed))?;
    status(&table, broken, servers, &arguments.selection)
}

/// Checks at once for each core, by default: a check waits for most of its time, and one at a time leaves a core idle.
const JOBS_PER_CORE: usize = 2;
/// Most checks at once by default: the servers of all of them are in memory. Chosen, not measured.
const MAX_JOBS: usize = 16;

/// How many of `servers` are checked at once.
fn jobs(asked: Option<u16>, servers: usize) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let jobs = asked.map_or_else(|| (cores() * JOBS_PER_CORE).min(MAX_JOBS), usize::from);
    jobs.min(servers).max(1)
}

/// The result of one check.
type Checked = Result<ServerCheck, LabError>;

/// Checks the servers, several at once, and prints their rows in order; an interruption ends the loop.
fn each(
    servers: &[Arc<Manifest>],
    checker: &Checker<'_>,
    jobs: usize,
    table: &mut CheckTable,
    format: PrintFormatFlag,
) -> anyhow::Result<()> {
    format.print_line(&table.head())?;
    let (next, (sender, done)) = (AtomicUsize::new(0), mpsc::channel::<(usize, Checked)>());
    std::thread::scope(|scope| {
        for started in 0..jobs {
            let (next, sender, checker) = (&next, sender.clone(), Checker { job: started, ..*checker });
            let check_next = move || {
                while let Some((place, server)) = {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    servers.get(place).map(|server| (place, server))
                } {
                    if sender.send((place, checker.check(server))).is_err() {
                        return;
                    }
                }
            };
            let thread = std::thread::Builder::new().name("check".to_owned()).spawn_scoped(scope, check_next);
            match thread {
                Ok(_) => {}
                // The threads that have started check all servers.
                Err(_) if started > 0 => break,
                Err(error) => {
                    return Err(error).context(Complaint::environment("cannot start a thread"));
                }
            }
        }
        drop(sender);
        let printed = print_in_order(servers, &done, table, format);
        // After an error no further check is begun.
        next.store(servers.len(), Ordering::Relaxed);
        printed
    })
}

/// Prints the row of each server once those before it are printed.
fn print_in_order(
    servers: &[Arc<Manifest>],
    done: &mpsc::Receiver<(usize, Checked)>,
    table: &mut CheckTable,
    format: PrintFormatFlag,
) -> anyhow::Result<()> {
    let mut waiting: BTreeMap<usize, Checked> = BTreeMap::new();
    let mut rows = servers.iter().enumerate();
    for (place, checked) in done {
        waiting.insert(place, checked);
        while let Some(found) = waiting.remove(&(servers.len() - rows.len())) {
            let Some((_, server)) = rows.next() else { break };
            format.print_line(&table.row(&server.id, found.map_err(complain)?))?;
        }
    }
    Ok(())
}

fn status(
    table: &CheckTable,
    broken: usize,
    servers: &[Arc<Manifest>],
    selection: &ServerSelection,
) -> anyhow::Result<Status> {
    if table.failed() + broken > 0 {
        return Ok(Status::Failed);
    }
    let absent = table.with(|found| matches!(found, ServerCheck::NotSetUp(_)));
    let named: Vec<&str> = absent.into_iter().filter(|id| selection.names(id)).collect();
    if named.is_empty() {
        return Ok(Status::Done);
    }
    let those = servers.iter().filter(|server| named.contains(&server.id.as_str()));
    Err(Complaint::environment(format!("not checked, because they are not set up: {}", named.join(" ")))
        .hint(format!("set them up with: {}", remedy(those)))
        .into())
}

/// Checks that the servers can be tested as requested. For a server given by id a problem is an error; for one of many
/// it is a finding.
fn check_selection(
    servers: &[Arc<Manifest>],
    arguments: &Arguments,
    catalogue: &Catalogue,
) -> anyhow::Result<()> {
    let form = arguments.form.as_str();
    let no_server_has_it = servers.iter().all(|server| server.form(form).is_none());
    for server in servers {
        let is_named = arguments.selection.names(&server.id);
        if is_named || no_server_has_it {
            check_form(server, form)?;
        }
        if is_named {
            check_workloads(server, catalogue)?;
        }
    }
    Ok(())
}
