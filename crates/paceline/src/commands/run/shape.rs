//! The shape of the load from `-r`, `--schedule`, `-d`, `-n` and `--warmup`, which have to agree.
//!
//! Called for the flags. What a shape means is the engine's; what its numbers come to in a record is in `outcome.rs`.

use super::flags::{Arguments, rate};
use super::inputs::Inputs;
use super::trace::trace;
use crate::exit::Complaint;
use paceline_job::{Bound, LoadModel, Nanos, Shape};
use std::time::Duration;

/// The window without -n and -d.
const DURATION: Duration = Duration::from_secs(10);
/// The warm-up without --warmup, -n and --schedule.
const WARMUP: Duration = Duration::from_secs(1);

/// What the flags of load and phases come to.
pub struct Planned {
    /// Closed or open loop.
    pub load: LoadModel,
    /// What ends the window.
    pub bound: Bound,
    /// Length of the warm-up.
    pub warmup: Nanos,
}

/// Brings the flags of load and phases together.
pub fn planned(arguments: &Arguments, inputs: &mut Inputs) -> anyhow::Result<Planned> {
    let arrivals = arguments.arrivals;
    let shape = match &arguments.schedule {
        Some(path) => Some(trace(path, inputs)?),
        None => arguments.rate.clone(),
    };
    let short = arguments.requests.is_some() || arguments.schedule.is_some();
    let warmup = arguments.warmup.unwrap_or(if short { Duration::ZERO } else { WARMUP }).into();
    let bound = match &shape {
        Some(shape) => bound(shape, warmup, arguments)?,
        None => plain_bound(arguments),
    };
    let load = shape.map_or(LoadModel::Closed, |shape| LoadModel::Open { shape, arrivals });
    Ok(Planned { load, bound, warmup })
}

fn plain_bound(arguments: &Arguments) -> Bound {
    match (arguments.requests, arguments.duration) {
        (Some(requests), _) => Bound::Requests(requests),
        (None, duration) => Bound::Duration(duration.unwrap_or(DURATION).into()),
    }
}

/// What ends the window of an open loop. Steps and schedules bring their own length.
fn bound(shape: &Shape, warmup: Nanos, arguments: &Arguments) -> anyhow::Result<Bound> {
    let refuse = |what: &str, hint: &str| Err(Complaint::usage(what).hint(hint).into());
    match (shape, shape.length()) {
        (Shape::Ramp { .. }, _) if arguments.requests.is_some() => refuse(
            "-n does not go with a ramp: how many requests it makes follows from its rates and its length",
            "give its length with -d; its requests are (from + to) / 2 times the seconds",
        ),
        (Shape::Steps { .. }, _) if arguments.requests.is_some() => refuse(
            "-n does not go with steps: how many requests they make follows from their rates and lengths",
            "leave -n out",
        ),
        (Shape::Steps { .. }, _) if arguments.duration.is_some() => refuse(
            "-d does not go with steps: the window is as long as all of them together",
            "leave -d out, and set the length of a step behind the @",
        ),
        (Shape::Steps { .. }, Some(length)) => Ok(Bound::Duration(length)),
        (Shape::Trace(_), Some(length)) if length <= warmup => refuse(
            "the schedule is over before its warm-up is",
            "shorten --warmup: the schedule's times count from the beginning of the warm-up",
        ),
        (Shape::Trace(_), Some(length)) => {
            Ok(Bound::Duration(arguments.duration.map_or(length.since(warmup), Nanos::from)))
        }
        _ => Ok(plain_bound(arguments)),
    }
}

/// Reads what `-r` takes: `20000`, `1000:50000`, `1000,2000,5000@10s`.
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
            ("1,2@ten", "no length of time"),
        ] {
            let error = rates(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
