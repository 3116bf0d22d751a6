//! Command lines in the manner of getopt_long(3): options anywhere, short ones in groups, values attached or not, long
//! ones abbreviated as long as they are unique, and `--` before arguments that are no options.

use std::collections::VecDeque;

/// The options of a program.
#[derive(Debug)]
pub(crate) struct OptionTable {
    /// The program's name, for messages.
    pub program: &'static str,
    /// Whether options may follow other arguments, as in GNU's library.
    pub permutes: bool,
    /// The short options, each with whether it takes a value.
    pub short: &'static [(char, bool)],
    /// The long options, each with its short one.
    pub long: &'static [(&'static str, char)],
}

/// A parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GivenOptions {
    /// The options by their short name, in order, each with its value if it takes one.
    pub options: Vec<(char, String)>,
    /// The arguments that are no options.
    pub arguments: Vec<String>,
}

impl OptionTable {
    /// Parses the arguments after the program's name.
    ///
    /// # Errors
    /// The message that getopt_long(3) prints.
    pub fn parse(&self, given: &[String]) -> Result<GivenOptions, String> {
        let mut parsed = GivenOptions::default();
        let mut rest: VecDeque<&str> = given.iter().map(String::as_str).collect();
        while let Some(argument) = rest.pop_front() {
            if argument == "--" {
                parsed.arguments.extend(rest.drain(..).map(str::to_owned));
            } else if let Some(long) = argument.strip_prefix("--") {
                let option = self.long_option(long, &mut rest)?;
                parsed.options.push(option);
            } else if argument.len() > 1 && argument.starts_with('-') {
                self.short_options(&argument[1..], &mut rest, &mut parsed.options)?;
            } else {
                parsed.arguments.push(argument.to_owned());
                if !self.permutes {
                    parsed.arguments.extend(rest.drain(..).map(str::to_owned));
                }
            }
        }
        Ok(parsed)
    }

    fn takes_value(&self, short: char) -> Option<bool> {
        self.short.iter().find(|(name, _)| *name == short).map(|(_, takes)| *takes)
    }

    fn long_option(&self, given: &str, rest: &mut VecDeque<&str>) -> Result<(char, String), String> {
        let (name, attached) =
            given.split_once('=').map_or((given, None), |(name, value)| (name, Some(value)));
        let exact = self.long.iter().find(|(long, _)| *long == name);
        let mut begun = self.long.iter().filter(|(long, _)| long.starts_with(name));
        let found = match (exact, begun.next(), begun.next()) {
            (Some(exact), _, _) => exact,
            (None, Some(only), None) => only,
            (None, Some(_), Some(_)) => {
                return Err(format!("{}: option '--{name}' is ambiguous", self.program));
            }
            (None, None, _) => return Err(format!("{}: unrecognized option '--{name}'", self.program)),
        };
        let (long, short) = *found;
        match (self.takes_value(short) == Some(true), attached) {
            (true, Some(value)) => Ok((short, value.to_owned())),
            (true, None) => match rest.pop_front() {
                Some(value) => Ok((short, value.to_owned())),
                None => Err(format!("{}: option '--{long}' requires an argument", self.program)),
            },
            (false, Some(_)) => Err(format!("{}: option '--{long}' doesn't allow an argument", self.program)),
            (false, None) => Ok((short, String::new())),
        }
    }

    fn short_options(
        &self,
        group: &str,
        rest: &mut VecDeque<&str>,
        options: &mut Vec<(char, String)>,
    ) -> Result<(), String> {
        for (at, name) in group.char_indices() {
            let after = &group[at + name.len_utf8()..];
            match self.takes_value(name) {
                None => return Err(format!("{}: invalid option -- '{name}'", self.program)),
                Some(false) => options.push((name, String::new())),
                Some(true) if !after.is_empty() => {
                    options.push((name, after.to_owned()));
                    return Ok(());
                }
                Some(true) => match rest.pop_front() {
                    Some(value) => {
                        options.push((name, value.to_owned()));
                        return Ok(());
                    }
                    None => return Err(format!("{}: option requires an argument -- '{name}'", self.program)),
                },
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: OptionTable = OptionTable {
        program: "wrk",
        permutes: true,
        short: &[('c', true), ('L', false), ('T', true)],
        long: &[("connections", 'c'), ("latency", 'L'), ("timeout", 'T')],
    };

    fn parse(line: &str) -> Result<GivenOptions, String> {
        TABLE.parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_found_anywhere() {
        let options = |options: &[(char, &str)], arguments: &[&str]| GivenOptions {
            options: options.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        };
        let expected = options(&[('c', "5"), ('L', ""), ('T', "2s")], &["url"]);
        for line in ["-c5 -L -T 2s url", "url -c 5 -LT2s", "--conn=5 url --latency --timeout 2s"] {
            assert_eq!(parse(line).unwrap(), expected, "{line}");
        }
        assert_eq!(parse("url -- -L x").unwrap(), options(&[], &["url", "-L", "x"]));
    }

    #[test]
    fn options_may_have_to_come_first() {
        let first = OptionTable { permutes: false, ..TABLE };
        let words = ["-c5", "url", "-L"].map(str::to_owned);
        assert_eq!(first.parse(&words).unwrap().arguments, ["url", "-L"]);
    }

    #[test]
    fn messages_are_those_of_the_c_library() {
        for (line, message) in [
            ("-x", "wrk: invalid option -- 'x'"),
            ("url -c", "wrk: option requires an argument -- 'c'"),
            ("--fast", "wrk: unrecognized option '--fast'"),
            ("--latency=1", "wrk: option '--latency' doesn't allow an argument"),
            ("--timeout", "wrk: option '--timeout' requires an argument"),
        ] {
            assert_eq!(parse(line).unwrap_err(), message);
        }
    }
}
