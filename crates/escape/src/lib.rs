//! Text that can only be printed escaped.
//!
//! Names, headers, certificates, log lines and error texts come from others. Each format that is printed or written has a
//! type here ([`TerminalText`], [`MarkdownText`], [`HtmlText`], [`CsvText`], [`JsonText`]) made of literals of this program
//! and of escaped text; [`terminal!`], [`markdown!`] and [`html!`] are `format!` for them. What reaches standard output in
//! another way than as plain text is a [`Printable`], and there is no way from a `String` to one but through these types,
//! so that the compiler finds text that would be printed raw.

mod format;
mod printable;
mod text;

pub use format::{Escaping, ForCsv, ForHtml, ForMarkdown, ForTerminal};
pub use printable::{JsonText, Printable};
pub use text::{CsvText, Escaped, HtmlText, MarkdownText, Piece, Shown, TerminalText};
