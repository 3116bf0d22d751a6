//! Implements sessions on the loop: each connection is a user that sends the steps of a session in order over HTTP/1.1.
//!
//! It is a separate protocol beside `h1` and `h2`, so that runs without sessions pay nothing. A session begins at a
//! time of the schedule; its next step falls due when the last is answered plus a pause, independent of the schedule.
//! All steps are counted in the cohort of their session. Each response is kept whole until it is complete (up to a
//! limit), since values are extracted from it. Over 600 lines: one protocol with the state of its users.

mod cookies;
mod plan;
mod redirect;

pub use cookies::Cookies;
pub use plan::{Extract, ExtractFault, ExtractSource, PlannedStep, Session, SessionPlan};
pub use redirect::{Redirect, RedirectFault};

use crate::h1::{not_http, unfinished};
use crate::hot::{
    BlockIndex, CancelOutcome, Exchange, ExchangeIndex, Flow, JudgedHead, ProtocolFault, ProtocolHandler,
    ReceivedResponse, SendTimes, Tracker, WaitingStep,
};
use crate::outcome::ConnectionFailure;
use crate::random::Random;
use crate::{Ending, IoProgress, Nanos, Requests, Settings, Slot, Transport, decoded};
use paceline_http::{DecodeStep, Decoder, Expander, HeadCache, ProtocolError, Scheme};
use paceline_stats::Histogram;
use std::io;
use std::sync::Arc;

/// The maximum number of bytes kept of a head or body; a longer body fails its checks.
const MAX_KEPT: usize = 1 << 20;
/// Separates the random stream of choices from other uses of the seed.
const STREAM: u64 = 0x7365_7373_696f_6e73;

/// A session that a user is in.
#[derive(Clone, Copy, Debug)]
struct CurrentSession {
    session: u16,
    step: u16,
    /// When the session was due.
    due: Nanos,
    /// The block of its first step, minus the kind of that step.
    base: BlockIndex,
    /// When its next step is due; [`Nanos::NEVER`] while one is in flight. A request that waits for a new connection to
    /// follow a redirect is due at once.
    next: Nanos,
}

/// A request that follows a redirect with which the server closed the connection. It is sent on the next one.
#[derive(Debug)]
struct PendingRedirect {
    /// The exchange that the redirect answered. It continues: its times include all responses.
    exchange: Exchange,
    request: Vec<u8>,
}

/// The state of one connection and its user.
#[derive(Debug)]
struct SessionUser {
    current: Option<CurrentSession>,
    values: Vec<Vec<u8>>,
    cookies: Cookies,
    decoder: Decoder,
    /// Whether the server will keep the connection after the response being received.
    keep_alive: bool,
    judged: JudgedHead,
    first_byte: Nanos,
    /// Body bytes of the response being received.
    body_bytes: u64,
    head: Vec<u8>,
    body: Vec<u8>,
    /// The request being sent, and the number of bytes that the socket has taken.
    request: Vec<u8>,
    taken: usize,
    /// Length of the cookies appended to it.
    cookie_bytes: usize,
    /// The number of redirects followed for the request in flight.
    followed: u16,
    redirected: Option<PendingRedirect>,
    sent_at: Nanos,
}

/// The result of one step through a response.
enum SessionProgress {
    /// The response is incomplete.
    More,
    /// The response was a redirect: the request that follows it is ready to be sent on the same connection.
    Redirect,
    /// The request is answered; the flow says what happens to the connection.
    End(Flow),
}

/// HTTP/1.1 with sessions on the connections of one worker.
#[derive(Debug)]
pub struct Sessions {
    requests: Arc<Requests>,
    plan: SessionPlan,
    users: Box<[SessionUser]>,
    /// By kind of request.
    heads: Box<[HeadCache]>,
    expander: Expander<Random>,
    /// The cumulative weights of the sessions.
    weights: Box<[u64]>,
    random: Random,
    /// A session that was drawn but could not begin.
    drawn: Option<u16>,
    open: u64,
    /// The maximum number of redirects of a request, and the scheme that they must keep.
    follow: u16,
    scheme: Scheme,
    /// The durations of the window's completed sessions, by session.
    times: Vec<Histogram>,
    /// Sessions of either cohort that were completed inside the window, by session.
    completed: Vec<u64>,
    /// Whether a response was compressed.
    saw_compressed: bool,
}

impl SessionUser {
    fn new(kind: &crate::RequestKind, settings: &Settings) -> Self {
        Self {
            current: None,
            values: Vec::new(),
            cookies: Cookies::default(),
            decoder: Decoder::new(kind.method).with_line_ends(settings.job.line_ends()),
            keep_alive: true,
            judged: JudgedHead::default(),
            first_byte: Nanos::ZERO,
            body_bytes: 0,
            head: Vec::new(),
            body: Vec::new(),
            request: Vec::new(),
            taken: 0,
            cookie_bytes: 0,
            followed: 0,
            redirected: None,
            sent_at: Nanos::ZERO,
        }
    }

    /// Makes the request that follows the received redirect.
    fn redirect(&mut self, scheme: Scheme, most: u16) -> Result<(), RedirectFault> {
        let (request, followed) = (self.request.as_slice(), self.followed);
        let redirect = Redirect { request, status: self.judged.status, head: &self.head, followed };
        self.request = redirect.next_request(scheme, most)?;
        self.cookie_bytes = self.cookies.put_into(&mut self.request, self.cookie_bytes);
        self.taken = 0;
        self.followed += 1;
        Ok(())
    }

    /// Extracts values from the received response.
    fn extract(&mut self, extracts: &[Extract]) -> Result<(), ExtractFault> {
        if extracts.is_empty() {
            return Ok(());
        }
        let content = decoded(self.judged.coding, &self.body);
        for extract in extracts {
            self.values[extract.variable] = extract.value(&self.head, content.as_deref())?;
        }
        Ok(())
    }

    /// Bytes of the request that the socket has not taken.
    fn unsent(&self) -> usize {
        self.request.len() - self.taken
    }
}

impl Sessions {
    /// The kind of the current step of a session.
    fn kind(&self, current: &CurrentSession) -> u16 {
        self.plan.sessions[usize::from(current.session)].first + current.step
    }

    /// The session that begins next.
    fn draw(&mut self) -> u16 {
        if let Some(drawn) = self.drawn.take() {
            return drawn;
        }
        if self.weights.len() == 1 {
            return 0;
        }
        let drawn = self.random.below(self.weights.last().copied().unwrap_or(0));
        self.weights.partition_point(|sum| *sum <= drawn) as u16
    }

    /// The response to the step in flight is complete. If it is a redirect, makes the request that follows, for this
    /// connection if that `can_send` another, otherwise for the next.
    fn complete(
        &mut self,
        slot: Slot,
        can_send: bool,
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> SessionProgress {
        let user = &mut self.users[slot as usize];
        let flow = if user.keep_alive { Flow::Keep } else { Flow::Close };
        let exchange = *tracker.exchanges().at(slot, 0);
        let kind = tracker.kind_of(&exchange);
        if self.plan.takes_cookies {
            user.cookies.take(&user.head);
        }
        let is_expected = self.requests.kinds()[kind].check.status == Some(user.judged.status);
        if self.follow > 0 && Redirect::is_one(user.judged.status) && !is_expected {
            let can_send = can_send && user.keep_alive && user.unsent() == 0;
            match user.redirect(self.scheme, self.follow) {
                Ok(()) if can_send => return SessionProgress::Redirect,
                Ok(()) => {
                    self.await_connection(slot, now, tracker);
                    return SessionProgress::End(Flow::Close);
                }
                Err(fault) => tracker.reject(kind, user.judged.status, &user.body, fault, now),
            }
        }
        let Some(exchange) = tracker.exchanges_mut().end(slot, 0) else { return SessionProgress::End(flow) };
        let mut ending = tracker.judge(kind, user.judged, &user.body, now);
        if ending == Ending::Ok
            && let Err(fault) = user.extract(&self.plan.steps[kind].extract)
        {
            let content = decoded(user.judged.coding, &user.body).unwrap_or(user.body.as_slice().into());
            tracker.reject(kind, user.judged.status, &content, fault, now);
            ending = Ending::BadBody;
        }
        let response = ReceivedResponse {
            status: user.judged.status,
            body_bytes: user.body_bytes,
            ending,
            first_byte: user.first_byte,
            uncounted_bytes: 0,
        };
        tracker.answered(slot, &exchange, 1, &response, now);
        if ending == Ending::Ok && tracker.in_window(now) {
            self.count_completed(slot);
        }
        self.advance(slot, ending, tracker.is_windows(exchange.block), now);
        SessionProgress::End(flow)
    }

    /// Counts the session as completed inside the window if its last step was answered.
    fn count_completed(&mut self, slot: Slot) {
        let Some(current) = &self.users[slot as usize].current else { return };
        let session = usize::from(current.session);
        if current.step + 1 == self.plan.sessions[session].count {
            self.completed[session] += 1;
        }
    }

    /// A step has ended: the next one falls due, or the session is over.
    fn advance(&mut self, slot: Slot, ending: Ending, in_window: bool, now: Nanos) {
        let user = &mut self.users[slot as usize];
        let Some(current) = &mut user.current else { return };
        let session = self.plan.sessions[usize::from(current.session)];
        if ending == Ending::Ok && current.step + 1 < session.count {
            current.step += 1;
            let kind = usize::from(session.first + current.step);
            let pause =
                self.plan.steps[kind].think.map_or(Nanos::ZERO, |think| self.random.draw_think(think));
            current.next = now + pause;
            return;
        }
        if ending == Ending::Ok && in_window {
            self.times[usize::from(current.session)].record(now.since(current.due).0);
        }
        user.current = None;
        self.open -= 1;
    }

    /// Reads one step of a response: returns the bytes consumed, and the result.
    fn decode(
        &mut self,
        slot: Slot,
        input: &[u8],
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> Result<(usize, SessionProgress), ProtocolError> {
        let exchange = *tracker.exchanges().at(slot, 0);
        let kind = tracker.kind_of(&exchange);
        let user = &mut self.users[slot as usize];
        if user.decoder.is_idle() {
            user.decoder.set_method(self.requests.kinds()[kind].method);
            (user.first_byte, user.judged, user.body_bytes) = (now, JudgedHead::default(), 0);
            user.head.clear();
            user.body.clear();
        }
        let (step, consumed) = user.decoder.decode(&mut self.heads[kind], input)?;
        tracker.moved(exchange.block, 0, consumed as u64);
        let mut reached = SessionProgress::More;
        match step {
            DecodeStep::NeedMore if user.judged.status == 0 => {
                user.head.extend_from_slice(&input[..consumed])
            }
            DecodeStep::NeedMore => {}
            DecodeStep::Interim(_) => user.head.clear(),
            DecodeStep::Head(head) => {
                user.head.extend_from_slice(&input[..consumed]);
                (user.judged, user.keep_alive) = (head.into(), head.keep_alive);
                self.saw_compressed |= head.coding.is_compressed();
            }
            DecodeStep::Body(piece) => {
                user.body_bytes += piece.len() as u64;
                let room = MAX_KEPT - user.body.len().min(MAX_KEPT);
                user.body.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            DecodeStep::End => reached = self.complete(slot, true, now, tracker),
        }
        Ok((consumed, reached))
    }

    /// Sends the request that follows a redirect, as far as there is room for it.
    fn send_redirected<T: Transport>(
        &mut self,
        slot: Slot,
        now: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> Result<(), ProtocolFault> {
        let user = &mut self.users[slot as usize];
        user.sent_at = now;
        let taken = match transport.send(slot, &user.request) {
            Ok(taken) => taken,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(ProtocolFault::from_failure(ConnectionFailure::from_error(&error))),
        };
        user.taken = taken;
        tracker.redirected(tracker.exchanges().at(slot, 0).block, taken);
        Ok(())
    }

    /// Keeps the request that follows a redirect, and its exchange, until there is a new connection.
    fn await_connection(&mut self, slot: Slot, now: Nanos, tracker: &mut Tracker<'_>) {
        let user = &mut self.users[slot as usize];
        if let Some(exchange) = tracker.set_aside(slot, 0)
            && let Some(current) = &mut user.current
        {
            current.next = now;
            user.redirected = Some(PendingRedirect { exchange, request: std::mem::take(&mut user.request) });
        }
    }

    /// Sends the request that follows a redirect on a new connection.
    fn begin_redirected<T: Transport>(
        &mut self,
        slot: Slot,
        redirected: PendingRedirect,
        at: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> io::Result<u16> {
        let user = &mut self.users[slot as usize];
        let taken = match transport.send(slot, &redirected.request) {
            Ok(taken) => taken,
            Err(error) => {
                user.redirected = Some(redirected);
                return Err(error);
            }
        };
        let PendingRedirect { exchange, request } = redirected;
        (user.request, user.taken, user.sent_at) = (request, taken, at);
        if let Some(current) = &mut user.current {
            current.next = Nanos::NEVER;
        }
        tracker.resume(slot, 0, exchange, taken);
        Ok(1)
    }

    /// Makes the bytes of a user's current step.
    fn make(&mut self, slot: Slot, kind: u16) {
        let user = &mut self.users[slot as usize];
        self.expander.set_variables(&user.values);
        user.request.clear();
        user.taken = 0;
        self.expander.expand(&self.requests.kinds()[usize::from(kind)].template, &mut user.request);
        user.cookie_bytes = user.cookies.put_into(&mut user.request, 0);
        user.followed = 0;
    }
}

impl ProtocolHandler for Sessions {
    fn new(settings: &Settings, worker: u32) -> Self {
        let requests = Arc::clone(&settings.requests);
        let kinds = requests.kinds();
        let plan = requests.sessions().cloned().unwrap_or_else(|| SessionPlan::of_single_steps(kinds));
        let mut seeds = Random::new(settings.seed ^ STREAM);
        (0..2 * worker).for_each(|_| _ = seeds.next_u64());
        let [random, values] = [seeds.next_u64(), seeds.next_u64()].map(Random::new);
        let templates = kinds.iter().map(|kind| &kind.template);
        let expander = Expander::new(worker, settings.threads, values, requests.files(), templates);
        let weights = plan.sessions.iter().scan(0, |sum, session| {
            *sum += u64::from(session.weight);
            Some(*sum)
        });
        Self {
            weights: weights.collect(),
            users: (0..settings.connections_of(worker))
                .map(|_| SessionUser::new(&kinds[0], settings))
                .collect(),
            heads: kinds.iter().map(|_| HeadCache::new()).collect(),
            times: plan.sessions.iter().map(|_| Histogram::new()).collect(),
            completed: vec![0; plan.sessions.len()],
            saw_compressed: false,
            expander,
            random,
            drawn: None,
            open: 0,
            follow: settings.job.follow,
            scheme: settings.job.url.scheme,
            plan,
            requests,
        }
    }

    fn places(_: &Settings) -> u16 {
        1
    }

    fn saw_compressed(&self) -> bool {
        self.saw_compressed
    }

    fn cookies_dropped(&self) -> u64 {
        self.users.iter().map(|user| user.cookies.dropped()).sum()
    }

    fn open<T: Transport>(&mut self, _: Slot, _: &mut T) -> io::Result<IoProgress> {
        Ok(IoProgress::Done)
    }

    fn is_ready(&self, _: Slot) -> bool {
        true
    }

    fn room(&self, slot: Slot, live: u16) -> u16 {
        let user = &self.users[slot as usize];
        u16::from(live == 0 && user.current.is_none() && user.unsent() == 0)
    }

    fn begin<T: Transport>(
        &mut self,
        slot: Slot,
        _: u16,
        send_times: &SendTimes,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> io::Result<u16> {
        if let Some(redirected) = self.users[slot as usize].redirected.take() {
            return self.begin_redirected(slot, redirected, send_times.at, tracker, transport);
        }
        let waiting = self.users[slot as usize].current;
        let mut current = waiting.unwrap_or_else(|| CurrentSession {
            session: self.draw(),
            step: 0,
            due: Nanos::ZERO,
            base: 0,
            next: Nanos::NEVER,
        });
        let kind = self.kind(&current);
        if waiting.is_none() {
            let user = &mut self.users[slot as usize];
            user.values.clear();
            user.values.resize(self.plan.variables, Vec::new());
            if !self.plan.keeps_cookies {
                user.cookies.clear();
            }
        }
        self.make(slot, kind);
        let user = &mut self.users[slot as usize];
        let taken = match transport.send(slot, &user.request) {
            Ok(taken) => taken,
            Err(error) => {
                user.request.clear();
                if waiting.is_none() {
                    self.drawn = Some(current.session);
                }
                return Err(error);
            }
        };
        (user.taken, user.sent_at) = (taken, send_times.at);
        let exchange = match waiting {
            Some(current) => tracker.begin_step(current.base + kind, send_times, taken),
            None => tracker.begin(send_times, kind, 1, taken),
        };
        if waiting.is_none() {
            (current.due, current.base) = (exchange.intended, exchange.block - kind);
            self.open += 1;
        }
        current.next = Nanos::NEVER;
        self.users[slot as usize].current = Some(current);
        tracker.exchanges_mut().begin(slot, 0, exchange);
        Ok(1)
    }

    fn receive<T: Transport>(
        &mut self,
        slot: Slot,
        mut input: &[u8],
        now: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> Result<Flow, ProtocolFault> {
        loop {
            if tracker.exchanges().live(slot) == 0 {
                let nothing_more = input.is_empty();
                return if nothing_more {
                    Ok(Flow::Keep)
                } else {
                    Err(ProtocolFault::from_failure(ConnectionFailure::Unsolicited))
                };
            }
            let (consumed, reached) = self.decode(slot, input, now, tracker).map_err(not_http)?;
            input = &input[consumed..];
            match reached {
                SessionProgress::End(Flow::Close) => return Ok(Flow::Close),
                SessionProgress::More if consumed == 0 && input.is_empty() => return Ok(Flow::Keep),
                SessionProgress::Redirect => self.send_redirected(slot, now, tracker, transport)?,
                SessionProgress::End(Flow::Keep) | SessionProgress::More => {}
            }
        }
    }

    fn flush<T: Transport>(
        &mut self,
        slot: Slot,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> io::Result<IoProgress> {
        let user = &mut self.users[slot as usize];
        if user.unsent() == 0 {
            return Ok(IoProgress::Done);
        }
        match transport.send(slot, &user.request[user.taken..]) {
            Ok(taken) => {
                user.taken += taken;
                if tracker.exchanges().live(slot) > 0 {
                    tracker.moved(tracker.exchanges().at(slot, 0).block, taken as u64, 0);
                }
                Ok(if user.unsent() == 0 { IoProgress::Done } else { IoProgress::Pending })
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(IoProgress::Pending),
            Err(error) => Err(error),
        }
    }

    fn unsent_since(&self, slot: Slot) -> Option<Nanos> {
        let user = &self.users[slot as usize];
        (user.unsent() > 0).then_some(user.sent_at)
    }

    fn end_of_input(
        &mut self,
        slot: Slot,
        cut: bool,
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> Option<ConnectionFailure> {
        match self.users[slot as usize].decoder.end_of_input() {
            Ok(true) if cut => Some(ConnectionFailure::Truncated),
            Ok(true) => {
                self.complete(slot, false, now, tracker);
                None
            }
            Ok(false) if tracker.exchanges().live(slot) == 0 => None,
            Ok(false) => Some(ConnectionFailure::ClosedUnanswered),
            Err(_) => Some(ConnectionFailure::Truncated),
        }
    }

    fn cancel<T: Transport>(
        &mut self,
        slot: Slot,
        _: ExchangeIndex,
        _: u16,
        _: Nanos,
        _: &mut T,
    ) -> CancelOutcome {
        CancelOutcome::Connection(unfinished(&self.users[slot as usize].decoder))
    }

    /// A user whose step was in flight has failed; one that pauses or follows a redirect continues on the next
    /// connection.
    fn close(&mut self, slot: Slot) {
        let user = &mut self.users[slot as usize];
        user.request.clear();
        user.taken = 0;
        user.decoder.reset();
        if user.current.is_some_and(|current| current.next == Nanos::NEVER) {
            user.current = None;
            self.open -= 1;
        }
    }

    fn skip(&mut self) -> u16 {
        let session = self.draw();
        self.plan.sessions[usize::from(session)].first
    }

    fn next_step(&self, slot: Slot) -> Nanos {
        self.users[slot as usize].current.map_or(Nanos::NEVER, |current| current.next)
    }

    fn give_up_step(&mut self, slot: Slot) -> Option<WaitingStep> {
        let user = &mut self.users[slot as usize];
        let current = user.current.filter(|current| current.next != Nanos::NEVER)?;
        user.current = None;
        self.open -= 1;
        let sent = user.redirected.take().map(|redirected| redirected.exchange);
        Some(WaitingStep { block: current.base + self.kind(&current), due: current.next, sent })
    }

    fn open_sessions(&self) -> u64 {
        self.open
    }

    fn sessions_completed(&self) -> &[u64] {
        &self.completed
    }

    fn into_session_times(self) -> Vec<Histogram> {
        self.times
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
        }
    }
}
