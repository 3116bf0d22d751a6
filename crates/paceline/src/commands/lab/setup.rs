//! `paceline lab setup`: says what it will install and fetch, then does it.

use super::{Chosen, for_each, warn, workshop};
use crate::exit::Status;
use crate::places::complain;
use paceline_lab::{Catalogue, LabError, Made, SetupPlan, Workshop};
use std::io::Write as _;

/// Flags of `paceline lab setup`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  paceline lab setup --all --dry-run    what would be installed and fetched
  paceline lab setup go-nethttp         what one server needs
  paceline lab setup 'python-*'         what every Python server needs")]
pub struct Arguments {
    #[command(flatten)]
    chosen: Chosen,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Fetch again what has been fetched
    #[arg(long)]
    again: bool,
}

/// Says, then does. What has been done before is not done again.
pub fn run(arguments: &Arguments, catalogue: &Catalogue) -> anyhow::Result<Status> {
    let servers = arguments.chosen.of(catalogue)?;
    let broken = arguments.chosen.tell_broken(catalogue);
    let workshop = workshop(catalogue)?;
    let plan = workshop.setup_plan(&servers, arguments.again).map_err(complain)?;
    std::io::stdout().write_all(described(&plan).as_bytes())?;
    if arguments.dry_run {
        return Ok(Status::Done);
    }
    let installed = install(&workshop, &plan)?;
    let failed = for_each(&servers, |server| {
        Ok(match workshop.set_up(server, arguments.again)? {
            Made::Already => "set up".into(),
            Made::Now(took) => format!("set up in {:.1} s", took.as_secs_f64()),
        })
    })?;
    Ok(if failed + broken > 0 || !installed { Status::Environment } else { Status::Done })
}

/// Whether every package is there now. Where this is not root the command to run is told, and what needs no package
/// goes on.
fn install(workshop: &Workshop, plan: &SetupPlan) -> anyhow::Result<bool> {
    match workshop.install_packages(plan) {
        Ok(Made::Already) => Ok(true),
        Ok(Made::Now(took)) => {
            writeln!(std::io::stdout(), "packages: installed in {:.1} s", took.as_secs_f64())?;
            Ok(true)
        }
        Err(missing @ LabError::PackagesMissing { .. }) => {
            warn(&missing.to_string());
            Ok(false)
        }
        Err(error) => Err(complain(error)),
    }
}

/// What will be done, and about how much it downloads.
fn described(plan: &SetupPlan) -> String {
    let mut text = String::new();
    if !plan.packages.is_empty() {
        let size = plan.package_bytes.map_or("of unknown size".into(), |bytes| megabytes(bytes as f64 / 1e6));
        text.push_str(&format!("packages, {size}: {}\n", plan.packages.join(" ")));
    }
    for server in &plan.servers {
        let size = server.download_mb.map_or("of unknown size".into(), megabytes);
        text.push_str(&format!("{}, {size}: {}\n", server.id, server.command));
    }
    if plan.is_empty() { "nothing to install or fetch\n".into() } else { text }
}

fn megabytes(mb: f64) -> String {
    format!("about {} MB", mb.ceil())
}
