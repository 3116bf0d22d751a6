//! One run for a person at a terminal: the rate first, then the times, then what is wrong and what to do, then the rest.
//!
//! Called by `paceline run`. Pure: a record in, text out, no line wider than asked for, but for a word that is.

mod concerns;
mod facts;
mod lines;
mod parts;
pub(crate) mod quantity;
mod requests;
mod spectrum;
#[cfg(test)]
mod tests;
mod times;

pub(crate) use lines::{Style, columns};
pub(crate) use spectrum::STEPS_PER_HALF;

use paceline_judge::VerdictName;
use paceline_record::{Counts, Distribution, Loop, LoopKind, Run, Shape};
use quantity::{count, counted, seconds};

/// How a run is told.
#[derive(Clone, Copy, Debug)]
pub struct RunTextOptions {
    /// Whether in colours.
    pub colour: bool,
    /// Columns a line may have.
    pub width: usize,
    /// Whether with the whole spectrum of percentiles.
    pub percentiles: bool,
}

/// The narrowest text made: below, a terminal breaks the lines itself.
const WIDTH_LEAST: usize = 30;

/// The text of a run.
pub fn run_text(run: &Run, options: RunTextOptions) -> String {
    let style = Style::new(options.colour, options.width.max(WIDTH_LEAST));
    let spectrum = if options.percentiles { spectrum::of_run(run, style) } else { String::new() };
    let sections = [
        style.strong(&run.target.url) + "\n" + &style.lines(&load(run), 0, Style::dim),
        headline(run, style) + &outcomes(&run.total.counts, style),
        times::of_run(run, style),
        concerns::gates(run, style),
        concerns::verdicts(run, style),
        parts::of_run(run, style),
        requests::bad_bodies(run, style),
        spectrum,
        facts::of_run(run, style),
    ];
    let told: Vec<String> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    told.join("\n")
}

/// `closed loop, 64 connections, window 10 s after 1 s of warm-up`.
fn load(run: &Run) -> String {
    let kind = match (run.loop_.kind, run.loop_.arrivals) {
        (LoopKind::Closed, _) => "closed loop".to_owned(),
        (LoopKind::Open, Some(paceline_record::Arrivals::Poisson)) => {
            "open loop, Poisson arrivals".to_owned()
        }
        (LoopKind::Open, _) => "open loop".to_owned(),
    };
    let offered = match (&run.loop_.shape, run.rate_per_s.offered) {
        (Some(shape), _) => format!(", {}", shape_words(shape)),
        (None, Some(rate)) => format!(" of {}/s offered", count(rate)),
        (None, None) => String::new(),
    };
    let depth = if run.loop_.depth > 1 { format!(", {} deep", run.loop_.depth) } else { String::new() };
    let life = life_words(&run.loop_);
    let warmup = run.phases.warmup.end_ns - run.phases.warmup.start_ns;
    let after = if warmup > 0 {
        format!(" after {} of warm-up", seconds(warmup as f64 / 1e9))
    } else {
        String::new()
    };
    let stopped = if run.stopped { ", interrupted" } else { "" };
    let connections = counted(f64::from(run.loop_.connections), "connection");
    let window = seconds(run.window_s);
    format!("{kind}{offered}, {connections}{depth}{life}, window {window}{after}{stopped}")
}

/// `, each request on a connection of its own, 100 ms of thought between them`.
fn life_words(load: &Loop) -> String {
    let carried = match (load.without_keep_alive, load.requests_per_connection) {
        (true, _) => ", without keep-alive".to_owned(),
        (false, Some(requests)) => format!(", {} on each", counted(f64::from(requests), "request")),
        (false, None) => String::new(),
    };
    let thought = load.think.map_or(String::new(), |think| {
        let mean = seconds(think.mean.as_secs_f64());
        match think.distribution {
            Distribution::Constant => format!(", {mean} of thought between them"),
            Distribution::Exponential => format!(", {mean} of thought on average between them"),
        }
    });
    carried + &thought
}

/// `a ramp from 1,000 to 50,000/s`.
fn shape_words(shape: &Shape) -> String {
    match shape {
        Shape::Steady { rate } => format!("a steady {}/s", count(rate.get())),
        Shape::Ramp { from, to } => {
            format!("a ramp from {} to {}/s", count(from.get()), count(to.get()))
        }
        Shape::Steps { rates, each } => {
            let rates: Vec<_> = rates.iter().map(|rate| count(rate.get())).collect();
            format!("steps of {}/s, {} each", rates.join(", "), seconds(each.as_secs_f64()))
        }
        Shape::Trace(trace) => format!("a schedule of {}", counted(trace.sends as f64, "send")),
    }
}

/// The rate, and first of all whether the target kept up with what was offered.
fn headline(run: &Run, style: Style) -> String {
    let achieved = format!("{} requests/s", count(run.rate_per_s.achieved));
    let at_least = VerdictName::GeneratorBound.is_in(&run.verdicts);
    let achieved = if at_least { format!("at least {achieved}") } else { achieved };
    let saturated = VerdictName::Saturated.is_in(&run.verdicts);
    match run.rate_per_s.offered {
        Some(offered) if saturated => {
            let line = format!("OVERLOADED: {achieved} achieved of {}/s offered", count(offered));
            style.lines(&line, 2, Style::bad)
        }
        _ => style.lines(&achieved, 2, Style::strong),
    }
}

/// How the window's requests ended.
fn outcomes(counts: &Counts, style: Style) -> String {
    let kinds = [
        ("bad status", counts.bad_status),
        ("bad body", counts.bad_body),
        ("connect failed", counts.connect_failed),
        ("connection broken", counts.io_failed),
        ("timed out", counts.timed_out),
        ("unsent", counts.unsent),
    ];
    let scheduled = counted(counts.scheduled as f64, "request");
    if counts.not_ok() == 0 {
        return style.lines(&format!("{scheduled}, all ok"), 2, Style::plain);
    }
    let bad = kinds.iter().filter(|(_, number)| *number > 0);
    let bad: Vec<String> = bad.map(|(name, number)| format!("{} {name}", count(*number as f64))).collect();
    let ok = count(counts.ok as f64);
    style.lines(&format!("{scheduled}: {ok} ok, {}", bad.join(", ")), 2, Style::warn)
}
