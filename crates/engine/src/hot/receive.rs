//! Read a response: cut it out of the bytes, check its status and every byte of its body.
//!
//! The loop calls it for slots with something to read, and when a deadline rings. What equals the last good response
//! is done by that comparison (`familiar.rs`); else framing is `paceline_http`'s, and bodies are for `inspect.rs` to
//! judge. Which block an answer counts in was settled when its request was sent.

use super::connect::ClosedBy;
use super::connection::{Sent, State};
use super::inspect::Body;
use super::record::Answer;
use super::send::{coarse, ring_place};
use super::worker::Worker;
use crate::outcome::Failure;
use crate::timers::Alarm;
use crate::{Clock, Ending, Nanos, Slot, Transport};
use paceline_http::{ProtocolError, Step};
use std::io;

/// Receives in a row on one connection before others get their turn: fairness under large bodies.
const ROUNDS_MOST: u32 = 16;

/// A response whose last byte has been read.
struct Response {
    status: u16,
    /// Whether the server will keep the connection.
    keep_alive: bool,
    body_bytes: u64,
    /// What it comes to.
    ending: Ending,
    /// When its first byte was read.
    first_byte: Nanos,
    /// Its bytes that have not been counted while it came.
    uncounted_bytes: u64,
}

impl<C: Clock, T: Transport> Worker<'_, C, T> {
    /// Reads what has come for a slot. A read that did not fill the buffer has emptied the socket (epoll(7)), unless
    /// the peer has hung up: then its end is still to be read, before anything is sent.
    pub(super) fn receive(&mut self, slot: Slot, hangup: bool) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut rounds = 0;
        while self.connections[slot as usize].state.is_up() {
            if rounds == ROUNDS_MOST {
                self.read_again(slot, hangup);
                break;
            }
            rounds += 1;
            match self.transport.receive(slot, &mut buffer) {
                Ok(0) => {
                    self.kernel_received = self.transport.received_at();
                    self.end_of_input(slot);
                    break;
                }
                Ok(count) => {
                    let now = self.clock.now();
                    self.kernel_received = self.transport.received_at();
                    self.consume(slot, &buffer[..count], now);
                    // A closed loop reads all that has come before it sends: what was read later would seem slower, and a
                    // server that is sent many requests in a row is woken once for them.
                    if self.schedule.is_open() && !hangup {
                        self.dispatch(now);
                    }
                    if count < buffer.len() && !hangup {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => {
                    let now = self.clock.now();
                    self.disconnect(slot, ClosedBy::Server, Some(Failure::of(&error)), now);
                    break;
                }
            }
        }
        self.buffer = buffer;
        if hangup && self.schedule.is_open() {
            self.dispatch(self.clock.now());
        }
    }

    /// Has the rest of what has come for a slot read after others had their turn.
    #[cold]
    fn read_again(&mut self, slot: Slot, hangup: bool) {
        let connection = &mut self.connections[slot as usize];
        connection.hung_up |= hangup;
        if !std::mem::replace(&mut connection.in_again, true) {
            self.again.push_back(slot);
            debug_assert!(self.again.len() <= self.connections.len());
        }
    }

    /// Reads on where others had their turn: once for each slot.
    #[cold]
    pub(super) fn read_on(&mut self) {
        for _ in 0..self.again.len() {
            let Some(slot) = self.again.pop_front() else { return };
            let connection = &mut self.connections[slot as usize];
            connection.in_again = false;
            let hangup = std::mem::take(&mut connection.hung_up);
            self.receive(slot, hangup);
        }
    }

    /// Cuts responses out of the bytes. One moment serves them all: they were read together.
    #[inline]
    fn consume(&mut self, slot: Slot, mut input: &[u8], now: Nanos) {
        let index = slot as usize;
        while !input.is_empty() {
            let connection = &self.connections[index];
            if connection.outstanding == 0 {
                // After the last response of a connection the server may say what it likes; on a live one it may not.
                if connection.state.is_up() {
                    self.disconnect(slot, ClosedBy::Us, Some(Failure::Unsolicited), now);
                }
                return;
            }
            let (kind, alike) = match self.answers.len() {
                1 => (0, connection.outstanding),
                _ => (self.kind_of_oldest(slot), 1),
            };
            let connection = &self.connections[index];
            let answers = &mut self.answers[kind];
            let repeats = match connection.decoder.is_idle() {
                true => answers.familiar.repeats_in(input, alike),
                false => 0,
            };
            if repeats > 0 {
                let response = Response {
                    status: answers.familiar.status(),
                    keep_alive: true,
                    body_bytes: answers.familiar.body_bytes(),
                    ending: Ending::Ok,
                    first_byte: now,
                    uncounted_bytes: answers.familiar.length() as u64,
                };
                input = &input[usize::from(repeats) * answers.familiar.length()..];
                self.complete(slot, &response, repeats, now);
            } else if let Some(whole) = connection.decoder.whole(&answers.heads, input) {
                let response = Response {
                    status: whole.head.status,
                    keep_alive: whole.head.keep_alive,
                    body_bytes: whole.body.len() as u64,
                    ending: answers.inspector.ending(whole.head.status, whole.body, now),
                    first_byte: now,
                    uncounted_bytes: whole.consumed as u64,
                };
                let (bytes, rest) = input.split_at(whole.consumed);
                input = rest;
                if response.keep_alive && response.ending == Ending::Ok {
                    answers.meet(bytes, response.status, response.body_bytes);
                }
                self.complete(slot, &response, 1, now);
            } else {
                match self.step(slot, input, now) {
                    Ok(consumed) => input = &input[consumed..],
                    Err(error) => return self.not_http(slot, &error, now),
                }
            }
        }
        self.finish_empty_bodies(slot, now);
    }

    /// One step through a response that came in pieces, or whose head is new.
    fn step(&mut self, slot: Slot, input: &[u8], now: Nanos) -> Result<usize, ProtocolError> {
        let block = self.oldest(slot).block;
        let kind = self.kind_of_oldest(slot);
        let (connection, answers) = (&mut self.connections[slot as usize], &mut self.answers[kind]);
        if connection.decoder.is_idle() {
            connection.first_byte = now;
        }
        let (step, consumed) = connection.decoder.decode(&mut answers.heads, input)?;
        let mut complete = false;
        match step {
            Step::NeedMore | Step::Interim(_) => {}
            Step::Head(head) => {
                connection.status = head.status;
                connection.keep_alive = head.keep_alive;
                connection.body = Body::default();
            }
            Step::Body(piece) => answers.inspector.take(connection.status, &mut connection.body, piece),
            Step::End => complete = true,
        }
        if complete {
            self.complete_steps(slot, consumed as u64, now);
        } else {
            self.recorder.moved(block, 0, consumed as u64);
        }
        Ok(consumed)
    }

    /// A response without a body ends with its head, and no further bytes may come to say so.
    fn finish_empty_bodies(&mut self, slot: Slot, now: Nanos) {
        let connection = &self.connections[slot as usize];
        if connection.outstanding == 0 || connection.decoder.is_idle() {
            return;
        }
        if let Err(error) = self.step(slot, &[], now) {
            self.not_http(slot, &error, now);
        }
    }

    /// The end of a response that was read in steps: its length is checked here, its bytes were on the way.
    fn complete_steps(&mut self, slot: Slot, uncounted_bytes: u64, now: Nanos) {
        let kind = self.kind_of_oldest(slot);
        let (connection, answers) = (&mut self.connections[slot as usize], &mut self.answers[kind]);
        let response = Response {
            status: connection.status,
            keep_alive: connection.keep_alive,
            body_bytes: connection.body.bytes,
            ending: answers.inspector.ending_in_pieces(connection.status, &mut connection.body, now),
            first_byte: connection.first_byte,
            uncounted_bytes,
        };
        self.complete(slot, &response, 1, now);
    }

    /// `count` responses that are alike are complete: they end the oldest requests of their connection.
    #[inline]
    fn complete(&mut self, slot: Slot, response: &Response, count: u16, now: Nanos) {
        let free_below = self.settings.job.free_below();
        let was_full = self.connections[slot as usize].outstanding >= free_below;
        let mut left = count;
        while left > 0
            && let Some((sent, alike)) = self.take_alike(slot, left)
        {
            let answer = Answer {
                sent,
                count: alike.into(),
                ending: response.ending,
                status: response.status,
                body_bytes: response.body_bytes,
                received_bytes: response.uncounted_bytes,
                first_byte: response.first_byte,
                kernel_received: self.kernel_received,
                completed: now,
            };
            self.recorder.answered(&answer);
            if self.recorder.is_windows(sent.block) {
                self.connections[slot as usize].served += u64::from(alike);
                if response.ending == Ending::Ok {
                    self.medians.record(slot, now.since(sent.actual), alike);
                }
            }
            left -= alike;
        }
        self.last_progress = now;
        let connection = &mut self.connections[slot as usize];
        connection.failed_attempts = 0;
        connection.has_served = true;
        if was_full && connection.outstanding < free_below {
            connection.free_at = now;
        }
        if !self.plain_life {
            self.live_on(slot, response.keep_alive, response.ending, now);
        } else if !response.keep_alive {
            self.disconnect(slot, ClosedBy::Server, None, now);
        } else if connection.is_free(free_below) {
            self.stand_in_line(slot);
        }
    }

    /// The server closed its side.
    fn end_of_input(&mut self, slot: Slot) {
        let now = self.clock.now();
        match self.connections[slot as usize].decoder.end_of_input() {
            // The close would be the end of a response without a length, if it could be trusted (RFC 9112 §9.8).
            Ok(true) if self.transport.was_cut(slot) => {
                self.disconnect(slot, ClosedBy::Server, Some(Failure::Truncated), now);
            }
            Ok(true) => {
                self.connections[slot as usize].keep_alive = false;
                self.complete_steps(slot, 0, now);
            }
            Ok(false) if self.connections[slot as usize].outstanding == 0 => {
                // Closing an idle connection is the server's right; closing one unused is a reason to wait.
                let unused = !self.connections[slot as usize].has_served;
                self.disconnect(slot, ClosedBy::Server, unused.then_some(Failure::ClosedUnused), now);
            }
            Ok(false) => self.disconnect(slot, ClosedBy::Server, Some(Failure::ClosedUnanswered), now),
            Err(_) => self.disconnect(slot, ClosedBy::Server, Some(Failure::Truncated), now),
        }
    }

    /// What came is not HTTP, or breaks its rules: nothing after it can be trusted.
    fn not_http(&mut self, slot: Slot, error: &ProtocolError, now: Nanos) {
        if self.counts.protocol_error.is_none() {
            self.counts.protocol_error = Some(error.to_string());
        }
        self.disconnect(slot, ClosedBy::Us, Some(Failure::Protocol), now);
    }

    /// The kind of the oldest request of a connection. Where there are several, the decoder is told what the method
    /// means.
    #[inline(never)]
    fn kind_of_oldest(&mut self, slot: Slot) -> usize {
        let kind = usize::from(self.settings.requests.kind_of(self.oldest(slot).block));
        let connection = &mut self.connections[slot as usize];
        if connection.decoder.is_idle() {
            connection.decoder.set_method(self.answers[kind].method);
        }
        kind
    }

    /// The oldest request of a connection, which the next response answers.
    pub(super) fn oldest(&self, slot: Slot) -> Sent {
        let connection = &self.connections[slot as usize];
        self.in_flight[slot as usize * usize::from(self.settings.job.depth) + usize::from(connection.oldest)]
    }

    /// Takes the oldest request off a connection.
    pub(super) fn take_oldest(&mut self, slot: Slot) -> Option<Sent> {
        self.take_alike(slot, 1).map(|(sent, _)| sent)
    }

    /// Takes the oldest request off a connection, and those behind it that were sent in the same moment: at most `most`
    /// in all. Pipelined requests that share a send share their times.
    #[inline(always)]
    fn take_alike(&mut self, slot: Slot, most: u16) -> Option<(Sent, u16)> {
        let connection = &mut self.connections[slot as usize];
        let most = most.min(connection.outstanding);
        if most == 0 {
            return None;
        }
        let depth = usize::from(self.settings.job.depth);
        let ring = &self.in_flight[slot as usize * depth..(slot as usize + 1) * depth];
        let first = ring[usize::from(connection.oldest)];
        let mut taken = 1;
        let mut oldest = ring_place(connection.oldest, 1, depth);
        while taken < most && ring[oldest] == first {
            taken += 1;
            oldest = ring_place(oldest as u16, 1, depth);
        }
        connection.oldest = oldest as u16;
        connection.outstanding -= taken;
        self.outstanding -= u64::from(taken);
        Some((first, taken))
    }

    /// Has the slot looked at when `since` is a timeout ago; one alarm at a time suffices.
    pub(super) fn set_deadline(&mut self, slot: Slot, since: Nanos) {
        if !std::mem::replace(&mut self.connections[slot as usize].deadline_set, true) {
            let at = coarse(since + self.settings.job.timeout, self.deadline_grid);
            self.timers.set(at, slot, Alarm::Deadline);
        }
    }

    /// Looks whether a connection has kept us waiting for longer than the timeout. Then it is of no more use: an answer
    /// might still come and be taken for another's. With its oldest request all others end whose time is up.
    pub(super) fn check_deadline(&mut self, slot: Slot, now: Nanos) {
        self.connections[slot as usize].deadline_set = false;
        let Some(since) = self.waits_since(slot) else { return };
        if since + self.settings.job.timeout > now {
            return self.set_deadline(slot, since);
        }
        let is_answered = self.connections[slot as usize].outstanding == 0;
        let failure = if is_answered { Failure::Unread } else { Failure::TimedOut };
        while self.connections[slot as usize].outstanding > 0
            && self.oldest(slot).actual + self.settings.job.timeout <= now
        {
            self.time_out(slot, now);
        }
        self.disconnect(slot, ClosedBy::Us, Some(failure), now);
    }

    /// Since when a connection has waited for its oldest request's answer; where all are answered, for the server to
    /// read the rest of the newest one, or to make room for the next.
    fn waits_since(&self, slot: Slot) -> Option<Nanos> {
        let connection = &self.connections[slot as usize];
        if connection.outstanding > 0 {
            Some(self.oldest(slot).actual)
        } else if connection.unsent_bytes > 0 {
            Some(self.newest(slot).actual)
        } else {
            (connection.state == State::Full).then_some(connection.free_at)
        }
    }

    /// The time of a connection's oldest request is up: it counts with what was waited for it.
    pub(super) fn time_out(&mut self, slot: Slot, now: Nanos) {
        let Some(sent) = self.take_oldest(slot) else { return };
        self.recorder.abandoned(&sent, Ending::TimedOut, now);
        if self.connects_for_each() {
            let began = self.connections[slot as usize].began;
            self.recorder.connected_and_served(sent.block, now.since(began));
        }
    }
}
