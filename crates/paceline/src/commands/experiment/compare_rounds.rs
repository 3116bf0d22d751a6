//! Two rounds, compared cell by cell: with `compare` exported ones, with `report` those of a store.

use crate::commands::format::Format;
use crate::exit::{self, Complaint};
use paceline_escape::{Printable, markdown, shell_line};
use paceline_experiment::{ComparedMetric, RoundSide, compare_rounds, rounds_markdown};
use paceline_record::Round;
use paceline_web::{Records, SingleFilePages, single_file};

/// The comparison of two rounds, matched cell by cell, in a format. A page shows the command.
pub fn compared_rounds(
    rounds: &[Records; 2],
    command: [&str; 4],
    metric: Option<ComparedMetric>,
    margin: f64,
    format: Format,
) -> anyhow::Result<Printable> {
    let reports = rounds.each_ref().map(Records::report);
    let side =
        |place: usize| RoundSide { report: &reports[place], trials: &rounds[place].trials, server: None };
    let result = compare_rounds([side(0), side(1)], metric, margin);
    if result.cells.is_empty() {
        return Err(Complaint::usage(
            "the two rounds have no row in common: server, form, workload, and load with its connections and rate",
        )
        .hint("compare rounds of the same plan")
        .into());
    }
    let [first, second] = rounds;
    let about = |round: &Round| {
        format!(
            "round {} ({}), {}, on {}",
            round.id, round.plan, round.started_at, round.environment.cpu_model
        )
    };
    Ok(match format {
        Format::Text | Format::Markdown => markdown!(
            "First: {}.\nSecond: {}.\n\n{}",
            about(&first.round),
            about(&second.round),
            rounds_markdown(&result)
        )
        .into(),
        Format::Json => exit::json(&result.cells)?,
        Format::Html => single_file(
            &format!("{} · Paceline", first.round.plan),
            &SingleFilePages::of_comparison(
                [first, second],
                reports.each_ref(),
                &result,
                shell_line(command),
            )?,
        )?,
        Format::Csv | Format::Svg | Format::Hgrm | Format::Junit => return Err(format.unavailable()),
    })
}
