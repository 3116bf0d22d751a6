//! `paceline completions SHELL`: a completion script on standard output.
//!
//! Called by `main`. The script is made of the same declarations that read the command line, so that it knows every
//! flag. Putting it where the shell looks for it is left to the user.

use crate::exit::{Status, print};
use clap::CommandFactory as _;
use paceline_escape::Printable;

/// Flags of `paceline completions`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The shell to complete in
    shell: clap_complete::Shell,
}

/// Writes the script.
pub fn run(arguments: Arguments) -> anyhow::Result<Status> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::Arguments::command(), "paceline", &mut script);
    print(Printable::generated(String::from_utf8_lossy(&script).into_owned()))?;
    Ok(Status::Done)
}
