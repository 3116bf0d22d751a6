//! `paceline lab build`: builds servers where something has changed, and shows what version came out.
//!
//! Called by `lab`. How a change is noticed and how a build runs is the workshop's, in the lab crate. What has never
//! been set up is not set up here: that is `lab setup`, which says beforehand what it installs.

use super::{Chosen, for_each, working};
use crate::exit::Status;
use paceline_catalogue::Catalogue;
use paceline_lab::Made;

/// Flags of `paceline lab build`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  paceline lab build --all              every server, where something has changed
  paceline lab build rust-hyper --again one server, changed or not")]
pub struct Arguments {
    #[command(flatten)]
    chosen: Chosen,
    /// Build again what has not changed
    #[arg(long)]
    again: bool,
}

/// Builds each server and shows the receipt of its version. One failure keeps no other server from its build.
pub fn run(arguments: &Arguments, catalogue: &Catalogue) -> anyhow::Result<Status> {
    let servers = arguments.chosen.of(catalogue)?;
    let broken = arguments.chosen.tell_broken(catalogue);
    let workshop = working(catalogue)?;
    let failed = for_each(&servers, |server| {
        let made = workshop.build(server, arguments.again)?;
        let versions = workshop.versions(server)?.lines().collect::<Vec<_>>().join("; ");
        Ok(match made {
            Made::Already => format!("up to date ({versions})"),
            Made::Now(took) => format!("built in {:.1} s ({versions})", took.as_secs_f64()),
        })
    })?;
    Ok(if failed + broken > 0 { Status::Environment } else { Status::Done })
}
