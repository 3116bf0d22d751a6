//! `paceline capacity URL|SERVER --slo ...`: the highest offered rate that meets an objective.
//!
//! Called by `main`. The search is `paceline_experiment::find_capacity`; progress goes to standard error.

use super::child::LoadFlags;
use super::output::{ResultFlags, ResultFormats};
use super::{ExperimentContext, ExperimentTarget, complaint, status_of};
use crate::commands::format::Format;
use crate::exit::{self, Complaint, Status};
use crate::masked_argv::own_argv;
use paceline_escape::TerminalText;
use paceline_experiment::{
    CapacityPlan, CapacityProgress, LoadError, Objective, RateUnit, WindowOutcome, capacity_text,
    find_capacity, format_rate,
};
use paceline_stats::{percent_text, time_text};
use paceline_web::{SingleFilePages, single_file};
use std::time::Duration;

/// Flags of `paceline capacity`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  paceline capacity http://127.0.0.1:8080/ --slo 'response.p99<10ms,errors<0.1%'
  paceline capacity go-nethttp --slo 'response.p99<5ms' --window 10s
  paceline capacity go-nethttp --slo 'response.p99<5ms' -o capacity.html
  paceline capacity go-nethttp --slo 'response.p99<10ms' -- --arrivals poisson

Exit status: 0 found, 1 no rate meets the objective, or pauses of the server
make the capacity undefined, 2 usage, 3 environment, 130 interrupted")]
pub struct Arguments {
    /// A URL, or the id of a server of the lab
    target: String,
    /// The objective: limits on response times and on errors, separated by commas
    ///
    /// Every failed request counts as slower than any limit.
    #[arg(long, value_name = "OBJECTIVE", value_parser = objective)]
    slo: Objective,
    /// Length of a window; extended if the percentile needs more requests
    #[arg(long, default_value = "5s", value_name = "T", value_parser = super::super::run::duration)]
    window: Duration,
    /// Stop when the 95 % interval of the capacity is within ± this many percent
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT", value_parser = percent)]
    precision: f64,
    /// Maximum number of windows to measure
    #[arg(long, default_value_t = 40, value_name = "N")]
    windows: usize,
    /// Length of the long windows at the end, which confirm the rate that was found; 0s skips them
    #[arg(long, default_value = "60s", value_name = "T", value_parser = super::super::run::duration)]
    confirm: Duration,
    /// Do not measure the load-response curve
    ///
    /// Without the curve, pauses of the server are noticed less often.
    #[arg(long)]
    no_curve: bool,
    #[command(flatten)]
    output: ResultFlags<CapacityFormats>,
    #[command(flatten)]
    load: LoadFlags,
}

/// The formats of a capacity.
#[derive(Clone, Copy, Debug)]
struct CapacityFormats;

impl ResultFormats for CapacityFormats {
    const FORMATS: &'static [Format] = &[Format::Text, Format::Json, Format::Html];
}

pub(super) fn objective(text: &str) -> Result<Objective, String> {
    Objective::parse(text).map_err(|error| error.to_string())
}

/// Reads a share in percent, above 0 and below 100.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text
        .trim_end_matches('%')
        .parse()
        .map_err(|_| "not a percentage; write a number such as 5".to_owned())?;
    if number > 0.0 && number < 100.0 { Ok(number) } else { Err("must be above 0 and below 100".to_owned()) }
}

/// Searches and prints.
pub fn run(arguments: Arguments) -> anyhow::Result<Status> {
    exit::check_printable()?;
    if arguments.windows == 0 {
        return Err(Complaint::usage("--windows must be at least 1").into());
    }
    arguments.output.check(&[])?;
    let context = ExperimentContext::new(arguments.load)?;
    let plan = CapacityPlan {
        objective: arguments.slo,
        window: arguments.window,
        warmup: context.flags.warm_up(),
        half_width: arguments.precision / 100.0,
        max_windows: arguments.windows,
        confirm: arguments.confirm,
        curve: !arguments.no_curve,
    };
    let mut capacity = (|| {
        let mut target = context.open(&ExperimentTarget::from_text(&arguments.target), "")?;
        target.load.judge_by(Some(plan.objective.clone()));
        let usual = span(plan.estimate(plan.window));
        exit::say(&format!(
            "this takes {usual} after the server is warm, and longer if its rate is low or the machine is busy"
        ));
        if !target.warm(context.flags.warm_limit())? {
            exit::say("the server was still getting faster when --warm-limit was reached");
        }
        let mut unit = RateUnit::Requests;
        find_capacity(&mut target.load, &plan, &mut |progress| {
            if let CapacityProgress::ClosedLoop { unit: found, .. } = &progress {
                unit = *found;
            }
            exit::say(&line(&progress, &plan, unit));
        })
    })()
    .map_err(|error: LoadError| complaint(error))?;
    (capacity.target, capacity.argv) = (arguments.target, own_argv());
    arguments.output.write(|format| match format {
        Format::Text => {
            let text = format!("{}records      {}\n", capacity_text(&capacity), context.records.display());
            Ok(TerminalText::lines(&exit::fitted_lines(&text)).into())
        }
        Format::Json => exit::json(&capacity),
        Format::Html => {
            let pages = SingleFilePages::of_capacity(&capacity)?;
            Ok(single_file(&format!("Capacity of {} · Paceline", capacity.target), &pages)?)
        }
        Format::Markdown | Format::Csv | Format::Svg | Format::Hgrm | Format::Junit => {
            Err(format.unavailable())
        }
    })?;
    let found = if capacity.half_pass_per_s.is_some() { Status::Done } else { Status::Failed };
    Ok(status_of(capacity.ended_early.as_deref(), found))
}

/// `4 to 9 minutes`.
fn span([least, most]: [Duration; 2]) -> String {
    let minutes = |time: Duration| (time.as_secs_f64() / 60.0).ceil().max(1.0);
    match (minutes(least), minutes(most)) {
        (least, most) if least >= most => {
            format!("about {}", paceline_stats::counted(most as u64, "minute", "minutes"))
        }
        (least, most) => format!("about {least:.0} to {most:.0} minutes"),
    }
}

/// One line of progress: the offered rate, its outcome, the current bounds.
fn line(progress: &CapacityProgress, plan: &CapacityPlan, unit: RateUnit) -> String {
    let format_rate = |per_s| format_rate(per_s, unit);
    let outcome = |outcome: WindowOutcome| match outcome {
        WindowOutcome::Pass => "met the objective",
        WindowOutcome::Miss => "missed the objective",
        WindowOutcome::Void => "disturbed, not counted",
    };
    match progress {
        CapacityProgress::ClosedLoop { per_s, window, .. } => {
            let why = if *window > plan.window { ", so that the objective has enough requests" } else { "" };
            format!(
                "closed loop: {}; windows of {} s{why}; {} remain",
                format_rate(*per_s),
                window.as_secs_f64(),
                span(plan.estimate(*window))
            )
        }
        CapacityProgress::Window { number, window, half_pass_per_s, interval_per_s } => format!(
            "window {number}: {} {}{}; capacity {} ({} to {})",
            format_rate(window.offered_per_s),
            outcome(window.outcome),
            window.void_because.as_ref().map_or(String::new(), |because| format!(" ({because})")),
            format_rate(*half_pass_per_s),
            format_rate(interval_per_s.low),
            format_rate(interval_per_s.high)
        ),
        CapacityProgress::Confirmation(long) => {
            format!(
                "long window: {} for {} s {}",
                format_rate(long.offered_per_s),
                long.window_s,
                outcome(long.outcome)
            )
        }
        CapacityProgress::Curve(point) => {
            let p99 = point.response_time_ns.map_or("-".to_owned(), |times| time_text(times.p99 as f64));
            format!(
                "load curve: at {} of capacity ({}), response time p99 was {p99}",
                percent_text(point.share),
                format_rate(point.offered_per_s)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_whole_minutes() {
        let span_of = |least: u64, most: u64| span([least, most].map(Duration::from_secs));
        assert_eq!(span_of(200, 500), "about 4 to 9 minutes");
        assert_eq!((span_of(5, 30), span_of(61, 119)), ("about 1 minute".into(), "about 2 minutes".into()));
    }
}
