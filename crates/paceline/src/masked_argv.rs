//! The command line without secrets, for records of runs and results of experiments, since these are shared.
//!
//! Secret flags are recognised by their form: an experiment passes those of `paceline run` on without reading them.

use paceline_job::{Headers, MASKED};

/// What is secret in the value of a flag.
#[derive(Clone, Copy, Debug)]
enum SecretPart {
    /// All of it.
    Value,
    /// The value of a header field whose name says so.
    Field,
    /// The user name and the password of a proxy's URL.
    Credentials,
}

/// The flags of a run whose value is, or has, a secret.
const SECRET_FLAGS: [(&str, Option<char>, SecretPart); 5] = [
    ("--auth", Some('a'), SecretPart::Value),
    ("--bearer", None, SecretPart::Value),
    ("--curl", None, SecretPart::Value),
    ("--header", Some('H'), SecretPart::Field),
    ("--proxy", None, SecretPart::Credentials),
];
/// The short flags of a run without a value: they may stand before a secret flag in one word, as in `-ka`.
const SHORT_WITHOUT_VALUE: [char; 4] = ['k', 'q', '4', '6'];

impl SecretPart {
    /// A flag's value without what is secret in it.
    fn masked(self, value: &str) -> String {
        match self {
            SecretPart::Value => MASKED.to_owned(),
            SecretPart::Field => masked_field(value),
            SecretPart::Credentials => masked_credentials(value),
        }
    }
}

/// A header field as a record shows it (`Headers::masked`); as it was given unless that hides its value.
fn masked_field(field: &str) -> String {
    let masked = Headers(Headers::parse(field).into_iter().collect()).masked();
    match masked.0.as_slice() {
        [(name, value)] if value == MASKED => format!("{name}: {MASKED}"),
        _ => field.to_owned(),
    }
}

/// A proxy's URL, of which all before the last `@` are credentials (`Proxy::parse`).
fn masked_credentials(url: &str) -> String {
    let Some(end) = url.rfind('@') else { return url.to_owned() };
    let begin = url[..end].find("://").map_or(0, |scheme| scheme + "://".len());
    format!("{}{MASKED}{}", &url[..begin], &url[end..])
}

/// The secret flag in a word, and where its value begins; no place if the value is the next word.
fn secret_flag(word: &str) -> Option<(SecretPart, Option<usize>)> {
    SECRET_FLAGS.iter().find_map(|&(long, short, part)| {
        if let Some(rest) = word.strip_prefix(long) {
            let begins = long.len() + 1;
            return (rest.is_empty() || rest.starts_with('='))
                .then_some((part, Some(begins).filter(|begins| *begins <= word.len())));
        }
        let flags = word.strip_prefix('-')?.trim_start_matches(SHORT_WITHOUT_VALUE);
        let value = flags.strip_prefix(short?)?;
        Some((part, (!value.is_empty()).then_some(word.len() - value.len())))
    })
}

/// The command line of this process, with secrets replaced.
pub fn own_argv() -> Vec<String> {
    without_secrets(std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()))
}

/// Arguments with secrets replaced, in each form of a flag: `--auth A`, `--auth=A`, `-a A`, `-aA`.
fn without_secrets(arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut of_next: Option<SecretPart> = None;
    arguments
        .map(|argument| {
            if let Some(part) = of_next.take() {
                return part.masked(&argument);
            }
            match secret_flag(&argument) {
                Some((part, Some(begins))) => {
                    format!("{}{}", &argument[..begins], part.masked(&argument[begins..]))
                }
                Some((part, None)) => {
                    of_next = Some(part);
                    argument
                }
                None => argument,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    fn stored(arguments: &[&str]) -> Vec<String> {
        without_secrets(arguments.iter().map(|argument| (*argument).to_owned()))
    }

    #[test]
    fn secrets_are_replaced_in_each_form_of_a_flag() {
        let given = "compare http://h:80/a b -H Accept:x -HAuthorization:abc --header=Cookie:abc -H cookie:abc \
                     -a u:abc -kau:abc -a=u:abc --auth abc --bearer=abc --auth= -d 1s -kqH X-Token:abc \
                     --proxy u:p@abc@h:1 --proxy=http://u:abc@h:1 --proxy http://h:1 --curl";
        let mut arguments: Vec<&str> = given.split(' ').collect();
        arguments.push("curl -H 'Cookie: abc' http://h/");
        assert_eq!(
            stored(&arguments).join(" "),
            "compare http://h:80/a b -H Accept:x -HAuthorization: *** --header=Cookie: *** -H cookie: *** \
             -a *** -ka*** -a*** --auth *** --bearer=*** --auth=*** -d 1s -kqH X-Token: *** \
             --proxy ***@h:1 --proxy=http://***@h:1 --proxy http://h:1 --curl ***"
        );
    }

    #[test]
    fn other_arguments_are_stored_as_they_are() {
        let given = [
            "--body",
            "{\"token\": \"abc\"}",
            "-H",
            "Authorization: Bearer {var:token}",
            "--header",
            "no colon",
            "authorization: abc",
            "--authority",
            "-A",
            "",
            "-",
            "--",
            "http://me@h/",
        ];
        assert_eq!(stored(&given), given);
        assert_eq!(stored(&["--proxy", "u@x://y"]), ["--proxy", "***@x://y"]);
    }

    #[test]
    fn the_flags_are_those_of_a_run() {
        let command = crate::Arguments::command();
        let run = command.find_subcommand("run").unwrap();
        for (long, short, _) in SECRET_FLAGS {
            let flag = run.get_arguments().find(|flag| flag.get_long() == long.strip_prefix("--")).unwrap();
            assert_eq!((flag.get_short(), flag.get_action().takes_values()), (short, true), "{long}");
        }
        let switches = run.get_arguments().filter(|flag| !flag.get_action().takes_values());
        let mut shorts: Vec<char> = switches.filter_map(clap::Arg::get_short).collect();
        shorts.retain(|short| !matches!(short, 'h' | 'V'));
        shorts.sort_unstable();
        let mut expected = SHORT_WITHOUT_VALUE;
        expected.sort_unstable();
        assert_eq!(shorts, expected);
    }
}
