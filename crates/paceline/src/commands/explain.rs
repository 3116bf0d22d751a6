//! `paceline explain NAME`: what a verdict or a metric means, from the tables that generate the reference pages.

use crate::exit::{Status, print};
use crate::terminal;
use clap::builder::PossibleValuesParser;
use paceline_judge::{Metric, VerdictDoc, VerdictName};
use paceline_report::wrap;

/// Flags of `paceline explain`.
#[derive(clap::Args)]
pub struct Arguments {
    /// A verdict (`outage`) or a metric (`time_ns_p99`); without a name, all of them are listed
    #[arg(value_name = "NAME", hide_possible_values = true, value_parser = PossibleValuesParser::new(names()))]
    name: Option<String>,
}

/// Every name that can be explained.
fn names() -> Vec<&'static str> {
    let verdicts = VerdictName::ALL.iter().map(|name| name.as_str());
    verdicts.chain(Metric::ALL.iter().map(|metric| metric.key)).collect()
}

/// Prints the explanation, or the list of names.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let width = terminal::width_for_text(true);
    let text = match &arguments.name {
        Some(name) => explanation(name, width),
        None => list(width),
    };
    print(&text)?;
    Ok(Status::Done)
}

fn explanation(name: &str, width: usize) -> String {
    let verdict = VerdictName::parse(name).map(|verdict| of_verdict(verdict.doc(), width));
    let metric =
        || Metric::ALL.iter().find(|metric| metric.key == name).map(|metric| of_metric(metric, width));
    verdict.or_else(metric).unwrap_or_default()
}

fn of_verdict(doc: &VerdictDoc, width: usize) -> String {
    let words = |names: Vec<String>| names.join(" or ").to_lowercase();
    let severity = words(doc.severity.iter().map(|severity| format!("{severity:?}")).collect());
    let blame = words(doc.blame.iter().map(|blame| format!("{blame:?}")).collect());
    let mut text = paragraph(&format!("{}: {}", doc.name, doc.title), 0, width);
    text += &paragraph(&format!("Severity: {severity}. Blame: {blame}."), 0, width);
    text += "\n";
    text += &paragraph(&joined(doc.lines), 0, width);
    if !doc.evidence.is_empty() {
        text += "\nEvidence, as the record names it:\n";
        for (key, meaning) in doc.evidence {
            text += &paragraph(&format!("{key}: {meaning}"), 2, width);
        }
    }
    text + "\n" + &paragraph(&format!("Remedy: {}", doc.remedy_example()), 0, width)
}

fn of_metric(metric: &Metric, width: usize) -> String {
    let column = metric.closed.or(metric.open).map(|_| metric.head.join(" "));
    let place =
        column.map_or("CSV and JSON only".to_owned(), |column| format!("column \"{}\"", column.trim()));
    let head = format!("{}: {} ({place})", metric.key, metric.name);
    paragraph(&head, 0, width) + "\n" + &paragraph(&joined(metric.lines), 0, width)
}

fn list(width: usize) -> String {
    let mut text = "Verdicts\n".to_owned();
    for doc in VerdictName::ALL.iter().map(|name| name.doc()) {
        text += &paragraph(&format!("{}: {}", doc.name, doc.title), 2, width);
    }
    text += "\nMetrics\n";
    for metric in Metric::ALL {
        text += &paragraph(&format!("{}: {}", metric.key, metric.name), 2, width);
    }
    text
}

/// Lines of documentation as one paragraph, without the marks of Markdown.
fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ").replace('`', "")
}

/// A paragraph whose first line is indented by `blanks`, the others by four more where it is an entry of a list.
fn paragraph(text: &str, blanks: usize, width: usize) -> String {
    let hanging = if blanks > 0 { blanks + 4 } else { 0 };
    let lines = wrap(&text.replace('`', ""), width.saturating_sub(hanging).max(20));
    let indent = |place| " ".repeat(if place == 0 { blanks } else { hanging });
    lines.iter().enumerate().map(|(place, line)| format!("{}{line}\n", indent(place))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_and_metric_has_an_explanation_that_fits() {
        for name in names() {
            let text = explanation(name, 80);
            assert!(text.starts_with(name) && text.lines().count() >= 3, "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert!(list(80).contains(&format!("  {name}: ")), "{name} is not listed");
        }
    }

    #[test]
    fn a_name_is_of_a_verdict_or_of_a_metric_but_not_of_both() {
        let mut all = names();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
