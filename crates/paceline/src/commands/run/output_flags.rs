//! Flags of a run's outputs other than the printed result, and the files they name.
//!
//! `paceline run` checks them before anything starts. No file is opened here: `seconds.rs` writes the lines per second,
//! `write_results.rs` the percentile distributions.

use crate::commands::dashboards::DashboardFlags;
use crate::commands::format::Format;
use crate::exit::Complaint;
use crate::file::FileIdentity;
use clap::builder::{PathBufValueParser, TypedValueParser};
use paceline_report::TimeUnit;
use paceline_run::Inputs;
use std::path::{Path, PathBuf};

/// An output file.
#[derive(Clone, Copy, Debug)]
pub struct OutputFile<'a> {
    /// The flag that names it.
    pub flag: &'static str,
    /// Where it is.
    pub path: &'a Path,
}

/// The outputs of a run.
#[derive(clap::Args, Debug)]
pub struct OutputFlags {
    /// Format of the output; a file with a known extension has the format of that extension [default: text]
    #[arg(hide_short_help = true, long, value_name = "FORMAT", value_parser = Format::among(FORMATS), help_heading = "Output")]
    format: Option<Format>,

    /// The same as --format json
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    json: bool,

    /// Write to FILE: .json .html .svg .txt .csv .md .hgrm
    ///
    /// May be repeated. The format is that of the extension. Text is also printed, unless a FILE receives text or --format selects another format.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Vec<PathBuf>,

    /// Which histograms the JSON includes; `none` keeps it small
    #[arg(hide_short_help = true, long, value_enum, default_value_t = HistogramsFlag::All, help_heading = "Output")]
    pub histograms: HistogramsFlag,

    /// Write a line of JSON to this file descriptor as each phase begins
    #[arg(hide_short_help = true, long, value_name = "FD", help_heading = "Output")]
    pub events: Option<i32>,

    /// Show all times of text and Markdown in one unit [default: a suitable unit for each]
    #[arg(hide_short_help = true, long, value_enum, value_name = "UNIT", help_heading = "Output")]
    pub time_unit: Option<TimeUnitFlag>,

    /// Print all figures
    #[arg(hide_short_help = true, long, visible_alias = "percentiles", help_heading = "Output")]
    pub full: bool,

    /// No live view on standard error during the run
    #[arg(short = 'q', long, alias = "quiet", overrides_with = "no_live", help_heading = "Output")]
    pub no_live: bool,

    /// Leave the last frame of the live view on the terminal, above the results
    #[arg(hide_short_help = true, long, conflicts_with = "no_live", help_heading = "Output")]
    pub keep_live: bool,

    /// Show the run in a browser while it runs, and its results afterwards until Ctrl-C
    #[arg(hide_short_help = true, long, help_heading = "Output")]
    pub view: bool,

    /// Disable colours, like NO_COLOR=1
    #[arg(hide_short_help = true, long, help_heading = "Output")]
    pub no_color: bool,

    /// Write a CSV line for each second as soon as it is over, with a header; - is standard output
    #[arg(hide_short_help = true, long, value_name = "FILE", value_parser = output(), help_heading = "Output")]
    pub csv: Option<PathBuf>,

    /// Write a JSON line for each second as soon as it is over, for dashboards; - is standard output
    #[arg(hide_short_help = true, long, value_name = "FILE", value_parser = output(), help_heading = "Output")]
    pub ndjson: Option<PathBuf>,

    #[command(flatten)]
    pub dashboards: DashboardFlags,

    /// Then profile a local server with perf: flame graph (profile.svg)
    #[arg(hide_short_help = true, long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "profile.svg", conflicts_with_all = ["loaders", "on"], help_heading = "Output")]
    pub profile: Option<PathBuf>,

    /// Then count a local server's system calls per request with perf
    #[arg(hide_short_help = true, long, conflicts_with_all = ["loaders", "on"], help_heading = "Output")]
    pub syscalls: bool,

    /// Write times for HdrHistogram's tools: FILE.hlog, a histogram for each second, or FILE.hgrm, percentiles
    #[arg(hide_short_help = true, long, value_name = "FILE", help_heading = "Output")]
    pub hdr: Vec<PathBuf>,
}

/// The formats of a run.
const FORMATS: &[Format] =
    &[Format::Text, Format::Json, Format::Hgrm, Format::Html, Format::Svg, Format::Csv, Format::Markdown];

impl OutputFlags {
    /// The files that the result is written to.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.output.iter().map(PathBuf::as_path).filter(|output| *output != Path::new("-"))
    }

    /// Whether the result is printed. Text is printed beside files of other formats, so that a failed run shows why.
    pub fn prints(&self) -> bool {
        let is_text = |format| format == Format::Text;
        let is_stdout = |path: &PathBuf| path == Path::new("-");
        let is_taken = self.csv.iter().chain(&self.ndjson).any(is_stdout);
        let is_beside = !is_taken
            && is_text(self.printed_format())
            && !self.files().any(|path| is_text(self.format_of(path)));
        self.output.is_empty() || is_beside || self.output.iter().any(is_stdout)
    }

    /// The format of the printed result.
    pub fn printed_format(&self) -> Format {
        match (self.json, self.format) {
            (true, _) => Format::Json,
            (false, format) => format.unwrap_or(Format::Text),
        }
    }

    /// The format of a file: from its extension, otherwise the printed format.
    pub fn format_of(&self, path: &Path) -> Format {
        Format::of_path(path, FORMATS).unwrap_or(self.printed_format())
    }

    /// The histogram logs.
    pub fn hlogs(&self) -> impl Iterator<Item = &PathBuf> {
        self.hdr.iter().filter(|path| has_ending(path, "hlog"))
    }

    /// The percentile distributions.
    pub fn hgrms(&self) -> impl Iterator<Item = &PathBuf> {
        self.hdr.iter().filter(|path| has_ending(path, "hgrm"))
    }

    /// The files that are written when the run is over.
    pub fn written_at_the_end(&self) -> impl Iterator<Item = &Path> {
        let others = self.hgrms().chain(&self.profile);
        self.files().chain(others.map(PathBuf::as_path))
    }

    /// The first flag that runs the load again after the measured window.
    pub fn repeating_flag(&self) -> Option<&'static str> {
        [("--profile", self.profile.is_some()), ("--syscalls", self.syscalls)]
            .into_iter()
            .find_map(|(flag, given)| given.then_some(flag))
    }

    /// Every named output file, results first.
    pub fn outputs(&self) -> Vec<OutputFile<'_>> {
        let results = self.files().map(|path| ("--output", Some(path)));
        let others = [
            ("--csv", self.csv.as_deref()),
            ("--ndjson", self.ndjson.as_deref()),
            ("--profile", self.profile.as_deref()),
        ];
        let flagged = results.chain(others);
        let ours = flagged.filter_map(|(flag, path)| Some(OutputFile { flag, path: path? }));
        ours.chain(self.hdr.iter().map(|path| OutputFile { flag: "--hdr", path })).collect()
    }

    /// Refuses outputs during the run if there are several generators, whose results are merged at the end.
    pub fn check_for_several(&self) -> anyhow::Result<()> {
        let during = [
            ("--csv", self.csv.is_some()),
            ("--ndjson", self.ndjson.is_some()),
            ("--view", self.view),
            ("--metrics", self.dashboards.metrics.is_some()),
            ("--otlp", self.dashboards.otlp.is_some()),
            ("--hdr FILE.hlog", self.hlogs().next().is_some()),
        ];
        match during.into_iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((flag, _)) => {
                let what = format!(
                    "{flag} cannot be combined with --loaders or --on: results are merged when the run is over"
                );
                Err(Complaint::usage(what)
                    .hint("use -o FILE.json: its key `intervals` has the values over time")
                    .into())
            }
        }
    }

    /// Refuses outputs of a measurement: `--debug` makes none.
    pub fn check_for_debug(&self) -> anyhow::Result<()> {
        let shown = [
            ("--view", self.view),
            ("--metrics", self.dashboards.metrics.is_some()),
            ("--otlp", self.dashboards.otlp.is_some()),
            ("--syscalls", self.syscalls),
        ];
        let shown = shown.into_iter().filter_map(|(flag, given)| given.then_some(flag));
        match self.outputs().into_iter().map(|output| output.flag).chain(shown).next() {
            None => Ok(()),
            Some(flag) => {
                let what = format!("{flag} cannot be combined with --debug, which measures nothing");
                let hint = format!("remove {flag}: --debug prints what is sent and received");
                Err(Complaint::usage(what).hint(hint).into())
            }
        }
    }

    /// Refuses files with an extension of no format, unless a format is given.
    fn check_endings(&self) -> anyhow::Result<()> {
        if self.json || self.format.is_some() {
            return Ok(());
        }
        let is_unknown =
            |path: &&Path| path.extension().is_some() && Format::of_path(path, FORMATS).is_none();
        match self.files().find(is_unknown) {
            None => Ok(()),
            Some(path) => {
                let what = format!("-o {}: no output format has this extension", path.display());
                Err(Complaint::usage(what)
                    .hint("use .html (charts), .svg (a picture of the times), .json, .txt, .md, .csv or .hgrm, or select the format with --format")
                    .into())
            }
        }
    }

    /// Refuses outputs that would overwrite each other, or whose format is unknown.
    pub fn check(&self) -> anyhow::Result<()> {
        self.check_endings()?;
        if let Some(path) =
            self.hdr.iter().find(|path| !has_ending(path, "hlog") && !has_ending(path, "hgrm"))
        {
            let what = format!("--hdr {}: the file name must end in .hlog or .hgrm", path.display());
            return Err(Complaint::usage(what)
                .hint("use FILE.hlog for a log with one histogram per second, or FILE.hgrm for the percentile distribution")
                .into());
        }
        let mut seen: Vec<(FileIdentity, &'static str)> = Vec::new();
        for OutputFile { flag, path } in self.outputs() {
            let identity = FileIdentity::of_path(path);
            // A descriptor, a terminal or a pipe may be named twice on purpose.
            if let Some((_, other)) = seen.iter().find(|(seen, _)| *seen == identity)
                && !crate::file::is_in_place(path)
            {
                let what = format!("{} is used for two outputs, {other} and {flag}", path.display());
                return Err(Complaint::usage(what).hint("use a different file for each output").into());
            }
            seen.push((identity, flag));
        }
        Ok(())
    }
}

/// Values of `--histograms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum HistogramsFlag {
    /// All: the result can be merged and read again
    All,
    /// None: percentiles only
    None,
}

/// Values of `--time-unit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TimeUnitFlag {
    /// Microseconds
    Us,
    /// Milliseconds
    Ms,
    /// Seconds
    S,
}

impl TimeUnitFlag {
    /// The unit of this flag value.
    pub fn unit(self) -> TimeUnit {
        match self {
            TimeUnitFlag::Us => TimeUnit::Microseconds,
            TimeUnitFlag::Ms => TimeUnit::Milliseconds,
            TimeUnitFlag::S => TimeUnit::Seconds,
        }
    }
}

/// Parses a path; `-` means standard output.
fn output() -> impl TypedValueParser<Value = PathBuf> {
    let meant = |path: PathBuf| if path == Path::new("-") { "/dev/stdout".into() } else { path };
    PathBufValueParser::new().map(meant)
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending))
}

/// Refuses outputs that would overwrite an input file.
pub fn keep_inputs(inputs: &Inputs, outputs: &[OutputFile<'_>]) -> anyhow::Result<()> {
    for OutputFile { flag, path } in outputs {
        let found = std::fs::metadata(path).ok();
        let input = found.as_ref().and_then(|found| inputs.named_by(found));
        if let Some(named_by) = input.filter(|_| !crate::file::is_in_place(path)) {
            let what = format!("{} is both an input ({named_by}) and an output ({flag})", path.display());
            return Err(Complaint::usage(what).hint("write the output to another file").into());
        }
    }
    Ok(())
}
