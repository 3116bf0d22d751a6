//! Text that others wrote (names, headers, certificates, log lines, errors) made safe for each output format.
//!
//! The writers of this crate put text out through these functions alone: [`crate::format`] and `run_text` have one sink
//! for each format, and what a sink takes unescaped is a literal of this crate. Programs that print outside of a report
//! use [`terminal`].

use std::fmt::Write as _;

/// A character that steers a terminal or changes how the text around it is displayed: control characters (ECMA-48, C0 and
/// C1), bidirectional formatting (UAX #9), zero-width and other invisible characters.
fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn visible(text: &str, mut put: impl FnMut(&mut String, char)) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\r' | '\t' => safe.push(' '),
            letter if is_unsafe(letter) => {
                // Cannot fail: it is a text.
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(letter));
            }
            letter => put(&mut safe, letter),
        }
    }
    safe
}

/// For a terminal, on one line: line ends and tabs become blanks, what is unsafe is written out (`\u{1b}`).
pub fn terminal(text: &str) -> String {
    visible(text, String::push)
}

/// For a terminal, line by line: as [`terminal`], and line ends stay.
pub fn terminal_lines(text: &str) -> String {
    text.split('\n').map(terminal).collect::<Vec<_>>().join("\n")
}

/// Text for a terminal with colours, built from escaped pieces alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Painted {
    text: String,
    columns: usize,
}

impl Painted {
    /// A piece, coloured where `colour` says so (ECMA-48 SGR).
    pub fn new(text: &str, style: anstyle::Style, colour: bool) -> Self {
        let safe = terminal(text);
        let columns = unicode_width::UnicodeWidthStr::width(safe.as_str());
        let is_plain = style == anstyle::Style::new() || safe.trim().is_empty();
        let text = if colour && !is_plain { format!("{style}{safe}{style:#}") } else { safe };
        Self { text, columns }
    }

    /// Adds blanks.
    pub fn blanks(&mut self, count: usize) {
        self.text.push_str(&" ".repeat(count));
        self.columns += count;
    }

    /// Adds a piece.
    pub fn push(&mut self, piece: Painted) {
        self.text.push_str(&piece.text);
        self.columns += piece.columns;
    }

    /// Columns it takes.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// A line of it, without blanks at its end.
    pub fn line(&self) -> String {
        self.text.trim_end().to_owned() + "\n"
    }
}

/// For Markdown (GitHub's) and for a cell of its tables: the same, and what would be markup is escaped.
pub fn markdown(text: &str) -> String {
    visible(text, |safe, letter| match letter {
        '&' => safe.push_str("&amp;"),
        '<' => safe.push_str("&lt;"),
        '>' => safe.push_str("&gt;"),
        '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '~' | '#' | '$' => safe.extend(['\\', letter]),
        letter => safe.push(letter),
    })
}

/// For HTML, as text or as the value of an attribute in quotes.
pub fn html(text: &str) -> String {
    visible(text, |safe, letter| match letter {
        '&' => safe.push_str("&amp;"),
        '<' => safe.push_str("&lt;"),
        '>' => safe.push_str("&gt;"),
        '"' => safe.push_str("&quot;"),
        '\'' => safe.push_str("&#39;"),
        letter => safe.push(letter),
    })
}

/// A field of CSV (RFC 4180). One that a spreadsheet would take for a formula (OWASP, "CSV Injection") begins with an
/// apostrophe; a number is none.
pub fn csv(field: &str) -> String {
    let safe = visible(field, String::push);
    let formula = safe.trim_start().starts_with(['=', '+', '-', '@']) && safe.parse::<f64>().is_err();
    let safe = if formula { format!("'{safe}") } else { safe };
    if safe.contains([',', '"', '\'']) || formula {
        format!("\"{}\"", safe.replace('"', "\"\""))
    } else {
        safe
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}[2Jb\u{202e}c\u{200b}d\u{9b}e\nf\u{7}";

    #[test]
    fn nothing_steers_a_terminal() {
        assert_eq!(terminal(HOSTILE), "a\\u{1b}[2Jb\\u{202e}c\\u{200b}d\\u{9b}e f\\u{7}");
        assert_eq!(terminal_lines("a\u{1a}\n\tb\r\n"), "a\\u{1a}\n b \n");
        assert_eq!(terminal("münchen 東京 ±3%"), "münchen 東京 ±3%");
    }

    #[test]
    fn nothing_becomes_markup() {
        assert_eq!(markdown("a|b\n<c> `d` &e"), "a\\|b &lt;c&gt; \\`d\\` &amp;e");
        assert_eq!(html("<script>\"'&\u{202e}"), "&lt;script&gt;&quot;&#39;&amp;\\u{202e}");
        for format in [markdown, html, csv] {
            assert!(!format(HOSTILE).contains(['\u{1b}', '\u{202e}', '\u{200b}', '\n']));
        }
    }

    #[test]
    fn no_cell_is_a_formula() {
        assert_eq!(csv("=1+1"), "\"'=1+1\"");
        assert_eq!(csv("@sum(a)"), "\"'@sum(a)\"");
        assert_eq!(csv(" -cmd|' /C calc'!A0"), "\"' -cmd|' /C calc'!A0\"");
        assert_eq!((csv("-5.25").as_str(), csv("plain").as_str()), ("-5.25", "plain"));
        assert_eq!(csv("a, \"b\""), "\"a, \"\"b\"\"\"");
    }
}
