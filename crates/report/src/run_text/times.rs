//! Percentiles as columns, kinds of time as rows.
//!
//! Called by `mod.rs`. It also knows for the other sections which time answers a run's question, and from where on a
//! percentile is a lower bound. Percentiles are read off the record; none is computed here.

use super::lines::{Style, table};
use super::quantity::nanos;
use paceline_record::{Block, LoopKind, Run, Times};

const HEADER: [&str; 7] = ["", "p50", "p90", "p99", "p99.9", "max", "mean"];

/// The times of a run, those that answer its question first.
pub(super) fn of_run(run: &Run, style: Style) -> String {
    let total = &run.total;
    let kinds: Vec<(&str, Option<&Times>)> = match run.loop_.kind {
        LoopKind::Closed => vec![
            ("service time", total.service_time_ns.as_ref()),
            (
                "first byte",
                total.first_byte_ns.as_ref().filter(|first| {
                    total.service_time_ns.as_ref().is_some_and(|service| first.p99 != service.p99)
                }),
            ),
            ("connect time", total.connect_time_ns.as_ref()),
            ("handshake time", total.handshake_time_ns.as_ref()),
            ("connect + service", total.connect_and_service_time_ns.as_ref()),
            ("receive delay", total.receive_delay_ns.as_ref()),
        ],
        LoopKind::Open => vec![
            ("response time", total.response_time_ns.as_ref()),
            ("service time", total.service_time_ns.as_ref()),
            ("connection wait", total.connection_wait_ns.as_ref()),
            ("generator lag", total.generator_lag_ns.as_ref()),
            ("connect time", total.connect_time_ns.as_ref()),
            ("handshake time", total.handshake_time_ns.as_ref()),
            ("receive delay", total.receive_delay_ns.as_ref()),
        ],
    };
    let rows: Vec<Vec<String>> = kinds
        .into_iter()
        .filter_map(|(name, times)| Some(row(name, times?, total, run.timeout_ns)))
        .collect();
    if rows.is_empty() { String::new() } else { table(&HEADER, &rows, style) }
}

fn row(name: &str, times: &Times, total: &Block, timeout_ns: u64) -> Vec<String> {
    let censored_from = match name {
        "response time" => censored_from(total),
        "service time" | "connect + service" => service_censored_from(total, timeout_ns),
        _ => u64::MAX,
    };
    let Times { p50, p90, p99, p99_9, max, mean, .. } = *times;
    let mut cells = vec![name.to_owned()];
    cells.extend([p50, p90, p99, p99_9, max].map(|value| marked(value, censored_from)));
    // A mean has every lower bound in it.
    let mark = if censored_from < u64::MAX { "\u{2265}" } else { "" };
    cells.push(format!("{mark}{}", nanos(mean)));
    cells
}

/// The time that answers a run's question, marked where it is a lower bound.
pub(super) fn bounded(value_ns: u64, block: &Block) -> String {
    marked(value_ns, censored_from(block))
}

fn marked(value_ns: u64, censored_from: u64) -> String {
    let mark = if value_ns >= censored_from { "\u{2265}" } else { "" };
    format!("{mark}{}", nanos(value_ns as f64))
}

/// From where on response times are lower bounds.
fn censored_from(block: &Block) -> u64 {
    block.censored.map_or(u64::MAX, |censored| censored.lowest_ns)
}

/// The same of service times. In an open loop the lowest time waited is a response time: a service time then waited for
/// the timeout. What was never sent has none.
fn service_censored_from(block: &Block, timeout_ns: u64) -> u64 {
    if block.counts.timed_out > 0 { censored_from(block).min(timeout_ns) } else { u64::MAX }
}

/// The time that answers a run's question: response time in an open loop, service time in a closed one.
pub(super) fn first_of<'a>(run: &Run, block: &'a Block) -> (&'static str, Option<&'a Times>) {
    match run.loop_.kind {
        LoopKind::Open => ("response time", block.response_time_ns.as_ref()),
        LoopKind::Closed => ("service time", block.service_time_ns.as_ref()),
    }
}
