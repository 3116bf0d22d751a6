//! The load generator of a round: chosen when the round begins, and the same until its end.
//!
//! Called by `open.rs` before any trial runs. Resuming a round with another generator is refused, since its trials
//! would be in the same tables. A command from the store runs only after the user has confirmed it: another person may
//! have written the store. The lab starts generators and parses their output.

use crate::exit::Complaint;
use crate::lab_folders::{complain, shepherd_command};
use paceline_lab::{LabError, LoadGenerator, generator, generator_command, is_built_in, missing_program};
use paceline_record::Round;
use std::io::{BufRead as _, IsTerminal as _, Write as _};

/// The generator of the round, or the requested one, which is then noted in the round. An unusable generator is
/// reported here, before anything is kept.
pub fn of_round(round: &mut Round, requested: Option<&str>) -> anyhow::Result<Box<dyn LoadGenerator + Send>> {
    let command = chosen(round, requested)?;
    // `paceline run` is this program, like the shepherd.
    let own = &shepherd_command()?[..1];
    let made = generator(Some(&command), own);
    // If the command itself is wrong, report that first.
    let is_understood = matches!(made, Ok(_) | Err(LabError::Spawn { .. }));
    if is_understood && let Some(absent) = missing_program(&command) {
        let what = format!("--generator: program `{absent}` not found");
        return Err(Complaint::usage(what).hint("install it, or give its full path").into());
    }
    let generator = made.map_err(complain)?;
    round.generator = Some(command);
    Ok(generator)
}

fn chosen(round: &Round, requested: Option<&str>) -> anyhow::Result<String> {
    match (&round.generator, requested) {
        (None, requested) => Ok(generator_command(requested)),
        (Some(kept), None) if is_built_in(kept) => Ok(kept.clone()),
        (Some(kept), None) => confirmed(&round.id, kept),
        (Some(kept), Some(requested)) if *kept == generator_command(Some(requested)) => Ok(kept.clone()),
        (Some(kept), Some(requested)) => {
            let what = format!(
                "--generator {requested:?}: round {} was started with another generator, {kept:?}",
                round.id
            );
            Err(Complaint::usage(what)
                .hint("remove --generator to continue the round with its own generator, or remove --resume to begin a new round")
                .into())
        }
    }
}

/// A command of a resumed round that is not part of this program: it is shown, and runs only if the user confirms.
fn confirmed(round: &str, kept: &str) -> anyhow::Result<String> {
    // As a Rust string literal: control characters in it do not reach the terminal.
    let what = format!("round {round} was measured with this load generator command: {kept:?}");
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Complaint::usage(format!("{what}; it needs your confirmation, but there is no terminal"))
            .hint("this command was read from the store and may come from another user: if you trust it, add --generator with exactly this command")
            .into());
    }
    write!(std::io::stderr(), "{what}\nThis command comes from the store. Run it? [y/N] ")?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(kept.to_owned()),
        _ => Err(Complaint::usage(
            "the load generator of this round was not started: its command was not confirmed",
        )
        .into()),
    }
}
