//! Implements a transport around another one that writes in pieces, with a pause between them (`--fragment`): servers must
//! read requests that arrive in any pieces.
//!
//! After a piece, the socket of a slot counts as full until the pause is over; then an event reports room. Whoever sends
//! therefore needs no change, and other runs do not contain this code. Over TLS each piece is a record.

use crate::{Clock, IoProgress, Nanos, Readiness, Slot, Transport, WaitLimit};
use paceline_job::FragmentSpec;
use std::collections::VecDeque;
use std::io;

/// A transport that writes in pieces.
#[derive(Debug)]
pub struct Fragments<T, C> {
    inner: T,
    clock: C,
    bytes: usize,
    pause: Nanos,
    /// Until when each slot pauses; [`Nanos::ZERO`] if it does not.
    until: Box<[Nanos]>,
    /// Ends of pauses, in order. One of a connection that was closed meanwhile is stale.
    ends: VecDeque<(Nanos, Slot)>,
}

impl<T: Transport, C: Clock> Fragments<T, C> {
    /// Pieces over this many slots of a transport.
    pub fn new(spec: FragmentSpec, slots: u32, clock: C, inner: T) -> Self {
        Self {
            inner,
            clock,
            bytes: spec.bytes.get() as usize,
            pause: spec.pause,
            until: vec![Nanos::ZERO; slots as usize].into(),
            ends: VecDeque::new(),
        }
    }
}

impl<T: Transport, C: Clock> Transport for Fragments<T, C> {
    type Inner = T;

    #[inline]
    fn inner(&self) -> Option<&T> {
        Some(&self.inner)
    }

    #[inline]
    fn inner_mut(&mut self) -> Option<&mut T> {
        Some(&mut self.inner)
    }

    fn connect(&mut self, slot: Slot) -> io::Result<IoProgress> {
        self.inner.connect(slot)
    }

    fn finish_connect(&mut self, slot: Slot) -> io::Result<IoProgress> {
        self.inner.finish_connect(slot)
    }

    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<usize> {
        if self.until[slot as usize] != Nanos::ZERO {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let piece = &bytes[..bytes.len().min(self.bytes)];
        let taken = self.inner.send(slot, piece)?;
        // No pause follows the last piece, and none follows a part of one: the socket is full then, and reports room.
        if taken == piece.len() && taken < bytes.len() {
            let until = (self.clock.now() + self.pause).max(Nanos(1));
            self.until[slot as usize] = until;
            self.ends.push_back((until, slot));
        }
        Ok(taken)
    }

    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.receive(slot, buffer)
    }

    fn close(&mut self, slot: Slot) {
        self.until[slot as usize] = Nanos::ZERO;
        self.inner.close(slot);
    }

    fn wait(&mut self, wait_limit: WaitLimit, ready: &mut Vec<Readiness>) -> io::Result<()> {
        let next = self.ends.front().map(|(at, _)| at.since(self.clock.now()));
        let wait_limit = match (wait_limit, next) {
            (limit, None) => limit,
            (WaitLimit::Poll, _) | (_, Some(Nanos::ZERO)) => WaitLimit::Poll,
            (WaitLimit::For(limit), Some(next)) => WaitLimit::For(limit.min(next)),
            (WaitLimit::Forever, Some(next)) => WaitLimit::For(next),
        };
        self.inner.wait(wait_limit, ready)?;
        let now = self.clock.now();
        while let Some((at, slot)) = self.ends.front().copied().filter(|(at, _)| *at <= now) {
            self.ends.pop_front();
            let until = &mut self.until[slot as usize];
            if *until == at {
                *until = Nanos::ZERO;
                ready.push(Readiness { slot, readable: false, writable: true, hangup: false });
            }
        }
        Ok(())
    }
}
