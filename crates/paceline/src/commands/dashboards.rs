//! Metrics of a run or a round in progress: a page for Prometheus (`--metrics`), and exports to an OpenTelemetry
//! collector (`--otlp`), for each second of a run and each trial of a round.
//!
//! Both are written on threads of their own. A slow or missing collector delays nothing: the next export replaces one
//! that was not sent yet.

use crate::exit::Complaint;
use paceline_engine::{Measure, WorkerSecond};
use paceline_http::Url;
use paceline_record::Second;
use paceline_report::{LiveMetrics, LiveValues, Span};
use paceline_run::{Rows, Sink, connect_to_host, times};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long a client of the page, or the collector, may take to send what is read, and to receive what is sent.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// The longest request head that is read.
const MAX_HEAD_BYTES: u64 = 16 * 1024;

/// Where metrics go.
#[derive(clap::Args, Debug)]
pub struct DashboardFlags {
    /// Show metrics to Prometheus on this address meanwhile: 127.0.0.1:9100
    #[arg(hide_short_help = true, long, value_name = "ADDR:PORT", help_heading = "Output")]
    pub metrics: Option<SocketAddr>,

    /// Send metrics to an OpenTelemetry collector: http://127.0.0.1:4318 (OTLP over HTTP, as JSON)
    #[arg(hide_short_help = true, long, value_name = "URL", value_parser = collector, help_heading = "Output")]
    pub otlp: Option<Url>,
}

impl DashboardFlags {
    /// Whether metrics go anywhere.
    pub fn is_given(&self) -> bool {
        self.metrics.is_some() || self.otlp.is_some()
    }
}

/// The metrics of what is measured, and where they go.
pub struct Dashboards<M> {
    metrics: Arc<Mutex<M>>,
    started: SystemTime,
    exports: Option<(SyncSender<String>, JoinHandle<Option<io::Error>>)>,
}

impl<M: LiveValues + Send + 'static> Dashboards<M> {
    /// Opens the page and prepares the exports; none if there are no such flags.
    pub fn start(flags: &DashboardFlags, metrics: impl FnOnce() -> M) -> anyhow::Result<Option<Self>> {
        if !flags.is_given() {
            return Ok(None);
        }
        let metrics = Arc::new(Mutex::new(metrics()));
        if let Some(address) = flags.metrics {
            let cannot =
                |error| Complaint::environment(format!("--metrics: cannot listen on {address}: {error}"));
            let listener = TcpListener::bind(address).map_err(cannot)?;
            let shown = listener.local_addr().map_err(cannot)?;
            crate::exit::say(&format!("metrics: http://{shown}/metrics"));
            let metrics = Arc::clone(&metrics);
            // It ends with the process.
            std::thread::spawn(move || serve(&listener, &*metrics));
        }
        let exports = flags.otlp.as_ref().map(|url| {
            let (sender, receiver) = sync_channel(1);
            let url = url.clone();
            (sender, std::thread::spawn(move || export(&url, &receiver)))
        });
        Ok(Some(Self { metrics, started: SystemTime::now(), exports }))
    }

    /// Changes the metrics and exports them.
    pub fn update(&self, change: impl FnOnce(&mut M)) {
        change(&mut self.metrics.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some((sender, _)) = &self.exports {
            // If the last one is not sent yet, the totals are in the next.
            let _ = sender.try_send(self.request());
        }
    }

    /// Sends the last values. Returns the error of the exports, if the last of them failed.
    pub fn finish(&mut self) -> Option<io::Error> {
        let last = self.request();
        let (sender, thread) = self.exports.take()?;
        // A thread that has ended reports its error below.
        let _ = sender.send(last);
        drop(sender);
        let failed =
            thread.join().unwrap_or_else(|_| Some(io::Error::other("a thread of Paceline panicked")));
        failed.map(|error| io::Error::new(error.kind(), format!("--otlp: {error}")))
    }

    fn request(&self) -> String {
        let since_1970 = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let span = Span { start_ns: since_1970(self.started), now_ns: since_1970(SystemTime::now()) };
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner).otlp(span).to_string()
    }
}

impl Sink for Dashboards<LiveMetrics> {
    fn second(&mut self, row: &Second, second: &WorkerSecond, rows: &Rows) {
        let of = |measure| times(second, measure, |_| true);
        let response = rows.is_open().then(|| of(Measure::Response));
        self.update(|metrics| metrics.add(row, &of(Measure::Service), response.as_ref()));
    }

    fn end(mut self: Box<Self>) -> Vec<io::Error> {
        self.finish().into_iter().collect()
    }
}

/// Answers every request with the metrics, one client at a time.
fn serve(listener: &TcpListener, metrics: &Mutex<impl LiveValues>) {
    for stream in listener.incoming().flatten() {
        let text = metrics.lock().unwrap_or_else(PoisonError::into_inner).prometheus();
        // A client that goes away concerns nobody.
        let _ = answer(stream, &text);
    }
}

fn answer(stream: TcpStream, text: &str) -> io::Result<()> {
    let mut lines = BufReader::new(TimedStream::new(&stream).take(MAX_HEAD_BYTES));
    let mut line = String::new();
    while lines.read_line(&mut line)? > 2 {
        line.clear();
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        text.len()
    );
    TimedStream::new(&stream).write_all(format!("{head}{text}").as_bytes())
}

/// A connection that is used until a moment, however many bytes come in how many pieces.
struct TimedStream<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl<'a> TimedStream<'a> {
    fn new(stream: &'a TcpStream) -> Self {
        Self { stream, until: Instant::now() + TIME_LIMIT }
    }

    /// The time until then.
    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl io::Read for TimedStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer)
    }
}

impl io::Write for TimedStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sends exports until the run ends. Returns the error of the last one that failed, if none after it succeeded.
fn export(url: &Url, requests: &Receiver<String>) -> Option<io::Error> {
    let mut failed = None;
    for request in requests {
        failed = post(url, &request).err();
    }
    failed
}

fn post(url: &Url, body: &str) -> io::Result<()> {
    let stream = connect_to_host(url, TIME_LIMIT)?;
    TimedStream::new(&stream).write_all(format!("{}{body}", head(url, body.len())).as_bytes())?;
    let mut line = String::new();
    BufReader::new(TimedStream::new(&stream).take(MAX_HEAD_BYTES)).read_line(&mut line)?;
    match line.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok()) {
        Some(200..300) => Ok(()),
        _ => Err(io::Error::other(format!("the collector answered {:?}", line.trim()))),
    }
}

/// The head of a request with an export of this length.
fn head(url: &Url, length: usize) -> String {
    let path = if url.path == "/" { "/v1/metrics" } else { &url.path };
    let host = url.authority();
    format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    )
}

/// Parses the value of `--otlp`.
fn collector(text: &str) -> Result<Url, String> {
    let url = Url::parse_http(text).map_err(|error| error.to_string())?;
    if url.scheme.uses_tls() {
        return Err("https is not supported: run a collector on this machine, and let it forward".to_owned());
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_a_limited_time_for_all_its_bytes() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        client.write_all(b"GET").unwrap();
        let mut timed = TimedStream { stream: &stream, until: Instant::now() + Duration::from_secs(600) };
        let mut byte = [0];
        timed.read_exact(&mut byte).unwrap();
        timed.until = Instant::now();
        assert_eq!(timed.read(&mut byte).unwrap_err().kind(), io::ErrorKind::TimedOut, "a byte is there");
        assert_eq!(timed.write(&byte).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn the_host_of_a_collector_is_that_of_its_url() {
        for (url, begins) in [
            ("http://[::1]:4318", "POST /v1/metrics HTTP/1.1\r\nHost: [::1]:4318\r\n"),
            ("http://a.test/b", "POST /b HTTP/1.1\r\nHost: a.test\r\n"),
        ] {
            let head = head(&collector(url).unwrap(), 7);
            assert!(head.starts_with(begins) && head.contains("\r\nContent-Length: 7\r\n"), "{head}");
        }
    }
}
