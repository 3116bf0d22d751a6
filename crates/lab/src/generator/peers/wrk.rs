//! wrk 4: `N requests in T, ... read`, errors only if there were any, percentiles with `--latency`.
//!
//! Percentiles are also read from lines `percentile 85 4069 us`, which `speed/scripts/percentiles.lua` prints. Lines
//! with averages are skipped.

use super::peer::{PeerGenerator, PeerReport};
use paceline_record::{Bytes, Counts};
use std::collections::BTreeMap;

/// `wrk`.
pub const WRK: PeerGenerator = PeerGenerator {
    name: "wrk",
    arguments: &["-t{threads}", "-c{connections}", "-d{duration_s}s", "--latency", "{url}"],
    required: None,
    version_flag: "-v",
    version_prefix: "wrk ",
    timeout_ns: Some(2_000_000_000),
    prints: "its summary",
    read: |text, _status| WrkOutput::parse(text).map(WrkOutput::report),
};

/// `wrk2`, which needs a rate: one that no server reaches makes it a closed loop.
///
/// It may sleep for up to a second at its start: if its first timer is overdue by a millisecond before it waits, its
/// event loop (`src/ae.c`) waits for the rest of a second instead of not at all. A run of one second then has one
/// request per connection, and the rate of a longer one is too low; CPU time per request is hardly affected.
pub const WRK2: PeerGenerator = PeerGenerator {
    name: "wrk2",
    arguments: &["-t{threads}", "-c{connections}", "-d{duration_s}s", "-R10000000", "{url}"],
    ..WRK
};

/// The values read from wrk's output.
#[derive(Debug, Default, PartialEq)]
struct WrkOutput {
    answers: u64,
    elapsed_s: f64,
    per_second: Option<f64>,
    bad_status: u64,
    connect_failed: u64,
    io_failed: u64,
    timed_out: u64,
    received_bytes: u64,
    percentiles_ns: BTreeMap<String, u64>,
}

impl WrkOutput {
    fn parse(text: &str) -> Option<WrkOutput> {
        let mut printed = WrkOutput::default();
        for line in text.lines().map(str::trim) {
            if let Some((answers, rest)) = line.split_once(" requests in ") {
                let (elapsed, bytes) = rest.split_once(", ")?;
                printed.answers = answers.parse().ok()?;
                printed.elapsed_s = seconds(elapsed)?;
                printed.received_bytes = bytes_of(bytes.strip_suffix(" read")?)?;
            } else if let Some(count) = line.strip_prefix("Non-2xx or 3xx responses: ") {
                printed.bad_status = count.parse().ok()?;
            } else if let Some(errors) = line.strip_prefix("Socket errors: ") {
                printed.socket_errors(errors)?;
            } else if let Some(rate) = line.strip_prefix("Requests/sec:") {
                printed.per_second = rate.trim().parse().ok().filter(|rate| *rate > 0.0);
            } else if let Some(percentile) = line.strip_prefix("percentile ") {
                let (percent, time) = percentile.split_once(' ')?;
                let time = seconds(&time.replace(' ', ""))?;
                printed.percentiles_ns.insert(format!("p{percent}_ns"), (time * 1e9).round() as u64);
            } else if let Some((percent, time)) = line.split_once("% ")
                && percent.parse::<f64>().is_ok()
                && let Some(time) = seconds(time.trim())
            {
                printed.percentiles_ns.insert(format!("p{percent}_ns"), (time * 1e9).round() as u64);
            }
        }
        (printed.elapsed_s > 0.0).then_some(printed)
    }

    /// `connect 0, read 3, write 0, timeout 1`.
    fn socket_errors(&mut self, errors: &str) -> Option<()> {
        for error in errors.split(", ") {
            let (kind, count) = error.split_once(' ')?;
            let count: u64 = count.parse().ok()?;
            match kind {
                "connect" => self.connect_failed = count,
                "timeout" => self.timed_out = count,
                _ => self.io_failed = self.io_failed.saturating_add(count),
            }
        }
        Some(())
    }

    fn counts(&self) -> Counts {
        let ok = self.answers.saturating_sub(self.bad_status);
        let mut counts = Counts {
            ok,
            bad_status: self.bad_status,
            connect_failed: self.connect_failed,
            io_failed: self.io_failed,
            timed_out: self.timed_out,
            ..Counts::default()
        };
        counts.scheduled = counts.ended();
        counts
    }

    fn report(self) -> PeerReport {
        PeerReport {
            counts: self.counts(),
            status: BTreeMap::new(),
            // The rate has more digits than the time.
            elapsed_s: self.per_second.map_or(self.elapsed_s, |rate| self.answers as f64 / rate),
            bytes: Bytes { received: self.received_bytes, ..Bytes::default() },
            percentiles_ns: self.percentiles_ns,
        }
    }
}

/// `2.92ms`, `850.00us`, `1.00s`, `2.00m`: wrk's units of time.
fn seconds(text: &str) -> Option<f64> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    scaled(text, &units)
}

/// `594.09KB`: wrk's units of size, binary.
fn bytes_of(text: &str) -> Option<u64> {
    let units = [("KB", 1024.0), ("MB", 1048576.0), ("GB", 1073741824.0), ("B", 1.0)];
    scaled(text, &units).map(|bytes| bytes as u64)
}

fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let number = |(unit, scale): &(&str, f64)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * scale);
    units.iter().find_map(number)
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
     99%  850.00us
  738 requests in 1.00s, 374.77KB read
  Socket errors: connect 0, read 3, write 1, timeout 2
  Non-2xx or 3xx responses: 38
Requests/sec:    736.50
Transfer/sec:    374.00KB
";

    #[test]
    fn wrk_output_is_read() {
        let printed = WrkOutput::parse(PRINTED).unwrap();
        let counts = printed.counts();
        assert_eq!((counts.ok, counts.bad_status, counts.io_failed, counts.timed_out), (700, 38, 4, 2));
        assert_eq!(counts.scheduled, counts.ended());
        assert_eq!(printed.received_bytes, 383_764);
        let percentiles: Vec<_> =
            printed.percentiles_ns.iter().map(|(name, ns)| (name.as_str(), *ns)).collect();
        let expected =
            [("p50_ns", 4_690_000), ("p75_ns", 9_860_000), ("p90_ns", 14_350_000), ("p99_ns", 850_000)];
        assert_eq!(percentiles, expected);
    }

    #[test]
    fn percentiles_of_the_script_are_read() {
        let printed =
            WrkOutput::parse(&format!("{PRINTED}percentile 85 4069 us\npercentile 99.9 15863 us\n"));
        let report = printed.unwrap().report();
        assert_eq!(
            (report.percentiles_ns["p85_ns"], report.percentiles_ns["p99.9_ns"]),
            (4_069_000, 15_863_000)
        );
        assert!((report.elapsed_s - 738.0 / 736.5).abs() < 1e-9);
    }

    #[test]
    fn other_output_is_rejected() {
        assert_eq!(WrkOutput::parse("unable to connect"), None);
        assert_eq!(WrkOutput::parse(""), None);
    }
}
