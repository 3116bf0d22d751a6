//! Applies what was received: the answer to the handshake, answers to messages, events, and control frames.

use super::connection::{Phase, SWITCHED, WebSocketConnection};
use super::outgoing::{Messages, Upgrades};
use crate::h2::MAX_STRAY_FRAMES;
use crate::hot::{Exchange, ExchangeIndex, Flow, ProtocolFault, ReceivedResponse, Tracker};
use crate::outcome::ConnectionFailure;
use crate::{BodyCheck, BodyFault, Ending, Nanos, RequestKind, Slot};
use paceline_http::websocket::{CloseCode, HandshakeError, HandshakeStep, Opcode, WebSocketEvent};
use paceline_http::{ContentCoding, equal};
use paceline_job::AnswerRule;

/// The number of bytes waiting for room in a socket from which on only the most recent Ping is answered: the answers to
/// 500 of the longest Pings.
const MAX_WAITING_BYTES: usize = 64 << 10;
/// The maximum length of a message that is judged whole, as of a body.
const MAX_KEPT: usize = 1 << 20;

/// The state of a worker's connections, except for their readers.
#[derive(Debug)]
pub(super) struct WebSocketState {
    pub depth: u16,
    /// Whether each exchange is a connection, whose messages are events.
    pub listens: bool,
    pub rule: AnswerRule,
    pub connections: Box<[WebSocketConnection]>,
    pub upgrades: Upgrades,
    pub messages: Messages,
    /// By kind of message.
    pub kinds: Box<[KindState]>,
}

/// Received bytes, and what they are applied to.
pub(super) struct Received<'r, 's> {
    pub slot: Slot,
    pub now: Nanos,
    /// The number of bytes.
    pub bytes: u64,
    pub tracker: &'r mut Tracker<'s>,
}

/// The state for the answers to one kind of message.
#[derive(Debug)]
pub(super) struct KindState {
    check: BodyCheck,
}

impl KindState {
    pub(super) fn new(kind: &RequestKind) -> Self {
        Self { check: kind.check.body.clone() }
    }

    fn is_echo(&self) -> bool {
        matches!(self.check, BodyCheck::Echo)
    }
}

/// A piece of a message.
#[derive(Clone, Copy)]
struct Piece<'i> {
    bytes: &'i [u8],
    begins: bool,
    ends: bool,
}

impl Piece<'_> {
    fn is_whole(self) -> bool {
        self.begins && self.ends
    }
}

impl WebSocketState {
    /// Reads the answer to the upgrade request; returns how many bytes belong to it.
    #[cold]
    pub(super) fn read_handshake(
        &mut self,
        input: &[u8],
        received: &mut Received<'_, '_>,
    ) -> Result<(Flow, usize), ProtocolFault> {
        let slot = received.slot;
        let Self { connections, upgrades, .. } = self;
        let connection = &mut connections[slot as usize];
        let Some(handshake) = &mut connection.handshake else {
            return Err(ProtocolFault::from_failure(ConnectionFailure::Unsolicited));
        };
        if connection.incoming.first_byte == Nanos::ZERO {
            connection.incoming.first_byte = received.now;
        }
        let read = handshake.read(input, upgrades.subprotocols());
        let (step, consumed) = match read {
            Ok(read) => read,
            Err(error) => return self.handshake_failed(error, input.len(), received),
        };
        received.count(connection.oldest, consumed as u64);
        if step == HandshakeStep::Open {
            connection.handshake = None;
            connection.phase = Phase::Open;
            connection.out.append(&mut connection.first_message);
            if self.listens {
                let (exchange, kind) = received.exchange(connection.oldest);
                let times = (connection.incoming.first_byte, received.now);
                connection.incoming.begin(SWITCHED);
                (connection.unsent_block, connection.counts_unsent) = (exchange.block, true);
                received.tracker.begin_stream(slot, connection.oldest, kind, SWITCHED, times);
            }
        }
        Ok((Flow::Keep, consumed))
    }

    /// The handshake failed. An exchange that began with it is answered, if the server answered with a status.
    #[cold]
    fn handshake_failed(
        &mut self,
        error: HandshakeError,
        bytes: usize,
        received: &mut Received<'_, '_>,
    ) -> Result<(Flow, usize), ProtocolFault> {
        let failure = match &error {
            HandshakeError::Refused { status, .. } => ConnectionFailure::UpgradeRefused(*status),
            HandshakeError::Http(_) => ConnectionFailure::Protocol,
            _ => ConnectionFailure::InvalidUpgrade,
        };
        let HandshakeError::Refused { status, body } = error else {
            return Err(ProtocolFault { failure, detail: Some(error.to_string()), is_end: false });
        };
        let detail = (!body.is_empty()).then(|| format!("its body: {body}"));
        if received.live() == 0 {
            return Err(ProtocolFault { failure, detail, is_end: false });
        }
        received.tracker.note(failure, detail);
        self.answer_refused(status, bytes as u64, received);
        Ok((Flow::Cut, bytes))
    }

    /// The server has refused, and closed the connection before a body or its end came: an exchange that began with the
    /// handshake is answered. Returns the failure if there is none.
    #[cold]
    pub(super) fn refused_by_close(
        &mut self,
        status: u16,
        received: &mut Received<'_, '_>,
    ) -> Option<ConnectionFailure> {
        let failure = ConnectionFailure::UpgradeRefused(status);
        if received.live() == 0 {
            return Some(failure);
        }
        received.tracker.note(failure, None);
        self.answer_refused(status, 0, received);
        None
    }

    /// Ends the exchange that began with a refused handshake.
    fn answer_refused(&mut self, status: u16, uncounted_bytes: u64, received: &mut Received<'_, '_>) {
        let first_byte = self.connections[received.slot as usize].incoming.first_byte;
        let ending = Ending::BadStatus;
        let response =
            ReceivedResponse { status, ending, first_byte, uncounted_bytes, ..ReceivedResponse::NONE };
        self.answer(&response, received);
    }

    /// Applies an event.
    pub(super) fn on_event(
        &mut self,
        event: WebSocketEvent<'_>,
        received: &mut Received<'_, '_>,
    ) -> Result<Flow, ProtocolFault> {
        match event {
            WebSocketEvent::Message { piece: bytes, begins, ends, .. } => {
                let piece = Piece { bytes, begins, ends };
                if !bytes.is_empty() || ends {
                    self.connections[received.slot as usize].stray_frames = 0;
                    return self.on_message(piece, received);
                }
                self.on_stray(received)?;
                self.on_message(piece, received)
            }
            WebSocketEvent::NeedMore => {
                self.count(received);
                Ok(Flow::Keep)
            }
            WebSocketEvent::Ping(payload) => {
                self.on_stray(received)?;
                self.on_ping(payload, received.slot);
                self.count(received);
                Ok(Flow::Keep)
            }
            WebSocketEvent::Pong(_) => {
                self.on_stray(received)?;
                self.count(received);
                Ok(Flow::Keep)
            }
            WebSocketEvent::Close { code, reason } => self.on_close(code, reason, received),
        }
    }

    /// Answers a Ping. While many bytes wait for room, only the most recent one will be answered (RFC 6455 §5.5.3), so
    /// that a server that sends Pings and reads nothing does not make them grow without a limit.
    fn on_ping(&mut self, payload: &[u8], slot: Slot) {
        let connection = &mut self.connections[slot as usize];
        if connection.has_closed {
            return;
        }
        if connection.late_ping.is_some() || connection.out.len() >= MAX_WAITING_BYTES {
            let late = connection.late_ping.get_or_insert_default();
            late.clear();
            late.extend_from_slice(payload);
            return;
        }
        // Its bytes are counted for no message.
        connection.counts_unsent &= !connection.out.is_empty();
        self.messages.write_control(Opcode::Pong, payload, &mut connection.out);
    }

    /// Answers the Ping whose answer had no room, once all other bytes were sent. Returns whether it did.
    pub(super) fn answer_late_ping(&mut self, slot: Slot, now: Nanos) -> bool {
        let connection = &mut self.connections[slot as usize];
        if !connection.out.is_empty() {
            return false;
        }
        let Some(payload) = connection.late_ping.take() else { return false };
        (connection.counts_unsent, connection.unsent_since) = (false, now);
        self.messages.write_control(Opcode::Pong, &payload, &mut connection.out);
        true
    }

    /// Counts the received bytes for the oldest exchange.
    fn count(&self, received: &mut Received<'_, '_>) {
        let oldest = self.connections[received.slot as usize].oldest;
        let bytes = std::mem::take(&mut received.bytes);
        received.count(oldest, bytes);
    }

    /// A frame came that moves nothing.
    fn on_stray(&mut self, received: &mut Received<'_, '_>) -> Result<(), ProtocolFault> {
        let connection = &mut self.connections[received.slot as usize];
        connection.stray_frames += 1;
        if connection.stray_frames > u32::from(MAX_STRAY_FRAMES) {
            return Err(ProtocolFault::from_failure(ConnectionFailure::Flood));
        }
        Ok(())
    }

    /// The server closes the connection, without an error or with one.
    #[cold]
    fn on_close(
        &mut self,
        code: CloseCode,
        reason: &str,
        received: &mut Received<'_, '_>,
    ) -> Result<Flow, ProtocolFault> {
        let slot = received.slot;
        self.count(received);
        self.send_close(slot, code);
        if !code.is_normal() {
            let detail = format!("close code {code}");
            let detail =
                if reason.is_empty() { detail } else { format!("{detail}: {}", reason.escape_debug()) };
            let failure = ConnectionFailure::WebSocketClosed(code);
            return Err(ProtocolFault { failure, detail: Some(detail), is_end: true });
        }
        if self.listens && received.live() > 0 {
            self.end_listening(true, received);
            return Ok(Flow::Close);
        }
        for after in 0..received.live() {
            let place = self.connections[slot as usize].place_after(after, self.depth);
            if let Some(kind) = received.tracker.give_back(slot, place, received.now) {
                self.messages.give_back(slot, place, kind);
            }
        }
        Ok(Flow::Close)
    }

    /// Appends a Close frame to the bytes that wait, unless one was sent.
    pub(super) fn send_close(&mut self, slot: Slot, code: CloseCode) {
        let connection = &mut self.connections[slot as usize];
        if std::mem::replace(&mut connection.has_closed, true) {
            return;
        }
        // No frame follows it (RFC 6455 §5.5.1).
        connection.late_ping = None;
        connection.counts_unsent &= !connection.out.is_empty();
        let payload = code.0.to_be_bytes();
        let payload = if code == CloseCode::NO_STATUS { &[][..] } else { &payload };
        self.messages.write_control(Opcode::Close, payload, &mut connection.out);
    }

    /// A piece of a message came: of an answer, or of an event.
    fn on_message(
        &mut self,
        piece: Piece<'_>,
        received: &mut Received<'_, '_>,
    ) -> Result<Flow, ProtocolFault> {
        if received.live() == 0 {
            // Further messages of a server that sends unasked are skipped.
            if self.rule == AnswerRule::Match {
                self.connections[received.slot as usize].skips = !piece.ends;
                return Ok(Flow::Keep);
            }
            self.send_close(received.slot, CloseCode::NORMAL);
            return Err(ProtocolFault::from_failure(ConnectionFailure::Unsolicited));
        }
        if self.listens {
            return Ok(self.on_listened(piece, received));
        }
        let connection = &mut self.connections[received.slot as usize];
        if connection.skips {
            connection.skips = !piece.ends;
            self.count(received);
            return Ok(Flow::Keep);
        }
        if piece.begins {
            self.begin_answer(received);
        }
        match self.rule {
            AnswerRule::Match => self.on_candidate(piece, received),
            AnswerRule::Next | AnswerRule::Any if piece.is_whole() => self.on_whole(piece.bytes, received),
            AnswerRule::Next | AnswerRule::Any => self.on_piece(piece, received),
        }
        Ok(Flow::Keep)
    }

    fn begin_answer(&mut self, received: &Received<'_, '_>) {
        let connection = &mut self.connections[received.slot as usize];
        connection.incoming.begin(SWITCHED);
        connection.incoming.first_byte = received.now;
        connection.differs = false;
        connection.kept.clear();
    }

    /// An answer came in one piece.
    #[inline]
    fn on_whole(&mut self, answer: &[u8], received: &mut Received<'_, '_>) {
        let &mut Received { slot, now, bytes, .. } = received;
        let oldest = self.connections[slot as usize].oldest;
        let (_, kind) = received.exchange(oldest);
        let sent = self.messages.sent(slot, oldest);
        let ending = match self.kinds[kind].is_echo() {
            true if equal(sent, answer) => Ending::Ok,
            true => {
                let fault = BodyFault::Differs(sent.len() as u64);
                received.tracker.reject(kind, SWITCHED.status, answer, fault, now);
                Ending::BadBody
            }
            false => received.tracker.judge(kind, SWITCHED, answer, now),
        };
        let response = ReceivedResponse {
            status: SWITCHED.status,
            body_bytes: answer.len() as u64,
            ending,
            first_byte: now,
            uncounted_bytes: bytes,
        };
        self.answer(&response, received);
    }

    /// A piece of an answer came.
    fn on_piece(&mut self, piece: Piece<'_>, received: &mut Received<'_, '_>) {
        let &mut Received { slot, now, bytes, .. } = received;
        let connection = &mut self.connections[slot as usize];
        let (_, kind) = received.exchange(connection.oldest);
        let is_echo = self.kinds[kind].is_echo();
        let sent = self.messages.sent(slot, connection.oldest);
        if is_echo {
            let at = connection.incoming.body.bytes as usize;
            let part = sent.get(at..at + piece.bytes.len());
            connection.differs |= !part.is_some_and(|part| equal(part, piece.bytes));
        }
        received.tracker.inspect(kind, &mut connection.incoming, piece.bytes);
        if !piece.ends {
            return self.count(received);
        }
        let is_short = connection.incoming.body.bytes < sent.len() as u64;
        let mut response = received.tracker.judge_pieces(kind, &mut connection.incoming, bytes, now);
        if is_echo && (connection.differs || is_short) {
            let fault = BodyFault::Differs(sent.len() as u64);
            received.tracker.reject_unkept(kind, &response, fault, now);
            response.ending = Ending::BadBody;
        }
        self.answer(&response, received);
    }

    /// A piece of a message came that may be the answer: it is, if it is as expected.
    fn on_candidate(&mut self, piece: Piece<'_>, received: &mut Received<'_, '_>) {
        let slot = received.slot;
        let connection = &mut self.connections[slot as usize];
        let (_, kind) = received.exchange(connection.oldest);
        connection.incoming.body.bytes += piece.bytes.len() as u64;
        if !piece.is_whole() && connection.kept.len() + piece.bytes.len() <= MAX_KEPT {
            connection.kept.extend_from_slice(piece.bytes);
        }
        let length = connection.incoming.body.bytes;
        let message = if piece.is_whole() { piece.bytes } else { &connection.kept };
        let matches = || match &self.kinds[kind].check {
            BodyCheck::Echo => equal(self.messages.sent(slot, connection.oldest), message),
            check => check.judge(ContentCoding::Identity, message).is_ok(),
        };
        if !piece.ends || message.len() as u64 != length || !matches() {
            return self.count(received);
        }
        let response = ReceivedResponse {
            status: SWITCHED.status,
            body_bytes: length,
            ending: Ending::Ok,
            first_byte: connection.incoming.first_byte,
            uncounted_bytes: received.bytes,
        };
        self.answer(&response, received);
    }

    /// Ends the oldest exchange with this answer.
    #[inline]
    fn answer(&mut self, response: &ReceivedResponse, received: &mut Received<'_, '_>) {
        let &mut Received { slot, now, .. } = received;
        let connection = &mut self.connections[slot as usize];
        let place = connection.oldest;
        connection.oldest = if place + 1 == self.depth { 0 } else { place + 1 };
        if let Some(exchange) = received.tracker.exchanges_mut().end(slot, place) {
            received.tracker.answered(slot, &exchange, 1, response, now);
        }
    }

    /// A piece of an event came.
    fn on_listened(&mut self, piece: Piece<'_>, received: &mut Received<'_, '_>) -> Flow {
        let &mut Received { slot, now, .. } = received;
        let connection = &mut self.connections[slot as usize];
        let (place, (_, kind)) = (connection.oldest, received.exchange(connection.oldest));
        received.tracker.inspect(kind, &mut connection.incoming, piece.bytes);
        let is_over = received.tracker.read_stream(slot, place, kind, (piece.bytes, piece.ends), now);
        if is_over || received.tracker.has_ended_stream(slot, place, now) {
            self.end_listening(false, received);
            return Flow::Cut;
        }
        self.count(received);
        Flow::Keep
    }

    /// Ends the exchange whose events were received: by the server, or because it is over.
    pub(super) fn end_listening(&mut self, is_complete: bool, received: &mut Received<'_, '_>) {
        let slot = received.slot;
        let connection = &mut self.connections[slot as usize];
        let (place, (_, kind)) = (connection.oldest, received.exchange(connection.oldest));
        let mut response =
            received.tracker.judge_pieces(kind, &mut connection.incoming, received.bytes, received.now);
        received.now =
            received.tracker.end_stream(slot, place, kind, is_complete, &mut response, received.now);
        self.answer(&response, received);
    }
}

impl Received<'_, '_> {
    /// Exchanges in flight on the connection.
    fn live(&self) -> u16 {
        self.tracker.exchanges().live(self.slot)
    }

    /// The exchange at a place, and its kind.
    fn exchange(&self, place: ExchangeIndex) -> (Exchange, usize) {
        let exchange = *self.tracker.exchanges().at(self.slot, place);
        (exchange, self.tracker.kind_of(&exchange))
    }

    /// Counts bytes for the exchange at a place, if one is in flight.
    fn count(&mut self, oldest: ExchangeIndex, bytes: u64) {
        if self.live() > 0 {
            let (exchange, _) = self.exchange(oldest);
            self.tracker.moved(exchange.block, 0, bytes);
        }
    }
}
