//! Flags for the output of `capacity` and `compare`: the format of the printed result, and files.
//!
//! As for `paceline run`, a file gets the format of its extension, and text is printed as well. The files are checked
//! before the first load, because an experiment takes minutes.

use crate::exit::{Complaint, print};
use crate::file::{self, FileIdentity};
use clap::ValueEnum;
use paceline_escape::Printable;
use std::path::{Path, PathBuf};

/// The formats of a command.
pub trait ResultFormat: ValueEnum + Copy + PartialEq + Send + Sync + 'static {
    /// The format for people.
    const TEXT: Self;
    /// The extension of each format.
    const EXTENSIONS: &'static [(&'static str, Self)];
}

/// The output flags of a command with formats `F`.
#[derive(clap::Args, Clone, Debug)]
pub struct ResultFlags<F: ResultFormat> {
    /// Format of the printed result [default: text]
    #[arg(long, value_enum)]
    pub format: Option<F>,
    /// Write to FILE in the format of its extension
    ///
    /// May be repeated. The text is still printed.
    #[arg(short, long, value_name = "FILE")]
    output: Vec<PathBuf>,
}

impl<F: ResultFormat> ResultFlags<F> {
    /// Checks that every file has a known format, can be written, and is neither an input nor named twice.
    ///
    /// # Errors
    /// A usage error, or the error of a file that cannot be written.
    pub fn check(&self, inputs: &[&str]) -> anyhow::Result<()> {
        let inputs = inputs.iter().map(Path::new).filter(|input| input.exists());
        let mut used: Vec<FileIdentity> = inputs.map(FileIdentity::of_path).collect();
        for path in self.files() {
            format_of::<F>(path)?;
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
    pub fn write(&self, render: impl Fn(F) -> anyhow::Result<Printable>) -> anyhow::Result<()> {
        let mut failed = None;
        let mut is_text_in_file = false;
        for path in self.files() {
            let format = format_of(path)?;
            is_text_in_file |= format == F::TEXT;
            let written = file::write_whole(path, render(format)?.as_bytes());
            failed = failed.or(written.err());
        }
        if self.format.is_some() || !is_text_in_file || failed.is_some() {
            print(render(self.format.unwrap_or(F::TEXT))?)?;
        }
        failed.map_or(Ok(()), Err)
    }

    /// The named files; `-` is standard output, where the result is printed.
    fn files(&self) -> impl Iterator<Item = &Path> {
        self.output.iter().map(PathBuf::as_path).filter(|path| *path != Path::new("-"))
    }
}

/// The format of a file by its extension.
fn format_of<F: ResultFormat>(path: &Path) -> anyhow::Result<F> {
    let found = path.extension().and_then(|found| found.to_str()).unwrap_or_default();
    let mut known = F::EXTENSIONS.iter();
    let format = known.find(|(extension, _)| extension.eq_ignore_ascii_case(found));
    format.map(|(_, format)| *format).ok_or_else(|| {
        let extensions: Vec<String> =
            F::EXTENSIONS.iter().map(|(extension, _)| format!(".{extension}")).collect();
        Complaint::usage(format!("--output {}: unknown file extension", path.display()))
            .hint(format!("use {}", extensions.join(", ")))
            .into()
    })
}
