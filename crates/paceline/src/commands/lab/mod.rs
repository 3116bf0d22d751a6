//! `paceline lab`: lists, sets up, builds, checks and serves the servers under test.
//!
//! Each subcommand has a file or folder; `selection.rs` has what they share. The lab crate does the work. Only `try`
//! measures: it carries out a round.

mod build;
mod check;
mod clean;
mod import;
mod list;
mod new;
mod selection;
pub mod serve;
mod setup;
mod try_server;

use crate::exit::Status;
use crate::lab_folders::FolderArguments;
use clap::Subcommand;

/// Flags of `paceline lab`.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    folders: FolderArguments,
    #[command(subcommand)]
    command: LabCommand,
}

/// The steps of a server's life, in order.
#[derive(Subcommand)]
enum LabCommand {
    /// Write a manifest for a new server, to be filled in
    New(new::Arguments),
    /// Write a manifest for each entry of another board
    Import(import::Arguments),
    /// Show every server with its workloads and state
    List(list::Arguments),
    /// List what servers need, then download and install it
    Setup(setup::Arguments),
    /// Build servers if anything has changed
    Build(build::Arguments),
    /// Send servers every request of their workloads and compare every response
    Check(check::Arguments),
    /// Check and measure a server from any folder, and write a page and a badge to share
    Try(try_server::Arguments),
    /// Start one server for manual inspection
    Serve(serve::Arguments),
    /// Remove files that rounds and servers left behind
    Clean(clean::Arguments),
}

/// Runs the command.
pub fn run(arguments: Arguments) -> anyhow::Result<Status> {
    let catalogue = arguments.folders.catalogue()?;
    match arguments.command {
        LabCommand::New(arguments) => new::run(&arguments, &catalogue),
        LabCommand::Import(arguments) => import::run(&arguments, &catalogue),
        LabCommand::List(arguments) => list::run(&arguments, &catalogue),
        LabCommand::Setup(arguments) => setup::run(&arguments, &catalogue),
        LabCommand::Build(arguments) => build::run(&arguments, &catalogue),
        LabCommand::Check(arguments) => check::run(&arguments, &catalogue),
        LabCommand::Try(arguments) => try_server::run(&arguments, catalogue),
        LabCommand::Serve(arguments) => serve::run(&arguments, &catalogue),
        LabCommand::Clean(arguments) => clean::run(&arguments, &catalogue),
    }
}
