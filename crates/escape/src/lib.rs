//! Types for text that can only be printed escaped.
//!
//! Names, headers, certificates, log lines and error texts come from outside. Each format that is printed or written
//! has a type here ([`TerminalText`], [`MarkdownText`], [`HtmlText`], [`CsvText`], [`JsonText`]) that is made of string
//! literals and of escaped text; [`terminal!`], [`markdown!`] and [`html!`] are `format!` for them. All other output,
//! such as whole documents, is a [`Printable`]. A `String` becomes one only through these types, so that the compiler
//! rejects text that would be printed raw.

mod error_text;
mod format;
mod printable;
mod shell;
mod text;

pub use error_text::error_text;
pub use format::{Escaping, ForCsv, ForHtml, ForMarkdown, ForTerminal};
pub use printable::{JsonText, Printable};
pub use shell::{shell_line, shell_word};
pub use text::{CsvText, DisplayPiece, Escaped, HtmlText, MarkdownText, Piece, TerminalText};
