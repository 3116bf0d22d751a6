//! wrk 4 and wrk2: their command line (`command.rs`), their report (`write.rs`), and what such a report says: a table,
//! percentiles with `--latency`, `N requests in T, ... read`, errors only if there were any.
//!
//! A late response is counted once: wrk's `timeout` counts responses that came after its timeout, and they are among
//! its requests too (`src/wrk.c`, `response_complete`). Percentiles are also read from lines `percentile 85 4069 us`,
//! which `speed/scripts/percentiles.lua` prints.

mod command;
mod script;
mod units;
mod write;

pub use command::{Variant, WrkCommand};
pub use script::{SampleValues, ScriptCall, ScriptErrors, ScriptResults};
pub use write::run_results;

use crate::peer::{Peer, PeerLaunch};
use crate::quantity::{bytes, count, number, time_ns};
use crate::report::{Lines, PeerReport, PrintedReport};
use crate::tool::{FirstResponse, ToolCommand, ToolOutput};
use paceline_job::Job;
use paceline_record::{Bytes, Counts, Run};
use std::collections::BTreeMap;

/// `wrk`.
pub const WRK: Peer = Peer {
    name: "wrk",
    launch: Some(PeerLaunch {
        arguments: &["-t{threads}", "-c{connections}", "-d{duration_s}s", "--latency", "{url}"],
        ..LAUNCH
    }),
    prints: "its summary",
    is_first_line,
    is_report: |printed| printed.text.contains("Thread Stats") && !is_wrk2(printed.text),
    read: |printed| {
        let note = "service times; after a long wait wrk adds estimated times (a correction of coordinated omission)";
        Ok(PeerReport { note: note.to_owned(), ..read(printed)? })
    },
};

/// `wrk2`, which needs a rate: one that no server reaches makes it a closed loop.
///
/// It may sleep for up to a second at its start: if its first timer is overdue by a millisecond before it waits, its
/// event loop (`src/ae.c`) waits for the rest of a second instead of not at all. A run of one second then has one
/// request per connection, and the rate of a longer one is too low; CPU time per request is hardly affected.
pub const WRK2: Peer = Peer {
    name: "wrk2",
    launch: Some(PeerLaunch {
        arguments: &["-t{threads}", "-c{connections}", "-d{duration_s}s", "-R10000000", "{url}"],
        ..LAUNCH
    }),
    prints: "its summary",
    is_first_line,
    is_report: |printed| is_wrk2(printed.text),
    read: |printed| {
        let note = "response times are measured from the time at which the request was due on its connection";
        Ok(PeerReport { note: note.to_owned(), ..read(printed)? })
    },
};

const LAUNCH: PeerLaunch = PeerLaunch {
    arguments: &[],
    required: None,
    version_flag: "-v",
    version_prefix: "wrk ",
    timeout_ns: Some(2_000_000_000),
};

fn is_first_line(line: &str) -> bool {
    line.starts_with("Running ") && line.contains(" test @ ")
}

fn is_wrk2(text: &str) -> bool {
    text.contains("Thread Stats")
        && (text.contains("Recorded Latency") || text.contains("Thread calibration:"))
}

fn read(printed: &PrintedReport<'_>) -> Result<PeerReport, String> {
    let lines = printed.lines();
    let (first, running) = lines.find("Running ")?.ok_or("the line \"Running ... test @ URL\" is missing")?;
    let load =
        lines.0.iter().find(|(_, line)| line.contains(" threads and ") && line.contains(" connections"));
    let (_, load) = load.ok_or("the output has no line with the numbers of threads and connections")?;
    let connections = load.split_whitespace().nth(3).ok_or("the number of connections is missing")?;
    let total = lines.0.iter().find(|(_, line)| line.contains(" requests in ") && line.contains(" read"));
    let (_, total) = total.ok_or("the line \"N requests in T, B read\" is missing")?;
    let words: Vec<&str> = total.split_whitespace().collect();
    let [requests, "requests", "in", elapsed, received, "read"] = words.as_slice() else {
        return Err(format!("{:?} is not \"N requests in T, B read\"", total.trim()));
    };
    let requests = count(requests)?;
    let bad_status = lines.count_or_zero("Non-2xx or 3xx responses:")?;
    let ok = requests.saturating_sub(bad_status);
    let per_second = lines.number("Requests/sec:")?;
    let mut report = PeerReport {
        url: running.split(" @ ").nth(1).unwrap_or_default().trim().to_owned(),
        protocol: "http/1.1".to_owned(),
        connections: u32::try_from(count(connections)?).unwrap_or(u32::MAX),
        elapsed_s: Some(time_ns(elapsed.trim_end_matches(','))? / 1e9),
        // The rate has more digits than the time.
        elapsed_exact_s: (per_second > 0.0 && requests > 0).then(|| requests as f64 / per_second),
        counts: Counts { ok, bad_status, ..Counts::default() },
        bytes: Bytes { received: bytes(received)? as u64, ..Bytes::default() },
        requests_per_s: Some(per_second),
        times_ns: times(&lines)?,
        place: format!("lines {first} to {}", lines.find("Requests/sec:")?.map_or(first, |(at, _)| at)),
        ..PeerReport::default()
    };
    socket_errors(&lines, &mut report)?;
    Ok(report)
}

/// `connect 0, read 3, write 0, timeout 1`.
fn socket_errors(lines: &Lines<'_>, report: &mut PeerReport) -> Result<(), String> {
    let Some((_, errors)) = lines.find("Socket errors:")? else { return Ok(()) };
    let error = |name: &str| -> Result<u64, String> {
        let part = errors.split(',').find_map(|part| part.trim().strip_prefix(name));
        part.map_or(Ok(0), |part| count(part.trim()))
    };
    report.counts.connect_failed = error("connect")?;
    report.counts.io_failed = error("read")?.saturating_add(error("write")?);
    report.figures.insert("late_answers".to_owned(), error("timeout")? as f64);
    Ok(())
}

fn times(lines: &Lines<'_>) -> Result<BTreeMap<String, f64>, String> {
    let mut times = BTreeMap::new();
    // The row of times is the only one in the table whose label is not Req/Sec.
    let heads = lines.0.iter().position(|(_, line)| line.contains("Thread Stats"));
    let row = heads
        .and_then(|place| lines.0.get(place + 1))
        .map(|(_, line)| line.split_whitespace().collect::<Vec<_>>());
    if let Some([_, mean, stddev, max, _]) = row.as_deref()
        // Without a sample wrk prints zeros, and wrk2 no numbers.
        && !mean.contains("nan")
    {
        for (name, text) in [("mean", mean), ("stddev", stddev), ("max", max)] {
            times.insert(name.to_owned(), time_ns(text)?);
        }
    }
    // The second table of wrk2 (`-U`) is not corrected: only the first is read.
    let tables = lines.0.iter().position(|(_, line)| line.contains(" Distribution"));
    for (_, line) in tables.map_or(&[][..], |place| &lines.0[place + 1..]) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [percent, time] = words.as_slice() else { break };
        let Some(percent) = percent.strip_suffix('%') else { break };
        insert_percentile(&mut times, percent, time)?;
    }
    for (_, line) in lines.0.iter().filter(|(_, line)| line.starts_with("percentile ")) {
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let [percent, time, unit] = words.as_slice() else { continue };
        insert_percentile(&mut times, percent, &format!("{time}{unit}"))?;
    }
    Ok(times)
}

/// All but the 100th percentile, which is the longest time.
fn insert_percentile(times: &mut BTreeMap<String, f64>, percent: &str, time: &str) -> Result<(), String> {
    let percent = number(percent)?;
    if percent < 100.0 {
        times.insert(format!("p{}", percent.to_string().replace('.', "_")), time_ns(time)?);
    }
    Ok(())
}

impl ToolCommand for WrkCommand {
    fn job(&self) -> Job {
        self.job()
    }

    fn begin(&self) -> ToolOutput {
        ToolOutput::of_stdout(write::begin(self))
    }

    fn unreachable(&self, why: &str, _errno: i32) -> ToolOutput {
        let stderr = format!("unable to connect to {}:{} {why}\n", self.url().host, self.url().port);
        ToolOutput { stderr, status: 1, ..ToolOutput::default() }
    }

    fn unresolved(&self, host: &str, why: &str) -> ToolOutput {
        let stderr = format!("unable to resolve {host}:{} {why}\n", self.service());
        ToolOutput { stderr, status: 1, ..ToolOutput::default() }
    }

    fn report(&self, run: &Run, _first: Option<&FirstResponse>) -> ToolOutput {
        write::report(self, run)
    }

    fn record_file(&self) -> Option<&str> {
        self.record_file()
    }

    fn script(&self) -> Option<ScriptCall> {
        self.script()
    }

    fn script_results(&self, run: &Run) -> ScriptResults {
        write::script_results(self, run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
Running 1s test @ http://127.0.0.1:20000/none
  1 threads and 4 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     5.97ms    4.97ms  23.90ms   77.56%
    Req/Sec   739.80    506.87     1.57k    80.00%
  Latency Distribution
     50%    4.69ms
     75%    9.86ms
     90%   14.35ms
     99%   23.85ms
  738 requests in 1.00s, 374.77KB read
  Socket errors: connect 0, read 3, write 1, timeout 2
  Non-2xx or 3xx responses: 38
Requests/sec:    736.50
Transfer/sec:    374.00KB
";

    fn report(text: &str) -> PeerReport {
        (WRK.read)(&PrintedReport::from_output(text)).unwrap()
    }

    #[test]
    fn a_late_response_is_counted_once() {
        let report = report(PRINTED).expecting(200);
        let counts = report.counts;
        assert_eq!((counts.ok, counts.bad_status, counts.io_failed, counts.timed_out), (700, 38, 4, 0));
        assert_eq!((counts.scheduled, report.figures["late_answers"]), (742, 2.0));
        assert_eq!(report.bytes.received, 383_764);
        assert_eq!(report.times_ns["max"], 23_900_000.0);
        let percentiles: Vec<_> = report.percentiles_ns().into_iter().collect();
        let expected = [("p50", 4_690_000), ("p75", 9_860_000), ("p90", 14_350_000), ("p99", 23_850_000)];
        assert_eq!(percentiles, expected.map(|(name, ns)| (format!("{name}_ns"), ns)));
    }

    #[test]
    fn percentiles_of_the_script_are_read() {
        let report = report(&format!("{PRINTED}percentile 85 4069 us\npercentile 99.9 15863 us\n"));
        assert_eq!((report.times_ns["p85"], report.times_ns["p99_9"]), (4_069_000.0, 15_863_000.0));
        assert!((report.duration_s().unwrap() - 738.0 / 736.5).abs() < 1e-9);
    }

    #[test]
    fn a_run_without_a_response() {
        let empty = PRINTED.replace("738 requests", "0 requests").replace("736.50", "0.00");
        assert_eq!(report(&empty.replace("5.97ms", "0.00us")).duration_s(), Some(1.0));
    }
}
