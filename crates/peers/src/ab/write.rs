//! ab's report (`output_results` in `support/ab.c`) from a run, to the byte layout.
//!
//! ab counts a response as failed if its body has another length than the first. The record has the shortest and the
//! longest body and the sum of all, which give a lower bound; it is exact if there are two lengths.

use super::command::{AbCommand, heading};
use crate::answers::{answered, answered_with, connect_times, whole_times, with_failures};
use crate::tool::{FirstResponse, ListedRequest, ToolOutput, concerns};
use jiff::Timestamp;
use paceline_job::Nanos;
use paceline_record::{Block, Run};
use paceline_stats::Histogram;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::Duration;

/// The percentiles of its table; the last is the longest time.
const PERCENTS: [u32; 9] = [50, 66, 75, 80, 90, 95, 98, 99, 100];
/// From more requests on the progress is shown.
const QUIET_REQUESTS: u64 = 150;
/// The status of an exceeded timeout: APR's error 70007, modulo 256.
const TIMED_OUT: u8 = 119;
/// The status of a connection that broke: ECONNRESET.
const RESET: u8 = 104;

/// The text before the run.
pub fn begin(command: &AbCommand) -> String {
    if command.html.is_some() {
        return format!(
            "<p>\n {}</p>\n<p>\n",
            heading()
                .trim_end()
                .replace('\n', "<br>\n ")
                .replace("<$Revision$>", "<i>&lt;$Revision$&gt;</i>")
                + "<br>\n"
        );
    }
    let proxy = command.proxy().map(|proxy| format!("[through {}:{}] ", proxy.host, proxy.port));
    let rest = if shows_progress(command) { "\n" } else { "..." };
    format!(
        "{}Benchmarking {} {}(be patient){rest}",
        heading(),
        command.url().host,
        proxy.unwrap_or_default()
    )
}

fn shows_progress(command: &AbCommand) -> bool {
    command.requests > QUIET_REQUESTS && !command.is_quiet
}

/// Everything that the report shows of a run.
struct AbReport<'a> {
    command: &'a AbCommand,
    run: &'a Run,
    first: FirstResponse,
    done: u64,
    failures: AbFailures,
}

/// Failures by ab's kinds.
#[derive(Default)]
struct AbFailures {
    connect: u64,
    receive: u64,
    length: u64,
}

/// A row of the table of times: in milliseconds, rounded as ab does.
struct TimeRow {
    name: &'static str,
    what: &'static str,
    min: u64,
    mean: u64,
    deviation: f64,
    median: u64,
    max: u64,
}

/// The text after the run.
pub fn report(command: &AbCommand, run: &Run, first: Option<&FirstResponse>) -> ToolOutput {
    let counts = run.total.counts;
    let answered = answered(&run.total);
    let first = first.cloned().unwrap_or_default();
    let failures = AbFailures {
        connect: counts.connect_failed,
        receive: counts.io_failed,
        length: if command.variable_length { 0 } else { other_lengths(&run.total, first.body_bytes) },
    };
    let done = answered.saturating_add(counts.io_failed);
    let report = AbReport { command, run, first, done, failures };
    let mut text = String::new();
    let mut stderr = String::new();
    match &command.html {
        Some(attributes) => text.push_str(&report.html(attributes)),
        None if shows_progress(command) => {
            let _ = writeln!(stderr, "Finished {done} requests");
            text.push_str(&report.text());
        }
        None => {
            text.push_str("..done\n");
            text.push_str(&report.text());
        }
    }
    let status = report.end(&mut stderr);
    stderr.push_str(&report.remarks());
    let files = command.csv.iter().filter(|_| command.html.is_none());
    let files = files.map(|file| (file.clone(), report.csv())).collect();
    ToolOutput { stdout: text, stderr, status, files, ..ToolOutput::default() }
}

/// Adds the file of `-g`: a row for each request, the fastest first.
pub fn list(command: &AbCommand, run: &Run, mut requests: Vec<ListedRequest>, report: &mut ToolOutput) {
    let Some(file) = command.gnuplot.as_ref().filter(|_| command.html.is_none()) else { return };
    requests.sort_by_key(ListedRequest::whole);
    let started_at = run.started_at.parse().unwrap_or(Timestamp::UNIX_EPOCH);
    let connected = Nanos(run.phases.window.start_ns);
    let mut text = "starttime\tseconds\tctime\tdtime\tttime\twait\n".to_owned();
    for request in &requests {
        let began = Duration::from((connected + request.sent).since(request.connect));
        let began = started_at.checked_add(began).unwrap_or(started_at);
        let [connect, rest, whole, wait] =
            [request.connect, request.service, request.whole(), request.first_byte]
                .map(|time| time.0.saturating_add(500_000) / 1_000_000);
        let (time, seconds) = (began.strftime("%a %b %d %H:%M:%S %Y"), began.as_second());
        let _ = writeln!(text, "{time}\t{seconds}\t{connect}\t{rest}\t{whole}\t{wait}");
    }
    report.files.push((file.clone(), text));
}

/// At least so many bodies have another length than the first.
fn other_lengths(block: &Block, first: u64) -> u64 {
    let (Some(lengths), ok) = (block.body_bytes, block.counts.ok) else { return 0 };
    let farthest = lengths.max.abs_diff(first).max(lengths.min.abs_diff(first));
    if farthest == 0 {
        return 0;
    }
    // Bodies of other responses are in the sum too: then only the ends are known.
    let known = block.counts.ok == answered(block);
    let apart = if known { block.bytes.body.abs_diff(first.saturating_mul(ok)) } else { 0 };
    apart.div_ceil(farthest).clamp(1, ok.max(1))
}

impl AbReport<'_> {
    fn elapsed_s(&self) -> f64 {
        self.run.window_s
    }

    fn failed(&self) -> u64 {
        let AbFailures { connect, receive, length } = self.failures;
        connect.saturating_add(receive).saturating_add(length)
    }

    fn non_2xx(&self) -> u64 {
        answered_with(&self.run.total, |status| !(200..300).contains(&status))
    }

    /// Labels and values, with an empty label for a blank line of the text.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let (command, total) = (self.command, &self.run.total);
        let length = if command.variable_length {
            "Variable".to_owned()
        } else {
            format!("{} bytes", self.first.body_bytes)
        };
        let blank = || ("", String::new());
        let mut facts = vec![
            ("Server Software:", self.first.server.clone()),
            ("Server Hostname:", command.url().host.clone()),
            ("Server Port:", command.url().port.to_string()),
        ];
        if let Some(tls) = &self.run.target.tls {
            let version = tls.version.clone().unwrap_or_default();
            let cipher = openssl_name(tls.cipher.as_deref().unwrap_or_default());
            facts.push(("SSL/TLS Protocol:", format!("TLSv{version},{cipher}")));
            let key = tls.group.as_deref().and_then(temporary_key);
            facts.extend(key.map(|key| ("Server Temp Key:", key.to_owned())));
            if tls.name.parse::<IpAddr>().is_err() {
                facts.push(("TLS Server Name:", tls.name.clone()));
            }
        }
        facts.extend([
            blank(),
            ("Document Path:", command.url().path.clone()),
            ("Document Length:", length),
            blank(),
            ("Concurrency Level:", command.connections().to_string()),
            ("Time taken for tests:", format!("{:.3} seconds", self.elapsed_s())),
            ("Complete requests:", self.done.to_string()),
            ("Failed requests:", self.failed().to_string()),
        ]);
        let optional = [
            ("Non-2xx responses:", self.non_2xx(), self.non_2xx() > 0),
            ("Keep-Alive requests:", self.kept(), command.keep_alive),
        ];
        let shown = optional.into_iter().filter(|(_, _, is_shown)| *is_shown);
        facts.extend(shown.map(|(label, count, _)| (label, count.to_string())));
        facts.push(("Total transferred:", format!("{} bytes", total.bytes.received)));
        if command.sends_body() {
            facts.push(("Total body sent:", total.bytes.sent.to_string()));
        }
        facts.push(("HTML transferred:", format!("{} bytes", total.bytes.body)));
        facts
    }

    /// Requests after whose response the server kept the connection.
    fn kept(&self) -> u64 {
        self.done.saturating_sub(self.run.connections.closed_by_server)
    }

    fn text(&self) -> String {
        let mut text = "\n\n".to_owned();
        for (label, value) in self.facts() {
            let line = format!("{label:<24}{value}");
            let _ = writeln!(text, "{}", if label.is_empty() { "" } else { line.as_str() });
            if label == "Failed requests:" && self.failed() > 0 {
                let AbFailures { connect, receive, length } = self.failures;
                let _ = writeln!(
                    text,
                    "   (Connect: {connect}, Receive: {receive}, Length: {length}, Exceptions: 0)"
                );
            }
        }
        self.push_rates(&mut text);
        if self.done > 0 {
            self.push_times(&mut text);
        }
        if !self.command.without_percentiles && self.done > 1 {
            text.push_str("\nPercentage of the requests served within a certain time (ms)\n");
            let times = whole_times(&self.run.total);
            for percent in PERCENTS {
                let ms = whole_ms(times.quantile(f64::from(percent) / 100.0).unwrap_or(0));
                let _ = match percent {
                    100 => writeln!(text, " 100%  {ms:>5} (longest request)"),
                    _ => writeln!(text, "  {percent}%  {ms:>5}"),
                };
            }
        }
        text
    }

    fn push_rates(&self, text: &mut String) {
        let (seconds, done) = (self.elapsed_s(), self.done as f64);
        if seconds <= 0.0 || self.done == 0 {
            return;
        }
        let bytes = self.run.total.bytes;
        let connections = f64::from(self.command.connections());
        let kbytes = |bytes: u64| bytes as f64 / 1024.0 / seconds;
        let _ = writeln!(text, "Requests per second:    {:.2} [#/sec] (mean)", done / seconds);
        let _ = writeln!(
            text,
            "Time per request:       {:.3} [ms] (mean)",
            connections * seconds * 1000.0 / done
        );
        let _ = writeln!(
            text,
            "Time per request:       {:.3} [ms] (mean, across all concurrent requests)",
            seconds * 1000.0 / done
        );
        let _ = writeln!(text, "Transfer rate:          {:.2} [Kbytes/sec] received", kbytes(bytes.received));
        if self.command.sends_body() {
            let _ = writeln!(text, "{:24}{:.2} kb/s sent", "", kbytes(bytes.sent));
            let _ = writeln!(text, "{:24}{:.2} kb/s total", "", kbytes(bytes.sent + bytes.received));
        }
    }

    fn rows(&self) -> [TimeRow; 4] {
        let block = &self.run.total;
        let mut connects = connect_times(block);
        // A request on a kept connection did not connect.
        connects.record_n(0, self.done.saturating_sub(connects.count()));
        [
            TimeRow::new("Connect:", "the initial connection time", &connects),
            TimeRow::new(
                "Processing:",
                "the processing time",
                &with_failures(block.service_time_ns.as_ref(), block),
            ),
            TimeRow::new("Waiting:", "the waiting time", &with_failures(block.first_byte_ns.as_ref(), block)),
            TimeRow::new("Total:", "the total time", &whole_times(&self.run.total)),
        ]
    }

    fn push_times(&self, text: &mut String) {
        let rows = self.rows();
        text.push_str("\nConnection Times (ms)\n");
        if self.command.without_deviations {
            text.push_str("              min   avg   max\n");
            for TimeRow { name, min, mean, max, .. } in rows {
                let _ = writeln!(text, "{name:<12}{min:>5} {mean:>5}{max:>5}");
            }
            return;
        }
        text.push_str("              min  mean[+/-sd] median   max\n");
        for TimeRow { name, min, mean, deviation, median, max, .. } in &rows {
            let _ = writeln!(text, "{name:<12}{min:>5} {mean:>4} {deviation:>5.1} {median:>6} {max:>7}");
        }
        rows.iter().for_each(|row| row.push_warning(text));
    }

    fn csv(&self) -> String {
        let times = whole_times(&self.run.total);
        let mut text = "Percentage served,Time in ms\n".to_owned();
        for percent in 0..=100 {
            let ns = match percent {
                0 => times.min(),
                _ => times.quantile(f64::from(percent) / 100.0),
            };
            let _ = writeln!(text, "{percent},{:.3}", ns.unwrap_or(0) as f64 / 1e6);
        }
        text
    }

    fn html(&self, [table, row, cell]: &[String; 3]) -> String {
        let mut text = format!("..done\n\n\n<table {table}>\n");
        let seconds = self.elapsed_s().max(1e-9);
        let mut facts = self.facts();
        facts.push(("Requests per second:", format!("{:.2}", self.done as f64 / seconds)));
        let received = self.run.total.bytes.received as f64 / 1024.0 / seconds;
        facts.push(("Transfer rate:", format!("{received:.2} kb/s received")));
        for (label, value) in facts.iter().filter(|(label, _)| !label.is_empty()) {
            let value = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let _ = writeln!(
                text,
                "<tr {row}><th colspan=2 {cell}>{label}</th><td colspan=2 {cell}>{value}</td></tr>"
            );
        }
        let _ = writeln!(text, "<tr {row}><th {cell} colspan=4>Connection Times (ms)</th></tr>");
        let _ = writeln!(
            text,
            "<tr {row}><th {cell}>&nbsp;</th> <th {cell}>min</th>   <th {cell}>avg</th>   <th {cell}>max</th></tr>"
        );
        for TimeRow { name, min, mean, max, .. } in self.rows().iter().filter(|row| row.name != "Waiting:") {
            let _ = writeln!(
                text,
                "<tr {row}><th {cell}>{name}</th><td {cell}>{min:>5}</td><td {cell}>{mean:>5}</td><td {cell}>{max:>5}</td></tr>"
            );
        }
        text + "</table>\n"
    }

    /// The exit status; a failure at which ab would have stopped is named as ab names it.
    fn end(&self, stderr: &mut String) -> u8 {
        let counts = self.run.total.counts;
        if self.run.exceeded_timeout() > 0 {
            stderr.push_str("apr_pollset_poll: The timeout specified has expired (70007)\n");
            return TIMED_OUT;
        }
        if counts.io_failed > 0 && !self.command.tolerates_failures {
            stderr.push_str("apr_socket_recv: Connection reset by peer (104)\n");
            return RESET;
        }
        0
    }

    /// What is different from ab's figures, where it matters.
    fn remarks(&self) -> String {
        let mut text = concerns(self.run);
        if self.failures.length > 0 {
            let lengths =
                self.run.total.body_bytes.map(|lengths| (lengths.min, lengths.max)).unwrap_or_default();
            let _ = writeln!(
                text,
                "paceline: failed by length: at least {} bodies differ in length from the first ({} bytes; shortest {}, longest {}): right for a dynamic page, with -l",
                self.failures.length, self.first.body_bytes, lengths.0, lengths.1
            );
        }
        text
    }
}

/// A cipher suite's name in OpenSSL, from that at IANA; those of TLS 1.3 are the same.
fn openssl_name(iana: &str) -> String {
    let Some((exchange, cipher)) = iana.split_once("_WITH_") else { return iana.to_owned() };
    let cipher = cipher.replace("AES_", "AES").replace("POLY1305_SHA256", "POLY1305");
    format!("{}_{cipher}", exchange.trim_start_matches("TLS_")).replace('_', "-")
}

/// The key of a group of the key exchange, as OpenSSL describes it.
fn temporary_key(group: &str) -> Option<&'static str> {
    match group {
        "X25519" => Some("X25519 253 bits"),
        "secp256r1" => Some("ECDH prime256v1 256 bits"),
        "secp384r1" => Some("ECDH secp384r1 384 bits"),
        _ => None,
    }
}

/// Nanoseconds as ab rounds them (`ap_round_ms`).
fn whole_ms(ns: u64) -> u64 {
    (ns / 1000 + 500) / 1000
}

impl TimeRow {
    fn new(name: &'static str, what: &'static str, histogram: &Histogram) -> Self {
        let mean = histogram.mean().unwrap_or(0.0);
        let squares = histogram
            .bars()
            .map(|(low, high, n)| ((low as f64 + high as f64) / 2.0 - mean).powi(2) * n as f64);
        let others = histogram.count().saturating_sub(1);
        let deviation = if others > 0 { (squares.sum::<f64>() / others as f64).sqrt() / 1e6 } else { 0.0 };
        Self {
            name,
            what,
            min: whole_ms(histogram.min().unwrap_or(0)),
            mean: whole_ms(mean as u64),
            deviation,
            median: whole_ms(histogram.quantile(0.5).unwrap_or(0)),
            max: whole_ms(histogram.max().unwrap_or(0)),
        }
    }

    /// ab's comparison of mean and median (`SANE`).
    fn push_warning(&self, text: &mut String) {
        let (what, apart) = (self.what, self.mean.abs_diff(self.median) as f64);
        let _ = match () {
            () if apart > 2.0 * self.deviation => writeln!(
                text,
                "ERROR: The median and mean for {what} are more than twice the standard\n       deviation apart. These results are NOT reliable."
            ),
            () if apart > self.deviation => writeln!(
                text,
                "WARNING: The median and mean for {what} are not within a normal deviation\n        These results are probably not that reliable."
            ),
            () => Ok(()),
        };
    }
}

#[cfg(test)]
mod tests;
