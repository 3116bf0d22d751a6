//! `wrk` as a generator, so that a round can be cross-checked: its text output, read into a run.
//!
//! It tells no phases, has no warm-up and prints four percentiles without their distribution: the run has no times,
//! and the percentiles stand as evidence in a note. Closed loop only, and no body is checked.

use super::{Finished, Generator, Job, Measured, template};
use paceline_record::{
    Blame, Block, Bytes, Connections, Counts, Environment, Expectations, Load, Loop, LoopKind, Pace,
    PaceAsked, PaceKind, Phases, Rates, Run, SCHEMA, Severity, Span, Target, Tool, Verdict,
};
use std::collections::BTreeMap;

/// What follows the program where a person names it alone.
const DEFAULT_ARGUMENTS: [&str; 5] =
    ["-t{threads}", "-c{connections}", "-d{duration_s}s", "--latency", "{url}"];

/// `wrk`, by a template.
pub struct Wrk {
    words: Vec<String>,
}

impl Wrk {
    /// A template, or the program alone.
    ///
    /// # Errors
    /// What is wrong with the template, for people.
    pub fn new(mut words: Vec<String>) -> Result<Self, String> {
        if words.len() == 1 {
            words.extend(DEFAULT_ARGUMENTS.map(str::to_owned));
        }
        template::check(&words)?;
        Ok(Self { words })
    }
}

impl Generator for Wrk {
    fn command(&self, job: &Job) -> Vec<String> {
        template::fill(&self.words, job)
    }

    fn refuses(&self, load: &Load, method: &str) -> Option<String> {
        let what = match load {
            _ if method != "GET" => "asks with GET alone",
            Load { kind: LoopKind::Open, .. } => "offers no rate",
            Load { requests: Some(_), .. } => "is bounded by time alone, not by a number of requests",
            Load { depth: 2.., .. } => "does not send requests ahead",
            _ => return None,
        };
        Some(format!("wrk {what}"))
    }

    fn read(&self, job: &Job, finished: &Finished) -> Result<Measured, String> {
        if finished.ended.code != Some(0) {
            return Err(format!("wrk ended with {}: {}", finished.ended, finished.stderr));
        }
        let printed = Printed::parse(&finished.stdout)
            .ok_or_else(|| format!("cannot read what wrk printed: {:?}", finished.stdout.trim()))?;
        let run = printed.run(job, &self.command(job), finished);
        Ok(Measured { run, verdicts: vec![printed.note()] })
    }
}

/// What wrk prints.
#[derive(Debug, Default, PartialEq)]
struct Printed {
    answers: u64,
    elapsed_s: f64,
    bad_status: u64,
    connect_failed: u64,
    io_failed: u64,
    timed_out: u64,
    received_bytes: u64,
    percentiles_ns: BTreeMap<String, u64>,
}

impl Printed {
    fn parse(text: &str) -> Option<Printed> {
        let mut printed = Printed::default();
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
                _ => self.io_failed += count,
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

    fn run(&self, job: &Job, argv: &[String], finished: &Finished) -> Run {
        let counts = self.counts();
        let window = Span { start_ns: 0, end_ns: (self.elapsed_s * 1e9) as u64 };
        let total = Block {
            counts,
            completed_in_window: counts.ok,
            bytes: Bytes { received: self.received_bytes, ..Bytes::default() },
            ..Block::default()
        };
        Run {
            schema: SCHEMA,
            id: String::new(),
            tool: Tool { name: "wrk".into(), version: String::new(), commit: None },
            argv: argv.to_vec(),
            seed: job.seed,
            started_at: String::new(),
            target: Target {
                url: job.url.clone(),
                protocol: "http/1.1".into(),
                address: String::new(),
                sources: Vec::new(),
            },
            loop_: Loop {
                kind: LoopKind::Closed,
                connections: job.load.connections,
                depth: 1,
                batch: false,
                requests: None,
                offered_per_s: None,
                arrivals: None,
            },
            pace: Pace { asked: PaceAsked::Sleep, used: PaceKind::Sleep, spin_before_ns: 0 },
            expectations: Expectations::default(),
            timeout_ns: 2_000_000_000, // wrk's own default, which the template leaves
            phases: Phases { window, ..Phases::default() },
            window_s: self.elapsed_s,
            stopped: false,
            connections: Connections { asked: job.load.connections.into(), ..Connections::default() },
            environment: Environment::default(),
            generator: self.generator(job, finished),
            total,
            by_segment: None,
            by_request: None,
            by_generator: None,
            intervals: Vec::new(),
            rate_per_s: Rates {
                offered: None,
                sent: counts.scheduled as f64 / self.elapsed_s,
                achieved: counts.ok as f64 / self.elapsed_s,
            },
            verdicts: Vec::new(),
        }
    }

    fn generator(&self, job: &Job, finished: &Finished) -> paceline_record::Generator {
        let per_thread = finished.cpu_s / f64::from(job.threads.max(1));
        paceline_record::Generator {
            threads: job.threads,
            cpu_s: finished.cpu_s,
            busy_s: finished.cpu_s,
            cpu_ns_per_request: if self.answers > 0 {
                finished.cpu_s * 1e9 / self.answers as f64
            } else {
                0.0
            },
            utilization: (per_thread / finished.elapsed_s.max(f64::MIN_POSITIVE)).min(1.0),
            ..paceline_record::Generator::default()
        }
    }

    fn note(&self) -> Verdict {
        let evidence = self.percentiles_ns.iter().map(|(name, ns)| (name.clone(), (*ns).into())).collect();
        Verdict {
            name: "foreign_generator".into(),
            blame: Blame::User,
            severity: Severity::Note,
            evidence,
            remedy:
                "wrk checks no body, has no warm-up, and omits what a stalled server kept it from sending; \
                     compare its rate, not its percentiles"
                    .into(),
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
    fn what_wrk_prints_is_read() {
        let printed = Printed::parse(PRINTED).unwrap();
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
    fn anything_else_is_told() {
        assert_eq!(Printed::parse("unable to connect"), None);
        assert_eq!(Printed::parse(""), None);
    }

    #[test]
    fn a_name_alone_gets_the_usual_flags() {
        let wrk = Wrk::new(vec!["wrk".into()]).unwrap();
        assert_eq!(wrk.words.join(" "), "wrk -t{threads} -c{connections} -d{duration_s}s --latency {url}");
    }
}
