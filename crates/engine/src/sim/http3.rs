//! Implements a scripted HTTP/3 server that does everything a server may do, and much that it should not, chosen by its
//! seed, over a network that loses and reorders datagrams.
//!
//! QUIC is `quinn-proto`, as in the client. The server answers late, in pieces, in any order; it sends Retry, refuses,
//! resets and stops streams, ends connections with GOAWAY and CONNECTION_CLOSE, and sends invalid frames. Of requests it
//! reads only where they end, unless an application answers them.

use super::{Act, Connect, Script};
use crate::{Nanos, Random, Slot};
use bytes::{Bytes, BytesMut};
use paceline_http::h3::{
    ErrorCode, push_field, push_prefix, write_control_stream, write_data, write_goaway, write_headers,
};
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, EndpointEvent, Event,
    Incoming, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The server's side of one connection.
struct Peer {
    handle: ConnectionHandle,
    connection: Connection,
    control: Option<StreamId>,
    /// The next alarm that is set.
    alarm: Option<Nanos>,
    /// Answers that are sent later.
    answers: Vec<(Nanos, StreamId, Answer)>,
    /// Requests that are not whole, for the application.
    unread: HashMap<StreamId, Vec<u8>>,
    /// Requests that were answered or refused.
    requests: u32,
    /// The first stream that is not answered, once GOAWAY was sent.
    ends_at: Option<u64>,
}

/// What is sent on the stream of a request.
struct Answer {
    bytes: Vec<u8>,
    end: Http3End,
}

/// What follows some bytes on the stream of a request.
#[derive(Clone, Copy, Debug)]
pub enum Http3End {
    /// The end of the response.
    Fin,
    /// More bytes, or nothing.
    Open,
    /// RESET_STREAM with this code (RFC 9000 §19.4).
    Reset(ErrorCode),
    /// CONNECTION_CLOSE with this code (RFC 9000 §19.19).
    Close(u64),
}

/// Bytes that are sent this long after the request on its stream, and what follows them.
pub type Http3Piece = (Nanos, Vec<u8>, Http3End);

/// Answers a request, given as the bytes of its stream, with pieces in the order of their times.
pub type Http3Application = Box<dyn FnMut(&[u8]) -> Vec<Http3Piece>>;

/// The behaviour of a server.
#[derive(Clone, Copy, Debug)]
pub struct Http3Behaviour {
    /// One in this many requests gets a bad response; 0 for a well-behaved server.
    pub one_in: u64,
    /// One in this many datagrams is lost, in each direction; 0 for none.
    pub lost_in: u64,
    /// The longest time to answer.
    pub slowest: Nanos,
    /// The number of requests after which a connection is ended with GOAWAY; 0 for never.
    pub requests_per_connection: u32,
    /// The number of requests that a connection takes at once.
    pub streams: u32,
}

/// The server of this module.
pub struct MisbehavingHttp3 {
    random: Random,
    behaviour: Http3Behaviour,
    endpoint: Endpoint,
    origin: Instant,
    peers: HashMap<Slot, Peer>,
    application: Option<Http3Application>,
    /// Requests that were received whole and were not refused.
    pub requests: u64,
}

impl MisbehavingHttp3 {
    /// A server whose choices are all determined by `seed`, with a certificate.
    ///
    /// # Panics
    /// If the configuration lacks TLS 1.3.
    pub fn new(seed: u64, behaviour: Http3Behaviour, tls: Arc<rustls::ServerConfig>) -> Self {
        let crypto = QuicServerConfig::try_from(tls).expect("TLS 1.3");
        let mut transport = TransportConfig::default();
        transport.max_concurrent_bidi_streams(VarInt::from_u32(behaviour.streams));
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(Arc::new(transport));
        let endpoint =
            Endpoint::new(Arc::new(EndpointConfig::default()), Some(Arc::new(config)), true, Some([7; 32]));
        Self {
            random: Random::new(seed),
            behaviour,
            endpoint,
            origin: Instant::now(),
            peers: HashMap::new(),
            application: None,
            requests: 0,
        }
    }

    /// The same server, whose requests are answered by an application.
    #[must_use]
    pub fn with_application(self, application: Http3Application) -> Self {
        Self { application: Some(application), ..self }
    }

    fn misbehaves(&mut self) -> bool {
        self.behaviour.one_in > 0 && self.random.below(self.behaviour.one_in) == 0
    }

    fn is_lost(&mut self) -> bool {
        self.behaviour.lost_in > 0 && self.random.below(self.behaviour.lost_in) == 0
    }

    fn delay(&mut self) -> Nanos {
        Nanos(self.random.below(self.behaviour.slowest.0 + 1))
    }

    fn instant(&self, now: Nanos) -> Instant {
        self.origin + Duration::from_nanos(now.0)
    }

    /// A connection begins.
    fn accept(&mut self, slot: Slot, incoming: Incoming, now: Nanos, reply: &mut Vec<u8>) {
        let instant = self.instant(now);
        if self.misbehaves() {
            match self.random.below(3) {
                0 => {
                    let _ = self.endpoint.refuse(incoming, reply);
                    return;
                }
                1 => return self.endpoint.ignore(incoming),
                _ if incoming.may_retry() => {
                    let _ = self.endpoint.retry(incoming, reply);
                    return;
                }
                _ => {}
            }
        }
        let Ok((handle, connection)) = self.endpoint.accept(incoming, instant, reply, None) else { return };
        let peer = Peer {
            handle,
            connection,
            control: None,
            alarm: None,
            answers: Vec::new(),
            unread: HashMap::new(),
            requests: 0,
            ends_at: None,
        };
        self.forget(slot);
        self.peers.insert(slot, peer);
    }

    fn forget(&mut self, slot: Slot) {
        if let Some(peer) = self.peers.remove(&slot) {
            self.endpoint.handle_event(peer.handle, EndpointEvent::drained());
        }
    }

    /// Reads what QUIC reports, answers requests, and sends.
    fn advance(&mut self, slot: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        let Some(mut peer) = self.peers.remove(&slot) else { return };
        let instant = self.instant(now);
        peer.alarm = peer.alarm.filter(|at| *at > now);
        if peer.connection.poll_timeout().is_some_and(|at| at <= instant) {
            peer.connection.handle_timeout(instant);
        }
        while let Some(event) = peer.connection.poll() {
            match event {
                Event::Connected => {
                    peer.control = peer.connection.streams().open(Dir::Uni);
                    let mut bytes = Vec::new();
                    write_control_stream(&mut bytes);
                    let control = peer.control;
                    send_on(&mut peer, control, &bytes);
                }
                Event::Stream(StreamEvent::Opened { dir }) => {
                    while let Some(id) = peer.connection.streams().accept(dir) {
                        self.read(&mut peer, id, now);
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => self.read(&mut peer, id, now),
                Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                    let _ = peer.connection.send_stream(id).reset(error_code);
                }
                _ => {}
            }
        }
        let (due, later) = std::mem::take(&mut peer.answers).into_iter().partition(|(at, ..)| *at <= now);
        peer.answers = later;
        let due: Vec<(Nanos, StreamId, Answer)> = due;
        for (_, id, answer) in due {
            carry_out(&mut peer, id, &answer, instant);
        }
        while let Some(event) = peer.connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(peer.handle, event) {
                peer.connection.handle_event(event);
            }
        }
        self.transmit(&mut peer, now, acts);
        self.peers.insert(slot, peer);
    }

    /// Sends datagrams, of which some are lost and others arrive late.
    fn transmit(&mut self, peer: &mut Peer, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        let instant = self.instant(now);
        let mut datagram = Vec::new();
        while peer.connection.poll_transmit(instant, 1, &mut datagram).is_some() {
            let at = if self.random.below(4) == 0 { now + self.delay() } else { now };
            if !self.is_lost() {
                acts.push((at, Act::Send(datagram.as_slice().into())));
            }
            datagram.clear();
        }
        let timeout = peer.connection.poll_timeout().map(|at| at.saturating_duration_since(self.origin));
        let timeout = timeout.map(|at| Nanos(at.as_nanos() as u64));
        let next = peer.answers.iter().map(|(at, ..)| *at).chain(timeout).min();
        // One alarm at a time: each that rings sets the next.
        if let Some(next) = next.map(|at| at.max(now + Nanos(1)))
            && peer.alarm.is_none_or(|at| next < at)
        {
            peer.alarm = Some(next);
            acts.push((next, Act::Alarm));
        }
    }

    /// Reads a stream of the client; the end of a request is answered.
    fn read(&mut self, peer: &mut Peer, id: StreamId, now: Nanos) {
        let mut recv = peer.connection.recv_stream(id);
        let Ok(mut chunks) = recv.read(true) else { return };
        let is_whole = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) if self.application.is_some() => {
                    peer.unread.entry(id).or_default().extend_from_slice(&chunk.bytes);
                }
                Ok(Some(_)) => {}
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let _ = chunks.finalize();
        if is_whole && id.dir() == Dir::Bi {
            self.answer(peer, id, now);
        }
    }

    /// Answers a whole request, now or later.
    fn answer(&mut self, peer: &mut Peer, id: StreamId, now: Nanos) {
        if peer.ends_at.is_some_and(|first| id.index() * 4 >= first) {
            return;
        }
        peer.requests += 1;
        let request = peer.unread.remove(&id).unwrap_or_default();
        let at = now + self.delay();
        let limit = self.behaviour.requests_per_connection;
        if limit > 0 && peer.requests >= limit && peer.ends_at.is_none() {
            self.go_away(peer, id.index() * 4 + 4);
        }
        if self.misbehaves() {
            return self.answer_badly(peer, id, at);
        }
        self.requests += 1;
        match &mut self.application {
            None => self.answer_well(peer, id, at),
            Some(application) => peer.answers.extend(
                application(&request)
                    .into_iter()
                    .map(|(after, bytes, end)| (now + after, id, Answer { bytes, end })),
            ),
        }
    }

    fn go_away(&mut self, peer: &mut Peer, first: u64) {
        let first = peer.ends_at.map_or(first, |before| before.min(first));
        let mut bytes = Vec::new();
        write_goaway(&mut bytes, first);
        send_on(peer, peer.control, &bytes);
        peer.ends_at = Some(first);
    }

    /// A good response, often in two pieces.
    fn answer_well(&mut self, peer: &mut Peer, id: StreamId, at: Nanos) {
        let bytes = self.good();
        if self.random.below(3) > 0 {
            return peer.answers.push((at, id, Answer { bytes, end: Http3End::Fin }));
        }
        let cut = self.random.below(bytes.len() as u64 + 1) as usize;
        let (first, rest) = bytes.split_at(cut);
        let later = at + self.delay();
        peer.answers.push((at, id, Answer { bytes: first.to_vec(), end: Http3End::Open }));
        // In one order, whatever the times are.
        peer.answers.push((later, id, Answer { bytes: rest.to_vec(), end: Http3End::Fin }));
    }

    fn good(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.random.below(8) == 0 {
            write_headers(&mut out, &section(&[(":status", "103")]));
        }
        let fields: &[(&str, &str)] = match self.random.below(3) {
            0 => &[(":status", "200"), ("content-length", "2")],
            1 => &[(":status", "200"), ("server", "simulated")],
            _ => &[(":status", "200")],
        };
        write_headers(&mut out, &section(fields));
        if self.random.below(8) == 0 {
            // A frame of an unknown type (RFC 9114 §9).
            out.extend_from_slice(&[0x21, 3, 1, 2, 3]);
        }
        match self.random.below(4) {
            0 => {
                write_data(&mut out, b"o");
                write_data(&mut out, b"k");
            }
            1 => {
                write_data(&mut out, b"ok");
                write_headers(&mut out, &section(&[("x-trailer", "a")]));
            }
            _ => write_data(&mut out, b"ok"),
        }
        out
    }

    /// Another end instead of a response, or other bytes.
    fn answer_badly(&mut self, peer: &mut Peer, id: StreamId, at: Nanos) {
        let code = ErrorCode(0x100 + self.random.below(17));
        let mut out = Vec::new();
        let mut end = Http3End::Fin;
        let choice = self.random.below(20);
        let is_refused = matches!(choice, 3 | 5);
        match choice {
            0 => end = Http3End::Open,
            1 => end = Http3End::Close(ErrorCode::NO_ERROR.0),
            2 => end = Http3End::Close(code.0),
            3 => end = Http3End::Reset(ErrorCode::REQUEST_REJECTED),
            4 => end = Http3End::Reset(code),
            5 => {
                end = Http3End::Open;
                let back = self.random.below(3);
                self.go_away(peer, id.index().saturating_sub(back) * 4);
            }
            6 => write_headers(&mut out, &section(&[(":status", "500")])),
            7 => write_headers(&mut out, &section(&[(":status", "204")])),
            8 => {
                write_headers(&mut out, &section(&[(":status", "200")]));
                write_data(&mut out, b"no");
            }
            9 => {
                write_headers(&mut out, &section(&[(":status", "200"), ("content-length", "2")]));
                write_data(&mut out, b"too long");
            }
            10 => out.extend_from_slice(b"HTTP/1.1 200 OK\r\n\r\n"),
            11 => out.extend_from_slice(&[4, 0]),
            12 => {}
            13 => {
                out = self.good();
                out.truncate(self.random.below(out.len() as u64) as usize);
            }
            14 => out.extend_from_slice(&[5, 2, 0, 0]),
            15 => out.extend_from_slice(&[1, 3, 0, 0, 0x80]),
            16 => write_headers(&mut out, &section(&[("x", "y")])),
            17 => write_data(&mut out, b"ok"),
            18 => {
                let _ = peer.connection.recv_stream(id).stop(VarInt::from_u32(0x100));
                out = self.good();
            }
            _ => {
                out = self.good();
                end = Http3End::Reset(code);
            }
        }
        self.requests += u64::from(!is_refused);
        peer.answers.push((at, id, Answer { bytes: out, end }));
    }
}

/// A field section with these fields.
fn section(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = Vec::new();
    push_prefix(&mut section);
    fields.iter().for_each(|(name, value)| push_field(&mut section, name.as_bytes(), value.as_bytes()));
    section
}

fn send_on(peer: &mut Peer, stream: Option<StreamId>, bytes: &[u8]) {
    if let Some(id) = stream {
        // A client that ends the stream loses these bytes.
        let _ = peer.connection.send_stream(id).write(bytes);
    }
}

fn carry_out(peer: &mut Peer, id: StreamId, answer: &Answer, now: Instant) {
    send_on(peer, Some(id), &answer.bytes);
    let mut send = peer.connection.send_stream(id);
    // The stream may have been ended by the client.
    match answer.end {
        Http3End::Fin => drop(send.finish()),
        Http3End::Open => {}
        Http3End::Reset(code) => drop(send.reset(VarInt::from_u64(code.0).unwrap_or_default())),
        Http3End::Close(code) => {
            peer.connection.close(now, VarInt::from_u64(code).unwrap_or_default(), Bytes::new());
        }
    }
}

impl Script for MisbehavingHttp3 {
    fn connect(&mut self, slot: Slot, _: Nanos) -> Connect {
        self.forget(slot);
        Connect::Accept(Nanos::ZERO)
    }

    fn request(&mut self, _: Slot, _: Nanos, _: &mut Vec<(Nanos, Act)>) {}

    fn datagram(&mut self, slot: Slot, datagram: &[u8], now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        if self.is_lost() {
            return;
        }
        let mut reply = Vec::new();
        let remote = SocketAddr::from(([10, 0, 0, 1], 1024 + slot as u16));
        let event =
            self.endpoint.handle(self.instant(now), remote, None, None, BytesMut::from(datagram), &mut reply);
        match event {
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(slot, incoming, now, &mut reply),
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(peer) = self.peers.get_mut(&slot)
                    && peer.handle == handle
                {
                    peer.connection.handle_event(event);
                }
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
        if !reply.is_empty() {
            acts.push((now, Act::Send(reply.into())));
        }
        self.advance(slot, now, acts);
    }

    fn alarm(&mut self, slot: Slot, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        self.advance(slot, now, acts);
    }
}
