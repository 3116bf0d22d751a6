//! `paceline explain NAME`: what a verdict or a metric means, from the tables that generate the reference pages.

use super::format::PrintFormatFlag;
use crate::documents::{ExplainDocument, ExplainedMetric, ExplainedVerdict};
use crate::exit::{Complaint, Status, print};
use crate::terminal;
use paceline_catalogue::nearest;
use paceline_judge::{Metric, VerdictDoc, VerdictName};
use paceline_report::wrap;

/// Flags of `paceline explain`.
#[derive(clap::Args)]
pub struct Arguments {
    /// A verdict (`outage`) or a metric (`time_ns_p99`); without a name, all of them are listed
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    print: PrintFormatFlag,
}

/// Prints the explanation, or the list of names.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    if arguments.print.is_json() {
        arguments.print.print_document(&document(arguments.name.as_deref())?)?;
        return Ok(Status::Done);
    }
    let width = terminal::width_for_text(true);
    let text = match &arguments.name {
        Some(name) => {
            let name = name.replace('-', "_");
            explanation(&name, width).ok_or_else(|| unknown(&name))?
        }
        None => list(width),
    };
    print(&text)?;
    Ok(Status::Done)
}

/// The verdicts and metrics of that name, or all.
fn document(name: Option<&str>) -> anyhow::Result<ExplainDocument> {
    let name = name.map(|name| name.replace('-', "_"));
    let is_asked = |known: &[&str]| name.as_deref().is_none_or(|name| known.contains(&name));
    let verdicts: Vec<ExplainedVerdict> = VerdictName::ALL
        .iter()
        .map(|name| name.doc())
        .filter(|doc| is_asked(&[doc.name]))
        .map(explained_verdict)
        .collect();
    let metrics = Metric::ALL.iter().filter(|metric| is_asked(&[metric.key, metric.name]));
    let metrics: Vec<ExplainedMetric> = metrics.map(explained_metric).collect();
    match name {
        Some(name) if verdicts.is_empty() && metrics.is_empty() => Err(unknown(&name).into()),
        _ => Ok(ExplainDocument { verdicts, metrics }),
    }
}

fn explained_verdict(doc: &VerdictDoc) -> ExplainedVerdict {
    ExplainedVerdict {
        name: doc.name,
        title: doc.title,
        severity: doc.severity,
        blame: doc.blame,
        description: doc.description().replace('`', ""),
        evidence: doc.evidence.iter().copied().collect(),
        remedy: doc.remedy_example(),
    }
}

fn explained_metric(metric: &Metric) -> ExplainedMetric {
    ExplainedMetric { key: metric.key, name: metric.name, description: metric.description().replace('`', "") }
}

/// The error for a name that nothing has.
fn unknown(name: &str) -> Complaint {
    let verdicts = VerdictName::ALL.iter().map(|verdict| verdict.doc().name);
    let known = verdicts.chain(Metric::ALL.iter().map(|metric| metric.key));
    let meant = nearest(name, known).map(|word| format!("did you mean {word}? "));
    Complaint::usage(format!("no verdict or metric is called \"{name}\""))
        .hint(format!("{}`paceline explain` lists all names", meant.unwrap_or_default()))
}

/// The explanation of a verdict, or of a metric by its key or its name in tables (`p99`).
fn explanation(name: &str, width: usize) -> Option<String> {
    let verdict = VerdictName::parse(name).map(|verdict| of_verdict(verdict.doc(), width));
    let is_it = |metric: &&Metric| metric.key == name || metric.name == name;
    verdict.or_else(|| Metric::ALL.iter().find(is_it).map(|metric| of_metric(metric, width)))
}

fn of_verdict(doc: &VerdictDoc, width: usize) -> String {
    let words = |names: Vec<String>| names.join(" or ").to_lowercase();
    let severity = words(doc.severity.iter().map(|severity| format!("{severity:?}")).collect());
    let blame = words(doc.blame.iter().map(|blame| format!("{blame:?}")).collect());
    let mut text = paragraph(&format!("{}: {}", doc.name, doc.title), 0, width);
    text += &paragraph(&format!("Severity: {severity}. Blame: {blame}."), 0, width);
    text += "\n";
    text += &paragraph(&doc.description(), 0, width);
    if !doc.evidence.is_empty() {
        text += "\nEvidence, by its keys in the JSON record:\n";
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
    paragraph(&head, 0, width) + "\n" + &paragraph(&metric.description(), 0, width)
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

/// A paragraph whose first line is indented by `blanks`, the others by four more where it is an entry of a list.
pub(super) fn paragraph(text: &str, blanks: usize, width: usize) -> String {
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
        let verdicts = VerdictName::ALL.iter().map(|name| name.as_str());
        for name in verdicts.chain(Metric::ALL.iter().map(|metric| metric.key)) {
            let text = explanation(name, 80).unwrap();
            assert!(text.starts_with(name) && text.lines().count() >= 3, "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert!(list(80).contains(&format!("  {name}: ")), "{name} is not listed");
        }
        assert_eq!(explanation("p99", 80), explanation("time_ns_p99", 80));
        assert_eq!(explanation("outag", 80), None);
    }

    #[test]
    fn the_document_has_one_entry_for_a_name_and_all_without_one() {
        let counts = |name| {
            let document = document(name).unwrap();
            [document.verdicts.len(), document.metrics.len()]
        };
        assert_eq!(counts(None), [VerdictName::ALL.len(), Metric::ALL.len()]);
        assert_eq!((counts(Some("outage")), counts(Some("p99"))), ([1, 0], [0, 1]));
        assert!(document(Some("outag")).is_err());
    }
}
