//! `paceline site`: the pages of stored results as files, for any file server.
//!
//! The web crate makes the pages; this command finds the results, as `paceline view` does, and reports.

use super::view::{Source, complain};
use crate::exit::{Status, say};
use paceline_stats::{bytes_text, counted};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  paceline site history -o public                 the rounds stored with the project
  paceline site results -o public                 exported rounds in results/MACHINE/ROUND/
  python3 -m http.server -b 127.0.0.1 -d public   look at it before it is published";

/// Flags of `paceline site`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    /// The folder to write; a site in it is replaced
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

/// Writes the site.
pub fn run(arguments: Arguments) -> anyhow::Result<Status> {
    let library = arguments.source.library()?;
    let mut reading = |round: &str| say(&format!("reading {round}"));
    let contents = paceline_web::write_site(&library, &arguments.output, &mut reading).map_err(complain)?;
    let amounts = [
        counted(contents.rounds as u64, "round", "rounds"),
        counted(contents.runs as u64, "run", "runs"),
        counted(contents.files as u64, "page", "pages"),
        bytes_text(contents.bytes as f64),
    ];
    say(&format!("{}: {}", arguments.output.display(), amounts.join(", ")));
    Ok(Status::Done)
}
