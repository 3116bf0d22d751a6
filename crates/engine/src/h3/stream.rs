//! Stores the streams of a worker's connections, each at a place in the table of exchanges.
//!
//! A stream's index determines its place, so that no map is needed. Unlike in HTTP/2 an index cannot be skipped (RFC 9000
//! §2.1): if a slow stream still occupies the place, another one is searched for.

use super::outgoing::{NextRequest, SharedBody};
use crate::hot::{ExchangeIndex, PartialResponse};
use crate::{Nanos, Slot};
use bytes::Bytes;
use paceline_http::Method;
use paceline_http::h2::ResponseProgress;
use paceline_http::h3::FrameReader;
use quinn_proto::{Dir, Side, StreamId};
use std::sync::Arc;

/// The index of a place without a stream.
const VACANT: u64 = u64::MAX;

/// One stream: a request and its response.
pub(super) struct Http3Stream {
    /// The kind of its request.
    pub kind: u16,
    /// The number of its request.
    pub number: u64,
    /// The parts of the request that QUIC has not taken: the frames before the body, and the body.
    pub unsent: [Bytes; 2],
    /// A body that follows those parts, and how much of it they have had.
    following: Option<(Arc<SharedBody>, u64)>,
    /// Whether it could not be read to its end: the connection must be closed.
    pub is_unreadable: bool,
    /// Whether QUIC has not taken the whole request.
    pub is_sending: bool,
    /// Whether a byte of the response has come. The fields below are invalid before that.
    pub has_response: bool,
    pub reader: FrameReader,
    pub progress: ResponseProgress,
    /// The response received so far.
    pub incoming: PartialResponse,
    /// Its length in bytes, frames included.
    pub bytes: u64,
}

impl Http3Stream {
    fn new() -> Self {
        Self {
            kind: 0,
            number: 0,
            unsent: [Bytes::new(), Bytes::new()],
            following: None,
            is_unreadable: false,
            is_sending: false,
            has_response: false,
            reader: FrameReader::request(),
            progress: ResponseProgress::new(Method::Other),
            incoming: PartialResponse::default(),
            bytes: 0,
        }
    }

    /// Starts a stream for a request.
    pub(super) fn begin(&mut self, request: NextRequest) {
        (self.kind, self.number, self.unsent) = (request.kind, request.number, request.bytes);
        self.following = request.following.map(|body| (body, 0));
        self.is_unreadable = false;
        (self.is_sending, self.has_response) = (true, false);
    }

    /// Starts the stream again for the same request, which has no body.
    pub(super) fn begin_again(&mut self, head: Bytes) {
        self.unsent = [head, Bytes::new()];
        (self.is_sending, self.has_response) = (true, false);
    }

    /// Notes the first byte of a response to a request of this method.
    pub(super) fn begin_response(&mut self, method: Method, now: Nanos) {
        self.has_response = true;
        self.reader.restart();
        self.progress = ResponseProgress::new(method);
        self.incoming = PartialResponse { first_byte: now, ..PartialResponse::default() };
        self.bytes = 0;
    }

    /// Whether a part of the request has not been taken. The next piece of a body that follows becomes one, if it can
    /// be read.
    pub(super) fn has_unsent(&mut self) -> bool {
        if self.unsent.iter().any(|part| !part.is_empty()) {
            return true;
        }
        let Some((body, at)) = &mut self.following else { return false };
        let Ok(piece) = body.piece_at(*at) else {
            self.is_unreadable = true;
            return false;
        };
        *at += piece.len() as u64;
        self.unsent[1] = piece;
        !self.unsent[1].is_empty()
    }

    /// Forgets the rest of the request.
    pub(super) fn stop_sending(&mut self) {
        (self.is_sending, self.following) = (false, None);
        self.unsent = [Bytes::new(), Bytes::new()];
    }
}

/// All streams of a worker.
pub(super) struct Streams {
    /// Places of each connection, a power of two.
    places: usize,
    /// The index of the stream at each place.
    indices: Box<[u64]>,
    /// The number of streams of each connection.
    open: Box<[u16]>,
    table: Box<[Http3Stream]>,
}

impl Streams {
    pub(super) fn new(connections: u32, places: u16) -> Self {
        let places = usize::from(places);
        let count = connections as usize * places;
        Self {
            places,
            indices: vec![VACANT; count].into(),
            open: vec![0; connections as usize].into(),
            table: (0..count).map(|_| Http3Stream::new()).collect(),
        }
    }

    fn start(&self, slot: Slot) -> usize {
        slot as usize * self.places
    }

    /// The place in a slot that has this index: where it belongs, or elsewhere.
    #[inline]
    fn find(&self, slot: Slot, near: u64, index: u64) -> Option<ExchangeIndex> {
        let indices = &self.indices[self.start(slot)..][..self.places];
        let hint = near as usize & (self.places - 1);
        let place =
            if indices[hint] == index { Some(hint) } else { indices.iter().position(|at| *at == index) };
        place.map(|place| place as ExchangeIndex)
    }

    /// The place of a stream; none if it has ended.
    #[inline]
    pub(super) fn place_of(&self, slot: Slot, id: StreamId) -> Option<ExchangeIndex> {
        self.find(slot, id.index(), id.index())
    }

    /// Puts a stream at a free place. There is one for every stream that a connection may have open.
    #[inline]
    pub(super) fn open(&mut self, slot: Slot, id: StreamId) -> Option<ExchangeIndex> {
        let place = self.find(slot, id.index(), VACANT)?;
        let at = self.start(slot) + usize::from(place);
        self.indices[at] = id.index();
        self.open[slot as usize] += 1;
        Some(place)
    }

    /// Gives the stream at a place another id.
    pub(super) fn renumber(&mut self, slot: Slot, place: ExchangeIndex, id: StreamId) {
        let at = self.start(slot) + usize::from(place);
        self.indices[at] = id.index();
    }

    /// The id of the stream at a place; none if there is none.
    pub(super) fn id_at(&self, slot: Slot, place: ExchangeIndex) -> Option<StreamId> {
        let index = self.indices[self.start(slot) + usize::from(place)];
        (index != VACANT).then(|| StreamId::new(Side::Client, Dir::Bi, index))
    }

    #[inline]
    pub(super) fn at(&mut self, slot: Slot, place: ExchangeIndex) -> &mut Http3Stream {
        &mut self.table[slot as usize * self.places + usize::from(place)]
    }

    /// Ends the stream at a place.
    #[inline]
    pub(super) fn end(&mut self, slot: Slot, place: ExchangeIndex) {
        let at = self.start(slot) + usize::from(place);
        if std::mem::replace(&mut self.indices[at], VACANT) != VACANT {
            self.open[slot as usize] -= 1;
        }
        if self.table[at].is_sending {
            self.table[at].stop_sending();
        }
    }

    /// Whether a connection awaits no response.
    #[inline]
    pub(super) fn is_idle(&self, slot: Slot) -> bool {
        self.open[slot as usize] == 0
    }

    /// The streams of a connection from an index on, the lowest first.
    pub(super) fn from(&self, slot: Slot, first: u64) -> Vec<(u64, ExchangeIndex)> {
        let indices = self.indices[self.start(slot)..][..self.places].iter().enumerate();
        let mut found: Vec<_> = indices
            .filter(|(_, index)| **index != VACANT && **index >= first)
            .map(|(place, index)| (*index, place as ExchangeIndex))
            .collect();
        found.sort_unstable();
        found
    }

    /// Ends all streams of a closed connection.
    pub(super) fn end_all(&mut self, slot: Slot) {
        for place in 0..self.places as ExchangeIndex {
            self.end(slot, place);
            self.at(slot, place).incoming = PartialResponse::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_stream_does_not_block_the_place_of_another() {
        let id = |index| StreamId::new(Side::Client, Dir::Bi, index);
        let mut streams = Streams::new(2, 4);
        assert_eq!([0, 1, 2, 3].map(|index| streams.open(1, id(index))), [0, 1, 2, 3].map(Some));
        assert_eq!(streams.open(1, id(4)), None);
        streams.end(1, 2);
        assert_eq!(streams.open(1, id(4)), Some(2), "place 0 is occupied");
        assert_eq!((streams.place_of(1, id(4)), streams.place_of(1, id(2))), (Some(2), None));
        assert_eq!((streams.id_at(1, 2), streams.id_at(0, 2)), (Some(id(4)), None));
        assert_eq!(streams.from(1, 1), [(1, 1), (3, 3), (4, 2)]);
        assert_eq!([0, 1].map(|slot| streams.is_idle(slot)), [true, false]);
        streams.end_all(1);
        assert_eq!((streams.from(1, 0), streams.is_idle(1)), (vec![], true));
    }
}
