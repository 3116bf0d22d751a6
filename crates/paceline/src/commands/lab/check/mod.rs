//! `paceline lab check`: starts servers, sends every request that their workloads and the HTTP checks require, and
//! prints deviations.
//!
//! It prints one table row per server as each is finished, then the differences. The checks are in the lab crate
//! (`examine`).

mod server;
mod table;

use super::selection::{ServerSelection, check_form, check_workloads, working};
use crate::commands::format::PrintFormatFlag;
use crate::exit::{Complaint, Status, fitted_lines, print};
use crate::lab_folders::{complain, server_user, shepherd_command};
use anyhow::Context as _;
use paceline_catalogue::{Catalogue, Manifest, fresh_seed, parse_duration};
use paceline_host::Interrupt;
use paceline_host::shepherd::TrackingMethod;
use paceline_lab::{ExamineOptions, Starter};
use server::{Checker, ServerCheck};
use std::sync::Arc;
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
    chosen: ServerSelection,
    /// The form to start servers in: single (one process) or cores (all cores)
    #[arg(long, default_value = "single", value_name = "FORM")]
    form: String,
    /// How long the check keeps a connection idle
    #[arg(long, default_value = "6s", value_name = "T", value_parser = parse_duration)]
    idle: Duration,
    /// Seed of the random numbers [default: chosen at random and printed]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Show passed checks too
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    print: PrintFormatFlag,
}

/// For each server in turn: builds it if anything changed, starts, checks and stops it.
pub fn run(arguments: &Arguments, catalogue: &Catalogue) -> anyhow::Result<Status> {
    let servers = arguments.chosen.servers_in(catalogue)?;
    check_selection(&servers, arguments, catalogue)?;
    let broken = arguments.chosen.print_broken(catalogue);
    let interrupt = Interrupt::listen().context("cannot install the handler for Ctrl-C (SIGINT)")?;
    let logs = Some(catalogue.folders.state_dir.join("logs"));
    let seed = arguments.seed.unwrap_or_else(fresh_seed);
    let user = server_user(&catalogue.folders)?;
    let checker = Checker {
        catalogue,
        provisioner: &working(catalogue)?,
        starter: &Starter {
            shepherd: shepherd_command()?,
            guard: TrackingMethod::Namespace,
            logs,
            interrupt,
            user,
        },
        form: &arguments.form,
        how: ExamineOptions { idle: arguments.idle, seed },
    };
    let mut table = CheckTable::new(servers.iter().map(|server| server.id.as_str()), arguments.verbose);
    let outcome = each(&servers, &checker, &mut table, arguments.print);
    if !arguments.print.is_json() {
        print(&fitted_lines(&table.below(seed)))?;
    }
    outcome?;
    arguments.print.print_document(&table.document(seed))?;
    status(&table, broken, &arguments.chosen)
}

/// Checks each server and prints its row; an interruption ends the loop.
fn each(
    servers: &[Arc<Manifest>],
    checker: &Checker<'_>,
    table: &mut CheckTable,
    format: PrintFormatFlag,
) -> anyhow::Result<()> {
    format.print_line(&table.head())?;
    for server in servers {
        let begun = Instant::now();
        let found = checker.check(server).map_err(complain)?;
        format.print_line(&table.row(&server.id, found, begun.elapsed()))?;
    }
    Ok(())
}

fn status(table: &CheckTable, broken: usize, chosen: &ServerSelection) -> anyhow::Result<Status> {
    if table.failed() + broken > 0 {
        return Ok(Status::Failed);
    }
    let absent = table.with(|found| matches!(found, ServerCheck::NotSetUp(_)));
    let named: Vec<&str> = absent.into_iter().filter(|id| chosen.names(id)).collect();
    if named.is_empty() {
        return Ok(Status::Done);
    }
    let names = named.join(" ");
    Err(Complaint::environment(format!("not checked, because they are not set up: {names}"))
        .hint(format!("set them up with: paceline lab setup {names}"))
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
        let is_named = arguments.chosen.names(&server.id);
        if is_named || no_server_has_it {
            check_form(server, form)?;
        }
        if is_named {
            check_workloads(server, catalogue)?;
        }
    }
    Ok(())
}
