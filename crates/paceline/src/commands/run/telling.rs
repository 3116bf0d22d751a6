//! Flags of what a run tells beside its result, and the files they name.
//!
//! `paceline run` has them checked before anything starts. No file is opened here: lines for seconds are written by
//! `follow`, percentile distributions by `deliver.rs`.

use crate::exit::Complaint;
use std::path::{Path, PathBuf};

/// What is told of a run, and how.
#[derive(clap::Args, Debug)]
pub struct TellingFlags {
    /// Print the whole spectrum of percentiles
    #[arg(long, help_heading = "Output")]
    pub percentiles: bool,

    /// Show nothing while the run goes on
    ///
    /// Without it a terminal on standard error shows the rate, the times, errors and backlog of the last second.
    #[arg(long, help_heading = "Output")]
    pub no_live: bool,

    /// Write a line for each second, as it is over, as CSV with a header
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub csv: Option<PathBuf>,

    /// Write a line for each second, as it is over, as JSON: for a dashboard to follow
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub ndjson: Option<PathBuf>,

    /// Write times for HdrHistogram's tools: FILE.hlog, a log of seconds, or FILE.hgrm, the percentile distribution
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub hdr: Vec<PathBuf>,
}

impl TellingFlags {
    /// The histogram logs.
    pub fn hlogs(&self) -> impl Iterator<Item = &PathBuf> {
        self.hdr.iter().filter(|path| has_ending(path, "hlog"))
    }

    /// The percentile distributions.
    pub fn hgrms(&self) -> impl Iterator<Item = &PathBuf> {
        self.hdr.iter().filter(|path| has_ending(path, "hgrm"))
    }

    /// Whether the files named make sense together and beside the result's.
    pub fn check(&self, output: Option<&Path>) -> anyhow::Result<()> {
        if let Some(path) =
            self.hdr.iter().find(|path| !has_ending(path, "hlog") && !has_ending(path, "hgrm"))
        {
            let what = format!("--hdr {}: its name does not say which format", path.display());
            return Err(Complaint::usage(what)
                .hint("name it FILE.hlog for a log of seconds, FILE.hgrm for the percentile distribution")
                .into());
        }
        let mut named: Vec<&Path> =
            [output, self.csv.as_deref(), self.ndjson.as_deref()].into_iter().flatten().collect();
        named.extend(self.hdr.iter().map(PathBuf::as_path));
        for (index, path) in named.iter().enumerate() {
            // A descriptor, a terminal or a pipe may be named twice on purpose.
            if named[..index].contains(path) && !crate::file::is_in_place(path) {
                let what = format!("{} is named for two outputs", path.display());
                return Err(Complaint::usage(what).hint("give each a file of its own").into());
            }
        }
        Ok(())
    }
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending))
}
