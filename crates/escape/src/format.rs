//! Escaping rules, one function for each format.

use std::fmt::Write as _;

/// A character that controls a terminal, changes how the text around it is displayed, or is invisible: control
/// characters (ECMA-48, C0 and C1), separators of lines and paragraphs, noncharacters, and all characters that Unicode
/// 17 gives the category Cf or the property Default_Ignorable_Code_Point (DerivedCoreProperties.txt): bidirectional
/// formatting, zero-width characters, fillers, variation selectors, tags.
pub(crate) fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || u32::from(letter) & 0xfffe == 0xfffe
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Puts the text on one line: line ends and tabs become blanks, unsafe characters are written as `\u{1b}`, and every
/// other character is written by `put`, which escapes it for the format.
pub(crate) fn visible(text: &str, mut put: impl FnMut(&mut String, char)) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\r' | '\t' => safe.push(' '),
            letter if is_unsafe(letter) => {
                // Writing to a `String` cannot fail.
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(letter));
            }
            letter => put(&mut safe, letter),
        }
    }
    safe
}

/// A format, and how text is escaped for it.
pub trait Escaping {
    /// Returns the text on one line, without any character that has a meaning in the format.
    fn escape(text: &str) -> String;
}

/// Lines of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForTerminal;

/// Markdown (GitHub's), and a cell of its tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForMarkdown;

/// HTML and XML, as text or as the value of an attribute in quotes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForHtml;

/// Fields of CSV (RFC 4180).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForCsv;

impl Escaping for ForTerminal {
    fn escape(text: &str) -> String {
        visible(text, String::push)
    }
}

/// What separates `@` and `#` from a name or a number: a space without a width. A backslash would not help, because
/// GitHub looks for mentions in the text that is displayed.
const NO_MENTION: &str = "&#8203;";

/// Separates what would mention people or issues in the comment of a pull request: `@name`, `#123` and
/// `owner/repository#1` (docs.github.com, "Basic writing and formatting syntax"). `user@host` is no mention.
fn without_mentions(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut before = None;
    while let Some(letter) = letters.next() {
        safe.push(letter);
        let after = letters.peek().copied();
        let is_mention = match letter {
            '@' => after.is_some_and(char::is_alphanumeric) && !before.is_some_and(char::is_alphanumeric),
            '#' => after.is_some_and(|after| after.is_ascii_digit()),
            _ => false,
        };
        if is_mention {
            safe.push_str(NO_MENTION);
        }
        before = Some(letter);
    }
    safe
}

impl Escaping for ForMarkdown {
    fn escape(text: &str) -> String {
        let safe = visible(text, |safe, letter| match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '~' | '#' | '$' => safe.extend(['\\', letter]),
            letter => safe.push(letter),
        });
        without_mentions(&safe)
    }
}

impl Escaping for ForHtml {
    fn escape(text: &str) -> String {
        visible(text, |safe, letter| match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter => safe.push(letter),
        })
    }
}

/// Characters that begin a formula, also in the full width of Japanese keyboards.
const FORMULA_BEGINS: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

impl Escaping for ForCsv {
    /// A field that a spreadsheet would treat as a formula (OWASP, "CSV Injection") begins with an apostrophe; a number
    /// is not treated as one.
    fn escape(text: &str) -> String {
        let safe = visible(text, String::push);
        let is_formula = safe.trim_start().starts_with(FORMULA_BEGINS) && safe.parse::<f64>().is_err();
        let safe = if is_formula { format!("'{safe}") } else { safe };
        if safe.contains([',', '"', '\'']) { format!("\"{}\"", safe.replace('"', "\"\"")) } else { safe }
    }
}
