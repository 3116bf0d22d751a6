//! The load from `-r`, `--schedule`, `-d`, `-n` and `--warmup`, with checks that they fit together.

use super::explain;
use super::flags::{Arguments, rate};
use crate::exit::Complaint;
use paceline_job::{Bound, Job, LoadModel, Nanos, Shape};
use paceline_run::{Inputs, read_schedule};

/// Puts the flags of load and phases that were given into a job.
pub fn fill(arguments: &Arguments, job: &mut Job, inputs: &mut Inputs) -> anyhow::Result<()> {
    let shape = match &arguments.schedule {
        Some(path) => Some(Shape::Trace(read_schedule(path, inputs).map_err(explain)?)),
        None => arguments.rate.clone(),
    };
    if arguments.requests.is_some() || arguments.schedule.is_some() {
        job.warmup = Nanos::ZERO;
    }
    job.warmup = arguments.warmup.map_or(job.warmup, Nanos::from);
    match (arguments.requests, arguments.duration) {
        (Some(requests), _) => job.window = Bound::Requests(requests),
        (None, Some(duration)) => job.window = Bound::Duration(duration.into()),
        (None, None) => {}
    }
    if let Some(shape) = shape {
        if let Some(window) = own_window(&shape, arguments, job.warmup)? {
            job.window = window;
        }
        let arrivals = arguments.arrivals.unwrap_or_default();
        job.load = LoadModel::Open { shape, arrivals };
    } else if let (Some(given), LoadModel::Open { arrivals, .. }) = (arguments.arrivals, &mut job.load) {
        *arrivals = given;
    }
    Ok(())
}

/// The window of steps and schedules, which define their length.
fn own_window(shape: &Shape, arguments: &Arguments, warmup: Nanos) -> anyhow::Result<Option<Bound>> {
    let refuse = |what: &str, hint: &str| Err(Complaint::usage(what).hint(hint).into());
    match (shape, shape.length()) {
        (Shape::Ramp { .. }, _) if arguments.requests.is_some() => refuse(
            "-n cannot be combined with a ramp: its rates and its length determine the number of requests",
            "set its length with -d; it sends (from + to) / 2 requests per second on average",
        ),
        (Shape::Steps { .. }, _) if arguments.requests.is_some() => refuse(
            "-n cannot be combined with steps: their rates and lengths determine the number of requests",
            "remove -n",
        ),
        (Shape::Steps { .. }, _) if arguments.duration.is_some() => refuse(
            "-d cannot be combined with steps: the window is as long as all steps together",
            "remove -d, and set the length of a step after the @",
        ),
        (Shape::Steps { .. }, Some(length)) => Ok(Some(Bound::Duration(length))),
        (Shape::Trace(_), Some(length)) if length <= warmup => refuse(
            "the schedule ends before its warm-up does",
            "shorten --warmup: the times of the schedule count from the beginning of the warm-up",
        ),
        (Shape::Trace(_), Some(length)) if arguments.duration.is_none() => {
            Ok(Some(Bound::Duration(length.since(warmup))))
        }
        _ => Ok(None),
    }
}

/// Parses a value of `-r`: `20000`, `1000:50000`, `1000,2000,5000@10s`.
pub fn rates(text: &str) -> Result<Shape, String> {
    if let Some((steps, length)) = text.split_once('@') {
        let each = Nanos::from(super::flags::duration(length)?);
        let rates = steps.split(',').map(rate).collect::<Result<Vec<_>, _>>()?;
        return Ok(Shape::Steps { rates, each });
    }
    if text.contains(',') {
        let parts: Vec<&str> = text.split(',').collect();
        let are_thousands = parts[1..].iter().all(|part| part.len() == 3);
        let one = if are_thousands { format!("; one rate is {}", parts.concat()) } else { String::new() };
        return Err(format!("say how long each step lasts: {text}@10s{one}"));
    }
    match text.split_once(':') {
        Some((from, to)) => Ok(Shape::Ramp { from: rate(from)?, to: rate(to)? }),
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
        let each = Nanos::from_secs(10);
        let steps = ["1000", "2000"].map(per_second);
        assert_eq!(rates("1000,2000@10s"), Ok(Shape::Steps { rates: steps.into(), each }));
        for (text, said) in [
            ("1000,2000", "say how long each step lasts: 1000,2000@10s"),
            ("1,000", "1,000@10s; one rate is 1000"),
            ("1000:", "a rate is a number"),
            ("1:2:3", "a rate is a number"),
            ("0:10", "above 0"),
            ("1,,2@1s", "a rate is a number"),
            ("1,2@ten", "not a duration"),
        ] {
            let error = rates(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
