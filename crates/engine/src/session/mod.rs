//! Implements sessions: users that send the steps of a session in order, over any protocol.
//!
//! A session begins at a time of the schedule; its next step falls due when the last is answered plus a pause,
//! independent of the schedule. All steps are counted in the cohort of their session. Each response is kept whole until
//! it is complete (up to a limit), since values are extracted from it.
//!
//! The steps are requests of a protocol (`../h1/`, `../h2/`) like any others: sessions only choose them and read the
//! responses ([`Scenario`]). A user has one request in flight at a time. It belongs to a connection: over HTTP/1.1 each
//! connection has one, over HTTP/2 as many as it may have streams open. If the connection ends between two steps, the
//! user continues on the one that replaces it.

mod cookies;
mod plan;
mod redirect;
mod user;

pub use cookies::Cookies;
pub use plan::{Extract, ExtractFault, ExtractSource, PlannedStep, Session, SessionPlan};
pub use redirect::{Redirect, RedirectFault};

use crate::hot::{
    Exchange, ExchangeIndex, JudgedHead, MadeStep, ReceivedResponse, ResponsePart, Scenario, ScenarioCounts,
    SendTimes, Tracker, WaitingStep,
};
use crate::random::Random;
use crate::{Ending, Nanos, Requests, Settings, Slot, decoded};
use jiff::Timestamp;
use paceline_http::{Expander, Scheme};
use paceline_stats::Histogram;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use user::{CurrentSession, MadeLast, NextRequest, SessionUser};

/// Separates the random stream of choices from other uses of the seed.
const STREAM: u64 = 0x7365_7373_696f_6e73;

/// A user's number within its connection.
type UserIndex = u16;

/// The users of one connection.
#[derive(Debug)]
struct ConnectionUsers {
    /// Those in no session, longest idle first.
    idle: VecDeque<UserIndex>,
    /// Those whose next step waits, and when it is due.
    waiting: BinaryHeap<Reverse<(Nanos, UserIndex)>>,
    /// The users of the exchanges in flight, by place.
    at: Box<[Option<UserIndex>]>,
    /// The next alarm; [`Nanos::NEVER`] if none is set.
    alarm: Nanos,
    /// Whether due steps wait for room.
    is_blocked: bool,
}

/// The sessions of one worker.
#[derive(Debug)]
pub struct Sessions {
    requests: Arc<Requests>,
    plan: SessionPlan,
    /// The users of each connection.
    users_per_connection: usize,
    users: Box<[SessionUser]>,
    connections: Box<[ConnectionUsers]>,
    expander: Expander<Random>,
    /// The cumulative weights of the sessions.
    weights: Box<[u64]>,
    random: Random,
    /// Sessions that were drawn but could not begin.
    drawn: Vec<u16>,
    open: u64,
    /// The maximum number of redirects of a request, and the scheme that they must keep.
    follow: u16,
    scheme: Scheme,
    /// The wall clock at the start of the run, in seconds since 1970: a cookie whose lifetime ended before is removed.
    started_s: i64,
    counts: ScenarioCounts,
}

impl Sessions {
    fn user(&mut self, slot: Slot, user: UserIndex) -> &mut SessionUser {
        &mut self.users[slot as usize * self.users_per_connection + usize::from(user)]
    }

    /// The user whose exchange is at a place.
    fn user_at(&self, slot: Slot, place: ExchangeIndex) -> Option<UserIndex> {
        self.connections[slot as usize].at[usize::from(place)]
    }

    /// The kind of the current step of a session.
    fn kind(&self, current: &CurrentSession) -> u16 {
        self.plan.sessions[usize::from(current.session)].first + current.step
    }

    /// The session that begins next.
    fn draw(&mut self) -> u16 {
        if let Some(drawn) = self.drawn.pop() {
            return drawn;
        }
        if self.weights.len() == 1 {
            return 0;
        }
        let drawn = self.random.below(self.weights.last().copied().unwrap_or(0));
        self.weights.partition_point(|sum| *sum <= drawn) as u16
    }

    /// The user of a connection that sends next at `now`: one whose step is due, or an idle one, which begins a session.
    fn next_user(&mut self, slot: Slot, now: Nanos) -> Option<UserIndex> {
        let users = &mut self.connections[slot as usize];
        if let Some(Reverse((due, user))) = users.waiting.peek().copied()
            && due <= now
        {
            users.waiting.pop();
            return Some(user);
        }
        let user = users.idle.pop_front()?;
        let (session, variables, keeps) = (self.draw(), self.plan.variables, self.plan.keeps_cookies);
        let idle = self.user(slot, user);
        idle.current = Some(CurrentSession { session, step_due: Nanos::NEVER, ..Default::default() });
        idle.values.clear();
        idle.values.resize(variables, Vec::new());
        if !keeps {
            idle.cookies.clear();
        }
        Some(user)
    }

    /// Makes the request of a user's current step, or the one that continues its exchange.
    fn make_request(&mut self, slot: Slot, user: UserIndex, kind: u16) {
        let user = &mut self.users[slot as usize * self.users_per_connection + usize::from(user)];
        let is_first = user.current.is_some_and(|current| current.step_due == Nanos::NEVER);
        if let Some(next) = &mut user.next {
            user.made = MadeLast { number: None, is_first };
            (user.request, user.cookie_bytes) = (std::mem::take(&mut next.request), next.cookie_bytes);
            return;
        }
        user.made = MadeLast { number: Some(self.expander.number()), is_first };
        self.expander.set_variables(&user.values);
        user.request.clear();
        self.expander.expand(&self.requests.kinds()[usize::from(kind)].template, &mut user.request);
        user.cookie_bytes = user.cookies.put_into(&mut user.request, 0);
        user.followed = 0;
    }

    /// The step of a user waits until `due`.
    fn wait(&mut self, slot: Slot, user: UserIndex, due: Nanos) {
        if let Some(current) = &mut self.user(slot, user).current {
            current.step_due = due;
            self.connections[slot as usize].waiting.push(Reverse((due, user)));
        }
    }

    /// The exchange of a user was set aside: a request continues it at once.
    fn continue_with(&mut self, slot: Slot, user: UserIndex, next: NextRequest, now: Nanos) {
        self.user(slot, user).next = Some(next);
        self.wait(slot, user, now);
    }

    /// Ends the session of a user, which is idle now.
    fn end_session(&mut self, slot: Slot, user: UserIndex) {
        let ended = self.user(slot, user);
        ended.current = None;
        ended.next = None;
        self.open -= 1;
        self.connections[slot as usize].idle.push_back(user);
    }

    /// If a response is a redirect that is followed, makes the next request. Returns whether it does.
    fn follow(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        user: UserIndex,
        response: &ReceivedResponse,
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> bool {
        let (status, kind) = (response.status, tracker.kind_of(tracker.exchanges().at(slot, place)));
        let is_expected = self.requests.kinds()[kind].check.status == Some(status);
        if self.follow == 0 || !Redirect::is_one(status) || is_expected {
            return false;
        }
        let (scheme, most) = (self.scheme, self.follow);
        let redirected = self.user(slot, user);
        match redirected.redirected(status, scheme, most) {
            Ok((request, cookie_bytes)) => {
                let Some(aside) = tracker.set_aside(slot, place) else { return false };
                tracker.moved(aside.exchange.block, 0, response.uncounted_bytes);
                self.continue_with(slot, user, NextRequest { aside, request, cookie_bytes }, now);
                true
            }
            Err(fault) => {
                tracker.reject(kind, status, &redirected.body, fault, now);
                false
            }
        }
    }

    /// Extracts the values of a step from its response; returns the ending of its request.
    fn extract(
        &mut self,
        slot: Slot,
        user: UserIndex,
        kind: usize,
        head: JudgedHead,
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> Ending {
        let user = &mut self.users[slot as usize * self.users_per_connection + usize::from(user)];
        match user.extract(&self.plan.steps[kind].extract, head) {
            Ok(()) => Ending::Ok,
            Err(fault) => {
                let content = decoded(head.coding, &user.body).unwrap_or(user.body.as_slice().into());
                tracker.reject(kind, head.status, &content, fault, now);
                Ending::BadBody
            }
        }
    }

    /// A step has ended: the next one falls due, or the session is over.
    fn advance(&mut self, slot: Slot, user: UserIndex, ending: Ending, is_windows: bool, now: Nanos) {
        let Some(current) = &mut self.user(slot, user).current else { return };
        let (number, due) = (usize::from(current.session), current.due);
        current.step += 1;
        let step = current.step;
        let session = self.plan.sessions[number];
        if ending == Ending::Ok && step < session.count {
            let think = self.plan.steps[usize::from(session.first + step)].think;
            let pause = think.map_or(Nanos::ZERO, |think| self.random.draw_think(think));
            return self.wait(slot, user, now + pause);
        }
        if ending == Ending::Ok && is_windows {
            self.counts.times[number].record(now.since(due).0);
        }
        self.end_session(slot, user);
    }

    /// Counts the session of a user as completed inside the window if its last step was answered.
    fn count_completed(&mut self, slot: Slot, user: UserIndex) {
        let Some(current) = self.user(slot, user).current else { return };
        let session = usize::from(current.session);
        if current.step + 1 == self.plan.sessions[session].count {
            self.counts.completed[session] += 1;
        }
    }
}

impl Scenario for Sessions {
    const IS_USED: bool = true;

    fn new(settings: &Settings, worker: u32, places: u16) -> Self {
        let requests = Arc::clone(&settings.requests);
        let kinds = requests.kinds();
        let plan = requests.sessions().cloned().unwrap_or_else(|| SessionPlan::of_single_steps(kinds));
        let (index, workers) = settings.place_of(worker);
        let mut seeds = Random::new(settings.seed ^ STREAM);
        (0..2 * index).for_each(|_| _ = seeds.next_u64());
        let [random, values] = [seeds.next_u64(), seeds.next_u64()].map(Random::new);
        let templates = kinds.iter().map(|kind| &kind.template);
        let expander = Expander::new(index, workers, values, requests.files(), templates);
        let weights = plan.sessions.iter().scan(0, |sum, session| {
            *sum += u64::from(session.weight);
            Some(*sum)
        });
        let connections = settings.connections_of(worker) as usize;
        let users_of_one = || ConnectionUsers {
            idle: (0..settings.job.depth).collect(),
            waiting: BinaryHeap::new(),
            at: vec![None; places.into()].into(),
            alarm: Nanos::NEVER,
            is_blocked: false,
        };
        let users_per_connection = usize::from(settings.job.depth);
        Self {
            users_per_connection,
            users: (0..connections * users_per_connection).map(|_| SessionUser::default()).collect(),
            connections: (0..connections).map(|_| users_of_one()).collect(),
            counts: ScenarioCounts {
                completed: vec![0; plan.sessions.len()],
                times: plan.sessions.iter().map(|_| Histogram::new()).collect(),
                cookies_dropped: 0,
            },
            weights: weights.collect(),
            expander,
            random,
            drawn: if plan.begins_with_each {
                (0..plan.sessions.len() as u16).rev().collect()
            } else {
                Vec::new()
            },
            open: 0,
            follow: settings.job.follow,
            scheme: settings.job.url.scheme,
            started_s: Timestamp::now().as_second(),
            plan,
            requests,
        }
    }

    fn reads_responses(&self) -> bool {
        true
    }

    fn idle_users(&self, slot: Slot) -> u16 {
        self.connections[slot as usize].idle.len() as u16
    }

    fn due_steps(&self, slot: Slot, now: Nanos) -> u16 {
        if self.next_step(slot) > now {
            return 0;
        }
        let waiting = self.connections[slot as usize].waiting.iter();
        waiting.filter(|Reverse((due, _))| *due <= now).count() as u16
    }

    fn next_step(&self, slot: Slot) -> Nanos {
        self.connections[slot as usize].waiting.peek().map_or(Nanos::NEVER, |Reverse((due, _))| *due)
    }

    fn take_alarm(&mut self, slot: Slot, now: Nanos) -> Option<Nanos> {
        let due = self.next_step(slot);
        let users = &mut self.connections[slot as usize];
        let is_needed = due > now && due < users.alarm;
        is_needed.then(|| {
            users.alarm = due;
            due
        })
    }

    fn alarm_rang(&mut self, slot: Slot) {
        self.connections[slot as usize].alarm = Nanos::NEVER;
    }

    fn note_blocked(&mut self, slot: Slot, is_blocked: bool) -> bool {
        std::mem::replace(&mut self.connections[slot as usize].is_blocked, is_blocked)
    }

    fn give_up_step(&mut self, slot: Slot) -> Option<WaitingStep> {
        let Reverse((due, user)) = self.connections[slot as usize].waiting.pop()?;
        let waiting = self.user(slot, user);
        let sent = waiting.next.take().map(|next| next.aside);
        let current = waiting.current?;
        self.end_session(slot, user);
        Some(WaitingStep { block: current.base + self.kind(&current), due, sent })
    }

    fn open_sessions(&self) -> u64 {
        self.open
    }

    fn skip(&mut self) -> u16 {
        let session = self.draw();
        self.plan.sessions[usize::from(session)].first
    }

    fn make(&mut self, slot: Slot, place: ExchangeIndex, now: Nanos) -> Option<MadeStep<'_>> {
        let user = self.next_user(slot, now)?;
        self.connections[slot as usize].at[usize::from(place)] = Some(user);
        let current = self.user(slot, user).current?;
        let kind = self.kind(&current);
        self.make_request(slot, user, kind);
        Some(MadeStep { kind, count: 1, text: &self.user(slot, user).request })
    }

    fn text(&self, slot: Slot, place: ExchangeIndex) -> &[u8] {
        self.user_at(slot, place).map_or(&[], |user| {
            &self.users[slot as usize * self.users_per_connection + usize::from(user)].request
        })
    }

    fn undo(&mut self, slot: Slot, place: ExchangeIndex) {
        let Some(user) = self.connections[slot as usize].at[usize::from(place)].take() else { return };
        let undone = self.user(slot, user);
        let request = std::mem::take(&mut undone.request);
        let (made, current) = (undone.made, undone.current);
        match &mut undone.next {
            Some(next) => next.request = request,
            None => undone.request = request,
        }
        made.number.into_iter().for_each(|number| self.expander.undo_number(number));
        match current {
            Some(current) if made.is_first => {
                self.user(slot, user).current = None;
                self.drawn.push(current.session);
                self.connections[slot as usize].idle.push_front(user);
            }
            Some(current) => self.wait(slot, user, current.step_due),
            None => {}
        }
    }

    fn sent(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        send_times: &SendTimes,
        bytes: usize,
        tracker: &mut Tracker<'_>,
    ) -> Exchange {
        let user = self.user_at(slot, place).unwrap_or_default();
        let sender = self.user(slot, user);
        let (made, next) = (sender.made, sender.next.take());
        let mut current = sender.current.unwrap_or_default();
        let kind = self.kind(&current);
        let exchange = match next {
            Some(NextRequest { aside, .. }) => tracker.resume(&aside, send_times, bytes),
            None if made.is_first => {
                let exchange = tracker.begin(send_times, kind, 1, bytes);
                (current.due, current.base) = (exchange.intended, exchange.block - kind);
                self.open += 1;
                exchange
            }
            None => {
                let send_times = SendTimes { due: current.step_due, ..*send_times };
                tracker.begin_step(current.base + kind, &send_times, bytes)
            }
        };
        current.step_due = Nanos::NEVER;
        self.user(slot, user).current = Some(current);
        tracker.exchanges_mut().begin(slot, place, exchange);
        exchange
    }

    #[inline]
    fn read(&mut self, slot: Slot, place: ExchangeIndex, part: ResponsePart<'_>) {
        if let Some(user) = self.user_at(slot, place) {
            self.user(slot, user).read(part);
        }
    }

    fn complete(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        head: JudgedHead,
        mut response: ReceivedResponse,
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> bool {
        let Some(user) = self.connections[slot as usize].at[usize::from(place)].take() else { return false };
        if self.plan.takes_cookies {
            let started_s = self.started_s;
            let SessionUser { cookies, head, .. } = self.user(slot, user);
            cookies.take(head, started_s);
        }
        if self.follow(slot, place, user, &response, now, tracker) {
            return true;
        }
        let Some(exchange) = tracker.exchanges_mut().end(slot, place) else { return false };
        let kind = tracker.kind_of(&exchange);
        if response.ending == Ending::Ok {
            response.ending = self.extract(slot, user, kind, head, now, tracker);
        }
        tracker.answered(slot, &exchange, 1, &response, now);
        if response.ending == Ending::Ok && tracker.in_window(now) {
            self.count_completed(slot, user);
        }
        self.advance(slot, user, response.ending, tracker.is_windows(exchange.block), now);
        false
    }

    fn give_back(&mut self, slot: Slot, place: ExchangeIndex, now: Nanos, tracker: &mut Tracker<'_>) {
        let Some(aside) = tracker.set_aside_unprocessed(slot, place, now) else {
            return self.failed(slot, place);
        };
        let Some(user) = self.connections[slot as usize].at[usize::from(place)].take() else { return };
        let sender = self.user(slot, user);
        let request = std::mem::take(&mut sender.request);
        let cookie_bytes = sender.cookie_bytes;
        self.continue_with(slot, user, NextRequest { aside, request, cookie_bytes }, now);
    }

    fn failed(&mut self, slot: Slot, place: ExchangeIndex) {
        if let Some(user) = self.connections[slot as usize].at[usize::from(place)].take() {
            self.end_session(slot, user);
        }
    }

    fn close(&mut self, slot: Slot) {
        for place in 0..self.connections[slot as usize].at.len() {
            self.failed(slot, place as ExchangeIndex);
        }
    }

    fn into_counts(self) -> ScenarioCounts {
        let cookies_dropped = self.users.iter().map(|user| user.cookies.dropped()).sum();
        ScenarioCounts { cookies_dropped, ..self.counts }
    }
}

impl SessionPlan {
    /// Makes each kind of request a session of one step.
    pub fn of_single_steps(kinds: &[crate::RequestKind]) -> Self {
        let single =
            |(kind, first): (&crate::RequestKind, u16)| Session { weight: kind.weight, first, count: 1 };
        Self {
            sessions: kinds.iter().zip(0..).map(single).collect(),
            steps: kinds.iter().map(|_| PlannedStep::default()).collect(),
            variables: 0,
            takes_cookies: true,
            keeps_cookies: true,
            begins_with_each: false,
        }
    }
}
