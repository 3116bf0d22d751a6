//! Loads beside their twins, which differ in one setting.

use crate::format::number;
use crate::format::sheet::{Sheet, shown};
use crate::{Figure, PairRow, Pairing};
use paceline_record::{LoopKind, VariantKind};
use paceline_stats::counted;

pub(super) fn pairing(pairing: &Pairing, on: &str) -> Sheet {
    let (title, lead, [one, other]) = words(pairing.kind);
    let rates = [format!("{one} req/s"), format!("{other} req/s")];
    let cpu = [format!("{one} CPU µs"), format!("{other} CPU µs")];
    let between = match pairing.loop_kind {
        LoopKind::Closed => vec![format!("{other} / {one}")],
        LoopKind::Open => vec!["added p50 µs".to_owned(), "added p99 µs".to_owned()],
    };
    let heads = ["server".to_owned()].into_iter().chain(rates).chain(between).chain(cpu).collect();
    let bound = pairing.rows.iter().any(|row| row.is_generator_bound || row.twin_is_generator_bound);
    let note = "≥, ≤ and ~ mark ratios of rates that may be too low, because the generator was the bottleneck or was disturbed. ≥: the \
                numerator may be too low, so the true ratio is at least this; ≤: the denominator, so it is at most \
                this; ~: both, so it may be higher or lower";
    Sheet {
        title: format!("{}: {title}, {} ({}{on})", pairing.workload, pairing.load, pairing.form),
        lead: lead.to_owned(),
        heads,
        words: 1,
        rows: pairing.rows.iter().map(|row| pair_row(row, pairing.loop_kind)).collect(),
        lines: bound
            .then(|| note.to_owned())
            .into_iter()
            .chain(pairing.rows.iter().filter_map(apart))
            .collect(),
    }
}

/// The title of a pairing, how to read it, and the names of the load and its twin.
fn words(kind: VariantKind) -> (&'static str, &'static str, [&'static str; 2]) {
    match kind {
        VariantKind::FirstRun => (
            "first run and steady state",
            "The first load on a fresh launch, without warm-up, and the same load again on the same launch.",
            ["second", "first"],
        ),
        VariantKind::Http10 => (
            "HTTP/1.1 and HTTP/1.0",
            "The same load twice: with HTTP/1.1, and with HTTP/1.0 and keep-alive requested.",
            ["1.1", "1.0"],
        ),
        VariantKind::Close => (
            "with and without keep-alive",
            "The same load twice: with connections kept open, and with a new connection for each request.",
            ["keep-alive", "close"],
        ),
        VariantKind::Unpipelined => (
            "pipelined and not pipelined",
            "The same load twice: pipelined, and with one outstanding request per connection.",
            ["pipelined", "unpipelined"],
        ),
        VariantKind::Balanced => (
            "direct and balanced",
            "The same load directly on one instance, and through the balancer on all instances. Unless noted below, the server was not restarted between the two. They are compared within each repeat.",
            ["direct", "balanced"],
        ),
        VariantKind::Spread => (
            "direct and spread",
            "The same load directly on one instance, and directly on all: the generator spread its connections over them, and the balancer was idle. They are compared within each repeat.",
            ["direct", "spread"],
        ),
    }
}

/// A server's pairs that are not from one launch, and so contain more than the twin's difference.
fn apart(row: &PairRow) -> Option<String> {
    let pairs = counted(row.pairs_of_two_launches, "repeat", "repeats");
    (row.pairs_of_two_launches > 0).then(|| {
        let server = &row.server;
        format!(
            "{server}: in {pairs} the two loads ran on different launches, so the ratio includes the difference between launches"
        )
    })
}

fn pair_row(row: &PairRow, kind: LoopKind) -> Vec<String> {
    let (base, twin) =
        (shown(row.achieved_per_s.as_ref(), 1.0), shown(row.twin_achieved_per_s.as_ref(), 1.0));
    let cpu = [&row.server_cpu_us_per_request, &row.twin_server_cpu_us_per_request]
        .map(|cpu| shown(cpu.as_ref(), 1.0));
    let mut cells = vec![row.server.clone(), base, twin];
    match kind {
        LoopKind::Closed => {
            cells.push(row.ratio_mark().to_owned() + &shown(row.achieved_ratio.as_ref(), 1.0))
        }
        LoopKind::Open => {
            cells.extend(
                [&row.added_time_ns_p50, &row.added_time_ns_p99].map(|time| difference(time.as_ref(), 1e3)),
            );
        }
    }
    cells.extend(cpu);
    cells
}

/// A difference: always with its sign, and not in percent, because it may be near zero.
fn difference(figure: Option<&Figure>, scale: f64) -> String {
    let Some(figure) = figure else { return String::new() };
    let sign = if figure.median > 0.0 { "+" } else { "" };
    let half = figure.half_range().map(|half| format!(" ±{}", number::whole(half / scale)));
    format!("{sign}{}{}", number::whole(figure.median / scale), half.unwrap_or_default())
}
