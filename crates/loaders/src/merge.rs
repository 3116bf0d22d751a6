//! Adds up the records of the loaders of one run.
//!
//! Counts and histograms add up, as those of threads do. Times of phases and intervals count from the beginning of the
//! warm-up, which all loaders share. Verdicts and gates are judged from the sum.

use crate::{LoaderPart, LoadersError, Overlap};
use paceline_engine::{Nanos, gaps_of_all};
use paceline_job::Job;
use paceline_record::{
    AddressConnections, BadBody, Block, BlockSum, BodyFaults, BodyWaits, CarriedOver, Connections,
    ExpectContinue, Generator, Interval, Loader, Phase, Phases, Rates, RecordError, RequestPart, Run,
    Segment, SendLimits, Served, SessionPart, Span, StreamExamples, TcpCounts, Throttling,
};
use paceline_run::{Prepared, arrival_check, wall_clock};
use std::collections::BTreeMap;

/// Unsent requests that the engine counts one by one.
const UNSENT_EXACT: u64 = 1 << 20;
/// The number of random arrivals in a time is a Poisson variable, whose standard deviation is the root of its mean: it
/// is never that many of them away.
const MAX_DEVIATIONS: u64 = 10;

/// The sum so far. Results are added as they come, and only their sum is kept.
#[derive(Debug, Default)]
pub struct Merge {
    /// The part of the window that is kept.
    overlap: Option<Overlap>,
    first: Option<Box<Run>>,
    total: BlockSum,
    by_segment: Vec<(u64, BlockSum)>,
    by_request: Vec<BlockSum>,
    sessions: Option<Vec<SessionPart>>,
    /// By cohort and beginning, since the beginning of the warm-up.
    intervals: BTreeMap<(Phase, i64), BlockSum>,
    by_generator: Vec<Block>,
    loaders: Vec<Loader>,
    noted: Vec<Vec<Vec<Nanos>>>,
    connections: Vec<Connections>,
    generators: Vec<Generator>,
    carried_over: CarriedOver,
    /// Their intended sends count from the beginning of the warm-up.
    stream_examples: Option<StreamExamples>,
    expect_continue: Option<ExpectContinue>,
    body_faults: Option<BodyFaults>,
    body_waits: Option<BodyWaits>,
    bad_bodies: Vec<BadBody>,
    phases: Vec<Phases>,
    sent: f64,
    stopped: bool,
}

impl Merge {
    /// No loader is added yet. Each one's window is cut to `overlap` where there is one.
    pub fn new(overlap: Option<Overlap>) -> Self {
        Self { overlap, ..Self::default() }
    }

    /// Adds a loader.
    ///
    /// # Errors
    /// [`LoadersError::Record`] when a histogram of it cannot be decoded, [`LoadersError::Accounts`] when it did not
    /// follow its part of the schedule, [`LoadersError::Contradiction`] when its counts do not add up.
    pub fn add(&mut self, part: LoaderPart) -> Result<(), LoadersError> {
        let LoaderPart { mut loader, run, noted } = part;
        let Some(mut run) = run else {
            self.by_generator.push(Block::default());
            self.loaders.push(loader);
            return Ok(());
        };
        if let Some(what) = run.contradictions().into_iter().next() {
            return Err(LoadersError::Contradiction { host: loader.host, what });
        }
        let counted = run.total.counts.scheduled;
        if let Some(scheduled) = loader.share.filter(|share| !follows(&run, *share)) {
            return Err(LoadersError::Accounts { host: loader.host, counted, scheduled });
        }
        let cut = self.overlap.map_or(Ok(()), |overlap| overlap.cut(&mut loader, &mut run));
        let added = cut.and_then(|()| self.blocks(&run, loader.late_ns.unwrap_or(0)));
        added.map_err(|source| LoadersError::Record { host: loader.host.clone(), source })?;
        self.by_generator.push(run.total.clone());
        self.connections.push(run.connections.clone());
        self.generators.push(run.generator.clone());
        self.phases.push(later(run.phases, loader.late_ns.unwrap_or(0)));
        self.noted.push(noted);
        if let Some(carried) = run.carried_over {
            self.carried_over.outstanding += carried.outstanding;
            self.carried_over.unanswered += carried.unanswered;
        }
        if let Some(examples) = run.stream_examples.take() {
            self.examples(examples, run.phases.warmup.start_ns, loader.late_ns.unwrap_or(0));
        }
        if let Some(faults) = &run.body_faults {
            self.body_faults.get_or_insert_default().add(faults);
        }
        if let Some(waits) = &run.body_waits {
            self.body_waits.get_or_insert_default().add(waits);
        }
        for bad in &run.bad_bodies {
            if !self.bad_bodies.iter().any(|known| known.request == bad.request) {
                self.bad_bodies.push(bad.clone());
            }
        }
        self.sent += run.rate_per_s.sent * run.window_s;
        self.stopped |= run.stopped;
        self.loaders.push(loader);
        self.first.get_or_insert_with(|| Box::new(Run { intervals: Vec::new(), ..run }));
        Ok(())
    }

    /// Adds examples of streams of a run whose warm-up began at `epoch_ns`, later than agreed by `late_ns`.
    fn examples(&mut self, mut examples: StreamExamples, epoch_ns: u64, late_ns: u64) {
        for example in &mut examples.examples {
            example.intended_ns = example.intended_ns.saturating_sub(epoch_ns).saturating_add(late_ns);
        }
        self.stream_examples.get_or_insert_default().add(&examples);
    }

    /// Adds the blocks of a run that began later than agreed by this time.
    fn blocks(&mut self, run: &Run, late_ns: u64) -> Result<(), RecordError> {
        self.total.add(&run.total)?;
        let segments = run.by_segment.as_deref().unwrap_or_default();
        self.by_segment.resize_with(self.by_segment.len().max(segments.len()), Default::default);
        for ((completed, sum), segment) in self.by_segment.iter_mut().zip(segments) {
            *completed += segment.completed_in_segment;
            sum.add(&segment.block)?;
        }
        let requests = run.by_request.as_deref().unwrap_or_default();
        self.by_request.resize_with(self.by_request.len().max(requests.len()), Default::default);
        for (sum, request) in self.by_request.iter_mut().zip(requests) {
            sum.add(&request.block)?;
        }
        match (&mut self.expect_continue, &run.expect_continue) {
            (Some(sum), Some(one)) => sum.add(one)?,
            (sum, one) => *sum = sum.take().or_else(|| one.clone()),
        }
        match (&mut self.sessions, &run.sessions) {
            (Some(sums), Some(sessions)) => {
                sums.iter_mut().zip(sessions).try_for_each(|(sum, session)| sum.add(session))?;
            }
            (sums, sessions) => *sums = sums.take().or_else(|| sessions.clone()),
        }
        let epoch_ns = run.phases.warmup.start_ns as i64;
        for Interval { phase, start_ns, block, .. } in &run.intervals {
            // Before the warm-up there is one stretch, of a length of its own.
            let since_ns = *start_ns as i64 - epoch_ns;
            let start_ns = if since_ns < 0 { -1 } else { since_ns + late_ns as i64 };
            self.intervals.entry((*phase, start_ns)).or_default().add(block)?;
        }
        Ok(())
    }

    /// The record of all loaders.
    ///
    /// # Errors
    /// [`LoadersError::AllLost`] if there is no result.
    pub fn finish(
        self,
        prepared: &Prepared,
        job: &Job,
        argv: Vec<String>,
        started_at: String,
    ) -> Result<Run, LoadersError> {
        let Some(first) = self.first else {
            let reason = |loader: &Loader| Some(format!("{}: {}", loader.host, loader.lost.as_ref()?));
            return Err(LoadersError::AllLost { reasons: self.loaders.iter().filter_map(reason).collect() });
        };
        let phases = phases(&self.phases);
        let window_s = (phases.window.end_ns - phases.window.start_ns) as f64 / 1e9;
        let total = self.total.into_block();
        let gaps = gaps_of_all(&prepared.settings, &self.noted);
        let is_whole = self.loaders.iter().all(|loader| loader.lost.is_none() && loader.late_ns.is_none());
        let epoch_ns = phases.warmup.start_ns as i64;
        let interval = |((phase, start_ns), sum): ((Phase, i64), BlockSum)| {
            Interval::new(phase, (epoch_ns + start_ns).max(0) as u64, sum.into_block())
        };
        let mut run = Run {
            kernel: None,
            id: wall_clock::new_id(),
            argv,
            started_at,
            job: Some(Box::new(job.masked())),
            loop_: paceline_record::Loop { connections: job.connections, ..first.loop_ },
            phases,
            window_s,
            stopped: self.stopped,
            connections: connections(&self.connections),
            generator: generator(&self.generators),
            by_segment: by_segment(first.by_segment, first.phases, phases, self.by_segment),
            by_request: by_request(first.by_request, self.by_request),
            sessions: self.sessions,
            by_generator: Some(self.by_generator),
            loaders: self.loaders,
            intervals: self.intervals.into_iter().map(interval).collect(),
            bad_bodies: self.bad_bodies,
            failed_checks: Vec::new(),
            carried_over: Some(self.carried_over),
            stream_examples: self.stream_examples.map(|all| since_start(all, phases.warmup.start_ns)),
            expect_continue: self.expect_continue,
            body_faults: self.body_faults,
            body_waits: self.body_waits,
            // If a loader's part is missing or moved, the schedule differs; the test would then not judge the sends.
            arrival_check: arrival_check(&gaps).filter(|_| is_whole),
            rate_per_s: Rates {
                offered: first.rate_per_s.offered,
                sent: self.sent / window_s.max(f64::MIN_POSITIVE),
                achieved: total.completed_in_window as f64 / window_s.max(f64::MIN_POSITIVE),
                sessions_achieved: None,
            },
            total,
            ..*first
        };
        run.rate_per_s.sessions_achieved = run.sessions_achieved_per_s();
        paceline_judge::judge_run(&mut run, &prepared.gates);
        run.summary = Some(run.summarize());
        Ok(run)
    }
}

/// Examples of streams whose intended sends count from the start of a run, not from its warm-up.
fn since_start(mut examples: StreamExamples, epoch_ns: u64) -> StreamExamples {
    for example in &mut examples.examples {
        example.intended_ns = example.intended_ns.saturating_add(epoch_ns);
    }
    examples
}

/// Whether a run counted as many requests as its share of the schedule has: fewer only if it was stopped.
fn follows(run: &Run, share: u64) -> bool {
    let counted = run.total.counts.scheduled;
    // A backlog of random arrivals beyond that is counted as if they came at their mean rate.
    let is_exact = run.total.counts.unsent < UNSENT_EXACT;
    let deviation = if is_exact { 0 } else { share.isqrt().saturating_mul(MAX_DEVIATIONS) };
    counted <= share.saturating_add(deviation) && (run.stopped || counted.saturating_add(deviation) >= share)
}

/// The phases of a loader since the agreed moment: its warm-up is longer by its delay.
fn later(phases: Phases, late_ns: u64) -> Phases {
    let later = |span: Span| Span { start_ns: span.start_ns + late_ns, end_ns: span.end_ns + late_ns };
    let warmup = Span { end_ns: phases.warmup.end_ns + late_ns, ..phases.warmup };
    Phases { warmup, window: later(phases.window), drain: later(phases.drain), ..phases }
}

/// The phases of all: each as long as the longest, since the connect phase of the slowest.
fn phases(each: &[Phases]) -> Phases {
    let longest = |length: fn(&Phases) -> u64| each.iter().map(length).max().unwrap_or(0);
    let connect_ns = longest(|phases| phases.warmup.start_ns);
    let window_ns = connect_ns + longest(|phases| phases.window.start_ns - phases.warmup.start_ns);
    let drain_ns = connect_ns + longest(|phases| phases.window.end_ns - phases.warmup.start_ns);
    let end_ns = connect_ns + longest(|phases| phases.drain.end_ns - phases.warmup.start_ns);
    let span = |start_ns, end_ns| Span { start_ns, end_ns };
    Phases {
        connect: span(0, connect_ns),
        warmup: span(connect_ns, window_ns),
        window: span(window_ns, drain_ns),
        drain: span(drain_ns, end_ns),
    }
}

/// A distribution over the connections of all loaders. The median connection is known only for each loader: the median
/// of these is used.
fn spread_of(each: impl Iterator<Item = Served>) -> Option<Served> {
    let each: Vec<Served> = each.collect();
    let mut medians: Vec<u64> = each.iter().map(|one| one.median).collect();
    medians.sort_unstable();
    Some(Served {
        min: each.iter().map(|one| one.min).min()?,
        median: medians.get(medians.len() / 2).copied()?,
        max: each.iter().map(|one| one.max).max()?,
    })
}

/// Connections of all loaders.
fn connections(each: &[Connections]) -> Connections {
    let sum = |count: fn(&Connections) -> u64| each.iter().map(count).sum();
    let spread = |of: fn(&Connections) -> Option<Served>| spread_of(each.iter().filter_map(of));
    Connections {
        asked: sum(|one| one.asked),
        had: sum(|one| one.had),
        closed_by_server: sum(|one| one.closed_by_server),
        closed_by_us: sum(|one| one.closed_by_us),
        closed_as_asked: sum(|one| one.closed_as_asked),
        failed_attempts: sum(|one| one.failed_attempts),
        failed_here: sum(|one| one.failed_here),
        redirects_followed: sum(|one| one.redirects_followed),
        broke_rules: sum(|one| one.broke_rules),
        responses_without_end: sum(|one| one.responses_without_end),
        ended_after_cancels: sum(|one| one.ended_after_cancels),
        listen_overflows: each.iter().filter_map(|one| one.listen_overflows).max(),
        tcp: tcp(each),
        heads_too_long: sum(|one| one.heads_too_long),
        cookies_dropped: sum(|one| one.cookies_dropped),
        commonest_failure: each.iter().find_map(|one| one.commonest_failure.clone()),
        streams_allowed: each.iter().filter_map(|one| one.streams_allowed).min(),
        compressed_unasked: each.iter().any(|one| one.compressed_unasked),
        served: spread(|one| one.served),
        service_time_ns_p50: spread(|one| one.service_time_ns_p50),
        by_address: by_address(each),
    }
}

/// The connections of all loaders to each address, in the order in which the first of them names it.
fn by_address(each: &[Connections]) -> Vec<AddressConnections> {
    let mut sums: Vec<AddressConnections> = Vec::new();
    for one in each.iter().flat_map(|one| &one.by_address) {
        let Some(sum) = sums.iter_mut().find(|sum| sum.address == one.address) else {
            sums.push(one.clone());
            continue;
        };
        sum.made += one.made;
        sum.failed_attempts += one.failed_attempts;
        sum.requests += one.requests;
        sum.not_ok += one.not_ok;
        sum.commonest_failure = sum.commonest_failure.take().or_else(|| one.commonest_failure.clone());
    }
    sums
}

/// What the kernels counted on the TCP connections of all loaders.
fn tcp(each: &[Connections]) -> Option<TcpCounts> {
    let counted = || each.iter().filter_map(|one| one.tcp);
    let sum = |count: fn(&TcpCounts) -> u64| counted().map(|one| count(&one)).sum();
    counted().next()?;
    Some(TcpCounts {
        connections: sum(|one| one.connections),
        retransmits: sum(|one| one.retransmits),
        out_of_order: sum(|one| one.out_of_order),
        round_trip_time_ns: spread_of(counted().filter_map(|one| one.round_trip_time_ns)),
        congestion_window_segments: spread_of(counted().filter_map(|one| one.congestion_window_segments)),
        send_limits: counted().filter_map(|one| one.send_limits).reduce(|one, other| SendLimits {
            receive_window_ns: one.receive_window_ns.saturating_add(other.receive_window_ns),
            receive_window_connections: one.receive_window_connections + other.receive_window_connections,
            send_buffer_ns: one.send_buffer_ns.saturating_add(other.send_buffer_ns),
            send_buffer_connections: one.send_buffer_connections + other.send_buffer_connections,
        }),
    })
}

/// The total cost of all loaders; its utilisation is that of the busiest. The cores of the machines are in each
/// loader's entry.
fn generator(each: &[Generator]) -> Generator {
    let sum = |cost: fn(&Generator) -> f64| each.iter().map(cost).sum::<f64>();
    let requests = each.iter().filter(|one| one.cpu_ns_per_request > 0.0);
    let requests: f64 = requests.map(|one| one.busy_s * 1e9 / one.cpu_ns_per_request).sum();
    let busy_s = sum(|one| one.busy_s);
    let mut cores: Vec<u32> = each.iter().flat_map(|one| one.cores.iter().copied()).collect();
    cores.sort_unstable();
    cores.dedup();
    Generator {
        threads: each.iter().map(|one| one.threads).sum(),
        cores,
        cpu_s: sum(|one| one.cpu_s),
        busy_s,
        spin_s: sum(|one| one.spin_s),
        cpu_ns_per_request: if requests > 0.0 { busy_s * 1e9 / requests } else { 0.0 },
        utilization: each.iter().map(|one| one.utilization).fold(0.0, f64::max),
        run_delay_s: sum(|one| one.run_delay_s),
        steal_s: each.iter().map(|one| one.steal_s).fold(0.0, f64::max),
        suspended_s: each.iter().filter_map(|one| one.suspended_s).reduce(f64::max),
        rss_bytes_peak: each.iter().map(|one| one.rss_bytes_peak).sum(),
        longest_gap_ns: each.iter().filter_map(|one| one.longest_gap_ns).max(),
        backlog_at_window_start: each.iter().map(|one| one.backlog_at_window_start).sum(),
        by_thread: each.iter().flat_map(|one| one.by_thread.iter().cloned()).collect(),
        by_core: each
            .iter()
            .max_by(|a, b| a.steal_s.total_cmp(&b.steal_s))
            .map_or_else(Vec::new, |one| one.by_core.clone()),
        core_frequencies: Vec::new(),
        throttling: throttling(each),
        left: None,
    }
}

/// What CPU limits cost all loaders. Each has its own.
fn throttling(each: &[Generator]) -> Option<Throttling> {
    each.iter().filter_map(|one| one.throttling).reduce(|a, b| Throttling {
        periods: a.periods + b.periods,
        throttled_periods: a.throttled_periods + b.throttled_periods,
        throttled_s: a.throttled_s + b.throttled_s,
        cores_allowed: a.cores_allowed.filter(|cores| b.cores_allowed == Some(*cores)),
    })
}

fn by_segment(
    first: Option<Vec<Segment>>,
    theirs: Phases,
    all: Phases,
    sums: Vec<(u64, BlockSum)>,
) -> Option<Vec<Segment>> {
    let moved = |at_ns: u64| at_ns.saturating_sub(theirs.warmup.start_ns).saturating_add(all.warmup.start_ns);
    let merged = |(segment, (completed, sum)): (Segment, (u64, BlockSum))| Segment {
        start_ns: moved(segment.start_ns),
        end_ns: moved(segment.end_ns),
        completed_in_segment: completed,
        block: sum.into_block(),
        ..segment
    };
    Some(first?.into_iter().zip(sums).map(merged).collect())
}

fn by_request(first: Option<Vec<RequestPart>>, sums: Vec<BlockSum>) -> Option<Vec<RequestPart>> {
    let merged = |(part, sum): (RequestPart, BlockSum)| RequestPart { block: sum.into_block(), ..part };
    Some(first?.into_iter().zip(sums).map(merged).collect())
}
