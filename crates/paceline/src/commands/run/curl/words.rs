//! Splits a command into words, as a POSIX shell with bash's `$'...'` does, or as Windows does.
//!
//! Browsers copy both forms. Whatever a shell would replace or execute is an error: the request would be another one.

use crate::exit::Complaint;
use std::iter::Peekable;
use std::str::Chars;

/// The words of a command.
pub fn words(line: &str) -> Result<Vec<String>, Complaint> {
    if is_for_cmd(line) { Ok(windows_words(&without_carets(line))) } else { shell_words(line) }
}

/// Whether a command is in the form for Windows' `cmd`: quotes are escaped with carets, or lines end in one. Within
/// quotes of a shell, both are data.
fn is_for_cmd(line: &str) -> bool {
    let line = line.trim();
    let first_line = line.lines().next().unwrap_or_default().trim_end();
    let continued = first_line.strip_suffix('^');
    let escaped = line.split_once(" ^\"").map(|(before, _)| before);
    continued.into_iter().chain(escaped).any(|before| !ends_in_quotes(before))
}

/// Whether a shell would still be within quotes at the end of this text.
fn ends_in_quotes(text: &str) -> bool {
    let (mut open, mut before) = (None, ' ');
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, open) {
            // Within '...' a backslash is an ordinary character, within $'...' it is not.
            ('\\', None | Some('"' | '$')) => _ = letters.next(),
            ('\'', None) => open = Some(if before == '$' { '$' } else { '\'' }),
            ('"', None) => open = Some('"'),
            ('\'', Some('\'' | '$')) | ('"', Some('"')) => open = None,
            _ => {}
        }
        before = letter;
    }
    open.is_some()
}

/// The command after `cmd` has read it: outside quotes a caret makes the next character an ordinary one, and a line end
/// after it is left out.
fn without_carets(line: &str) -> String {
    let (mut command, mut quoted) = (String::new(), false);
    let mut letters = line.chars().filter(|letter| *letter != '\r');
    while let Some(letter) = letters.next() {
        match letter {
            '^' if !quoted => match letters.next() {
                Some('\n') => command.extend(letters.next()),
                escaped => command.extend(escaped),
            },
            '"' => {
                quoted = !quoted;
                command.push(letter);
            }
            _ => command.push(letter),
        }
    }
    command
}

/// The words of a command line as programs on Windows read it (CommandLineToArgvW): a backslash is special only before
/// a quote, and two quotes within quotes are one.
fn windows_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quoted, mut backslashes): (Option<String>, bool, usize) = (None, false, 0);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\\' {
            backslashes += 1;
            continue;
        }
        let escapes = letter == '"';
        let kept = if escapes { backslashes / 2 } else { backslashes };
        if backslashes > 0 {
            word.get_or_insert_default().extend(std::iter::repeat_n('\\', kept));
        }
        match letter {
            '"' if backslashes % 2 == 1 => word.get_or_insert_default().push('"'),
            '"' if quoted && letters.next_if_eq(&'"').is_some() => word.get_or_insert_default().push('"'),
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' | '\t' | '\n' if !quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
        backslashes = 0;
    }
    if backslashes > 0 {
        word.get_or_insert_default().extend(std::iter::repeat_n('\\', backslashes));
    }
    words.extend(word);
    words
}

/// The words of a command as a POSIX shell reads them.
fn shell_words(line: &str) -> Result<Vec<String>, Complaint> {
    let line = line.replace("\r\n", "\n");
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '#' if word.is_none() => _ = letters.by_ref().find(|letter| *letter == '\n'),
            '\\' => match letters.next() {
                Some('\n') | None => {}
                Some(escaped) => push(word.get_or_insert_default(), escaped),
            },
            '\'' | '"' => quoted(&mut letters, letter, word.get_or_insert_default())?,
            '$' if letters.next_if_eq(&'\'').is_some() => {
                quoted(&mut letters, '$', word.get_or_insert_default())?;
            }
            '$' | '`' => {
                check_expansion(letter, &letters).map(|()| push(word.get_or_insert_default(), letter))?
            }
            '|' | '&' | ';' | '<' | '>' => {
                if letters.clone().any(|letter| !letter.is_whitespace()) {
                    return Err(operator(letter));
                }
            }
            other => push(word.get_or_insert_default(), other),
        }
    }
    words.extend(word);
    let text = |word: Vec<u8>| {
        String::from_utf8(word).map_err(|_| {
            Complaint::usage("--curl: the command has \\x escapes that are not UTF-8")
                .hint("put the body into a file, and send it with --body @FILE")
        })
    };
    words.into_iter().map(text).collect()
}

fn push(word: &mut Vec<u8>, letter: char) {
    word.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
}

fn operator(letter: char) -> Complaint {
    Complaint::usage(format!("--curl: the command has {letter:?} outside quotes, where the shell ends the curl command"))
        .hint("give the curl command alone, without pipes, redirections and other commands; quote a URL that contains &")
}

/// Refuses a text that the shell would replace: a variable, or the output of a command.
fn check_expansion(letter: char, after: &Peekable<Chars<'_>>) -> Result<(), Complaint> {
    let is_name = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
    let rest = after.clone();
    let shown: String = match after.clone().next() {
        _ if letter == '`' => rest.take_while(|letter| *letter != '`').chain(['`']).collect(),
        Some('{') => rest.take_while(|letter| *letter != '}').chain(['}']).collect(),
        Some('(') => rest.take_while(|letter| *letter != ')').chain([')']).collect(),
        Some('@' | '*' | '#' | '?' | '$' | '!' | '-') => rest.take(1).collect(),
        Some(first) if is_name(&first) => rest.take_while(is_name).collect(),
        _ => return Ok(()),
    };
    Err(Complaint::usage(format!("--curl: the shell would replace {letter}{shown}, and Paceline does not"))
        .hint(format!("write the value instead, or '{letter}' in single quotes for the text itself")))
}

/// Reads the rest of a quoted text: of '...', "..." or, if `kind` is a dollar sign, $'...'.
fn quoted(letters: &mut Peekable<Chars<'_>>, kind: char, word: &mut Vec<u8>) -> Result<(), Complaint> {
    let end = if kind == '$' { '\'' } else { kind };
    while let Some(letter) = letters.next() {
        match (letter, kind) {
            (letter, _) if letter == end => return Ok(()),
            ('\\', '"') => match letters.next() {
                Some(escaped @ ('"' | '\\' | '$' | '`')) => push(word, escaped),
                Some('\n') | None => {}
                Some(other) => {
                    word.push(b'\\');
                    push(word, other);
                }
            },
            ('$' | '`', '"') => {
                check_expansion(letter, letters)?;
                push(word, letter);
            }
            ('\\', '$') => ansi_escape(letters, word)?,
            _ => push(word, letter),
        }
    }
    Err(Complaint::usage("--curl: a quote is not closed")
        .hint("put the whole curl command between one pair of quotes"))
}

/// Reads an escape in $'...' (bash's manual, section 3.1.2.4). `\xHH` and octal digits stand for a byte.
fn ansi_escape(letters: &mut Peekable<Chars<'_>>, word: &mut Vec<u8>) -> Result<(), Complaint> {
    let invalid =
        |escape: String| Complaint::usage(format!("--curl: $'...' has the invalid escape \\{escape}"));
    let letter = letters.next().ok_or_else(|| invalid(String::new()))?;
    let byte = match letter {
        'a' => 7,
        'b' => 8,
        'e' | 'E' => 27,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' | '\'' | '"' | '?' | '!' => letter as u8,
        'x' => digits(letters, 16, 2).ok_or_else(|| invalid("x".to_owned()))? as u8,
        '0'..='7' => {
            let first = letter.to_digit(8).unwrap_or(0);
            let more = digits_of(letters, 8, 2);
            more.chars().fold(first, |value, digit| value * 8 + digit.to_digit(8).unwrap_or(0)) as u8
        }
        'u' | 'U' => {
            let most = if letter == 'u' { 4 } else { 8 };
            let unit = digits(letters, 16, most).ok_or_else(|| invalid(letter.to_string()))?;
            let code =
                if (0xd800..0xdc00).contains(&unit) { with_low_surrogate(unit, letters) } else { Some(unit) };
            let scalar =
                code.and_then(char::from_u32).ok_or_else(|| invalid(format!("{letter}{unit:04x}")))?;
            push(word, scalar);
            return Ok(());
        }
        other => return Err(invalid(other.to_string())),
    };
    word.push(byte);
    Ok(())
}

/// The character of two escapes: browsers write one beyond U+FFFF as the two units of UTF-16.
fn with_low_surrogate(high: u32, letters: &mut Peekable<Chars<'_>>) -> Option<u32> {
    letters.next_if_eq(&'\\')?;
    letters.next_if_eq(&'u')?;
    let low = digits(letters, 16, 4).filter(|low| (0xdc00..0xe000).contains(low))?;
    Some(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
}

fn digits_of(letters: &mut Peekable<Chars<'_>>, base: u32, most: usize) -> String {
    let next = || letters.next_if(|letter| letter.is_digit(base));
    std::iter::from_fn(next).take(most).collect()
}

fn digits(letters: &mut Peekable<Chars<'_>>, base: u32, most: usize) -> Option<u32> {
    u32::from_str_radix(&digits_of(letters, base, most), base).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_bash_does() {
        // What bash prints for: printf '[%s]' WORDS.
        for (line, expected) in [
            ("a 'b c'\"d e\"f\\ g", &["a", "b cd ef g"][..]),
            ("a \\\r\n  -H 'b'\r\n", &["a", "-H", "b"]),
            ("\"a\\\\b\\c\\\"\" '\\n'", &["a\\b\\c\"", "\\n"]),
            ("$'it\\'s \\u00e9 \\xc3\\xa9 \\101 \\t'", &["it's \u{e9} \u{e9} A \t"]),
            ("$'\\ud83d\\ude00 \\U0001F600'", &["\u{1f600} \u{1f600}"]),
            ("a '' \"\" # comment\n b", &["a", "", "", "b"]),
            ("'$HOME' \"\\$HOME 5$\" ;", &["$HOME", "$HOME 5$"]),
            ("-d 'a ^\"b' c", &["-d", "a ^\"b", "c"]),
            ("-d $'it\\'s ^\"x' \"y ^\"", &["-d", "it's ^\"x", "y ^"]),
            ("-d 'a^\nb'", &["-d", "a^\nb"]),
            ("a ;\n", &["a"]),
        ] {
            assert_eq!(words(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn what_a_shell_would_replace_or_execute_is_refused() {
        for (line, part) in [
            ("curl -H \"Authorization: Bearer $TOKEN\"", "replace $TOKEN"),
            ("curl http://h/${id}/a", "replace ${id}"),
            ("curl \"$(date)\"", "replace $(date)"),
            ("curl \"`date`\"", "replace `date`"),
            ("curl http://h/ | jq .", "has '|' outside quotes"),
            ("curl http://h/?a=1&b=2", "has '&' outside quotes"),
            ("curl http://h/ > out", "has '>' outside quotes"),
            ("curl 'http://h/", "a quote is not closed"),
            ("curl $'\\q'", "invalid escape \\q"),
            ("curl $'\\xff'", "not UTF-8"),
        ] {
            let error = words(line).unwrap_err();
            assert!(error.what.contains(part), "{line}: {}", error.what);
        }
    }

    #[test]
    fn the_forms_for_cmd_are_read() {
        let expected =
            ["curl", "http://h/a?b=1&c=%20", "-H", "x: \"1\" ^", "--data-raw", "{\"a\":\"b\\\\n\"}"];
        let today = "curl ^\"http://h/a?b=1^&c=^%^20^\" ^\r\n  -H ^\"x: ^\\^\"1^\\^\" ^^^\" ^\r\n  \
                     --data-raw ^\"^{^\\^\"a^\\^\":^\\^\"b^\\\\n^\\^\"^}^\"";
        assert_eq!(words(today).unwrap(), expected);
        let before = "curl \"http://h/a?b=1&c=%20\" ^\n  -H \"x: \"\"1\"\" ^\" ^\n  --data-raw \"{\\\"a\\\":\\\"b\\\\n\\\"}\"";
        assert_eq!(words(before).unwrap(), expected);
        let lines = "curl ^\"http://h/^\" --data-raw ^\"a^\n\nb^\"";
        assert_eq!(words(lines).unwrap()[3], "a\nb");
        assert_eq!(windows_words("a\\\\b \"c\\\\\" d\\"), ["a\\\\b", "c\\", "d\\"]);
    }
}
