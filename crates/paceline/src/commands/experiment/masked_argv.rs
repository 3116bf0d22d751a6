//! The command line of an experiment without secrets, for its stored result.
//!
//! The flags of `paceline run` are among its arguments as they were given: they are recognised by their form.

/// Flags of a run whose value is a secret.
const SECRET_FLAGS: [&str; 4] = ["--auth", "--bearer", "--curl", "--proxy"];
/// The short flags of a run without a value: they may stand before the `a` of `--auth` in one word, as in `-ka`.
const SHORT_WITHOUT_VALUE: [char; 4] = ['k', 'q', '4', '6'];

/// The command line, with secrets replaced, since results are shared.
pub(super) fn own_argv() -> Vec<String> {
    without_secrets(std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()))
}

/// Where the credentials in a word with the flag `-a` begin: at its end, if they are the next word.
fn credentials_at(argument: &str) -> Option<usize> {
    let flags = argument.strip_prefix('-')?.trim_start_matches(SHORT_WITHOUT_VALUE);
    Some(argument.len() - flags.strip_prefix('a')?.len())
}

/// Arguments with the values of secret flags and secret header fields replaced, in each form: `--auth A`, `--auth=A`,
/// `-a A`, `-aA`.
fn without_secrets(arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut follows_secret = false;
    arguments
        .map(|argument| {
            let flag = argument.split_once('=').map_or(argument.as_str(), |(flag, _)| flag);
            let is_flag = SECRET_FLAGS.contains(&flag);
            let credentials = credentials_at(&argument).unwrap_or_default();
            let masked = match argument.split_once(':') {
                _ if follows_secret => paceline_job::MASKED.to_owned(),
                _ if is_flag && flag != argument => format!("{flag}={}", paceline_job::MASKED),
                _ if (1..argument.len()).contains(&credentials) => {
                    format!("{}{}", &argument[..credentials], paceline_job::MASKED)
                }
                Some((name, _)) if paceline_job::is_secret(name) => {
                    format!("{name}: {}", paceline_job::MASKED)
                }
                _ => argument.clone(),
            };
            follows_secret = is_flag && flag == argument || credentials == argument.len() && credentials > 0;
            masked
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_part_of_a_stored_command() {
        let given = "compare http://h:80/a b -H Accept:x -HAuthorization:abc --header=Cookie:abc -H cookie:abc \
                     -a u:abc -kau:abc -a=u:abc --auth abc --bearer=abc --curl";
        let mut arguments: Vec<String> = given.split(' ').map(str::to_owned).collect();
        arguments.push("curl -H 'Cookie: abc' http://h/".to_owned());
        let stored = without_secrets(arguments.into_iter()).join(" ");
        assert_eq!(
            stored,
            "compare http://h:80/a b -H Accept:x -HAuthorization: *** --header=Cookie: *** -H cookie: *** \
             -a *** -ka*** -a*** --auth *** --bearer=*** --curl ***"
        );
    }
}
