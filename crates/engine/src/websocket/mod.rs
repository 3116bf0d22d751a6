//! Implements WebSocket for the loop (RFC 6455): a request is a message, and a later message answers it.
//!
//! Frames and the handshake are in `paceline_http::websocket`. This module has the parts that depend on scheduling: the
//! handshake and the life of a connection ([`connection`]), the messages that are sent ([`outgoing`]), and the effect of
//! those that come ([`receive`]). Answers come in the order of the messages, so that the exchanges of a connection form a
//! ring, as over HTTP/1.1. Connecting includes the handshake.
//!
//! A server may instead send messages unasked: the responses are streams. Then an exchange is a connection: it begins
//! with the upgrade request, and the messages are its events.
//!
//! A server that closes a WebSocket without an error has not answered the messages in flight: they are due again.

mod connection;
mod extended_connect;
mod outgoing;
mod receive;

use crate::hot::{
    CancelOutcome, ExchangeIndex, Flow, PlainLoad, ProtocolFault, ProtocolHandler, SendTimes, Tracker,
};
use crate::outcome::ConnectionFailure;
use crate::{IoProgress, Nanos, Settings, Slot, Transport};
pub(crate) use extended_connect::ExtendedConnect;

use connection::{Phase, WebSocketConnection};
use outgoing::{Messages, Upgrades};
use paceline_http::websocket::{CloseCode, FrameReader};
use receive::{KindState, Received, WebSocketState};
use std::io;

/// WebSocket on the connections of one worker.
#[derive(Debug)]
pub struct WebSocket {
    /// Separate from the other state, since events borrow from the readers.
    readers: Box<[FrameReader]>,
    state: WebSocketState,
    load: PlainLoad,
}

impl WebSocket {
    /// Reads the frames in the input; an error is also reported to the server.
    fn read_frames(
        &mut self,
        slot: Slot,
        mut input: &[u8],
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> Result<Flow, ProtocolFault> {
        let Self { readers, state, .. } = self;
        let reader = &mut readers[slot as usize];
        while !input.is_empty() {
            let (event, bytes) = match reader.next(input) {
                Ok(read) => read,
                Err(error) => {
                    state.send_close(slot, error.close_code());
                    let detail = Some(error.to_string());
                    return Err(ProtocolFault {
                        failure: ConnectionFailure::WebSocket,
                        detail,
                        is_end: false,
                    });
                }
            };
            input = &input[bytes..];
            let flow = state.on_event(event, &mut Received { slot, now, bytes: bytes as u64, tracker })?;
            if flow != Flow::Keep {
                return Ok(flow);
            }
        }
        Ok(Flow::Keep)
    }
}

impl ProtocolHandler for WebSocket {
    type Scenario = PlainLoad;

    fn new(settings: &Settings, worker: u32) -> Self {
        let count = settings.connections_of(worker);
        let line_ends = settings.job.line_ends();
        Self {
            readers: (0..count).map(|_| FrameReader::default()).collect(),
            state: WebSocketState {
                depth: settings.job.depth,
                listens: settings.requests.have_streams(),
                rule: settings.job.websocket.answer,
                connections: (0..count).map(|_| WebSocketConnection::new(line_ends)).collect(),
                upgrades: Upgrades::new(settings, worker),
                messages: Messages::new(settings, worker),
                kinds: settings.requests.kinds().iter().map(KindState::new).collect(),
            },
            load: PlainLoad,
        }
    }

    fn places(settings: &Settings) -> u16 {
        settings.job.depth
    }

    /// Sends the upgrade request, unless that begins an exchange.
    fn open<T: Transport>(&mut self, slot: Slot, _: Nanos, transport: &mut T) -> io::Result<IoProgress> {
        if self.state.listens {
            return Ok(IoProgress::Done);
        }
        let WebSocketState { connections, upgrades, .. } = &mut self.state;
        let connection = &mut connections[slot as usize];
        let request = upgrades.make(connection);
        connection.out.extend_from_slice(request);
        connection.flush(slot, transport)?;
        Ok(IoProgress::Pending)
    }

    fn is_ready(&self, slot: Slot) -> bool {
        self.state.connections[slot as usize].phase == Phase::Open
    }

    fn slow_to_begin(&self, _: Slot) -> ConnectionFailure {
        ConnectionFailure::NoUpgrade
    }

    #[inline]
    fn room(&self, slot: Slot, live: u16) -> u16 {
        let connection = &self.state.connections[slot as usize];
        match self.state.listens {
            true => u16::from(connection.phase == Phase::New),
            false if !connection.out.is_empty() => 0,
            false => self.state.depth - live,
        }
    }

    fn begin<T: Transport>(
        &mut self,
        slot: Slot,
        wanted: u16,
        send_times: &SendTimes,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> io::Result<u16> {
        let WebSocketState { connections, upgrades, messages, listens, .. } = &mut self.state;
        let connection = &mut connections[slot as usize];
        match listens {
            true => messages.begin_listening(slot, connection, upgrades, send_times, tracker, transport),
            false => messages.begin(slot, wanted, connection, send_times, tracker, transport),
        }
    }

    fn receive<T: Transport>(
        &mut self,
        slot: Slot,
        mut input: &[u8],
        now: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> Result<Flow, ProtocolFault> {
        if self.state.connections[slot as usize].phase != Phase::Open {
            let (flow, consumed) =
                self.state.read_handshake(input, &mut Received { slot, now, bytes: 0, tracker })?;
            if flow != Flow::Keep {
                return Ok(flow);
            }
            input = &input[consumed..];
        }
        let connection = &mut self.state.connections[slot as usize];
        if connection.out.is_empty() {
            connection.unsent_since = now;
        }
        let flow = self.read_frames(slot, input, now, tracker);
        // The next read reports a broken connection.
        let _ = self.flush(slot, now, tracker, transport);
        flow
    }

    fn flush<T: Transport>(
        &mut self,
        slot: Slot,
        now: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> io::Result<IoProgress> {
        loop {
            let connection = &mut self.state.connections[slot as usize];
            let sent = connection.flush(slot, transport)?;
            if connection.counts_unsent {
                tracker.moved(connection.unsent_block, sent as u64, 0);
            }
            if !connection.out.is_empty() {
                return Ok(IoProgress::Pending);
            }
            if !self.state.answer_late_ping(slot, now) {
                return Ok(IoProgress::Done);
            }
        }
    }

    #[inline]
    fn unsent_since(&self, slot: Slot) -> Option<Nanos> {
        let connection = &self.state.connections[slot as usize];
        (!connection.out.is_empty()).then_some(connection.unsent_since)
    }

    fn end_of_input(
        &mut self,
        slot: Slot,
        _: bool,
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> Option<ConnectionFailure> {
        let connection = &self.state.connections[slot as usize];
        if let Some(status) = connection.handshake.as_ref().and_then(|handshake| handshake.refused_with()) {
            return self.state.refused_by_close(status, &mut Received { slot, now, bytes: 0, tracker });
        }
        if tracker.has_ended_stream(slot, connection.oldest, now) {
            self.state.end_listening(true, &mut Received { slot, now, bytes: 0, tracker });
            return None;
        }
        let live = tracker.exchanges().live(slot);
        // An exchange may begin with the upgrade request, of whose answer no byte may have come.
        let is_unanswered = !self.state.listens || connection.incoming.first_byte == Nanos::ZERO;
        match self.readers[slot as usize].is_between_messages() {
            _ if connection.phase != Phase::Open && live == 0 => Some(ConnectionFailure::ClosedUnused),
            true if live == 0 => None,
            true if is_unanswered => Some(ConnectionFailure::ClosedUnanswered),
            _ => Some(ConnectionFailure::Truncated),
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
        let is_silent = self.state.listens && self.is_ready(slot);
        CancelOutcome::Connection(match is_silent {
            true => ConnectionFailure::SilentStream,
            false => ConnectionFailure::TimedOut,
        })
    }

    fn end_stream<T: Transport>(
        &mut self,
        slot: Slot,
        _: ExchangeIndex,
        now: Nanos,
        tracker: &mut Tracker<'_>,
        _: &mut T,
    ) -> Flow {
        self.state.end_listening(false, &mut Received { slot, now, bytes: 0, tracker });
        Flow::Cut
    }

    /// Closes the WebSocket, unless a part of a frame still waits.
    fn say_goodbye<T: Transport>(&mut self, slot: Slot, _: Nanos, transport: &mut T) {
        if self.is_ready(slot) && self.state.connections[slot as usize].out.is_empty() {
            self.state.send_close(slot, CloseCode::NORMAL);
            // The connection ends in any case.
            let _ = self.state.connections[slot as usize].flush(slot, transport);
        }
    }

    fn close(&mut self, slot: Slot) {
        self.readers[slot as usize].reset();
        self.state.connections[slot as usize].close();
    }

    fn skip(&mut self) -> u16 {
        self.state.messages.skip()
    }

    fn scenario(&self) -> &PlainLoad {
        &self.load
    }

    fn scenario_mut(&mut self) -> &mut PlainLoad {
        &mut self.load
    }

    fn into_scenario(self) -> PlainLoad {
        self.load
    }

    fn saw_compressed(&self) -> bool {
        false
    }
}
