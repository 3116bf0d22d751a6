//! `paceline node`: starts, samples and stops servers on this machine for a lab on another. Started by the lab.
//!
//! A thin wrapper around [`paceline_lab::serve_node`].

use crate::exit::Status;
use crate::lab_folders::shepherd_command;
use anyhow::Context as _;
use std::io::BufReader;

/// Serves the lab at the other end of the standard streams until they end.
pub fn run() -> anyhow::Result<Status> {
    let input = BufReader::new(std::io::stdin());
    let environment = paceline_run::environment::read;
    paceline_lab::serve_node(input, std::io::stdout(), shepherd_command()?, environment)
        .context("cannot run as a node of a round")?;
    Ok(Status::Done)
}
