//! A server that does not read for a while: its socket has no room for some sends after each request.
//!
//! It is around a simulated server of any protocol; `http2.rs` and `websocket.rs` use it.

use paceline_engine::sim::{Act, Connect, Script};
use paceline_engine::{Nanos, Slot};

/// A server, and the sends after a request that it does not read.
pub struct Deaf<S> {
    pub server: S,
    /// The number of requests or messages that the server has read.
    requests: fn(&S) -> u64,
    /// The number of sends after each of them for which there is no room.
    sends: u32,
    /// How many of these sends are left.
    left: u32,
    /// What the server does after each of them, and how long after.
    later: Vec<(Nanos, Act)>,
}

impl<S> Deaf<S> {
    pub fn new(server: S, requests: fn(&S) -> u64, sends: u32, later: Vec<(Nanos, Act)>) -> Self {
        Self { server, requests, sends, left: 0, later }
    }
}

impl<S: Script> Script for Deaf<S> {
    fn connect(&mut self, slot: Slot, now: Nanos) -> Connect {
        self.left = 0;
        self.server.connect(slot, now)
    }

    fn request(&mut self, _: Slot, _: Nanos, _: &mut Vec<(Nanos, Act)>) {}

    fn bytes(&mut self, slot: Slot, bytes: &[u8], now: Nanos, acts: &mut Vec<(Nanos, Act)>) -> bool {
        let before = (self.requests)(&self.server);
        let is_read = self.server.bytes(slot, bytes, now, acts);
        if (self.requests)(&self.server) > before {
            self.left = self.sends;
            acts.extend(self.later.iter().map(|(after, act)| (now + *after, act.clone())));
        }
        is_read
    }

    fn takes(&mut self, wanted: usize) -> usize {
        if self.left == 0 {
            return wanted;
        }
        self.left -= 1;
        0
    }
}
