//! The result of a capacity search as text for a terminal: the answer first.
//!
//! Everything printed here is a field of [`Capacity`]; its JSON has more digits.

use crate::capacity::Capacity;
use crate::load::{Range, RateUnit, RequestSummary, TimeSummary};
use crate::window_outcome::WindowOutcome;
use paceline_report::{Align, Grid};
use paceline_stats::{count_text, counted, fine_percent_text, percent_of, percent_text, time_text};
use std::fmt::Write as _;

/// The result in lines.
pub fn capacity_text(capacity: &Capacity) -> String {
    let mut text = String::new();
    let objective = &capacity.objective;
    let rate = |per_s| rate(per_s, capacity.unit);
    match (capacity.half_pass_per_s, capacity.interval_per_s, capacity.stalls_decide) {
        (_, _, Some(span)) => {
            line(
                &mut text,
                "capacity",
                "undefined: the result depends on pauses of the server, not on the load",
            );
            let rates = match span.high > 0.0 {
                true => format!(
                    "lowest rate that missed the objective: {}, highest rate that met it: {}",
                    rate(span.low),
                    rate(span.high)
                ),
                false => format!(
                    "the objective was missed at every rate, even at {}, although median times are short: the cause is pauses of the server, not the load",
                    rate(span.low)
                ),
            };
            line(&mut text, "span", &rates);
            let remedy = format!(
                "find the cause of the pauses (`paceline run -r {:.0}`), or use longer windows (--window)",
                (span.high / 2.0).max(span.low)
            );
            line(&mut text, "remedy", &remedy);
        }
        (Some(half_pass), Some(interval), None) => {
            let width = format!("{} to {}", rate(interval.low), rate(interval.high));
            line(&mut text, "capacity", &format!("{} (95 % interval {width})", rate(half_pass)));
            let meaning =
                format!("half of all {} s windows at this rate meet {objective}", capacity.window_s);
            line(&mut text, "meaning", &meaning);
            if !capacity.is_precise {
                line(&mut text, "note", "the interval is wider than --precision: raise --windows");
            }
        }
        _ if is_spoiled(capacity) => {
            line(&mut text, "capacity", "not measured: the generator or the machine disturbed every window");
        }
        _ => line(&mut text, "capacity", &without_rate(capacity)),
    }
    confirmations(&mut text, capacity);
    let searched = capacity.windows.iter().filter(|window| window.outcome != WindowOutcome::Void).count();
    let void = capacity.windows.len() - searched;
    let void = if void > 0 { format!(", {void} disturbed and not counted") } else { String::new() };
    let windows = counted(searched, "window", "windows");
    line(&mut text, "search", &format!("{windows} of {} s{void}", capacity.window_s));
    let connections = counted(capacity.connections, "connection", "connections");
    line(&mut text, "closed loop", &format!("{} with {connections}", rate(capacity.closed_loop_per_s)));
    line(&mut text, "limit", &format!("{}: {}", capacity.limit.kind.words(), capacity.limit.evidence));
    if let Some(knee) = capacity.knee_per_s {
        line(
            &mut text,
            "knee",
            &format!("{} (where p99 reaches twice the p99 of the lowest load)", rate(knee)),
        );
    }
    if let Some(why) = &capacity.ended_early {
        line(&mut text, "ended early", why);
    }
    curve(&mut text, capacity);
    requests(&mut text, capacity);
    text
}

/// Whether the search had windows, of which none counts.
fn is_spoiled(capacity: &Capacity) -> bool {
    let mut windows = capacity.windows.iter();
    !capacity.windows.is_empty() && windows.all(|window| window.outcome == WindowOutcome::Void)
}

/// The answer of a search in which no window met the objective, or all of them.
fn without_rate(capacity: &Capacity) -> String {
    let objective = &capacity.objective;
    let met = capacity.windows.iter().filter(|window| window.outcome == WindowOutcome::Pass);
    match met.map(|window| window.offered_per_s).reduce(f64::max) {
        Some(most) => format!("above {}: every offered rate met {objective}", rate(most, capacity.unit)),
        None => format!("none: no offered rate met {objective}"),
    }
}

fn confirmations(text: &mut String, capacity: &Capacity) {
    let rate = |per_s| rate(per_s, capacity.unit);
    for confirmation in &capacity.confirmations {
        let value = confirmation.value_ns.map_or(String::new(), |value| {
            let interval = confirmation.value_interval_ns.map_or(String::new(), |Range { low, high }| {
                format!(" ({} to {})", time_text(low), time_text(high))
            });
            let percentile = capacity.objective.request_percentile();
            let percent = percentile.map_or(String::new(), |p| format!("p{} ", percent_of(p)));
            format!(", {percent}{}{interval}", time_text(value as f64))
        });
        let outcome = match confirmation.outcome {
            WindowOutcome::Pass => "met the objective",
            WindowOutcome::Miss => "missed the objective",
            WindowOutcome::Void => "was disturbed by the generator or the machine",
        };
        let offered = rate(confirmation.offered_per_s);
        let failed = match confirmation.scheduled {
            0 => String::new(),
            scheduled => {
                format!(", {} failed", fine_percent_text(confirmation.failed as f64 / scheduled as f64))
            }
        };
        line(
            text,
            "long run",
            &format!("{offered} for {} s {outcome}{value}{failed}", confirmation.window_s),
        );
    }
}

fn curve(text: &mut String, capacity: &Capacity) {
    if capacity.curve.is_empty() {
        return;
    }
    let mut rows = vec![["load", "offered", "response p50", "p99", "server cores"].map(str::to_owned)];
    rows.extend(capacity.curve.iter().map(|point| {
        let [p50, p99] = median_and_tail(point.response_time_ns);
        let cores = point.server_cores_used.map_or("-".to_owned(), |used| format!("{used:.2}"));
        let share = percent_text(point.share);
        [share, rate(point.offered_per_s, capacity.unit), p50, p99, cores]
    }));
    let _ = write!(text, "\n{}", Grid::text(&[Align::Right; 5], &rows, 2));
}

/// The median and the 99th percentile of times, where they were measured.
fn median_and_tail(times: Option<TimeSummary>) -> [String; 2] {
    times.map_or(["-".to_owned(), "-".to_owned()], |times| {
        [times.p50, times.p99].map(|ns| time_text(ns as f64))
    })
}

/// The results of each request and session in the long window that met the objective; without one, in the window with
/// the highest rate that met it.
fn requests(text: &mut String, capacity: &Capacity) {
    let is_met = |outcome: WindowOutcome| outcome == WindowOutcome::Pass;
    let long = capacity.confirmations.iter().find(|long| is_met(long.outcome));
    let long = long.map(|long| (long.offered_per_s, &long.by_session, &long.by_request));
    let highest = || {
        let met = capacity.windows.iter().filter(|window| is_met(window.outcome));
        let highest = met.max_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s))?;
        Some((highest.offered_per_s, &highest.by_session, &highest.by_request))
    };
    let Some((offered, sessions, steps)) = long.or_else(highest) else { return };
    let rows =
        sessions.iter().map(|part| ("session", part)).chain(steps.iter().map(|part| ("request", part)));
    let rows: Vec<(&str, &RequestSummary)> = rows.collect();
    if rows.is_empty() {
        return;
    }
    let at = format!("at {}", rate(offered, capacity.unit));
    let mut lines = vec![[at.as_str(), "count", "failed", "p50", "p99"].map(str::to_owned)];
    lines.extend(rows.into_iter().map(|(kind, part)| {
        let [p50, p99] = median_and_tail(part.time_ns);
        let failed = fine_percent_text(part.failed as f64 / part.scheduled.max(1) as f64);
        [format!("{kind} {}", part.name), paceline_stats::whole(part.scheduled as f64), failed, p50, p99]
    }));
    let aligns = [Align::Left, Align::Right, Align::Right, Align::Right, Align::Right];
    let _ = write!(text, "\n{}", Grid::text(&aligns, &lines, 0));
}

fn line(text: &mut String, label: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{label:<12} {value}");
}

/// A rate with its unit: `16,230/s`, `42.5 sessions/s`.
pub fn rate(per_s: f64, unit: RateUnit) -> String {
    let number = count_text(per_s);
    match unit {
        RateUnit::Requests => format!("{number}/s"),
        RateUnit::Sessions => format!("{number} sessions/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_units() {
        assert_eq!(
            [16_230.4, 1_234_567.0, 99.94, 100.0].map(|per_s| rate(per_s, RateUnit::Requests)),
            ["16,230/s", "1,234,567/s", "99.9/s", "100/s"]
        );
        assert_eq!(rate(42.5, RateUnit::Sessions), "42.5 sessions/s");
    }
}
