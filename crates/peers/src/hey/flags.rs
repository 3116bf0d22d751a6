//! Command lines in the manner of Go's package `flag`: `-name value`, `-name=value` or `--name`, up to the first
//! argument that is no flag.

use std::collections::VecDeque;

/// A parsed command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct GivenFlags {
    /// The flags by name, in order, each with its value; `true` if it takes none.
    pub flags: Vec<(&'static str, String)>,
    /// The arguments that are no flags.
    pub arguments: Vec<String>,
}

/// Parses arguments with these flags, each with whether it takes a value.
///
/// # Errors
/// The message that the package prints.
pub fn parse(known: &'static [(&'static str, bool)], given: &[String]) -> Result<GivenFlags, String> {
    let mut parsed = GivenFlags::default();
    let mut rest: VecDeque<&String> = given.iter().collect();
    while let Some(argument) = rest.pop_front() {
        let name = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-'));
        match name {
            Some("") if argument == "--" => break,
            None | Some("") => {
                rest.push_front(argument);
                break;
            }
            Some(name) => {
                let (name, attached) =
                    name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value.to_owned())));
                let (name, takes_value) = *known
                    .iter()
                    .find(|(flag, _)| *flag == name)
                    .ok_or_else(|| format!("flag provided but not defined: -{name}"))?;
                let value = match (takes_value, attached) {
                    (_, Some(value)) => value,
                    (false, None) => "true".to_owned(),
                    (true, None) => {
                        rest.pop_front().cloned().ok_or_else(|| format!("flag needs an argument: -{name}"))?
                    }
                };
                parsed.flags.push((name, value));
            }
        }
    }
    parsed.arguments.extend(rest.into_iter().cloned());
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[(&str, bool)] = &[("n", true), ("h2", false)];

    #[test]
    fn flags_end_at_the_first_argument() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let given = parse(KNOWN, &words("-n 5 --n=6 -h2 -h2=false url -n 7")).unwrap();
        let flags: Vec<_> = given.flags.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(flags, ["n=5", "n=6", "h2=true", "h2=false"]);
        assert_eq!(given.arguments, words("url -n 7"));
        assert_eq!(parse(KNOWN, &words("-- -n")).unwrap().arguments, ["-n"]);
        assert_eq!(parse(KNOWN, &words("-n")).unwrap_err(), "flag needs an argument: -n");
        assert_eq!(parse(KNOWN, &words("-x 1")).unwrap_err(), "flag provided but not defined: -x");
    }
}
