//! `paceline shepherd`: supervises one command of the lab. Started by the lab, not by users.
//!
//! A thin wrapper around [`paceline_host::shepherd::watch`]. This code must not start a thread: the shepherd forks.

use crate::exit::Status;

/// Flags of `paceline shepherd`: none. The order is read from standard input.
#[derive(clap::Args)]
pub struct Arguments {}

/// Reads an order and carries it out.
pub fn run(_arguments: Arguments) -> anyhow::Result<Status> {
    paceline_host::shepherd::watch()?;
    Ok(Status::Done)
}
