//! The flags of `paceline run`, each with its help, and how their values are read.
//!
//! Groups of flags with a file of their own (`asked`, `gates`, `life`, `target`, `telling`) are flattened in. What clap
//! cannot say of flags that do not go together is said by `settings.rs` and by whoever reads them for it. `duration` is
//! the self-test's, too.

use super::asked::AskedFlags;
use super::gates::GateFlags;
use super::life::LifeFlags;
use super::target::TargetFlags;
use super::telling::TellingFlags;
use paceline_job::{Arrivals, PaceChoice, Rate, Shape, Timestamps};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Put load on one URL and report what came back.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE_EXAMPLES)]
pub struct Arguments {
    /// What to load: http://host[:port]/path, or https://
    pub url: String,

    /// Connections to hold open
    #[arg(short, long, default_value_t = 64, value_name = "N", value_parser = whole::<u32>, help_heading = "Load")]
    pub connections: u32,

    /// End the window after so many requests; without a warm-up
    #[arg(short = 'n', long, value_name = "N", value_parser = whole::<u64>, conflicts_with_all = ["duration", "warmup"], help_heading = "Load")]
    pub requests: Option<u64>,

    /// Length of the window alone: 500ms, 10s, 2m [default: 10s]
    #[arg(short, long, value_name = "T", value_parser = duration, help_heading = "Load")]
    pub duration: Option<Duration>,

    /// Offer so many requests per second, whatever the server does (an open loop)
    ///
    /// Without it the loop is closed: a connection sends its next request when the last is answered. A rate may change:
    /// 1000:50000 grows evenly over the window, 1000,2000,5000@10s takes steps of 10 s each.
    #[arg(short, long, value_name = "PER_SECOND", value_parser = super::shape::rates, help_heading = "Load")]
    pub rate: Option<Shape>,

    /// Send at the moments that FILE tells, one a line
    ///
    /// A moment is in seconds (0.25), or has a unit (250ms), from the beginning of the warm-up, which has no length unless
    /// --warmup says so.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "requests", "arrivals"], help_heading = "Load")]
    pub schedule: Option<PathBuf>,

    /// How the arrivals of an open loop are spaced
    #[arg(long, value_enum, default_value_t, requires = "rate", help_heading = "Load")]
    pub arrivals: Arrivals,

    /// Threads, each with its own share of the connections
    ///
    /// Give them as many cores (taskset).
    #[arg(short, long, default_value_t = 1, value_name = "N", value_parser = whole::<u32>, help_heading = "Load")]
    pub threads: u32,

    /// Requests outstanding on a connection at most; above 1 they are pipelined
    #[arg(long, default_value_t = 1, value_name = "DEPTH", value_parser = whole::<u16>, help_heading = "Load")]
    pub pipeline: u16,

    /// With --pipeline: send the next requests of a connection only when all are answered, as wrk's scripts do
    #[arg(long, requires = "pipeline", help_heading = "Load")]
    pub pipeline_batch: bool,

    /// Load before the window, not measured [default: 1s, or 0 with -n]
    #[arg(long, value_name = "T", value_parser = duration, help_heading = "Phases")]
    pub warmup: Option<Duration>,

    /// Longest wait after the window for what was due in it [default: the timeout]
    #[arg(long, value_name = "T", value_parser = duration, help_heading = "Phases")]
    pub drain: Option<Duration>,

    /// A request without a complete answer so long after it was sent has timed out
    #[arg(long, default_value = "10s", value_name = "T", value_parser = duration, help_heading = "Phases")]
    pub timeout: Duration,

    /// Longest time to make all connections in, TLS handshakes included
    #[arg(long, default_value = "10s", value_name = "T", value_parser = duration, help_heading = "Phases")]
    pub connect_timeout: Duration,

    /// Local addresses to connect from, in turn
    ///
    /// 127.0.0.2,127.0.0.3 or 127.0.1.0/28. Without it the kernel chooses, and over loopback there are as many as the ports
    /// need.
    #[arg(long, value_name = "ADDR[,ADDR|/PREFIX]", help_heading = "Target")]
    pub source: Option<String>,

    #[command(flatten)]
    pub target: TargetFlags,

    #[command(flatten)]
    pub life: LifeFlags,

    #[command(flatten)]
    pub asked: AskedFlags,

    #[command(flatten)]
    pub gates: GateFlags,

    /// What to print
    #[arg(long, value_enum, default_value_t = OutputFormat::Text, help_heading = "Output")]
    pub format: OutputFormat,

    /// Write the result to a file instead; - is standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,

    #[command(flatten)]
    pub telling: TellingFlags,

    /// Write a line of JSON to this open descriptor as each phase begins
    #[arg(long, value_name = "FD", help_heading = "Output")]
    pub events: Option<i32>,

    /// How to wait for the next send
    ///
    /// auto spins shortly before it where the generator has its cores to itself.
    #[arg(long, value_enum, default_value_t, help_heading = "Generator")]
    pub pace: PaceChoice,

    /// Whose clock dates the arrival of a response
    ///
    /// The kernel's, beside ours, shows how long responses waited for the generator.
    #[arg(long, value_enum, default_value_t, help_heading = "Generator")]
    pub timestamps: Timestamps,

    /// Keep the processors from sleeping deeply during the run, where allowed (/dev/cpu_dma_latency); recorded
    #[arg(long, help_heading = "Generator")]
    pub quiet_cpu: bool,

    /// Where every random choice comes from [default: drawn anew, and recorded]
    #[arg(long, value_name = "N", value_parser = whole::<u64>, help_heading = "Generator")]
    pub seed: Option<u64>,
}

impl Arguments {
    /// The file the result is written to; none where it is printed.
    pub fn output_file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|output| *output != Path::new("-"))
    }
}

const EXAMPLES: &str = "\
Examples:
  paceline run http://127.0.0.1:8080/                            as fast as 64 connections go
  paceline run http://127.0.0.1:8080/ -c 1000 -r 20000           20,000/s, whatever happens
  paceline run http://127.0.0.1:8080/ -r 2000 --max-errors 0.1%  exits 1 beyond that
  paceline run http://127.0.0.1:8080/ --mix shop.toml            several requests with weights

Exit status: 0 done, 1 the run is invalid or a check failed, 2 usage, 3 environment, 130 interrupted";

const MORE_EXAMPLES: &str = "\
Examples:
  As fast as 64 connections go:
    paceline run http://127.0.0.1:8080/
  20,000/s offered for 30 s, whatever the server does:
    paceline run http://127.0.0.1:8080/ -c 1000 -r 20000 -d 30s
  A ramp, to see where it breaks:
    paceline run http://127.0.0.1:8080/ -c 1000 -r 1000:50000
  100,000 requests, every byte of every response compared, the record as JSON:
    paceline run http://127.0.0.1:8080/ -n 100000 --expect-body @page.txt --format json
  In a pipeline of one's own, which is to fail if the server is too slow:
    paceline run http://127.0.0.1:8080/ -r 2000 --slo 'response.p99<10ms' --max-errors 0.1%
  Another path each time, and an answer with this value in its JSON:
    paceline run 'http://127.0.0.1:8080/user/{rand:1:100000}' --expect-json /active=true
  For a dashboard to follow, and for HdrHistogram's tools:
    paceline run http://127.0.0.1:8080/ -r 2000 --ndjson run.ndjson --hdr run.hlog

Exit status: 0 done, 1 the run is invalid or a check failed, 2 usage, 3 environment, 130 interrupted.
Ctrl-C ends the run and tells what was measured; a second one leaves at once.";

/// Values of `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    /// For people
    Text,
    /// The run's record
    Json,
}

/// Reads a length of time: `500ms`, `10s`, `2m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    paceline_catalogue::parse_duration(text).map_err(|error| {
        // The same with every digit a zero is a length of time if this would be one, were it not so long.
        let zeroes: String =
            text.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
        match paceline_catalogue::parse_duration(&zeroes) {
            Ok(_) => "it is too long: at most 10000h".to_owned(),
            Err(_) => error.to_string(),
        }
    })
}

/// Reads a whole number: `64`, `100_000`.
fn whole<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let digits = text.replace('_', "");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("a whole number is needed, 0 or more, such as 64 or 100_000".to_owned());
    }
    let number = digits.parse().ok().and_then(|number: u64| N::try_from(number).ok());
    let most = u64::MAX >> (u64::BITS as usize - 8 * size_of::<N>());
    number.ok_or_else(|| format!("the number is too large: at most {most}"))
}

/// Reads a rate: `20000`, `20_000`, `20k`, `1.5M`.
pub fn rate(text: &str) -> Result<Rate, String> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |digits| (digits, 1e6)),
    };
    let number: f64 =
        digits.replace('_', "").parse().map_err(|_| "a rate is a number, such as 20000 or 20k".to_owned())?;
    let highest = Rate::HIGHEST;
    Rate::per_second(number * factor)
        .ok_or_else(|| format!("a rate is above 0 and at most {highest} per second"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers() {
        assert_eq!((whole::<u32>("64"), whole::<u64>("100_000")), (Ok(64), Ok(100_000)));
        for text in ["", "-5", "1.5", "1e5", "x"] {
            assert!(whole::<u64>(text).unwrap_err().starts_with("a whole number is needed"), "{text}");
        }
        let too_large = |most: &str| format!("the number is too large: at most {most}");
        assert_eq!(whole::<u16>("65536"), Err(too_large("65535")));
        assert_eq!(whole::<u32>("4294967296"), Err(too_large("4294967295")));
        assert_eq!(whole::<u64>("18446744073709551616"), Err(too_large("18446744073709551615")));
    }

    #[test]
    fn too_long_is_told_from_no_length_of_time() {
        for text in ["1000000h", "10001h", "99999999999999999999s"] {
            assert_eq!(duration(text), Err("it is too long: at most 10000h".to_owned()), "{text}");
        }
        assert!(
            ["soon", "1.2.3s", "1000000"]
                .map(duration)
                .iter()
                .all(|read| { read.as_ref().is_err_and(|told| !told.contains("too long")) })
        );
    }

    #[test]
    fn rates() {
        for (text, per_second) in
            [("20000", 2e4), ("20_000", 2e4), ("20k", 2e4), ("1.5M", 1.5e6), ("0.5", 0.5)]
        {
            assert_eq!(rate(text).unwrap().get(), per_second, "{text}");
        }
        for text in ["", "k", "0", "-1", "nan", "inf", "1e12", "20 k"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
