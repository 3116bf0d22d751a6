//! Stores the streams of a worker's connections, each at the place determined by its id.
//!
//! There are as many as places in the table of exchanges: an open stream has an exchange there. The memory of an ended
//! stream is reused by the next one at its place.

use super::last_response::HeadersFrame;
use crate::hot::{ExchangeIndex, PartialResponse};
use crate::{Nanos, Slot};
use paceline_http::Method;
use paceline_http::h2::{Http2Error, OUR_WINDOW, ReceiveWindow, ResponseProgress, SendWindow, StreamIds};

/// One stream.
pub(super) struct Http2Stream {
    /// Its id; 0 if there is no stream.
    pub id: u32,
    /// The kind of its request.
    pub kind: u16,
    /// The number of its request.
    pub number: u64,
    /// Bytes at the end of the request's body that have not been written.
    pub unsent: u64,
    /// The largest DATA frame for it.
    pub frame_bytes_max: u32,
    /// That body, if it is not the same in every request.
    pub body: Vec<u8>,
    /// The number of bytes of it that may be sent.
    pub window: SendWindow,
    /// Whether a part of the response has come. The fields below are invalid before that.
    pub has_response: bool,
    /// The [`HeadersFrame::version`] of the HEADERS that the response began with; 0 if they were not kept.
    pub head_version: u64,
    pub receive_window: ReceiveWindow,
    pub progress: ResponseProgress,
    /// The response received so far.
    pub incoming: PartialResponse,
    /// Its length in bytes, frames included.
    pub bytes: u64,
}

impl Http2Stream {
    fn new() -> Self {
        Self {
            id: 0,
            kind: 0,
            number: 0,
            unsent: 0,
            frame_bytes_max: u32::MAX,
            body: Vec::new(),
            window: SendWindow::new(0),
            has_response: false,
            head_version: 0,
            receive_window: ReceiveWindow::new(OUR_WINDOW),
            progress: ResponseProgress::new(Method::Other),
            incoming: PartialResponse::default(),
            bytes: 0,
        }
    }

    /// Starts a stream for a request.
    #[inline]
    pub(super) fn begin(&mut self, kind: u16, number: u64, window: u32) {
        (self.kind, self.number, self.unsent) = (kind, number, 0);
        self.window = SendWindow::new(window);
        self.has_response = false;
    }

    /// Notes the first frame of a response to a request of this method.
    pub(super) fn begin_response(&mut self, method: Method, now: Nanos) {
        (self.has_response, self.head_version) = (true, 0);
        self.receive_window = ReceiveWindow::new(OUR_WINDOW);
        self.progress = ResponseProgress::new(method);
        self.incoming = PartialResponse { first_byte: now, ..PartialResponse::default() };
        self.bytes = 0;
    }

    /// Notes a response that begins with HEADERS of the last response.
    #[inline]
    pub(super) fn begin_known_response(&mut self, head: &HeadersFrame, now: Nanos) {
        (self.has_response, self.head_version) = (true, head.version);
        self.receive_window = ReceiveWindow::new(OUR_WINDOW);
        self.progress = head.progress;
        self.incoming = PartialResponse { head: head.judged, first_byte: now, ..PartialResponse::default() };
        self.bytes = head.bytes as u64;
    }

    /// Whether it is the stream of this id, and only these HEADERS of the last response have come for it.
    #[inline]
    pub(super) fn awaits_body_of(&self, id: u32, head: &HeadersFrame) -> bool {
        self.id == id
            && self.has_response
            && self.unsent == 0
            && self.head_version == head.version
            && self.incoming.body.bytes == 0
    }

    /// Whether it is the stream of this id, its request has been sent, and no frame has come for it.
    #[inline]
    pub(super) fn awaits_response(&self, id: u32) -> bool {
        self.id == id && self.unsent == 0 && !self.has_response
    }

    /// Ends the stream.
    #[inline]
    pub(super) fn end(&mut self) {
        (self.id, self.unsent) = (0, 0);
    }

    /// Whether it is open.
    pub(super) fn is_open(&self) -> bool {
        self.id != 0
    }
}

/// All streams of a worker.
pub(super) struct Streams {
    /// Places of each connection, a power of two.
    places: usize,
    table: Box<[Http2Stream]>,
}

impl Streams {
    pub(super) fn new(connections: u32, places: u16) -> Self {
        let places = usize::from(places);
        Self { places, table: (0..connections as usize * places).map(|_| Http2Stream::new()).collect() }
    }

    /// The place of the stream of an id.
    #[inline]
    pub(super) fn place_of(&self, id: u32) -> ExchangeIndex {
        (id as usize >> 1 & (self.places - 1)) as ExchangeIndex
    }

    #[inline]
    pub(super) fn get(&self, slot: Slot, place: ExchangeIndex) -> &Http2Stream {
        &self.table[slot as usize * self.places + usize::from(place)]
    }

    #[inline]
    pub(super) fn at(&mut self, slot: Slot, place: ExchangeIndex) -> &mut Http2Stream {
        &mut self.table[slot as usize * self.places + usize::from(place)]
    }

    fn in_slot(&mut self, slot: Slot) -> &mut [Http2Stream] {
        let start = slot as usize * self.places;
        &mut self.table[start..start + self.places]
    }

    /// Opens a stream: uses the next id whose place is free, and skips the ids before it. None if ids are used up. At
    /// most half of the places are occupied, so one is free within that many ids.
    #[inline(always)]
    pub(super) fn open(
        &mut self,
        slot: Slot,
        ids: &mut StreamIds,
    ) -> Option<(ExchangeIndex, &mut Http2Stream)> {
        let start = slot as usize * self.places;
        let places = &mut self.table[start..start + self.places];
        for _ in 0..places.len() {
            let id = ids.peek()?;
            ids.advance();
            let place = id as usize >> 1 & (places.len() - 1);
            if !places[place].is_open() {
                let stream = &mut places[place];
                stream.id = id;
                return Some((place as ExchangeIndex, stream));
            }
        }
        None
    }

    /// The streams of a connection above an id, lowest first.
    pub(super) fn above(&self, slot: Slot, last: u32) -> Vec<(u32, ExchangeIndex)> {
        let start = slot as usize * self.places;
        let part = &self.table[start..start + self.places];
        let above = part.iter().enumerate().filter(|(_, stream)| stream.id > last);
        let mut above: Vec<_> = above.map(|(place, stream)| (stream.id, place as ExchangeIndex)).collect();
        above.sort_unstable();
        above
    }

    /// The peer changed the initial window of streams (RFC 9113 §6.9.2).
    pub(super) fn shift_windows(&mut self, slot: Slot, change: i64) -> Result<(), Http2Error> {
        if change != 0 {
            for stream in self.in_slot(slot).iter_mut().filter(|stream| stream.is_open()) {
                stream.window.shift(change)?;
            }
        }
        Ok(())
    }

    /// Ends all streams of a closed connection.
    pub(super) fn end_all(&mut self, slot: Slot) {
        self.in_slot(slot).iter_mut().for_each(|stream| {
            stream.end();
            stream.incoming = PartialResponse::default();
        });
    }
}
