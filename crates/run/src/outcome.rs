//! Carries a job out, and converts the engine's outcome to the run's record: the same numbers under their published
//! keys.
//!
//! Loop and segments are in `segments.rs`, blocks, requests and wrong bodies in `blocks.rs`. Verdicts and gates are in
//! the judge crate.

use crate::blocks::{self, block};
use crate::follow::{Follower, PhaseCallback, RowSettings, RunSamples, Sink};
use crate::free_resources::free_resources;
use crate::health::{Health, rss_bytes_peak};
use crate::segments::{arrival_check, by_segment, load_of};
use crate::server;
use crate::server_metrics::{MetricsThread, ReadMetrics};
use crate::sessions;
use crate::stream_examples;
use crate::{PhaseEventWriter, Prepared, RunError, wall_clock};
use paceline_engine::tls::TlsOutcome;
use paceline_engine::{
    Address, AddressCounts, ConnectionCounts, ConnectionFailure, ContinueCounts, Ending, Nanos,
    Phase as EnginePhase, PhaseTimes, RunOutcome, RunStart, SPIN_BEFORE, Settings, StopFlag, Tally,
    TallyCounts as EngineCounts,
};
use paceline_job::{Bound, Job};
use paceline_record as record;
use paceline_record::{Block, Run};
use paceline_stats::Histogram;
use std::collections::BTreeMap;
use std::iter::Sum;
use std::net::SocketAddr;
use std::path::Path;

/// How a run in progress is observed.
#[derive(Default)]
pub struct RunObservers {
    /// Receives a line at the beginning of each phase.
    pub events: Option<PhaseEventWriter>,
    /// Receive a report of each second.
    pub sinks: Vec<Box<dyn Sink>>,
    /// Called when a phase begins, on the coordinating thread.
    pub on_phase: Option<PhaseCallback>,
}

impl Prepared {
    /// Carries the job out. Write errors of the sinks are returned with the record.
    ///
    /// # Errors
    /// [`RunError::Engine`] if there is no result.
    pub fn carry_out(
        mut self,
        argv: Vec<String>,
        observers: RunObservers,
        stop: &'static StopFlag,
    ) -> Result<(Run, Vec<std::io::Error>), RunError> {
        let health = Health::new(self.settings.threads, observers.events)
            .with_server(self.server.take())
            .with_energy(Path::new("/"))
            .with_frequencies(&self.cores)
            .with_body_files(&self.body_files);
        let started_at = wall_clock::now_rfc3339();
        let rows = RowSettings::from_settings(&self.settings);
        let metrics = self.metrics.take().map(MetricsThread::begin).transpose()?;
        let latest = metrics.as_ref().map(MetricsThread::latest);
        let follower =
            Follower::new(health, rows, observers.sinks, latest, stop)?.calling(observers.on_phase);
        let outcome = paceline_engine::run(&self.settings, stop, &follower);
        let (health, (unwritten, samples)) = follower.end();
        let outcome = outcome.map_err(RunError::Engine)?;
        let (start, window) = (outcome.spans.start, phases(&outcome.spans).window);
        let metrics = metrics.map(|metrics| metrics.finish(start, window)).unwrap_or_default();
        let sampled = Sampled { samples, metrics };
        Ok((record(&self, argv, outcome, health, sampled, started_at), unwritten))
    }

    /// Carries out the share of a loader. `begin` sets the start, as in [`paceline_engine::run_when`]. Also returns the
    /// sends that were recorded to test random arrivals, since the beginning of the warm-up.
    ///
    /// # Errors
    /// [`RunError::Engine`] if there is no result.
    pub fn carry_out_share(
        self,
        argv: Vec<String>,
        stop: &'static StopFlag,
        begin: &dyn Fn(u64) -> RunStart,
    ) -> Result<(Run, Vec<Vec<Nanos>>), RunError> {
        let health = Health::new(self.settings.threads, None)
            .with_frequencies(&self.cores)
            .with_body_files(&self.body_files);
        let started_at = wall_clock::now_rfc3339();
        let outcome =
            paceline_engine::run_when(&self.settings, stop, &health, begin).map_err(RunError::Engine)?;
        let noted = outcome.noted_sends.clone();
        Ok((record(&self, argv, outcome, health, Sampled::default(), started_at), noted))
    }
}

/// What was read of the server and the generator during a run.
#[derive(Default)]
struct Sampled {
    samples: RunSamples,
    metrics: ReadMetrics,
}

/// The record of a run.
fn record(
    prepared: &Prepared,
    argv: Vec<String>,
    outcome: RunOutcome,
    health: Health,
    sampled: Sampled,
    started_at: String,
) -> Run {
    let (settings, job) = (&prepared.settings, &prepared.settings.job);
    let window_s = outcome.spans.drain.since(outcome.spans.window).as_secs_f64();
    let mut run = Run {
        schema: record::SCHEMA,
        id: wall_clock::new_id(),
        tool: tool(),
        argv,
        seed: settings.seed,
        started_at,
        job: Some(Box::new(job.masked())),
        target: target(prepared, &outcome),
        loop_: load_of(job, &outcome),
        pace: pace_of(prepared),
        expectations: blocks::expectations_of_all(settings),
        timeout_ns: settings.job.timeout.0,
        phases: phases(&outcome.spans),
        window_s,
        stopped: outcome.stopped,
        not_ok_share_allowed: None,
        connections: connections(
            settings,
            &outcome,
            health.listen_overflows().filter(|_| is_here(&settings.address)),
        ),
        environment: record::Environment { held: prepared.held.clone(), ..crate::environment::read() },
        generator: generator(prepared, &outcome, &health, window_s),
        total: total(&outcome),
        by_segment: by_segment(job, &outcome),
        by_request: blocks::by_request(settings, &outcome),
        sessions: sessions::of_run(settings, &outcome),
        bad_bodies: blocks::bad_bodies(settings, &outcome),
        kernel: health.kernel(),
        server: health.server(window_s, sent_in_window(&outcome)),
        behind_server: health.behind_server(window_s, sent_in_window(&outcome)),
        unix_sockets: health.unix_sockets(),
        server_samples: sampled.samples.server,
        server_metrics: sampled.metrics.server_metrics,
        gc_log: sampled.metrics.gc_log,
        generator_samples: sampled.samples.generator,
        intervals: intervals(job, &outcome),
        stream_examples: stream_examples::of_run(&outcome),
        expect_continue: expect_continue(job, &outcome),
        body_faults: body_faults(prepared, &outcome.connections),
        body_waits: body_waits(prepared),
        carried_over: Some(carried_over(&outcome)),
        arrival_check: arrival_check(&outcome.arrival_gaps),
        // What follows from these is set below; loaders and a profile are added by others.
        ..Run::default()
    };
    run.rate_per_s = record::Rates {
        offered: run.loop_.offered_per_s,
        sent: ratio(sent_in_window(&outcome) as f64, window_s),
        achieved: ratio(run.total.completed_in_window as f64, window_s),
        sessions_achieved: run.sessions_achieved_per_s(),
    };
    run.energy = health.energy(window_s, run.total.completed_in_window);
    set_memory(&mut run, health.server_memory());
    paceline_judge::judge_run(&mut run, &prepared.gates);
    run.summary = Some(run.summarize());
    run
}

/// This program.
fn tool() -> record::Tool {
    record::Tool {
        name: "paceline".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("PACELINE_COMMIT").map(str::to_owned),
    }
}

/// Sets the memory of the server before the load and its highest value in the window, from its samples, and its limit.
fn set_memory(run: &mut Run, memory: Option<record::MemoryUse>) {
    let of_window = run.server_samples_of_window().map(|sample| sample.rss_bytes).max();
    let before = run.server_samples.first().filter(|sample| sample.at_ns <= run.phases.connect.start_ns);
    let before = before.map(|sample| sample.rss_bytes);
    if let Some(server) = &mut run.server {
        server.rss_bytes_before = before;
        server.rss_bytes_peak = of_window.map(|highest| highest.max(server.rss_bytes));
        let rss_bytes_peak = server.rss_bytes_peak.or(Some(server.rss_bytes));
        server.memory = memory.map(|memory| record::MemoryUse { rss_bytes_peak, ..memory });
    }
}

fn target(prepared: &Prepared, outcome: &RunOutcome) -> record::Target {
    let settings = &prepared.settings;
    let tls = settings.tls.as_ref().map(|asked| {
        let reported = outcome.tls.clone().unwrap_or_default();
        let (agreed, name) = (reported.agreed, prepared.destination.tls_name.clone());
        record::Tls {
            version: agreed.as_ref().map(|agreed| agreed.version.to_owned()),
            cipher: agreed.as_ref().map(|agreed| agreed.cipher.clone()),
            group: agreed.as_ref().and_then(|agreed| agreed.group.clone()),
            alpn: agreed.and_then(|agreed| agreed.alpn),
            name,
            verified: asked.verified(),
            resumption: asked.resumption(),
            resumed: reported.resumed,
            full: reported.full,
            early_data: asked.early_data().then_some(record::EarlyData {
                sent: reported.early_sent,
                accepted: reported.early_accepted,
            }),
        }
    });
    record::Target {
        url: settings.job.url.to_string(),
        protocol: settings.job.protocol.name().to_owned(),
        address: settings.address.to_string(),
        sources: settings.sources.iter().map(ToString::to_string).collect(),
        tried: prepared.destination.tried.clone(),
        tls,
    }
}

fn pace_of(prepared: &Prepared) -> record::Pace {
    let used = prepared.settings.pace;
    let spin_before = if used == record::PaceKind::Hybrid { SPIN_BEFORE } else { Nanos::ZERO };
    record::Pace { asked: prepared.settings.job.pace, used, spin_before_ns: spin_before.0 }
}

fn phases(spans: &PhaseTimes) -> record::Phases {
    let span = |start: Nanos, end: Nanos| record::Span {
        start_ns: start.since(spans.start).0,
        end_ns: end.max(start).since(spans.start).0,
    };
    record::Phases {
        connect: span(spans.start, spans.warmup),
        warmup: span(spans.warmup, spans.window),
        window: span(spans.window, spans.drain),
        drain: span(spans.drain, spans.end),
    }
}

fn connections(
    settings: &Settings,
    outcome: &RunOutcome,
    listen_overflows: Option<u64>,
) -> record::Connections {
    let job = &settings.job;
    let (counts, tls) = (&outcome.connections, outcome.tls.as_ref());
    let of_address = |(address, of_it): (&SocketAddr, &AddressCounts)| record::AddressConnections {
        address: address.to_string(),
        made: of_it.made,
        failed_attempts: of_it.failed_attempts,
        requests: of_it.requests,
        not_ok: of_it.failed_requests,
        commonest_failure: commonest(&of_it.failures, counts, tls),
    };
    record::Connections {
        asked: connections_asked(job, &outcome.spans).into(),
        had: counts.had,
        closed_by_server: counts.closed_by_server,
        closed_by_us: counts.closed_by_us,
        closed_as_asked: counts.closed_as_asked,
        failed_attempts: counts.failed_attempts,
        redirects_followed: counts.redirects,
        failed_here: sum_of(counts, ConnectionFailure::is_ours),
        broke_rules: sum_of(counts, ConnectionFailure::breaks_rules),
        responses_without_end: sum_of(counts, |failure| failure == ConnectionFailure::NoEnd),
        ended_after_cancels: sum_of(counts, |failure| failure == ConnectionFailure::GoAwayAfterCancels),
        listen_overflows,
        heads_too_long: sum_of(counts, |failure| failure == ConnectionFailure::HeadTooLong),
        cookies_dropped: counts.cookies_dropped,
        commonest_failure: commonest(&counts.failures, counts, tls),
        streams_allowed: counts.stream_limit,
        tcp: tcp_counts(counts),
        compressed_unasked: counts.saw_compressed && !accepts_compressed(job),
        served: spread(counts.served.clone()),
        service_time_ns_p50: spread(counts.medians.iter().map(|median| median.0).collect()),
        by_address: settings.spread.iter().zip(&counts.by_address).map(of_address).collect(),
    }
}

/// The most frequent failure, with its number.
fn commonest(
    failures: &[(ConnectionFailure, u64)],
    counts: &ConnectionCounts,
    tls: Option<&TlsOutcome>,
) -> Option<String> {
    let (failure, count) = failures.iter().max_by_key(|(_, count)| *count)?;
    let times = if *count == 1 { "once".to_owned() } else { format!("{count} times") };
    Some(format!("{}, {times}", in_full(*failure, counts, tls)))
}

/// The number of connections asked for; of a number that changes, the highest up to the end of the window.
fn connections_asked(job: &Job, spans: &PhaseTimes) -> u32 {
    match (&job.connection_plan, job.window) {
        (Some(plan), Bound::Duration(window)) => plan.most_until(window, spans.drain.since(spans.window)),
        (None, _) | (Some(_), Bound::Requests(_)) => job.connections,
    }
}

/// What the kernel counted on the TCP connections; none if there were none.
fn tcp_counts(counts: &ConnectionCounts) -> Option<record::TcpCounts> {
    let tcp = &counts.tcp;
    (tcp.connections > 0).then(|| record::TcpCounts {
        connections: tcp.connections,
        retransmits: tcp.retransmits,
        out_of_order: tcp.out_of_order,
        round_trip_time_ns: spread_in(&tcp.round_trip_times),
        congestion_window_segments: spread_in(&tcp.congestion_windows),
        send_limits: tcp.send_limits.map(|limits| record::SendLimits {
            receive_window_ns: limits.receive_window.0,
            receive_window_connections: limits.receive_window_connections,
            send_buffer_ns: limits.send_buffer.0,
            send_buffer_connections: limits.send_buffer_connections,
        }),
    })
}

/// Whether the target is on this machine.
fn is_here(address: &Address) -> bool {
    matches!(address, Address::Tcp(address) if server::is_here(*address))
}

/// Whether a request lists the content codings it accepts.
fn accepts_compressed(job: &Job) -> bool {
    job.requests.iter().any(|request| request.headers.get("Accept-Encoding").is_some())
}

/// A failure with the details of its first case, and for a TLS fault its remedy.
fn in_full(failure: ConnectionFailure, counts: &ConnectionCounts, tls: Option<&TlsOutcome>) -> String {
    match (failure, counts.details_of(failure)) {
        (failure, Some(details)) => said_once(&failure.to_string(), details),
        (ConnectionFailure::Tls(fault), _) => {
            let reported =
                tls.and_then(|tls| tls.error(fault)).map_or_else(|| fault.to_string(), ToString::to_string);
            format!("{reported}: {}", crate::target::remedy(fault))
        }
        _ => failure.to_string(),
    }
}

/// A failure with its details in parentheses, or the details alone where they begin with the failure.
fn said_once(failure: &str, details: &str) -> String {
    if details.starts_with(failure) { details.to_owned() } else { format!("{failure} ({details})") }
}

/// Minimum, median and maximum of a number that each connection has.
fn spread(mut numbers: Vec<u64>) -> Option<record::Served> {
    numbers.sort_unstable();
    let [min, .., max] = numbers.as_slice() else {
        return numbers.first().map(|only| record::Served { min: *only, median: *only, max: *only });
    };
    Some(record::Served { min: *min, median: numbers[numbers.len() / 2], max: *max })
}

/// The same of a number that a histogram has of each connection.
fn spread_in(numbers: &Histogram) -> Option<record::Served> {
    Some(record::Served { min: numbers.min()?, median: numbers.quantile(0.5)?, max: numbers.max()? })
}

/// Number of failures of the selected kinds.
fn sum_of(counts: &ConnectionCounts, kinds: fn(ConnectionFailure) -> bool) -> u64 {
    counts.failures.iter().filter(|(failure, _)| kinds(*failure)).map(|(_, count)| count).sum()
}

fn generator(prepared: &Prepared, outcome: &RunOutcome, health: &Health, window_s: f64) -> record::Generator {
    let used = health.by_thread();
    let cpu = |index: usize| used[index].user_s + used[index].system_s;
    // Unsuccessful polling is measured in wall-clock time, which includes time in which a preempted thread used no CPU.
    let spun = |index: usize| {
        let wall_s = outcome.spun.get(index).copied().unwrap_or(Nanos::ZERO).as_secs_f64();
        (wall_s - used[index].run_delay_s).clamp(0.0, cpu(index))
    };
    let busy = |index: usize| (cpu(index) - spun(index)).max(0.0);
    let threads = 0..used.len();
    let by_core = health.by_core();
    let busy_s: f64 = threads.clone().map(busy).sum();
    let busiest_s = threads.clone().map(busy).fold(0.0, f64::max);
    record::Generator {
        threads: prepared.settings.threads,
        cores: prepared.cores.clone(),
        cpu_s: threads.clone().map(cpu).sum(),
        busy_s,
        spin_s: threads.clone().map(spun).sum(),
        cpu_ns_per_request: ratio(busy_s * 1e9, sent_in_window(outcome) as f64),
        utilization: ratio(busiest_s, window_s).max(ratio(busy_s, window_s * prepared.cores.len() as f64)),
        run_delay_s: used.iter().map(|thread| thread.run_delay_s).sum(),
        steal_s: by_core.iter().map(|core| core.steal_s).sum(),
        suspended_s: health.suspended_s(),
        rss_bytes_peak: rss_bytes_peak(),
        longest_gap_ns: Some(outcome.stall.length.0),
        backlog_at_window_start: outcome.backlog,
        by_thread: threads
            .map(|index| record::GeneratorThread {
                user_s: used[index].user_s,
                system_s: used[index].system_s,
                spin_s: spun(index),
                run_delay_s: used[index].run_delay_s,
                voluntary_switches: used[index].voluntary_switches,
                involuntary_switches: used[index].involuntary_switches,
            })
            .collect(),
        by_core,
        core_frequencies: health.core_frequencies(),
        throttling: health.throttling(),
        left: Some(free_resources(&prepared.settings, outcome.connections.had, health.sockets())),
    }
}

/// A quotient; 0 if the denominator is 0: never infinite or NaN, which JSON cannot represent.
fn ratio(numerator: f64, denominator: f64) -> f64 {
    if denominator > 0.0 { numerator / denominator } else { 0.0 }
}

/// The window's cohort. Some requests of the warm-up's cohort are answered inside the window: the server did that work
/// in the window.
fn total(outcome: &RunOutcome) -> Block {
    let mut total = block(&outcome.total);
    total.completed_in_window += carried(outcome, |counts| counts.completed_in_window);
    if let Some(events) = &mut total.stream_events {
        events.events_in_window += carried(outcome, |counts| counts.streams.events_in_window);
        events.events_of_ok_in_window += carried(outcome, |counts| counts.streams.events_of_ok_in_window);
        events.counted_in_window += carried(outcome, |counts| counts.streams.counted_in_window);
    }
    total
}

/// Requests of either cohort handed to a socket inside the window.
fn sent_in_window(outcome: &RunOutcome) -> u64 {
    outcome.total.counts.sent_in_window + carried(outcome, |counts| counts.sent_in_window)
}

/// Count of events inside the window for requests of the warm-up's cohort.
fn carried<N: Sum<N>>(outcome: &RunOutcome, count: fn(&EngineCounts) -> N) -> N {
    let warmup = outcome.intervals.iter().filter(|interval| interval.cohort != EnginePhase::Window);
    warmup.map(|interval| count(&interval.tally.counts)).sum()
}

/// Requests that the window took over from the warm-up. A request that was never sent waited for a connection; these
/// are the backlog.
fn carried_over(outcome: &RunOutcome) -> record::CarriedOver {
    let carried = &outcome.carried;
    let unanswered = carried.ended(Ending::TimedOut) + carried.ended(Ending::IoFailed);
    record::CarriedOver { outstanding: carried.outstanding, unanswered }
}

/// What went wrong with the files of bodies that were read while they were sent.
fn body_faults(prepared: &Prepared, counts: &ConnectionCounts) -> Option<record::BodyFaults> {
    let connections = sum_of(counts, |failure| failure == ConnectionFailure::BodyUnreadable);
    let mut faults = record::BodyFaults { connections, ..record::BodyFaults::default() };
    for file in prepared.body_files.iter().filter(|file| file.has_changed()) {
        // Several requests may have the same file.
        faults.add(&record::BodyFaults { changed: vec![file.name().to_owned()], connections: 0 });
    }
    (faults != record::BodyFaults::default()).then_some(faults)
}

/// The waits for the disk in the window, if bodies are read while they are sent.
fn body_waits(prepared: &Prepared) -> Option<record::BodyWaits> {
    let mut all = record::BodyWaits::default();
    prepared.body_files.iter().for_each(|file| all.add(&file.waits()));
    (!prepared.body_files.is_empty()).then_some(all)
}

/// How bodies that waited for 100 Continue were sent, if any wait.
fn expect_continue(job: &Job, outcome: &RunOutcome) -> Option<record::ExpectContinue> {
    let ContinueCounts { continued, answered, silent, waits } = &outcome.continues;
    let waits_for_any = job.requests.iter().any(|request| request.expect_continue);
    waits_for_any.then(|| record::ExpectContinue {
        continued: *continued,
        answered: *answered,
        silent: *silent,
        continue_time_ns: (!waits.is_empty()).then(|| record::Times::from_histogram(waits)),
    })
}

/// The mean number of connections open in each interval, by its beginning: the time for which they were open, of both
/// cohorts, divided by its length.
fn open_connections(outcome: &RunOutcome) -> BTreeMap<Nanos, f64> {
    let mut times: BTreeMap<Nanos, Nanos> = BTreeMap::new();
    for interval in &outcome.intervals {
        *times.entry(interval.start).or_default() += interval.tally.counts.connection_time;
    }
    let ends: Vec<Nanos> = times.keys().skip(1).copied().chain([outcome.spans.end]).collect();
    let mean = |((start, time), end): ((Nanos, Nanos), Nanos)| {
        let length = end.since(start.max(outcome.spans.start));
        (start, ratio(time.0 as f64, length.0 as f64))
    };
    times.into_iter().zip(ends).map(mean).collect()
}

fn intervals(job: &Job, outcome: &RunOutcome) -> Vec<record::Interval> {
    let open = job.connection_plan.as_ref().map(|_| open_connections(outcome)).unwrap_or_default();
    let mut tally = Tally::default();
    let mut kept = Vec::new();
    for interval in &outcome.intervals {
        tally.clear();
        tally.merge_compact(&interval.tally);
        let phase = match interval.cohort {
            EnginePhase::Connect => record::Phase::Connect,
            EnginePhase::Window => record::Phase::Window,
            _ => record::Phase::Warmup,
        };
        let start_ns = interval.start.max(outcome.spans.start).since(outcome.spans.start).0;
        let connections = open.get(&interval.start).copied();
        kept.push(record::Interval { phase, start_ns, connections, block: block(&tally) });
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_not_repeated_in_its_details() {
        let of = |details: &str| {
            let details = vec![(ConnectionFailure::Protocol, details.to_owned())];
            in_full(ConnectionFailure::Protocol, &ConnectionCounts { details, ..Default::default() }, None)
        };
        let begins = "the response is not HTTP: it begins \"x\"";
        assert_eq!(of(begins), begins);
        assert_eq!(of("a status of two digits"), "the response is not HTTP (a status of two digits)");
    }
}
