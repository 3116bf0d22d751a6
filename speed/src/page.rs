//! `docs/reference/performance.md`: a section for each experiment, as text. Pure.
//!
//! One experiment can be repeated without the others, whose sections on the page do not change: each states its date,
//! commit and machine.

use crate::experiment::{ComparisonRule, Experiment};
use crate::number::{Number, number};
use crate::run::{Outcome, RowSample};
use paceline_stats::Spread;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Above this share of one core, something else was running: the figures are marked.
const QUIET_SHARE: f64 = 0.05;

const HEAD: &str = "\
# Performance

Paceline beside its peers and beside the *floor*: tiny C programs (`speed/floor/`) that move the same bytes through the
same kernel, and parse, check and record nothing. They are a reference, not a limit: a row can be below them, because CPU
time per request also depends on how many responses are there at each wake-up.

`make speed` writes this page ([speed/README.md](../../speed/README.md)), `speed/run NAME...` a part of it; the commands are in
[speed/experiments.toml](../../speed/experiments.toml). A goal is met when the median of the rounds meets it and no run of the
comparison was invalid. How the generator judges itself on your machine: `paceline selftest`
([methodology](../methodology.md)).

Generator and server each have a core. In every round the rows run one after the other, each against a server started for
it. CPU time is what the kernel counts for the generator's process (wait4), connecting and starting included, unless a
section says otherwise; the split into user and system time is sampled by the kernel's tick and is good to a few percent.
*Core* time is everything that happened on the generator's core, interrupts included. Tables show the median of the
rounds, with the lowest and the highest; ratios are taken within each round, then their median.

Each section names its date, commit and machine. Sections are measured one at a time, so some are older than others.
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
pub fn section(experiment: &Experiment, outcome: &Outcome, taken: &str) -> String {
    let mut text = format!("## {}\n\n{}\n\n", experiment.title, experiment.about);
    let _ = writeln!(text, "Taken {taken}, {} rounds. {}\n", outcome.rounds, quietness(&outcome.samples));
    text.push_str(&table(experiment, &outcome.samples));
    text.push_str(&comparisons(&experiment.comparisons, &outcome.samples));
    text.push_str(&notes(outcome));
    text
}

fn quietness(samples: &[RowSample]) -> String {
    let shares = samples.iter().filter_map(|sample| sample.others_share);
    let Some(spread) = Spread::from_observations(shares) else { return String::new() };
    let sentence = format!(
        "Everything else on the machine used {:.1} % of a core ({:.1} to {:.1} %).",
        spread.median * 100.0,
        spread.min * 100.0,
        spread.max * 100.0
    );
    let mark = " **The machine was not quiet: do not rely on these figures.**";
    if spread.median > QUIET_SHARE { sentence + mark } else { sentence }
}

fn table(experiment: &Experiment, samples: &[RowSample]) -> String {
    let numbers: Vec<&Number> = experiment.numbers.iter().filter_map(|key| number(key)).collect();
    let headings: Vec<&str> = numbers.iter().map(|number| number.heading).collect();
    let mut text = format!("| | {} |\n|---|{}\n", headings.join(" | "), "---:|".repeat(headings.len()));
    let mut names = Vec::new();
    for sample in samples {
        if !names.contains(&&sample.row) {
            names.push(&sample.row);
        }
    }
    for name in names {
        let of_row: Vec<&RowSample> = samples.iter().filter(|sample| sample.row == *name).collect();
        let cells: Vec<String> = numbers.iter().map(|number| cell(number, &of_row)).collect();
        let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
    }
    text + "\n"
}

fn cell(number: &Number, samples: &[&RowSample]) -> String {
    let Some(spread) = Spread::from_observations(
        samples.iter().filter_map(|sample| sample.numbers.get(number.key).copied()),
    ) else {
        return if samples.iter().any(|sample| sample.error.is_some()) { "failed" } else { "" }.to_owned();
    };
    let [median, min, max] = [spread.median, spread.min, spread.max]
        .map(|value| with_commas(&format!("{value:.0$}", number.digits)));
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

fn comparisons(comparisons: &[ComparisonRule], samples: &[RowSample]) -> String {
    if comparisons.is_empty() {
        return String::new();
    }
    let mut text = "| comparison | median | each round | goal | |\n|---|---:|---|---|---|\n".to_owned();
    for comparison in comparisons {
        let (values, goal) = (by_round(comparison, samples), comparison.goal());
        let Some(number) = number(&comparison.number) else { continue };
        if values.is_empty() && goal.is_empty() {
            // A missing peer; the notes report it.
            continue;
        }
        let (to, digits) = match &comparison.to {
            Some(to) => (format!(" / {to}"), 3),
            None => (String::new(), number.digits),
        };
        let median = Spread::from_observations(values.iter().copied()).map(|spread| spread.median);
        let met = match median {
            _ if goal.is_empty() => "",
            None => "**not measured**",
            Some(_) if has_invalid(comparison, samples) => "**not met: a run was invalid**",
            Some(median) if comparison.is_met_by(median) => "met",
            Some(_) => "**not met**",
        };
        let rounds: Vec<String> = values.iter().map(|value| format!("{value:.digits$}")).collect();
        let median = median.map_or(String::new(), |median| with_commas(&format!("{median:.digits$}")));
        let (heading, of, rounds) = (number.heading, &comparison.of, rounds.join(" "));
        let _ = writeln!(text, "| {heading}: {of}{to} | {median} | {rounds} | {goal} | {met} |");
    }
    text + "\n"
}

fn has_invalid(comparison: &ComparisonRule, samples: &[RowSample]) -> bool {
    let is_of = |sample: &RowSample| {
        sample.row == comparison.of || comparison.to.as_ref().is_some_and(|to| sample.row == *to)
    };
    samples.iter().any(|sample| is_of(sample) && sample.is_invalid)
}

/// The number of each round that has it, or the ratio of two of the same round.
fn by_round(comparison: &ComparisonRule, samples: &[RowSample]) -> Vec<f64> {
    let value = |name: &str, round: u32| {
        let sample = samples.iter().find(|sample| sample.row == name && sample.round == round)?;
        sample.numbers.get(&comparison.number).copied()
    };
    let rounds: BTreeSet<u32> = samples.iter().map(|sample| sample.round).collect();
    let ratios = rounds.into_iter().filter_map(|round| {
        let of = value(&comparison.of, round)?;
        comparison.to.as_ref().map_or(Some(of), |to| value(to, round).map(|to| of / to))
    });
    ratios.filter(|value| value.is_finite()).collect()
}

/// Rows left out, errors and remarks, each once with how often.
fn notes(outcome: &Outcome) -> String {
    let mut text = String::new();
    for reason in &outcome.left_out {
        let _ = writeln!(text, "- Left out: {reason}.");
    }
    let mut counts: BTreeMap<(&str, String), u32> = BTreeMap::new();
    for sample in &outcome.samples {
        let has_failed = sample.numbers.get("failed").is_some_and(|failed| *failed > 0.0);
        let failed = has_failed.then(|| "had failed requests".to_owned());
        let error = sample.error.as_ref().map(|error| format!("failed: {error}"));
        for remark in sample.remarks.iter().cloned().chain(failed).chain(error) {
            *counts.entry((&sample.row, remark)).or_default() += 1;
        }
    }
    for ((row, remark), times) in counts {
        let _ = writeln!(text, "- {row}, in {times} of {} rounds: {remark}.", outcome.rounds);
    }
    if text.is_empty() { text } else { text + "\n" }
}

#[cfg(test)]
mod tests;
