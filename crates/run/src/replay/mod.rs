//! Replays an access log (`--replay`): its requests, at its times.
//!
//! The log is parsed once before the run, for the times, which are the schedule of an open loop, and for the positions
//! of the requests. During the run each worker reads the lines of its requests at their positions: a log may be larger
//! than the memory.

mod entry;
mod format;
mod groups;
mod range;
mod sends;

use crate::inputs::read_fully_at;
use crate::{Inputs, RunError};
use entry::LogEntry;
use format::LogFormat;
use groups::PathGroups;
use paceline_engine::script::{RequestScript, ScriptPlan, ScriptedResponse, Scripts};
use paceline_engine::{Nanos, RequestKind, Requests, Settings, Trace};
use paceline_files::without_byte_order_mark;
use paceline_http::{Method, RequestTemplate};
use paceline_job::{LoadModel, ReplaySpec, RequestSpec, Shape};
use range::LogRange;
use sends::LoggedSends;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::sync::Arc;

/// Longer lines are not read: no server accepts a request that long.
const MAX_LINE_BYTES: usize = 64 * 1024;
/// What is read at once during the run.
const CHUNK_BYTES: usize = 2 * MAX_LINE_BYTES;

/// Lines that are not replayed, by reason; and requests that lack a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LeftOut {
    /// They are not in the format of the log.
    unreadable: u64,
    /// They are outside of the times that are replayed.
    outside: u64,
    /// Their method is not safe (RFC 9110 §9.2.1).
    unsafe_methods: u64,
    /// Requests for a head alone: their responses have another framing.
    heads: u64,
    /// Requests that are sent without the body they had.
    bodies: u64,
}

/// The requests of a log that are replayed.
#[derive(Debug)]
struct LogSelection {
    format: Option<LogFormat>,
    range: LogRange,
    all_methods: bool,
}

impl LogSelection {
    /// # Errors
    /// [`RunError::Usage`] if the format is none.
    fn new(spec: &ReplaySpec) -> Result<Self, RunError> {
        let format = spec.format.as_deref().map(format_of).transpose()?;
        Ok(Self { format, range: LogRange::new(spec), all_methods: spec.all_methods })
    }
}

fn format_of(text: &str) -> Result<LogFormat, RunError> {
    LogFormat::parse(text).map_err(|problem| {
        RunError::usage(format!("--log-format {text:?}: {problem}"))
            .hint("write it as in nginx's log_format: '$remote_addr [$time_local] \"$request\" $status'")
    })
}

impl LeftOut {
    /// The request of a line, if it is replayed; counts it otherwise.
    fn filter(&mut self, line: &str, log: &mut LogSelection) -> Option<LogEntry> {
        let Some(entry) = read_entry(line, log.format.as_ref()).filter(is_sendable) else {
            self.unreadable += u64::from(!line.trim().is_empty());
            return None;
        };
        if !log.range.contains(&entry.time) {
            self.outside += 1;
            return None;
        }
        let is_safe = matches!(entry.method.as_str(), "GET" | "OPTIONS" | "TRACE");
        match entry.method.as_str() {
            "HEAD" => self.heads += 1,
            _ if !is_safe && !log.all_methods => self.unsafe_methods += 1,
            "POST" | "PUT" | "PATCH" => {
                self.bodies += 1;
                return Some(entry);
            }
            _ => return Some(entry),
        }
        None
    }
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { unreadable, outside, unsafe_methods, heads, bodies } = self;
        let left_out = [
            (unsafe_methods, "with a method that may change something"),
            (heads, "HEAD"),
            (outside, "outside of --from and --until"),
            (unreadable, "lines that are no request"),
        ];
        let left_out: Vec<String> = left_out
            .into_iter()
            .filter(|(count, _)| **count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let left_out = if left_out.is_empty() { "nothing".to_owned() } else { left_out.join(", ") };
        write!(f, "left out: {left_out}")?;
        if *bodies > 0 { write!(f, "; {bodies} sent without the body that they had") } else { Ok(()) }
    }
}

/// Reads a line of a format; without one, of any of the known ones.
fn read_entry(line: &str, format: Option<&LogFormat>) -> Option<LogEntry> {
    format.map_or_else(|| LogEntry::read(line), |format| format.read(line))
}

/// Whether an entry has a method and a path, and nothing in it would break a line.
fn is_sendable(entry: &LogEntry) -> bool {
    let texts = [Some(&entry.target), entry.host.as_ref(), entry.referer.as_ref(), entry.user_agent.as_ref()];
    let is_clean = |text: &String| !text.bytes().any(|byte| byte.is_ascii_control());
    let is_method = |byte: u8| byte.is_ascii_uppercase() || byte == b'-';
    let has_method = !entry.method.is_empty() && entry.method.bytes().all(is_method);
    has_method
        && entry.target.starts_with('/')
        && !entry.target.contains(' ')
        && texts.into_iter().flatten().all(is_clean)
}

/// A line of a log, without the byte order mark that the first one of a file may have; empty if it is too long, or no
/// text.
fn text_of(line: &[u8]) -> &str {
    if line.len() > MAX_LINE_BYTES {
        return "";
    }
    str::from_utf8(without_byte_order_mark(line)).unwrap_or_default()
}

fn cannot_read(path: &Path, error: io::Error) -> RunError {
    RunError::usage(format!("cannot read the log {}", path.display())).because(error)
}

/// Reads the times and the positions of a log's requests, and which of `requests` they are, if there are several. Also returns a notice about what is not replayed as it was.
///
/// # Errors
/// [`RunError::Usage`] if the file cannot be read, or has no request that can be replayed.
pub fn read_log(
    path: &Path,
    spec: ReplaySpec,
    requests: &[RequestSpec],
    inputs: &mut Inputs,
) -> Result<(Trace, Option<String>), RunError> {
    let cannot = |error| cannot_read(path, error);
    let mut lines = BufReader::new(inputs.open("--replay", path).map_err(cannot)?);
    let mut selection = LogSelection::new(&spec)?;
    let (mut sends, mut left_out) = (LoggedSends::default(), LeftOut::default());
    let (groups, mut kinds) = (PathGroups::of_requests(requests), Vec::new());
    let (mut line, mut position) = (Vec::new(), 0);
    loop {
        line.clear();
        let most = MAX_LINE_BYTES as u64 + 1;
        let read = io::Read::take(&mut lines, most).read_until(b'\n', &mut line).map_err(cannot)?;
        if read == 0 {
            break;
        }
        let is_cut = read as u64 == most && !line.ends_with(b"\n");
        let rest = if is_cut { lines.skip_until(b'\n').map_err(cannot)? } else { 0 };
        if let Some(entry) = left_out.filter(text_of(&line), &mut selection) {
            sends.push(&entry.time, position);
            if !groups.is_empty() {
                kinds.push(groups.kind_of(&entry.target));
            }
        }
        position += (read + rest) as u64;
    }
    let (moments, positions) = sends.finish(spec.speed);
    let name = path.display();
    if moments.is_empty() {
        let what = format!("{name} has no request that can be replayed: {left_out}");
        return Err(RunError::usage(what).hint(
            "formats: common, combined, and JSON lines of nginx, Caddy and Envoy; --log-format reads others, --all-methods also sends POST and the like",
        ));
    }
    let notice = (left_out != LeftOut::default())
        .then(|| format!("{name}: replaying {} requests; {left_out}", moments.len()));
    Ok((
        Trace {
            file: Some(path.to_owned()),
            replay: Some(spec),
            positions: positions.into(),
            kinds: kinds.into(),
            ..moments.into()
        },
        notice,
    ))
}

/// Lets the workers send the requests of the log that a job replays, if it does.
///
/// # Errors
/// [`RunError::Usage`] if the file cannot be read.
pub fn replay(settings: &mut Settings, inputs: &mut Inputs) -> Result<(), RunError> {
    let LoadModel::Open { shape: Shape::Trace(trace), .. } = &settings.job.load else { return Ok(()) };
    let (Some(spec), Some(path)) = (&trace.replay, &trace.file) else { return Ok(()) };
    let format = spec.format.as_deref().map(format_of).transpose()?;
    let log = Arc::new(inputs.open("--replay", path).map_err(|error| cannot_read(path, error))?);
    let host = settings.job.url.authority();
    let reader = |worker| LogReader {
        format: format.clone(),
        ..LogReader::new(&log, trace, host.clone(), worker, settings.threads)
    };
    let kinds = settings.requests.kinds().iter().enumerate().map(|(kind, request)| {
        let next = trace.kinds.iter().position(|of| usize::from(*of) == kind).unwrap_or(0);
        let mut first = Vec::new();
        LogReader { next, ..reader(0) }.request(0, &mut first);
        RequestKind { template: RequestTemplate::fixed(first), method: Method::Other, ..request.clone() }
    });
    let requests = Requests::from_kinds(kinds.collect(), 0);
    let scripts = (0..settings.threads).map(|worker| Box::new(reader(worker)) as Box<dyn RequestScript>);
    let scripts = Scripts::new(ScriptPlan::default(), scripts.collect());
    settings.requests = Arc::new(requests);
    settings.scripts = Some(scripts);
    Ok(())
}

/// Sends every so-manieth request of a log.
struct LogReader {
    log: Arc<File>,
    positions: Arc<[u64]>,
    /// The kind of each request, if they have several.
    kinds: Arc<[u8]>,
    /// The next request of this worker, among all.
    next: usize,
    /// The distance to the one after it: the number of workers.
    stride: usize,
    format: Option<LogFormat>,
    /// The host if the log has none.
    host: String,
    /// A part of the log, and its position.
    chunk: Vec<u8>,
    chunk_at: u64,
}

impl LogReader {
    fn new(log: &Arc<File>, trace: &Trace, host: String, worker: u32, workers: u32) -> Self {
        Self {
            log: Arc::clone(log),
            positions: Arc::clone(&trace.positions),
            kinds: Arc::clone(&trace.kinds),
            next: worker as usize,
            stride: workers as usize,
            format: None,
            host,
            chunk: Vec::new(),
            chunk_at: 0,
        }
    }

    /// The line at a position.
    fn line(&mut self, position: u64) -> io::Result<&[u8]> {
        if self.line_in_chunk(position).is_none() {
            self.chunk.resize(CHUNK_BYTES, 0);
            self.chunk_at = position;
            let read = read_fully_at(&self.log, &mut self.chunk, position)?;
            self.chunk.truncate(read);
        }
        let end = self.line_in_chunk(position).map_or(self.chunk.len(), |line| line.end);
        let start = (position - self.chunk_at) as usize;
        Ok(&self.chunk[start..end])
    }

    /// Where the line at a position is in the chunk, if all of it is.
    fn line_in_chunk(&self, position: u64) -> Option<std::ops::Range<usize>> {
        let start = usize::try_from(position.checked_sub(self.chunk_at)?).ok()?;
        let length = self.chunk.get(start..)?.iter().position(|byte| *byte == b'\n')?;
        Some(start..start + length)
    }
}

impl RequestScript for LogReader {
    fn request(&mut self, _: usize, bytes: &mut Vec<u8>) -> Option<u16> {
        let position = self.positions.get(self.next).copied()?;
        let kind = self.skip();
        // The line was readable before the run; if the log has changed, the remaining requests are unsent.
        let format = self.format.take();
        let line = self.line(position).map(text_of);
        let entry = line.ok().and_then(|line| read_entry(line, format.as_ref())).filter(is_sendable);
        self.format = format;
        push_request(bytes, &entry?, &self.host);
        Some(kind)
    }

    fn skip(&mut self) -> u16 {
        let kind = self.kinds.get(self.next).copied().map_or(0, u16::from);
        self.next += self.stride;
        kind
    }

    fn delay(&mut self) -> Nanos {
        Nanos::ZERO
    }

    fn response(&mut self, _: usize, _: &ScriptedResponse<'_>) -> Option<String> {
        None
    }

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

/// Reads any text as a format and a log in it, for fuzzing: each line that is replayed is one request.
#[doc(hidden)]
pub fn fuzz_log(text: &str) {
    let (format, lines) = text.split_once('\n').unwrap_or(("", text));
    let format = LogFormat::parse(format).ok();
    let mut sends = LoggedSends::default();
    for (position, line) in (0..).zip(lines.lines()) {
        let Some(entry) = read_entry(line, format.as_ref()).filter(is_sendable) else { continue };
        let mut request = Vec::new();
        push_request(&mut request, &entry, "host");
        let ends = request.windows(4).filter(|bytes| bytes == b"\r\n\r\n").count();
        assert!(ends == 1 && request.ends_with(b"\r\n\r\n"), "{entry:?}");
        sends.push(&entry.time, position);
    }
    let (moments, positions) = sends.finish(1.0);
    assert!(moments.is_sorted() && positions.is_sorted() && moments.len() == positions.len());
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

    fn read(text: &str, speed: f64, all_methods: bool) -> Result<(Trace, Option<String>), RunError> {
        read_log(
            log(text).path(),
            ReplaySpec { speed, all_methods, ..ReplaySpec::default() },
            &[],
            &mut Inputs::default(),
        )
    }

    #[test]
    fn the_times_are_those_of_the_log() {
        let moments = |text, speed| -> Vec<u64> {
            let trace = read(text, speed, false).unwrap().0;
            trace.moments.iter().map(|moment| moment.0 / 1_000_000).collect()
        };
        // The line that is out of order is sent in the second of the line before it.
        assert_eq!(moments(LOG, 1.0), [0, 333, 666, 2_000]);
        assert_eq!(moments(LOG, 2.0), [0, 166, 333, 1_000]);
        let at = |time: &str| format!("{{\"ts\":{time},\"method\":\"GET\",\"uri\":\"/\"}}\n");
        let fractions = ["10.5", "10.5", "10.75"].map(at).concat();
        assert_eq!(moments(&fractions, 1.0), [0, 0, 250]);
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let (trace, notice) = read(LOG, 1.0, false).unwrap();
        let expected = "replaying 4 requests; left out: 1 with a method that may change something, 1 HEAD, 2 lines that are no request";
        assert!(trace.sends == 4 && notice.as_ref().unwrap().contains(expected), "{notice:?}");
        let (trace, notice) = read(LOG, 1.0, true).unwrap();
        let expected = "left out: 1 HEAD, 2 lines that are no request; 1 sent without the body";
        assert!(trace.sends == 5 && notice.as_ref().unwrap().contains(expected), "{notice:?}");
        let whole = LOG.lines().next().unwrap();
        assert_eq!(read(whole, 1.0, false).unwrap().1, None);
        let none = read("nothing\n", 1.0, false).unwrap_err().to_string();
        assert!(
            none.contains("no request that can be replayed") && none.contains("1 lines that are no request"),
            "{none}"
        );
    }

    /// The requests of each worker of a run that replays a log, in order.
    fn sent(path: &Path, workers: u32) -> Vec<Vec<String>> {
        let spec = ReplaySpec { all_methods: true, ..ReplaySpec::default() };
        let trace = read_log(path, spec, &[], &mut Inputs::default()).unwrap().0;
        let log = Arc::new(File::open(path).unwrap());
        let of_worker = |worker: u32| {
            let mut reader = LogReader::new(&log, &trace, "h:1".to_owned(), worker, workers);
            let request = || {
                let mut bytes = Vec::new();
                reader.request(0, &mut bytes).map(|_| String::from_utf8(bytes).unwrap())
            };
            std::iter::from_fn(request).collect()
        };
        (0..workers).map(of_worker).collect()
    }

    #[test]
    fn each_worker_sends_its_share_in_order() {
        // Lines that are too long, and requests on either side of the end of a chunk.
        let long = "x".repeat(MAX_LINE_BYTES) + "\n";
        let file = log(&format!("{long}{LOG}{long}{long}{long}{}", LOG.trim_end()));
        let all = sent(file.path(), 1).remove(0);
        let targets: Vec<_> = all.iter().map(|text| text.split(' ').nth(1).unwrap()).collect();
        assert_eq!(targets, [["/1", "/2", "/3", "/4", "/6"]; 2].concat());
        for workers in [2, 3] {
            for (worker, requests) in sent(file.path(), workers).iter().enumerate() {
                let share: Vec<_> = all.iter().skip(worker).step_by(workers as usize).cloned().collect();
                assert_eq!(*requests, share, "{worker} of {workers}");
            }
        }
        assert_eq!(
            all[1],
            "GET /2 HTTP/1.1\r\nHost: h:1\r\nUser-Agent: u2\r\nReferer: http://r/\r\nAccept: */*\r\n\r\n"
        );
        assert!(all[2].ends_with("\r\nAccept: */*\r\nContent-Length: 0\r\n\r\n"), "{}", all[2]);
    }

    #[test]
    fn a_byte_order_mark_hides_no_request() {
        for text in [LOG, "{\"ts\":1,\"method\":\"GET\",\"uri\":\"/a\"}\n"] {
            let (plain, marked) = (log(text), log(&format!("\u{feff}{text}")));
            assert_eq!(sent(marked.path(), 1), sent(plain.path(), 1));
        }
    }

    #[test]
    fn a_method_adds_no_fields() {
        let entry = |method: &str| format!("{{\"ts\":1,\"method\":\"{method}\",\"uri\":\"/\"}}\n");
        let (trace, _) =
            read(&format!("{}{}", entry("A / HTTP/1.1\\r\\nB:"), entry("PURGE")), 1.0, true).unwrap();
        assert_eq!((trace.sends, trace.positions[0]), (1, entry("A / HTTP/1.1\\r\\nB:").len() as u64));
    }

    #[test]
    fn a_log_that_changes_ends_the_replay() {
        let file = log(LOG);
        let trace = read_log(file.path(), ReplaySpec::default(), &[], &mut Inputs::default()).unwrap().0;
        let log = Arc::new(file.reopen().unwrap());
        let mut reader = LogReader::new(&log, &trace, "h".to_owned(), 0, 1);
        file.as_file().set_len(0).unwrap();
        let mut bytes = Vec::new();
        assert!(reader.request(0, &mut bytes).is_none() && bytes.is_empty());
    }

    #[test]
    fn a_part_of_a_log_in_another_format() {
        let format = "$msec $request_method $request_uri".to_owned();
        let text = "10.0 GET /1\n20.5 GET /2\n30.0 GET /3\nother\n";
        let (from, until) = ("1970-01-01T00:00:20Z".parse().ok(), "00:00:30".parse().ok());
        let spec = ReplaySpec { from, until, format: Some(format), ..ReplaySpec::default() };
        let read = |spec| read_log(log(text).path(), spec, &[], &mut Inputs::default());
        let (trace, notice) = read(spec.clone()).unwrap();
        assert_eq!((&*trace.moments, &*trace.positions), (&[Nanos::ZERO][..], &[12][..]));
        assert!(
            notice
                .unwrap()
                .ends_with("left out: 2 outside of --from and --until, 1 lines that are no request")
        );
        let none = read(ReplaySpec { format: Some("$msec".to_owned()), ..spec.clone() }).unwrap_err();
        assert!(none.to_string().starts_with("--log-format \"$msec\": it has no request"), "{none}");
        let outside = ReplaySpec { from: "23:00".parse().ok(), until: None, ..spec };
        assert!(read(outside).unwrap_err().to_string().contains("left out: 3 outside"));
    }
}
