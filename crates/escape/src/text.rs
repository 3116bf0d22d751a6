//! Text of one format, and `format!` for it.

use crate::format::{Escaping, ForCsv, ForHtml, ForMarkdown, ForTerminal};
use std::fmt;
use std::marker::PhantomData;

/// Text of one format: literals, and everything else escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Escaped<E> {
    text: String,
    escaping: PhantomData<E>,
}

/// Text for a terminal.
pub type TerminalText = Escaped<ForTerminal>;
/// Markdown.
pub type MarkdownText = Escaped<ForMarkdown>;
/// HTML, SVG and other XML.
pub type HtmlText = Escaped<ForHtml>;
/// CSV.
pub type CsvText = Escaped<ForCsv>;

impl<E: Escaping> Escaped<E> {
    /// Escapes text from outside, on one line.
    pub fn from_text(text: &str) -> Self {
        Self::safe(E::escape(text))
    }

    /// Text of this program, not escaped.
    pub fn literal(text: &'static str) -> Self {
        Self::safe(text.to_owned())
    }

    /// Joins the parts, with a literal between them.
    pub fn joined(parts: impl IntoIterator<Item = Self>, between: &'static str) -> Self {
        let parts: Vec<String> = parts.into_iter().map(|part| part.text).collect();
        Self::safe(parts.join(between))
    }

    /// Appends `more`.
    pub fn push(&mut self, more: &Self) {
        self.text.push_str(&more.text);
    }

    /// For the macros, which ensure that every argument is a [`Piece`].
    #[doc(hidden)]
    pub fn composed(text: fmt::Arguments) -> Self {
        Self::safe(text.to_string())
    }
}

impl<E> Escaped<E> {
    fn safe(text: String) -> Self {
        Self { text, escaping: PhantomData }
    }

    /// The escaped text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn into_string(self) -> String {
        self.text
    }
}

impl<E> FromIterator<Escaped<E>> for Escaped<E> {
    fn from_iter<I: IntoIterator<Item = Escaped<E>>>(parts: I) -> Self {
        Self::safe(parts.into_iter().map(|part| part.text).collect())
    }
}

/// The escaped text, which is safe in its own format only: in text of another format it is escaped again.
impl<E> fmt::Display for Escaped<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl TerminalText {
    /// Escapes text from outside and keeps its line ends.
    pub fn lines(text: &str) -> Self {
        Self::joined(text.split('\n').map(Self::from_text), "\n")
    }

    /// Escapes text from outside and keeps its line ends and tabs: a table that other programs read.
    pub fn table(text: &str) -> Self {
        let line = |line: &str| Self::joined(line.split('\t').map(Self::from_text), "\t");
        Self::joined(text.split('\n').map(line), "\n")
    }

    /// Escapes lines with colours (ECMA-48 SGR): colours are kept, every other control sequence is escaped.
    pub fn coloured(text: &str) -> Self {
        let mut pieces = text.split("\x1b[");
        let mut safe = Self::lines(pieces.next().unwrap_or_default());
        for piece in pieces {
            let end = piece.find(|letter: char| !letter.is_ascii_digit() && letter != ';');
            match end.filter(|end| piece[*end..].starts_with('m')) {
                Some(end) => {
                    safe.text.push_str(&format!("\x1b[{}m", &piece[..end]));
                    safe.push(&Self::lines(&piece[end + 1..]));
                }
                None => safe.push(&Self::lines(&format!("\x1b[{piece}"))),
            }
        }
        safe
    }
}

impl MarkdownText {
    /// A key of a record. An underscore within a word is not markup (CommonMark §6.2), and is not escaped.
    pub fn key(key: &str) -> Self {
        Self::joined(key.split('_').map(Self::from_text), "_")
    }
}

impl CsvText {
    /// Fields with commas between them; the caller adds the line end.
    pub fn record(fields: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self::joined(fields.into_iter().map(|field| Self::from_text(field.as_ref())), ",")
    }
}

/// A value that a macro puts in place of `{}`: escaped, unless it is already text of the same format.
pub trait Piece<E> {
    /// Writes it, with the requested width and precision.
    ///
    /// # Errors
    /// Those of the formatter.
    fn put(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<E> Piece<E> for Escaped<E> {
    fn put(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl<E: Escaping> Piece<E> for str {
    fn put(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&E::escape(self))
    }
}

impl<E: Escaping> Piece<E> for String {
    fn put(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&E::escape(self))
    }
}

impl<E, P: Piece<E> + ?Sized> Piece<E> for &P {
    fn put(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        P::put(self, f)
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl<E> Piece<E> for $number {
            fn put(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}
numbers!(u8, u16, u32, u64, usize, i64, f64);

/// For the macros: displays a piece.
#[doc(hidden)]
pub struct DisplayPiece<'a, E, P: ?Sized>(&'a P, PhantomData<E>);

impl<'a, E, P: Piece<E> + ?Sized> DisplayPiece<'a, E, P> {
    #[doc(hidden)]
    pub fn from_piece(piece: &'a P) -> Self {
        Self(piece, PhantomData)
    }
}

impl<E, P: Piece<E> + ?Sized> fmt::Display for DisplayPiece<'_, E, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.put(f)
    }
}

/// `format!` whose text is a literal and whose arguments are escaped. `concat!` keeps the literal from capturing names,
/// which would not be escaped.
#[doc(hidden)]
#[macro_export]
macro_rules! escaped {
    ($escaping:ty, $text:literal $(, $piece:expr)* $(,)?) => {
        $crate::Escaped::<$escaping>::composed(::std::format_args!(
            ::std::concat!($text) $(, $crate::DisplayPiece::<$escaping, _>::from_piece(&$piece))*
        ))
    };
}

/// `format!` for a terminal: each argument is escaped and stays on its line.
#[macro_export]
macro_rules! terminal {
    ($($all:tt)*) => { $crate::escaped!($crate::ForTerminal, $($all)*) };
}

/// `format!` for Markdown: each argument is escaped.
#[macro_export]
macro_rules! markdown {
    ($($all:tt)*) => { $crate::escaped!($crate::ForMarkdown, $($all)*) };
}

/// `format!` for HTML and XML: each argument is escaped.
#[macro_export]
macro_rules! html {
    ($($all:tt)*) => { $crate::escaped!($crate::ForHtml, $($all)*) };
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}[2Jb\u{202e}c\u{200b}d\u{9b}e\nf\u{7}";

    #[test]
    fn control_characters_are_escaped_for_terminals() {
        let shown = "a\\u{1b}[2Jb\\u{202e}c\\u{200b}d\\u{9b}e f\\u{7}";
        assert_eq!(TerminalText::from_text(HOSTILE).as_str(), shown);
        assert_eq!(terminal!("<{}> {:>3}\n", HOSTILE, 7_u64).as_str(), format!("<{shown}>   7\n"));
        assert_eq!(TerminalText::table("a\tb\u{1a}\n\tc\n").as_str(), "a\tb\\u{1a}\n\tc\n");
        assert_eq!(TerminalText::lines("a\u{1a}\n\tb\r\n").as_str(), "a\\u{1a}\n b \n");
        assert_eq!(TerminalText::from_text("münchen 東京 ±3%").as_str(), "münchen 東京 ±3%");
    }

    #[test]
    fn invisible_characters_are_shown() {
        // One of each range that has the category Cf or is ignorable by default, and a noncharacter.
        for letter in "\u{34f}\u{600}\u{115f}\u{17b4}\u{180b}\u{3164}\u{fe0f}\u{ffa0}\u{110bd}\u{13430}\u{1bca0}\u{1d173}\u{e0100}\u{ffff}".chars() {
            let shown = format!("a\\u{{{:x}}}b", u32::from(letter));
            assert_eq!(TerminalText::from_text(&format!("a{letter}b")).as_str(), shown);
        }
    }

    #[test]
    fn only_colour_sequences_are_kept() {
        let coloured = "\x1b[1;31mbad\x1b[0m\nplain";
        assert_eq!(TerminalText::coloured(coloured).as_str(), coloured);
        for (raw, shown) in [
            ("a\x1b[2J", "a\\u{1b}[2J"),
            ("\x1b[", "\\u{1b}["),
            ("\x1b[1m\x1b]0;x\u{7}", "\x1b[1m\\u{1b}]0;x\\u{7}"),
            ("\x1b[31\u{202e}m", "\\u{1b}[31\\u{202e}m"),
        ] {
            assert_eq!(TerminalText::coloured(raw).as_str(), shown);
        }
    }

    #[test]
    fn markup_is_escaped() {
        assert_eq!(MarkdownText::from_text("a|b\n<c> `d` &e").as_str(), "a\\|b &lt;c&gt; \\`d\\` &amp;e");
        assert_eq!(
            HtmlText::from_text("<script>\"'&\u{202e}").as_str(),
            "&lt;script&gt;&quot;&#39;&amp;\\u{202e}"
        );
        for text in [
            MarkdownText::from_text(HOSTILE).text,
            HtmlText::from_text(HOSTILE).text,
            CsvText::from_text(HOSTILE).text,
        ] {
            assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{200b}', '\n']), "{text:?}");
        }
    }

    #[test]
    fn markdown_mentions_nobody() {
        for (text, shown) in [
            ("thanks @name", "thanks @&#8203;name"),
            ("(@team/web)", "(@&#8203;team/web)"),
            ("fixes #12, a/b#3", "fixes \\#&#8203;12, a/b\\#&#8203;3"),
            ("user@host @ #x", "user@host @ \\#x"),
        ] {
            assert_eq!(MarkdownText::from_text(text).as_str(), shown);
        }
    }

    #[test]
    fn escaped_text_is_escaped_again_only_in_another_format() {
        let cell = MarkdownText::from_text("a|b");
        assert_eq!(markdown!("| {} |", cell).as_str(), "| a\\|b |");
        assert_eq!(html!("<p>{}</p>", MarkdownText::from_text("<").as_str()).as_str(), "<p>&amp;lt;</p>");
    }

    #[test]
    fn a_csv_cell_is_never_a_formula() {
        let field = |text| CsvText::from_text(text).text;
        assert_eq!(field("=1+1"), "\"'=1+1\"");
        assert_eq!(field("@sum(a)"), "\"'@sum(a)\"");
        assert_eq!(field("\u{ff1d}1+1"), "\"'\u{ff1d}1+1\"");
        assert_eq!(field(" -cmd|' /C calc'!A0"), "\"' -cmd|' /C calc'!A0\"");
        assert_eq!(CsvText::record(["-5.25", "plain", "a, \"b\""]).as_str(), "-5.25,plain,\"a, \"\"b\"\"\"");
    }
}
