//! Implements a transport around another one that carries each WebSocket over HTTP/2 (RFC 8441), on the one stream of its
//! connection.
//!
//! The handler above it speaks HTTP/1.1: as a proxy does, this turns its upgrade request into extended CONNECT, the response
//! into the answer to the upgrade, and the bytes that follow into DATA and back. A connection counts as made when the
//! server's SETTINGS have come, which must allow extended CONNECT.

use crate::h2::{MAX_STRAY_FRAMES, UnreadAnswers, after_body, failure_of};
use crate::outcome::ConnectionFailure;
use crate::transport::send_waiting;
use crate::{IoProgress, Readiness, Slot, Transport, WaitLimit};
use paceline_http::Scheme;
use paceline_http::h2::{
    ErrorCode, ExtendedConnectAnswer, FrameEvent, FrameName, FrameReader, HpackDecoder, HpackScratch,
    Http2Error, OUR_WINDOW, PeerSettings, ReceiveWindow, RequestTable, SendWindow, WINDOW_DEFAULT,
    write_client_preface, write_data, write_extended_connect, write_ping_ack, write_settings_ack,
    write_window_update,
};
use std::io;

/// The number of bytes read at once.
const WIRE_BYTES: usize = 64 << 10;
/// The only stream of a connection.
const STREAM: u32 = 1;
/// SETTINGS_ENABLE_CONNECT_PROTOCOL (RFC 8441 §3).
const ENABLE_CONNECT_PROTOCOL: u16 = 8;

/// What a connection has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The connection below is being made.
    Connecting,
    /// The server's SETTINGS are awaited.
    Greeting,
    /// The upgrade request is awaited from above.
    Idle,
    /// The response is awaited.
    Asked,
    /// DATA is the WebSocket's bytes.
    Open,
    /// The server has refused: the beginning of its body may follow in the same read.
    Refusing,
    /// The refusal was passed on: what follows is left out.
    Refused,
}

/// One connection and its stream.
#[derive(Debug)]
struct Tunnel {
    stage: Stage,
    allows_connect: bool,
    decoder: HpackDecoder,
    answer: ExtendedConnectAnswer,
    peer: PeerSettings,
    table: RequestTable,
    stream_window: SendWindow,
    connection_window: SendWindow,
    receive_windows: [ReceiveWindow; 2],
    /// The beginning of the body of a refusal.
    refusal: Vec<u8>,
    /// Whether a send found no window.
    is_blocked: bool,
    /// Bytes that the transport below has not taken.
    out: Vec<u8>,
    unread_answers: UnreadAnswers,
    /// Bytes for the handler, which has read the first `read` of them.
    input: Vec<u8>,
    read: usize,
    /// Whether the last read from below was full, so that there may be more.
    was_full: bool,
    /// Frames since the last bytes of the WebSocket, in either direction.
    stray_frames: i64,
    /// Whether the server has ended the stream or the connection.
    has_ended: bool,
    failure: Option<ConnectionFailure>,
}

impl Tunnel {
    fn new() -> Self {
        Self {
            stage: Stage::Connecting,
            allows_connect: false,
            decoder: HpackDecoder::default(),
            answer: ExtendedConnectAnswer::default(),
            peer: PeerSettings::default(),
            table: RequestTable::default(),
            stream_window: SendWindow::new(WINDOW_DEFAULT),
            connection_window: SendWindow::new(WINDOW_DEFAULT),
            receive_windows: [ReceiveWindow::new(OUR_WINDOW); 2],
            refusal: Vec::new(),
            is_blocked: false,
            out: Vec::new(),
            unread_answers: UnreadAnswers::default(),
            input: Vec::new(),
            read: 0,
            was_full: false,
            stray_frames: 0,
            has_ended: false,
            failure: None,
        }
    }

    /// Sends what waits; returns whether all of it was taken.
    fn flush<T: Transport>(&mut self, slot: Slot, transport: &mut T) -> io::Result<bool> {
        let sent = send_waiting(transport, slot, &mut self.out)?;
        self.unread_answers.sent(sent, self.out.len());
        Ok(self.out.is_empty())
    }

    /// Counts a frame. Many in a row without a byte for the handler would keep its read busy without end.
    fn count(&mut self, event: FrameEvent<'_>) -> Result<(), Http2Error> {
        let has_bytes = matches!(event, FrameEvent::Data { piece, .. } if !piece.is_empty());
        if has_bytes && self.stage == Stage::Open {
            self.stray_frames = self.stray_frames.min(0);
        } else if event != FrameEvent::NeedMore {
            self.stray_frames += 1;
        }
        match self.stray_frames > i64::from(MAX_STRAY_FRAMES) {
            true => Err(Http2Error::Flood { limit: MAX_STRAY_FRAMES }),
            false => Ok(()),
        }
    }

    /// Acts on a frame. Returns whether it has opened a window.
    fn on_frame(&mut self, event: FrameEvent<'_>) -> Result<bool, Http2Error> {
        self.count(event)?;
        check_stream(event)?;
        match event {
            FrameEvent::Settings(settings) => {
                let allows = |(id, value)| id == ENABLE_CONNECT_PROTOCOL && value == 1;
                self.allows_connect |= settings.iter().any(allows);
                let change = self.peer.apply(settings)?;
                self.table.settings_applied(&self.peer);
                self.stream_window.shift(change)?;
                write_settings_ack(&mut self.out);
                self.unread_answers.add();
                if self.stage == Stage::Greeting {
                    self.stage = Stage::Idle;
                }
                return Ok(change > 0);
            }
            FrameEvent::Ping(opaque) => {
                write_ping_ack(&mut self.out, opaque);
                self.unread_answers.add();
            }
            FrameEvent::WindowUpdate { stream: 0, increment } => {
                self.connection_window.increase(0, increment)?;
                return Ok(true);
            }
            FrameEvent::WindowUpdate { stream: STREAM, increment } => {
                self.stream_window.increase(STREAM, increment)?;
                return Ok(true);
            }
            FrameEvent::Data { stream, piece, flow_bytes, end_stream, .. } => {
                for (window, id) in self.receive_windows.iter_mut().zip([0, STREAM]) {
                    window.receive(stream, flow_bytes)?;
                    if let Some(increment) = window.replenish() {
                        write_window_update(&mut self.out, id, increment);
                    }
                }
                match self.stage {
                    Stage::Open => self.input.extend_from_slice(piece),
                    Stage::Refusing => self.refusal.extend_from_slice(piece),
                    _ => {}
                }
                self.has_ended |= end_stream;
            }
            FrameEvent::FieldBlock { block, end_stream, .. } => {
                self.on_fields(block)?;
                self.has_ended |= end_stream;
            }
            FrameEvent::Reset { .. } => self.failure = Some(ConnectionFailure::StreamReset),
            FrameEvent::GoAway { code: ErrorCode::NO_ERROR, last_stream, .. } => {
                self.has_ended |= last_stream < STREAM;
            }
            FrameEvent::GoAway { .. } => self.failure = Some(ConnectionFailure::GoAway),
            FrameEvent::NeedMore
            | FrameEvent::SettingsAck
            | FrameEvent::PingAck(_)
            | FrameEvent::WindowUpdate { .. } => {}
        }
        Ok(false)
    }

    /// Reads the head of the response, and writes the answer to the upgrade request.
    fn on_fields(&mut self, block: &[u8]) -> Result<(), Http2Error> {
        // The fields of a later block are decoded for the sake of the table alone.
        let mut later = ExtendedConnectAnswer::default();
        let answer = if self.stage == Stage::Asked { &mut self.answer } else { &mut later };
        answer.begin();
        self.decoder
            .decode(block, &mut HpackScratch::default(), |field| answer.read(field.name, field.value))?;
        if self.stage != Stage::Asked || self.answer.is_interim() {
            return Ok(());
        }
        if self.answer.is_success() {
            self.answer.write(&mut self.input);
            self.stage = Stage::Open;
        } else {
            self.stage = Stage::Refusing;
        }
        Ok(())
    }

    /// A read has ended: passes a refusal on, with what came of its body. A server may send no more.
    fn end_read(&mut self) {
        if self.stage == Stage::Refusing {
            self.answer.write_refusal(&std::mem::take(&mut self.refusal), &mut self.input);
            self.stage = Stage::Refused;
        }
    }

    /// Copies bytes for the handler; returns how many.
    fn take(&mut self, buffer: &mut [u8]) -> usize {
        let rest = &self.input[self.read..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.read += count;
        if self.read == self.input.len() {
            self.input.clear();
            self.read = 0;
        }
        count
    }
}

/// Checks that a part of a response is on the only stream: no other was opened (RFC 9113 §5.1).
fn check_stream(event: FrameEvent<'_>) -> Result<(), Http2Error> {
    let (frame, stream) = match event {
        FrameEvent::Data { stream, .. } => (FrameName(0), stream),
        FrameEvent::FieldBlock { stream, .. } => (FrameName(1), stream),
        FrameEvent::Reset { stream, .. } => (FrameName(3), stream),
        FrameEvent::NeedMore
        | FrameEvent::Settings(_)
        | FrameEvent::SettingsAck
        | FrameEvent::Ping(_)
        | FrameEvent::PingAck(_)
        | FrameEvent::GoAway { .. }
        | FrameEvent::WindowUpdate { .. } => return Ok(()),
    };
    if stream == STREAM { Ok(()) } else { Err(Http2Error::IdleStream { frame, stream }) }
}

/// WebSockets over HTTP/2 on the slots of one worker.
#[derive(Debug)]
pub(crate) struct ExtendedConnect<T> {
    inner: T,
    scheme: Scheme,
    /// Separate, since events borrow from them.
    readers: Box<[FrameReader]>,
    tunnels: Box<[Tunnel]>,
    wire: Box<[u8]>,
    /// Slots that are ready although the transport below reports no event, and whether there is room to send.
    owing: Vec<(Slot, bool)>,
}

impl<T: Transport> ExtendedConnect<T> {
    /// WebSockets over this many slots of a transport.
    pub(crate) fn new(scheme: Scheme, slots: u32, inner: T) -> Self {
        Self {
            inner,
            scheme,
            readers: (0..slots).map(|_| FrameReader::default()).collect(),
            tunnels: (0..slots).map(|_| Tunnel::new()).collect(),
            wire: vec![0; WIRE_BYTES].into(),
            owing: Vec::new(),
        }
    }

    /// The connection below is made: sends the preface of HTTP/2.
    fn greet(&mut self, slot: Slot) -> io::Result<IoProgress> {
        let tunnel = &mut self.tunnels[slot as usize];
        tunnel.stage = Stage::Greeting;
        write_client_preface(&mut tunnel.out);
        tunnel.flush(slot, &mut self.inner)?;
        self.await_settings(slot)
    }

    fn await_settings(&mut self, slot: Slot) -> io::Result<IoProgress> {
        while self.tunnels[slot as usize].stage == Stage::Greeting {
            match self.read_frames(slot) {
                Ok(0) => return Err(ConnectionFailure::ClosedUnused.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(IoProgress::Pending),
                Err(error) => return Err(error),
            }
            if let Some(failure) = self.tunnels[slot as usize].failure {
                return Err(failure.into());
            }
        }
        match self.tunnels[slot as usize].allows_connect {
            true => Ok(IoProgress::Done),
            false => Err(ConnectionFailure::NoExtendedConnect.into()),
        }
    }

    /// Reads from the transport below once and acts on the frames; returns the number of bytes.
    fn read_frames(&mut self, slot: Slot) -> io::Result<usize> {
        let count = self.inner.receive(slot, &mut self.wire)?;
        let (reader, tunnel) = (&mut self.readers[slot as usize], &mut self.tunnels[slot as usize]);
        tunnel.was_full = count == self.wire.len();
        let (mut input, mut has_room) = (&self.wire[..count], false);
        while !input.is_empty() && tunnel.failure.is_none() {
            let read = reader.next(input).and_then(|(event, taken)| Ok((tunnel.on_frame(event)?, taken)));
            match read {
                Ok((opened, taken)) => {
                    has_room |= opened;
                    input = &input[taken..];
                }
                Err(error) => tunnel.failure = Some(failure_of(&error)),
            }
        }
        tunnel.end_read();
        if has_room && std::mem::take(&mut tunnel.is_blocked) {
            self.owing.push((slot, true));
        }
        // A broken connection is reported by the next read.
        let _ = tunnel.flush(slot, &mut self.inner);
        if tunnel.unread_answers.are_too_many() {
            tunnel.failure = tunnel.failure.or(Some(ConnectionFailure::Flood));
        }
        Ok(count)
    }
}

impl<T: Transport> Transport for ExtendedConnect<T> {
    type Inner = T;

    #[inline]
    fn inner(&self) -> Option<&T> {
        Some(&self.inner)
    }

    #[inline]
    fn inner_mut(&mut self) -> Option<&mut T> {
        Some(&mut self.inner)
    }

    fn connect(&mut self, slot: Slot) -> io::Result<IoProgress> {
        match self.inner.connect(slot)? {
            IoProgress::Done => self.greet(slot),
            IoProgress::Pending => Ok(IoProgress::Pending),
        }
    }

    fn finish_connect(&mut self, slot: Slot) -> io::Result<IoProgress> {
        if self.tunnels[slot as usize].stage == Stage::Greeting {
            self.tunnels[slot as usize].flush(slot, &mut self.inner)?;
            return self.await_settings(slot);
        }
        match self.inner.finish_connect(slot)? {
            IoProgress::Done => self.greet(slot),
            IoProgress::Pending => Ok(IoProgress::Pending),
        }
    }

    /// Takes the upgrade request whole, and later bytes as far as the windows allow.
    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<usize> {
        let tunnel = &mut self.tunnels[slot as usize];
        if !tunnel.flush(slot, &mut self.inner)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if tunnel.stage == Stage::Idle {
            tunnel.answer.key_of(bytes);
            write_extended_connect(bytes, self.scheme, STREAM, &mut tunnel.table, &mut tunnel.out);
            tunnel.stage = Stage::Asked;
            tunnel.flush(slot, &mut self.inner)?;
            return Ok(bytes.len());
        }
        let window = tunnel.stream_window.available().min(tunnel.connection_window.available());
        let room = window.min(tunnel.peer.max_frame_size) as usize;
        let piece = &bytes[..bytes.len().min(room)];
        if piece.is_empty() {
            tunnel.is_blocked = true;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        tunnel.stream_window.consume(piece.len() as u32);
        tunnel.connection_window.consume(piece.len() as u32);
        tunnel.stray_frames = after_body(tunnel.stray_frames, piece.len() as u32);
        write_data(&mut tunnel.out, STREAM, piece, false);
        tunnel.flush(slot, &mut self.inner)?;
        Ok(piece.len())
    }

    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let tunnel = &mut self.tunnels[slot as usize];
            let count = tunnel.take(buffer);
            if count > 0 {
                // The handler stops after a short read.
                if tunnel.was_full || !tunnel.input.is_empty() || tunnel.has_ended || tunnel.failure.is_some()
                {
                    self.owing.push((slot, false));
                }
                return Ok(count);
            }
            if let Some(failure) = tunnel.failure {
                return Err(failure.into());
            }
            if tunnel.has_ended || self.read_frames(slot)? == 0 {
                return Ok(0);
            }
        }
    }

    fn close(&mut self, slot: Slot) {
        self.readers[slot as usize] = FrameReader::default();
        self.tunnels[slot as usize] = Tunnel::new();
        self.owing.retain(|(owing, _)| *owing != slot);
        self.inner.close(slot);
    }

    fn wait(&mut self, wait_limit: WaitLimit, ready: &mut Vec<Readiness>) -> io::Result<()> {
        let wait_limit = if self.owing.is_empty() { wait_limit } else { WaitLimit::Poll };
        self.inner.wait(wait_limit, ready)?;
        let owed =
            |(slot, writable): (Slot, bool)| Readiness { slot, readable: !writable, writable, hangup: false };
        ready.extend(self.owing.drain(..).map(owed));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_http::h2::{write_ping, write_settings};

    /// A server that allows extended CONNECT, and then sends a hundred pings and a byte of DATA with each read.
    #[derive(Default)]
    struct Pings {
        has_greeted: bool,
        /// Whether it reads nothing.
        is_deaf: bool,
    }

    impl Transport for Pings {
        type Inner = Self;

        fn connect(&mut self, _: Slot) -> io::Result<IoProgress> {
            Ok(IoProgress::Done)
        }

        fn finish_connect(&mut self, _: Slot) -> io::Result<IoProgress> {
            Ok(IoProgress::Done)
        }

        fn send(&mut self, _: Slot, bytes: &[u8]) -> io::Result<usize> {
            if self.is_deaf { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(bytes.len()) }
        }

        fn receive(&mut self, _: Slot, buffer: &mut [u8]) -> io::Result<usize> {
            let mut frames = Vec::new();
            if std::mem::replace(&mut self.has_greeted, true) {
                (0..100).for_each(|_| write_ping(&mut frames, [0; 8]));
                write_data(&mut frames, STREAM, b"x", false);
            } else {
                write_settings(&mut frames, &[(ENABLE_CONNECT_PROTOCOL, 1)]);
            }
            buffer[..frames.len()].copy_from_slice(&frames);
            Ok(frames.len())
        }

        fn close(&mut self, _: Slot) {}

        fn wait(&mut self, _: WaitLimit, _: &mut Vec<Readiness>) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_server_that_reads_no_answer_to_its_pings_is_cut_off() {
        for (is_deaf, reads) in [(false, 1_000), (true, 12)] {
            let mut transport = ExtendedConnect::new(Scheme::Ws, 1, Pings::default());
            assert_eq!(transport.connect(0).unwrap(), IoProgress::Done);
            transport.tunnels[0].stage = Stage::Open;
            transport.inner.is_deaf = is_deaf;
            for _ in 0..reads {
                assert_eq!(transport.receive(0, &mut [0; 8]).unwrap(), 1);
            }
            // The answers to the first read are not counted, and 1,000 more may wait.
            let read = transport.receive(0, &mut [0; 8]);
            let failure = read.err().and_then(|error| ConnectionFailure::within(&error));
            assert_eq!(failure, is_deaf.then_some(ConnectionFailure::Flood));
        }
    }

    #[test]
    fn frames_without_bytes_of_the_websocket_are_a_flood() {
        let mut tunnel = Tunnel::new();
        tunnel.stage = Stage::Open;
        let idle = FrameEvent::WindowUpdate { stream: 3, increment: 1 };
        let (end_frame, end_stream) = (true, false);
        let data = FrameEvent::Data { stream: STREAM, piece: b"x", flow_bytes: 1, end_frame, end_stream };
        for event in [data, idle] {
            for _ in 0..MAX_STRAY_FRAMES {
                assert_eq!(tunnel.on_frame(idle), Ok(false));
            }
            let flood = Err(Http2Error::Flood { limit: MAX_STRAY_FRAMES });
            assert_eq!(tunnel.on_frame(event), if event == data { Ok(false) } else { flood });
        }
        assert_eq!(tunnel.input, b"x");
    }

    #[test]
    fn bytes_of_another_stream_are_no_part_of_the_websocket() {
        let mut tunnel = Tunnel::new();
        tunnel.stage = Stage::Open;
        let (stream, end_frame, end_stream) = (3, true, false);
        let data = FrameEvent::Data { stream, piece: b"x", flow_bytes: 1, end_frame, end_stream };
        assert_eq!(tunnel.on_frame(data), Err(Http2Error::IdleStream { frame: FrameName(0), stream }));
        assert!(tunnel.input.is_empty());
    }

    #[test]
    fn a_refusal_has_the_beginning_of_its_body() {
        let mut tunnel = Tunnel::new();
        tunnel.stage = Stage::Asked;
        let data = |piece: &'static [u8]| FrameEvent::Data {
            stream: STREAM,
            piece,
            flow_bytes: 2,
            end_frame: true,
            end_stream: false,
        };
        // `:status: 404`, as the static table has it (RFC 7541, appendix A).
        let fields = FrameEvent::FieldBlock { stream: STREAM, block: &[0x8d], end_stream: false };
        let trailers = FrameEvent::FieldBlock { stream: STREAM, block: &[0x88], end_stream: true };
        for event in [fields, data(b"no"), data(b"ne"), trailers] {
            assert_eq!(tunnel.on_frame(event), Ok(false));
        }
        tunnel.end_read();
        assert_eq!(tunnel.on_frame(data(b"at")), Ok(false));
        tunnel.end_read();
        assert_eq!(tunnel.input, b"HTTP/1.1 404 \r\nContent-Length: 4\r\n\r\nnone");
    }
}
