//! The rest of what there is to say of a run: its connections and its generator.
//!
//! Called last by `mod.rs`. A fact of which there is nothing to say has no line. Whether any of them spoils the run is
//! told further up, by `concerns.rs`.

use super::lines::{Style, facts};
use super::quantity::{bytes, count, counted, nanos, plural};
use paceline_record::{LoopKind, Run};

/// A line for each.
pub(super) fn of_run(run: &Run, style: Style) -> String {
    let told = [
        ("address", address(run)),
        ("TLS", tls(run)),
        ("connections", connections(run)),
        ("fairness", fairness(run)),
        ("generator", generator(run)),
    ];
    facts(&told, style)
}

/// Where connections went, where that was not the first choice.
fn address(run: &Run) -> String {
    if run.target.tried.is_empty() {
        return String::new();
    }
    let tried = run.target.tried.iter().map(|tried| format!("{}: {}", tried.address, tried.failure));
    format!("{}, since others did not answer: {}", run.target.address, tried.collect::<Vec<_>>().join("; "))
}

/// What was agreed on, and what handshakes there were.
fn tls(run: &Run) -> String {
    let Some(tls) = &run.target.tls else { return String::new() };
    let mut parts: Vec<String> = tls.version.clone().into_iter().collect();
    parts.extend([&tls.cipher, &tls.alpn].into_iter().flatten().cloned());
    parts.push(counted(tls.full as f64, "full handshake"));
    if tls.resumed > 0 {
        parts.push(format!("{} resumed", count(tls.resumed as f64)));
    }
    if !tls.verified {
        parts.push("certificate not checked".to_owned());
    }
    parts.join(", ")
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
        (connections.closed_as_asked, "closed as asked"),
        (
            connections.failed_attempts,
            &*format!("attempt{} failed", plural(connections.failed_attempts as f64)),
        ),
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
        (LoopKind::Closed, Some(served), _) if (served.min, served.max) == (1, 1) => {
            "1 request a connection".to_owned()
        }
        (LoopKind::Closed, Some(served), _) if served.max > 0 => {
            let [min, median, max] = [served.min, served.median, served.max].map(|n| count(n as f64));
            format!("{min} to {max} requests a connection, {median} in the middle")
        }
        _ => String::new(),
    }
}

fn generator(run: &Run) -> String {
    let generator = &run.generator;
    let threads = counted(f64::from(generator.threads), "thread");
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
