//! Words of a shell's command line.

/// The word in single quotes if a POSIX shell would read it as anything else than itself (POSIX.1-2024, 2.2).
pub fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A command line of these words.
pub fn shell_line(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    words.into_iter().map(|word| shell_word(word.as_ref())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_change_them() {
        let words = ["paceline", "run", "http://h/?a=b&c", "-H", "X: it's", ""];
        assert_eq!(shell_line(words), r"paceline run 'http://h/?a=b&c' -H 'X: it'\''s' ''");
        let words = ["a\nb", "$HOME", "*", "~", "`id`", "\\", "a=b"];
        let line = format!("printf '%s\\0' {}", shell_line(words));
        let output = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), words.map(|word| format!("{word}\0")).concat());
    }
}
