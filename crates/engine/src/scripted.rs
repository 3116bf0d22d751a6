//! Implements scripted requests: a program outside the engine makes the requests and reads the responses.
//!
//! A worker calls its own [`RequestScript`]. A program may make several requests at once, which are pipelined: a
//! connection sends its next ones when all of these are answered. Responses reach the program only if it reads them;
//! otherwise, over HTTP/1.1, they take the same path as those of a plain load.

use crate::hot::{
    Exchange, ExchangeIndex, JudgedHead, MadeStep, ReceivedResponse, ResponsePart, Scenario, SendTimes,
    Tracker,
};
use crate::script::{RequestScript, ScriptPlan, ScriptedResponse};
use crate::{BodyFault, Ending, Nanos, Settings, Slot};

/// The maximum length of a body that reaches the program. A response with a longer one has a wrong body: each user keeps
/// one in memory.
const MAX_BODY: usize = 16 << 20;

/// The state of one user.
#[derive(Debug, Default)]
struct ScriptedUser {
    /// The requests that were made last.
    made: Vec<u8>,
    /// Their kind.
    kind: u16,
    /// Whether they are to be sent, again or for the first time: no byte of them was, or the server has not processed
    /// them.
    is_unsent: bool,
    /// Whether it has paused since its last requests.
    has_paused: bool,
    /// The head of the response being read.
    head: Vec<u8>,
    /// Its body.
    body: Vec<u8>,
    /// Whether it was longer than the maximum.
    is_too_long: bool,
}

/// The users of a connection over HTTP/2, where a place belongs to another user each time.
#[derive(Debug)]
struct StreamUsers {
    /// Those without a request in flight.
    idle: Vec<u16>,
    /// Those of the requests in flight, by place.
    at: Box<[Option<u16>]>,
}

/// The scripted requests of one worker.
pub struct Scripted {
    script: Option<Box<dyn RequestScript>>,
    plan: ScriptPlan,
    /// Whether requests have several kinds.
    has_kinds: bool,
    /// Whether the program makes no requests any more.
    is_over: bool,
    /// The users of a connection.
    users_of_one: usize,
    users: Box<[ScriptedUser]>,
    /// For each connection, if it has streams.
    streams: Box<[StreamUsers]>,
}

impl Scripted {
    /// The number of the user whose requests are at a place.
    #[inline]
    fn user_at(&self, slot: Slot, place: ExchangeIndex) -> usize {
        let first = slot as usize * self.users_of_one;
        let of_stream = self.streams.get(slot as usize).and_then(|streams| streams.at[usize::from(place)]);
        first + of_stream.map_or(0, usize::from)
    }

    /// The number of the user that makes the next requests, for a place.
    #[inline]
    fn take_user(&mut self, slot: Slot, place: ExchangeIndex) -> Option<usize> {
        if let Some(streams) = self.streams.get_mut(slot as usize) {
            streams.at[usize::from(place)] = Some(streams.idle.pop()?);
        }
        Some(self.user_at(slot, place))
    }

    /// The user at a place has no request in flight any more.
    #[inline]
    fn release(&mut self, slot: Slot, place: ExchangeIndex) {
        if let Some(streams) = self.streams.get_mut(slot as usize) {
            streams.idle.extend(streams.at[usize::from(place)].take());
        }
    }

    /// The kind of a request that was made and is still to be sent, which is then not sent; none if there is none.
    fn skip_made(&mut self) -> Option<u16> {
        let user = self.users.iter_mut().find(|user| user.is_unsent)?;
        user.is_unsent = false;
        Some(user.kind)
    }

    fn has_stopped(&self) -> bool {
        self.is_over || self.script.as_ref().is_none_or(|script| script.has_stopped())
    }

    /// Passes a response to the program; the reason if it is not as expected.
    #[inline]
    fn pass_on(&mut self, number: usize, status: u16, is_windows: bool) -> Option<String> {
        let user = &self.users[number];
        let script = self.script.as_mut().filter(|script| !user.is_too_long && !script.has_stopped())?;
        script.response(number, &ScriptedResponse { status, head: &user.head, body: &user.body, is_windows })
    }
}

impl Scenario for Scripted {
    const IS_USED: bool = true;

    fn new(settings: &Settings, worker: u32, places: u16) -> Self {
        let connections = settings.connections_of(worker) as usize;
        let has_streams = settings.job.protocol.has_streams();
        let users_of_one = if has_streams { settings.job.depth } else { 1 };
        let streams =
            || StreamUsers { idle: (0..users_of_one).rev().collect(), at: vec![None; places.into()].into() };
        Self {
            script: settings.scripts.as_ref().and_then(|scripts| scripts.take(worker)),
            plan: settings.scripts.as_ref().map(|scripts| scripts.plan).unwrap_or_default(),
            has_kinds: settings.requests.kinds().len() > 1,
            is_over: false,
            users: (0..connections * usize::from(users_of_one)).map(|_| ScriptedUser::default()).collect(),
            streams: (0..if has_streams { connections } else { 0 }).map(|_| streams()).collect(),
            users_of_one: users_of_one.into(),
        }
    }

    #[inline]
    fn reads_responses(&self) -> bool {
        self.plan.reads_responses
    }

    #[inline]
    fn idle_users(&self, slot: Slot) -> u16 {
        if self.has_stopped() {
            0
        } else {
            self.streams.get(slot as usize).map_or(self.plan.batch, |streams| streams.idle.len() as u16)
        }
    }

    /// Each user may hold a request: with one kind it need not be found.
    fn skip(&mut self) -> u16 {
        let made = if self.has_kinds { self.skip_made() } else { None };
        made.or_else(|| self.script.as_mut().map(|script| script.skip())).unwrap_or(0)
    }

    #[inline]
    fn take_pause(&mut self, slot: Slot) -> Option<Nanos> {
        if !self.plan.delays {
            return None;
        }
        let user = self.user_at(slot, 0);
        if std::mem::replace(&mut self.users[user].has_paused, true) {
            return None;
        }
        self.script.as_mut().map(|script| script.delay()).filter(|pause| *pause > Nanos::ZERO)
    }

    #[inline]
    fn make(&mut self, slot: Slot, place: ExchangeIndex, _: Nanos) -> Option<MadeStep<'_>> {
        let number = self.take_user(slot, place)?;
        let user = &mut self.users[number];
        if !std::mem::take(&mut user.is_unsent) {
            user.made.clear();
            let made = self.script.as_mut().and_then(|script| script.request(number, &mut user.made));
            let Some(kind) = made else {
                // Asked again, the connection would be free and ask for ever.
                self.is_over = true;
                self.release(slot, place);
                return None;
            };
            user.kind = kind;
        }
        let user = &self.users[number];
        Some(MadeStep { kind: user.kind, count: self.plan.batch, text: &user.made })
    }

    fn text(&self, slot: Slot, place: ExchangeIndex) -> &[u8] {
        &self.users[self.user_at(slot, place)].made
    }

    fn undo(&mut self, slot: Slot, place: ExchangeIndex) {
        let user = self.user_at(slot, place);
        self.users[user].is_unsent = true;
        self.release(slot, place);
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
        let user = self.user_at(slot, place);
        self.users[user].has_paused = false;
        let kind = self.users[user].kind;
        let batch = self.plan.batch;
        let (steps, count) = if tracker.begins_alone() { (batch, 1) } else { (1, batch) };
        let mut exchange = Exchange::VACANT;
        for step in 0..steps {
            let sent_bytes = if step == 0 { bytes } else { 0 };
            exchange = tracker.begin(send_times, kind, count, sent_bytes);
            match self.streams.is_empty() {
                true => tracker.exchanges_mut().begin_alike(slot, place, count, exchange),
                false => tracker.exchanges_mut().begin(slot, place, exchange),
            }
        }
        exchange
    }

    #[inline]
    fn read(&mut self, slot: Slot, place: ExchangeIndex, part: ResponsePart<'_>) {
        if !self.plan.reads_responses {
            return;
        }
        let user = self.user_at(slot, place);
        let ScriptedUser { head, body, is_too_long, .. } = &mut self.users[user];
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
        let number = self.user_at(slot, place);
        self.release(slot, place);
        let Some(exchange) = tracker.exchanges_mut().end(slot, place) else { return false };
        if self.plan.reads_responses {
            let reason = self.pass_on(number, head.status, tracker.is_windows(exchange.block));
            if response.ending == Ending::Ok && self.users[number].is_too_long {
                response.ending = Ending::BadBody;
            } else if let (Ending::Ok, Some(reason)) = (response.ending, reason) {
                response.ending = Ending::BadBody;
                let kind = tracker.kind_of(&exchange);
                tracker.reject(kind, head.status, &self.users[number].body, BodyFault::Refused(reason), now);
            }
        }
        tracker.answered(slot, &exchange, 1, &response, now);
        false
    }

    fn give_back(&mut self, slot: Slot, place: ExchangeIndex, now: Nanos, tracker: &mut Tracker<'_>) {
        let user = self.user_at(slot, place);
        self.users[user].is_unsent = tracker.give_back(slot, place, now).is_some();
        self.release(slot, place);
    }

    fn failed(&mut self, slot: Slot, place: ExchangeIndex) {
        self.release(slot, place);
    }

    fn close(&mut self, slot: Slot) {
        let places = self.streams.get(slot as usize).map_or(0, |streams| streams.at.len());
        (0..places).for_each(|place| self.release(slot, place as ExchangeIndex));
    }
}
