//! `paceline completions SHELL`: a completion script on standard output.
//!
//! The script is generated from the flag declarations, so that it knows every flag. Installing it is left to the user.

use crate::exit::{Status, print};
use paceline_escape::Printable;

/// Flags of `paceline completions`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The shell to complete in
    shell: clap_complete::Shell,
}

/// Writes the script for `command`.
pub fn run(arguments: &Arguments, mut command: clap::Command) -> anyhow::Result<Status> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "paceline", &mut script);
    print(Printable::generated(String::from_utf8_lossy(&script).into_owned()))?;
    Ok(Status::Done)
}
