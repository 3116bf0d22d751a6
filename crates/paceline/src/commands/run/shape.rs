//! The load from `-c`, `-r`, `--schedule`, `-d`, `-n` and `--warmup`, with checks that they fit together.

use super::changing_load::{ChangingLoad, ChangingPart};
use super::explain::explain;
use super::values::{duration, rate, whole};
use crate::exit::Complaint;
use paceline_job::{
    Arrivals, Bound, ConnectionPart, ConnectionPlan, Job, LoadModel, LogTime, Nanos, PathPattern, Rate,
    RatePart, ReplaySpec, RequestSpec, Shape, Trace,
};
use paceline_run::{Inputs, read_trace};
use std::path::PathBuf;
use std::time::Duration;

/// The load, and the length of the window.
#[derive(clap::Args, Debug)]
pub struct ShapeFlags {
    /// Number of connections [default: 64]
    ///
    /// In a closed loop it may change as a rate may (-r): 1:50, 10,50,100@30s, 1:50@20s,50@1m.
    #[arg(short, long, value_name = "N", value_parser = connections, help_heading = "Load")]
    pub connections: Option<ConnectionCount>,

    /// Measured window: 500ms, 10s, 2m [default: 10s]
    #[arg(short, long, value_name = "T", value_parser = duration, help_heading = "Load")]
    pub duration: Option<Duration>,

    /// End the window after N requests; no warm-up
    #[arg(short = 'n', long, value_name = "N", value_parser = whole::<u64>, conflicts_with_all = ["duration", "warmup"], help_heading = "Load")]
    pub requests: Option<u64>,

    /// Rate to offer, whatever the server does (open loop)
    ///
    /// Without it the loop is closed: a connection sends its next request after the previous response. The rate may
    /// change: 1000:50000 grows linearly over the window, 1000,2000,5000@10s uses steps of 10 s each,
    /// 1:200@3s,200@5s parts with their own lengths.
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

    /// Report the paths of a pattern apart, such as '/c/{id}' or '/static/*'; repeatable
    ///
    /// The first pattern that matches counts; all other requests are the group `other`.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "PATTERN",
        requires = "replay",
        conflicts_with = "har",
        help_heading = "Load"
    )]
    pub replay_group: Vec<PathPattern>,

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
        if let Some(count) = &self.connections {
            (job.connections, job.connection_plan) = (count.most, count.plan.clone());
            if let Some(plan) = &count.plan
                && let Some(window) = self.planned_window(plan)?
            {
                job.window = window;
            }
        }
        self.group_replay(job);
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

    /// Makes each group of a log's paths a request of the job.
    fn group_replay(&self, job: &mut Job) {
        if self.replay_group.is_empty() {
            return;
        }
        let shared = job.requests.first().cloned().unwrap_or_default();
        let group = |name: &str, path: &str| RequestSpec {
            name: Some(name.to_owned()),
            path: Some(path.to_owned()),
            literal: true,
            ..shared.clone()
        };
        let groups = self.replay_group.iter().map(|pattern| group(pattern.as_str(), pattern.as_str()));
        job.requests = groups.chain([group("other", PathPattern::ANY)]).collect();
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

    /// The window of a number of connections that changes, if it defines the length.
    fn planned_window(&self, plan: &ConnectionPlan) -> anyhow::Result<Option<Bound>> {
        let refuse = |what: &str, hint: &str| Err(Complaint::usage(what).hint(hint).into());
        match plan.length() {
            _ if self.requests.is_some() => refuse(
                "-n cannot be combined with a number of connections that changes: that needs a window of a known length",
                "set the length with -d, or with @ after the parts of -c",
            ),
            Some(_) if self.duration.is_some() => refuse(
                "-d cannot be combined with steps of -c: the window is as long as all steps together",
                "remove -d, and write the length of a step after its @",
            ),
            length => Ok(length.map(Bound::Duration)),
        }
    }

    /// The window of steps and schedules, which define their length.
    fn own_window(&self, shape: &Shape, warmup: Nanos) -> anyhow::Result<Option<Bound>> {
        let refuse = |what: &str, hint: &str| Err(Complaint::usage(what).hint(hint).into());
        match (shape, shape.length()) {
            (Shape::Ramp { .. }, _) if self.requests.is_some() => refuse(
                "-n cannot be combined with a ramp: its rates and its length determine the number of requests",
                "set the length of the ramp with -d: the number of requests divided by its mean rate, (from + to) / 2",
            ),
            (Shape::Steps { .. } | Shape::Parts { .. }, _) if self.requests.is_some() => refuse(
                "-n cannot be combined with steps: their rates and lengths determine the number of requests",
                "remove -n",
            ),
            (Shape::Steps { .. } | Shape::Parts { .. }, _) if self.duration.is_some() => refuse(
                "-d cannot be combined with steps: the window is as long as all steps together",
                "remove -d, and write the length of a step after its @",
            ),
            (Shape::Steps { .. } | Shape::Parts { .. }, Some(length)) => Ok(Some(Bound::Duration(length))),
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

/// Parses a value of `-r`: `20000`, `1000:50000`, `1000,2000,5000@10s`, `1:200@3s,200@5s`. In a part a rate of 0 is a pause.
pub fn rates(text: &str) -> Result<Shape, String> {
    if text.contains("://") {
        return Err("-r takes a rate; ab's -r (go on after errors) is the default here: remove it".to_owned());
    }
    if !text.contains([':', ',', '@']) {
        return Ok(Shape::Steady { rate: rate(text)? });
    }
    let (shape, highest) = match ChangingLoad::parse(text, "rate", ramp_end)? {
        ChangingLoad::Constant(rate) => (Shape::Steady { rate }, rate.get()),
        ChangingLoad::Ramp(from, to) => (Shape::Ramp { from, to }, from.get().max(to.get())),
        ChangingLoad::Parts(parts) => {
            let rates = parts.iter().flat_map(|part| [part.from.get(), part.to.get()]);
            let highest = rates.fold(0.0, f64::max);
            (parts_or_steps(&parts), highest)
        }
    };
    if highest <= STANDSTILL {
        return Err("a rate that changes must be above 0 at some time".to_owned());
    }
    Ok(shape)
}

/// Parts of a rate, as steps if they are constant and equally long.
fn parts_or_steps(parts: &[ChangingPart<Rate>]) -> Shape {
    if let [first, ..] = parts
        && parts.iter().all(|part| part.from == part.to && part.length == first.length)
    {
        return Shape::Steps { rates: parts.iter().map(|part| part.from).collect(), each: first.length };
    }
    let part = |&ChangingPart { from, to, length }: &ChangingPart<Rate>| RatePart { from, to, length };
    Shape::Parts { parts: parts.iter().map(part).collect() }
}

/// The value of `-c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionCount {
    /// The number of connections; the highest one if it changes.
    most: u32,
    /// How it changes, if it does.
    plan: Option<ConnectionPlan>,
}

/// Parses a value of `-c`: `64`, `1:50`, `10,50,100@30s`, `1:50@20s,50@1m,50:1@10s`.
fn connections(text: &str) -> Result<ConnectionCount, String> {
    let plan = match ChangingLoad::parse(text, "number", whole::<u32>)? {
        ChangingLoad::Constant(most) => return Ok(ConnectionCount { most, plan: None }),
        ChangingLoad::Ramp(from, to) => ConnectionPlan::Ramp { from, to },
        ChangingLoad::Parts(parts) => {
            let part =
                |ChangingPart { from, to, length }: ChangingPart<u32>| ConnectionPart { from, to, length };
            ConnectionPlan::Parts { parts: parts.into_iter().map(part).collect() }
        }
    };
    let (least, most) = plan.range();
    if least == 0 {
        return Err("a number of connections that changes must be at least 1 at all times".to_owned());
    }
    Ok(ConnectionCount { most, plan: Some(plan) })
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
        let part = |from, to, seconds| RatePart { from, to, length: Nanos::from_secs(seconds) };
        let [low, high] = ["1", "200"].map(per_second);
        let parts = vec![part(low, high, 3), part(high, high, 5), part(high, ramp_end("0").unwrap(), 3)];
        assert_eq!(rates("1:200@3s,200@5s,200:0@3s"), Ok(Shape::Parts { parts }));
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

    #[test]
    fn numbers_of_connections_that_change() {
        assert_eq!(connections("1k"), Ok(ConnectionCount { most: 1_000, plan: None }));
        let ramp = ConnectionPlan::Ramp { from: 50, to: 1 };
        assert_eq!(connections("50:1"), Ok(ConnectionCount { most: 50, plan: Some(ramp) }));
        let length = Nanos::from_secs(30);
        let parts = [10, 100].map(|number| ConnectionPart { from: number, to: number, length }).into();
        let plan = Some(ConnectionPlan::Parts { parts });
        assert_eq!(connections("10,100@30s"), Ok(ConnectionCount { most: 100, plan }));
        assert!(connections("0:5").unwrap_err().contains("at least 1"));
    }
}
