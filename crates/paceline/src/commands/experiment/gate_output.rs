//! The files and the printed result of a gate, in the formats of CI.

use crate::commands::format::Format;
use crate::exit::{self, Complaint, Status};
use crate::file::{self, FileIdentity};
use paceline_escape::Printable;
use paceline_experiment::{gate_error_junit, gate_error_markdown};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

/// The formats of a gate.
const FORMATS: &[Format] = &[Format::Text, Format::Markdown, Format::Json, Format::Html, Format::Junit];

/// Flags for the output of a gate.
#[derive(clap::Args, Clone, Debug)]
pub struct GateOutput {
    /// Format of the printed result [default: text on a terminal, Markdown elsewhere]
    #[arg(hide_short_help = true, long, value_name = "FORMAT", value_parser = Format::among(FORMATS))]
    format: Option<Format>,
    /// Also write the Markdown summary to a file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write JUnit XML to a file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a page to a file
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write everything as JSON to a file
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Also print the outcome as an annotation for GitHub Actions
    #[arg(hide_short_help = true, long)]
    annotations: bool,
}

impl GateOutput {
    /// Checks that every file can be written and is not an input, before anything is measured.
    pub fn check(&self, inputs: &[&str]) -> anyhow::Result<()> {
        let inputs = inputs.iter().map(Path::new).filter(|input| input.exists());
        let mut used: Vec<FileIdentity> = inputs.map(FileIdentity::of_path).collect();
        for (path, _) in self.files() {
            let identity = FileIdentity::of_path(path);
            if used.contains(&identity) && !file::is_in_place(path) {
                let what = format!("{}: this file is also an input, or is named twice", path.display());
                return Err(Complaint::usage(what).hint("write the result to another file").into());
            }
            used.push(identity);
            file::check_writable(path)?;
        }
        Ok(())
    }

    /// Writes the files and prints the result. If a file cannot be written, the others are still written, and the
    /// result is printed.
    ///
    /// # Errors
    /// That of the first file that cannot be written.
    pub fn write(
        &self,
        render: impl Fn(Format) -> anyhow::Result<Printable>,
        annotations: &str,
    ) -> anyhow::Result<()> {
        let mut failed = None;
        for (path, format) in self.files() {
            failed = failed.or(file::write_whole(path, render(format)?.as_bytes()).err());
        }
        if self.annotations {
            exit::print(&annotations.to_owned())?;
        }
        exit::print(render(self.printed())?)?;
        failed.map_or(Ok(()), Err)
    }

    /// The folder of the page, if one is written.
    pub fn page_folder(&self) -> Option<&Path> {
        let folder = self.html.as_deref()?.parent()?;
        Some(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })
    }

    /// The canonical paths of the files.
    pub fn places(&self) -> Vec<PathBuf> {
        self.files().map(|(path, _)| file::final_place(path)).collect()
    }

    fn printed(&self) -> Format {
        let default = if std::io::stdout().is_terminal() { Format::Text } else { Format::Markdown };
        self.format.unwrap_or(default)
    }

    /// Writes the files for CI if the gate has no result, whatever the reason: CI reads them, not the exit status
    /// alone. The files that cannot say so are removed, because CI would publish those of an earlier gate. A file that
    /// cannot be written is only reported: `error` is what the caller returns, and may have the same cause, a full disk.
    pub fn write_error(&self, error: &anyhow::Error) {
        // The reader of the printed result closed it early.
        if exit::status_of(error) == Status::Done {
            return;
        }
        let reason = exit::failure_text(error);
        for (path, format) in self.files() {
            let write = |text: Printable| file::write_whole(path, text.as_bytes());
            let written = match format {
                Format::Junit => write(gate_error_junit(&reason).into()),
                Format::Markdown | Format::Text => write(gate_error_markdown(&reason).into()),
                Format::Json | Format::Html | Format::Csv | Format::Svg | Format::Hgrm => {
                    file::remove_stale(path)
                }
            };
            if let Err(failure) = written {
                exit::say(&format!("paceline: {}", exit::failure_text(&failure)));
            }
        }
    }

    fn files(&self) -> impl Iterator<Item = (&Path, Format)> {
        let files = [
            (&self.markdown, Format::Markdown),
            (&self.junit, Format::Junit),
            (&self.html, Format::Html),
            (&self.report, Format::Json),
        ];
        files.into_iter().filter_map(|(path, format)| Some((path.as_deref()?, format)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_escape::TerminalText;

    /// An output without files.
    fn printed_only() -> GateOutput {
        GateOutput {
            format: Some(Format::Text),
            markdown: None,
            junit: None,
            html: None,
            report: None,
            annotations: false,
        }
    }

    #[test]
    fn a_gate_without_a_result_leaves_no_file_of_an_earlier_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        std::fs::write(file("gate.html"), "passed").unwrap();
        let output = GateOutput {
            junit: Some(file("gate.xml")),
            html: Some(file("gate.html")),
            report: Some(file("gate.json")),
            ..printed_only()
        };
        output.write_error(&Complaint::environment("no free port").into());
        assert!(std::fs::read_to_string(file("gate.xml")).unwrap().contains("no free port"));
        assert!(!file("gate.html").exists() && !file("gate.json").exists());
        let no_response = Complaint::failed("no valid response").hint("look at its log");
        output.write_error(&no_response.into());
        assert!(
            std::fs::read_to_string(file("gate.xml")).unwrap().contains("no valid response: look at its log")
        );
        output.write_error(&Complaint::interrupted("interrupted in a build").into());
        assert!(std::fs::read_to_string(file("gate.xml")).unwrap().contains("interrupted in a build"));
    }

    #[test]
    fn a_file_that_cannot_be_written_does_not_lose_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let junit = folder.path().join("gate.xml");
        let output = GateOutput {
            markdown: Some(folder.path().join("missing/gate.md")),
            junit: Some(junit.clone()),
            ..printed_only()
        };
        let error = output.write(|_| Ok(TerminalText::literal("passed\n").into()), "").unwrap_err();
        assert!(error.to_string().contains("gate.md"), "{error}");
        assert_eq!(std::fs::read_to_string(&junit).unwrap(), "passed\n");
        output.write_error(&Complaint::environment("the disk is full").into());
        assert!(std::fs::read_to_string(&junit).unwrap().contains("the disk is full"));
    }
}
