//! What a connection does beside sending and receiving: it is used up after some requests, and it rests between them.
//!
//! Called by `send.rs` and `receive.rs` where a run asks for any of it; the others pay one comparison.

use super::connect::ClosedBy;
use super::connection::State;
use super::worker::Worker;
use crate::timers::Alarm;
use crate::{Clock, Ending, Load, Nanos, Slot, Think, Transport};

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
        let (life, closed) = (self.settings.life, self.settings.load == Load::Closed);
        let connection = &self.connections[slot as usize];
        if !life.keep_alive && closed && ending == Ending::Ok {
            // Without keep-alive nothing is pipelined: the request's place still tells its block.
            let block = self.in_flight[slot as usize].block;
            self.recorder.connected_and_served(block, now.since(connection.began));
        }
        let used_up = connection.state == State::Last && connection.outstanding == 0;
        if used_up {
            self.disconnect(slot, ClosedBy::Plan, None, now);
        } else if !keep_alive {
            self.disconnect(slot, ClosedBy::Server, None, now);
        } else if connection.is_free(self.settings.free_below()) {
            match life.think {
                Think::None => self.stand_in_line(slot),
                think => {
                    let until = now + think.draw(&mut self.random);
                    let connection = &mut self.connections[slot as usize];
                    (connection.state, connection.free_at) = (State::Thinking, until);
                    self.timers.set(until, slot, Alarm::Think);
                }
            }
        }
    }

    /// Somebody has thought long enough; unless the connection was made anew and thinks again.
    pub(super) fn thought(&mut self, slot: Slot, now: Nanos) {
        let connection = &mut self.connections[slot as usize];
        if connection.state == State::Thinking && connection.free_at <= now {
            connection.state = State::Open;
            self.stand_in_line(slot);
        }
    }

    /// A used-up connection is made anew, at once or after a rest.
    pub(super) fn renew(&mut self, slot: Slot, now: Nanos) {
        match self.settings.life.think {
            Think::None => self.to_connect.push_back(slot),
            think => {
                let until = now + think.draw(&mut self.random);
                self.timers.set(until, slot, Alarm::Reconnect);
            }
        }
    }
}
