//! The protocol as an interface: what the loop asks of it, and nothing else.
//!
//! The loop knows connections and exchanges. How an exchange becomes bytes, which bytes end which exchange, and how many
//! a connection can take at a time is a protocol's affair: [`crate::h1`] and [`crate::h2`]. The loop is compiled for
//! each of them. A protocol reads no clock and decides on no connection: it says what came, and the loop acts on it.

use super::blocks::Block;
use super::exchange::Place;
use super::ledger::{Departure, Ledger};
use crate::outcome::Failure;
use crate::{Nanos, Progress, Settings, Slot, Transport};
use paceline_stats::Histogram;
use std::io;

/// What becomes of a connection after something was read from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It stays.
    Keep,
    /// The server has announced its end, and every exchange that it still answers has ended.
    Close,
}

/// What becomes of a connection after an exchange on it was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// It stays.
    Exchange,
    /// It is of no more use: an answer might still come and be taken for another's.
    Connection,
}

/// The server broke the rules of the protocol: the connection cannot be used any more.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault {
    /// By its name.
    pub failure: Failure,
    /// What exactly was wrong.
    pub detail: Option<String>,
}

impl Fault {
    /// A fault whose name says all.
    pub(crate) fn of(failure: Failure) -> Self {
        Self { failure, detail: None }
    }
}

/// A step of a session that waits to be sent.
#[derive(Clone, Copy, Debug)]
pub struct WaitingStep {
    /// Where it is counted.
    pub block: Block,
    /// When it is due.
    pub due: Nanos,
}

/// A protocol, with what it knows of each connection of a worker.
pub trait ProtocolHandler {
    /// For the connections of one worker.
    fn new(settings: &Settings, worker: u32) -> Self;

    /// Places that each connection has in the table of exchanges.
    fn places(settings: &Settings) -> u16;

    /// A connection was made: says what the protocol says first. Pending where an answer to that must come before the
    /// first exchange; [`ProtocolHandler::receive`] reads it.
    ///
    /// # Errors
    /// Those of sending.
    fn open<T: Transport>(&mut self, slot: Slot, transport: &mut T) -> io::Result<Progress>;

    /// Whether that answer has come.
    fn is_ready(&self, slot: Slot) -> bool;

    /// How many more exchanges a connection can take, with so many in flight.
    fn room(&self, slot: Slot, live: u16) -> u16;

    /// Begins exchanges, at least one and at most `wanted`, which [`ProtocolHandler::room`] had room for: hands their bytes
    /// to the transport and reports to the ledger those of which at least a byte was taken. Returns how many.
    ///
    /// # Errors
    /// `WouldBlock` when the socket has no room, any other when the connection is broken: then nothing was begun.
    fn begin<T: Transport>(
        &mut self,
        slot: Slot,
        wanted: u16,
        departure: &Departure,
        ledger: &mut Ledger<'_>,
        transport: &mut T,
    ) -> io::Result<u16>;

    /// Reads bytes that came, and reports to the ledger which exchanges they end.
    ///
    /// # Errors
    /// A [`Fault`] of the server.
    fn receive<T: Transport>(
        &mut self,
        slot: Slot,
        input: &[u8],
        now: Nanos,
        ledger: &mut Ledger<'_>,
        transport: &mut T,
    ) -> Result<Flow, Fault>;

    /// The socket has room again: sends what had none. Pending if there still is some.
    ///
    /// # Errors
    /// The connection is broken.
    fn flush<T: Transport>(
        &mut self,
        slot: Slot,
        ledger: &mut Ledger<'_>,
        transport: &mut T,
    ) -> io::Result<Progress>;

    /// Since when bytes have waited for room in the socket; none where none do.
    fn unsent_since(&self, slot: Slot) -> Option<Nanos>;

    /// The server closed its side; `cut` if it cannot be known whether something is missing. What is wrong with that,
    /// if anything; a connection with nothing in flight may be closed.
    fn end_of_input(&mut self, slot: Slot, cut: bool, now: Nanos, ledger: &mut Ledger<'_>)
    -> Option<Failure>;

    /// The exchange at a place, which has ended, will not be waited for any longer; so many are still in flight.
    fn cancel<T: Transport>(
        &mut self,
        slot: Slot,
        place: Place,
        live: u16,
        now: Nanos,
        transport: &mut T,
    ) -> Cancelled;

    /// The connection is closed, and its exchanges have ended.
    fn close(&mut self, slot: Slot);

    /// The next request will not be sent: its kind.
    fn skip(&mut self) -> u16;

    /// When the next step of a session on this connection is due; [`Nanos::NEVER`] where none waits.
    #[inline(always)]
    fn next_step(&self, _: Slot) -> Nanos {
        Nanos::NEVER
    }

    /// The step that waits on this connection will not be sent, and its session ends.
    fn give_up_step(&mut self, _: Slot) -> Option<WaitingStep> {
        None
    }

    /// Sessions that have begun and not ended.
    #[inline(always)]
    fn open_sessions(&self) -> u64 {
        0
    }

    /// How long the sessions of the window took that were completed, by session.
    fn into_session_times(self) -> Vec<Histogram>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// The lowest limit to exchanges in flight that a server announced, if it is below the one asked for.
    fn stream_limit(&self) -> Option<u32> {
        None
    }

    /// Whether a response had a content coding other than `identity` (RFC 9110 §8.4).
    fn saw_compressed(&self) -> bool;
}
