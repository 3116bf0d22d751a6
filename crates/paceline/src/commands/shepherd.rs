//! `paceline shepherd`: watches over one command of the lab's. Started by the lab, never by people.
//!
//! A thin door to [`paceline_host::shepherd::watch`]. Nothing here may start a thread: the shepherd forks.

use crate::exit::Status;

/// Flags of `paceline shepherd`: none, the order comes on standard input.
#[derive(clap::Args)]
pub struct Arguments {}

/// Takes an order and carries it out to the end.
pub fn run(_arguments: Arguments) -> anyhow::Result<Status> {
    paceline_host::shepherd::watch()?;
    Ok(Status::Done)
}
