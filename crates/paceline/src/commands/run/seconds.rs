//! Writes files during a run: CSV, NDJSON and a histogram log, one line per second, written when that second is over.
//!
//! Each line is passed to the kernel in one write, so that a program that follows the file, or the file of a killed
//! run, has complete lines. After a write error a file is abandoned and the error is reported at the end; a reader that
//! closes it early is not an error.

use super::output_flags::OutputFlags;
use crate::exit::Complaint;
use anyhow::Context as _;
use paceline_engine::{Measure, Phase, WorkerSecond};
use paceline_record as record;
use paceline_report::{hlog_header, hlog_line, second_csv, seconds_csv_header};
use paceline_run::{Rows, Sink, times};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// All files that are written during a run.
#[derive(Debug, Default)]
pub struct Files {
    files: Vec<SecondsFile>,
    /// The series of the server that a CSV has as columns.
    series: Vec<String>,
}

/// One such file.
#[derive(Debug)]
struct SecondsFile {
    path: PathBuf,
    lines: SecondsFormat,
    /// None after it was abandoned.
    file: Option<File>,
    /// Whether it is a regular file that was opened for this run alone and has no other content.
    is_own: bool,
    has_begun: bool,
    error: Option<std::io::Error>,
}

/// What is written.
#[derive(Clone, Copy, Debug)]
struct SecondsFormat {
    header: fn(&Rows, &[String]) -> String,
    line: fn(&record::Second, &WorkerSecond, &[String]) -> String,
}

const CSV: SecondsFormat = SecondsFormat {
    header: |_, series| seconds_csv_header(series),
    line: |row, _, series| second_csv(row, series),
};
const NDJSON: SecondsFormat = SecondsFormat {
    header: |_, _| String::new(),
    line: |row, _, _| serde_json::to_string(row).unwrap_or_default() + "\n",
};
const HLOG: SecondsFormat =
    SecondsFormat { header: |rows, _| hlog_start(rows), line: |row, second, _| hlog_lines(row, second) };

impl Files {
    /// Opens the files that the flags name. Lines for a program that follows the run come last: by then everything else
    /// is written. A file's previous content stays until the run has begun.
    pub fn open(flags: &OutputFlags, series: Vec<String>) -> anyhow::Result<Self> {
        let csv = flags.csv.iter().map(|path| (path, CSV));
        let ndjson = flags.ndjson.iter().map(|path| (path, NDJSON));
        let hlog = flags.hlogs().map(|path| (path, HLOG));
        let files = csv.chain(hlog).chain(ndjson);
        let files = files.map(|(path, lines)| SecondsFile::open(path, lines)).collect::<Result<_, _>>()?;
        Ok(Self { files, series })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

impl Sink for Files {
    fn second(&mut self, row: &record::Second, second: &WorkerSecond, rows: &Rows) {
        for file in &mut self.files {
            if !std::mem::replace(&mut file.has_begun, true) {
                file.begin(rows, &self.series);
            }
            file.write(&(file.lines.line)(row, second, &self.series));
        }
    }

    fn end(self: Box<Self>) -> Vec<std::io::Error> {
        let failed = self.files.into_iter().filter_map(|file| Some((file.error?, file.path)));
        let named = |(error, path): (std::io::Error, PathBuf)| {
            std::io::Error::new(error.kind(), format!("{}: {error}", cannot(&path)))
        };
        failed.map(named).collect()
    }
}

fn cannot(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

fn hlog_start(rows: &Rows) -> String {
    let started_at = rows.started_at();
    hlog_header(
        env!("CARGO_PKG_VERSION"),
        rows.target(),
        started_at.as_millisecond() as f64 / 1e3,
        &paceline_run::wall_clock::rfc3339(started_at),
    )
}

/// What this second added to the window's cohort, by kind of time: the lines of a run add up to its result.
fn hlog_lines(row: &record::Second, second: &WorkerSecond) -> String {
    let mut lines = String::new();
    for measure in Measure::ALL {
        let Some(kind) = record::TimeKind::parse(measure.key()) else { continue };
        let histogram = times(second, measure, |cohort| cohort == Phase::Window);
        if !histogram.is_empty() {
            lines.push_str(&hlog_line(kind.tag(), row.start_s, row.length_s, &histogram));
        }
    }
    lines
}

impl SecondsFile {
    fn open(path: &Path, lines: SecondsFormat) -> anyhow::Result<Self> {
        let opened = crate::file::open_in_place(path).and_then(|found| match found {
            Some(file) => Ok((file, false)),
            None => {
                File::options().write(true).create(true).truncate(false).open(path).map(|file| (file, true))
            }
        });
        let (file, is_own) =
            opened.with_context(|| cannot(path)).context(Complaint::environment("nothing was measured"))?;
        Ok(Self { path: path.to_owned(), lines, file: Some(file), is_own, has_begun: false, error: None })
    }

    /// Empties the file, if it belongs to this run, and writes its header.
    fn begin(&mut self, rows: &Rows, series: &[String]) {
        if let Some(file) = self.file.as_mut().filter(|_| self.is_own) {
            self.error = file.set_len(0).err();
        }
        self.write(&(self.lines.header)(rows, series));
    }

    fn write(&mut self, lines: &str) {
        let Some(file) = self.file.as_mut().filter(|_| !lines.is_empty()) else { return };
        let Err(error) = crate::exit::write_waiting(file, lines.as_bytes()) else { return };
        self.file = None;
        if error.kind() != ErrorKind::BrokenPipe {
            self.error = Some(error);
        }
    }
}
