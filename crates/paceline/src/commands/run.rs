//! `paceline run`: being written.

use crate::exit::Status;

/// Flags of `paceline run`.
#[derive(clap::Args)]
pub struct Arguments {}

/// Carries the command out.
pub fn run(_arguments: Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("not yet written")
}
