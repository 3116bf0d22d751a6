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
    ("ab", |arguments, inputs| {
        boxed(AbCommand::parse(arguments).and_then(|command| command.with_body(inputs)))
    }),
    ("hey", |arguments, inputs| {
        boxed(HeyCommand::parse(arguments).and_then(|command| command.with_body(inputs)))
    }),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What the original tools print (ab 2.3, wrk 4.1.0, wrk2 4.0.0, siege 4.0.7, hey 0.1.4), and their exit status.
    #[test]
    fn a_name_without_an_address_is_reported_as_by_the_tool() {
        for (tool, flags, status, said) in [
            ("ab", "-n 4", 50, "apr_sockaddr_info_get() for no.invalid: unknown (670002)\n"),
            ("wrk", "-c 2 -t 1", 1, "unable to resolve no.invalid:http unknown\n"),
            ("wrk2", "-c 2 -t 1 -R 5", 1, "unable to resolve no.invalid:http unknown\n"),
            ("siege", "-c 2 -r 2", 0, "[error] unknown\n\nTransactions:\t\t           0 hits\n"),
            (
                "hey",
                "-n 4 -c 2",
                0,
                "  [4]\tGet \"http://no.invalid/\": dial tcp: lookup no.invalid: no such host",
            ),
        ] {
            let line: Vec<String> =
                format!("{flags} http://no.invalid/").split(' ').map(str::to_owned).collect();
            let Ok(command) = tool_command(tool, &line, &NoFiles).unwrap() else { panic!("{tool}") };
            let output = command.unresolved("no.invalid", "unknown");
            let text = output.stdout + &output.stderr;
            assert!(text.contains(said) && output.status == status, "{tool}: {text}");
        }
    }

    #[test]
    fn a_body_that_cannot_be_read_is_reported_as_by_the_tool() {
        for (tool, line, said) in [
            ("ab", "-p none.txt http://h/", "ab: Could not open POST data file (none.txt): No such file\n"),
            ("hey", "-D none.txt http://h/", "open none.txt: no such file\n"),
        ] {
            let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let output = tool_command(tool, &line, &NoFiles).unwrap().err().unwrap();
            assert_eq!((output.stderr.as_str(), output.status), (said, 1));
        }
    }

    struct NoFiles;

    impl ToolInputs for NoFiles {
        fn read(&self, _: &str) -> Result<String, String> {
            Err("No such file".to_owned())
        }

        fn variable(&self, _: &str) -> Option<String> {
            None
        }
    }
}
