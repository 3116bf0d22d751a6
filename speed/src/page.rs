//! `docs/performance.md`: a section for each experiment, as text. Pure.
//!
//! One experiment can be taken again without the others, whose sections stay as they stand on the page: each says
//! when, of which commit and on which machine it was taken.

use crate::plan::{Column, Comparison, Contender, Plan, Sample};
use crate::runner::Outcome;
use crate::server;
use crate::statistics::Spread;
use crate::workplace::Workplace;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Above this share of one core, something else was running: the figures are marked.
const QUIET_SHARE: f64 = 0.05;

const HEAD: &str = "\
# Performance

Paceline beside its peers and beside the *floor*: tiny C programs (`speed/floor/`) that move the same bytes through the
same kernel and do nothing else. They are the physical limit; nothing that uses the same system calls can be cheaper.

This page is written by `make speed` (or `speed/run NAME...` for some of it; `speed/run --help`). Generator and server
each have a core. In every round the contenders run one after the other, each against a server started for it. CPU time is
what the kernel charged the generator's process (wait4), connecting and starting included, unless a section says
otherwise; the split into user and system time is sampled by the kernel's tick and is good to a few percent of the
whole. *Core* time is everything that happened on the generator's core, interrupts included. Tables show the median of the
rounds, with the lowest and the highest; ratios are taken within each round, then their median.
";

/// The whole page from its sections.
pub fn page(sections: &[String]) -> String {
    format!("{HEAD}\n{}", sections.join("\n"))
}

/// The sections of a page in the order of `titles`: `section` in the place of its title, the others as they were.
pub fn merged(titles: &[String], before: &str, section: String) -> Vec<String> {
    let begins = |text: &str, title: &str| {
        text.lines().next().and_then(|line| line.strip_prefix("## ")) == Some(title)
    };
    let old = before.split_inclusive('\n').fold(Vec::<String>::new(), |mut sections, line| {
        match sections.last_mut() {
            Some(last) if !line.starts_with("## ") => last.push_str(line),
            None if !line.starts_with("## ") => {}
            _ => sections.push(line.to_owned()),
        }
        sections
    });
    let of = |title: &String| {
        let mut all = std::iter::once(&section).chain(&old);
        all.find(|text| begins(text, title)).map(|text| format!("{}\n", text.trim_end()))
    };
    titles.iter().filter_map(of).collect()
}

/// One section.
pub fn section(plan: &Plan, outcome: &Outcome, taken: &str, workplace: &Workplace) -> String {
    let mut text = format!("## {}\n\n{}\n\n", plan.title, plan.about);
    let _ = writeln!(text, "Taken {taken}, {} rounds. {}\n", outcome.rounds, quietness(&outcome.samples));
    text.push_str(&table(plan, &outcome.samples));
    text.push_str(&comparisons(&plan.comparisons, &outcome.samples));
    text.push_str(&notes(outcome));
    text.push_str(&commands(&plan.contenders, workplace));
    text
}

fn quietness(samples: &[Sample]) -> String {
    let shares: Vec<f64> =
        samples.iter().filter(|s| s.error.is_none() && s.wall_s > 0.0).map(|s| s.others_share).collect();
    let Some(spread) = Spread::of(&shares) else { return String::new() };
    let said = format!(
        "Everything else on the machine used {:.1} % of a core ({:.1} to {:.1} %).",
        spread.median * 100.0,
        spread.min * 100.0,
        spread.max * 100.0
    );
    let mark = " **The machine was not quiet: do not rely on these figures.**";
    if spread.median > QUIET_SHARE { said + mark } else { said }
}

/// Rows of the plan's order, then derived ones in order of appearance.
fn rows(plan: &Plan, samples: &[Sample]) -> Vec<String> {
    let mut names: Vec<String> = plan.contenders.iter().map(|contender| contender.name.clone()).collect();
    for sample in samples {
        if !names.contains(&sample.contender) {
            names.push(sample.contender.clone());
        }
    }
    names
}

fn table(plan: &Plan, samples: &[Sample]) -> String {
    let headings: Vec<&str> = plan.columns.iter().map(|column| column.heading).collect();
    let mut text = format!("| | {} |\n|---|{}\n", headings.join(" | "), "---:|".repeat(headings.len()));
    for name in rows(plan, samples) {
        let of_row: Vec<&Sample> = samples.iter().filter(|sample| sample.contender == name).collect();
        let cells: Vec<String> = plan.columns.iter().map(|column| cell(column, &of_row)).collect();
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    text + "\n"
}

fn cell(column: &Column, samples: &[&Sample]) -> String {
    let good = samples.iter().filter(|sample| sample.error.is_none());
    let numbers: Vec<f64> = good.filter_map(|sample| (column.of)(sample)).collect();
    if numbers.is_empty() {
        return if samples.iter().any(|sample| sample.error.is_some()) { "failed" } else { "" }.to_owned();
    }
    Spread::of(&numbers).map_or(String::new(), |spread| shown(spread, column.digits))
}

fn shown(spread: Spread, digits: usize) -> String {
    let number = |number: f64| with_commas(&format!("{number:.digits$}"));
    let (median, min, max) = (number(spread.median), number(spread.min), number(spread.max));
    if min == max { median } else { format!("{median} ({min} to {max})") }
}

/// `1234567.5` as `1,234,567.5`.
fn with_commas(number: &str) -> String {
    let (whole, rest) = number.find('.').map_or((number, ""), |point| number.split_at(point));
    let digits = whole.len();
    let mut text = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (digits - i) % 3 == 0 && text.ends_with(|c: char| c.is_ascii_digit()) {
            text.push(',');
        }
        text.push(c);
    }
    text + rest
}

fn comparisons(comparisons: &[Comparison], samples: &[Sample]) -> String {
    if comparisons.is_empty() {
        return String::new();
    }
    let mut text = "| comparison | median | each round | goal | |\n|---|---:|---|---|---|\n".to_owned();
    for comparison in comparisons {
        let numbers = by_round(comparison, samples);
        if numbers.is_empty() && comparison.goal.is_none() {
            // A peer that is not there; the notes say so.
            continue;
        }
        let what = match comparison.to {
            Some(to) => format!("{}: {} / {to}", comparison.column.heading, comparison.of),
            None => format!("{}: {}", comparison.column.heading, comparison.of),
        };
        let digits = if comparison.to.is_some() { 3 } else { comparison.column.digits };
        let median = Spread::of(&numbers).map(|spread| spread.median);
        let met = match (comparison.goal, median) {
            (Some(goal), Some(median)) => {
                if goal.met_by(median) {
                    "met"
                } else {
                    "**missed**"
                }
            }
            (Some(_), None) => "**not measured**",
            (None, _) => "",
        };
        let goal = comparison.goal.map_or(String::new(), |goal| goal.to_string());
        let rounds: Vec<String> = numbers.iter().map(|number| format!("{number:.digits$}")).collect();
        let median = median.map_or(String::new(), |median| with_commas(&format!("{median:.digits$}")));
        let _ = writeln!(text, "| {what} | {median} | {} | {goal} | {met} |", rounds.join(" "));
    }
    text + "\n"
}

/// The number of each round in which it is there, or the ratio of two of the same round.
fn by_round(comparison: &Comparison, samples: &[Sample]) -> Vec<f64> {
    let number = |name: &str, round: u32| {
        let sample = samples.iter().find(|sample| sample.contender == name && sample.round == round)?;
        if sample.error.is_some() { None } else { (comparison.column.of)(sample) }
    };
    let rounds: BTreeSet<u32> = samples.iter().map(|sample| sample.round).collect();
    let ratios = rounds.into_iter().filter_map(|round| {
        let of = number(comparison.of, round)?;
        comparison.to.map_or(Some(of), |to| number(to, round).map(|to| of / to))
    });
    ratios.filter(|number| number.is_finite()).collect()
}

/// Rows left out, errors and remarks, each once with how often.
fn notes(outcome: &Outcome) -> String {
    let mut text = String::new();
    for reason in &outcome.left_out {
        let _ = writeln!(text, "- Left out: {reason}.");
    }
    let mut said: BTreeMap<(String, String), u32> = BTreeMap::new();
    for sample in &outcome.samples {
        let failed = (sample.failures > 0).then(|| "had failed requests".to_owned());
        let error = sample.error.as_ref().map(|error| format!("failed: {error}"));
        for remark in sample.remarks.iter().cloned().chain(failed).chain(error) {
            *said.entry((sample.contender.clone(), remark)).or_default() += 1;
        }
    }
    for ((contender, remark), times) in said {
        let _ = writeln!(text, "- {contender}, in {times} of {} rounds: {remark}.", outcome.rounds);
    }
    if text.is_empty() { text } else { text + "\n" }
}

/// What ran, with PORT for a port that differs each time. A server's line stands above those of its generators.
fn commands(contenders: &[Contender], workplace: &Workplace) -> String {
    let mut text = "```sh\n".to_owned();
    let mut last_server = String::new();
    for contender in contenders {
        let body = workplace.folder.join(format!("body-{}", contender.server.body_bytes));
        let cores = workplace.cores(contender.server.cores);
        let server = format!("taskset -c {cores} {} &", server::command_line(&contender.server, &body));
        if server != last_server {
            let _ = writeln!(text, "{}", workplace.shown(&server));
        }
        last_server = server;
        let _ = writeln!(text, "{}", workplace.shown(&generator_line(contender, workplace)));
    }
    text + "```\n"
}

fn generator_line(contender: &Contender, workplace: &Workplace) -> String {
    let body = workplace.folder.join(format!("body-{}", contender.server.body_bytes));
    let places = BTreeMap::from([
        ("url", "http://127.0.0.1:PORT/".to_owned()),
        ("port", "PORT".to_owned()),
        ("response_bytes", "BYTES".to_owned()),
        ("body", body.display().to_string()),
        ("work", workplace.folder.display().to_string()),
    ]);
    let command = &contender.command;
    let environment: String =
        command.environment.iter().map(|(name, value)| format!("{name}={value} ")).collect();
    let program = match command.program {
        floor @ ("floor-closed" | "floor-open") => format!("target/speed/{floor}"),
        other => other.to_owned(),
    };
    let line = format!(
        "{environment}taskset -c {} {program} {}",
        workplace.cores(contender.cores),
        command.arguments.join(" ")
    );
    Workplace::fill(&line, &places)
}

#[cfg(test)]
mod tests;
