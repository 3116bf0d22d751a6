//! The files a run is followed by: CSV, NDJSON and a histogram log, a line for each second, written when it is over.
//!
//! A line is handed to the kernel whole, so that a program that reads along, or is left with the file of a run that was
//! killed, has whole lines. A file that cannot be written to any more is given up, and told of at the end; a reader who
//! has had enough is no error.

use super::telling::OutputFlags;
use crate::exit::Complaint;
use anyhow::Context as _;
use paceline_engine::{Measure, Phase, Second};
use paceline_record as record;
use paceline_report::{hlog_header, hlog_line, second_csv, seconds_csv_header};
use paceline_run::{Rows, Sink, times};
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Every file that is written as a run goes.
#[derive(Debug, Default)]
pub struct Files(Vec<Followed>);

/// One of them.
#[derive(Debug)]
struct Followed {
    path: PathBuf,
    kind: Kind,
    /// None once it was given up.
    file: Option<File>,
    /// Whether it is a regular file that was opened for this run alone, and holds nothing else.
    is_own: bool,
    has_begun: bool,
    error: Option<std::io::Error>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Csv,
    Ndjson,
    Hlog,
}

impl Files {
    /// Opens what the flags ask for. Lines for a program that reads along come last: by then everything else is
    /// written. What a file held stays there until the run has begun.
    pub fn open(flags: &OutputFlags) -> anyhow::Result<Self> {
        let csv = flags.csv.iter().map(|path| (path, Kind::Csv));
        let ndjson = flags.ndjson.iter().map(|path| (path, Kind::Ndjson));
        let hlog = flags.hlogs().map(|path| (path, Kind::Hlog));
        csv.chain(hlog)
            .chain(ndjson)
            .map(|(path, kind)| Followed::open(path, kind))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Sink for Files {
    fn second(&mut self, row: &record::Second, second: &Second, rows: &Rows) {
        for file in &mut self.0 {
            if !std::mem::replace(&mut file.has_begun, true) {
                file.begin(rows);
            }
            match file.kind {
                Kind::Csv => file.write(&second_csv(row)),
                Kind::Ndjson => file.write(&(serde_json::to_string(row).unwrap_or_default() + "\n")),
                Kind::Hlog => file.write(&hlog_lines(row, second, rows)),
            }
        }
    }

    fn end(self: Box<Self>) -> Vec<std::io::Error> {
        let failed = self.0.into_iter().filter_map(|file| Some((file.error?, file.path)));
        let named = |(error, path): (std::io::Error, PathBuf)| {
            std::io::Error::new(error.kind(), format!("{}: {error}", cannot(&path)))
        };
        failed.map(named).collect()
    }
}

fn cannot(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// What the second added to the window's cohort, by kind of time: the lines of a run add up to its result.
fn hlog_lines(row: &record::Second, second: &Second, rows: &Rows) -> String {
    let response = ("response", Measure::Response);
    let service = ("service", Measure::Service);
    let kinds = if rows.is_open() { vec![response, service] } else { vec![service] };
    let mut lines = String::new();
    for (tag, measure) in kinds {
        let histogram = times(second, measure, |cohort| cohort == Phase::Window);
        if !histogram.is_empty() {
            lines.push_str(&hlog_line(tag, row.start_s, row.length_s, &histogram));
        }
    }
    lines
}

impl Followed {
    fn open(path: &Path, kind: Kind) -> anyhow::Result<Self> {
        let opened = crate::file::open_in_place(path).and_then(|found| match found {
            Some(file) => Ok((file, false)),
            None => {
                File::options().write(true).create(true).truncate(false).open(path).map(|file| (file, true))
            }
        });
        let (file, is_own) =
            opened.with_context(|| cannot(path)).context(Complaint::environment("nothing was measured"))?;
        Ok(Self { path: path.to_owned(), kind, file: Some(file), is_own, has_begun: false, error: None })
    }

    /// Empties the file, if it is the run's own, and writes what stands before the first line.
    fn begin(&mut self, rows: &Rows) {
        if let Some(file) = self.file.as_mut().filter(|_| self.is_own) {
            self.error = file.set_len(0).err();
        }
        let started_at = rows.started_at();
        match self.kind {
            Kind::Csv => self.write(&seconds_csv_header()),
            Kind::Ndjson => {}
            Kind::Hlog => self.write(&hlog_header(
                env!("CARGO_PKG_VERSION"),
                rows.target(),
                started_at.as_millisecond() as f64 / 1e3,
                &paceline_run::moment::rfc3339(started_at),
            )),
        }
    }

    fn write(&mut self, lines: &str) {
        let Some(file) = self.file.as_mut().filter(|_| !lines.is_empty()) else { return };
        let Err(error) = file.write_all(lines.as_bytes()) else { return };
        self.file = None;
        if error.kind() != ErrorKind::BrokenPipe {
            self.error = Some(error);
        }
    }
}
