//! The worker: its state and its one loop.
//!
//! [`super::phases`] moves it through the phases; what it does between two waits is in the files before it.

use super::answers::Answers;
use super::connection::{Connection, Sent, State};
use super::fairness::Medians;
use super::outgoing::Outgoing;
use super::record::Recorder;
use super::schedule::Schedule;
use crate::outcome::Failure;
use crate::timers::{Alarm, Timers};
use crate::{
    Clock, ConnectionCounts, EngineError, Nanos, Observer, Patience, Phase, Random, Ready, Second, Settings,
    Slot, Spans, ThreadOutcome, Timeline, Transport, WindowLength,
};
use paceline_http::{Decoder, Method};
use std::collections::VecDeque;

/// Bytes read at a time: large enough that a page arrives in one piece, small enough to stay in the cache.
const BUFFER: usize = 64 * 1024;
/// Longest sleep: how soon a worker notices that it is to stop.
const NAP: Nanos = Nanos::from_millis(100);

/// What the seed of think times is drawn with, so that they are not those of anything else.
const STREAM: u64 = 0x7468_696E_6B73;

/// Longest sleep of a worker that waits for the others to be connected: a millisecond, and more where so many would wake
/// so often that no core is left for those they wait for.
pub(crate) fn settling_nap(threads: u32) -> Nanos {
    Nanos::from_millis(1 + u64::from(threads / 16))
}

/// A worker's own sequence of think times: as far from the others' as chance has it, among 2^64 starting points.
fn thinking(seed: u64, worker: u32) -> Random {
    let mut seeds = Random::new(seed ^ STREAM);
    (0..worker).for_each(|_| _ = seeds.next_u64());
    Random::new(seeds.next_u64())
}

/// What a worker must know of the others. Asked between turns of the loop, never inside one.
pub trait Conductor {
    /// The worker has the connections it will get.
    fn connected(&self, had: u64);
    /// The warm-up's beginning, once every worker is connected. There is none if the run is given up before.
    fn epoch(&self) -> Option<Nanos>;
    /// Whether all have told what connections they have, and nobody has one.
    fn unreachable(&self) -> bool;
    /// When to stop sending before the planned end; [`Nanos::NEVER`] as long as nobody asked.
    fn stop_at(&self) -> Nanos;
    /// Whether the run is given up: another worker cannot go on, or somebody asked for the end before it began.
    fn aborted(&self) -> bool;
}

/// Drives its share of the load over its own connections.
pub struct Worker<'a, C, T> {
    pub(super) settings: &'a Settings,
    pub(super) clock: C,
    pub(super) transport: T,
    pub(super) recorder: &'a mut Recorder,
    pub(super) schedule: Schedule,
    /// None while connecting.
    pub(super) timeline: Option<Timeline>,
    pub(super) timers: Timers,
    pub(super) connections: Vec<Connection>,
    /// Requests on their way: a ring of `depth` for each connection.
    pub(super) in_flight: Vec<Sent>,
    /// Free connections, longest free first. An entry may be stale: whoever takes it looks.
    line: VecDeque<Slot>,
    /// Slots that want a handshake.
    pub(super) to_connect: VecDeque<Slot>,
    /// Slots with more to read than their turn allowed, each once.
    pub(super) again: VecDeque<Slot>,
    pub(super) outgoing: Outgoing,
    pub(super) buffer: Vec<u8>,
    /// What is known of the responses to each kind of request.
    pub(super) answers: Box<[Answers]>,
    /// Service times by connection, in an open loop.
    pub(super) medians: Medians,
    ready: Vec<Ready>,
    pub(super) open: u32,
    pub(super) connecting: u32,
    /// Requests sent and not ended, over all connections.
    pub(super) outstanding: u64,
    pub(super) counts: ConnectionCounts,
    /// Connections that were made and lost before the run began.
    pub(super) lost: u64,
    pub(super) deadline_grid: Nanos,
    /// Whether connections are kept as long as the server keeps them, and never rest.
    pub(super) plain_life: bool,
    /// How long to think.
    pub(super) random: Random,
    /// Computed before anything is due: with random arrivals it takes a walk along all of them.
    pub(super) window_length: WindowLength,
    /// When a connection was last made, or a request on one last ended.
    pub(super) last_progress: Nanos,
    /// When the kernel received what was read last, where it was asked.
    pub(super) kernel_received: Option<Nanos>,
    pub(super) index: u32,
    pub(super) phase: Phase,
    pub(super) spans: Spans,
    /// Since when it has been polling in vain; [`Nanos::NEVER`] while it has something to do.
    idle_since: Nanos,
    spun: Nanos,
    pub(super) backlog: u64,
}

impl<'a, C: Clock, T: Transport> Worker<'a, C, T> {
    /// A worker with all its connections still to make.
    pub fn new(
        settings: &'a Settings,
        index: u32,
        clock: C,
        transport: T,
        recorder: &'a mut Recorder,
    ) -> Self {
        let count = settings.connections_of(index);
        let schedule = Schedule::new(settings, &Timeline::NEVER, index);
        let schedule_is_open = schedule.is_open();
        let method = settings.requests.kinds().first().map_or(Method::Other, |kind| kind.method);
        recorder.reset(settings, schedule_is_open);
        Self {
            settings,
            schedule,
            recorder,
            timeline: None,
            timers: Timers::default(),
            connections: (0..count).map(|_| Connection::new(Decoder::new(method))).collect(),
            in_flight: vec![Sent::default(); count as usize * usize::from(settings.job.depth)],
            line: VecDeque::with_capacity(count as usize),
            to_connect: (0..count).collect(),
            again: VecDeque::new(),
            outgoing: Outgoing::new(
                &settings.requests,
                settings.job.depth,
                settings.seed,
                index,
                settings.threads,
            ),
            buffer: vec![0; BUFFER],
            answers: settings.requests.kinds().iter().map(Answers::new).collect(),
            medians: if schedule_is_open { Medians::new(count) } else { Medians::default() },
            ready: Vec::with_capacity(1024),
            open: 0,
            connecting: 0,
            outstanding: 0,
            counts: ConnectionCounts::default(),
            lost: 0,
            // A 64th of the timeout: an alarm rings at most so late, and wakes at most so often.
            deadline_grid: Nanos((settings.job.timeout.0 / 64).clamp(1_000_000, 250_000_000)),
            plain_life: settings.job.has_plain_connections(),
            random: thinking(settings.seed, index),
            window_length: WindowLength::of(settings),
            last_progress: clock.now(),
            kernel_received: None,
            spans: Spans { start: clock.now(), ..Spans::default() },
            clock,
            transport,
            index,
            phase: Phase::Connect,
            idle_since: Nanos::NEVER,
            spun: Nanos::ZERO,
            backlog: 0,
        }
    }

    /// Carries the run out, from the first handshake to the last outcome.
    ///
    /// # Errors
    /// [`EngineError::Unreachable`] when no worker could make a connection, [`EngineError::Kernel`] when waiting fails.
    pub fn run(&mut self, conductor: &impl Conductor, observer: &dyn Observer) -> Result<(), EngineError> {
        observer.thread_phase(self.index, Phase::Connect);
        if observer.wants_seconds() {
            self.recorder.listen();
        }
        while !self.has_connections() && conductor.stop_at() == Nanos::NEVER && !conductor.aborted() {
            self.turn(self.clock.now(), NAP)?;
        }
        self.counts.had = u64::from(self.open);
        conductor.connected(self.counts.had);
        // Connections that close meanwhile are remade; the epoch comes as soon as the slowest worker is ready. A worker
        // without a connection goes on trying as long as others have some.
        while self.timeline.is_none() && !conductor.aborted() {
            if conductor.unreachable() {
                return Err(self.unreachable());
            }
            match conductor.epoch() {
                Some(epoch) => self.begin(epoch),
                None => self.turn(self.clock.now(), settling_nap(self.settings.threads))?,
            }
        }
        while self.timeline.is_some() {
            let now = self.clock.now();
            self.advance(now, conductor.stop_at(), observer);
            if self.phase == Phase::End {
                self.recorder.end(now);
                self.tell(now, observer);
                break;
            }
            self.turn(now, NAP)?;
            if self.recorder.has_news() {
                self.tell(now, observer);
            }
        }
        Ok(())
    }

    /// Tells of the seconds that are over.
    #[cold]
    fn tell(&mut self, now: Nanos, observer: &dyn Observer) {
        for (start, end, cohorts) in self.recorder.take_news() {
            let start = start.max(self.spans.start);
            let backlog = self.schedule.backlog_about(end.min(now));
            observer.second(Second { worker: self.index, start, end, cohorts, backlog });
        }
    }

    /// What came of it. The recorder is emptied.
    pub fn into_outcome(mut self) -> ThreadOutcome {
        self.counts.served = self.connections.iter().map(|connection| connection.served).collect();
        self.counts.medians = self.medians.into_medians();
        let (sums, intervals, interval) = self.recorder.finish();
        ThreadOutcome {
            noted_sends: self.recorder.take_noted(),
            total: sums.total,
            by_segment: sums.by_segment,
            by_request: sums.by_request,
            intervals,
            interval,
            connections: self.counts,
            spun: self.spun,
            backlog: self.backlog,
            spans: self.spans,
            tls: self.transport.tls_outcome().cloned(),
            wrong_bodies: self.answers.into_iter().map(|answers| answers.inspector.into_wrong()).collect(),
        }
    }

    /// Shows the tallies of all blocks and the transport, for simulations that use a recorder again.
    pub(crate) fn settled<R>(&mut self, look: impl FnOnce(&[crate::Tally], &T) -> R) -> R {
        look(self.recorder.settle(), &self.transport)
    }

    /// One turn of the loop: send what is due, ring what is due, wait, handle what happened.
    fn turn(&mut self, start: Nanos, nap: Nanos) -> Result<(), EngineError> {
        self.spun += start.since(self.idle_since);
        // Before anything is sent: what is due as a second begins is counted in it.
        self.recorder.roll(start);
        let now = self.dispatch(start);
        self.ring(now);
        self.keep_connecting();
        let patience = self.patience(now, nap);
        let mut ready = std::mem::take(&mut self.ready);
        let waited = self.transport.wait(patience, &mut ready);
        let found_nothing = ready.is_empty() && now == start && self.again.is_empty();
        let spinning = found_nothing && patience == Patience::Poll && self.phase == Phase::Window;
        self.idle_since = if spinning { start } else { Nanos::NEVER };
        for event in ready.drain(..) {
            self.handle(event);
        }
        self.ready = ready;
        if !self.again.is_empty() {
            self.read_on();
        }
        waited.map_err(|source| EngineError::Kernel { what: "wait for network events", source })
    }

    fn handle(&mut self, event: Ready) {
        match self.connections[event.slot as usize].state {
            State::Closed => {}
            State::Connecting => {
                self.check_connecting(event.slot);
                // A server that closes or speaks at once says so in the same event, and only there.
                if event.readable || event.hangup {
                    self.receive(event.slot, event.hangup);
                }
                let now = self.clock.now();
                self.dispatch(now);
            }
            State::Open | State::Full | State::Last | State::Thinking => {
                let connection = &mut self.connections[event.slot as usize];
                if connection.in_again {
                    // Its turn comes when the others have had theirs.
                    connection.hung_up |= event.hangup;
                } else if event.readable || event.hangup {
                    self.receive(event.slot, event.hangup);
                }
                let connection = &self.connections[event.slot as usize];
                let waiting = connection.unsent_bytes > 0 || !connection.in_line;
                if event.writable && waiting && connection.state.is_up() {
                    self.continue_sending(event.slot);
                }
            }
        }
    }

    fn ring(&mut self, now: Nanos) {
        while let Some((slot, alarm)) = self.timers.due(now) {
            match alarm {
                Alarm::Deadline => self.check_deadline(slot, now),
                Alarm::ConnectLimit => self.check_connect_limit(slot, now),
                Alarm::Reconnect => self.reconnect(slot),
                Alarm::Think => self.thought(slot, now),
            }
        }
    }

    /// How long the next wait may last.
    fn patience(&self, now: Nanos, nap: Nanos) -> Patience {
        if !self.again.is_empty() || !self.to_connect.is_empty() && self.timeline.is_some() {
            return Patience::Poll;
        }
        let send = if self.line.is_empty() { Nanos::NEVER } else { self.schedule.next_due(now) };
        let other =
            self.timers.next().min(self.next_boundary(now)).min(self.recorder.interval_end()).min(now + nap);
        match crate::pace::wait(self.settings.pace, now, send, other) {
            Nanos::ZERO => Patience::Poll,
            wait => Patience::For(wait),
        }
    }

    /// Puts a connection at the end of the line of free ones.
    #[inline]
    pub(super) fn stand_in_line(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot as usize];
        if !connection.in_line {
            connection.in_line = true;
            self.line.push_back(slot);
        }
    }

    /// Takes the connection that has been free longest.
    #[inline]
    pub(super) fn next_in_line(&mut self) -> Option<Slot> {
        while let Some(slot) = self.line.pop_front() {
            let connection = &mut self.connections[slot as usize];
            connection.in_line = false;
            if connection.is_free(self.settings.job.free_below()) {
                return Some(slot);
            }
        }
        None
    }

    /// Whether no connection is free.
    pub(super) fn line_is_empty(&self) -> bool {
        let free = |slot: &Slot| self.connections[*slot as usize].is_free(self.settings.job.free_below());
        !self.line.iter().any(free)
    }

    /// Counts a failure for the report.
    pub(super) fn note(&mut self, failure: Failure) {
        self.counts.note(failure, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::thinking;
    use std::collections::HashSet;

    #[test]
    fn no_worker_thinks_as_another_does() {
        for seed in [0, 1, 42] {
            let drawn: Vec<u64> = (0..8)
                .flat_map(|worker| {
                    let mut random = thinking(seed, worker);
                    (0..200).map(move |_| random.next_u64())
                })
                .collect();
            assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), 8 * 200, "with seed {seed}");
        }
    }
}
