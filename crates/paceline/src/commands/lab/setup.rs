//! `paceline lab setup`: prints what it will install and fetch, does it, and reports failures and totals.
//!
//! If one server fails, the others are still set up. Completed steps are not repeated.

use super::selection::{ServerSelection, working};
use crate::commands::format::PrintFormatFlag;
use crate::documents::{SetupCommand, SetupDocument, SetupPlanDocument};
use crate::exit::{Status, error_text, say};
use crate::lab_folders::{complain, server_user, user_notice};
use paceline_catalogue::{Catalogue, Manifest};
use paceline_lab::{LabError, Provisioner, ServerSetup, SetupPlan, StepOutcome};
use paceline_stats::{bytes_text, duration_text, span_text};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Flags of `paceline lab setup`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  paceline lab setup --all --dry-run  what would be installed and fetched
  paceline lab setup go-nethttp       what one server needs
  paceline lab setup 'python-*'       what every Python server needs
  paceline lab setup haproxy          a load balancer or database; --all and
                                      --plan include theirs

Exit status: 0 done, 2 usage, 3 something could not be set up (it is listed at
the end) or, with --dry-run, the user that servers run as cannot access a
program, 130 interrupted")]
pub struct Arguments {
    #[command(flatten)]
    selection: ServerSelection,
    /// Only print what would be done
    #[arg(long)]
    dry_run: bool,
    /// Run the [setup] commands again even if nothing has changed
    ///
    /// Debian packages are not installed again.
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    print: PrintFormatFlag,
}

impl Arguments {
    /// The set-up of one server.
    pub(super) fn of_server(id: &str) -> Self {
        let selection = ServerSelection::of_server(id);
        Self { selection, dry_run: false, again: false, print: PrintFormatFlag::text() }
    }
}

/// Why servers could not be set up, by id.
type Failures = BTreeMap<String, String>;

/// Prints the plan, carries it out, and prints the totals.
pub fn run(arguments: &Arguments, catalogue: &Catalogue) -> anyhow::Result<Status> {
    let servers = arguments.selection.with_others(catalogue)?;
    let broken = arguments.selection.print_broken(catalogue);
    // The commands that follow run servers as the same user, without repeating this.
    if let Some(notice) = user_notice(&catalogue.folders, server_user(&catalogue.folders)?.as_ref()) {
        say(&notice);
    }
    let provisioner = working(catalogue)?;
    let (begun, packages_before) = (Instant::now(), provisioner.packages_bytes());
    if !arguments.dry_run {
        provisioner.finish_packages().map_err(complain)?;
    }
    let format = arguments.print;
    let plan = plan(&provisioner, &servers, arguments)?;
    format.print_line(&described(&plan))?;
    if arguments.dry_run {
        format.print_document(&planned(&plan))?;
        return Ok(if plan.closed.is_empty() { Status::Done } else { Status::Environment });
    }
    let mut failures = install(&provisioner, &plan, format)?;
    let mut made_bytes = 0;
    for server in &servers {
        let shown = set_up(&provisioner, server, arguments.again, &mut failures)?;
        made_bytes += provisioner.made_bytes(server);
        format.print_line(&format!("{}: {shown}\n", server.id))?;
    }
    let grown = provisioner.packages_bytes().zip(packages_before).map(|(now, then)| now.saturating_sub(then));
    let sum =
        SetupTotals { servers: servers.len(), seconds: begun.elapsed().as_secs_f64(), made_bytes, grown };
    format.print_line(&sum.summary(&failures))?;
    let is_sound = failures.is_empty() && broken == 0;
    let done = servers.iter().map(|server| server.id.clone()).filter(|id| !failures.contains_key(id));
    format.print_document(&SetupDocument {
        set_up: done.collect(),
        took_s: sum.seconds,
        written_bytes: sum.made_bytes,
        packages_bytes: sum.grown,
        failed: failures,
    })?;
    Ok(if is_sound { Status::Done } else { Status::Environment })
}

/// The plan of what to do. If the package manager has no sizes, its index is updated first.
fn plan(
    provisioner: &Provisioner,
    servers: &[Arc<Manifest>],
    arguments: &Arguments,
) -> anyhow::Result<SetupPlan> {
    let plan = provisioner.setup_plan(servers, arguments.again).map_err(complain)?;
    if arguments.dry_run || plan.packages.is_empty() || plan.package_bytes.is_some() {
        return Ok(plan);
    }
    arguments.print.print_line("running apt-get update: the size of the packages is not known yet\n")?;
    match provisioner.update_packages() {
        Ok(_) => provisioner.setup_plan(servers, arguments.again).map_err(complain),
        Err(LabError::Interrupted) => Err(complain(LabError::Interrupted)),
        // Without root or network the installation will report the error.
        Err(_) => Ok(plan),
    }
}

/// Installs all packages in one call; if that fails, server by server, so that an unavailable package affects only the
/// servers that need it.
fn install(provisioner: &Provisioner, plan: &SetupPlan, format: PrintFormatFlag) -> anyhow::Result<Failures> {
    match provisioner.install_packages(plan) {
        Ok(StepOutcome::Already) => Ok(Failures::new()),
        Ok(StepOutcome::Now(took)) => {
            format.print_line(&format!("packages: installed in {}\n", duration_text(took)))?;
            Ok(Failures::new())
        }
        Err(LabError::Interrupted) => Err(complain(LabError::Interrupted)),
        Err(missing @ LabError::PackagesMissing { .. }) => {
            say(&missing.to_string());
            let why = |packages: &Vec<String>| format!("only root can install {}", packages.join(" "));
            Ok(plan.short_of.iter().map(|(id, packages)| (id.clone(), why(packages))).collect())
        }
        Err(error) if plan.short_of.len() > 1 => {
            say(&format!(
                "paceline: {}\n  installing the packages of each server separately",
                error_text(&error)
            ));
            one_by_one(provisioner, plan, format)
        }
        Err(error) => Ok(plan.short_of.keys().map(|id| (id.clone(), error_text(&error))).collect()),
    }
}

fn one_by_one(
    provisioner: &Provisioner,
    plan: &SetupPlan,
    format: PrintFormatFlag,
) -> anyhow::Result<Failures> {
    let mut failures = Failures::new();
    for (id, packages) in &plan.short_of {
        match provisioner.install_some(packages) {
            Ok(_) => format.print_line(&format!("{id}: packages installed\n"))?,
            Err(LabError::Interrupted) => return Err(complain(LabError::Interrupted)),
            Err(error) => {
                failures
                    .insert(id.clone(), format!("packages {}: {}", packages.join(" "), error_text(&error)));
            }
        }
    }
    Ok(failures)
}

/// Sets one server up and reports the result. It may work even if its packages failed: a program may be installed by
/// other means.
fn set_up(
    provisioner: &Provisioner,
    server: &Manifest,
    again: bool,
    failures: &mut Failures,
) -> anyhow::Result<String> {
    let size = || bytes_text(provisioner.made_bytes(server) as f64);
    match provisioner.set_up(server, again) {
        Ok(StepOutcome::Already) if failures.contains_key(&server.id) => Ok("failed, see below".into()),
        Ok(StepOutcome::Already) if server.setup.is_none() => Ok("nothing to set up".into()),
        Ok(StepOutcome::Already) => Ok("already set up".into()),
        Ok(StepOutcome::Now(took)) => Ok(format!("set up in {}, {} on disk", duration_text(took), size())),
        Err(LabError::Interrupted) => Err(complain(LabError::Interrupted)),
        Err(error) => {
            // The reason why a package could not be installed is more useful than its missing program.
            failures.entry(server.id.clone()).or_insert_with(|| {
                // The hint of a server that is not set up is to run this command.
                let hint = error.hint().filter(|_| !matches!(error, LabError::NotSetUp { .. }));
                let hint = hint.map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
                let (reported, id) = (error_text(&error), &server.id);
                let twice = [format!("{id} is not set up: "), format!("{id}: ")];
                let why = twice.iter().find_map(|name| reported.strip_prefix(name)).unwrap_or(&reported);
                format!("{why}{hint}")
            });
            Ok("failed, see below".into())
        }
    }
}

/// The steps, and about how much they download.
fn described(plan: &SetupPlan) -> String {
    let mut text = String::new();
    for (id, tools) in &plan.closed {
        text.push_str(&format!("{id} cannot use {}\n", tools.join(", ")));
    }
    if plan.is_empty() {
        return text + "nothing to install or fetch\n";
    }
    if !plan.packages.is_empty() {
        let size = plan.package_bytes.map_or("of unknown size".into(), |bytes| about_mb(bytes as f64 / 1e6));
        text.push_str(&format!("packages, {size}: {}\n", plan.packages.join(" ")));
    }
    for server in &plan.servers {
        let size = server.download_mb.map_or("of unknown size".into(), about_mb);
        text.push_str(&format!("{}, {size}: {}\n", server.id, server.command));
    }
    let size = match plan.download_mb() {
        (Some(mb), false) => about_mb(mb),
        (Some(mb), true) => format!("{}, and more of unknown size", about_mb(mb)),
        (None, _) => "unknown size".into(),
    };
    format!("{text}to download: {size}\n")
}

/// The plan for programs.
fn planned(plan: &SetupPlan) -> SetupPlanDocument {
    let command = |server: &ServerSetup| SetupCommand {
        server: server.id.clone(),
        command: server.command.clone(),
        download_mb: server.download_mb,
    };
    SetupPlanDocument {
        packages: plan.packages.clone(),
        packages_bytes: plan.package_bytes,
        commands: plan.servers.iter().map(command).collect(),
        inaccessible_tools: plan.closed.clone(),
    }
}

/// The totals.
struct SetupTotals {
    servers: usize,
    seconds: f64,
    made_bytes: u64,
    /// By how much the installed packages grew, if known.
    grown: Option<u64>,
}

impl SetupTotals {
    fn summary(&self, failures: &Failures) -> String {
        let mut text = String::new();
        for (id, why) in failures {
            text.push_str(&format!("\n{id} is not set up: {why}\n"));
        }
        let packages = self
            .grown
            .map_or(String::new(), |grown| format!(", {} of new packages", bytes_text(grown as f64)));
        let failed = failures.len();
        text + &format!(
            "\n{} set up, {failed} failed; {}; {} written to disk{packages}\n",
            self.servers - failed.min(self.servers),
            span_text(self.seconds.round() as u64),
            bytes_text(self.made_bytes as f64),
        )
    }
}

fn about_mb(mb: f64) -> String {
    format!("about {} MB", mb.ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_totals_name_failures_and_their_causes() {
        let failures = Failures::from([("go-one".to_owned(), "only root can install golang-go".to_owned())]);
        let sum =
            SetupTotals { servers: 3, seconds: 90.0, made_bytes: 12_300_000, grown: Some(1_240_000_000) };
        let expected = "\ngo-one is not set up: only root can install golang-go\n\n\
                        2 set up, 1 failed; 1 min 30 s; 12.3 MB written to disk, 1.24 GB of new packages\n";
        assert_eq!(sum.summary(&failures), expected);
    }
}
