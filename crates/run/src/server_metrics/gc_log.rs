//! Pauses from the log of a garbage collector, while a server writes it: unified logging of the JVM (`-Xlog:gc`), Go's
//! `GODEBUG=gctrace=1`, `node --trace-gc`.
//!
//! The lines have the time since the start of the process. Its start on the run's clock is at most the time at which a
//! line was seen less the time in it; the smallest of these differences is taken. A server that is restarted counts
//! from 0 again, and may empty the file. The JVM renames a log of 20 MB and continues in a new file at the same path.

use paceline_engine::Nanos;
use paceline_record::{GcLog, GcPause, GcRuntime, Span};
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Bytes that are read at once.
const READ_BYTES: u64 = 1 << 20;
/// A longer line is no line of a collector.
const MAX_LINE_BYTES: usize = 1 << 16;
/// A longer pause, of an hour, is no pause of a collector.
const MAX_PAUSE_NS: u64 = 3_600_000_000_000;
/// A time since the start of the process that is lower than that of the line before by more than this is another
/// process's: threads of one process may write their lines in another order.
const RESTARTED_NS: u64 = 1_000_000_000;
/// Pauses that are counted at most.
const MAX_PAUSES: usize = 1 << 20;

/// Follows a log from its present end.
#[derive(Debug)]
pub(super) struct GcLogReader {
    path: PathBuf,
    file: File,
    /// The beginning of a line whose end is not written yet.
    partial: Vec<u8>,
    lines: u64,
    runtime: Option<GcRuntime>,
    pauses: Vec<SeenPause>,
}

/// A pause, and when its line was seen.
#[derive(Clone, Copy, Debug)]
struct SeenPause {
    seen: Nanos,
    line: GcLine,
}

/// What a line of a collector says.
#[derive(Clone, Copy, Debug, PartialEq)]
struct GcLine {
    runtime: GcRuntime,
    /// Since the start of the process, in nanoseconds.
    uptime_ns: Option<u64>,
    pause_ns: u64,
}

impl GcLogReader {
    /// Opens a log; what is in it already is skipped.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = paceline_files::open(path)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            partial: Vec::new(),
            lines: 0,
            runtime: None,
            pauses: Vec::new(),
        })
    }

    /// Reads the lines that were added: after those of a file that was renamed, those of the new one at its path.
    pub(super) fn poll(&mut self, now: Nanos) {
        let is_renamed = self.is_renamed();
        self.read_added(now);
        if is_renamed
            && self.place_and_end().is_some_and(|(at, end)| at >= end)
            && let Ok(file) = paceline_files::open(&self.path)
        {
            self.file = file;
            self.partial.clear();
            self.read_added(now);
        }
    }

    /// Whether another file has the path of the log now. Nothing is written to a renamed file any more.
    fn is_renamed(&self) -> bool {
        let place = |about: Metadata| (about.dev(), about.ino());
        let now = std::fs::metadata(&self.path).map(place).ok();
        now.is_some() && now != self.file.metadata().map(place).ok()
    }

    /// The place up to which the file was read, and its end.
    fn place_and_end(&mut self) -> Option<(u64, u64)> {
        Some((self.file.stream_position().ok()?, self.file.metadata().ok()?.len()))
    }

    fn read_added(&mut self, now: Nanos) {
        let is_emptied = self.place_and_end().is_some_and(|(at, end)| end < at);
        if is_emptied && self.file.rewind().is_ok() {
            self.partial.clear();
        }
        let mut added = Vec::new();
        // What was read before an error counts.
        let _ = (&self.file).take(READ_BYTES).read_to_end(&mut added);
        self.add(&added, now);
    }

    fn add(&mut self, bytes: &[u8], now: Nanos) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.partial.len() + piece.len() <= MAX_LINE_BYTES {
                self.partial.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.partial);
                self.line(&String::from_utf8_lossy(&line), now);
            }
        }
    }

    fn line(&mut self, line: &str, seen: Nanos) {
        self.lines += 1;
        if let Some(line) = gc_line(line)
            && self.pauses.len() < MAX_PAUSES
        {
            self.runtime.get_or_insert(line.runtime);
            self.pauses.push(SeenPause { seen, line });
        }
    }

    /// The pauses of a run that started then.
    pub(super) fn finish(self, start: Nanos, window: Span) -> GcLog {
        let of_processes = self.pauses.chunk_by(|before, after| !after.is_of_another_process(before));
        let pauses = of_processes.flat_map(|of_process| placed(of_process, start)).collect();
        let log = GcLog {
            path: self.path.display().to_string(),
            runtime: self.runtime,
            lines: self.lines,
            ..GcLog::default()
        };
        log.with_pauses(pauses, window)
    }
}

impl SeenPause {
    /// Whether the process was restarted since the pause before.
    fn is_of_another_process(&self, before: &Self) -> bool {
        let times = self.line.uptime_ns.zip(before.line.uptime_ns);
        times.is_some_and(|(now, then)| now.saturating_add(RESTARTED_NS) < then)
    }
}

/// The pauses of one process in a run that started then.
fn placed(pauses: &[SeenPause], start: Nanos) -> Vec<GcPause> {
    let began = |pause: &SeenPause| Some(pause.seen.0.saturating_sub(pause.line.uptime_ns?));
    let process_began_ns = pauses.iter().filter_map(began).min().unwrap_or(0);
    let pause = |pause: &SeenPause| {
        let at_ns = pause.line.uptime_ns.map_or(pause.seen.0, |uptime| process_began_ns + uptime);
        GcPause { at_ns: at_ns.saturating_sub(start.0), length_ns: pause.line.pause_ns }
    };
    pauses.iter().map(pause).collect()
}

/// Reads a line of any runtime; none if it tells of no pause.
fn gc_line(line: &str) -> Option<GcLine> {
    jvm(line).or_else(|| go(line)).or_else(|| node(line)).filter(|line| line.pause_ns <= MAX_PAUSE_NS)
}

/// `[2.345s][info][gc] GC(7) Pause Young (Normal) (G1 Evacuation Pause) 24M->3M(256M) 2.345ms`.
fn jvm(line: &str) -> Option<GcLine> {
    let mut rest = line.trim();
    let mut uptime_ns = None;
    while let Some((decoration, after)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        uptime_ns = uptime_ns.or_else(|| length(decoration));
        rest = after;
    }
    let (collection, event) = rest.trim_start().strip_prefix("GC(")?.split_once(") ")?;
    let is_pause = event.trim_start().starts_with("Pause ") && collection.bytes().all(|b| b.is_ascii_digit());
    let pause_ns = length(event.rsplit(' ').next()?).filter(|_| is_pause)?;
    Some(GcLine { runtime: GcRuntime::Jvm, uptime_ns, pause_ns })
}

/// `gc 1 @0.012s 2%: 0.018+0.55+0.003 ms clock, ...`: the world stands still in the first and the last part.
fn go(line: &str) -> Option<GcLine> {
    let (number, rest) = line.trim().strip_prefix("gc ")?.split_once(" @")?;
    number.parse::<u64>().ok()?;
    let (uptime, rest) = rest.split_once(' ')?;
    let clock = rest.split_once(": ")?.1.split_once(" ms clock")?.0;
    let (first, rest) = clock.split_once('+')?;
    let last = rest.rsplit('+').next()?;
    let pause_ns = nanos(first, 1e6)? + nanos(last, 1e6)?;
    Some(GcLine { runtime: GcRuntime::Go, uptime_ns: length(uptime), pause_ns })
}

/// `[4242:0x5e0c0a0]      123 ms: Scavenge 2.1 (3.0) -> 1.9 (4.0) MB, 0.52 / 0.00 ms  (average mu = 1.000) ...`.
fn node(line: &str) -> Option<GcLine> {
    let (_, rest) = line.trim().strip_prefix('[')?.split_once("] ")?;
    let (uptime, rest) = rest.split_once(" ms: ")?;
    let pause = rest.split_once(" / ")?.0.rsplit(' ').next()?;
    rest.contains(" MB").then_some(())?;
    Some(GcLine { runtime: GcRuntime::Node, uptime_ns: nanos(uptime, 1e6), pause_ns: nanos(pause, 1e6)? })
}

/// `1.5s`, `1.5ms`, `1500us` or `1500ns`, in nanoseconds.
fn length(text: &str) -> Option<u64> {
    let text = text.trim();
    let units = [("ms", 1e6), ("us", 1e3), ("ns", 1.0), ("s", 1e9)];
    units.iter().find_map(|(unit, factor)| nanos(text.strip_suffix(unit)?, *factor))
}

/// A number of a unit in nanoseconds, up to some decades.
fn nanos(text: &str, unit_ns: f64) -> Option<u64> {
    let value = text.trim().parse::<f64>().ok()? * unit_ns;
    (0.0..=2e18).contains(&value).then_some(value as u64)
}

/// Reads any text as a log, for fuzzing: pauses are bounded.
#[doc(hidden)]
pub fn fuzz_gc_log(text: &str) {
    let found = text.lines().filter_map(gc_line);
    for line in found {
        assert!(line.pause_ns <= MAX_PAUSE_NS, "{line:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn read(line: &str) -> Option<(GcRuntime, Option<u64>, u64)> {
        gc_line(line).map(|line| (line.runtime, line.uptime_ns, line.pause_ns))
    }

    #[test]
    fn lines_of_each_runtime() {
        let jvm = |uptime, pause| Some((GcRuntime::Jvm, uptime, pause));
        let young = "GC(7) Pause Young (Normal) (G1 Evacuation Pause) 24M->3M(256M) 2.5ms";
        assert_eq!(read(&format!("[1.250s][info][gc] {young}")), jvm(Some(1_250_000_000), 2_500_000));
        assert_eq!(
            read(&format!("[2026-11-28T10:00:00.123+0000][1250ms][info][gc          ] {young}")),
            jvm(Some(1_250_000_000), 2_500_000)
        );
        assert_eq!(read(&format!("[2026-11-28T10:00:00.123+0000][info][gc] {young}")), jvm(None, 2_500_000));
        let zgc = "[0.5s][info][gc,phases] GC(0) Pause Mark Start 0.005ms";
        assert_eq!(read(zgc), jvm(Some(500_000_000), 5_000));
        for other in [
            "[0.5s][info][gc,start] GC(0) Pause Young (Normal) (G1 Evacuation Pause)",
            "[0.5s][info][gc] GC(1) Concurrent Mark Cycle 5.1ms",
            "[0.5s][info][gc] Using G1",
            "gc 2 @0.1s",
            "gc x @0.1s 1%: 1+2+3 ms clock",
            "[1:0x1] Pause 1 / 2 ms",
            "",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
        let go =
            "gc 14 @1.5s 2%: 0.018+0.55+0.003 ms clock, 0.14+0.35/0.5/0+0.02 ms cpu, 4->5->1 MB, 4 MB goal";
        assert_eq!(read(go), Some((GcRuntime::Go, Some(1_500_000_000), 21_000)));
        let node = "[42:0x5e0c0a0]      123 ms: Scavenge 2.1 (3.0) -> 1.9 (4.0) MB, 0.52 / 0.00 ms  (average mu = 1.000) allocation failure;";
        assert_eq!(read(node), Some((GcRuntime::Node, Some(123_000_000), 520_000)));
        let full = "[42:0x5e0c0a0]  2500 ms: Mark-Compact (reduce) 24.1 (27.0) -> 23.9 (30.0) MB, pooled: 0 MB, 3.55 / 0.00 ms  (+ 1.2 ms in 10 steps)";
        assert_eq!(read(full), Some((GcRuntime::Node, Some(2_500_000_000), 3_550_000)));
    }

    #[test]
    fn a_log_is_followed_from_its_end_and_placed_by_its_soonest_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gc.log");
        let line = |uptime: &str, pause: &str| {
            format!("[{uptime}s][info][gc] GC(1) Pause Full (x) 1M->1M(2M) {pause}ms\n")
        };
        std::fs::write(&path, line("0.9", "9")).unwrap();
        let mut reader = GcLogReader::open(&path).unwrap();
        let mut log = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        let second = |seconds: f64| Nanos((seconds * 1e9) as u64);
        let text = line("1.5", "2");
        let (begin, rest) = text.split_at(20);
        log.write_all(begin.as_bytes()).unwrap();
        reader.poll(second(101.55));
        log.write_all(rest.as_bytes()).unwrap();
        reader.poll(second(101.6));
        log.write_all(format!("other\n{}", line("2.5", "3")).as_bytes()).unwrap();
        reader.poll(second(102.51));
        // The process began at 100.01 s at the latest, the run at 101 s.
        let found = reader.finish(second(101.0), Span { start_ns: 1_000_000_000, end_ns: 2_000_000_000 });
        let placed: Vec<(u64, u64)> =
            found.pauses.iter().map(|p| (p.at_ns / 1_000_000, p.length_ns)).collect();
        assert_eq!(placed, [(510, 2_000_000), (1_510, 3_000_000)]);
        assert_eq!((found.lines, found.window_pauses, found.window_longest_ns), (3, 1, Some(3_000_000)));
        assert_eq!(found.runtime, Some(GcRuntime::Jvm));
        assert!(GcLogReader::open(folder.path()).is_err());
    }

    #[test]
    fn a_log_is_followed_after_the_jvm_renamed_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gc.log");
        let line = |uptime: u64| format!("[{uptime}.000s][info][gc] GC(1) Pause Full (x) 1M->1M(2M) 1ms\n");
        let second = |seconds: u64| Nanos(seconds * 1_000_000_000);
        std::fs::write(&path, line(1)).unwrap();
        let mut reader = GcLogReader::open(&path).unwrap();
        let mut log = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        log.write_all(line(2).as_bytes()).unwrap();
        std::fs::rename(&path, folder.path().join("gc.log.0")).unwrap();
        reader.poll(second(2));
        std::fs::write(&path, line(3)).unwrap();
        reader.poll(second(3));
        std::fs::write(&path, line(3) + &line(4)).unwrap();
        reader.poll(second(4));
        let found = reader.finish(second(0), Span { start_ns: 0, end_ns: 60_000_000_000 });
        let placed: Vec<u64> = found.pauses.iter().map(|pause| pause.at_ns / 1_000_000_000).collect();
        assert_eq!(placed, [2, 3, 4]);
    }

    #[test]
    fn a_server_that_is_restarted_in_the_run_begins_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gc.log");
        let second = |seconds: u64| Nanos(seconds * 1_000_000_000);
        let line = |uptime: u64| format!("[{uptime}.000s][info][gc] GC(1) Pause Full (x) 1M->1M(2M) 1ms\n");
        std::fs::write(&path, format!("{}{}", line(1), line(2))).unwrap();
        let mut reader = GcLogReader::open(&path).unwrap();
        let mut log = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        // The first process began at 100 s, the second at 110 s, the third at 120 s: it emptied the file.
        log.write_all(line(9).as_bytes()).unwrap();
        reader.poll(second(109));
        log.write_all(line(5).as_bytes()).unwrap();
        reader.poll(second(115));
        std::fs::write(&path, line(1)).unwrap();
        reader.poll(second(121));
        let found = reader.finish(second(100), Span { start_ns: 0, end_ns: 60_000_000_000 });
        let placed: Vec<u64> = found.pauses.iter().map(|pause| pause.at_ns / 1_000_000_000).collect();
        assert_eq!((placed, found.lines), (vec![9, 15, 21], 3));
    }
}
