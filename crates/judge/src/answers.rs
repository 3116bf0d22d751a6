//! Judges of the server's responses: missing, wrong, against the rules of HTTP, or too few.
//!
//! Every judge is a pure function of the run. `load.rs` judges whether the server kept up.

use crate::facts::{SHARES_NEED_S, blame_for, fails_here, is_open, is_websocket, look, raise_limits};
use crate::{MAX_GENERATOR_BUSY, MIN_ACHIEVED, SAMPLES_FOR_INTERVAL, TypedVerdict, load, overload};
use paceline_record::{
    Block, BodyFaults, Counts, Expectations, Lengths, Phase, Run, Served, Severity, Times,
};
use paceline_stats::ratio;
use std::collections::BTreeMap;

/// Above this share of failed requests a result is not usable, unless the user accepts more (`--max-errors`): its rates
/// and times are those of another load than the requested one. The same share as that of an undelivered load.
pub const MAX_NOT_OK_SHARE: f64 = 1.0 - MIN_ACHIEVED;
/// Closes per response from which keep-alive counts as refused: a tenth may be connections that broke for other
/// reasons.
const MIN_CLOSES: f64 = 0.9;
/// Responses per connection from which a connection without a response counts as starved.
const MIN_SERVED: u64 = 10;
/// The first retry of a handshake comes after a second (RFC 6298 §2.1; Linux: TCP_TIMEOUT_INIT).
pub(crate) const SYN_RETRY_NS: u64 = 990_000_000;
/// Time between first and last byte that indicates a wait for a delayed acknowledgement (Linux: TCP_DELACK_MIN, 40 ms).
const DELAYED_ACK_NS: std::ops::Range<u64> = 38_000_000..50_000_000;
/// Longer bodies, in bytes, take their time to transfer: every second full segment is acknowledged at once (RFC 9293
/// §3.8.6.3), and none is longer than 64 KiB, that of loopback.
const DELAYED_ACK_MAX_BODY: f64 = 262_144.0;

/// The remedy if some connections got no response at all.
const STARVED: &str = "The server responds on only some of its connections; the times do not include requests sent \
    before the window that got no response. Raise its worker or connection limit, or lower -c.";
/// The remedy if requests hang on any connection.
const HANGING: &str = "Some requests hang, on connections that get other responses; each holds its connection until \
    the timeout, and the times do not include those sent before the window. Look for the reason in the server's log: \
    a lock, a full pool, or a service behind it that does not answer.";

/// Requests needed for a 95 % interval of the 99th percentile.
const SAMPLES_FOR_P99: f64 = SAMPLES_FOR_INTERVAL / (1.0 - 0.99);

/// Why requests failed: statuses, bodies, connections.
type Reasons = (Option<BTreeMap<String, u64>>, Option<u64>, Option<String>);

fn reasons(run: &Run) -> Reasons {
    let counts = run.total.counts;
    let status = (counts.bad_status > 0).then(|| run.total.status.clone());
    let bad_body = (counts.bad_body > 0).then_some(counts.bad_body);
    (status, bad_body, run.connections.commonest_failure.clone())
}

pub(crate) fn body_changed(run: &Run) -> Option<TypedVerdict> {
    let BodyFaults { changed, connections } = run.body_faults.clone()?;
    Some(TypedVerdict::BodyChanged { changed, connections })
}

pub(crate) fn broke_rules(run: &Run) -> Option<TypedVerdict> {
    let connections = run.connections.broke_rules;
    (connections > 0).then(|| TypedVerdict::BrokeRules {
        connections,
        commonest_failure: run.connections.commonest_failure.clone(),
        look: look(run).replace("curl -i ", "curl -i --raw "),
    })
}

/// In a closed loop, the evenness of the responses over connections reveals a connection without a response in the
/// window. In both loops the engine counts the requests that were outstanding when the window opened.
pub(crate) fn starved_connections(run: &Run) -> Option<TypedVerdict> {
    let connections = &run.connections;
    let carried = run.carried_over;
    let unanswered = carried.map(|carried| carried.unanswered);
    // A connection that is opened late or closed early serves fewer than others.
    let served = connections.served.filter(|_| !is_open(run) && run.loop_.connection_plan.is_none());
    let is_starved = |served: Served| served.min == 0 && served.median >= MIN_SERVED;
    let starved = served.is_some_and(is_starved);
    // Requests that a growing queue leaves unanswered are judged as saturation. If no request was answered,
    // `no_valid_response` says so.
    let waits = overload::is_saturated(run);
    let hang = waits && overload::Bottleneck::from_run(run) == overload::Bottleneck::Hanging;
    let is_served = run.total.counts.ok > 0;
    let left = is_served && (hang || !waits && unanswered.is_some_and(|count| count > 0));
    // Requests that hang on any connection time out again and again, and each connection gets responses before.
    let timed_out = run.total.counts.timed_out;
    let is_random = timed_out > 0 && !connections.served.is_some_and(is_starved);
    (starved || left).then_some(TypedVerdict::StarvedConnections {
        unanswered,
        outstanding_at_window_start: carried.map(|carried| carried.outstanding),
        timed_out: is_random.then_some(timed_out),
        connections: connections.had,
        served_min: served.map(|served| served.min),
        served_median: served.map(|served| served.median),
        advice: if is_random { HANGING } else { STARVED },
    })
}

pub(crate) fn no_valid_response(run: &Run) -> Option<TypedVerdict> {
    let counts = run.total.counts;
    (counts.scheduled > 0 && counts.ok == 0 && counts.unsent < counts.scheduled).then(|| {
        let (status, bad_body, commonest_failure) = reasons(run);
        TypedVerdict::NoValidResponse {
            scheduled: counts.scheduled,
            status,
            bad_body,
            commonest_failure,
            blame: blame_for(run, &counts),
            advice: if fails_here(run, &counts) { raise_limits(run) } else { advice(run) },
        }
    })
}

/// The remedy if no response was as expected, by the most frequent failure.
fn advice(run: &Run) -> String {
    let counts = &run.total.counts;
    // 304 is no redirect: it answers a conditional request (RFC 9110, 15.4.5).
    let redirects =
        run.total.status.iter().filter(|(status, _)| status.starts_with('3') && status.as_str() != "304");
    let redirected = redirects.fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
    let not_http = failed_on(run, run.connections.broke_rules);
    let too_long = failed_on(run, run.connections.heads_too_long);
    let unreadable = unreadable(run);
    let look = look(run);
    let ways = [
        (redirected, redirect_advice(run, &look)),
        (counts.bad_status - redirected.min(counts.bad_status), status_advice(run, &look)),
        (
            counts.bad_body - redirected.min(counts.bad_body),
            format!("No response has the body that {} requires. {look}", expectation(run)),
        ),
        (counts.timed_out, no_answer(run, &look)),
        (not_http, broken_rules(run, &look)),
        (
            too_long,
            "The responses have more than 64 KiB of headers, which Paceline does not read. Send fewer headers.".to_owned(),
        ),
        (
            unreadable,
            "No request could be sent whole, because the file of its body became shorter or unreadable. Send a copy \
             that nothing changes."
                .to_owned(),
        ),
        (
            counts.io_failed - not_http.max(too_long).max(unreadable),
            format!("The server closed or reset connections (or streams) before a complete response. Look for the reason in the server's log.{} {look}", tls_hint(run)),
        ),
        (counts.connect_failed, connect_advice(run, &look)),
    ];
    // The first of equals wins: the more specific ones come first.
    ways.into_iter().rev().max_by_key(|(count, _)| *count).map_or(look, |(_, way)| way)
}

/// The most requests that can have failed because this many connections did: all that were outstanding on them.
fn failed_on(run: &Run, connections: u64) -> u64 {
    run.total.counts.io_failed.min(connections.saturating_mul(run.loop_.depth.into()))
}

/// The most requests that can have failed because a body could not be read.
fn unreadable(run: &Run) -> u64 {
    failed_on(run, run.body_faults.as_ref().map_or(0, |faults| faults.connections))
}

/// The remedy if connections could not be opened. A WebSocket is open when its handshake is answered.
fn connect_advice(run: &Run, look: &str) -> String {
    if is_websocket(run) {
        let failure = failure(run);
        return format!(
            "Some connections could not be opened: {failure}. Check the path, and that the server still runs.{} {look}",
            tls_hint(run)
        );
    }
    "Some connections could not be opened. Check that the server still runs and that its listen backlog is long enough."
        .to_owned()
}

/// The most frequent failure of connections.
fn failure(run: &Run) -> &str {
    run.connections.commonest_failure.as_deref().unwrap_or("see the record")
}

/// The response does not follow the requested protocol. A server without HTTP/2 or HTTP/3 is detected before the run begins.
fn broken_rules(run: &Run, look: &str) -> String {
    let failure = failure(run);
    match run.target.protocol.as_str() {
        _ if is_websocket(run) => format!(
            "The server violates WebSocket: {failure}. If the port and the path are correct, fix the server. {look}"
        ),
        "http/2" => format!("The response violates HTTP/2: {failure}. Fix the server, or use --http 1.1."),
        "http/3" => format!("The response violates HTTP/3: {failure}. Fix the server, or use --http 2."),
        _ => format!(
            "The response is not valid HTTP/1.1. Check the port, and whether it is http or https; if both are correct, fix the server. {look}"
        ),
    }
}

/// The remedy if every response is a redirect.
fn redirect_advice(run: &Run, look: &str) -> String {
    match run.job.as_ref().map_or(0, |job| job.follow) {
        _ if is_websocket(run) => format!("The server redirects the handshake. Use the final URL. {look}"),
        0 => format!(
            "The server redirects. Follow the redirects (--follow 5), use the final URL, or use --expect-status. {look}"
        ),
        _ => {
            format!("The redirects could not be followed. Look for the reason in the first response. {look}")
        }
    }
}

/// The remedy if every response has an unexpected status.
fn status_advice(run: &Run, look: &str) -> String {
    let only_400 = run.total.status.keys().all(|status| status == "400");
    let hint = if only_400 { tls_hint(run) } else { "" };
    if is_websocket(run) {
        return format!("No handshake was answered with status 101. Check the path.{hint} {look}");
    }
    let flag = if run.target.is_grpc() { "--expect-grpc-status" } else { "--expect-status" };
    format!("No response has the expected status. Check the path, or use {flag}.{hint} {look}")
}

/// Servers answer plain text on a TLS port with status 400, or close the connection.
fn tls_hint(run: &Run) -> &'static str {
    match run.target.url.split_once("://") {
        Some(("http", _)) => " If this is a TLS port, try https://.",
        Some(("ws", _)) => " If this is a TLS port, try wss://.",
        _ => "",
    }
}

/// The flag that sets the expected body.
fn expectation(run: &Run) -> &'static str {
    let Run { expectations, total, .. } = run;
    match expectations {
        _ if total.stream_events.is_some() => "--stream",
        Expectations { json, .. } if !json.is_empty() => "--expect-json",
        Expectations { json_form: Some(_), .. } => "--expect-json-form",
        Expectations { body_bytes: None, body_sha256: Some(_), .. } => "--expect-sha256",
        Expectations { echo: true, .. } => "--ws-answer",
        Expectations { body_bytes: Some(_), .. } if is_websocket(run) => "--ws-answer or --expect-body",
        Expectations { body_bytes: Some(_), .. } => "--expect-body",
        _ => "the request file",
    }
}

/// The remedy if requests ended by the timeout or by the end of the run.
fn no_answer(run: &Run, look: &str) -> String {
    // There was no other response: all service times belong to abandoned requests.
    if run.total.service_time_ns.as_ref().is_some_and(|waited| waited.max < run.timeout_ns) {
        return format!(
            "The run ended before a response arrived. If the server is only slow, measure longer (-d) or wait longer (--drain). {look}"
        );
    }
    if run.connections.responses_without_end > 0 {
        return format!(
            "Responses arrived, but their end is unknown: they have no Content-Length and no chunks, and the server does not close the connection. Send Content-Length, or close the connection. {look}"
        );
    }
    format!(
        "No complete response arrived within the timeout. If the server is only slow, raise --timeout. {look}"
    )
}

/// Judges all requests that did not end ok. Requests that only a growing queue left without a response are judged as
/// overload, and those whose bodies could not be read as `body_changed`, unless others failed too. Requests that the
/// user cut off by stopping the run did not fail.
pub(crate) fn failed_requests(run: &Run) -> Option<TypedVerdict> {
    let counts = Counts { timed_out: run.exceeded_timeout(), ..run.total.counts };
    let is_queue = counts.failed() == 0 && overload::is_saturated(run);
    (counts.ok > 0 && counts.not_ok() > unreadable(run) && !is_queue).then(|| {
        let share = counts.not_ok_share();
        let (status, bad_body, commonest_failure) = reasons(run);
        let max_share = run.not_ok_share_allowed.map_or(MAX_NOT_OK_SHARE, |most| most.max(MAX_NOT_OK_SHARE));
        let is_invalid = share > max_share || no_session_completed(run);
        let severity = if is_invalid { Severity::Invalid } else { Severity::Caution };
        let some = |count: u64| (count > 0).then_some(count);
        TypedVerdict::FailedRequests {
            failed: counts.not_ok(),
            share,
            bad_status: some(counts.bad_status),
            status,
            bad_body,
            connect_failed: some(counts.connect_failed),
            io_failed: some(counts.io_failed),
            timed_out: some(counts.timed_out),
            unsent: some(counts.unsent),
            commonest_failure,
            blame: blame_for(run, &counts),
            severity,
            look: match fails_here(run, &counts) {
                true => format!(" {}", raise_limits(run)),
                false => look_at_failures(run),
            },
        }
    })
}

/// Whether sessions began and each of them failed in a step.
fn no_session_completed(run: &Run) -> bool {
    let sessions = run.sessions.as_deref().unwrap_or_default();
    sessions.iter().any(|session| session.failed > 0) && sessions.iter().all(|session| session.completed == 0)
}

/// How to find the reason if some requests failed; nothing if they only timed out or could not connect.
fn look_at_failures(run: &Run) -> String {
    let counts = run.total.counts;
    let redirects = run.total.status.keys().any(|status| status.starts_with('3') && status != "304");
    let follows = run.job.as_ref().is_some_and(|job| job.follow > 0);
    if counts.bad_status > 0 || counts.bad_body > 0 {
        let follow = if redirects && !follows { " Follow redirects with --follow 5." } else { "" };
        return format!("{follow} {}", look(run));
    }
    let is_broken = counts.io_failed > unreadable(run);
    if is_broken { " Look for the reason in the server's log.".to_owned() } else { String::new() }
}

pub(crate) fn streams_limited(run: &Run) -> Option<TypedVerdict> {
    let streams_allowed = run.connections.streams_allowed?;
    let streams_asked = run.loop_.depth;
    // Without any stream nothing was measured, and that verdict names the limit.
    (streams_allowed < streams_asked && !load::has_no_stream(run))
        .then_some(TypedVerdict::StreamsLimited { streams_allowed, streams_asked })
}

pub(crate) fn compressed_unasked(run: &Run) -> Option<TypedVerdict> {
    run.connections.compressed_unasked.then_some(TypedVerdict::CompressedUnasked {})
}

pub(crate) fn ended_after_cancels(run: &Run) -> Option<TypedVerdict> {
    let connections = run.connections.ended_after_cancels;
    (connections > 0).then_some(TypedVerdict::EndedAfterCancels { connections })
}

/// The longest time that it took to connect, in the whole run.
pub(crate) fn longest_connect_ns(run: &Run) -> Option<u64> {
    let of_connects = run.intervals.iter().filter_map(|interval| interval.block.connect_time_ns.as_ref());
    of_connects.map(|times| times.max).max()
}

/// The count is the machine's: only a connection that had to try again shows that it concerns this run.
pub(crate) fn listen_overflows(run: &Run) -> Option<TypedVerdict> {
    let overflows = run.connections.listen_overflows.filter(|count| *count > 0)?;
    let longest = longest_connect_ns(run)?;
    (longest >= SYN_RETRY_NS)
        .then_some(TypedVerdict::ListenOverflows { overflows, connect_time_ns_max: longest })
}

pub(crate) fn cookies_dropped(run: &Run) -> Option<TypedVerdict> {
    let dropped = run.connections.cookies_dropped;
    (dropped > 0).then_some(TypedVerdict::CookiesDropped { dropped })
}

pub(crate) fn censored(run: &Run) -> Option<TypedVerdict> {
    let censored = run.total.censored?;
    let counts = run.total.counts;
    Some(TypedVerdict::Censored {
        timed_out: counts.timed_out,
        unsent: counts.unsent,
        lowest_ns: censored.lowest_ns,
    })
}

pub(crate) fn keep_alive_refused(run: &Run) -> Option<TypedVerdict> {
    let closed = run.connections.closed_by_server as f64;
    // Closes are counted from the start of the warm-up, so good and bad responses are too.
    let cohorts = run.intervals.iter().filter(|interval| interval.phase != Phase::Connect);
    let statuses = cohorts.flat_map(|interval| interval.block.status.values().copied());
    let answered = statuses.fold(0u64, u64::saturating_add);
    // The last close of each connection may come after the run.
    let had = run.connections.had as f64;
    let refused = answered > 0 && closed >= MIN_CLOSES * (answered as f64 - had) && closed > had;
    refused.then(|| TypedVerdict::KeepAliveRefused {
        closed_by_server: run.connections.closed_by_server,
        protocol: run.target.protocol.clone(),
    })
}

/// Detects responses whose first byte came at once, and whose last byte came when the generator's kernel acknowledged
/// it. Streams end when their last event does, and QUIC has other acknowledgements.
pub(crate) fn delayed_ack(run: &Run) -> Option<TypedVerdict> {
    let counts = run.total.counts;
    let answered = counts.ok.saturating_add(counts.bad_status).saturating_add(counts.bad_body);
    let body = ratio(run.total.bytes.body as f64, answered as f64);
    let may_wait =
        run.target.protocol != "http/3" && run.total.stream_events.is_none() && body <= DELAYED_ACK_MAX_BODY;
    let first = run.total.first_byte_ns.as_ref()?.p50;
    let service = run.total.service_time_ns.as_ref()?.p50;
    let gap = service.saturating_sub(first);
    let idle = run.generator.utilization <= MAX_GENERATOR_BUSY;
    (may_wait && idle && DELAYED_ACK_NS.contains(&gap) && first < gap)
        .then_some(TypedVerdict::DelayedAck { first_byte_ns_p50: first, service_time_ns_p50: service })
}

pub(crate) fn body_length_varies(run: &Run) -> Option<TypedVerdict> {
    let lengths = match &run.by_request {
        Some(parts) => parts.iter().find_map(|part| varying(&part.block, &part.expectations)),
        None => varying(&run.total, &run.expectations),
    }?;
    Some(TypedVerdict::BodyLengthVaries { body_bytes_min: lengths.min, body_bytes_max: lengths.max })
}

/// The lengths of the bodies of one request, where they differ and no body was expected. Those of streams may differ.
fn varying(block: &Block, expected: &Expectations) -> Option<Lengths> {
    let is_checked = expected.body_bytes.is_some()
        || expected.body_sha256.is_some()
        || expected.json_form.is_some()
        || expected.echo
        || !expected.json.is_empty()
        || block.stream_events.is_some();
    block.body_bytes.filter(|lengths| !is_checked && lengths.min != lengths.max)
}

/// Events with times after their arrival.
pub(crate) fn clocks_differ(run: &Run) -> Option<TypedVerdict> {
    let counted = run.total.stream_events.filter(|counted| counted.events_ahead_of_clock > 0)?;
    let events = counted.events_ahead_of_clock;
    let with_delay = run.total.message_delay_ns.as_ref().map_or(0, |times| times.count);
    Some(TypedVerdict::ClocksDiffer {
        events,
        share: events as f64 / (events as f64 + with_delay as f64),
        ahead_s: counted.ahead_of_clock_ns_max as f64 / 1e9,
    })
}

/// Events that should carry a time, if none does.
pub(crate) fn no_message_times(run: &Run) -> Option<TypedVerdict> {
    let counted = run.total.stream_events?;
    let events = counted.events_without_time;
    let has_times = counted.events_ahead_of_clock > 0 || run.total.message_delay_ns.is_some();
    (events > 0 && !has_times).then_some(TypedVerdict::NoMessageTimes { events })
}

/// A window that is too short for the judges of shares, if it measured anything.
pub(crate) fn too_short(run: &Run) -> Option<TypedVerdict> {
    let requests = run.total.counts.scheduled;
    let is_short = run.window_s < SHARES_NEED_S && run.total.counts.ok > 0;
    is_short.then(|| TypedVerdict::TooShort {
        window_s: run.window_s,
        requests,
        few: if few(run).is_some() { ", and too few requests for a reliable p99" } else { "" },
    })
}

/// The number of measured requests, if it is too small for the 99th percentile.
fn few(run: &Run) -> Option<u64> {
    let times: &Times = run.total.response_time_ns.as_ref().or(run.total.service_time_ns.as_ref())?;
    ((times.count as f64) < SAMPLES_FOR_P99).then_some(times.count)
}

pub(crate) fn few_samples(run: &Run) -> Option<TypedVerdict> {
    let samples = few(run).filter(|_| too_short(run).is_none())?;
    Some(TypedVerdict::FewSamples { samples, samples_for_p99: SAMPLES_FOR_P99.ceil() })
}
