//! Produces the bytes for sockets: the same bytes again and again, or requests that are made one after the other.
//!
//! A run with one fixed request returns a slice of it, repeated to the pipelining depth. Otherwise requests come from a
//! [`RequestSource`], and the unsent rest of a partly sent request is kept here; requests whose bodies do not follow at once
//! are in [`Uploads`].

use super::connection::SentRequests;
use super::uploads::Uploads;
use crate::hot::RequestSource;
use crate::{Requests, Slot};
use std::collections::HashMap;
use std::sync::Arc;

/// The next bytes to send.
#[derive(Debug)]
pub(super) struct Http1Outgoing {
    /// The one fixed request, repeated `depth` times.
    repeated: Box<[u8]>,
    /// Its length.
    length: usize,
    /// The state for requests that differ.
    differing: Option<Box<DifferingRequests>>,
}

/// Requests that are not the same bytes again and again.
#[derive(Debug)]
enum DifferingRequests {
    /// Each is sent whole.
    Varying(VaryingRequests),
    /// The body of one may follow later.
    Uploads(Uploads),
}

/// Requests that differ.
#[derive(Debug)]
struct VaryingRequests {
    source: RequestSource,
    /// The unsent rests of partly sent requests.
    tails: HashMap<Slot, Vec<u8>>,
    /// Buffers of former ones, for reuse.
    spare: Vec<Vec<u8>>,
}

impl Http1Outgoing {
    /// The requests of worker `worker` of `workers`, at most `depth` at once.
    pub(super) fn new(requests: &Arc<Requests>, depth: u16, seed: u64, worker: u32, workers: u32) -> Self {
        let depth = usize::from(depth);
        if let Some(bytes) = requests.as_fixed() {
            return Self { repeated: bytes.repeat(depth).into(), length: bytes.len(), differing: None };
        }
        let differing = if requests.have_uploads() {
            DifferingRequests::Uploads(Uploads::new(requests, seed, worker, workers))
        } else {
            let source = RequestSource::new(requests, depth, seed, worker, workers);
            DifferingRequests::Varying(VaryingRequests { source, tails: HashMap::new(), spare: Vec::new() })
        };
        Self { repeated: Box::default(), length: 0, differing: Some(Box::new(differing)) }
    }

    /// The bytes of the next `wanted` requests.
    #[inline]
    pub(super) fn next(&mut self, wanted: u16) -> &[u8] {
        match self.differing.as_deref_mut() {
            None => &self.repeated[..usize::from(wanted) * self.length],
            Some(DifferingRequests::Varying(varying)) => varying.source.make(wanted.into()),
            Some(DifferingRequests::Uploads(uploads)) => uploads.next(),
        }
    }

    /// Given the number of bytes sent: the requests that begin in them, if all requests are the same.
    #[inline]
    pub(super) fn begun_alike(&self, sent: usize) -> Option<SentRequests> {
        if self.differing.is_some() {
            return None;
        }
        let count = if sent == self.length { 1 } else { sent.div_ceil(self.length) };
        Some(SentRequests { kind: 0, count: count as u16, bytes: sent, unsent: count * self.length - sent })
    }

    /// Given the number of those bytes sent on a slot: the first of the requests that begin in them and its number, if
    /// requests differ. Call it again until all bytes are accounted for.
    pub(super) fn begun_differing(&mut self, slot: Slot, sent: usize) -> (SentRequests, u64) {
        let none = SentRequests { kind: 0, count: 1, bytes: sent, unsent: 0 };
        match self.differing.as_deref_mut() {
            None => (none, 0),
            Some(DifferingRequests::Varying(varying)) => varying.begun(slot, sent),
            Some(DifferingRequests::Uploads(uploads)) => uploads.begun(slot, sent),
        }
    }

    /// Whether requests differ.
    pub(super) fn differ(&self) -> bool {
        self.differing.is_some()
    }

    /// The requests whose bodies may follow later, if there are any.
    pub(super) fn uploads(&mut self) -> Option<&mut Uploads> {
        match self.differing.as_deref_mut() {
            Some(DifferingRequests::Uploads(uploads)) => Some(uploads),
            Some(DifferingRequests::Varying(_)) | None => None,
        }
    }

    /// The server has not processed a request: it is sent again, with its number.
    pub(super) fn give_back(&mut self, kind: u16, number: u64) {
        match self.differing.as_deref_mut() {
            None => {}
            Some(DifferingRequests::Varying(varying)) => varying.source.give_back(kind, number),
            Some(DifferingRequests::Uploads(uploads)) => uploads.give_back(kind, number),
        }
    }

    /// The unsent last bytes of the request that is partly sent on a slot; none of [`Uploads`], which has
    /// [`Uploads::piece`].
    pub(super) fn tail(&self, slot: Slot, unsent: usize) -> &[u8] {
        match self.differing.as_deref() {
            None => &self.repeated[self.length - unsent..self.length],
            Some(DifferingRequests::Varying(varying)) => varying.tail(slot, unsent),
            Some(DifferingRequests::Uploads(_)) => &[],
        }
    }

    /// Drops the unsent rest of a slot's request.
    pub(super) fn forget_tail(&mut self, slot: Slot) {
        match self.differing.as_deref_mut() {
            None => {}
            Some(DifferingRequests::Varying(varying)) => varying.spare.extend(varying.tails.remove(&slot)),
            Some(DifferingRequests::Uploads(uploads)) => uploads.forget(slot),
        }
    }

    /// Skips the next request, which will not be sent; returns its kind.
    pub(super) fn skip(&mut self) -> u16 {
        match self.differing.as_deref_mut() {
            None => 0,
            Some(DifferingRequests::Varying(varying)) => varying.source.skip(),
            Some(DifferingRequests::Uploads(uploads)) => uploads.skip(),
        }
    }
}

impl VaryingRequests {
    fn begun(&mut self, slot: Slot, sent: usize) -> (SentRequests, u64) {
        let Some((made, request)) = self.source.take() else {
            return (SentRequests { kind: 0, count: 1, bytes: sent, unsent: 0 }, 0);
        };
        let (bytes, rest) = request.split_at(sent.min(request.len()));
        let begun = SentRequests { kind: made.kind, count: 1, bytes: bytes.len(), unsent: rest.len() };
        if begun.unsent > 0 {
            let mut tail = self.spare.pop().unwrap_or_default();
            tail.clear();
            tail.extend_from_slice(rest);
            self.tails.insert(slot, tail);
        }
        (begun, made.number)
    }

    fn tail(&self, slot: Slot, unsent: usize) -> &[u8] {
        let whole = self.tails.get(&slot).map_or(&[][..], Vec::as_slice);
        &whole[whole.len().saturating_sub(unsent)..]
    }
}

#[cfg(test)]
mod tests;
