//! Hand a request to a connection, late perhaps, early never.
//!
//! `dispatch` runs at the start of each turn of the loop, after the events of a handshake, and in an open loop after
//! each read. A socket without room is no failure: the request stays due. The bytes come from `outgoing.rs`; a
//! connection found broken here is ended in `connect.rs`.

use super::connect::ClosedBy;
use super::connection::{Sent, State};
use super::worker::Worker;
use crate::outcome::Failure;
use crate::timers::Alarm;
use crate::{Clock, Nanos, Slot, Transport};
use std::io;

impl<C: Clock, T: Transport> Worker<'_, C, T> {
    /// Sends what is due on connections that are free, longest free first. Returns a moment not long past.
    #[inline]
    pub(super) fn dispatch(&mut self, mut now: Nanos) -> Nanos {
        while let Some(due) = self.schedule.due(now) {
            let Some(slot) = self.next_in_line() else { break };
            now = self.send(slot, due);
        }
        now
    }

    /// Sends on a free connection: one request of an open loop, as many as fit of a closed one. Returns the moment of
    /// the send.
    fn send(&mut self, slot: Slot, due: Nanos) -> Nanos {
        let at = self.clock.now();
        let index = slot as usize;
        let wanted = if self.schedule.is_open() {
            1
        } else if self.schedule.due(at).is_none() {
            return at;
        } else {
            let room = self.settings.job.depth - self.connections[index].outstanding;
            let room = if self.plain_life { room.into() } else { self.allowance(slot).min(room.into()) };
            room.min(self.schedule.remaining()) as usize
        };
        match self.transport.send(slot, self.outgoing.next(wanted)) {
            Ok(taken) => self.sent(slot, due, at, taken),
            // The socket has no room, and the request stays due.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.await_room(slot, at),
            // Nothing of the request left: it stays due and goes out on another connection.
            Err(error) => self.disconnect(slot, ClosedBy::Server, Some(Failure::of(&error)), at),
        }
        at
    }

    /// A socket without room says when it has some; a server that reads nothing for a whole timeout is left.
    #[cold]
    fn await_room(&mut self, slot: Slot, at: Nanos) {
        let connection = &mut self.connections[slot as usize];
        (connection.state, connection.free_at) = (State::Full, at);
        self.set_deadline(slot, at);
    }

    /// Notes the requests of which at least a byte was taken.
    #[inline]
    fn sent(&mut self, slot: Slot, due: Nanos, at: Nanos, taken: usize) {
        let open = self.schedule.is_open();
        let depth = usize::from(self.settings.job.depth);
        let intended = if open { due } else { at };
        let connection = &mut self.connections[slot as usize];
        let free_at = if open { connection.free_at } else { at };
        let mut left = taken;
        let mut started = 0;
        while left > 0 {
            let begun = self.outgoing.begun(slot, left);
            let block = self.recorder.block_of(intended, begun.kind);
            let sent = Sent { intended, actual: at, free_at, block };
            for _ in 0..begun.count {
                let place = ring_place(connection.oldest, connection.outstanding, depth);
                self.in_flight[slot as usize * depth + place] = sent;
                connection.outstanding += 1;
            }
            connection.unsent_bytes = begun.unsent as u32;
            self.recorder.sent(&sent, begun.count as u64, begun.bytes as u64);
            started += begun.count as u64;
            left -= begun.bytes;
        }
        if !connection.deadline_set {
            connection.deadline_set = true;
            self.timers.set(
                coarse(at + self.settings.job.timeout, self.deadline_grid),
                slot,
                Alarm::Deadline,
            );
        }
        let mut free = connection.is_free(self.settings.job.free_below());
        if !self.plain_life {
            self.spend(slot, started, at);
            free &= self.allowance(slot) > 0;
        }
        self.outstanding += started;
        self.schedule.take(started);
        if free {
            self.stand_in_line(slot);
        }
    }

    /// The socket has room again: sends the rest of a request, and puts the connection back in line.
    pub(super) fn continue_sending(&mut self, slot: Slot) {
        let index = slot as usize;
        let unsent = self.connections[index].unsent_bytes as usize;
        if unsent > 0 {
            let block = self.newest(slot).block;
            let kind = self.settings.requests.kind_of(block);
            match self.transport.send(slot, self.outgoing.tail(slot, kind, unsent)) {
                Ok(taken) => {
                    self.connections[index].unsent_bytes = (unsent - taken) as u32;
                    self.recorder.moved(block, taken as u64, 0);
                    if taken == unsent {
                        self.outgoing.forget_tail(slot);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    let now = self.clock.now();
                    return self.disconnect(slot, ClosedBy::Server, Some(Failure::of(&error)), now);
                }
            }
        }
        let connection = &mut self.connections[index];
        if connection.state == State::Full {
            connection.state = State::Open;
        }
        if connection.is_free(self.settings.job.free_below()) && !connection.in_line {
            // It waited for room in the socket until now: the server's doing, not the generator's.
            connection.free_at = self.clock.now();
            self.stand_in_line(slot);
        }
    }

    /// The newest request of the slot. It may have been answered already, although it was not sent whole: then its
    /// place in the ring is the one before the oldest.
    pub(super) fn newest(&self, slot: Slot) -> Sent {
        let connection = &self.connections[slot as usize];
        let depth = usize::from(self.settings.job.depth);
        let next = usize::from(connection.oldest) + usize::from(connection.outstanding);
        self.in_flight[slot as usize * depth + (next + depth - 1) % depth]
    }
}

/// Where in a ring of `depth` the request `behind` places after the oldest stands.
#[inline]
pub(super) fn ring_place(oldest: u16, behind: u16, depth: usize) -> usize {
    let place = usize::from(oldest) + usize::from(behind);
    if place >= depth { place - depth } else { place }
}

/// The next moment of a coarse grid at or after `at`: alarms of many connections ring together.
#[inline]
pub(super) fn coarse(at: Nanos, grid: Nanos) -> Nanos {
    Nanos(at.0.div_ceil(grid.0).saturating_mul(grid.0))
}
