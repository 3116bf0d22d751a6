//! The text of one run for a terminal: the rate first, then the times, then problems and remedies, then the rest.
//!
//! Called by `paceline run`. Pure: a record in, text out. No line is wider than requested, except for a word that is.

mod concerns;
mod kernel;
mod lines;
mod markdown;
mod metrics;
mod parts;
mod profile;
pub(crate) mod quantity;
mod server;
mod streams;
mod system_calls;
#[cfg(test)]
mod tests;
mod times;

pub use concerns::gate_words;
pub(crate) use lines::{Style, columns};
pub use markdown::run_markdown;
pub use quantity::TimeUnit;
pub use server::{energy_words, unix_sockets_words};
pub(crate) use times::{STEPS_PER_HALF, bars};

use crate::row::rate_is_minimum;
use lines::facts;
use paceline_escape::TerminalText;
use paceline_judge::VerdictName;
use paceline_record::{
    AddressConnections, ConnectionPlan, Distribution, Loop, LoopKind, Run, Segment, Shape, StreamExampleKind,
    Verdict,
};
use paceline_stats::plural;
use quantity::{bytes, count, counted, nanos, not_ok, percent, seconds};

/// Options of a run's text.
#[derive(Clone, Copy, Debug)]
pub struct RunTextOptions {
    /// Whether to use colours.
    pub colour: bool,
    /// Maximum columns of a line.
    pub width: usize,
    /// Whether to include every figure: all percentiles, the server by second.
    pub full: bool,
    /// The unit of all times; without it each has its own.
    pub time_unit: Option<TimeUnit>,
}

/// The profile of a run's server in lines, or why there is none.
pub fn profile_text(run: &Run, width: usize) -> TerminalText {
    TerminalText::coloured(&profile::of_run(run, Style::new(false, width.max(MIN_WIDTH))))
}

/// The minimum width of the text: below it, the terminal breaks the lines.
const MIN_WIDTH: usize = 30;

/// Lines of a text that fits a screen.
const MAX_LINES: usize = 40;

/// The text of a run.
pub fn run_text(run: &Run, options: RunTextOptions) -> TerminalText {
    let style = Style::new(options.colour, options.width.max(MIN_WIDTH)).with_unit(options.time_unit);
    let spectrum = if options.full { times::spectrum(run, style) } else { String::new() };
    let server = match options.full {
        true => server::by_second(run, style) + &metrics::by_series(run, style),
        false => String::new(),
    };
    let sections = |histogram: String| {
        let sections = [
            style.lines(&run.target.url, 0, Style::strong) + &style.lines(&load_words(run), 0, Style::dim),
            headline(run, style) + &handshakes(run, style) + &outcomes(run, style),
            times::of_run(run, style),
            histogram,
            concerns::gates(run, style),
            concerns::verdicts(run, style),
            parts::of_run(run, style),
            parts::bad_bodies(run, style),
            spectrum.clone(),
            server.clone(),
            profile::of_run(run, style),
            system_calls::of_run(run, style),
            facts_of(run, options.full, style),
        ];
        sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n")
    };
    let whole = sections(times::histogram(run, style));
    let fits = whole.lines().count() <= MAX_LINES;
    TerminalText::coloured(&if fits { whole } else { sections(String::new()) })
}

/// `closed loop, 64 connections, window 10 s after 1 s of warm-up`.
pub(crate) fn load_words(run: &Run) -> String {
    let kind = match (run.loop_.kind, run.loop_.arrivals) {
        (LoopKind::Closed, _) => "closed loop".to_owned(),
        (LoopKind::Open, Some(arrivals)) if arrivals.is_random() => {
            format!("open loop, {}", arrivals.words())
        }
        (LoopKind::Open, _) => "open loop".to_owned(),
    };
    let offered = match (&run.loop_.shape, run.rate_per_s.offered) {
        (Some(shape @ Shape::Trace(_)), Some(rate)) => {
            format!(", {}, {}/s offered", shape_words(shape), count(rate))
        }
        (Some(shape), _) => format!(", {}", shape_words(shape)),
        (None, _) if run.loop_.sessions_offered_per_s.is_some() => {
            format!(", {} sessions/s offered", count(run.loop_.sessions_offered_per_s.unwrap_or_default()))
        }
        (None, Some(rate)) => format!(", {}/s offered", count(rate)),
        (None, None) => String::new(),
    };
    let depth = if run.loop_.depth > 1 { format!(", {} deep", run.loop_.depth) } else { String::new() };
    let life = life_words(&run.loop_);
    let warmup = run.phases.warmup.end_ns.saturating_sub(run.phases.warmup.start_ns);
    let after = if warmup > 0 {
        format!(" after {} of warm-up", seconds(warmup as f64 / 1e9))
    } else {
        String::new()
    };
    let stopped = if run.stopped { ", interrupted" } else { "" };
    let connections = connections_words(&run.loop_);
    let window = seconds(run.window_s);
    format!("{kind}{offered}, {connections}{depth}{life}, window {window}{after}{stopped}")
}

/// `, each request on a connection of its own, 100 ms of thought between them`.
fn life_words(load: &Loop) -> String {
    let carried = match (load.without_keep_alive, load.requests_per_connection) {
        (true, _) => ", without keep-alive".to_owned(),
        (false, Some(requests)) => format!(", {} on each", counted(f64::from(requests), "request")),
        (false, None) => String::new(),
    };
    let thought = load.think.map_or(String::new(), |think| {
        let mean = seconds(think.mean.as_secs_f64());
        match think.distribution {
            Distribution::Constant => format!(", {mean} think time"),
            Distribution::Exponential => format!(", {mean} mean think time"),
        }
    });
    carried + &thought
}

/// `64 connections`, `1 to 50 connections`, `connections 1 to 50 in 20 s, 50 for 60 s`.
fn connections_words(load: &Loop) -> String {
    match &load.connection_plan {
        None => counted(f64::from(load.connections), "connection"),
        Some(ConnectionPlan::Ramp { from, to }) => {
            format!("{} to {}", count(f64::from(*from)), counted(f64::from(*to), "connection"))
        }
        Some(ConnectionPlan::Parts { parts }) => {
            let number = |number: u32| count(f64::from(number));
            let parts = parts
                .iter()
                .map(|part| part_words(number(part.from), number(part.to), part.length.as_secs_f64()));
            format!("connections {}", parts.collect::<Vec<_>>().join(", "))
        }
    }
}

/// `50 for 60 s`, `1 to 50 in 20 s`.
fn part_words(from: String, to: String, length_s: f64) -> String {
    let length = seconds(length_s);
    if from == to { format!("{from} for {length}") } else { format!("{from} to {to} in {length}") }
}

/// `a ramp from 1,000 to 50,000/s`.
fn shape_words(shape: &Shape) -> String {
    match shape {
        Shape::Steady { rate } => format!("a steady {}/s", count(rate.get())),
        Shape::Ramp { from, to } => {
            format!("a ramp from {} to {}/s", count(from.get()), count(to.get()))
        }
        Shape::Steps { rates, each } => {
            let rates: Vec<_> = rates.iter().map(|rate| count(rate.get())).collect();
            format!("rates of {}/s in turn, {} each", rates.join(", "), seconds(each.as_secs_f64()))
        }
        Shape::Parts { parts } => {
            let words = parts.iter().map(|part| {
                let [from, to] = part.ends_per_s().map(count);
                part_words(from, to, part.length.as_secs_f64())
            });
            format!("rates per second of {}", words.collect::<Vec<_>>().join(", "))
        }
        Shape::Trace(trace) => format!("a trace of {}", counted(trace.sends as f64, "send")),
    }
}

/// The rate, and first of all whether the target kept up with the offered rate. A load that changes has no single rate:
/// the line says which rate the target kept up with.
fn headline(run: &Run, style: Style) -> String {
    let achieved = format!("{} requests/s", count(run.rate_per_s.achieved));
    let achieved = match run.rate_per_s.sessions_achieved {
        Some(sessions) => format!("{} sessions/s, {achieved}", count(sessions)),
        None => achieved,
    };
    let unit = if run.target.is_grpc() { "messages/s" } else { "events/s" };
    let achieved = match (run.events_per_s(), run.counted_per_s()) {
        (Some(events), Some(counted)) => {
            format!("{achieved}, {} {unit}, {} counted/s", count(events), count(counted))
        }
        (Some(events), None) => format!("{achieved}, {} {unit}", count(events)),
        (None, _) => achieved,
    };
    let offered_rate = |per_s: f64| format!("{}{}", count(per_s), offered_unit(run));
    let achieved = if rate_is_minimum(run) { format!("at least {achieved}") } else { achieved };
    let received = match received_per_s(run) {
        0.0 => String::new(),
        bytes_per_s => format!(", {}/s received", bytes(bytes_per_s as u64)),
    };
    let saturated = run.verdicts.iter().find(|verdict| verdict.name == VerdictName::Saturated.as_str());
    let summary = run.summarize();
    match (run.rate_per_s.offered, saturated) {
        (Some(offered), Some(verdict)) => {
            let mark = fell_behind_mark(verdict);
            let line = match (summary.fell_behind_at_per_s, summary.kept_up_at_per_s) {
                (Some(at), Some(kept_up)) => {
                    let [at, kept_up] = [at, kept_up].map(offered_rate);
                    format!("{mark} at {at} offered; the server kept up with {kept_up}")
                }
                (Some(at), None) => format!("{mark} at the first rate, {} offered", offered_rate(at)),
                (None, _) => {
                    let offered = offered_rate(run.loop_.sessions_offered_per_s.unwrap_or(offered));
                    format!("{mark}: {achieved} achieved of {offered} offered")
                }
            };
            style.lines(&(line + &received), 2, Style::bad)
        }
        _ => {
            let line = match summary.kept_up_at_per_s {
                Some(kept_up) => {
                    format!("the server kept up with {}; {achieved} on average", offered_rate(kept_up))
                }
                None => match run.fastest_segment() {
                    Some(fastest) => format!("{achieved} on average; {}", fastest_words(fastest)),
                    None => achieved,
                },
            };
            style.lines(&(line + &received), 2, Style::strong)
        }
    }
}

/// `9,410 TLS handshakes/s, 99.75% resumed, TLS 1.3, TLS_AES_128_GCM_SHA256`, if connections are not kept: handshakes
/// are then a part of the load.
fn handshakes(run: &Run, style: Style) -> String {
    let Some(tls) = &run.target.tls else { return String::new() };
    let (load, made) = (&run.loop_, tls.full.saturating_add(tls.resumed));
    if made == 0 || !load.without_keep_alive && load.requests_per_connection.is_none() {
        return String::new();
    }
    let in_window = run.total.handshake_time_ns.as_ref().map_or(0, |times| times.count);
    let rate = count(paceline_stats::ratio(in_window as f64, run.window_s));
    let mut parts = vec![format!("{rate} TLS handshakes/s")];
    parts.push(format!("{} resumed", percent(paceline_stats::ratio(tls.resumed as f64, made as f64))));
    parts.extend(tls.version.as_ref().map(|version| format!("TLS {version}")));
    parts.extend(tls.cipher.clone());
    style.lines(&parts.join(", "), 2, Style::plain)
}

/// `most with 50 connections: 20,100/s`.
fn fastest_words(fastest: &Segment) -> String {
    let connections = fastest.connections.unwrap_or_default();
    let about = if connections.fract() == 0.0 { "" } else { "about " };
    let connections = counted(connections.round(), "connection");
    format!("most with {about}{connections}: {}/s", count(fastest.achieved_per_s()))
}

/// What the schedule counts, after a number.
fn offered_unit(run: &Run) -> &'static str {
    if run.loop_.sessions_offered_per_s.is_some() { " sessions/s" } else { "/s" }
}

/// The first words of a run whose responses fell behind the offered rate, by what its requests waited for. Older records
/// do not say that.
fn fell_behind_mark(saturated: &Verdict) -> &'static str {
    match saturated.evidence.get("waited_for").and_then(serde_json::Value::as_str) {
        Some("connections") => "TOO FEW CONNECTIONS",
        Some("requests that hang") => "REQUESTS HANG",
        _ => "OVERLOADED",
    }
}

/// Bytes received in the window, per second, without the estimated share of responses in the drain.
fn received_per_s(run: &Run) -> f64 {
    let in_window = match run.total.counts.ok {
        0 => 1.0,
        ok => run.total.completed_in_window as f64 / ok as f64,
    };
    paceline_stats::ratio(run.total.bytes.received as f64 * in_window, run.window_s)
}

/// The outcomes of the window's requests, and the statuses of the responses.
fn outcomes(run: &Run, style: Style) -> String {
    let counts = &run.total.counts;
    let bad = not_ok(counts);
    let bad = bad.iter().filter(|(_, number)| *number > 0);
    let bad: Vec<String> = bad.map(|(name, number)| format!("{} {name}", count(*number as f64))).collect();
    let scheduled = counted(counts.scheduled as f64, "request");
    let status: Vec<String> = run
        .total
        .status
        .iter()
        .map(|(status, number)| format!("{status}: {}", count(*number as f64)))
        .collect();
    let statuses = if status.is_empty() { String::new() } else { format!("; status {}", status.join(", ")) };
    let doubted = [VerdictName::BrokeRules, VerdictName::StarvedConnections];
    let doubted = doubted.iter().any(|name| name.is_in(&run.verdicts));
    let all_good = run.total.status.keys().all(|status| status.starts_with('2') || status == "OK");
    let (text, paint): (_, fn(Style, &str) -> String) = match (counts.not_ok(), &status[..]) {
        (0, _) if counts.scheduled == 0 && run.loop_.kind == LoopKind::Closed => {
            ("no request was sent in the window".to_owned(), Style::warn)
        }
        (0, _) if counts.scheduled == 0 => ("no request was due in the window".to_owned(), Style::warn),
        (0, _) if doubted => {
            (format!("{scheduled} answered, but see the notes below{statuses}"), Style::warn)
        }
        (0, [_]) if all_good => {
            let only = run.total.status.keys().next().map(String::as_str).unwrap_or_default();
            (format!("{scheduled}, all ok (status {only})"), Style::plain)
        }
        (0, _) if all_good => (format!("{scheduled}, all ok{statuses}"), Style::plain),
        (0, _) => (format!("{scheduled} answered{statuses}"), Style::warn),
        _ => {
            let ok = count(counts.ok as f64);
            (format!("{scheduled}: {ok} ok, {}{statuses}", bad.join(", ")), Style::warn)
        }
    };
    style.lines(&text, 2, paint)
}

/// One line for each fact.
fn facts_of(run: &Run, full: bool, style: Style) -> String {
    let stream = |kind| if full { streams::example(run, kind, style) } else { String::new() };
    let reported = [
        ("address", address(run)),
        ("addresses", addresses(run)),
        ("TLS", tls(run)),
        ("connections", connections(run)),
        ("100 Continue", expect_continue(run, style)),
        ("fairness", fairness(run, style)),
        ("longest gap", stream(StreamExampleKind::LongestGap)),
        ("typical stream", stream(StreamExampleKind::Typical)),
        ("slowest stream", stream(StreamExampleKind::SlowestFirstEvent)),
        ("generator", generator(run)),
        ("server", server::used(run)),
        ("CPU per request", if full { server::cpu_parts(run) } else { String::new() }),
        ("energy", run.energy.as_ref().filter(|_| full).map(energy_words).unwrap_or_default()),
        ("server memory", if full { server::memory(run) } else { String::new() }),
        ("GC pauses", metrics::pauses(run, style)),
        ("server metrics", metrics::scrapes(run)),
        ("behind it", server::used_behind(run)),
        ("unix sockets", if full { unix_sockets_words(&run.unix_sockets) } else { String::new() }),
        ("lost packets", if full { kernel::lost_packets(run) } else { String::new() }),
        ("TCP", if full { kernel::connections(run, style) } else { String::new() }),
        ("frequencies", if full { kernel::frequencies(run) } else { String::new() }),
        ("disk waits", if full { kernel::disk_waits(run) } else { String::new() }),
    ];
    facts(&reported, style)
}

/// The address of the connections, if it was not the first choice, or a proxy.
fn address(run: &Run) -> String {
    if run.target.tried.is_empty() {
        let proxy = run.job.as_ref().and_then(|job| job.proxy.as_ref());
        return proxy.map_or_else(String::new, |proxy| format!("through the proxy {proxy}"));
    }
    let tried = run.target.tried.iter().map(|tried| format!("{}: {}", tried.address, tried.failure));
    format!("{}; could not connect to: {}", run.target.address, tried.collect::<Vec<_>>().join("; "))
}

/// The share of each address, if connections were spread over several.
fn addresses(run: &Run) -> String {
    let share = |of: &AddressConnections| {
        let made = counted(of.made as f64, "connection");
        let requests = counted(of.requests as f64, "request");
        let failed =
            if of.not_ok > 0 { format!(" ({} failed)", count(of.not_ok as f64)) } else { String::new() };
        let refused = match of.failed_attempts {
            0 => String::new(),
            number => format!(", {} to connect failed", counted(number as f64, "attempt")),
        };
        let reason = of.commonest_failure.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
        format!("{} {made}, {requests}{failed}{refused}{reason}", of.address)
    };
    run.connections.by_address.iter().map(share).collect::<Vec<_>>().join("; ")
}

/// The negotiated TLS parameters, and the number of handshakes.
fn tls(run: &Run) -> String {
    let Some(tls) = &run.target.tls else { return String::new() };
    let mut parts: Vec<String> = tls.version.clone().into_iter().collect();
    parts.extend([&tls.cipher, &tls.alpn].into_iter().flatten().cloned());
    parts.push(counted(tls.full as f64, "full handshake"));
    if tls.resumed > 0 {
        parts.push(format!("{} resumed", count(tls.resumed as f64)));
    }
    if let Some(early) = tls.early_data {
        let sent = counted(early.sent as f64, "connection");
        parts.push(format!("early data on {sent}, {} accepted", count(early.accepted as f64)));
    }
    if !tls.verified {
        parts.push("certificate not checked".to_owned());
    }
    parts.join(", ")
}

/// The open connections, and what became of connections in the whole run, warm-up included.
fn connections(run: &Run) -> String {
    let connections = &run.connections;
    let most = if run.loop_.connection_plan.is_some() { "at most " } else { "" };
    let open = if connections.had == connections.asked {
        format!("{most}{} open", count(connections.had as f64))
    } else {
        format!("{most}{} of {} open", count(connections.had as f64), count(connections.asked as f64))
    };
    let mut parts = Vec::new();
    for (number, what) in [
        (connections.closed_by_server, "closed by the server"),
        (connections.closed_by_us, "closed by Paceline"),
        (connections.closed_as_asked, "closed after their last request"),
        (connections.broke_rules, "closed because the server sent invalid HTTP"),
        (
            connections.failed_attempts,
            &*format!("attempt{} to connect failed", plural(connections.failed_attempts as f64, "", "s")),
        ),
        (
            connections.redirects_followed,
            &*format!("redirect{} followed", plural(connections.redirects_followed as f64, "", "s")),
        ),
    ] {
        if number > 0 {
            parts.push(format!("{} {what}", count(number as f64)));
        }
    }
    parts.extend(
        connections.commonest_failure.as_ref().map(|failure| format!("most frequent reason: {failure}")),
    );
    if parts.is_empty() { open } else { format!("{open}; in the whole run: {}", parts.join(", ")) }
}

/// How bodies that waited for 100 Continue were sent.
fn expect_continue(run: &Run, style: Style) -> String {
    let Some(bodies) = &run.expect_continue else { return String::new() };
    let wait = bodies.continue_time_ns.as_ref().map(|times| {
        format!(" (p50 {}, p99 {})", style.time(times.p50 as f64), style.time(times.p99 as f64))
    });
    let parts = [
        (bodies.continued, format!("sent after it{}", wait.unwrap_or_default())),
        (bodies.answered, "not sent, because a final status came instead".to_owned()),
        (bodies.silent, "sent after 1 s without it".to_owned()),
    ];
    let parts = parts.iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts.map(|(number, how)| format!("{} {how}", count(*number as f64))).collect();
    if parts.is_empty() { "no body waited".to_owned() } else { format!("bodies: {}", parts.join(", ")) }
}

/// The distribution over connections: requests of each in a closed loop, the median of each in an open loop, which is
/// accurate to a ninth (`engine/src/hot/fairness.rs`).
fn fairness(run: &Run, style: Style) -> String {
    let connections = &run.connections;
    match (run.loop_.kind, connections.served, connections.service_time_ns_p50) {
        // Connections that were opened at different times served different numbers.
        _ if run.loop_.connection_plan.is_some() => String::new(),
        (LoopKind::Open, _, Some(p50)) => format!(
            "slowest connection: median about {} (typical: about {})",
            style.time(p50.max as f64),
            style.time(p50.median as f64)
        ),
        (LoopKind::Closed, Some(served), _) if served.min == served.max && served.max > 0 => {
            format!("requests per connection: {}", count(served.max as f64))
        }
        (LoopKind::Closed, Some(served), _) if served.max > 0 => {
            let [min, median, max] = [served.min, served.median, served.max].map(|n| count(n as f64));
            format!("requests per connection: min {min}, median {median}, max {max}")
        }
        _ => String::new(),
    }
}

fn generator(run: &Run) -> String {
    let generator = &run.generator;
    let threads = counted(f64::from(generator.threads), "thread");
    let spun = if generator.spin_s > 0.0 {
        format!(", spinning {:.0}%", 100.0 * generator.spin_s / run.window_s / f64::from(generator.threads))
    } else {
        String::new()
    };
    format!(
        "{threads}, {:.0}% of a core busy{spun}, {} of CPU per request, {} of memory",
        generator.utilization * 100.0,
        nanos(generator.cpu_ns_per_request),
        bytes(generator.rss_bytes_peak)
    )
}
