//! Implements scripted servers: one that freezes at set times, and one that does everything a server should not.
//!
//! The integration tests load them: the first to measure coordinated omission exactly, the second to check that every
//! request ends once. Neither reads the requests: the network reports each whole request.

use super::{Act, Connect, Script};
use crate::{Nanos, Random, Slot};
use std::rc::Rc;

/// A response with a body, as a server would send it.
pub fn response(body: &str) -> Rc<[u8]> {
    let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    Rc::from(text.into_bytes())
}

/// Serves one request after another, each in the same time, and freezes at the beginning of every period.
#[derive(Clone, Debug)]
pub struct FreezingServer {
    /// Length of a period.
    pub period: Nanos,
    /// The length of the freeze at the beginning of each.
    pub freeze: Nanos,
    /// Time to serve one request.
    pub service: Nanos,
    /// When it has served all requests received so far.
    pub done_at: Nanos,
    /// Its response.
    pub answer: Rc<[u8]>,
}

impl FreezingServer {
    /// The first moment from `at` on at which it is not frozen.
    fn thawed(&self, at: Nanos) -> Nanos {
        let into = at.0 % self.period.0;
        if into < self.freeze.0 { Nanos(at.0 - into + self.freeze.0) } else { at }
    }
}

impl Script for FreezingServer {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        Connect::Accept(Nanos::ZERO)
    }

    fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        let begin = self.thawed(now.max(self.done_at));
        let mut end = begin + self.service;
        // Work that a freeze interrupts continues after it.
        if self.thawed(end) != end {
            end += self.freeze;
        }
        self.done_at = end;
        acts.push((end, Act::Send(Rc::clone(&self.answer))));
    }
}

/// A server that answers well, badly, in pieces, late, never, or twice, and closes connections at any time, as
/// determined by its seed.
#[derive(Clone, Debug)]
pub struct MisbehavingServer {
    random: Random,
    /// One in this many requests gets a bad response; 0 for a well-behaved server.
    one_in: u64,
    /// Whether sockets take and return bytes in random pieces.
    pieces: bool,
    /// The longest time to answer.
    slowest: Nanos,
    /// Requests that were received whole.
    pub requests: u64,
    answers: Vec<Rc<[u8]>>,
}

impl MisbehavingServer {
    /// A server whose choices are all determined by `seed`.
    pub fn new(seed: u64, one_in: u64, pieces: bool, slowest: Nanos) -> Self {
        let answers = [
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno",
            "SSH-2.0-OpenSSH\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok",
        ];
        let answers = answers.iter().map(|text| Rc::from(text.as_bytes())).collect();
        Self { random: Random::new(seed), one_in, pieces, slowest, requests: 0, answers }
    }

    fn misbehaves(&mut self) -> bool {
        self.one_in > 0 && self.random.below(self.one_in) == 0
    }

    fn delay(&mut self) -> Nanos {
        Nanos(self.random.below(self.slowest.0 + 1))
    }

    fn answer(&mut self, among: u64) -> Rc<[u8]> {
        let index = self.random.below(among) as usize;
        Rc::clone(&self.answers[index])
    }
}

impl Script for MisbehavingServer {
    fn connect(&mut self, _: Slot, _: Nanos) -> Connect {
        let after = self.delay();
        if !self.misbehaves() {
            return Connect::Accept(after);
        }
        match self.random.below(5) {
            0 => Connect::Refuse(after),
            1 => Connect::Ignore,
            2 => Connect::Greet(after, Act::Send(self.answer(1))),
            3 => Connect::Greet(after, Act::Close),
            _ => Connect::Greet(after, Act::Reset),
        }
    }

    fn request(&mut self, _: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        self.requests += 1;
        let at = now + self.delay();
        if !self.misbehaves() {
            return acts.push((at, Act::Send(self.answer(2))));
        }
        let later = at + self.delay();
        let all = self.answers.len() as u64;
        match self.random.below(7) {
            0 => {}
            1 => acts.push((at, Act::Close)),
            2 => acts.push((at, Act::Reset)),
            3 => {
                let whole = self.answer(all);
                let cut = self.random.below(whole.len() as u64) as usize;
                acts.push((at, Act::Send(Rc::from(&whole[..cut]))));
                acts.push((later, if self.random.below(2) == 0 { Act::Close } else { Act::Reset }));
            }
            4 => {
                let whole = self.answer(all);
                let cut = self.random.below(whole.len() as u64) as usize;
                acts.push((at, Act::Send(Rc::from(&whole[..cut]))));
                acts.push((later, Act::Send(Rc::from(&whole[cut..]))));
            }
            5 => {
                acts.push((at, Act::Send(self.answer(all))));
                acts.push((later, Act::Close));
            }
            _ => acts.push((at, Act::Send(self.answer(all)))),
        }
    }

    fn takes(&mut self, wanted: usize) -> usize {
        if self.pieces { self.random.below(wanted as u64 + 1) as usize } else { wanted }
    }

    fn room_after(&mut self) -> Nanos {
        self.delay()
    }

    fn gives(&mut self, there: usize) -> usize {
        if self.pieces { 1 + self.random.below(there as u64) as usize } else { there }
    }
}
