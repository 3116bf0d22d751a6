//! Which request comes next, where requests differ: kinds drawn by weight, their placeholders filled in.
//!
//! A protocol takes requests from the front, as the bytes that HTTP/1.1 has for them. What was made and not sent stays
//! first in line, so that a full socket changes neither the shares nor the order. A run with one request that is always
//! the same needs none of this.

use crate::Requests;
use crate::random::Random;
use paceline_http::Expander;
use std::collections::VecDeque;
use std::sync::Arc;

/// Separates the random stream of arrivals from other uses of the seed.
const STREAM: u64 = 0x7265_7175_6573_7473;

/// Draws kinds of request by weight.
#[derive(Debug)]
pub(crate) struct KindChoice {
    /// The weights of the kinds up to each, added up.
    weights: Box<[u64]>,
    random: Random,
}

impl KindChoice {
    /// Among the kinds of a run; and where the values in its requests come from. Each worker has its own two sequences:
    /// as far apart as chance has it, among 2^64 starting points.
    pub(crate) fn new(requests: &Requests, seed: u64, worker: u32) -> (Self, Random) {
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
    pub(crate) fn draw(&mut self) -> u16 {
        if self.weights.len() == 1 {
            return 0;
        }
        let drawn = self.random.below(self.weights.last().copied().unwrap_or(0));
        self.weights.partition_point(|sum| *sum <= drawn) as u16
    }
}

/// Makes the requests of one worker.
#[derive(Debug)]
pub(crate) struct RequestSource {
    requests: Arc<Requests>,
    choice: KindChoice,
    expander: Expander<Random>,
    /// Kind and length of each request that was made and not sent,
    made: VecDeque<(u16, usize)>,
    /// and their bytes,
    bytes: Vec<u8>,
    /// from here on.
    start: usize,
}

impl RequestSource {
    /// What worker `worker` of `workers` sends, at most `depth` requests at once.
    pub(crate) fn new(requests: &Arc<Requests>, depth: usize, seed: u64, worker: u32, workers: u32) -> Self {
        let (choice, values) = KindChoice::new(requests, seed, worker);
        let templates = requests.kinds().iter().map(|kind| &kind.template);
        let expander = Expander::new(worker, workers, values, requests.files(), templates);
        Self {
            choice,
            expander,
            made: VecDeque::with_capacity(depth),
            bytes: Vec::with_capacity(requests.longest() * depth),
            start: 0,
            requests: Arc::clone(requests),
        }
    }

    /// The bytes of the next requests, as many as wanted, one behind the other.
    pub(crate) fn make(&mut self, wanted: usize) -> &[u8] {
        if self.made.len() < wanted && self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        while self.made.len() < wanted {
            let kind = self.choice.draw();
            let before = self.bytes.len();
            self.expander.expand(&self.requests.kinds()[usize::from(kind)].template, &mut self.bytes);
            self.made.push_back((kind, self.bytes.len() - before));
        }
        let length: usize = self.made.iter().take(wanted).map(|(_, length)| length).sum();
        &self.bytes[self.start..self.start + length]
    }

    /// Takes the first of the requests that were made: its kind and its bytes, or none where none was made.
    pub(crate) fn take(&mut self) -> Option<(u16, &[u8])> {
        let (kind, length) = self.made.pop_front()?;
        let bytes = &self.bytes[self.start..self.start + length];
        self.start += length;
        Some((kind, bytes))
    }

    /// The next request will not be sent: its kind.
    pub(crate) fn skip(&mut self) -> u16 {
        match self.take() {
            Some((kind, _)) => kind,
            None => self.choice.draw(),
        }
    }

    /// Memory for requests and for their bytes.
    #[cfg(test)]
    pub(crate) fn capacity(&self) -> (usize, usize) {
        (self.made.capacity(), self.bytes.capacity())
    }
}
