//! Implements a simulated network: connections whose other end is a script.
//!
//! `sim/mod.rs` puts it under a worker; scripts are in `server.rs` and beside the integration tests. Deliveries happen
//! in the order of their times; reads return at most the bytes delivered. It is not a model of TCP: only the script
//! delays or loses bytes.

use super::VirtualClock;
use crate::{IoProgress, Nanos, Readiness, Slot, Transport, WaitLimit};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::rc::Rc;

/// The response of a script to an attempt to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connect {
    /// Accepts it after a time.
    Accept(Nanos),
    /// Accepts it after a time, and acts before any request.
    Greet(Nanos, Act),
    /// Refuses it after a time.
    Refuse(Nanos),
    /// Never responds.
    Ignore,
}

/// An action of a script on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Sends bytes.
    Send(Rc<[u8]>),
    /// Closes its side.
    Close,
    /// Breaks the connection.
    Reset,
    /// Calls [`Script::alarm`].
    Alarm,
}

/// The other end of every connection.
pub trait Script {
    /// An attempt to connect.
    fn connect(&mut self, slot: Slot, now: Nanos) -> Connect;

    /// A whole request has arrived: appends the actions, each at a time from `now` on, in any order.
    fn request(&mut self, slot: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>);

    /// Receives the bytes of the request that arrives next, if requests differ in length.
    fn read_request(&mut self, _slot: Slot, _request: &[u8]) {}

    /// Bytes have arrived. A script that reads them itself, since they are not HTTP/1.1, returns true and appends the
    /// actions, as [`Script::request`] does, which is not called then.
    fn bytes(&mut self, _slot: Slot, _bytes: &[u8], _now: Nanos, _acts: &mut Vec<(Nanos, Act)>) -> bool {
        false
    }

    /// A datagram has arrived: appends the actions, as [`Script::request`] does.
    fn datagram(&mut self, _slot: Slot, _datagram: &[u8], _now: Nanos, _acts: &mut Vec<(Nanos, Act)>) {}

    /// The moment of an [`Act::Alarm`] has come: appends the actions, as [`Script::request`] does.
    fn alarm(&mut self, _slot: Slot, _now: Nanos, _acts: &mut Vec<(Nanos, Act)>) {}

    /// The number of the `wanted` bytes that a socket takes; 0 means it has no room until [`Script::room_after`].
    fn takes(&mut self, wanted: usize) -> usize {
        wanted
    }

    /// How long a full socket stays full.
    fn room_after(&mut self) -> Nanos {
        Nanos::from_millis(1)
    }

    /// The maximum number of the `there` bytes that a read returns.
    fn gives(&mut self, there: usize) -> usize {
        there
    }
}

/// An event on its way to a slot.
#[derive(Debug)]
enum NetworkEvent {
    Connected,
    Refused,
    Room,
    /// There is more to read than the last read returned.
    More,
    Act(Act),
}

/// One connection's near end.
#[derive(Debug, Default)]
struct Pipe {
    /// The number of connections of this slot so far: events of an earlier one are dropped.
    generation: u32,
    connected: bool,
    refused: bool,
    /// Pieces delivered and not read, with how much of the first has been read.
    inbox: VecDeque<Rc<[u8]>>,
    read: usize,
    closed: bool,
    reset: bool,
    /// The number of bytes of an incomplete request.
    partial: usize,
    /// Those bytes, if requests differ in length.
    heard: Vec<u8>,
}

/// The simulated transport. All scripts share its machine code, and that of the worker above it: each copy of a worker
/// takes seconds to compile.
pub struct Network<'s> {
    clock: VirtualClock,
    script: &'s mut dyn Script,
    /// The length of every request, if all have the same.
    request_length: Option<usize>,
    pipes: Vec<Pipe>,
    queue: BinaryHeap<Reverse<QueuedEvent>>,
    sequence: u64,
    acts: Vec<(Nanos, Act)>,
}

#[derive(Debug)]
struct QueuedEvent {
    at: Nanos,
    sequence: u64,
    slot: Slot,
    generation: u32,
    event: NetworkEvent,
}

impl PartialEq for QueuedEvent {
    fn eq(&self, other: &Self) -> bool {
        self.sequence == other.sequence
    }
}

impl Eq for QueuedEvent {}

impl PartialOrd for QueuedEvent {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for QueuedEvent {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

impl<'s> Network<'s> {
    /// A network with this many slots, whose requests all have the given length, or are parsed if none is given.
    pub fn new(
        clock: VirtualClock,
        slots: u32,
        request_length: Option<usize>,
        script: &'s mut dyn Script,
    ) -> Self {
        let pipes = (0..slots).map(|_| Pipe::default()).collect();
        Self { clock, script, request_length, pipes, queue: BinaryHeap::new(), sequence: 0, acts: Vec::new() }
    }

    /// The number of requests that these bytes complete.
    fn arrived(&mut self, slot: Slot, bytes: &[u8]) -> usize {
        let pipe = &mut self.pipes[slot as usize];
        if let Some(length) = self.request_length {
            let there = pipe.partial + bytes.len();
            pipe.partial = there % length;
            return there / length;
        }
        pipe.heard.extend_from_slice(bytes);
        let mut whole = 0;
        while let Some(length) = request_length(&pipe.heard) {
            self.script.read_request(slot, &pipe.heard[..length]);
            pipe.heard.drain(..length);
            whole += 1;
        }
        whole
    }

    fn schedule(&mut self, at: Nanos, slot: Slot, event: NetworkEvent) {
        self.sequence += 1;
        let generation = self.pipes[slot as usize].generation;
        self.queue.push(Reverse(QueuedEvent { at, sequence: self.sequence, slot, generation, event }));
    }

    /// Schedules what a script wants to do.
    fn schedule_acts(&mut self, slot: Slot, now: Nanos, mut acts: Vec<(Nanos, Act)>) {
        for (at, act) in acts.drain(..) {
            self.schedule(at.max(now), slot, NetworkEvent::Act(act));
        }
        self.acts = acts;
    }

    /// Applies one event; returns the readiness of the slot, unless its connection is gone.
    fn deliver(&mut self, queued: QueuedEvent) -> Option<Readiness> {
        let pipe = &mut self.pipes[queued.slot as usize];
        if pipe.generation != queued.generation {
            return None;
        }
        let mut ready = Readiness { slot: queued.slot, readable: false, writable: false, hangup: false };
        match queued.event {
            NetworkEvent::Connected => (pipe.connected, ready.writable) = (true, true),
            NetworkEvent::Refused => (pipe.refused, ready.hangup) = (true, true),
            NetworkEvent::Room => ready.writable = true,
            NetworkEvent::More => ready.readable = true,
            NetworkEvent::Act(Act::Alarm) => {
                let mut acts = std::mem::take(&mut self.acts);
                self.script.alarm(queued.slot, queued.at, &mut acts);
                self.schedule_acts(queued.slot, queued.at, acts);
                return None;
            }
            NetworkEvent::Act(_) if pipe.closed || pipe.reset => return None,
            NetworkEvent::Act(Act::Send(bytes)) if bytes.is_empty() => return None,
            NetworkEvent::Act(Act::Send(bytes)) => {
                pipe.inbox.push_back(bytes);
                ready.readable = true;
            }
            NetworkEvent::Act(Act::Close) => (pipe.closed, ready.readable, ready.hangup) = (true, true, true),
            NetworkEvent::Act(Act::Reset) => (pipe.reset, ready.readable, ready.hangup) = (true, true, true),
        }
        Some(ready)
    }
}

impl Transport for Network<'_> {
    type Inner = Self;

    fn connect(&mut self, slot: Slot) -> io::Result<IoProgress> {
        let now = self.clock.peek();
        let generation = self.pipes[slot as usize].generation + 1;
        self.pipes[slot as usize] = Pipe { generation, ..Pipe::default() };
        match self.script.connect(slot, now) {
            Connect::Accept(Nanos::ZERO) => {
                self.pipes[slot as usize].connected = true;
                return Ok(IoProgress::Done);
            }
            Connect::Accept(after) => self.schedule(now + after, slot, NetworkEvent::Connected),
            Connect::Greet(after, act) => {
                self.schedule(now + after, slot, NetworkEvent::Connected);
                self.schedule(now + after, slot, NetworkEvent::Act(act));
            }
            Connect::Refuse(Nanos::ZERO) => return Err(io::Error::from_raw_os_error(libc::ECONNREFUSED)),
            Connect::Refuse(after) => self.schedule(now + after, slot, NetworkEvent::Refused),
            Connect::Ignore => {}
        }
        Ok(IoProgress::Pending)
    }

    fn finish_connect(&mut self, slot: Slot) -> io::Result<IoProgress> {
        let pipe = &self.pipes[slot as usize];
        if pipe.refused {
            return Err(io::Error::from_raw_os_error(libc::ECONNREFUSED));
        }
        Ok(if pipe.connected { IoProgress::Done } else { IoProgress::Pending })
    }

    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<usize> {
        let now = self.clock.peek();
        if self.pipes[slot as usize].reset {
            return Err(io::Error::from_raw_os_error(libc::EPIPE));
        }
        let taken = self.script.takes(bytes.len()).min(bytes.len());
        if taken < bytes.len() {
            let after = self.script.room_after();
            self.schedule(now + after, slot, NetworkEvent::Room);
        }
        if taken == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut acts = std::mem::take(&mut self.acts);
        if !self.script.bytes(slot, &bytes[..taken], now, &mut acts) {
            for _ in 0..self.arrived(slot, &bytes[..taken]) {
                self.script.request(slot, now, &mut acts);
            }
        }
        self.schedule_acts(slot, now, acts);
        Ok(taken)
    }

    fn send_datagrams(&mut self, slot: Slot, bytes: &[u8], segment: usize) -> io::Result<()> {
        let now = self.clock.peek();
        if self.script.takes(bytes.len()) == 0 {
            let after = self.script.room_after();
            self.schedule(now + after, slot, NetworkEvent::Room);
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut acts = std::mem::take(&mut self.acts);
        for datagram in bytes.chunks(segment) {
            self.script.datagram(slot, datagram, now, &mut acts);
        }
        self.schedule_acts(slot, now, acts);
        Ok(())
    }

    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> io::Result<usize> {
        let pipe = &mut self.pipes[slot as usize];
        if pipe.reset {
            return Err(io::Error::from_raw_os_error(libc::ECONNRESET));
        }
        let Some(piece) = pipe.inbox.front() else {
            return if pipe.closed { Ok(0) } else { Err(io::ErrorKind::WouldBlock.into()) };
        };
        let there = &piece[pipe.read..];
        let count = self.script.gives(there.len()).clamp(1, there.len()).min(buffer.len());
        buffer[..count].copy_from_slice(&there[..count]);
        pipe.read += count;
        if pipe.read == piece.len() {
            pipe.inbox.pop_front();
            pipe.read = 0;
        }
        if !pipe.inbox.is_empty() {
            // A kernel would have returned all bytes in one read; here the rest is announced again.
            let now = self.clock.peek();
            self.schedule(now, slot, NetworkEvent::More);
        }
        Ok(count)
    }

    fn close(&mut self, slot: Slot) {
        let generation = self.pipes[slot as usize].generation + 1;
        self.pipes[slot as usize] = Pipe { generation, ..Pipe::default() };
    }

    fn wait(&mut self, wait_limit: WaitLimit, ready: &mut Vec<Readiness>) -> io::Result<()> {
        let now = self.clock.peek();
        let limit = match wait_limit {
            WaitLimit::Poll => now,
            WaitLimit::For(time) => now + time,
            WaitLimit::Forever => Nanos::NEVER,
        };
        while let Some(Reverse(next)) = self.queue.peek() {
            if next.at > limit || !ready.is_empty() && next.at > self.clock.peek() {
                break;
            }
            self.clock.move_to(next.at);
            if let Some(event) = self.queue.pop().and_then(|Reverse(queued)| self.deliver(queued)) {
                announce(ready, event);
            }
        }
        if ready.is_empty() && limit != Nanos::NEVER {
            self.clock.move_to(limit);
        }
        Ok(())
    }
}

/// The same network for datagrams: a read returns one of them.
pub struct DatagramNetwork<'s>(Network<'s>);

impl<'s> DatagramNetwork<'s> {
    /// Moves datagrams over a network.
    pub fn new(network: Network<'s>) -> Self {
        Self(network)
    }
}

impl Transport for DatagramNetwork<'_> {
    type Inner = Self;

    const HAS_DATAGRAMS: bool = true;

    fn connect(&mut self, slot: Slot) -> io::Result<IoProgress> {
        self.0.connect(slot)
    }

    fn finish_connect(&mut self, slot: Slot) -> io::Result<IoProgress> {
        self.0.finish_connect(slot)
    }

    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(slot, bytes)
    }

    fn send_datagrams(&mut self, slot: Slot, bytes: &[u8], segment: usize) -> io::Result<()> {
        self.0.send_datagrams(slot, bytes, segment)
    }

    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.receive(slot, buffer)
    }

    fn close(&mut self, slot: Slot) {
        self.0.close(slot);
    }

    fn wait(&mut self, wait_limit: WaitLimit, ready: &mut Vec<Readiness>) -> io::Result<()> {
        self.0.wait(wait_limit, ready)
    }
}

/// Adds an event; each slot has at most one at a time, with all its readiness, as from a kernel.
fn announce(ready: &mut Vec<Readiness>, event: Readiness) {
    match ready.iter_mut().find(|known| known.slot == event.slot) {
        Some(known) => {
            known.readable |= event.readable;
            known.writable |= event.writable;
            known.hangup |= event.hangup;
        }
        None => ready.push(event),
    }
}

/// The length of the request at the beginning of the bytes, once it is whole (RFC 9112 §6.3).
fn request_length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let lines = std::str::from_utf8(&bytes[..head]).ok()?.split("\r\n");
    let length = lines.filter_map(|line| line.strip_prefix("Content-Length: ")).next();
    let whole = head + length.map_or(Some(0), |length| length.parse::<usize>().ok())?;
    (whole <= bytes.len()).then_some(whole)
}
