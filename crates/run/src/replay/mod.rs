//! Replays an access log (`--replay`): its requests, at its times.
//!
//! The log is read twice: once for the times, which are the schedule of an open loop, and once during the run by each
//! worker, which sends its share of the lines. So a log may be larger than the memory; its times are kept, 8 bytes each.

mod entry;

use crate::RunError;
use entry::LogEntry;
use paceline_engine::script::{RequestScript, ScriptPlan, Scripts};
use paceline_engine::{Nanos, Requests, Settings, Trace};
use paceline_http::Method;
use paceline_job::LoaderShare;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Longer lines are not read: no server accepts a request that long.
const MAX_LINE_BYTES: u64 = 64 * 1024;

/// How a log is replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplaySettings {
    /// How many times as fast as it was logged.
    pub speed: f64,
    /// Whether requests with a method that changes something are sent too.
    pub all_methods: bool,
}

/// Lines that are not replayed, by reason; and requests that lack a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// They are in none of the known formats.
    pub unreadable: u64,
    /// Their method is not safe (RFC 9110 §9.2.1).
    pub unsafe_methods: u64,
    /// Requests for a head alone: their responses have another framing.
    pub heads: u64,
    /// Requests that are sent without the body they had.
    pub bodies: u64,
}

/// A log that is ready to be replayed.
#[derive(Debug)]
pub struct Replay {
    path: PathBuf,
    settings: ReplaySettings,
    moments: Vec<Nanos>,
    left_out: LeftOut,
    first: Vec<u8>,
}

/// The lines of a log.
struct LogLines {
    reader: BufReader<File>,
    line: Vec<u8>,
}

impl LogLines {
    fn open(path: &Path) -> std::io::Result<Self> {
        Ok(Self { reader: BufReader::new(paceline_files::open(path)?), line: Vec::new() })
    }

    /// The next line; empty if it is too long or no text. `None` at the end.
    fn next(&mut self) -> std::io::Result<Option<&str>> {
        self.line.clear();
        let mut most = std::io::Read::take(&mut self.reader, MAX_LINE_BYTES);
        if most.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        if self.line.len() as u64 == MAX_LINE_BYTES && self.line.last() != Some(&b'\n') {
            self.line.clear();
            self.reader.skip_until(b'\n')?;
        }
        Ok(Some(str::from_utf8(&self.line).unwrap_or_default()))
    }
}

impl ReplaySettings {
    /// The request of a line, if it is replayed; counts it otherwise.
    fn entry(self, line: &str, left_out: &mut LeftOut) -> Option<LogEntry> {
        let Some(entry) = LogEntry::read(line).filter(is_sendable) else {
            left_out.unreadable += u64::from(!line.trim().is_empty());
            return None;
        };
        let is_safe = matches!(entry.method.as_str(), "GET" | "OPTIONS" | "TRACE");
        match entry.method.as_str() {
            "HEAD" => left_out.heads += 1,
            _ if !is_safe && !self.all_methods => left_out.unsafe_methods += 1,
            "POST" | "PUT" | "PATCH" => {
                left_out.bodies += 1;
                return Some(entry);
            }
            _ => return Some(entry),
        }
        None
    }
}

/// Whether an entry has a path, and nothing in it would break a line.
fn is_sendable(entry: &LogEntry) -> bool {
    let texts = [Some(&entry.target), entry.host.as_ref(), entry.referer.as_ref(), entry.user_agent.as_ref()];
    let is_clean = |text: &String| !text.bytes().any(|byte| byte.is_ascii_control());
    entry.target.starts_with('/') && !entry.target.contains(' ') && texts.into_iter().flatten().all(is_clean)
}

impl Replay {
    /// Reads the times of a log.
    ///
    /// # Errors
    /// [`RunError::Usage`] if the file cannot be read, or has no request that can be replayed.
    pub fn read(path: &Path, settings: ReplaySettings) -> Result<Self, RunError> {
        let cannot = |error: std::io::Error| {
            RunError::usage(format!("cannot read the log {}", path.display())).because(error)
        };
        let mut lines = LogLines::open(path).map_err(cannot)?;
        let (mut times, mut left_out, mut first) = (Vec::new(), LeftOut::default(), Vec::new());
        while let Some(line) = lines.next().map_err(cannot)? {
            if let Some(entry) = settings.entry(line, &mut left_out) {
                if times.is_empty() {
                    push_request(&mut first, &entry, "");
                }
                times.push((entry.at, entry.is_whole_second));
            }
        }
        if times.is_empty() {
            let what = format!("{} has no request that can be replayed: {left_out}", path.display());
            return Err(RunError::usage(what).hint(
                "formats: common, combined, and JSON lines of nginx, Caddy and Envoy; --all-methods also sends POST and the like",
            ));
        }
        let moments = moments(&times, settings.speed);
        Ok(Self { path: path.to_owned(), settings, moments, left_out, first })
    }

    /// Its schedule.
    pub fn trace(&self) -> Trace {
        Trace { file: Some(self.path.clone()), ..self.moments.clone().into() }
    }

    /// What is not replayed as it was, if anything.
    pub fn notice(&self) -> Option<String> {
        let is_whole = self.left_out == LeftOut::default();
        let (path, sends) = (self.path.display(), self.moments.len());
        (!is_whole).then(|| format!("{path}: replaying {sends} requests; {}", self.left_out))
    }

    /// Lets the workers send the requests of the log.
    ///
    /// # Errors
    /// [`RunError::Usage`] if the file cannot be read again.
    pub fn apply_to(&self, settings: &mut Settings) -> Result<(), RunError> {
        let url = &settings.job.url;
        let host = match url.port == url.scheme.default_port() {
            true => url.host.clone(),
            false => format!("{}:{}", url.host, url.port),
        };
        let share = settings.job.share.unwrap_or(LoaderShare::ALL);
        let script = |worker: u32| {
            let lines = LogLines::open(&self.path).map_err(|error| {
                RunError::usage(format!("cannot read the log {}", self.path.display())).because(error)
            })?;
            let (place, places) = (share.index + share.of * worker, share.of * settings.threads);
            let reader =
                LogReader { lines, settings: self.settings, host: host.clone(), skip: place, places };
            Ok(Box::new(reader) as Box<dyn RequestScript>)
        };
        let scripts = (0..settings.threads).map(script).collect::<Result<Vec<_>, RunError>>()?;
        let check = settings.requests.kinds().first().map(|kind| kind.check.clone()).unwrap_or_default();
        settings.requests = Arc::new(Requests::fixed(self.first.clone(), Method::Other, check));
        let plan = ScriptPlan { batch: 1, reads_responses: false, delays: false };
        settings.scripts = Some(Scripts::new(plan, scripts));
        Ok(())
    }
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { unreadable, unsafe_methods, heads, bodies } = self;
        write!(
            f,
            "left out: {unsafe_methods} with a method that may change something, {heads} HEAD, {unreadable} lines that are no request; {bodies} are sent without their body"
        )
    }
}

/// The moments of the sends from the beginning. Requests of one second whose fraction is not known are spread over it.
fn moments(times: &[(Duration, bool)], speed: f64) -> Vec<Nanos> {
    let mut moments = Vec::with_capacity(times.len());
    let (first, mut latest, mut start) =
        (times.first().map_or(Duration::ZERO, |(at, _)| *at), Duration::ZERO, 0);
    while start < times.len() {
        let (at, is_whole_second) = times[start];
        let alike = times[start..].iter().take_while(|time| **time == times[start]).count();
        for place in 0..alike {
            let share = if is_whole_second { place as f64 / alike as f64 } else { 0.0 };
            // Servers log at the end of a response, so that lines may be out of order.
            latest = latest.max(at.saturating_sub(first) + Duration::from_secs_f64(share));
            moments.push(Nanos((latest.as_nanos() as f64 / speed) as u64));
        }
        start += alike;
    }
    moments
}

/// Sends every so-manieth request of a log.
struct LogReader {
    lines: LogLines,
    settings: ReplaySettings,
    /// The host if the log has none.
    host: String,
    /// Requests of other workers before the next of this one.
    skip: u32,
    places: u32,
}

impl RequestScript for LogReader {
    fn request(&mut self, bytes: &mut Vec<u8>) -> bool {
        let mut ignored = LeftOut::default();
        // The file was readable before the run; one that is not any more has no further requests.
        while let Ok(Some(line)) = self.lines.next() {
            let Some(entry) = self.settings.entry(line, &mut ignored) else { continue };
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            self.skip = self.places - 1;
            push_request(bytes, &entry, &self.host);
            return true;
        }
        false
    }

    fn delay(&mut self) -> Nanos {
        Nanos::ZERO
    }

    fn response(&mut self, _: u16, _: &[u8], _: &[u8]) {}

    fn has_stopped(&self) -> bool {
        false
    }
}

/// Appends the request of an entry.
fn push_request(bytes: &mut Vec<u8>, entry: &LogEntry, host: &str) {
    let mut add = |text: &str| bytes.extend_from_slice(text.as_bytes());
    add(&entry.method);
    add(" ");
    add(&entry.target);
    add(" HTTP/1.1\r\nHost: ");
    add(entry.host.as_deref().unwrap_or(host));
    for (name, value) in [
        ("User-Agent", Some(entry.user_agent.as_deref().unwrap_or("paceline"))),
        ("Referer", entry.referer.as_deref()),
        ("Accept", Some("*/*")),
        ("Content-Length", matches!(entry.method.as_str(), "POST" | "PUT" | "PATCH").then_some("0")),
    ] {
        if let Some(value) = value {
            add("\r\n");
            add(name);
            add(": ");
            add(value);
        }
    }
    add("\r\n\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    const LOG: &str = r#"a - - [10/Oct/2000:13:55:36 +0000] "GET /1 HTTP/1.1" 200 1 "-" "u1"
a - - [10/Oct/2000:13:55:36 +0000] "GET /2 HTTP/1.1" 200 1 "http://r/" "u2"
a - - [10/Oct/2000:13:55:36 +0000] "POST /3 HTTP/1.1" 200 1
nonsense

a - - [10/Oct/2000:13:55:35 +0000] "GET /4 HTTP/1.1" 200 1
a - - [10/Oct/2000:13:55:38 +0000] "HEAD /5 HTTP/1.1" 200 1
a - - [10/Oct/2000:13:55:38 +0000] "GET /6 HTTP/1.1" 200 1
a - - [10/Oct/2000:13:55:38 +0000] "GET http://other/ HTTP/1.1" 200 1
"#;

    fn log(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    fn read(text: &str, speed: f64, all_methods: bool) -> Result<Replay, RunError> {
        Replay::read(log(text).path(), ReplaySettings { speed, all_methods })
    }

    #[test]
    fn the_times_are_those_of_the_log() {
        let replay = read(LOG, 1.0, false).unwrap();
        assert_eq!(replay.moments, [0, 500, 500, 2_000].map(Nanos::from_millis));
        assert_eq!(read(LOG, 2.0, false).unwrap().moments, [0, 250, 250, 1_000].map(Nanos::from_millis));
        let fractions = "{\"ts\":10.5,\"method\":\"GET\",\"uri\":\"/\"}\n{\"ts\":10.5,\"method\":\"GET\",\"uri\":\"/\"}\n{\"ts\":10.75,\"method\":\"GET\",\"uri\":\"/\"}\n";
        assert_eq!(read(fractions, 1.0, false).unwrap().moments, [0, 0, 250].map(Nanos::from_millis));
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let replay = read(LOG, 1.0, false).unwrap();
        assert_eq!(replay.left_out, LeftOut { unreadable: 2, unsafe_methods: 1, heads: 1, bodies: 0 });
        assert!(replay.notice().unwrap().contains("replaying 4 requests; left out: 1 with a method"));
        let all = read(LOG, 1.0, true).unwrap();
        assert_eq!((all.moments.len(), all.left_out.unsafe_methods, all.left_out.bodies), (5, 0, 1));
        let whole = LOG.lines().next().unwrap();
        assert_eq!(read(whole, 1.0, false).unwrap().notice(), None);
        let none = read("nothing\n", 1.0, false).unwrap_err().to_string();
        assert!(
            none.contains("no request that can be replayed") && none.contains("1 lines that are no request"),
            "{none}"
        );
    }

    #[test]
    fn each_worker_sends_its_share_in_order() {
        let file = log(&format!("{}{LOG}", "x".repeat(200_000) + "\n"));
        let settings = ReplaySettings { speed: 1.0, all_methods: true };
        let replay = Replay::read(file.path(), settings).unwrap();
        assert_eq!((replay.moments.len(), replay.left_out.unreadable), (5, 2));
        let paths = |place: u32, places: u32| -> Vec<String> {
            let lines = LogLines::open(file.path()).unwrap();
            let mut reader = LogReader { lines, settings, host: "h:1".to_owned(), skip: place, places };
            std::iter::from_fn(|| {
                let mut bytes = Vec::new();
                reader.request(&mut bytes).then(|| String::from_utf8(bytes).unwrap())
            })
            .collect()
        };
        let all = paths(0, 1);
        let targets: Vec<_> = all.iter().map(|text| text.split(' ').nth(1).unwrap()).collect();
        assert_eq!(targets, ["/1", "/2", "/3", "/4", "/6"]);
        assert_eq!(
            [paths(0, 2), paths(1, 2)],
            [
                [all[0].clone(), all[2].clone(), all[4].clone()].to_vec(),
                [all[1].clone(), all[3].clone()].to_vec()
            ]
        );
        assert_eq!(
            all[1],
            "GET /2 HTTP/1.1\r\nHost: h:1\r\nUser-Agent: u2\r\nReferer: http://r/\r\nAccept: */*\r\n\r\n"
        );
        assert!(all[2].ends_with("\r\nAccept: */*\r\nContent-Length: 0\r\n\r\n"), "{}", all[2]);
    }
}
