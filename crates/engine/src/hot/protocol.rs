//! Defines the protocol as an interface: only the methods that the loop needs.
//!
//! The loop handles connections and exchanges. A protocol defines how an exchange becomes bytes, which bytes end which
//! exchange, and how many a connection can take at a time: [`crate::h1`], [`crate::h2`], [`crate::h3`] and
//! [`crate::websocket`]. The loop is compiled for
//! each of them. A protocol reads no clock and does not decide about connections: it reports events, and the loop acts
//! on them.

use super::exchange::ExchangeIndex;
use super::request_tracker::{SendTimes, Tracker};
use super::scenario::Scenario;
use crate::outcome::{ConnectionFailure, ContinueCounts};
use crate::tls::TlsOutcome;
use crate::{IoProgress, Nanos, Settings, Slot, Transport};
use std::io;

/// The state of a connection after bytes were read from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It stays open.
    Keep,
    /// The server has announced that it closes, and every exchange that it still answers has ended.
    Close,
    /// Paceline has ended the last response, whose stream was over: the connection cannot carry another one.
    Cut,
}

/// The state of a connection after an exchange on it was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelOutcome {
    /// The connection stays open.
    Exchange,
    /// The connection cannot be used any more: a late response might be taken for that of another exchange. The reason
    /// why the exchange did not end is given.
    Connection(ConnectionFailure),
}

/// A violation of the protocol by the server, or the end of the connection by it: it cannot be used any more.
#[derive(Debug, PartialEq, Eq)]
pub struct ProtocolFault {
    /// Its kind.
    pub failure: ConnectionFailure,
    /// Its details.
    pub detail: Option<String>,
    /// Whether the server ended the connection; otherwise Paceline does, because of the violation.
    pub is_end: bool,
}

impl ProtocolFault {
    /// A fault without further details.
    pub(crate) fn from_failure(failure: ConnectionFailure) -> Self {
        Self { failure, detail: None, is_end: false }
    }
}

/// A protocol, with its state for each connection of a worker.
pub trait ProtocolHandler {
    /// The scenario that its requests belong to.
    type Scenario: Scenario;

    /// Creates the state for the connections of one worker.
    fn new(settings: &Settings, worker: u32) -> Self;

    /// The number of places of each connection in the table of exchanges.
    fn places(settings: &Settings) -> u16;

    /// A connection was made: sends the first bytes of the protocol. Pending if a reply to them must come before the
    /// first exchange; [`ProtocolHandler::receive`] reads it.
    ///
    /// # Errors
    /// The errors of sending.
    fn open<T: Transport>(&mut self, slot: Slot, now: Nanos, transport: &mut T) -> io::Result<IoProgress>;

    /// Whether exchanges may begin before that reply has come, as early data of TLS. Called once for a connection whose
    /// opening is pending, and only while requests are sent; if so, it counts as made.
    fn begin_early<T: Transport>(&mut self, _slot: Slot, _transport: &mut T) -> bool {
        false
    }

    /// Whether that reply has come.
    fn is_ready(&self, slot: Slot) -> bool;

    /// When the handshake of the protocol began, if it has one that counts as TLS's: before that the connection was
    /// being made.
    fn handshake_began(&self, _slot: Slot) -> Option<Nanos> {
        None
    }

    /// The time of a handshake that ended after its connection counted as made, if every exchange had to wait for its
    /// end.
    fn handshake_awaited(&self, _slot: Slot) -> Nanos {
        Nanos::ZERO
    }

    /// Why a connection is not ready after the limit for making it.
    fn slow_to_begin(&self, _slot: Slot) -> ConnectionFailure {
        ConnectionFailure::NoSettings
    }

    /// The number of further exchanges that a connection can take, with `live` in flight.
    fn room(&self, slot: Slot, live: u16) -> u16;

    /// Begins exchanges, at least one and at most `wanted`, which is within [`ProtocolHandler::room`]: hands their
    /// bytes to the transport and reports to the tracker those of which at least a byte was taken. Returns how many: 0
    /// if the next has to wait for the handshake, and then there is no room before its end.
    ///
    /// # Errors
    /// `WouldBlock` when the socket has no room, any other when the connection is broken: then no exchange was begun.
    fn begin<T: Transport>(
        &mut self,
        slot: Slot,
        wanted: u16,
        send_times: &SendTimes,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> io::Result<u16>;

    /// Reads received bytes, and reports to the tracker which exchanges they end.
    ///
    /// # Errors
    /// A [`ProtocolFault`] of the server.
    fn receive<T: Transport>(
        &mut self,
        slot: Slot,
        input: &[u8],
        now: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> Result<Flow, ProtocolFault>;

    /// The socket has room again: sends the bytes that waited. Pending if some still wait.
    ///
    /// # Errors
    /// The connection is broken.
    fn flush<T: Transport>(
        &mut self,
        slot: Slot,
        now: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> io::Result<IoProgress>;

    /// When the protocol next has to act without an event; [`Nanos::NEVER`] if it has no timers.
    #[inline]
    fn next_alarm(&self) -> Nanos {
        Nanos::NEVER
    }

    /// Takes a connection on which the protocol has to act: a timer has run out, or it has held output back, to send it
    /// together with requests. None if there is no further one.
    #[inline]
    fn take_due(&mut self, _now: Nanos) -> Option<Slot> {
        None
    }

    /// Acts on a connection that is due, and reports as [`ProtocolHandler::receive`] does.
    ///
    /// # Errors
    /// A [`ProtocolFault`] of the server.
    fn advance<T: Transport>(
        &mut self,
        _slot: Slot,
        _now: Nanos,
        _tracker: &mut Tracker<'_>,
        _transport: &mut T,
    ) -> Result<Flow, ProtocolFault> {
        Ok(Flow::Keep)
    }

    /// Since when bytes have waited for room in the socket; none if no bytes wait.
    fn unsent_since(&self, slot: Slot) -> Option<Nanos>;

    /// When [`ProtocolHandler::flush`] is to be called for a connection although no event reports room, because a body may be
    /// sent then: [`Nanos::ZERO`] for at once. None if it need not be, or an alarm that was set before suffices. Asked only
    /// in runs with such bodies ([`crate::Requests::have_uploads`]).
    fn take_body_alarm(&mut self, _slot: Slot, _now: Nanos) -> Option<Nanos> {
        None
    }

    /// That alarm has rung.
    fn body_alarm_rang(&mut self, _slot: Slot) {}

    /// How waits for 100 Continue have ended.
    fn continue_counts(&mut self) -> ContinueCounts {
        ContinueCounts::default()
    }

    /// The server closed its side; `cut` if it is unknown whether bytes are missing. Returns the failure, if it is one;
    /// a connection without exchanges in flight may be closed.
    fn end_of_input(
        &mut self,
        slot: Slot,
        cut: bool,
        now: Nanos,
        tracker: &mut Tracker<'_>,
    ) -> Option<ConnectionFailure>;

    /// The bytes of the response at a place that were received and not reported to the tracker, which then are: asked
    /// before an exchange is ended without a response.
    fn take_uncounted(&mut self, _slot: Slot, _place: ExchangeIndex) -> u64 {
        0
    }

    /// Stops waiting for the exchange at a place, which has ended; `live` are still in flight.
    fn cancel<T: Transport>(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        live: u16,
        now: Nanos,
        transport: &mut T,
    ) -> CancelOutcome;

    /// Ends the response at a place, whose stream is over, although the server may send more of it.
    fn end_stream<T: Transport>(
        &mut self,
        slot: Slot,
        place: ExchangeIndex,
        now: Nanos,
        tracker: &mut Tracker<'_>,
        transport: &mut T,
    ) -> Flow;

    /// The connection will be closed: tells the server, if the transport does not.
    #[inline]
    fn say_goodbye<T: Transport>(&mut self, _slot: Slot, _now: Nanos, _transport: &mut T) {}

    /// The connection is closed, and its exchanges have ended.
    fn close(&mut self, slot: Slot);

    /// Skips the next request, which will not be sent; returns its kind.
    fn skip(&mut self) -> u16;

    /// The lowest limit of exchanges in flight that a server announced, if it is below the requested one.
    fn stream_limit(&self) -> Option<u32> {
        None
    }

    /// The results of TLS so far, if the protocol contains it.
    fn tls_outcome(&self) -> Option<&TlsOutcome> {
        None
    }

    /// Whether the server may still refuse a connection that is made: see [`Transport::refusal_may_follow`].
    fn refusal_may_follow(&self) -> bool {
        false
    }

    /// The scenario.
    fn scenario(&self) -> &Self::Scenario;

    /// The scenario, to be changed.
    fn scenario_mut(&mut self) -> &mut Self::Scenario;

    /// Returns the scenario at the end of the run.
    fn into_scenario(self) -> Self::Scenario
    where
        Self: Sized;

    /// Whether a response had a content coding other than `identity` (RFC 9110 §8.4).
    fn saw_compressed(&self) -> bool;
}
