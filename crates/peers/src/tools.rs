//! The tools whose command lines are understood, by name.

use crate::ab::AbCommand;
use crate::hey::HeyCommand;
use crate::siege::SiegeCommand;
use crate::tool::{ToolCommand, ToolInputs, ToolOutput};
use crate::wrk::{Variant, WrkCommand};

/// Parses the command line of a tool, by its name; `None` for another name.
///
/// # Errors
/// What the tool prints instead of a run.
pub fn tool_command(
    name: &str,
    arguments: &[String],
    inputs: &dyn ToolInputs,
) -> Option<Result<Box<dyn ToolCommand>, ToolOutput>> {
    let (_, parse) = TOOLS.iter().find(|(tool, _)| *tool == name)?;
    Some(parse(arguments, inputs))
}

type Parse = fn(&[String], &dyn ToolInputs) -> Result<Box<dyn ToolCommand>, ToolOutput>;

/// The tools whose command lines are understood.
const TOOLS: [(&str, Parse); 5] = [
    ("ab", |arguments, _| boxed(AbCommand::parse(arguments))),
    ("hey", |arguments, _| boxed(HeyCommand::parse(arguments))),
    ("siege", |arguments, inputs| boxed(SiegeCommand::parse(arguments, inputs))),
    ("wrk", |arguments, _| boxed(WrkCommand::parse(Variant::Wrk, arguments))),
    ("wrk2", |arguments, _| boxed(WrkCommand::parse(Variant::Wrk2, arguments))),
];

/// The names of those tools.
pub fn tools() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(name, _)| *name)
}

fn boxed<C: ToolCommand + 'static>(
    parsed: Result<C, ToolOutput>,
) -> Result<Box<dyn ToolCommand>, ToolOutput> {
    parsed.map(|command| Box::new(command) as Box<dyn ToolCommand>)
}
