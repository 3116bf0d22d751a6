//! The flag `--format` of commands whose result is text for people or one JSON document for programs.

use crate::exit::{json, print, say};
use serde::Serialize;

/// The flag.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct PrintFormatFlag {
    /// Text, or JSON for programs
    #[arg(long, value_enum, default_value_t = PrintFormat::Text)]
    pub format: PrintFormat,
}

/// Values of the flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PrintFormat {
    /// For people
    Text,
    /// One document, for programs
    Json,
}

impl PrintFormatFlag {
    /// Prints a line of the result as it is found. With JSON it is progress and goes to standard error.
    pub fn print_line(self, line: &str) -> anyhow::Result<()> {
        match self.format {
            PrintFormat::Text => print(line),
            PrintFormat::Json => {
                say(line.trim_end_matches('\n'));
                Ok(())
            }
        }
    }

    /// Prints the document, if programs asked for it.
    pub fn print_document(self, document: &impl Serialize) -> anyhow::Result<()> {
        match self.format {
            PrintFormat::Text => Ok(()),
            PrintFormat::Json => print(json(document)?),
        }
    }
}
