//! Defines scenarios: sources of requests that depend on the responses to earlier ones.
//!
//! A protocol turns requests into bytes and bytes into responses; a scenario, above it, chooses the requests and reads
//! the responses. Requests and heads are text in the form of HTTP/1.1, whichever the protocol. There are two scenarios:
//! the users of [`crate::session`], and the programs of [`crate::script`]. A load whose requests do not depend on each
//! other has none ([`PlainLoad`]), and the compiler removes every call for it.
//!
//! A user belongs to a connection and stays with its slot: if the connection ends, the user continues on the next one.
//! Over HTTP/1.1 each connection has one user, over HTTP/2 one for each stream that it may have open.

use super::exchange::{Exchange, ExchangeIndex, WaitingStep};
use super::inspect::JudgedHead;
use super::record::ReceivedResponse;
use super::request_tracker::{SendTimes, Tracker};
use crate::{Nanos, Settings, Slot};
use paceline_stats::Histogram;

/// A request that a scenario has made for a place, or several in sequence.
#[derive(Debug)]
pub struct MadeStep<'s> {
    /// Their kind.
    pub kind: u16,
    /// How many. More than one are pipelined, from the place on.
    pub count: u16,
    /// Their bytes, as HTTP/1.1 sends them.
    pub text: &'s [u8],
}

/// A part of a response.
#[derive(Clone, Copy, Debug)]
pub enum ResponsePart<'r> {
    /// It begins: no part of it has come before.
    Start,
    /// Bytes of its head, in the form of HTTP/1.1.
    Head(&'r [u8]),
    /// That head was of an interim response: another one follows.
    Interim,
    /// Bytes of its body.
    Body(&'r [u8]),
}

/// What a scenario has counted, by session.
#[derive(Debug, Default)]
pub struct ScenarioCounts {
    /// Sessions that were completed inside the window.
    pub completed: Vec<u64>,
    /// The durations of the window's completed sessions.
    pub times: Vec<Histogram>,
    /// Cookies that users did not keep.
    pub cookies_dropped: u64,
}

/// A source of requests that reads their responses. Without one, the defaults apply.
pub trait Scenario {
    /// Whether requests depend on responses. If not, no other method is called.
    const IS_USED: bool;

    /// The scenario for the connections of a worker, with this many places each.
    fn new(settings: &Settings, worker: u32, places: u16) -> Self;

    /// Whether it reads responses: all parts of each, and its end. If not, the protocol ends the exchanges itself.
    #[inline(always)]
    fn reads_responses(&self) -> bool {
        false
    }

    /// The number of users of a connection that can begin a session.
    fn idle_users(&self, _: Slot) -> u16 {
        0
    }

    /// The number of steps that are due on a connection.
    #[inline(always)]
    fn due_steps(&self, _: Slot, _: Nanos) -> u16 {
        0
    }

    /// When the next step on a connection is due; [`Nanos::NEVER`] if none waits.
    #[inline(always)]
    fn next_step(&self, _: Slot) -> Nanos {
        Nanos::NEVER
    }

    /// The moment for which an alarm has to be set on a connection, so that its next step is sent in time; none if the
    /// step is due or an alarm is set.
    fn take_alarm(&mut self, _: Slot, _: Nanos) -> Option<Nanos> {
        None
    }

    /// The alarm has rung.
    fn alarm_rang(&mut self, _: Slot) {}

    /// Notes whether due steps wait for room on their connection; returns whether they did before.
    #[inline(always)]
    fn note_blocked(&mut self, _: Slot, _is_blocked: bool) -> bool {
        false
    }

    /// Drops a step that waits on a connection, and ends its session. Of several, the one that is due first.
    fn give_up_step(&mut self, _: Slot) -> Option<WaitingStep> {
        None
    }

    /// Sessions that have begun and not ended.
    #[inline(always)]
    fn open_sessions(&self) -> u64 {
        0
    }

    /// Skips the next session, which will not begin; returns the kind of its first step.
    fn skip(&mut self) -> u16 {
        0
    }

    /// The pause that a connection makes before its next request, unless it has made it.
    #[inline(always)]
    fn take_pause(&mut self, _: Slot) -> Option<Nanos> {
        None
    }

    /// Makes the next request of a connection for a place: the step that is due at `now`, or the first one of a session
    /// that begins. None if there is neither.
    fn make(&mut self, _: Slot, _: ExchangeIndex, _: Nanos) -> Option<MadeStep<'_>> {
        None
    }

    /// The request that was made for a place.
    fn text(&self, _: Slot, _: ExchangeIndex) -> &[u8] {
        &[]
    }

    /// No byte of the request that was made for a place was sent. Of several, the last one is undone first.
    fn undo(&mut self, _: Slot, _: ExchangeIndex) {}

    /// Begins the request that was made for a place, of which `bytes` were sent so far. Returns its exchange.
    fn sent(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        send_times: &SendTimes,
        bytes: usize,
        tracker: &mut Tracker<'_>,
    ) -> Exchange;

    /// A part of the response to the exchange at a place has come.
    #[inline(always)]
    fn read(&mut self, _: Slot, _: ExchangeIndex, _: ResponsePart<'_>) {}

    /// The response to the exchange at a place is complete. Returns whether it is a redirect that another request
    /// follows.
    fn complete(
        &mut self,
        _: Slot,
        _: ExchangeIndex,
        _: JudgedHead,
        _: ReceivedResponse,
        _now: Nanos,
        _: &mut Tracker<'_>,
    ) -> bool {
        false
    }

    /// The server has not processed the exchange at a place: its request is sent again.
    fn give_back(&mut self, _: Slot, _: ExchangeIndex, _now: Nanos, _: &mut Tracker<'_>) {}

    /// The exchange at a place has ended without a response.
    #[inline(always)]
    fn failed(&mut self, _: Slot, _: ExchangeIndex) {}

    /// The connection is closed, and its exchanges have ended. Users that wait continue on the next connection.
    #[inline(always)]
    fn close(&mut self, _: Slot) {}

    /// Returns the counts at the end of the run.
    fn into_counts(self) -> ScenarioCounts
    where
        Self: Sized,
    {
        ScenarioCounts::default()
    }
}

/// A load whose requests do not depend on each other: the protocol takes them from their source itself.
#[derive(Debug)]
pub struct PlainLoad;

impl Scenario for PlainLoad {
    const IS_USED: bool = false;

    fn new(_: &Settings, _: u32, _: u16) -> Self {
        Self
    }

    fn sent(&mut self, _: Slot, _: ExchangeIndex, _: &SendTimes, _: usize, _: &mut Tracker<'_>) -> Exchange {
        Exchange::VACANT
    }
}
