//! Parses the command line.
//!
//! Called by `main`. clap treats a negative value as an unknown flag and gives an unhelpful tip; such values get a
//! clear message here. All other usage errors come from clap and are printed in the form of all other errors.

use crate::documents::{HelpDocument, HelpFlag};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Parser};
use paceline_escape::TerminalText;
use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};

/// Parses the arguments of this process, or prints the error and exits.
pub fn read<Arguments: Parser>() -> Arguments {
    parse().unwrap_or_else(|error: clap::Error| {
        // The arguments may include invalid UTF-8.
        let lossy = |argument: std::ffi::OsString| argument.to_string_lossy().into_owned();
        let given: Vec<String> = std::env::args_os().map(lossy).collect();
        let what = negative_value(&error, &given, &Arguments::command());
        match what.or_else(|| foreign_flag(&error, &given)) {
            Some(what) => {
                crate::exit::print_error(&what, None);
                std::process::exit(2)
            }
            None => exit_of(&error),
        }
    })
}

/// Parses the arguments of this process. clap would not find the width of a terminal that does not report its rows.
fn parse<Arguments: Parser>() -> Result<Arguments, clap::Error> {
    let mut command = Arguments::command();
    let given: Vec<OsString> = crate::commands::tools::arguments_by_name();
    if wants_json(&given) {
        crate::exit::print_errors_as_json();
    }
    if is_json_help(&given) {
        std::process::exit(crate::exit::number_of(print_json_help(&command)).into());
    }
    if wants_all_help(&given) {
        command = crate::help::shortened(command, "paceline");
    }
    if std::io::stdout().is_terminal() {
        command = command.term_width(crate::terminal::width_for_text(true));
    }
    let given = with_json_format(given, &command);
    let matches = command.try_get_matches_from(given)?;
    Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut Arguments::command()))
}

/// The arguments before `--`: those after it belong to other commands.
fn own(given: &[OsString]) -> &[OsString] {
    let end = given.iter().position(|argument| argument == "--").unwrap_or(given.len());
    &given[..end]
}

/// Whether errors are JSON: with `--json`. `--format json` leaves them text, as programs have read them so far.
fn wants_json(given: &[OsString]) -> bool {
    own(given).iter().any(|argument| argument == "--json")
}

/// Whether the arguments may ask for the help with every flag, instead of that of `-h`.
fn wants_all_help(given: &[OsString]) -> bool {
    given.get(1).is_some_and(|first| first == "help")
        || own(given).iter().any(|argument| argument == "--help")
}

/// `--json` is `--format json` of every command that has formats.
fn with_json_format(mut given: Vec<OsString>, command: &Command) -> Vec<OsString> {
    let mut inner = command;
    for argument in own(&given).iter().skip(1) {
        match argument.to_str().and_then(|name| inner.find_subcommand(name)) {
            Some(found) => inner = found,
            None => break,
        }
    }
    let has = |name: &str| inner.get_arguments().any(|argument| argument.get_long() == Some(name));
    let place = own(&given).iter().position(|argument| argument == "--json");
    if let Some(place) = place.filter(|_| has("format") && !has("json")) {
        given[place] = "--format=json".into();
    }
    given
}

/// Whether the arguments are `help --json`.
fn is_json_help(given: &[OsString]) -> bool {
    given.len() == 3 && given[1] == "help" && given[2] == "--json"
}

/// Prints every command with its flags, as JSON.
fn print_json_help(command: &Command) -> anyhow::Result<crate::exit::Status> {
    crate::exit::print(crate::exit::json(&described(command))?)?;
    Ok(crate::exit::Status::Done)
}

/// A command, its flags and its commands, without hidden ones.
fn described(command: &Command) -> HelpDocument {
    HelpDocument {
        name: command.get_name().to_owned(),
        about: command.get_about().map(ToString::to_string),
        has_json: command.get_arguments().any(|flag| matches!(flag.get_long(), Some("json" | "format"))),
        flags: command.get_arguments().filter(|flag| !flag.is_hide_set()).map(described_flag).collect(),
        commands: command.get_subcommands().filter(|inner| !inner.is_hide_set()).map(described).collect(),
    }
}

fn described_flag(flag: &Arg) -> HelpFlag {
    let takes_values = flag.get_action().takes_values();
    let names = flag.get_value_names().unwrap_or_default().iter().map(ToString::to_string);
    let values = flag.get_possible_values().into_iter().map(|value| value.get_name().to_owned());
    HelpFlag {
        long: flag.get_long().map(|long| format!("--{long}")),
        short: flag.get_short().map(|short| format!("-{short}")),
        value: takes_values.then(|| names.collect()),
        values: if takes_values { values.collect() } else { Vec::new() },
        default: flag.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect(),
        is_required: flag.is_required_set(),
        about: flag.get_help().map(ToString::to_string),
        more: flag.get_long_help().map(ToString::to_string),
    }
}

/// Flags of other load generators, and the equivalent flag here.
const FOREIGN_FLAGS: &[(&str, &str, &str)] = &[
    ("-R", "wrk2", "use -r PER_SECOND for the offered rate"),
    ("--rps", "k6", "use -r PER_SECOND for the offered rate"),
    (
        "-s",
        "wrk",
        "`paceline wrk -s FILE` runs wrk's scripts; --lua FILE makes requests with a script in Lua, --mix FILE without one",
    ),
    ("-p", "ab and autocannon", "--body @FILE sends a body, and --pipeline N pipelines requests"),
    ("-z", "hey and oha", "-d 10s sets the duration"),
    ("-m", "hey and oha", "-X POST sets the method"),
    (
        "-T",
        "hey, wrk and ab",
        "--timeout 10s sets the timeout, and -H 'Content-Type: ...' sets the type of the body",
    ),
    ("-D", "hey and oha", "--body @FILE sends a body"),
    ("--latency", "wrk", "the usual percentiles are always printed; --full prints the whole spectrum"),
    ("--data", "curl", "--body TEXT sends a body"),
    ("--vus", "k6", "-c N sets the number of connections"),
    (
        "--script",
        "wrk",
        "`paceline wrk -s FILE` runs wrk's scripts; --lua FILE makes requests with a script in Lua",
    ),
    ("-l", "ab", "the length of a body is not checked unless --expect-body or another check is given"),
    ("-C", "ab", "-H 'Cookie: NAME=VALUE' sends a cookie"),
    (
        "-A",
        "ab and curl",
        "-a USER:PASSWORD sends credentials, and -H 'User-Agent: NAME' sets the user agent",
    ),
    ("-P", "ab", "--proxy http://USER:PASSWORD@HOST:PORT sends credentials to a proxy"),
    ("-i", "ab", "-X HEAD sends HEAD requests"),
    ("-w", "ab and wrk", "--format markdown prints a table for documents"),
    ("-g", "ab", "--csv FILE writes a row for each second, and --hdr FILE the histograms"),
    ("-b", "siege and ab", "a closed loop without pauses is the default"),
    ("--concurrent", "siege", "-c N sets the number of connections"),
];

/// The equivalent of a flag of another load generator.
fn foreign_flag(error: &clap::Error, given: &[String]) -> Option<String> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument || given.get(1).map(String::as_str) != Some("run") {
        return None;
    }
    // hey and oha use -q for a rate.
    let before = given.iter().position(|one| one == unknown).and_then(|at| given.get(at.checked_sub(1)?));
    if before.is_some_and(|before| before == "-q") && unknown.parse::<f64>().is_ok() {
        return Some(format!(
            "-q takes no value here (it hides the live view); use -r {unknown} for the total rate, like -q of oha (-q of hey is a rate per worker)"
        ));
    }
    let (flag, tools, instead) = FOREIGN_FLAGS.iter().find(|(flag, ..)| flag == unknown)?;
    Some(format!("{flag} is a flag of {tools}: {instead}"))
}

/// The error in a message of clap, and its hints.
fn error_and_hints(said: &str) -> (String, String) {
    let is_part = |line: &&str| !line.is_empty() && !line.starts_with("For more information");
    let lines = said.lines().map(str::trim).filter(is_part).take_while(|line| !line.starts_with("Usage:"));
    // Without the tip to pass an unknown flag as a value: that is rarely meant.
    let (tips, what): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("tip: "));
    let tips = tips.iter().map(|tip| &tip["tip: ".len()..]).filter(|tip| !tip.starts_with("to pass"));
    let what = what.join(" ");
    let hints: Vec<&str> = tips.chain(["--help lists all flags"]).collect();
    (what.strip_prefix("error: ").unwrap_or(&what).to_owned(), hints.join("; "))
}

/// Prints a message of clap, also help and version, and exits.
fn exit_of(error: &clap::Error) -> ! {
    if error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let (what, hints) = error_and_hints(&error.render().to_string());
        crate::exit::print_error(&what, Some(&hints));
        std::process::exit(2)
    }
    if error.use_stderr() {
        let styled = error.render();
        let text = match std::io::stderr().is_terminal() && crate::terminal::takes_colour() {
            true => TerminalText::coloured(&styled.ansi().to_string()),
            false => TerminalText::lines(&styled.to_string()),
        };
        let _ = std::io::stderr().write_all(text.as_str().as_bytes());
        std::process::exit(2)
    }
    let printed = crate::exit::check_printable().and_then(|()| {
        match error.print().and_then(|()| std::io::Write::flush(&mut std::io::stdout())) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(anyhow::Error::new(error).context("cannot write to standard output"))
            }
            _ => Ok(crate::exit::Status::Done),
        }
    });
    std::process::exit(crate::exit::number_of(printed).into())
}

/// The message for a flag followed by a negative number.
fn negative_value(error: &clap::Error, given: &[String], command: &Command) -> Option<String> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    let is_number = unknown.strip_prefix('-')?.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if error.kind() != ErrorKind::UnknownArgument || !is_number {
        return None;
    }
    let at = given.iter().position(|argument| argument.starts_with(unknown.as_str()))?;
    let (flag, value) = (given.get(at.checked_sub(1)?)?, &given[at]);
    takes_value(command, flag).then(|| format!("{flag} {value}: the value cannot be below zero"))
}

/// Whether any command has a flag of this name that takes a value.
fn takes_value(command: &Command, flag: &str) -> bool {
    let is_it = |arg: &clap::Arg| {
        let long = arg.get_long().is_some_and(|long| flag.strip_prefix("--") == Some(long));
        let short = arg.get_short().is_some_and(|short| flag.strip_prefix('-') == Some(&short.to_string()));
        (long || short) && arg.get_action().takes_values()
    };
    command.get_arguments().any(is_it) || command.get_subcommands().any(|inner| takes_value(inner, flag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn said(line: &str) -> Option<String> {
        let given: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let error = crate::Arguments::try_parse_from(&given).err()?;
        negative_value(&error, &given, &crate::Arguments::command())
    }

    #[test]
    fn mistakes_are_reported_in_one_line_and_one_hint() {
        let said = |line: &str| {
            let error = crate::Arguments::try_parse_from(line.split(' ')).err().unwrap();
            error_and_hints(&error.render().to_string())
        };
        let (what, hints) = said("paceline run http://localhost/ --conections 5");
        assert_eq!(what, "unexpected argument '--conections' found");
        assert!(hints.contains("'--connections'") && !hints.contains('\n'), "{hints}");
        let (what, _) = said("paceline run");
        assert!(what.contains("were not provided: <URL>") && !what.contains("Usage"), "{what}");
        let (what, hints) = said("paceline run http://localhost/ --slo p99<1ms");
        assert!(what.contains("response.p99<1ms") && !(what + &hints).contains('\n'));
    }

    #[test]
    fn json_is_a_format_of_every_command_that_has_formats() {
        let command = crate::Arguments::command();
        let given = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (line, expected) in [
            ("paceline gate --json", "paceline gate --format=json"),
            ("paceline lab list --json", "paceline lab list --format=json"),
            ("paceline run http://h/ --json", "paceline run http://h/ --json"),
            ("paceline gate x -- --json", "paceline gate x -- --json"),
            ("paceline store list --json", "paceline store list --json"),
        ] {
            assert_eq!(with_json_format(given(line), &command), given(expected), "{line}");
        }
        for (line, wanted) in [("paceline run h --json", true), ("paceline gate -- --json", false)] {
            assert_eq!(wants_json(&given(line)), wanted, "{line}");
        }
    }

    #[test]
    fn json_help_names_every_command_and_flag() {
        let help = serde_json::to_value(described(&crate::Arguments::command())).unwrap();
        let find = |within: &serde_json::Value, key: &str, name: &str| {
            let all = within[key].as_array().unwrap();
            all.iter().find(|one| one["name"] == name || one["long"] == name).cloned().unwrap()
        };
        let gate = find(&help, "commands", "gate");
        assert_eq!(find(&gate, "flags", "--base")["value"], serde_json::json!(["REF"]));
        assert_eq!(gate["has_json"], true);
        assert!(find(&gate, "flags", "--format")["values"].as_array().unwrap().contains(&"json".into()));
        assert!(help["commands"].as_array().unwrap().iter().all(|one| one["name"] != "shepherd"));
    }

    #[test]
    fn a_negative_value_is_a_clear_error() {
        for (line, words) in [
            ("paceline run http://h/ -r -5", "-r -5: the value cannot be below zero"),
            ("paceline run http://h/ -d -5s", "-d -5s: the value cannot be below zero"),
            ("paceline run --connections -1 http://h/", "--connections -1: the value cannot be below zero"),
        ] {
            assert_eq!(said(line).as_deref(), Some(words));
        }
        // Other errors are left to clap.
        for line in [
            "paceline run http://h/ -5",
            "paceline run http://h/ --no-live -5",
            "paceline run -r x http://h/",
        ] {
            assert_eq!(said(line), None, "{line}");
        }
    }

    #[test]
    fn flags_of_other_tools_are_answered_with_ours() {
        for (line, part) in [
            ("paceline run http://h/ -R 2000", "-r PER_SECOND"),
            ("paceline run http://h/ -s a.lua", "--mix FILE"),
            ("paceline run -z 10s http://h/", "-d 10s"),
            ("paceline run -m POST http://h/", "-X POST"),
            ("paceline run http://h/ --data x", "--body TEXT"),
            ("paceline run http://h/ --latency", "--full"),
            ("paceline run http://h/ --concurrent 10", "a flag of siege: -c N"),
            ("paceline run http://h/ -q 500", "-r 500"),
            ("paceline run -l http://h/", "a flag of ab: the length"),
        ] {
            let given: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let error = crate::Arguments::try_parse_from(&given).err().unwrap();
            let text = foreign_flag(&error, &given).unwrap();
            assert!(text.contains(part), "{line}: {text}");
        }
        for accepted in ["paceline run http://h/ --json", "paceline run -q http://h/"] {
            assert!(crate::Arguments::try_parse_from(accepted.split(' ')).is_ok(), "{accepted}");
        }
    }

    #[test]
    fn every_short_help_fits_50_lines_of_80_columns() {
        fn check(command: &mut Command, path: &str) {
            let help = command.render_help().to_string();
            assert!(help.lines().count() <= 50, "{path}: {} lines:\n{help}", help.lines().count());
            for inner in command.get_subcommands_mut() {
                let path = format!("{path} {}", inner.get_name());
                check(inner, &path);
            }
        }
        let mut command = crate::Arguments::command().term_width(80);
        command.build();
        check(&mut command, "paceline");
    }

    #[test]
    fn every_usage_fits_80_columns() {
        fn check(command: &mut Command) {
            let usage = command.render_usage().to_string();
            assert!(usage.lines().all(|line| line.chars().count() <= 80), "{usage}");
            command.get_subcommands_mut().for_each(check);
        }
        let mut command = crate::Arguments::command();
        command.build();
        check(&mut command);
    }

    #[test]
    fn every_flag_has_a_heading_where_there_are_many() {
        let command = crate::Arguments::command();
        let run = command.find_subcommand("run").unwrap();
        let bare: Vec<&str> = run
            .get_arguments()
            .filter(|arg| !arg.is_positional() && arg.get_help_heading().is_none())
            .map(|arg| arg.get_id().as_str())
            .collect();
        assert!(bare.is_empty(), "no heading: {bare:?}");
    }

    #[test]
    fn no_heading_stands_over_a_single_flag() {
        let command = crate::Arguments::command();
        let run = command.find_subcommand("run").unwrap();
        let headings: Vec<&str> = run.get_arguments().filter_map(clap::Arg::get_help_heading).collect();
        let lonely: Vec<_> =
            headings.iter().filter(|one| headings.iter().filter(|other| other == one).count() == 1).collect();
        assert!(lonely.is_empty(), "{lonely:?}");
    }

    /// The help of a command and its subcommands as sections of a document.
    fn sections(command: &Command, path: &str) -> String {
        let name = format!("{path} {}", command.get_name()).trim().to_owned();
        let mut text =
            format!("\n## {name}\n\n{}\n", command.get_about().map(ToString::to_string).unwrap_or_default());
        let shown: Vec<_> =
            command.get_arguments().filter(|arg| !arg.is_hide_set() && arg.get_id() != "help").collect();
        if !shown.is_empty() {
            text += "\n| flag | what |\n|---|---|\n";
        }
        for arg in shown {
            let values =
                arg.get_value_names().filter(|_| arg.get_action().takes_values()).unwrap_or_default();
            let value = values.iter().map(|name| format!(" {name}")).collect::<String>();
            let names = [
                arg.get_short().map(|short| format!("-{short}")),
                arg.get_long().map(|long| format!("--{long}")),
            ];
            let names: Vec<String> = names.into_iter().flatten().collect();
            let flag = if names.is_empty() {
                value.trim().to_owned()
            } else {
                format!("{}{value}", names.join(", "))
            };
            let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
            let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ").replace("  ", " ");
            let code = cell(&flag);
            // A paragraph of a help text has no full stop if it is one sentence.
            let paragraphs: Vec<&str> = help.split("\n\n").map(|text| text.trim_end_matches('.')).collect();
            let mut help = paragraphs.join(". ");
            if let Some(variable) = arg.get_env() {
                help += &format!(" [env: {}=]", variable.display());
            }
            text += &format!("| `{code}` | {} |\n", cell(&help).replace('<', "&lt;"));
        }
        let below =
            command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help");
        text + &below.map(|inner| sections(inner, &name)).collect::<String>()
    }

    #[test]
    fn the_reference_of_flags_matches_the_command_line() {
        let mut command = crate::Arguments::command();
        command.build();
        let head = "# All commands and flags\n\nGenerated from the command line itself: `UPDATE=1 cargo test -p paceline flags`.\n";
        let page = format!("{head}{}", sections(&command, ""));
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/flags.md");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        let published = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            published == page,
            "docs/reference/flags.md is not current: UPDATE=1 cargo test -p paceline flags"
        );
    }

    #[test]
    fn the_command_line_is_consistent() {
        crate::Arguments::command().debug_assert();
    }
}
