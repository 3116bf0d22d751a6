//! Implements scripted requests: a program outside the engine makes the requests and reads the responses.
//!
//! A worker calls its own [`RequestScript`]. A program may make several requests at once, which are pipelined: a connection sends its next ones when all of these
//! are answered. Responses reach the program only if it reads them; otherwise they take the same path as those of a
//! plain load.

use crate::hot::{
    Exchange, ExchangeIndex, JudgedHead, MadeStep, ReceivedResponse, ResponsePart, Scenario, SendTimes,
    Tracker,
};
use crate::script::{RequestScript, ScriptPlan};
use crate::{Ending, Nanos, Settings, Slot};
use std::collections::HashMap;

/// The maximum length of a body that reaches the program. A response with a longer one has a wrong body: each connection
/// keeps one in memory.
const MAX_BODY: usize = 16 << 20;

/// The state of one connection.
#[derive(Debug, Default)]
struct ScriptedConnection {
    /// Whether it has paused since its last requests.
    has_paused: bool,
    /// The head of the response being read.
    head: Vec<u8>,
    /// Its body.
    body: Vec<u8>,
    /// Whether it was longer than the maximum.
    is_too_long: bool,
}

/// The scripted requests of one worker.
pub struct Scripted {
    script: Option<Box<dyn RequestScript>>,
    plan: ScriptPlan,
    /// Whether the program makes no requests any more.
    is_over: bool,
    /// The requests that were made last.
    made: Vec<u8>,
    /// Whether no byte of them was sent.
    is_unsent: bool,
    /// Requests of which a part was sent.
    partly_sent: HashMap<Slot, Vec<u8>>,
    connections: Box<[ScriptedConnection]>,
}

impl Scripted {
    fn connection(&mut self, slot: Slot) -> &mut ScriptedConnection {
        &mut self.connections[slot as usize]
    }

    fn has_stopped(&self) -> bool {
        self.is_over || self.script.as_ref().is_none_or(|script| script.has_stopped())
    }
}

impl Scenario for Scripted {
    const IS_USED: bool = true;

    fn new(settings: &Settings, worker: u32, _: u16) -> Self {
        let connections = settings.connections_of(worker);
        Self {
            script: settings.scripts.as_ref().and_then(|scripts| scripts.take(worker)),
            plan: settings.scripts.as_ref().map(|scripts| scripts.plan).unwrap_or_default(),
            is_over: false,
            made: Vec::new(),
            is_unsent: false,
            partly_sent: HashMap::new(),
            connections: (0..connections).map(|_| ScriptedConnection::default()).collect(),
        }
    }

    #[inline]
    fn reads_responses(&self) -> bool {
        self.plan.reads_responses
    }

    #[inline]
    fn idle_users(&self, _: Slot) -> u16 {
        if self.has_stopped() { 0 } else { self.plan.batch }
    }

    #[inline]
    fn take_pause(&mut self, slot: Slot) -> Option<Nanos> {
        if !self.plan.delays || std::mem::replace(&mut self.connection(slot).has_paused, true) {
            return None;
        }
        self.script.as_mut().map(|script| script.delay()).filter(|pause| *pause > Nanos::ZERO)
    }

    #[inline]
    fn make(&mut self, _: Slot, _: ExchangeIndex, _: Nanos) -> Option<MadeStep<'_>> {
        if !std::mem::take(&mut self.is_unsent) {
            self.made.clear();
            let is_made = self.script.as_mut().is_some_and(|script| script.request(&mut self.made));
            if !is_made {
                // Asked again, the connection would be free and ask for ever.
                self.is_over = true;
                return None;
            }
        }
        Some(MadeStep { kind: 0, count: self.plan.batch, text: &self.made })
    }

    fn text(&self, slot: Slot, _: ExchangeIndex) -> &[u8] {
        self.partly_sent.get(&slot).map_or(&[], Vec::as_slice)
    }

    fn undo(&mut self, _: Slot, _: ExchangeIndex) {
        self.is_unsent = true;
    }

    /// Begins all requests that were made together. In an open loop, and if requests were handed back, each has its own
    /// intended send.
    #[inline]
    fn sent(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        send_times: &SendTimes,
        bytes: usize,
        tracker: &mut Tracker<'_>,
    ) -> Exchange {
        self.connection(slot).has_paused = false;
        if bytes < self.made.len() {
            self.partly_sent.insert(slot, self.made.clone());
        }
        let batch = self.plan.batch;
        let (steps, count) = if tracker.begins_alone() { (batch, 1) } else { (1, batch) };
        let mut exchange = Exchange::VACANT;
        for step in 0..steps {
            let sent_bytes = if step == 0 { bytes } else { 0 };
            exchange = tracker.begin(send_times, 0, count, sent_bytes);
            tracker.exchanges_mut().begin_alike(slot, place, count, exchange);
        }
        exchange
    }

    #[inline]
    fn read(&mut self, slot: Slot, _: ExchangeIndex, part: ResponsePart<'_>) {
        let ScriptedConnection { head, body, is_too_long, .. } = self.connection(slot);
        match part {
            ResponsePart::Start => {
                head.clear();
                body.clear();
                *is_too_long = false;
            }
            ResponsePart::Head(bytes) => head.extend_from_slice(bytes),
            ResponsePart::Interim => head.clear(),
            ResponsePart::Body(piece) => {
                *is_too_long |= piece.len() > MAX_BODY - body.len();
                if !*is_too_long {
                    body.extend_from_slice(piece);
                }
            }
        }
    }

    #[inline]
    fn complete(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        head: JudgedHead,
        mut response: ReceivedResponse,
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> bool {
        let connection = &self.connections[slot as usize];
        if connection.is_too_long && response.ending == Ending::Ok {
            response.ending = Ending::BadBody;
        }
        if let Some(exchange) = tracker.exchanges_mut().end(slot, place) {
            tracker.answered(slot, &exchange, 1, &response, now);
        }
        let script = self.script.as_mut().filter(|script| !connection.is_too_long && !script.has_stopped());
        if let Some(script) = script {
            script.response(head.status, &connection.head, &connection.body);
        }
        false
    }

    fn close(&mut self, slot: Slot) {
        self.partly_sent.remove(&slot);
    }
}
