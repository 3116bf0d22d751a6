//! What is handed to sockets: the same bytes again and again, or requests that are made one after the other.
//!
//! A run with one fixed request hands out a slice of it, repeated as deep as requests are pipelined. With several kinds,
//! or with placeholders, a [`Maker`] chooses kinds and writes requests into a buffer that was sized at the start. What
//! was made and not sent stays first in line, so that a full socket changes neither the shares nor the order.

use crate::random::Random;
use crate::{Requests, Slot};
use paceline_http::Expander;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Told apart from whatever else the seed is used for: arrivals.
const STREAM: u64 = 0x7265_7175_6573_7473;

/// The next bytes to send.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// The one fixed request, `depth` times in a row.
    repeated: Box<[u8]>,
    /// Its length.
    length: usize,
    /// Where requests differ.
    maker: Option<Box<Maker>>,
}

/// Requests of one kind of which bytes were sent together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Begun {
    /// Their kind.
    pub kind: u16,
    /// How many.
    pub count: usize,
    /// Bytes of them that were sent.
    pub bytes: usize,
    /// Bytes of the last of them that were not.
    pub unsent: usize,
}

impl Outgoing {
    /// What worker `worker` of `workers` sends, at most `depth` requests at once.
    pub(super) fn new(requests: &Arc<Requests>, depth: u16, seed: u64, worker: u32, workers: u32) -> Self {
        let depth = usize::from(depth);
        match requests.as_fixed() {
            Some(bytes) => Self { repeated: bytes.repeat(depth).into(), length: bytes.len(), maker: None },
            None => {
                let maker = Some(Box::new(Maker::new(requests, depth, seed, worker, workers)));
                Self { repeated: Box::default(), length: 0, maker }
            }
        }
    }

    /// The bytes of the next requests, as many as wanted.
    #[inline]
    pub(super) fn next(&mut self, wanted: usize) -> &[u8] {
        match &mut self.maker {
            None => &self.repeated[..wanted * self.length],
            Some(maker) => maker.next(wanted),
        }
    }

    /// So many of those bytes were sent on a slot: the requests that begin with them. To be asked again until all bytes
    /// are accounted for.
    #[inline]
    pub(super) fn begun(&mut self, slot: Slot, sent: usize) -> Begun {
        match &mut self.maker {
            None if sent == self.length => Begun { kind: 0, count: 1, bytes: sent, unsent: 0 },
            None => {
                let count = sent.div_ceil(self.length);
                Begun { kind: 0, count, bytes: sent, unsent: count * self.length - sent }
            }
            Some(maker) => maker.begun(slot, sent),
        }
    }

    /// The last bytes of the request of this kind that a slot is in the middle of sending.
    pub(super) fn tail(&self, slot: Slot, kind: u16, unsent: usize) -> &[u8] {
        match &self.maker {
            None => &self.repeated[self.length - unsent..self.length],
            Some(maker) => maker.tail(slot, kind, unsent),
        }
    }

    /// A slot is no longer in the middle of sending.
    pub(super) fn forget_tail(&mut self, slot: Slot) {
        if let Some(maker) = &mut self.maker {
            maker.spare.extend(maker.tails.remove(&slot));
        }
    }

    /// The next request will not be sent: its kind.
    pub(super) fn skip(&mut self) -> u16 {
        self.maker.as_mut().map_or(0, |maker| maker.skip())
    }
}

/// Makes requests that differ.
#[derive(Debug)]
struct Maker {
    requests: Arc<Requests>,
    /// The weights of the kinds up to each, added up.
    weights: Box<[u64]>,
    choice: Random,
    expander: Expander<Random>,
    /// Kind and length of each request that was made and not sent,
    made: VecDeque<(u16, usize)>,
    /// and their bytes,
    bytes: Vec<u8>,
    /// from here on.
    start: usize,
    /// What sockets have not taken of requests that they took the beginning of. A request that is the same every time
    /// needs no copy.
    tails: HashMap<Slot, Vec<u8>>,
    /// Memory of former ones.
    spare: Vec<Vec<u8>>,
}

impl Maker {
    fn new(requests: &Arc<Requests>, depth: usize, seed: u64, worker: u32, workers: u32) -> Self {
        // Each worker its own two sequences: as far apart as chance has it, among 2^64 starting points.
        let mut seeds = Random::new(seed ^ STREAM);
        (0..2 * worker).for_each(|_| _ = seeds.next_u64());
        let [choice, values] = [seeds.next_u64(), seeds.next_u64()].map(Random::new);
        let templates = requests.kinds().iter().map(|kind| &kind.template);
        let expander = Expander::new(worker, workers, values, requests.files(), templates);
        let weights = requests.kinds().iter().scan(0, |sum, kind| {
            *sum += u64::from(kind.weight);
            Some(*sum)
        });
        Self {
            weights: weights.collect(),
            choice,
            expander,
            made: VecDeque::with_capacity(depth),
            bytes: Vec::with_capacity(requests.longest() * depth),
            start: 0,
            tails: HashMap::new(),
            spare: Vec::new(),
            requests: Arc::clone(requests),
        }
    }

    /// The kind of the next request, by weight.
    fn choose(&mut self) -> u16 {
        if self.weights.len() == 1 {
            return 0;
        }
        let drawn = self.choice.below(self.weights.last().copied().unwrap_or(0));
        self.weights.partition_point(|sum| *sum <= drawn) as u16
    }

    /// Not inlined: what a run with one fixed request goes through stays small.
    #[inline(never)]
    fn next(&mut self, wanted: usize) -> &[u8] {
        if self.made.len() < wanted && self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        while self.made.len() < wanted {
            let kind = self.choose();
            let before = self.bytes.len();
            self.expander.expand(&self.requests.kinds()[usize::from(kind)].template, &mut self.bytes);
            self.made.push_back((kind, self.bytes.len() - before));
        }
        let length: usize = self.made.iter().take(wanted).map(|(_, length)| length).sum();
        &self.bytes[self.start..self.start + length]
    }

    #[inline(never)]
    fn begun(&mut self, slot: Slot, sent: usize) -> Begun {
        let (kind, length) = self.made.pop_front().unwrap_or((0, sent));
        let begun = Begun { kind, count: 1, bytes: sent.min(length), unsent: length - sent.min(length) };
        let is_fixed = self.requests.kinds()[usize::from(kind)].template.as_fixed().is_some();
        if begun.unsent > 0 && !is_fixed {
            let mut tail = self.spare.pop().unwrap_or_default();
            tail.clear();
            tail.extend_from_slice(&self.bytes[self.start + begun.bytes..self.start + length]);
            self.tails.insert(slot, tail);
        }
        self.start += length;
        begun
    }

    fn tail(&self, slot: Slot, kind: u16, unsent: usize) -> &[u8] {
        let fixed = self.requests.kinds()[usize::from(kind)].template.as_fixed();
        let whole = fixed.unwrap_or_else(|| self.tails.get(&slot).map_or(&[], Vec::as_slice));
        &whole[whole.len().saturating_sub(unsent)..]
    }

    fn skip(&mut self) -> u16 {
        match self.made.pop_front() {
            Some((kind, length)) => {
                self.start += length;
                kind
            }
            None => self.choose(),
        }
    }
}

#[cfg(test)]
mod tests;
