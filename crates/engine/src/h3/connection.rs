//! The state of one HTTP/3 connection above QUIC: the streams that it may use, those of the server, and the datagrams that
//! wait for room in its socket.

use super::endpoint::Quic;
use super::stream::Http3Stream;
use crate::outcome::ConnectionFailure;
use crate::{Direction, Nanos, Slot, StreamEnd, Transport};
use bytes::Bytes;
use paceline_http::h3::{
    DecoderStreamReader, ErrorCode, FrameEvent, FrameReader, Http3Error, StreamKind, StreamKindReader,
    write_control_stream,
};
use quinn_proto::{Connection, Dir, ReadError, StreamId, VarInt};
use std::collections::VecDeque;
use std::io;

/// One connection.
#[derive(Default)]
pub(super) struct Http3Connection {
    /// None while it is closed.
    pub quic: Option<Quic>,
    /// When its handshake began.
    pub began: Nanos,
    /// Whether a datagram has come from the server.
    pub has_heard: bool,
    /// When the last datagram came or, if later, the first awaited request or the last PING was sent.
    pub quiet_since: Nanos,
    /// Whether the handshake is done.
    pub is_ready: bool,
    pub early: EarlyData,
    /// The part of the handshake that requests had to wait for although the connection counted as made.
    pub handshake_awaited: Nanos,
    /// The first stream id that the server does not process, once it has sent GOAWAY.
    pub ends_at: Option<u64>,
    /// Streams that are open and not used yet: as many requests as the server allows can begin at once.
    pub reserve: VecDeque<StreamId>,
    /// Streams of the server.
    server_streams: Vec<ServerStream>,
    /// Datagrams that the socket has not taken, of `out_segment` bytes each.
    pub out: Vec<u8>,
    pub out_segment: usize,
    /// Since when they wait.
    pub unsent_since: Nanos,
    /// Why the socket is broken.
    pub broken: Option<ConnectionFailure>,
    /// The code with which it will be closed.
    pub close_code: Option<ErrorCode>,
    /// Streams cancelled since the last response.
    pub cancels: u32,
    /// Whether it is in the list of those to act on.
    pub is_due: bool,
}

/// Early data of TLS, by which requests leave before the handshake is done (RFC 9001 §4.6).
#[derive(Default)]
pub(super) struct EarlyData {
    /// Whether streams were opened before the handshake was done: the connection counts as made since then.
    pub has_streams: bool,
    /// Whether further requests may be sent now.
    pub is_open: bool,
    /// The requests that were sent, in the order of their streams.
    pub requests: Vec<EarlyRequest>,
}

/// A request that was sent as early data. It has no body.
pub(super) struct EarlyRequest {
    pub id: StreamId,
    pub head: Bytes,
}

/// A unidirectional stream of the server.
struct ServerStream {
    id: StreamId,
    kind: StreamKindReader,
    /// Its type, once that is read.
    known: Option<StreamKind>,
    /// Reads it if it is the control stream.
    reader: FrameReader,
    /// Reads it if it is the decoder's.
    decoder: DecoderStreamReader,
}

impl Http3Connection {
    /// Resets to the initial state and keeps the allocated memory. It stays in the list of those to act on.
    pub(super) fn close(&mut self) {
        let (mut out, mut reserve) = (std::mem::take(&mut self.out), std::mem::take(&mut self.reserve));
        out.clear();
        reserve.clear();
        *self = Self { out, reserve, is_due: self.is_due, ..Self::default() };
    }

    /// Opens streams in advance, until there are `wanted`, or as many as the server allows.
    #[inline]
    pub(super) fn fill_reserve(&mut self, wanted: usize) {
        let Some(quic) = &mut self.quic else { return };
        while self.reserve.len() < wanted
            && let Some(id) = quic.connection.streams().open(Dir::Bi)
        {
            self.reserve.push_back(id);
        }
    }

    /// Opens the client's control stream (RFC 9114 §6.2.1). A server that does not allow it gets no SETTINGS.
    pub(super) fn open_control_stream<T: Transport>(&mut self, slot: Slot, transport: &mut T) {
        let Some(quic) = &mut self.quic else { return };
        let Some(id) = quic.connection.streams().open(Dir::Uni) else { return };
        let mut bytes = Vec::new();
        write_control_stream(&mut bytes);
        let taken = quic.connection.send_stream(id).write(&bytes).unwrap_or(0);
        transport.note_stream(slot, Direction::Sent, number(id), &bytes[..taken]);
    }

    /// Opens the streams of early data, if the ticket allows it, with the limits that the server had when it sent that.
    /// Returns whether requests can be sent.
    pub(super) fn open_early<T: Transport>(&mut self, slot: Slot, depth: u16, transport: &mut T) -> bool {
        if self.quic.as_ref().is_some_and(|quic| quic.connection.has_0rtt()) {
            self.fill_reserve(depth.into());
        }
        if self.reserve.is_empty() {
            return false;
        }
        self.open_control_stream(slot, transport);
        (self.early.has_streams, self.early.is_open) = (true, true);
        true
    }

    /// The handshake is done: opens the control stream, unless early data with it was accepted. Returns the requests of
    /// early data, and whether it was accepted: otherwise QUIC has forgotten its streams, and their ids are used again.
    pub(super) fn end_early<T: Transport>(
        &mut self,
        slot: Slot,
        transport: &mut T,
    ) -> (Vec<EarlyRequest>, bool) {
        let early = std::mem::take(&mut self.early);
        let is_accepted = self.quic.as_ref().is_some_and(|quic| quic.connection.accepted_0rtt());
        if early.has_streams && !is_accepted {
            self.reserve.clear();
        }
        if !(early.has_streams && is_accepted) {
            self.open_control_stream(slot, transport);
        }
        (early.requests, is_accepted)
    }

    /// Takes the streams that the server has opened; returns their ids.
    pub(super) fn accept_streams(&mut self) -> Vec<StreamId> {
        let Some(quic) = &mut self.quic else { return Vec::new() };
        let ids: Vec<_> = std::iter::from_fn(|| quic.connection.streams().accept(Dir::Uni)).collect();
        self.server_streams.extend(ids.iter().map(|id| ServerStream::new(*id)));
        ids
    }

    /// Reads what has come on a stream of the server. GOAWAY sets `ends_at`, also if an error follows it.
    pub(super) fn read_server_stream<T: Transport>(
        &mut self,
        slot: Slot,
        id: StreamId,
        transport: &mut T,
    ) -> Result<(), Http3Error> {
        let Some(quic) = &mut self.quic else { return Ok(()) };
        let Some(at) = self.server_streams.iter().position(|stream| stream.id == id) else { return Ok(()) };
        let mut recv = quic.connection.recv_stream(id);
        let Ok(mut chunks) = recv.read(true) else { return Ok(()) };
        let is_over = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    transport.note_stream(slot, Direction::Received, number(id), &chunk.bytes);
                    self.server_streams[at].read(&chunk.bytes, &mut self.ends_at)?;
                }
                Ok(None) | Err(ReadError::Reset(_)) => break true,
                Err(ReadError::Blocked) => break false,
            }
        };
        let _ = chunks.finalize();
        self.check_only(at)?;
        match self.server_streams[at].known {
            Some(StreamKind::Unknown(_)) | None if is_over => {
                self.server_streams.swap_remove(at);
                Ok(())
            }
            Some(_) if is_over => Err(Http3Error::ClosedCriticalStream),
            _ => Ok(()),
        }
    }

    /// Checks that the server has no second stream of this type (RFC 9114 §6.2.1, RFC 9204 §4.2).
    fn check_only(&self, at: usize) -> Result<(), Http3Error> {
        let kind = self.server_streams[at].known;
        let name = match kind {
            Some(StreamKind::Control) => "control",
            Some(StreamKind::Encoder) => "encoder",
            Some(StreamKind::Decoder) => "decoder",
            Some(StreamKind::Push | StreamKind::Unknown(_)) | None => return Ok(()),
        };
        let same = self.server_streams.iter().filter(|stream| stream.known == kind);
        if same.count() > 1 { Err(Http3Error::SecondStream(name)) } else { Ok(()) }
    }

    /// Sends the datagrams that wait; false if there is no room for them.
    pub(super) fn send_waiting<T: Transport>(&mut self, slot: Slot, transport: &mut T) -> io::Result<bool> {
        if self.out.is_empty() {
            return Ok(true);
        }
        match transport.send_datagrams(slot, &self.out, self.out_segment) {
            Ok(()) => {
                self.out.clear();
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Ends both directions of a stream: its response is not needed, and its request not either.
    pub(super) fn cancel<T: Transport>(
        &mut self,
        slot: Slot,
        id: StreamId,
        code: ErrorCode,
        transport: &mut T,
    ) {
        let Some(quic) = &mut self.quic else { return };
        let varint = VarInt::from_u64(code.0).unwrap_or_default();
        // A direction that has ended is left as it is.
        if quic.connection.recv_stream(id).stop(varint).is_ok() {
            transport.note_stream_end(slot, Direction::Sent, number(id), StreamEnd::StopSending(code.0));
        }
        self.stop_sending(slot, id, code, transport);
    }

    /// Ends the request on a stream, of which the server does not need the rest.
    pub(super) fn stop_sending<T: Transport>(
        &mut self,
        slot: Slot,
        id: StreamId,
        code: ErrorCode,
        transport: &mut T,
    ) {
        let Some(quic) = &mut self.quic else { return };
        let varint = VarInt::from_u64(code.0).unwrap_or_default();
        if quic.connection.send_stream(id).reset(varint).is_ok() {
            transport.note_stream_end(slot, Direction::Sent, number(id), StreamEnd::Reset(code.0));
        }
    }
}

impl ServerStream {
    fn new(id: StreamId) -> Self {
        Self {
            id,
            kind: StreamKindReader::default(),
            known: None,
            reader: FrameReader::control(),
            decoder: DecoderStreamReader::default(),
        }
    }

    /// Reads some bytes. Each GOAWAY sets the first stream id that the server does not process, which may only
    /// decrease (RFC 9114 §5.2).
    fn read(&mut self, mut input: &[u8], ends_at: &mut Option<u64>) -> Result<(), Http3Error> {
        if self.known.is_none() {
            let (kind, bytes) = self.kind.next(input);
            input = &input[bytes..];
            self.known = kind;
        }
        match self.known {
            Some(StreamKind::Push) => return Err(Http3Error::Push),
            Some(StreamKind::Encoder) => return check_encoder(input),
            Some(StreamKind::Decoder) => return self.decoder.read(input),
            Some(StreamKind::Unknown(_)) | None => return Ok(()),
            Some(StreamKind::Control) => {}
        }
        while !input.is_empty() {
            let (event, bytes) = self.reader.next(input)?;
            if let FrameEvent::GoAway(id) = event {
                // Ids of the client's bidirectional streams are multiples of four (RFC 9000 §2.1).
                if !id.is_multiple_of(4) || ends_at.is_some_and(|before| id > before) {
                    return Err(Http3Error::GoAwayId { id });
                }
                *ends_at = Some(id);
            }
            input = &input[bytes..];
        }
        Ok(())
    }
}

/// Checks the instructions of QPACK's encoder: only Set Dynamic Table Capacity to 0 needs no table (RFC 9204 §4.3.1).
fn check_encoder(input: &[u8]) -> Result<(), Http3Error> {
    if input.iter().all(|byte| *byte == 0x20) { Ok(()) } else { Err(Http3Error::EncoderStream) }
}

/// The number of a stream, as frames name it (RFC 9000 §2.1).
pub(super) fn number(id: StreamId) -> u64 {
    VarInt::from(id).into_inner()
}

/// Hands QUIC as much of a request as it takes; returns the number of bytes. A request whose body cannot be read stays
/// incomplete.
pub(super) fn send_request<T: Transport>(
    slot: Slot,
    id: StreamId,
    stream: &mut Http3Stream,
    connection: &mut Connection,
    transport: &mut T,
) -> usize {
    let mut sent = 0;
    let mut send = connection.send_stream(id);
    while stream.has_unsent() {
        let before = T::NOTES_STREAMS.then(|| stream.unsent.concat());
        match send.write_chunks(&mut stream.unsent) {
            Ok(written) => {
                if let Some(before) = before {
                    transport.note_stream(slot, Direction::Sent, number(id), &before[..written.bytes]);
                }
                sent += written.bytes;
            }
            // An event follows when there is a window again, or when the server ends the stream.
            Err(_) => return sent,
        }
    }
    if stream.is_unreadable {
        return sent;
    }
    stream.is_sending = false;
    if send.finish().is_ok() {
        transport.note_stream_end(slot, Direction::Sent, number(id), StreamEnd::Fin);
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_http::h3::write_goaway;
    use quinn_proto::Side;

    /// Reads GOAWAY frames with these ids, all in one piece or each in its own. Returns the first stream id that is not
    /// processed, and the result of the last piece that was read.
    fn after(ids: &[u64], in_pieces: bool) -> (Option<u64>, Result<(), Http3Error>) {
        let mut stream = ServerStream::new(StreamId::new(Side::Server, Dir::Uni, 0));
        let (mut ends_at, mut result, mut bytes) = (None, Ok(()), Vec::new());
        write_control_stream(&mut bytes);
        for (place, id) in ids.iter().enumerate() {
            write_goaway(&mut bytes, *id);
            if (in_pieces || place + 1 == ids.len()) && result.is_ok() {
                result = stream.read(&std::mem::take(&mut bytes), &mut ends_at);
            }
        }
        (ends_at, result)
    }

    #[test]
    fn every_goaway_is_processed() {
        for in_pieces in [false, true] {
            assert_eq!(after(&[40, 8, 8], in_pieces), (Some(8), Ok(())));
            let refused = |id| Err(Http3Error::GoAwayId { id });
            assert_eq!(after(&[8, 12], in_pieces), (Some(8), refused(12)));
            assert_eq!(after(&[6, 4], in_pieces), (None, refused(6)));
        }
    }

    #[test]
    fn a_server_may_report_that_it_reads_no_more_of_a_request() {
        let mut stream = ServerStream::new(StreamId::new(Side::Server, Dir::Uni, 1));
        let mut read = |bytes: &[u8]| stream.read(bytes, &mut None);
        // The type of the stream, then Stream Cancellation for the requests on the streams 4, 200 and 0.
        assert_eq!(read(&[3, 0x44, 0x7f]), Ok(()));
        assert_eq!(read(&[0x89, 0x01, 0x40]), Ok(()));
        // A field section that refers to the table was not sent, nor an entry.
        assert_eq!(read(&[0x84]), Err(Http3Error::DecoderStream));
        assert_eq!(read(&[0x01]), Err(Http3Error::DecoderStream));
    }
}
