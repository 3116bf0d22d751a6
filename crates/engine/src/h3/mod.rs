//! Implements HTTP/3 for the loop (RFC 9114): many streams on a QUIC connection, whose responses end in any order.
//!
//! Frames and QPACK are in `paceline_http::h3`, QUIC is `quinn-proto`. This module has the parts that depend on
//! scheduling: QUIC's configuration and time ([`endpoint`], [`alarms`]), the state of a connection and its streams
//! ([`connection`], [`stream`]), requests ([`outgoing`]) and responses ([`responses`]). This file connects them to the
//! loop.
//!
//! A request begins when QUIC has taken it: congestion control and the pacing of packets are part of the network, as
//! with TCP. What a read makes QUIC send (acknowledgements) is held back until the requests that are due have been
//! sent, and goes with them.
//!
//! With early data, requests may begin while the handshake is under way. If the server does not accept it, they are
//! sent again on the same connection, and keep their times.
//!
//! `quinn-proto` allocates memory for packets in the steady state, as rustls does for records.
//!
//! Over 600 lines: all of it acts on one state.

mod alarms;
mod connection;
mod endpoint;
mod outgoing;
mod responses;
mod stream;

use crate::hot::{
    CancelOutcome, ExchangeIndex, Flow, PlainLoad, ProtocolFault, ProtocolHandler, Scenario, SendTimes,
    Tracker,
};
use crate::outcome::ConnectionFailure;
use crate::tls::{TlsFault, TlsOutcome};
use crate::{Direction, IoProgress, Nanos, Settings, Slot, StreamEnd, Transport};
use alarms::Alarms;
use bytes::Bytes;
use connection::{EarlyRequest, Http3Connection, number, send_request};
use endpoint::QuicEndpoint;
use outgoing::{Http3Outgoing, NextRequest};
use paceline_http::h3::{ErrorCode, Http3Error, is_safe_text};
use paceline_job::MAX_STREAMS;
use quinn_proto::{ConnectionError, Dir, Event, ReadError, Side, StreamEvent, StreamId, VarInt};
use responses::{ReadContext, Responses, StreamState};
use std::io;
use stream::Http3Stream;

/// The number of streams cancelled without a response between them after which a connection is closed: more looks like
/// an attack to a server (CVE-2023-44487).
const MAX_CANCELS: u32 = 200;

/// The maximum number of datagrams sent by one system call: with the usual sizes below the 64 KiB that it takes.
const MAX_BATCH: usize = 32;

/// How long a server may be silent while a response is awaited until a PING keeps the connection open (RFC 9114 §5.1):
/// below the idle timeouts of servers, which are mostly 30 s and rarely below 5 s. QUIC's own `keep_alive_interval` would
/// also keep connections open that the server may close.
const PING_AFTER: Nanos = Nanos::from_secs(2);

/// The code with which servers and clients of other protocols close a connection without an error (RFC 9000 §20.1).
const QUIC_NO_ERROR: u64 = 0;

/// HTTP/3 on the connections of one worker.
pub struct Http3<S = PlainLoad> {
    /// None if the settings have no TLS 1.3, which their check excludes.
    quic: Option<QuicEndpoint>,
    connections: Box<[Http3Connection]>,
    responses: Responses<S>,
    outgoing: Http3Outgoing,
    depth: u16,
    stream_limit: Option<u32>,
    alarms: Alarms,
    /// Connections with output that was held back.
    due: Vec<Slot>,
    /// The datagrams being sent.
    batch: Vec<u8>,
}

impl<S: Scenario> Http3<S> {
    /// Sends what QUIC has to send, and sets the alarm for its next timer.
    fn transmit<T: Transport>(&mut self, slot: Slot, now: Nanos, transport: &mut T) {
        let connection = &mut self.connections[slot as usize];
        let result = connection.send_waiting(slot, transport);
        let (Some(endpoint), Some(quic)) = (&mut self.quic, &mut connection.quic) else { return };
        let instant = endpoint.instant(now);
        let mut failure = result.as_ref().err().map(ConnectionFailure::from_error);
        while matches!(result, Ok(true)) && connection.out.is_empty() && failure.is_none() {
            self.batch.clear();
            let Some(transmit) = quic.connection.poll_transmit(instant, MAX_BATCH, &mut self.batch) else {
                break;
            };
            let segment = transmit.segment_size.unwrap_or(transmit.size);
            match transport.send_datagrams(slot, &self.batch, segment) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    connection.out.extend_from_slice(&self.batch);
                    (connection.out_segment, connection.unsent_since) = (segment, now);
                }
                Err(error) => failure = Some(ConnectionFailure::from_error(&error)),
            }
        }
        endpoint.exchange_events(quic);
        connection.is_due = false;
        let mut alarm = endpoint.timeout(&mut quic.connection);
        if alarm > connection.quiet_since + PING_AFTER && !self.responses.streams.is_idle(slot) {
            alarm = connection.quiet_since + PING_AFTER;
        }
        self.alarms.set(slot, alarm);
        // It is reported when the loop acts on the connection.
        connection.broken = failure.or(connection.broken);
        if connection.broken.is_some() {
            self.hold_back(slot);
        }
    }

    /// Notes that a connection has output, which is sent later in this turn of the loop.
    fn hold_back(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot as usize];
        if !connection.is_due {
            connection.is_due = true;
            self.due.push(slot);
        }
    }

    /// Acts on what QUIC reports, and returns the state of the connection.
    fn react<T: Transport>(
        &mut self,
        slot: Slot,
        now: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> Result<Flow, ProtocolFault> {
        let mut received = ReadContext { slot, now, tracker };
        let result = self.take_events(&mut received, transport);
        self.responses.group.record(slot, now, tracker);
        let live = tracker.exchanges().live(slot);
        match result {
            Err(error) => {
                self.connections[slot as usize].close_code = Some(error.code());
                match error {
                    Http3Error::Flood { .. } => Err(fault(ConnectionFailure::Flood, error.to_string())),
                    error => Err(fault(ConnectionFailure::Http3, error.to_string())),
                }
            }
            Ok(Some(reason)) => self.lost(slot, &reason, live),
            Ok(None) => {
                let connection = &mut self.connections[slot as usize];
                connection.fill_reserve(usize::from(self.depth.saturating_sub(live)));
                match connection.broken.take() {
                    Some(ConnectionFailure::BodyUnreadable) => {
                        Err(ProtocolFault::from_failure(ConnectionFailure::BodyUnreadable))
                    }
                    Some(failure) => Err(ended(failure, None)),
                    None if connection.ends_at.is_some() && live == 0 => Ok(Flow::Close),
                    None => Ok(Flow::Keep),
                }
            }
        }
    }

    /// Acts on the events of QUIC. Returns the reason if the connection is lost.
    fn take_events<T: Transport>(
        &mut self,
        received: &mut ReadContext<'_, '_>,
        transport: &mut T,
    ) -> Result<Option<ConnectionError>, Http3Error> {
        let slot = received.slot;
        loop {
            let Some(quic) = &mut self.connections[slot as usize].quic else { return Ok(None) };
            let Some(event) = quic.connection.poll() else { return Ok(None) };
            match event {
                Event::Connected => self.connected(received, transport),
                Event::ConnectionLost { reason } => {
                    if let ConnectionError::ApplicationClosed(close) = &reason {
                        let code = close.error_code.into_inner();
                        transport.note_close(slot, Direction::Received, code, &close.reason);
                    }
                    return Ok(Some(reason));
                }
                Event::Stream(event) => self.on_stream_event(event, received, transport)?,
                Event::HandshakeDataReady | Event::DatagramReceived | Event::DatagramsUnblocked => {}
            }
        }
    }

    fn on_stream_event<T: Transport>(
        &mut self,
        event: StreamEvent,
        received: &mut ReadContext<'_, '_>,
        transport: &mut T,
    ) -> Result<(), Http3Error> {
        let slot = received.slot;
        match event {
            StreamEvent::Readable { id } if id.initiator() == Side::Client => {
                self.read_response(id, received, transport)
            }
            StreamEvent::Readable { id } => self.read_server_stream(id, received, transport),
            StreamEvent::Opened { dir: Dir::Bi } => Err(Http3Error::ServerStream),
            StreamEvent::Opened { dir: Dir::Uni } => {
                let ids = self.connections[slot as usize].accept_streams();
                ids.into_iter().try_for_each(|id| self.read_server_stream(id, received, transport))
            }
            StreamEvent::Writable { id } => {
                self.continue_request(id, received, transport);
                Ok(())
            }
            StreamEvent::Stopped { id, error_code } => {
                let end = StreamEnd::StopSending(error_code.into_inner());
                transport.note_stream_end(slot, Direction::Received, number(id), end);
                // The server does not need the rest of the request; the response may still come (RFC 9114 §4.1).
                if let Some(place) = self.responses.streams.place_of(slot, id) {
                    self.responses.streams.at(slot, place).stop_sending();
                }
                let code = ErrorCode(error_code.into_inner());
                self.connections[slot as usize].stop_sending(slot, id, code, transport);
                Ok(())
            }
            StreamEvent::Finished { .. } | StreamEvent::Available { .. } => Ok(()),
        }
    }

    /// The handshake is done.
    fn connected<T: Transport>(&mut self, received: &mut ReadContext<'_, '_>, transport: &mut T) {
        let ReadContext { slot, now, .. } = *received;
        let connection = &mut self.connections[slot as usize];
        connection.is_ready = true;
        let was_made = connection.early.has_streams;
        let (requests, is_accepted) = connection.end_early(slot, transport);
        if let (Some(endpoint), Some(quic)) = (&mut self.quic, &connection.quic) {
            endpoint.tls.made(&quic.connection, !requests.is_empty());
        }
        if was_made {
            let took = now.since(connection.began);
            received.tracker.handshake_ended(took, now);
            connection.handshake_awaited = if requests.is_empty() { took } else { Nanos::ZERO };
        }
        if !is_accepted {
            self.send_again(requests, received, transport);
        }
        let live = received.tracker.exchanges().live(slot);
        let connection = &mut self.connections[slot as usize];
        connection.fill_reserve(usize::from(self.depth.saturating_sub(live)));
        let limit = connection.reserve.len() as u32 + u32::from(live);
        if limit < u32::from(self.depth) {
            self.stream_limit = Some(self.stream_limit.map_or(limit, |known| known.min(limit)));
        }
    }

    /// The server has not accepted early data, whose streams do not exist any more: sends its requests on new ones. If
    /// the server allows fewer now, the others are due again.
    #[cold]
    fn send_again<T: Transport>(
        &mut self,
        requests: Vec<EarlyRequest>,
        received: &mut ReadContext<'_, '_>,
        transport: &mut T,
    ) {
        let slot = received.slot;
        for EarlyRequest { id, head } in requests {
            // One that has ended is not sent. Ids begin again at 0, so none is that of a request that follows.
            let Some(place) = self.responses.streams.place_of(slot, id) else { continue };
            let quic = self.connections[slot as usize].quic.as_mut();
            let Some(id) = quic.and_then(|quic| quic.connection.streams().open(Dir::Bi)) else {
                self.give_back(place, received);
                continue;
            };
            self.responses.streams.renumber(slot, place, id);
            self.responses.streams.at(slot, place).begin_again(head);
            self.continue_request(id, received, transport);
        }
    }

    /// Reads what has come on the stream of a request.
    fn read_response<T: Transport>(
        &mut self,
        id: StreamId,
        received: &mut ReadContext<'_, '_>,
        transport: &mut T,
    ) -> Result<(), Http3Error> {
        let slot = received.slot;
        let connection = &mut self.connections[slot as usize];
        let Some(place) = self.responses.streams.place_of(slot, id) else { return Ok(()) };
        let was_sending = self.responses.streams.at(slot, place).is_sending;
        let Some(quic) = &mut connection.quic else { return Ok(()) };
        let mut recv = quic.connection.recv_stream(id);
        let Ok(mut chunks) = recv.read(true) else { return Ok(()) };
        let mut state = StreamState::Open;
        let mut is_refused = false;
        let mut next = chunks.next(usize::MAX);
        while state == StreamState::Open {
            match next {
                Ok(Some(chunk)) => {
                    transport.note_stream(slot, Direction::Received, number(id), &chunk.bytes);
                    next = chunks.next(usize::MAX);
                    if next != Ok(None) {
                        state = self.responses.read(place, &chunk.bytes, received)?;
                        continue;
                    }
                    transport.note_stream_end(slot, Direction::Received, number(id), StreamEnd::Fin);
                    if !self.responses.take_repeat(place, &chunk.bytes, received) {
                        state = self.responses.read_whole(place, &chunk.bytes, received)?;
                    }
                    break;
                }
                Ok(None) => {
                    transport.note_stream_end(slot, Direction::Received, number(id), StreamEnd::Fin);
                    self.responses.end(place, received)?;
                    break;
                }
                Err(ReadError::Blocked) => break,
                Err(ReadError::Reset(code)) => {
                    let end = StreamEnd::Reset(code.into_inner());
                    transport.note_stream_end(slot, Direction::Received, number(id), end);
                    is_refused = self.responses.on_reset(place, ErrorCode(code.into_inner()), received);
                    break;
                }
            }
        }
        let _ = chunks.finalize();
        if is_refused {
            connection.stop_sending(slot, id, ErrorCode::REQUEST_CANCELLED, transport);
            self.give_back(place, received);
        } else if let StreamState::Cancel(code) = state {
            connection.cancel(slot, id, code, transport);
        } else if self.responses.streams.id_at(slot, place) != Some(id) {
            connection.cancels = 0;
            if was_sending {
                // The server did not wait for the whole request (RFC 9114 §4.1).
                connection.stop_sending(slot, id, ErrorCode::REQUEST_CANCELLED, transport);
            }
        }
        Ok(())
    }

    /// Reads what has come on a stream of the server.
    fn read_server_stream<T: Transport>(
        &mut self,
        id: StreamId,
        received: &mut ReadContext<'_, '_>,
        transport: &mut T,
    ) -> Result<(), Http3Error> {
        let connection = &mut self.connections[received.slot as usize];
        let before = connection.ends_at;
        let result = connection.read_server_stream(received.slot, id, transport);
        if let Some(id) = connection.ends_at.filter(|id| before != Some(*id)) {
            self.on_goaway(id, received, transport);
        }
        result
    }

    /// The server accepts no request from this stream id on (RFC 9114 §5.2).
    fn on_goaway<T: Transport>(&mut self, id: u64, received: &mut ReadContext<'_, '_>, transport: &mut T) {
        let slot = received.slot;
        // In the order in which they were sent, so that they become due again in that order.
        for (index, place) in self.responses.streams.from(slot, id / 4) {
            let stream = StreamId::new(Side::Client, Dir::Bi, index);
            self.connections[slot as usize].cancel(slot, stream, ErrorCode::REQUEST_CANCELLED, transport);
            self.give_back(place, received);
        }
    }

    /// The server has not processed a request: makes it due again, with its number.
    fn give_back(&mut self, place: ExchangeIndex, received: &mut ReadContext<'_, '_>) {
        let ReadContext { slot, now, .. } = *received;
        self.responses.streams.end(slot, place);
        if S::IS_USED {
            self.responses.scenario.give_back(slot, place, now, received.tracker);
        } else if let Some(kind) = received.tracker.give_back(slot, place, now) {
            let number = self.responses.streams.at(slot, place).number;
            self.outgoing.give_back(kind, number);
        }
    }

    /// The server takes more of the request on a stream.
    fn continue_request<T: Transport>(
        &mut self,
        id: StreamId,
        received: &mut ReadContext<'_, '_>,
        transport: &mut T,
    ) {
        let slot = received.slot;
        let Some(place) = self.responses.streams.place_of(slot, id) else { return };
        let stream = self.responses.streams.at(slot, place);
        let Http3Connection { quic, broken, .. } = &mut self.connections[slot as usize];
        if let Some(quic) = quic
            && stream.is_sending
        {
            let sent = send_request(slot, id, stream, &mut quic.connection, transport);
            note_unreadable(stream, broken);
            let block = received.tracker.exchanges().at(slot, place).block;
            received.tracker.moved(block, sent as u64, 0);
        }
    }

    /// The next request for a place, if there is one, and it may be sent now.
    fn next_request(&mut self, slot: Slot, place: ExchangeIndex, now: Nanos) -> Option<NextRequest> {
        let must_be_safe = !self.connections[slot as usize].is_ready;
        if !S::IS_USED {
            return (!must_be_safe || self.outgoing.next_is_safe()).then(|| self.outgoing.next());
        }
        let step = self.responses.scenario.make(slot, place, now)?;
        if must_be_safe && !is_safe_text(step.text) {
            self.responses.scenario.undo(slot, place);
            return None;
        }
        let bytes = self.outgoing.encode_text(step.text);
        Some(NextRequest { kind: step.kind, number: 0, bytes, following: None })
    }

    /// Begins one request; false if there is none.
    fn begin_next<T: Transport>(
        &mut self,
        slot: Slot,
        send_times: &SendTimes,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> bool {
        let Some(id) = self.connections[slot as usize].reserve.pop_front() else { return false };
        let place = self.responses.streams.open(slot, id);
        let request = place.and_then(|place| self.next_request(slot, place, send_times.at));
        let (Some(place), Some(request)) = (place, request) else {
            place.into_iter().for_each(|place| self.responses.streams.end(slot, place));
            self.connections[slot as usize].reserve.push_front(id);
            return false;
        };
        let stream = self.responses.streams.at(slot, place);
        let kind = request.kind;
        let connection = &mut self.connections[slot as usize];
        if !connection.is_ready {
            connection.early.requests.push(EarlyRequest { id, head: request.bytes[0].clone() });
        }
        stream.begin(request);
        let quic = &mut connection.quic;
        let sent =
            quic.as_mut().map_or(0, |quic| send_request(slot, id, stream, &mut quic.connection, transport));
        note_unreadable(stream, &mut connection.broken);
        if S::IS_USED {
            self.responses.scenario.sent(slot, place, send_times, sent, tracker);
        } else {
            let exchange = tracker.begin(send_times, kind, 1, sent);
            tracker.exchanges_mut().begin(slot, place, exchange);
        }
        true
    }

    /// The connection is lost: its failure, unless it was idle and the server has closed it as announced.
    fn lost(&mut self, slot: Slot, reason: &ConnectionError, live: u16) -> Result<Flow, ProtocolFault> {
        let Http3Connection { quic, is_ready, .. } = &self.connections[slot as usize];
        if let (Some(endpoint), Some(quic)) = (&mut self.quic, quic)
            && let Some(error) = endpoint.tls.fault(&quic.connection, reason)
        {
            return Err(ended(ConnectionFailure::Tls(error.fault), None));
        }
        let is_idle = live == 0 && *is_ready;
        let closed = |code: u64, reason: &Bytes| match code {
            QUIC_NO_ERROR if is_idle => Ok(Flow::Close),
            code if code == ErrorCode::NO_ERROR.0 && is_idle => Ok(Flow::Close),
            code if code == QUIC_NO_ERROR || code == ErrorCode::NO_ERROR.0 => {
                Err(ended(ConnectionFailure::ClosedUnanswered, None))
            }
            code => {
                let text = String::from_utf8_lossy(reason);
                let detail = if text.is_empty() { String::new() } else { format!(": {text:?}") };
                let detail = format!("{}{detail}", ErrorCode(code));
                Err(ended(ConnectionFailure::QuicClosed, Some(detail)))
            }
        };
        match reason {
            ConnectionError::TimedOut if is_idle => Ok(Flow::Close),
            ConnectionError::TimedOut if *is_ready => Err(ended(ConnectionFailure::QuicTimeout, None)),
            ConnectionError::TimedOut => Err(ended(self.slow_to_begin(slot), None)),
            ConnectionError::Reset => Err(ended(ConnectionFailure::QuicReset, None)),
            ConnectionError::ApplicationClosed(close) => closed(close.error_code.into_inner(), &close.reason),
            ConnectionError::ConnectionClosed(close) => closed(close.error_code.into(), &close.reason),
            ConnectionError::TransportError(error) => Err(fault(ConnectionFailure::Quic, error.to_string())),
            ConnectionError::VersionMismatch => Err(ended(ConnectionFailure::QuicVersion, None)),
            ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => {
                Err(ended(ConnectionFailure::Closed, None))
            }
        }
    }
}

/// Ends the connection of a stream whose request cannot be completed.
fn note_unreadable(stream: &Http3Stream, broken: &mut Option<ConnectionFailure>) {
    if stream.is_unreadable {
        *broken = Some(ConnectionFailure::BodyUnreadable);
    }
}

/// A violation by the server.
#[cold]
fn fault(failure: ConnectionFailure, detail: String) -> ProtocolFault {
    ProtocolFault { failure, detail: Some(detail), is_end: false }
}

/// The end of a connection by the server or the network.
#[cold]
fn ended(failure: ConnectionFailure, detail: Option<String>) -> ProtocolFault {
    ProtocolFault { failure, detail, is_end: true }
}

impl<S: Scenario> ProtocolHandler for Http3<S> {
    type Scenario = S;

    fn new(settings: &Settings, worker: u32) -> Self {
        let count = settings.connections_of(worker);
        Self {
            quic: QuicEndpoint::new(settings, worker),
            connections: (0..count).map(|_| Http3Connection::default()).collect(),
            responses: Responses::new(settings, worker, Self::places(settings)),
            outgoing: Http3Outgoing::new(settings, worker),
            depth: settings.job.depth,
            stream_limit: None,
            alarms: Alarms::new(count),
            due: Vec::new(),
            batch: Vec::new(),
        }
    }

    /// One for every stream in flight, and so many more that an index mostly finds its own place free.
    fn places(settings: &Settings) -> u16 {
        match settings.job.depth {
            1 => 1,
            depth => depth.min(MAX_STREAMS / 2).next_power_of_two() * 2,
        }
    }

    fn open<T: Transport>(&mut self, slot: Slot, now: Nanos, transport: &mut T) -> io::Result<IoProgress> {
        let Some(endpoint) = &mut self.quic else { return Err(io::ErrorKind::Unsupported.into()) };
        let connection = &mut self.connections[slot as usize];
        connection.close();
        connection.quic = Some(endpoint.connect(slot, now)?);
        connection.began = now;
        self.transmit(slot, now, transport);
        Ok(IoProgress::Pending)
    }

    fn is_ready(&self, slot: Slot) -> bool {
        self.connections[slot as usize].is_ready
    }

    fn begin_early<T: Transport>(&mut self, slot: Slot, transport: &mut T) -> bool {
        if !S::IS_USED && !self.outgoing.next_is_safe() {
            return false;
        }
        self.connections[slot as usize].open_early(slot, self.depth, transport)
    }

    /// None while it is under way and requests may leave: it is counted when it ends.
    fn handshake_began(&self, slot: Slot) -> Option<Nanos> {
        let connection = &self.connections[slot as usize];
        (!connection.early.has_streams).then_some(connection.began)
    }

    fn handshake_awaited(&self, slot: Slot) -> Nanos {
        self.connections[slot as usize].handshake_awaited
    }

    fn slow_to_begin(&self, slot: Slot) -> ConnectionFailure {
        match self.connections[slot as usize].has_heard {
            true => ConnectionFailure::Tls(TlsFault::TooSlow),
            false => ConnectionFailure::NoQuic,
        }
    }

    #[inline]
    fn room(&self, slot: Slot, live: u16) -> u16 {
        let connection = &self.connections[slot as usize];
        let takes_requests = connection.is_ready || connection.early.is_open;
        if !takes_requests || connection.ends_at.is_some() || !connection.out.is_empty() {
            return 0;
        }
        self.depth.saturating_sub(live).min(connection.reserve.len() as u16)
    }

    fn begin<T: Transport>(
        &mut self,
        slot: Slot,
        wanted: u16,
        send_times: &SendTimes,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> io::Result<u16> {
        if self.responses.streams.is_idle(slot) {
            self.connections[slot as usize].quiet_since = send_times.at;
        }
        let mut begun = 0;
        while begun < wanted && self.begin_next(slot, send_times, tracker, transport) {
            begun += 1;
        }
        let connection = &mut self.connections[slot as usize];
        if begun < wanted && !connection.is_ready {
            // The next request has to wait for the handshake.
            connection.early.is_open = false;
        } else if begun == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.transmit(slot, send_times.at, transport);
        Ok(begun)
    }

    fn receive<T: Transport>(
        &mut self,
        slot: Slot,
        input: &[u8],
        now: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> Result<Flow, ProtocolFault> {
        let connection = &mut self.connections[slot as usize];
        (connection.has_heard, connection.quiet_since) = (true, now);
        if let (Some(endpoint), Some(quic)) = (&mut self.quic, &mut connection.quic) {
            endpoint.receive(slot, quic, input, transport.segment(), now);
        }
        let flow = self.react(slot, now, tracker, transport);
        self.hold_back(slot);
        flow
    }

    fn flush<T: Transport>(
        &mut self,
        slot: Slot,
        now: Nanos,
        _: &mut Tracker<'_>,
        transport: &mut T,
    ) -> io::Result<IoProgress> {
        self.transmit(slot, now, transport);
        match self.connections[slot as usize].out.is_empty() {
            true => Ok(IoProgress::Done),
            false => Ok(IoProgress::Pending),
        }
    }

    #[inline]
    fn next_alarm(&self) -> Nanos {
        if self.due.is_empty() { self.alarms.next() } else { Nanos::ZERO }
    }

    fn take_due(&mut self, now: Nanos) -> Option<Slot> {
        while let Some(slot) = self.due.pop() {
            // Not if its output went with a request.
            if std::mem::take(&mut self.connections[slot as usize].is_due) {
                return Some(slot);
            }
        }
        self.alarms.take_due(now)
    }

    fn advance<T: Transport>(
        &mut self,
        slot: Slot,
        now: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> Result<Flow, ProtocolFault> {
        let Http3Connection { quic, quiet_since, .. } = &mut self.connections[slot as usize];
        if let (Some(endpoint), Some(quic)) = (&mut self.quic, quic) {
            if now >= *quiet_since + PING_AFTER && !self.responses.streams.is_idle(slot) {
                quic.connection.ping();
                *quiet_since = now;
            }
            if endpoint.timeout(&mut quic.connection) <= now {
                quic.connection.handle_timeout(endpoint.instant(now));
            }
            endpoint.exchange_events(quic);
        }
        self.transmit(slot, now, transport);
        self.react(slot, now, tracker, transport)
    }

    #[inline]
    fn unsent_since(&self, slot: Slot) -> Option<Nanos> {
        let connection = &self.connections[slot as usize];
        (!connection.out.is_empty()).then_some(connection.unsent_since)
    }

    /// Datagrams have no end.
    fn end_of_input(&mut self, _: Slot, _: bool, _: Nanos, _: &mut Tracker<'_>) -> Option<ConnectionFailure> {
        Some(ConnectionFailure::Closed)
    }

    fn take_uncounted(&mut self, slot: Slot, place: ExchangeIndex) -> u64 {
        self.responses.take_uncounted(slot, place)
    }

    fn cancel<T: Transport>(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        live: u16,
        now: Nanos,
        transport: &mut T,
    ) -> CancelOutcome {
        let connection = &mut self.connections[slot as usize];
        if let Some(id) = self.responses.streams.id_at(slot, place) {
            connection.cancel(slot, id, ErrorCode::REQUEST_CANCELLED, transport);
        }
        self.responses.streams.end(slot, place);
        self.responses.scenario.failed(slot, place);
        connection.cancels += 1;
        connection.fill_reserve(usize::from(self.depth.saturating_sub(live)));
        let is_over = connection.ends_at.is_some() && live == 0 || connection.cancels > MAX_CANCELS;
        self.transmit(slot, now, transport);
        if !self.connections[slot as usize].is_ready {
            return CancelOutcome::Connection(self.slow_to_begin(slot));
        }
        if is_over || self.connections[slot as usize].broken.is_some() {
            return CancelOutcome::Connection(ConnectionFailure::TimedOut);
        }
        CancelOutcome::Exchange
    }

    fn end_stream<T: Transport>(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        now: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> Flow {
        let id = self.responses.streams.id_at(slot, place);
        self.responses.cut(place, &mut ReadContext { slot, now, tracker });
        let connection = &mut self.connections[slot as usize];
        if let Some(id) = id {
            connection.cancel(slot, id, ErrorCode::REQUEST_CANCELLED, transport);
        }
        let live = tracker.exchanges().live(slot);
        connection.fill_reserve(usize::from(self.depth.saturating_sub(live)));
        let is_over = connection.ends_at.is_some() && live == 0;
        self.transmit(slot, now, transport);
        if is_over { Flow::Close } else { Flow::Keep }
    }

    /// Closes the connection (RFC 9000 §10.2); one packet tells the server, and nothing is awaited.
    fn say_goodbye<T: Transport>(&mut self, slot: Slot, now: Nanos, transport: &mut T) {
        let connection = &mut self.connections[slot as usize];
        let code = connection.close_code.unwrap_or(ErrorCode::NO_ERROR).0;
        if let (Some(endpoint), Some(quic)) = (&self.quic, &mut connection.quic) {
            transport.note_close(slot, Direction::Sent, code, b"");
            let code = VarInt::from_u64(code).unwrap_or_default();
            quic.connection.close(endpoint.instant(now), code, Bytes::new());
        }
        self.transmit(slot, now, transport);
    }

    fn close(&mut self, slot: Slot) {
        let connection = &mut self.connections[slot as usize];
        if let (Some(endpoint), Some(quic)) = (&mut self.quic, &connection.quic) {
            endpoint.forget(quic);
        }
        connection.close();
        self.responses.streams.end_all(slot);
        self.responses.scenario.close(slot);
    }

    fn skip(&mut self) -> u16 {
        if S::IS_USED { self.responses.scenario.skip() } else { self.outgoing.skip() }
    }

    fn stream_limit(&self) -> Option<u32> {
        self.stream_limit
    }

    fn tls_outcome(&self) -> Option<&TlsOutcome> {
        self.quic.as_ref().map(|endpoint| endpoint.tls.outcome())
    }

    fn refusal_may_follow(&self) -> bool {
        self.quic.as_ref().is_some_and(|endpoint| endpoint.tls.refusal_may_follow())
    }

    fn scenario(&self) -> &S {
        &self.responses.scenario
    }

    fn scenario_mut(&mut self) -> &mut S {
        &mut self.responses.scenario
    }

    fn into_scenario(self) -> S {
        self.responses.scenario
    }

    fn saw_compressed(&self) -> bool {
        self.responses.saw_compressed
    }
}
