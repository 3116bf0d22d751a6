//! The load from `-r`, `--schedule`, `-d`, `-n` and `--warmup`, with checks that they fit together.

use super::explain::explain;
use super::values::{duration, rate, whole};
use crate::exit::Complaint;
use paceline_job::{Arrivals, Bound, Job, LoadModel, LogTime, Nanos, Rate, ReplaySpec, Shape, Trace};
use paceline_run::{Inputs, read_trace};
use std::path::PathBuf;
use std::time::Duration;

/// The load, and the length of the window.
#[derive(clap::Args, Debug)]
pub struct ShapeFlags {
    /// Measured window: 500ms, 10s, 2m [default: 10s]
    #[arg(short, long, value_name = "T", value_parser = duration, help_heading = "Load")]
    pub duration: Option<Duration>,

    /// End the window after N requests; no warm-up
    #[arg(short = 'n', long, value_name = "N", value_parser = whole::<u64>, conflicts_with_all = ["duration", "warmup"], help_heading = "Load")]
    pub requests: Option<u64>,

    /// Rate to offer, whatever the server does (open loop)
    ///
    /// Without it the loop is closed: a connection sends its next request after the previous response. The rate may
    /// change: 1000:50000 grows linearly over the window, 1000,2000,5000@10s uses steps of 10 s each.
    #[arg(short, long, value_name = "PER_SECOND", value_parser = rates, help_heading = "Load")]
    pub rate: Option<Shape>,

    /// Send at the times in FILE, one per line
    ///
    /// A time is in seconds (0.25) or has a unit (250ms) and counts from the beginning of the warm-up; there is no
    /// warm-up unless --warmup is given.
    #[arg(hide_short_help = true, long, value_name = "FILE", conflicts_with_all = ["rate", "requests", "arrivals"], help_heading = "Load")]
    pub schedule: Option<PathBuf>,

    /// Replay an access log: send its requests at its times
    ///
    /// Method, path, host, referer and user agent are those of the log: common or combined format, or JSON lines of
    /// nginx, Caddy or Envoy. Only GET, OPTIONS and TRACE are sent, without cookies and bodies, which a log does not have.
    #[arg(hide_short_help = true, long, value_name = "FILE", conflicts_with_all = ["rate", "requests", "arrivals", "schedule", "loaders", "mix"], help_heading = "Load")]
    pub replay: Option<PathBuf>,

    /// Replay FACTOR times as fast as logged
    #[arg(hide_short_help = true, long, value_name = "FACTOR", default_value_t = 1.0, value_parser = speed, requires = "replay", help_heading = "Load")]
    pub speed: f64,

    /// Also replay requests whose method may change something on the server
    #[arg(hide_short_help = true, long, requires = "replay", help_heading = "Load")]
    pub all_methods: bool,

    /// Replay from this time of the log on: 14:05, or 2026-11-21T14:05:00Z
    #[arg(hide_short_help = true, long, value_name = "TIME", requires = "replay", help_heading = "Load")]
    pub from: Option<LogTime>,

    /// Replay up to this time
    #[arg(hide_short_help = true, long, value_name = "TIME", requires = "replay", help_heading = "Load")]
    pub until: Option<LogTime>,

    /// The form of the log's lines, as in nginx's log_format
    #[arg(hide_short_help = true, long, value_name = "FORMAT", requires = "replay", help_heading = "Load")]
    pub log_format: Option<String>,

    /// Spacing of the arrivals of an open loop [default: constant]
    #[arg(hide_short_help = true, long, value_enum, requires = "rate", help_heading = "Load")]
    pub arrivals: Option<Arrivals>,
}

impl ShapeFlags {
    /// Puts the flags that were given, and the length of the warm-up, into a job.
    pub fn fill(&self, warmup: Option<Duration>, job: &mut Job, inputs: &mut Inputs) -> anyhow::Result<()> {
        let trace = self.trace();
        if self.requests.is_some() || trace.is_some() {
            job.warmup = Nanos::ZERO;
        }
        job.warmup = warmup.map_or(job.warmup, Nanos::from);
        match (self.requests, self.duration) {
            (Some(requests), _) => job.window = Bound::Requests(requests),
            (None, Some(duration)) => job.window = Bound::Duration(duration.into()),
            (None, None) => {}
        }
        if let Some(shape) = trace.map(Shape::Trace).or_else(|| self.rate.clone()) {
            job.load = LoadModel::Open { shape, arrivals: self.arrivals.unwrap_or_default() };
            read_trace(job, inputs).map_err(explain)?.iter().for_each(|notice| crate::exit::say(notice));
            if let LoadModel::Open { shape, .. } = &job.load
                && let Some(window) = self.own_window(shape, job.warmup)?
            {
                job.window = window;
            }
        } else if let (Some(given), LoadModel::Open { arrivals, .. }) = (self.arrivals, &mut job.load) {
            *arrivals = given;
        }
        Ok(())
    }

    /// The schedule or the log whose times are used, not yet read.
    fn trace(&self) -> Option<Trace> {
        let replay = ReplaySpec {
            speed: self.speed,
            all_methods: self.all_methods,
            from: self.from,
            until: self.until,
            format: self.log_format.clone(),
        };
        let of = |file: &PathBuf, replay| Trace { file: Some(file.clone()), replay, ..Trace::default() };
        let schedule = self.schedule.as_ref().map(|file| of(file, None));
        schedule.or_else(|| self.replay.as_ref().map(|file| of(file, Some(replay))))
    }

    /// The window of steps and schedules, which define their length.
    fn own_window(&self, shape: &Shape, warmup: Nanos) -> anyhow::Result<Option<Bound>> {
        let refuse = |what: &str, hint: &str| Err(Complaint::usage(what).hint(hint).into());
        match (shape, shape.length()) {
            (Shape::Ramp { .. }, _) if self.requests.is_some() => refuse(
                "-n cannot be combined with a ramp: its rates and its length determine the number of requests",
                "set the length of the ramp with -d: the number of requests divided by its mean rate, (from + to) / 2",
            ),
            (Shape::Steps { .. }, _) if self.requests.is_some() => refuse(
                "-n cannot be combined with steps: their rates and lengths determine the number of requests",
                "remove -n",
            ),
            (Shape::Steps { .. }, _) if self.duration.is_some() => refuse(
                "-d cannot be combined with steps: the window is as long as all steps together",
                "remove -d, and write the length of a step after the @ of the steps",
            ),
            (Shape::Steps { .. }, Some(length)) => Ok(Some(Bound::Duration(length))),
            (Shape::Trace(_), Some(length)) if length <= warmup => refuse(
                "the schedule ends before the warm-up ends",
                "shorten --warmup: the times of the schedule count from the beginning of the warm-up",
            ),
            (Shape::Trace(_), Some(length)) if self.duration.is_none() => {
                Ok(Some(Bound::Duration(length.since(warmup))))
            }
            _ => Ok(None),
        }
    }
}

/// Parses a value of `--speed`.
fn speed(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok().filter(|factor| ReplaySpec::is_speed(*factor));
    factor.ok_or_else(|| "a speed is a number from 0.001 to 1000000, such as 3 or 0.5".to_owned())
}

/// The rate at the end of a ramp that is written as 0: one request in 31 years.
const STANDSTILL: f64 = 1e-9;

/// A rate at one end of a ramp, which may be 0.
fn ramp_end(text: &str) -> Result<Rate, String> {
    match (text.parse::<f64>(), Rate::per_second(STANDSTILL)) {
        (Ok(0.0), Some(standstill)) => Ok(standstill),
        _ => rate(text),
    }
}

/// Parses a value of `-r`: `20000`, `1000:50000`, `1000,2000,5000@10s`.
pub fn rates(text: &str) -> Result<Shape, String> {
    if text.contains("://") {
        return Err("-r takes a rate; ab's -r (go on after errors) is the default here: remove it".to_owned());
    }
    if let Some((steps, length)) = text.split_once('@') {
        let each = Nanos::from(duration(length)?);
        let rates = steps.split(',').map(rate).collect::<Result<Vec<_>, _>>()?;
        return Ok(Shape::Steps { rates, each });
    }
    if text.contains(',') {
        let parts: Vec<&str> = text.split(',').collect();
        let are_thousands = parts[1..].iter().all(|part| part.len() == 3);
        let one = if are_thousands {
            format!("; for a single rate write {}", parts.concat())
        } else {
            String::new()
        };
        return Err(format!("the length of the steps is missing; write {text}@10s{one}"));
    }
    match text.split_once(':') {
        Some((from, to)) => {
            let (from, to) = (ramp_end(from)?, ramp_end(to)?);
            if from.get().max(to.get()) <= STANDSTILL {
                return Err("a ramp must have a rate above 0 at one end".to_owned());
            }
            Ok(Shape::Ramp { from, to })
        }
        None => Ok(Shape::Steady { rate: rate(text)? }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_that_change() {
        let per_second = |text: &str| rate(text).unwrap();
        assert_eq!(rates("20k"), Ok(Shape::Steady { rate: per_second("20000") }));
        let ramp = Shape::Ramp { from: per_second("1000"), to: per_second("50000") };
        assert_eq!(rates("1000:50k"), Ok(ramp));
        assert!(matches!(rates("0:10"), Ok(Shape::Ramp { from, .. }) if from.get() < 1e-8));
        let each = Nanos::from_secs(10);
        let steps = ["1000", "2000"].map(per_second);
        assert_eq!(rates("1000,2000@10s"), Ok(Shape::Steps { rates: steps.into(), each }));
        for (text, said) in [
            ("1000,2000", "the length of the steps is missing; write 1000,2000@10s"),
            ("1,000", "1,000@10s; for a single rate write 1000"),
            ("1000:", "a rate must be a number"),
            ("http://h:80/", "ab's -r"),
            ("1:2:3", "a rate must be a number"),
            ("0:0", "above 0"),
            ("1,,2@1s", "a rate must be a number"),
            ("1,2@ten", "not a duration"),
        ] {
            let error = rates(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
