//! Keeps the help of a command with many flags short enough to read.
//!
//! `-h` prints the usual flags. `--help` prints everything; where that is long, only the first paragraph about each flag,
//! beside it instead of below. The manual pages and `docs/reference/flags.md` always have everything.

use clap::builder::{PossibleValue, Resettable, StyledStr};
use clap::{Arg, Command};

/// The most lines of `--help`: five screens.
const MAX_LINES: usize = 200;

/// The command and its subcommands with the help that `--help` prints. `page` is the name of the command's manual page.
pub fn shortened(mut command: Command, page: &str) -> Command {
    if command.clone().render_long_help().to_string().lines().count() > MAX_LINES {
        let end = command.get_after_long_help().or(command.get_after_help());
        let end = end.map(|text| format!("{text}\n\n")).unwrap_or_default();
        command = command
            .mut_args(first_paragraph)
            .long_about(Resettable::<StyledStr>::Reset)
            .after_long_help(Resettable::<StyledStr>::Reset)
            .after_help(format!("{end}-h prints the usual flags only. More about each flag: man {page}"));
    }
    command.mut_subcommands(|inner| {
        let page = format!("{page}-{}", inner.get_name());
        shortened(inner, &page)
    })
}

/// A flag with its first paragraph, and its values without their descriptions.
fn first_paragraph(arg: Arg) -> Arg {
    let arg = arg.long_help(Resettable::<StyledStr>::Reset).hide_short_help(false);
    let values = arg.get_possible_values();
    if values.is_empty() || arg.is_hide_possible_values_set() || !arg.get_action().takes_values() {
        return arg;
    }
    let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let help = format!("{help} [values: {}]", names.join(", "));
    arg.help(help).hide_possible_values(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    /// What `--help` prints of the command that these words name; nothing of one that reads the arguments of another
    /// tool.
    fn help(words: &[String]) -> String {
        let words = words.iter().map(String::as_str).chain(["--help"]);
        let command = shortened(crate::Arguments::command(), "paceline");
        command.try_get_matches_from(words).err().map_or_else(String::new, |error| error.render().to_string())
    }

    fn check(command: &Command, words: &[String]) {
        let text = help(words);
        let lines = text.lines().count();
        assert!(lines <= MAX_LINES, "{words:?}: {lines} lines:\n{text}");
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let Some(long) = arg.get_long() else { continue };
            assert!(text.contains(&format!("--{long}")), "{words:?}: no --{long}");
        }
        for inner in command.get_subcommands() {
            check(inner, &[words, &[inner.get_name().to_owned()]].concat());
        }
    }

    #[test]
    fn every_help_has_every_flag_and_at_most_200_lines() {
        check(&crate::Arguments::command(), &["paceline".to_owned()]);
    }

    #[test]
    fn a_shortened_help_says_where_the_rest_is() {
        let run = help(&["paceline", "run"].map(str::to_owned));
        assert!(run.trim_end().ends_with("man paceline-run"), "{run}");
        assert!(run.contains("[values: text, json") && run.contains("Examples:"), "{run}");
    }
}
