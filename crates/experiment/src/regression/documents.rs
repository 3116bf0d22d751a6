//! The report of a gate for CI: Markdown for the summary and a comment, JUnit XML, a page in one file, and annotations.

use super::report::{CellReport, CellVerdict, RegressionOutcome, RegressionReport};
use super::text::{
    HEADS, change, failed_shares, footnotes, interval, outcome_word, row, subject, verdict_word,
};
use crate::compare_html::STYLE;
use crate::gate::annotation;
use paceline_escape::{HtmlText, MarkdownText, html, markdown};
use paceline_stats::short_percent_text;

/// The report as a Markdown section.
pub fn regression_markdown(report: &RegressionReport) -> MarkdownText {
    let mut text = markdown!(
        "### Performance gate {}\n\n**{}**\n\nBase: {}. Candidate: {}.\n\n",
        outcome_word(report.outcome),
        &report.reason,
        &report.base,
        &report.candidate
    );
    if !report.metrics.is_empty() {
        let heads = MarkdownText::joined(HEADS.map(MarkdownText::literal), " | ");
        text.push(&markdown!("| {} |\n|---|---|---:|---:|---|---:|---:|---|\n", heads));
    }
    for cell in &report.metrics {
        let mut cells = row(cell);
        if cell.is_judge {
            cells[1].push('*');
        }
        let cells = MarkdownText::joined(cells.iter().map(|cell| MarkdownText::from_text(cell)), " | ");
        text.push(&markdown!("| {} |\n", cells));
    }
    text.push(&MarkdownText::literal("\n"));
    for failures in report
        .failures
        .iter()
        .filter(|failures| failures.candidate_failed + failures.base_failed > 0 || failures.has_ended())
    {
        text.push(&markdown!("Failed requests of {}: {}.\n\n", &failures.load, failed_shares(failures)));
    }
    for note in footnotes(report) {
        text.push(&markdown!("{}\n\n", note));
    }
    text
}

/// The report as JUnit XML: one test case for each metric, and one for the failed requests of each load. Undecided
/// judges are skipped test cases, and so is the gate if it has no outcome and no such judge: a file without skipped and
/// failed test cases is that of a gate that passed.
pub fn regression_junit(report: &RegressionReport) -> HtmlText {
    let case = |name: &str, body: HtmlText| {
        html!("  <testcase classname=\"paceline.gate\" name=\"{}\">{}</testcase>\n", name, body)
    };
    let metrics = report.metrics.iter().map(|cell| case(&subject(cell), junit_body(cell)));
    let failures = report.failures.iter().map(|failures| {
        let body = match failures.is_worse {
            true => html!("<failure message=\"{}\"/>", failed_shares(failures)),
            false => html!("<system-out>{}</system-out>", failed_shares(failures)),
        };
        case(&format!("failed requests of {}", failures.load), body)
    });
    let is_unmeasured = report.metrics.is_empty() && report.failures.is_empty();
    let is_ended = matches!(report.outcome, RegressionOutcome::Passed | RegressionOutcome::Failed);
    let whole = (is_unmeasured || !is_ended && !report.metrics.iter().any(is_open))
        .then(|| case("gate", html!("<skipped message=\"{}\"/>", &report.reason)));
    let failed = report.metrics.iter().filter(|cell| cell.verdict == CellVerdict::Worse).count()
        + report.failures.iter().filter(|failures| failures.is_worse).count();
    let skipped = report.metrics.iter().filter(|cell| is_open(cell)).count() + usize::from(whole.is_some());
    let tests = report.metrics.len() + report.failures.len() + usize::from(whole.is_some());
    html!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"paceline gate\" tests=\"{}\" failures=\"{}\" \
         skipped=\"{}\" time=\"{:.1}\">\n  <properties><property name=\"outcome\" value=\"{}\"/>\
         <property name=\"base\" value=\"{}\"/><property name=\"candidate\" value=\"{}\"/></properties>\n{}</testsuite>\n",
        tests,
        failed,
        skipped,
        report.elapsed_s,
        outcome_word(report.outcome),
        &report.base,
        &report.candidate,
        metrics.chain(failures).chain(whole).collect::<HtmlText>()
    )
}

fn is_open(cell: &CellReport) -> bool {
    matches!(cell.verdict, CellVerdict::Undecided | CellVerdict::WithinNoise)
}

fn junit_body(cell: &CellReport) -> HtmlText {
    let figures = format!(
        "{} ({}), margin {}, noise {}",
        change(cell.ratio),
        interval(cell),
        short_percent_text(cell.margin),
        short_percent_text(cell.noise)
    );
    match cell.verdict {
        CellVerdict::Worse => html!("<failure message=\"{}\"/>", figures),
        CellVerdict::Undecided | CellVerdict::WithinNoise => {
            html!("<skipped message=\"{}: {}\"/>", verdict_word(cell.verdict), figures)
        }
        CellVerdict::SlightlyWorse | CellVerdict::NotWorse | CellVerdict::Better => {
            html!("<system-out>{}</system-out>", figures)
        }
    }
}

/// The report as one HTML page that needs no script and no other file.
pub fn regression_html(report: &RegressionReport) -> HtmlText {
    let heads: HtmlText = HEADS.map(|head| html!("<th scope=\"col\">{}</th>", head)).into_iter().collect();
    let rows: HtmlText = report.metrics.iter().map(html_row).collect();
    let shares = report.failures.iter().map(|failures| {
        html!("<p>Failed requests of {}: {}.</p>\n", &failures.load, failed_shares(failures))
    });
    let picture = report.profile.as_ref().and_then(|profile| profile.difference.clone()).map(|picture| {
        html!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Differential flame graph\">{}</div>\n",
            picture
        )
    });
    let notes = footnotes(report).into_iter().map(|note| html!("<p>{}</p>\n", note));
    html!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>Performance gate {0} · Paceline</title>\n\
         <style>{1}</style>\n</head>\n<body>\n<h1>Performance gate {0}: {2}</h1>\n<p>Base: {3}<br>Candidate: {4}</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"All metrics\"><table>\n<tr>{5}</tr>\n{6}</table></div>\n\
         {7}</body>\n</html>\n",
        outcome_word(report.outcome),
        HtmlText::literal(STYLE),
        &report.reason,
        &report.base,
        &report.candidate,
        heads,
        rows,
        shares.chain(picture).chain(notes).collect::<HtmlText>()
    )
}

fn html_row(cell: &CellReport) -> HtmlText {
    let class = match cell.verdict {
        CellVerdict::Worse | CellVerdict::SlightlyWorse => "worse",
        CellVerdict::Better => "better",
        CellVerdict::NotWorse | CellVerdict::Undecided | CellVerdict::WithinNoise => "open",
    };
    let mut cells = row(cell);
    if cell.is_judge {
        cells[1].push('*');
    }
    let [figures @ .., verdict] = cells;
    let figures: HtmlText = figures.iter().map(|cell| html!("<td>{}</td>", cell)).collect();
    html!("<tr class=\"{}\">{}<td class=\"verdict\">{}</td></tr>\n", class, figures, verdict)
}

/// The outcome as an annotation for GitHub Actions.
pub fn regression_annotations(report: &RegressionReport) -> String {
    let level = match report.outcome {
        RegressionOutcome::Passed => "notice",
        RegressionOutcome::Failed => "error",
        RegressionOutcome::Undecided | RegressionOutcome::Interrupted => "warning",
    };
    annotation(level, outcome_word(report.outcome), &report.reason)
}
