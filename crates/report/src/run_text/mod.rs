//! One run for a person at a terminal: the rate first, then the times, then what is wrong and what to do.
//!
//! Called by `paceline run`. Pure: a record in, text out.

mod lines;
mod quantity;
#[cfg(test)]
mod tests;

use lines::Style;
use paceline_record::{Block, LoopKind, Run, Severity, Times, Verdict};
use quantity::{bytes, count, nanos, seconds};

/// The text of a run, with or without colours.
pub fn run_text(run: &Run, colour: bool) -> String {
    let style = Style::new(colour);
    let mut text = format!("{}\n{}\n\n", style.strong(&run.target.url), style.dim(&load(run)));
    text.push_str(&headline(run, style));
    text.push('\n');
    text.push_str(&times_table(run, style));
    text.push('\n');
    text.push_str(&lines::facts(
        &[
            ("outcomes", outcomes(&run.total)),
            ("connections", connections(run)),
            ("fairness", fairness(run)),
            ("generator", generator(run)),
        ],
        style,
    ));
    if !run.verdicts.is_empty() {
        text.push('\n');
        run.verdicts.iter().for_each(|verdict| text.push_str(&verdict_lines(verdict, style)));
    }
    text
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
    let offered =
        run.rate_per_s.offered.map_or(String::new(), |rate| format!(" of {}/s offered", count(rate)));
    let depth = if run.loop_.depth > 1 { format!(", {} deep", run.loop_.depth) } else { String::new() };
    let warmup = run.phases.warmup.end_ns - run.phases.warmup.start_ns;
    let after = if warmup > 0 {
        format!(" after {} of warm-up", seconds(warmup as f64 / 1e9))
    } else {
        String::new()
    };
    let connections = run.loop_.connections;
    format!("{kind}{offered}, {connections} connections{depth}, window {}{after}", seconds(run.window_s))
}

/// The rate, and first of all whether the target kept up with what was offered.
fn headline(run: &Run, style: Style) -> String {
    let achieved = format!("{} requests/s", count(run.rate_per_s.achieved));
    let at_least = run.verdicts.iter().any(|verdict| verdict.name == "generator_bound");
    let achieved = if at_least { format!("at least {achieved}") } else { achieved };
    let saturated = run.verdicts.iter().any(|verdict| verdict.name == "saturated");
    match run.rate_per_s.offered {
        Some(offered) if saturated => {
            let line = format!("OVERLOADED: {achieved} achieved of {}/s offered", count(offered));
            format!("  {}\n", style.bad(&line))
        }
        _ => format!("  {}\n", style.strong(&achieved)),
    }
}

/// Percentiles as columns, kinds of time as rows.
fn times_table(run: &Run, style: Style) -> String {
    let total = &run.total;
    let rows: Vec<(&str, Option<&Times>)> = match run.loop_.kind {
        LoopKind::Closed => vec![
            ("service time", total.service_time_ns.as_ref()),
            (
                "first byte",
                total.first_byte_ns.as_ref().filter(|first| {
                    total.service_time_ns.as_ref().is_some_and(|service| first.p99 != service.p99)
                }),
            ),
            ("connect time", total.connect_time_ns.as_ref()),
            ("receive delay", total.receive_delay_ns.as_ref()),
        ],
        LoopKind::Open => vec![
            ("response time", total.response_time_ns.as_ref()),
            ("service time", total.service_time_ns.as_ref()),
            ("connection wait", total.connection_wait_ns.as_ref()),
            ("generator lag", total.generator_lag_ns.as_ref()),
            ("connect time", total.connect_time_ns.as_ref()),
            ("receive delay", total.receive_delay_ns.as_ref()),
        ],
    };
    let censored_from = total.censored.map_or(u64::MAX, |censored| censored.lowest_ns);
    let mut table = vec![["", "p50", "p90", "p99", "p99.9", "max", "mean"].map(str::to_owned)];
    for (name, times) in rows {
        let Some(times) = times else { continue };
        let may_be_censored = name == "response time" || name == "service time";
        let limit = if may_be_censored { censored_from } else { u64::MAX };
        let at =
            |value: u64| format!("{}{}", if value >= limit { "\u{2265}" } else { "" }, nanos(value as f64));
        let [p50, p90, p99, p99_9, max] = [times.p50, times.p90, times.p99, times.p99_9, times.max].map(at);
        table.push([name.to_owned(), p50, p90, p99, p99_9, max, nanos(times.mean)]);
    }
    lines::table(&table, style)
}

fn outcomes(total: &Block) -> String {
    let counts = total.counts;
    let kinds = [
        ("ok", counts.ok),
        ("bad status", counts.bad_status),
        ("bad body", counts.bad_body),
        ("connect failed", counts.connect_failed),
        ("connection broken", counts.io_failed),
        ("timed out", counts.timed_out),
        ("unsent", counts.unsent),
    ];
    let told = kinds.iter().filter(|(name, number)| *number > 0 || *name == "ok");
    let told: Vec<String> = told.map(|(name, number)| format!("{} {name}", count(*number as f64))).collect();
    format!("{} of {} scheduled", told.join(", "), count(counts.scheduled as f64))
}

fn connections(run: &Run) -> String {
    let connections = &run.connections;
    let mut parts = vec![if connections.had == connections.asked {
        count(connections.had as f64)
    } else {
        format!("{} of {} asked for", count(connections.had as f64), count(connections.asked as f64))
    }];
    for (number, what) in [
        (connections.closed_by_server, "closed by the server"),
        (connections.closed_by_us, "closed by us"),
        (connections.failed_attempts, "attempts failed"),
    ] {
        if number > 0 {
            parts.push(format!("{} {what}", count(number as f64)));
        }
    }
    parts.extend(connections.commonest_failure.clone());
    parts.join(", ")
}

/// How evenly connections were served: requests of each in a closed loop, the median of each in an open one.
fn fairness(run: &Run) -> String {
    let connections = &run.connections;
    match (run.loop_.kind, connections.served, connections.service_time_ns_p50) {
        (LoopKind::Open, _, Some(p50)) => format!(
            "service time p50 of the slowest connection {}, of the middle one {}",
            nanos(p50.max as f64),
            nanos(p50.median as f64)
        ),
        (LoopKind::Closed, Some(served), _) if served.max > 0 => {
            let [min, median, max] = [served.min, served.median, served.max].map(|n| count(n as f64));
            format!("{min} to {max} requests a connection, {median} in the middle")
        }
        _ => String::new(),
    }
}

fn generator(run: &Run) -> String {
    let generator = &run.generator;
    let threads =
        if generator.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", generator.threads) };
    let spun = if generator.spin_s > 0.0 {
        format!(", spun {:.0}%", 100.0 * generator.spin_s / run.window_s / f64::from(generator.threads))
    } else {
        String::new()
    };
    format!(
        "{threads}, {:.0}% of a core busy{spun}, {} of CPU a request, {} of memory",
        generator.utilization * 100.0,
        nanos(generator.cpu_ns_per_request),
        bytes(generator.rss_bytes_peak)
    )
}

fn verdict_lines(verdict: &Verdict, style: Style) -> String {
    let mark = match verdict.severity {
        Severity::Invalid => style.bad("invalid"),
        Severity::Caution => style.warn("caution"),
        Severity::Note => style.dim("note"),
    };
    let evidence: Vec<String> =
        verdict.evidence.iter().map(|(key, value)| quantity::evidence(key, value)).collect();
    format!("{mark}: {} ({})\n  {}\n", style.strong(&verdict.name), evidence.join(", "), verdict.remedy)
}
