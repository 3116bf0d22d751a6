//! The binary: flags, printing, error rendering and exit codes. The measurements are in the crates below.
//!
//! `commands` has one module per command; the other modules are shared by several commands. The hidden commands are for
//! this program only: the self-test starts the reference server, the lab starts shepherds and nodes, and `run
//! --loaders` starts loaders.

mod commands;
mod descriptors;
mod documents;
mod exit;
mod file;
mod help;
mod lab_folders;
mod masked_argv;
mod reference;
mod store_location;
mod terminal;
mod usage;

use clap::{CommandFactory as _, Parser, Subcommand};
use std::process::ExitCode;

/// How fast is an HTTP server, what does it cost, and can the number be trusted?
#[derive(Parser)]
#[command(name = "paceline", version, about, max_term_width = 100, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The commands, in the order in which a new user needs them.
#[derive(Subcommand)]
enum Command {
    /// Send requests to a URL and report rate, times and errors
    Run(Box<commands::run::Arguments>),
    /// The servers under test: list, set up, build, check, serve
    Lab(commands::lab::Arguments),
    /// Measure servers x workloads x loads repeatedly, and store the results
    Round(Box<commands::round::Arguments>),
    /// Find the highest rate that meets an objective
    Capacity(Box<commands::experiment::capacity::Arguments>),
    /// Explain what limits a server: its limit, where time goes, what to try
    Why(Box<commands::experiment::why::Arguments>),
    /// Test whether the second of two servers is faster, slower or equivalent
    Compare(Box<commands::experiment::compare::Arguments>),
    /// Fail if a server is slower than its baseline, for CI
    Gate(Box<commands::experiment::gate::Arguments>),
    /// Show stored results as tables, files or charts
    Report(commands::report::Arguments),
    /// Check, export, import, prune or delete stored results
    Store(commands::store::Arguments),
    /// Find what cannot be right in results of other programs and boards
    Audit(commands::audit::Arguments),
    /// Show stored results in a browser
    View(commands::view::Arguments),
    /// Write the pages of stored results as files, for any file server
    Site(commands::site::Arguments),
    /// Check how accurate Paceline is on this machine
    Selftest(commands::selftest::Arguments),
    /// Check this machine's settings for good measurements
    Doctor(commands::doctor::Arguments),
    /// Measure with the command line and the report of ab (ApacheBench)
    Ab(commands::tools::Arguments),
    /// Measure with the command line and the report of siege
    Siege(commands::tools::Arguments),
    /// Measure with the command line and the report of hey
    Hey(commands::tools::Arguments),
    /// Measure with the command line and the report of wrk
    Wrk(commands::tools::Arguments),
    /// Measure with the command line and the report of wrk2
    Wrk2(commands::tools::Arguments),
    /// Explain a verdict or a metric
    Explain(commands::explain::Arguments),
    /// Print a completion script for a shell
    Completions(commands::completions::Arguments),
    /// Print the manual page, or write the pages of all commands
    Man(commands::man::Arguments),
    /// Internal: serve with known service times; started by `paceline selftest`
    #[command(hide = true)]
    ReferenceServer(commands::selftest::ServerArguments),
    /// Internal: carry out a share of a run; started by `paceline run --loaders`
    #[command(hide = true)]
    Loader,
    /// Internal: start servers on this machine for a lab on another machine; started by `paceline round --on`
    #[command(hide = true)]
    Node,
    /// Internal: supervise one launch of a server; started by the lab
    #[command(hide = true)]
    Shepherd(commands::shepherd::Arguments),
}

fn main() -> ExitCode {
    // If this fails, a file that grows too large ends the program, as it would others.
    let _ = paceline_host::system::survive_size_limit();
    let outcome = match usage::read::<Arguments>().command {
        Command::Run(arguments) => commands::run::run(*arguments),
        Command::Lab(arguments) => commands::lab::run(arguments),
        Command::Round(arguments) => commands::round::run(*arguments),
        Command::Capacity(arguments) => commands::experiment::capacity::run(*arguments),
        Command::Why(arguments) => commands::experiment::why::run(*arguments),
        Command::Compare(arguments) => commands::experiment::compare::run(*arguments),
        Command::Gate(arguments) => commands::experiment::gate::run(*arguments),
        Command::Report(arguments) => commands::report::run(arguments),
        Command::Store(arguments) => commands::store::run(arguments),
        Command::Audit(arguments) => commands::audit::run(&arguments),
        Command::View(arguments) => commands::view::run(arguments),
        Command::Site(arguments) => commands::site::run(arguments),
        Command::Selftest(arguments) => commands::selftest::run(arguments),
        Command::ReferenceServer(arguments) => commands::selftest::serve(arguments),
        Command::Doctor(arguments) => commands::doctor::run(arguments),
        Command::Ab(arguments) => return commands::tools::run("ab", &arguments),
        Command::Siege(arguments) => return commands::tools::run("siege", &arguments),
        Command::Hey(arguments) => return commands::tools::run("hey", &arguments),
        Command::Wrk(arguments) => return commands::tools::run("wrk", &arguments),
        Command::Wrk2(arguments) => return commands::tools::run("wrk2", &arguments),
        Command::Explain(arguments) => commands::explain::run(&arguments),
        Command::Completions(arguments) => commands::completions::run(&arguments, Arguments::command()),
        Command::Man(arguments) => commands::man::run(&arguments, Arguments::command()),
        Command::Loader => commands::run::loader(),
        Command::Node => commands::node::run(),
        Command::Shepherd(arguments) => commands::shepherd::run(arguments),
    };
    exit::code_of(outcome)
}
