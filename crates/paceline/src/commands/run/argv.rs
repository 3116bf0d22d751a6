//! The command line of a run without secrets, for its record.

use super::flags::Arguments;

/// The command line, with the values of secret header fields and credentials replaced, since records are shared.
pub fn argv(flags: &Arguments) -> Vec<String> {
    let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let masked = arguments.map(|argument| without_secret(argument, &flags.request.headers)).map(|argument| {
        without_credentials(argument, [&flags.request.auth, &flags.request.bearer, &flags.curl])
    });
    let proxy = flags.target.proxy.as_ref().and_then(|proxy| proxy.credentials.as_ref());
    match proxy {
        Some(secret) => masked.map(|argument| argument.replace(&format!("{secret}@"), "***@")).collect(),
        None => masked.collect(),
    }
}

/// An argument without the value of `--auth`, `--bearer` or `--curl`.
fn without_credentials(argument: String, secrets: [&Option<String>; 3]) -> String {
    let given = secrets.into_iter().flatten().filter(|value| !value.is_empty());
    let before = given.filter_map(|value| argument.strip_suffix(value.as_str())).next();
    before.map_or_else(|| argument.clone(), |before| format!("{before}{}", paceline_job::MASKED))
}

/// Masks an argument that is, or ends with, a given header field (`-H FIELD`, `-HFIELD`, `--header=FIELD`).
fn without_secret(argument: String, headers: &[String]) -> String {
    let masked = headers.iter().find_map(|field| {
        let before = argument.strip_suffix(field.as_str())?;
        match field.split_once(':') {
            Some((name, _)) if paceline_job::is_secret(name) => {
                Some(format!("{before}{name}: {}", paceline_job::MASKED))
            }
            _ => None,
        }
    });
    masked.unwrap_or(argument)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_in_the_command_line() {
        let field = "authorization: Bearer x".to_owned();
        let headers = [field.clone(), "X-Shown: yes".to_owned()];
        for (argument, expected) in [
            ("authorization: Bearer x", "authorization: ***"),
            ("-Hauthorization: Bearer x", "-Hauthorization: ***"),
            ("--header=authorization: Bearer x", "--header=authorization: ***"),
            ("X-Shown: yes", "X-Shown: yes"),
            ("http://a/", "http://a/"),
        ] {
            assert_eq!(without_secret(argument.to_owned(), &headers), expected);
        }
        assert_eq!(without_secret(field.clone(), &[]), field, "not a header");
    }
}
