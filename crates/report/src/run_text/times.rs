//! Percentiles as columns, kinds of time as rows.

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
    let rows: Vec<Vec<String>> =
        kinds.into_iter().filter_map(|(name, times)| Some(row(name, times?, total))).collect();
    if rows.is_empty() { String::new() } else { table(&HEADER, &rows, style) }
}

fn row(name: &str, times: &Times, total: &Block) -> Vec<String> {
    let may_be_censored = name == "response time" || name == "service time";
    let at = |value| if may_be_censored { bounded(value, total) } else { nanos(value as f64) };
    let Times { p50, p90, p99, p99_9, max, mean, .. } = *times;
    let mut cells = vec![name.to_owned()];
    cells.extend([p50, p90, p99, p99_9, max].map(at));
    // A mean has every lower bound in it.
    let mark = if may_be_censored && total.censored.is_some() { "\u{2265}" } else { "" };
    cells.push(format!("{mark}{}", nanos(mean)));
    cells
}

/// A response or service time, marked where it is a lower bound.
pub(super) fn bounded(value_ns: u64, block: &Block) -> String {
    let censored_from = block.censored.map_or(u64::MAX, |censored| censored.lowest_ns);
    let mark = if value_ns >= censored_from { "\u{2265}" } else { "" };
    format!("{mark}{}", nanos(value_ns as f64))
}

/// The time that answers a run's question: response time in an open loop, service time in a closed one.
pub(super) fn first_of<'a>(run: &Run, block: &'a Block) -> (&'static str, Option<&'a Times>) {
    match run.loop_.kind {
        LoopKind::Open => ("response time", block.response_time_ns.as_ref()),
        LoopKind::Closed => ("service time", block.service_time_ns.as_ref()),
    }
}
