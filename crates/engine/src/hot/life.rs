//! What a connection does beside sending and receiving: it is used up after some requests, and it rests between them.
//!
//! Called by `send.rs` and `receive.rs` where a run asks for any of it; the others pay one comparison.

use super::connect::ClosedBy;
use super::connection::State;
use super::worker::Worker;
use crate::timers::Alarm;
use crate::{Clock, Ending, LoadModel, Nanos, Slot, Transport, think};

impl<C: Clock, T: Transport> Worker<'_, C, T> {
    /// How many more requests a connection may be sent.
    pub(super) fn allowance(&self, slot: Slot) -> u64 {
        u64::from(self.connections[slot as usize].left)
    }

    /// Some requests were sent at `at`: if the connection may carry no more, they are its last.
    #[cold]
    pub(super) fn spend(&mut self, slot: Slot, requests: u64, at: Nanos) {
        let connection = &mut self.connections[slot as usize];
        connection.left = connection.left.saturating_sub(requests as u32);
        if connection.left == 0 {
            connection.state = State::Last;
        }
        // From a length of time to the moment from which connecting and service lie end to end.
        connection.began = at - connection.began;
    }

    /// An answer is complete: the connection rests, takes the next request, or is closed after its last.
    #[cold]
    pub(super) fn live_on(&mut self, slot: Slot, keep_alive: bool, ending: Ending, now: Nanos) {
        let connection = &self.connections[slot as usize];
        if self.connects_for_each() && ending == Ending::Ok {
            // Without keep-alive nothing is pipelined: the request's place still tells its block.
            let block = self.in_flight[slot as usize].block;
            self.recorder.connected_and_served(block, now.since(connection.began));
        }
        let used_up = connection.state == State::Last && connection.outstanding == 0;
        let is_free = connection.is_free(self.settings.job.free_below());
        if used_up || !keep_alive {
            self.rest(slot, now);
            let by = if used_up { ClosedBy::Plan } else { ClosedBy::Server };
            self.disconnect(slot, by, None, now);
        } else if is_free {
            match self.rest(slot, now) {
                Some(until) => self.timers.set(until, slot, Alarm::Think),
                None => self.stand_in_line(slot),
            }
        }
    }

    /// Whether connecting is part of what every request takes: in a closed loop without keep-alive.
    pub(super) fn connects_for_each(&self) -> bool {
        !self.settings.job.keep_alive && self.settings.job.load == LoadModel::Closed
    }

    /// Lays a connection at rest, if rests are asked for; until when.
    fn rest(&mut self, slot: Slot, now: Nanos) -> Option<Nanos> {
        let until = now + think::draw(self.settings.job.think?, &mut self.random);
        let connection = &mut self.connections[slot as usize];
        (connection.state, connection.free_at) = (State::Thinking, until);
        Some(until)
    }

    /// Somebody has thought long enough; unless the connection was made anew and thinks again.
    pub(super) fn thought(&mut self, slot: Slot, now: Nanos) {
        let connection = &mut self.connections[slot as usize];
        if connection.state == State::Thinking && connection.free_at <= now {
            connection.state = State::Open;
            self.stand_in_line(slot);
        }
    }
}
