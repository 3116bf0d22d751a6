//! Flags for the output of `capacity` and `compare`: the format of the printed result, and files.
//!
//! As for `paceline run`, a file gets the format of its extension, and text is printed as well. The files are checked
//! before the first load, because an experiment takes minutes.

use crate::commands::format::Format;
use crate::exit::{Complaint, print};
use crate::file::{self, FileIdentity};
use paceline_escape::Printable;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// A command's formats.
pub trait ResultFormats {
    /// Text is one of them.
    const FORMATS: &'static [Format];
}

/// The output flags of a command with the formats `F`.
#[derive(clap::Args, Clone, Debug)]
pub struct ResultFlags<F: ResultFormats + Clone + Send + Sync + 'static> {
    /// Format of the printed result [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = Format::among(F::FORMATS))]
    pub format: Option<Format>,
    /// Write to FILE in the format of its extension
    ///
    /// May be repeated. The text is still printed.
    #[arg(short, long, value_name = "FILE")]
    output: Vec<PathBuf>,
    #[arg(skip)]
    formats: PhantomData<F>,
}

impl<F: ResultFormats + Clone + Send + Sync + 'static> ResultFlags<F> {
    /// Checks that every file has a known format, can be written, and is neither an input nor named twice.
    ///
    /// # Errors
    /// A usage error, or the error of a file that cannot be written.
    pub fn check(&self, inputs: &[&str]) -> anyhow::Result<()> {
        let inputs = inputs.iter().map(Path::new).filter(|input| input.exists());
        let mut used: Vec<FileIdentity> = inputs.map(FileIdentity::of_path).collect();
        for path in self.files() {
            Self::format_of(path)?;
            let identity = FileIdentity::of_path(path);
            if used.contains(&identity) && !file::is_in_place(path) {
                let what =
                    format!("--output {}: this file is also an input, or is named twice", path.display());
                return Err(Complaint::usage(what).hint("write the result to another file").into());
            }
            used.push(identity);
            file::check_writable(path)?;
        }
        Ok(())
    }

    /// Writes the files and prints the result. If a file cannot be written, the result is printed in any case.
    ///
    /// # Errors
    /// The first file that cannot be written.
    pub fn write(&self, render: impl Fn(Format) -> anyhow::Result<Printable>) -> anyhow::Result<()> {
        let mut failed = None;
        let mut is_text_in_file = false;
        for path in self.files() {
            let format = Self::format_of(path)?;
            is_text_in_file |= format == Format::Text;
            let written = file::write_whole(path, render(format)?.as_bytes());
            failed = failed.or(written.err());
        }
        if self.format.is_some() || !is_text_in_file || failed.is_some() {
            print(render(self.format.unwrap_or(Format::Text))?)?;
        }
        failed.map_or(Ok(()), Err)
    }

    /// The named files; `-` is standard output, where the result is printed.
    fn files(&self) -> impl Iterator<Item = &Path> {
        self.output.iter().map(PathBuf::as_path).filter(|path| *path != Path::new("-"))
    }

    /// The format of a file by its extension.
    fn format_of(path: &Path) -> anyhow::Result<Format> {
        Format::of_path(path, F::FORMATS).ok_or_else(|| {
            Complaint::usage(format!("--output {}: unknown file extension", path.display()))
                .hint(format!("use {}", Format::extensions(F::FORMATS)))
                .into()
        })
    }
}
