//! `paceline man`: the manual pages, generated from the flag declarations.
//!
//! Also called by `scripts/package`, with a folder.

use crate::exit::{Complaint, Status, print};
use anyhow::Context as _;
use paceline_escape::Printable;
use std::path::PathBuf;

/// Flags of `paceline man`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Write one page per command (paceline-run.1, ...) to this folder
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

/// Prints the page of `command`, or writes all pages.
pub fn run(arguments: &Arguments, command: clap::Command) -> anyhow::Result<Status> {
    match &arguments.to {
        Some(folder) => {
            let failed =
                || Complaint::environment(format!("cannot write manual pages to {}", folder.display()));
            std::fs::create_dir_all(folder).with_context(failed)?;
            clap_mangen::generate_to(command, folder).with_context(failed)?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            print(Printable::generated(String::from_utf8_lossy(&page).into_owned()))?;
        }
    }
    Ok(Status::Done)
}
