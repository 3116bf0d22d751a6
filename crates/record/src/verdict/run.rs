//! What a run's own figures say against themselves.
//!
//! The binary asks [`of_run`] once the figures are there. Every judge is a pure function of the record. Whether the
//! target kept up is judged in `saturation.rs`, silence in `outage.rs`, what only a launch shows in `trial.rs`.

use super::disturbance::disturbance;
use super::outage::outage;
use super::saturation::{ACHIEVED_LEAST, achieved_share, arrivals_off, saturated};
use super::segments::offered_per_s_peak;
use super::{Blame, Severity, Verdict};
use crate::block::total;
use crate::{Block, CoreTime, Expectations, Lengths, LoopKind, Run, Times};
use serde_json::json;

/// A generator busier than this share of a core was the limit, or nearly so.
pub const GENERATOR_BUSY_MOST: f64 = 0.9;
/// Share of the response time at which generator lag begins to colour it.
const LAG_SHARE_MOST: f64 = 0.1;
/// Generator lag below this, in nanoseconds, is what a sleeping generator has everywhere: a timer wakes late.
const LAG_UNAVOIDABLE_NS: u64 = 200_000;
/// A lag from which the generator stood still, in nanoseconds,
const STALL_LEAST_NS: u64 = 10_000_000;
/// and its share of the window: from there on it is in the 99th percentile.
const STALL_SHARE_LEAST: f64 = 0.01;
/// Above this share of failed requests, the times and rates are those of the exceptions.
const FAILED_MOST: f64 = 0.5;
/// Closes for each answer from which keep-alive counts as refused: a tenth may be connections that broke otherwise.
const CLOSES_LEAST: f64 = 0.9;
/// Above this share of a median, what the generator added spoils it: less than half of the time is the server's.
const OWN_SHARE_MOST: f64 = 0.5;
/// Samples beyond a percentile that an order-statistic interval at 95 % needs, as a multiple of 1/(1-p)
/// (p^n <= 0.025, that is n >= ln 40 / -ln p, about 3.7/(1-p)).
pub const SAMPLES_FOR_INTERVAL: f64 = 3.7;

/// Every verdict on a run, the worst first.
pub fn of_run(run: &Run) -> Vec<Verdict> {
    let judges: [fn(&Run) -> Option<Verdict>; 20] = [
        nothing_scheduled,
        nothing_sent,
        no_valid_response,
        gave_up,
        outage,
        broke_rules,
        generator_bound,
        saturated,
        generator_lag,
        own_queue,
        arrivals_off,
        too_few_connections,
        failed_requests,
        censored,
        connections_short,
        keep_alive_refused,
        descheduled,
        stolen,
        body_length_varies,
        few_samples,
    ];
    let mut verdicts: Vec<Verdict> = judges.iter().filter_map(|judge| judge(run)).collect();
    verdicts.sort_by_key(|verdict| std::cmp::Reverse(verdict.severity));
    verdicts
}

pub(super) fn is_open(run: &Run) -> bool {
    run.loop_.kind == LoopKind::Open
}

/// Nothing fell due: the window was shorter than a gap of the schedule, or no connection was ever free.
fn nothing_scheduled(run: &Run) -> Option<Verdict> {
    // A closed loop has nothing due for as long as every connection waits for an answer.
    let (blame, remedy) = if is_open(run) {
        (Blame::User, "no request fell due in the window: make it longer, or the rate higher")
    } else {
        (
            Blame::Server,
            "every connection was still waiting for an answer from before: ask for a longer window",
        )
    };
    (run.total.counts.scheduled == 0).then(|| {
        Verdict::new("nothing_scheduled", blame, Severity::Invalid)
            .with("window_s", json!(run.window_s))
            .remedy(remedy)
    })
}

/// The warm-up's backlog took the window and the drain: what was measured was never sent.
fn nothing_sent(run: &Run) -> Option<Verdict> {
    let counts = run.total.counts;
    (counts.scheduled > 0 && counts.unsent == counts.scheduled).then(|| {
        Verdict::new("nothing_sent", Blame::User, Severity::Invalid)
            .with("unsent", json!(counts.unsent))
            .with("backlog_at_window_start", json!(run.generator.backlog_at_window_start))
            .with("achieved_per_s", json!(run.rate_per_s.achieved))
            .remedy("far more was offered than can be sent: offer about what was achieved")
    })
}

/// A run bounded by a number of requests ended before it had scheduled them: there was no connection to be had.
fn gave_up(run: &Run) -> Option<Verdict> {
    let asked = run.loop_.requests?;
    let scheduled = run.total.counts.scheduled;
    (scheduled < asked && !run.stopped).then(|| {
        Verdict::new("gave_up", Blame::Server, Severity::Invalid)
            .with("asked", json!(asked))
            .with("scheduled", json!(scheduled))
            .remedy(
                "no connection could be had any more, the other requests were never made: see to the server",
            )
    })
}

/// Connections were given up because the server sent what no request had asked for, or what is not HTTP.
fn broke_rules(run: &Run) -> Option<Verdict> {
    (run.connections.broke_rules > 0).then(|| {
        Verdict::new("broke_rules", Blame::Server, Severity::Caution)
            .with("connections", json!(run.connections.broke_rules))
            .with("commonest_failure", json!(run.connections.commonest_failure))
            .remedy("its answers do not keep to HTTP/1.1: mend the server before comparing it")
    })
}

/// Not one valid response: whatever was measured, it was not the server doing its work.
fn no_valid_response(run: &Run) -> Option<Verdict> {
    let counts = run.total.counts;
    (counts.scheduled > 0 && counts.ok == 0 && counts.unsent < counts.scheduled).then(|| {
        let verdict = Verdict::new("no_valid_response", Blame::Server, Severity::Invalid)
            .with("scheduled", json!(counts.scheduled));
        with_reasons(verdict, run).remedy(way_out(run))
    })
}

/// What to do where not one answer was as expected, by what happened instead most often.
fn way_out(run: &Run) -> &'static str {
    let counts = &run.total.counts;
    let redirects = run.total.status.iter().filter(|(status, _)| status.starts_with('3'));
    let redirected = total(redirects.map(|(_, count)| *count));
    let [broken, told] = [counts.io_failed, run.connections.broke_rules];
    let ways = [
        (redirected, "the server redirects: give the URL it points to, or say --expect-status"),
        (
            counts.bad_status - redirected.min(counts.bad_status),
            "every answer had a status that is not expected: check the path, ask for the page once by hand, or say --expect-status",
        ),
        (
            counts.bad_body - redirected.min(counts.bad_body),
            "the answers have another body than expected: compare --expect-body with the page, asked for once by hand",
        ),
        (counts.timed_out, no_answer(run)),
        (broken.min(told), "what came is not HTTP/1.1: is it the right port, and http rather than https?"),
        (
            broken - broken.min(told),
            "the server broke every connection: its log should say why; ask for the page once by hand",
        ),
        (
            counts.connect_failed,
            "connections could not be made: is the server still running, and its backlog long enough?",
        ),
    ];
    // Of equals the first: the more telling ones stand first.
    ways.into_iter().rev().max_by_key(|(count, _)| *count).map_or("", |(_, way)| way)
}

/// What to do where no answer came: the timeout ended the wait, or the end of the run did.
fn no_answer(run: &Run) -> &'static str {
    // There was no other answer: all service times are waits in vain.
    if run.total.service_time_ns.as_ref().is_some_and(|waited| waited.max < run.timeout_ns) {
        return "no answer came before the run was over: ask for the page once by hand; if it is only slow, measure for \
                longer, or give it longer at the end (--drain)";
    }
    "no answer came within the timeout: ask for the page once by hand; if it is only slow, raise --timeout"
}

/// The generator ran out of CPU. A closed loop's rate is then a lower bound of the server's; an open loop that did
/// not deliver says nothing of the server at all.
fn generator_bound(run: &Run) -> Option<Verdict> {
    let busy = run.generator.utilization > GENERATOR_BUSY_MOST;
    let delivered = !is_open(run) || achieved_share(run) >= ACHIEVED_LEAST;
    let severity = if delivered { Severity::Caution } else { Severity::Invalid };
    busy.then(|| {
        Verdict::new("generator_bound", Blame::Generator, severity)
            .with("generator_utilization", json!(run.generator.utilization))
            .with("threads", json!(run.generator.threads))
            .remedy("the rate is at least this: give the generator more threads on cores of their own (-t)")
    })
}

/// The generator sent late by a share of what it measured, or stood still for a share of the window: what fell due
/// meanwhile waited for it, with the connections, and was late by no fault of the server.
fn generator_lag(run: &Run) -> Option<Verdict> {
    let lag = run.total.generator_lag_ns.as_ref()?;
    let response = run.total.response_time_ns.as_ref()?;
    let late = lag.p99 > LAG_UNAVOIDABLE_NS && lag.p99 as f64 > LAG_SHARE_MOST * response.p99 as f64;
    let spoils = lag.p50 as f64 > OWN_SHARE_MOST * response.p50 as f64 && lag.p50 > LAG_UNAVOIDABLE_NS;
    let severity = if spoils { Severity::Invalid } else { Severity::Caution };
    let stall_ns = STALL_LEAST_NS.max((STALL_SHARE_LEAST * run.window_s * 1e9) as u64);
    let stood = lag.max >= stall_ns && lag.max as f64 > OWN_SHARE_MOST * response.p99 as f64;
    (late || spoils || stood).then(|| {
        Verdict::new("generator_lag", Blame::Generator, severity)
            .with("generator_lag_ns_p99", json!(lag.p99))
            .with("generator_lag_ns_max", json!(lag.max))
            .with("response_time_ns_p99", json!(response.p99))
            .remedy("part of the response time is ours; read the service time, or give the generator a core of its own")
    })
}

/// Answers lay in the generator's kernel for most of what was measured: it was our queue, not the server's work. Only
/// `--timestamps kernel` can tell; a generator at its limit nearly always has one.
fn own_queue(run: &Run) -> Option<Verdict> {
    let delay = run.total.receive_delay_ns.as_ref()?;
    let service = run.total.service_time_ns.as_ref()?;
    (delay.p50 as f64 > OWN_SHARE_MOST * service.p50 as f64).then(|| {
        Verdict::new("own_queue", Blame::Generator, Severity::Caution)
            .with("receive_delay_ns_p50", json!(delay.p50))
            .with("service_time_ns_p50", json!(service.p50))
            .remedy(
                "most of the service time is answers waiting to be read here: measure at a fixed rate (-r)",
            )
    })
}

/// By Little's law a rate needs at least rate x service time connections; with fewer, requests wait for one.
fn too_few_connections(run: &Run) -> Option<Verdict> {
    let wait = run.total.connection_wait_ns.as_ref()?;
    let service = run.total.service_time_ns.as_ref()?;
    let needed = offered_per_s_peak(run)? * service.p50 as f64 / 1e9;
    let had = run.connections.had as f64 * f64::from(run.loop_.depth);
    (wait.p50 > 0 && needed > had).then(|| {
        Verdict::new("too_few_connections", Blame::User, Severity::Caution)
            .with("connections", json!(run.connections.had))
            .with("connections_needed", json!(needed.ceil()))
            .with("connection_wait_ns_p50", json!(wait.p50))
            .remedy("requests waited for a free connection: ask for more connections (-c)")
    })
}

/// Adds what is known of why requests failed: the statuses they came with, the bodies, the connections.
fn with_reasons(verdict: Verdict, run: &Run) -> Verdict {
    let counts = run.total.counts;
    let verdict =
        if counts.bad_status > 0 { verdict.with("status", json!(run.total.status)) } else { verdict };
    let verdict =
        if counts.bad_body > 0 { verdict.with("bad_body", json!(counts.bad_body)) } else { verdict };
    match &run.connections.commonest_failure {
        Some(failure) => verdict.with("commonest_failure", json!(failure)),
        None => verdict,
    }
}

/// Some requests failed. Where most did, the figures are those of the exceptions.
fn failed_requests(run: &Run) -> Option<Verdict> {
    let counts = run.total.counts;
    (counts.ok > 0 && counts.failed() > 0).then(|| {
        let share = counts.failed() as f64 / counts.scheduled as f64;
        let severity = if share > FAILED_MOST { Severity::Invalid } else { Severity::Caution };
        let verdict = Verdict::new("failed_requests", Blame::Server, severity)
            .with("failed", json!(counts.failed()))
            .with("share", json!(share));
        with_reasons(verdict, run).remedy("failures are in no percentile: judge the server by both")
    })
}

/// Some requests were never answered: high percentiles are lower bounds.
fn censored(run: &Run) -> Option<Verdict> {
    let censored = run.total.censored?;
    Some(
        Verdict::new("censored", Blame::Server, Severity::Caution)
            .with("timed_out", json!(run.total.counts.timed_out))
            .with("unsent", json!(run.total.counts.unsent))
            .with("lowest_ns", json!(censored.lowest_ns))
            .remedy("percentiles at or above the lowest time waited are lower bounds, printed with \u{2265}"),
    )
}

/// Fewer connections than asked for.
fn connections_short(run: &Run) -> Option<Verdict> {
    let connections = &run.connections;
    let blame = if connections.failed_here > 0 { Blame::Environment } else { Blame::Server };
    (connections.had < connections.asked).then(|| {
        Verdict::new("connections_short", blame, Severity::Caution)
            .with("asked", json!(connections.asked))
            .with("had", json!(connections.had))
            .with("commonest_failure", json!(connections.commonest_failure))
            .with("failed_here", json!(connections.failed_here))
            .remedy(
                "the load is not the one asked for: raise the limits of whoever ran out, or ask for fewer",
            )
    })
}

/// The server closed after nearly every response.
fn keep_alive_refused(run: &Run) -> Option<Verdict> {
    let closed = run.connections.closed_by_server as f64;
    // Closes are counted from the warm-up on, so the answers are too, good and bad.
    let cohorts = run.intervals.iter().filter(|interval| interval.phase != crate::Phase::Connect);
    let answered = total(cohorts.flat_map(|interval| interval.block.status.values().copied()));
    // The last close of each connection may come when nobody looks any more.
    let had = run.connections.had as f64;
    let refused = answered > 0 && closed >= CLOSES_LEAST * (answered as f64 - had) && closed > had;
    refused.then(|| {
        Verdict::new("keep_alive_refused", Blame::Server, Severity::Caution)
            .with("closed_by_server", json!(run.connections.closed_by_server))
            .with("protocol", json!(run.target.protocol))
            .remedy("the server closed after every response: this measures connecting, compare it with its like only")
    })
}

/// Other processes ran on the generator's cores.
fn descheduled(run: &Run) -> Option<Verdict> {
    let share =
        run.generator.run_delay_s / (run.window_s * f64::from(run.generator.threads)).max(f64::MIN_POSITIVE);
    // A generator free to run anywhere shares its cores with the server as a matter of course.
    let confined = run.generator.cores.len() < run.environment.cores as usize;
    disturbance(share).map(|severity| {
        let severity = if confined { severity } else { severity.min(Severity::Caution) };
        Verdict::new("generator_descheduled", Blame::Environment, severity)
            .with("run_delay_share", json!(share))
            .remedy("something else ran on the generator's cores: pin it to a core of its own")
    })
}

/// The hypervisor took time from the machine.
fn stolen(run: &Run) -> Option<Verdict> {
    let cores = &run.generator.by_core;
    let share = cores.iter().map(CoreTime::steal_share_least).sum::<f64>() / cores.len().max(1) as f64;
    disturbance(share).map(|severity| {
        Verdict::new("steal", Blame::Environment, severity)
            .with("steal_share", json!(share))
            .remedy("the hypervisor gave the machine's time to others: repeat on a quieter host")
    })
}

/// Nobody said what the body should be, and it was not always as long.
fn body_length_varies(run: &Run) -> Option<Verdict> {
    let lengths = match &run.by_request {
        Some(parts) => parts.iter().find_map(|part| varying(&part.block, &part.expectations)),
        None => varying(&run.total, &run.expectations),
    }?;
    Some(
        Verdict::new("body_length_varies", Blame::User, Severity::Note)
            .with("body_bytes_min", json!(lengths.min))
            .with("body_bytes_max", json!(lengths.max))
            .remedy("responses differ in length: say what is right with --expect-body, unless they are meant to differ"),
    )
}

/// The lengths of the bodies of one request, where they differ and nothing was said of the body.
fn varying(block: &Block, expected: &Expectations) -> Option<Lengths> {
    let is_checked =
        expected.body_bytes.is_some() || expected.body_sha256.is_some() || !expected.json.is_empty();
    block.body_bytes.filter(|lengths| !is_checked && lengths.min != lengths.max)
}

/// Too few requests for the 99th percentile to mean anything.
fn few_samples(run: &Run) -> Option<Verdict> {
    let times: &Times = run.total.response_time_ns.as_ref().or(run.total.service_time_ns.as_ref())?;
    let needed = SAMPLES_FOR_INTERVAL / (1.0 - 0.99);
    ((times.count as f64) < needed).then(|| {
        Verdict::new("few_samples", Blame::User, Severity::Note)
            .with("samples", json!(times.count))
            .with("samples_for_p99", json!(needed.ceil()))
            .remedy("too few requests for the 99th percentile and beyond: measure longer")
    })
}

#[cfg(test)]
#[path = "run/tests.rs"]
mod tests;
