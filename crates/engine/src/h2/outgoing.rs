//! Requests on their way out: written as frames, begun when a byte of them has left, and taken back if none has.
//!
//! Nearly always a request is the same bytes as the last one on its connection but for its stream, and is copied. What
//! depends on flow control, the bodies that wait for it, is sent from here as well.

use super::connection::Connection;
use super::stream::Streams;
use crate::hot::{Departure, KindChoice, Ledger, Place};
use crate::{Random, Settings, Slot};
use paceline_http::Expander;
use paceline_http::h2::{RequestBlocks, RequestTable, SendWindow, StreamIds};
use std::collections::VecDeque;

/// What a worker sends.
pub(super) struct Outgoing {
    blocks: RequestBlocks,
    choice: KindChoice,
    expander: Expander<Random>,
    /// Kinds that are sent before any is drawn: of requests that were handed back, in the order of the schedule's, and of
    /// those that were drawn and found no room.
    first: VecDeque<u16>,
    /// What is being begun.
    begun: Vec<Begun>,
    /// The body of a request whose bytes are not known before.
    body: Vec<u8>,
}

/// A stream whose frames have been written, and what to go back to if none of them leaves.
#[derive(Clone, Copy)]
struct Begun {
    kind: u16,
    place: Place,
    /// Where its frames begin in the connection's output.
    start: usize,
    ids: StreamIds,
    table: RequestTable,
    window: SendWindow,
}

impl Outgoing {
    /// What worker `worker` sends.
    pub(super) fn new(settings: &Settings, worker: u32) -> Self {
        let &Settings { ref requests, seed, .. } = settings;
        let (place, places) = settings.place_of(worker);
        let blocks = RequestBlocks::new(requests.http2());
        let (choice, values) = KindChoice::new(requests, seed, place);
        Self {
            choice,
            expander: Expander::for_parts(place, places, values, requests.files(), blocks.parts_max()),
            blocks,
            first: VecDeque::new(),
            begun: Vec::with_capacity(settings.job.depth.into()),
            body: Vec::new(),
        }
    }

    /// What a change of the peer's settings means for requests.
    pub(super) fn settings_applied(&self, connection: &mut Connection) {
        connection.table.settings_applied(&self.blocks, &connection.peer);
    }

    /// Writes the frames of up to `wanted` requests, and keeps what each needs to be undone.
    #[inline]
    pub(super) fn write(
        &mut self,
        slot: Slot,
        wanted: u16,
        connection: &mut Connection,
        streams: &mut Streams,
    ) {
        self.begun.clear();
        if self.blocks.count() == 1
            && self.first.is_empty()
            && self.write_repeated(slot, wanted, connection, streams)
        {
            return;
        }
        for _ in 0..wanted {
            if !self.write_next(slot, connection, streams) {
                return;
            }
        }
    }

    /// The same where every request is the same bytes; false where it is not, and nothing is written.
    #[inline]
    fn write_repeated(
        &mut self,
        slot: Slot,
        wanted: u16,
        connection: &mut Connection,
        streams: &mut Streams,
    ) -> bool {
        let &mut Connection { table, window, .. } = connection;
        let Some(request) = self.blocks.repeated(0, table) else { return false };
        for _ in 0..wanted {
            let ids = connection.ids;
            let Some((id, place)) = streams.next_free(slot, &mut connection.ids) else { break };
            let start = connection.out.len();
            request.write(id, &mut connection.out);
            let number = self.expander.take_number();
            streams.at(slot, place).begin(id, 0, number, connection.peer.initial_window_size);
            self.begun.push(Begun { kind: 0, place, start, ids, table, window });
        }
        true
    }

    /// Writes the frames of one request, if there is a stream for it.
    #[inline(never)]
    fn write_next(&mut self, slot: Slot, connection: &mut Connection, streams: &mut Streams) -> bool {
        let &mut Connection { ids, table, window, .. } = connection;
        // At most half of the places are taken, so one is free within as many ids.
        let Some((id, place)) = streams.next_free(slot, &mut connection.ids) else { return false };
        let kind = self.first.pop_front().unwrap_or_else(|| self.choice.draw());
        let (start, number) = (connection.out.len(), self.expander.number());
        self.blocks.write(
            kind.into(),
            id,
            &mut connection.table,
            &mut self.expander,
            &mut connection.out,
            &mut self.body,
        );
        streams.at(slot, place).begin(id, kind, number, connection.peer.initial_window_size);
        self.begun.push(Begun { kind, place, start, ids, table, window });
        if self.blocks.has_body(kind.into()) {
            self.begin_body(slot, place, connection, streams);
        }
        true
    }

    /// A request with a body: as much of it as the windows allow follows its field block.
    fn begin_body(&mut self, slot: Slot, place: Place, connection: &mut Connection, streams: &mut Streams) {
        let stream = streams.at(slot, place);
        let fixed = self.blocks.fixed_body(stream.kind.into());
        match fixed {
            Some(body) => stream.unsent = body.len() as u32,
            None => {
                stream.body.clear();
                stream.body.extend_from_slice(&self.body);
                stream.unsent = self.body.len() as u32;
            }
        }
        // This body alone: what is undone must take no other's bytes with it.
        if !connection.write_body(stream, fixed) {
            connection.blocked.push_back(place);
        }
    }

    /// Writes as much of the bodies that wait as windows and output allow.
    pub(super) fn send_bodies(&self, slot: Slot, connection: &mut Connection, streams: &mut Streams) {
        for _ in 0..connection.blocked.len() {
            let Some(place) = connection.blocked.pop_front() else { return };
            let stream = streams.at(slot, place);
            let body = self.blocks.fixed_body(stream.kind.into());
            if stream.is_open() && !connection.write_body(stream, body) {
                connection.blocked.push_back(place);
            }
        }
    }

    /// The socket took so many of the bytes: reports to the ledger the streams that have begun with them, and undoes the
    /// others. Returns how many have.
    #[inline]
    pub(super) fn settle(
        &mut self,
        slot: Slot,
        taken: usize,
        connection: &mut Connection,
        streams: &mut Streams,
        departure: &Departure,
        ledger: &mut Ledger<'_>,
    ) -> u16 {
        if taken < connection.out.len() {
            self.undo_from(taken, slot, connection, streams);
        }
        let mut rest = self.begun.as_slice();
        while let Some(&Begun { kind, start, .. }) = rest.first() {
            let alike = match self.blocks.count() {
                1 => rest.len(),
                _ => rest.iter().take_while(|stream| stream.kind == kind).count(),
            };
            let count = if ledger.begins_alone() { 1 } else { alike };
            let (together, after) = rest.split_at(count);
            let end = after.first().map_or(connection.out.len(), |next| next.start);
            let exchange = ledger.begin(departure, kind, count as u16, end.min(taken) - start);
            for stream in together {
                ledger.exchanges_mut().begin(slot, stream.place, exchange);
            }
            connection.unsent_block = exchange.block;
            rest = after;
        }
        self.begun.len() as u16
    }

    /// Takes back the streams that were written behind the first `taken` bytes: none of theirs has left.
    #[cold]
    fn undo_from(&mut self, taken: usize, slot: Slot, connection: &mut Connection, streams: &mut Streams) {
        let started = self.begun.iter().take_while(|stream| stream.start < taken).count();
        let Some(&first) = self.begun.get(started) else { return };
        (connection.ids, connection.table, connection.window) = (first.ids, first.table, first.window);
        connection.out.truncate(first.start);
        for stream in self.begun.drain(started..).rev() {
            self.first.push_front(stream.kind);
            let undone = streams.at(slot, stream.place);
            self.expander.undo_number(undone.number);
            undone.end();
            connection.blocked.retain(|place| *place != stream.place);
        }
    }

    /// The server has not processed a request: it is due again, with its number.
    pub(super) fn give_back(&mut self, kind: u16, number: u64) {
        self.expander.return_number(number);
        self.first.push_back(kind);
    }

    /// The next request will not be sent: its kind.
    pub(super) fn skip(&mut self) -> u16 {
        match self.first.pop_front() {
            Some(kind) => {
                self.expander.skip_number();
                kind
            }
            None => self.choice.draw(),
        }
    }
}
