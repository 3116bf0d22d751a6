//! `paceline lab`: being written.

use crate::exit::Status;

/// Flags of `paceline lab`.
#[derive(clap::Args)]
pub struct Arguments {}

/// Carries the command out.
pub fn run(_arguments: Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("not yet written")
}
