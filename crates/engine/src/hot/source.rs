//! Chooses the next request if requests differ: kinds are drawn by weight and their placeholders filled in.
//!
//! A protocol takes requests from the front, as HTTP/1.1 bytes. Requests that were made and not sent stay first in
//! line, so that a full socket changes neither the shares nor the order; requests that a server handed back go before
//! them. A run with one fixed request does not use this
//! module.

use crate::Requests;
use crate::random::Random;
use paceline_http::Expander;
use std::collections::VecDeque;
use std::sync::Arc;

/// Separates the random stream of requests from other uses of the seed.
const STREAM: u64 = 0x7265_7175_6573_7473;

/// Draws kinds of request by weight.
#[derive(Debug)]
struct KindChoice {
    /// The cumulative weights of the kinds.
    weights: Box<[u64]>,
    random: Random,
}

impl KindChoice {
    /// A choice among the kinds of a run, and the random source of the values in its requests. Each worker has its own
    /// two sequences, separated by a random distance among 2^64 starting points.
    fn new(requests: &Requests, seed: u64, worker: u32) -> (Self, Random) {
        let mut seeds = Random::new(seed ^ STREAM);
        (0..2 * worker).for_each(|_| _ = seeds.next_u64());
        let [random, values] = [seeds.next_u64(), seeds.next_u64()].map(Random::new);
        let weights = requests.kinds().iter().scan(0, |sum, kind| {
            *sum += u64::from(kind.weight);
            Some(*sum)
        });
        (Self { weights: weights.collect(), random }, values)
    }

    /// The kind of the next request.
    #[inline]
    fn draw(&mut self) -> u16 {
        if self.weights.len() == 1 {
            return 0;
        }
        let drawn = self.random.below(self.weights.last().copied().unwrap_or(0));
        self.weights.partition_point(|sum| *sum <= drawn) as u16
    }
}

/// Which request is next, for a protocol that writes the bytes itself.
#[derive(Debug)]
pub(crate) struct RequestOrder {
    choice: KindChoice,
    /// Kinds that are sent before any is drawn: of requests that were handed back, in the order of the schedule, and of
    /// those that were drawn and found no room.
    first: VecDeque<u16>,
    /// The kind of the request after those, if it was drawn before it is sent.
    drawn: Option<u16>,
    /// Numbers the requests, and fills in their placeholders.
    pub expander: Expander<Random>,
}

impl RequestOrder {
    /// The order of worker `worker`; `expander` gets the random source of the values in its requests.
    pub(crate) fn new(
        requests: &Requests,
        seed: u64,
        worker: u32,
        expander: impl FnOnce(Random) -> Expander<Random>,
    ) -> Self {
        let (choice, values) = KindChoice::new(requests, seed, worker);
        Self { choice, first: VecDeque::new(), drawn: None, expander: expander(values) }
    }

    /// The kind of the next request, which the expander numbers.
    #[inline]
    pub(crate) fn next_kind(&mut self) -> u16 {
        self.first.pop_front().unwrap_or_else(|| self.draw())
    }

    #[inline]
    fn draw(&mut self) -> u16 {
        self.drawn.take().unwrap_or_else(|| self.choice.draw())
    }

    /// The kind that `next_kind` will return.
    pub(crate) fn peek_kind(&mut self) -> u16 {
        match self.first.front() {
            Some(kind) => *kind,
            None => *self.drawn.get_or_insert_with(|| self.choice.draw()),
        }
    }

    /// A request found no room: it is next again, with its number. The last one goes first.
    pub(crate) fn undo(&mut self, kind: u16, number: u64) {
        self.first.push_front(kind);
        self.expander.undo_number(number);
    }

    /// The server has not processed a request: makes it due again, with its number.
    pub(crate) fn give_back(&mut self, kind: u16, number: u64) {
        self.expander.return_number(number);
        self.first.push_back(kind);
    }

    /// Skips the next request, which will not be sent; returns its kind.
    pub(crate) fn skip(&mut self) -> u16 {
        match self.first.pop_front() {
            Some(kind) => {
                self.expander.skip_number();
                kind
            }
            None => self.draw(),
        }
    }
}

/// A request that was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MadeRequest {
    /// Its kind.
    pub kind: u16,
    /// Its number.
    pub number: u64,
    /// Its length in bytes.
    length: usize,
}

/// Makes the requests of one worker.
#[derive(Debug)]
pub(crate) struct RequestSource {
    requests: Arc<Requests>,
    choice: KindChoice,
    expander: Expander<Random>,
    /// The requests that were made and not sent.
    made: VecDeque<MadeRequest>,
    /// Kind and number of each request that was handed back, to be made again before these.
    returned: Vec<(u16, u64)>,
    /// Their bytes.
    bytes: Vec<u8>,
    /// The offset of the first of those bytes.
    start: usize,
}

impl RequestSource {
    /// The requests of worker `worker` of `workers`, at most `depth` at once.
    pub(crate) fn new(requests: &Arc<Requests>, depth: usize, seed: u64, worker: u32, workers: u32) -> Self {
        let (choice, values) = KindChoice::new(requests, seed, worker);
        let templates = requests.kinds().iter().map(|kind| &kind.template);
        let expander = Expander::new(worker, workers, values, requests.files(), templates);
        Self {
            choice,
            expander,
            made: VecDeque::with_capacity(depth),
            returned: Vec::new(),
            bytes: Vec::with_capacity(requests.longest() * depth),
            start: 0,
            requests: Arc::clone(requests),
        }
    }

    /// The bytes of the next `wanted` requests, one after the other.
    pub(crate) fn make(&mut self, wanted: usize) -> &[u8] {
        if !self.returned.is_empty() {
            self.make_again();
        }
        if self.made.len() < wanted && self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        while self.made.len() < wanted {
            let kind = self.choice.draw();
            let made = self.expand(kind);
            self.made.push_back(made);
        }
        let length: usize = self.made.iter().take(wanted).map(|made| made.length).sum();
        &self.bytes[self.start..self.start + length]
    }

    /// The same, one by one.
    pub(crate) fn make_each(&mut self, wanted: usize) -> impl Iterator<Item = &[u8]> {
        self.make(wanted);
        let mut rest = &self.bytes[self.start..];
        let lengths = self.made.iter().take(wanted).map(|made| made.length);
        lengths.map(move |length| {
            let (request, later) = rest.split_at(length);
            rest = later;
            request
        })
    }

    /// Appends the bytes of a request of this kind.
    #[inline]
    fn expand(&mut self, kind: u16) -> MadeRequest {
        let (before, number) = (self.bytes.len(), self.expander.number());
        self.expander.expand(&self.requests.kinds()[usize::from(kind)].template, &mut self.bytes);
        MadeRequest { kind, number, length: self.bytes.len() - before }
    }

    /// Makes the requests that were handed back, with their numbers, before those that were made and not sent.
    #[cold]
    fn make_again(&mut self) {
        let later = self.bytes.split_off(self.start);
        self.bytes.clear();
        self.start = 0;
        for (index, (kind, number)) in std::mem::take(&mut self.returned).into_iter().enumerate() {
            self.expander.undo_number(number);
            let made = self.expand(kind);
            self.made.insert(index, made);
        }
        self.bytes.extend_from_slice(&later);
    }

    /// A server has not processed a request: it is made again, after others that were handed back before.
    pub(crate) fn give_back(&mut self, kind: u16, number: u64) {
        self.returned.push((kind, number));
    }

    /// Takes the first of the requests that were made, and its bytes; none if there is none.
    pub(crate) fn take(&mut self) -> Option<(MadeRequest, &[u8])> {
        let made = self.made.pop_front()?;
        let bytes = &self.bytes[self.start..self.start + made.length];
        self.start += made.length;
        Some((made, bytes))
    }

    /// Skips the next request, which will not be sent; returns its kind.
    pub(crate) fn skip(&mut self) -> u16 {
        if !self.returned.is_empty() {
            return self.returned.remove(0).0;
        }
        match self.take() {
            Some((made, _)) => made.kind,
            None => self.choice.draw(),
        }
    }

    /// The memory for requests and for their bytes.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> (usize, usize) {
        (self.made.capacity(), self.bytes.capacity())
    }
}
