//! Implements a scripted HTTP/2 server that does everything a server may do, and everything it should not, chosen by
//! its seed.
//!
//! It answers late, in pieces, in any order, with the frames of several responses mixed, on streams that have ended or
//! never existed; it refuses, resets, ends connections with GOAWAY before and after the request that it names, changes
//! its settings, floods, and sends invalid bytes. Of requests it reads only where they end.

use super::{Act, Connect, Script};
use crate::{Nanos, Random, Slot};
use paceline_http::h2::{
    CLIENT_PREFACE, ErrorCode, FRAME_HEAD_BYTES, FrameEvent, FrameHead, FrameReader, Http2Error, write_data,
    write_field_block, write_goaway, write_ping, write_reset, write_settings, write_settings_ack,
    write_window_update,
};
use std::collections::HashMap;

/// `:status: 200`, 204 and 500, as the static table has them (RFC 7541, appendix A).
const STATUS: [u8; 3] = [0x88, 0x89, 0x8e];
/// `content-length: 2`, without indexing.
const LENGTH: [u8; 4] = [0x0f, 0x0d, 1, b'2'];
/// `x: a`, which is inserted into the dynamic table.
const INSERTED: [u8; 5] = [0x40, 1, b'x', 1, b'a'];
/// `:status: 103`, without indexing.
const INTERIM: [u8; 5] = [0x08, 3, b'1', b'0', b'3'];

/// The server's side of one connection.
#[derive(Default)]
struct SimulatedPeer {
    /// Bytes of the preface that have been received.
    preface: usize,
    reader: FrameReader,
    /// The highest stream received.
    last: u32,
    /// The last stream that is answered, once GOAWAY was sent.
    ends_at: Option<u32>,
    /// Whether the client flooded it with acknowledgements, after which it reads no more.
    is_lost: bool,
}

/// The server of this module.
pub struct MisbehavingHttp2 {
    random: Random,
    /// One in this many requests gets a bad response; 0 for a well-behaved server.
    one_in: u64,
    /// Whether sockets take and return bytes in random pieces.
    pieces: bool,
    /// The longest time to answer.
    slowest: Nanos,
    /// The number of requests after which a connection is ended with GOAWAY; 0 for never.
    requests_per_connection: u32,
    peers: HashMap<Slot, SimulatedPeer>,
    /// Requests that were received whole and were not refused.
    pub requests: u64,
}

impl MisbehavingHttp2 {
    /// A server whose choices are all determined by `seed`.
    pub fn new(seed: u64, one_in: u64, pieces: bool, slowest: Nanos, requests_per_connection: u32) -> Self {
        let random = Random::new(seed);
        Self { random, one_in, pieces, slowest, requests_per_connection, peers: HashMap::new(), requests: 0 }
    }

    fn misbehaves(&mut self) -> bool {
        self.one_in > 0 && self.random.below(self.one_in) == 0
    }

    fn delay(&mut self) -> Nanos {
        Nanos(self.random.below(self.slowest.0 + 1))
    }

    /// The first bytes that it sends.
    fn greeting(&mut self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        if !self.misbehaves() {
            let streams = 1 + self.random.below(8) as u32;
            let window = [65_535, 100, 0x7fff_ffff][self.random.below(3) as usize];
            write_settings(&mut out, &[(3, streams), (4, window)]);
            return Some(out);
        }
        match self.random.below(4) {
            0 => return None,
            1 => out.extend_from_slice(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
            2 => write_ping(&mut out, [0; 8]),
            _ => write_settings(&mut out, &[(4, u32::MAX)]),
        }
        Some(out)
    }

    /// A good response.
    fn good(&mut self, stream: u32) -> Vec<u8> {
        let mut out = Vec::new();
        let mut head = vec![STATUS[0]];
        match self.random.below(3) {
            0 => head.extend_from_slice(&LENGTH),
            1 => head.extend_from_slice(&INSERTED),
            _ => {}
        }
        if self.random.below(8) == 0 {
            write_field_block(&mut out, stream, &INTERIM, false);
        }
        write_field_block(&mut out, stream, &head, false);
        match self.random.below(6) {
            0 => {
                write_data(&mut out, stream, b"o", false);
                write_data(&mut out, stream, b"k", true);
            }
            2 => {
                write_data(&mut out, stream, b"ok", false);
                write_data(&mut out, stream, b"", true);
            }
            1 => {
                write_data(&mut out, stream, b"ok", false);
                write_field_block(&mut out, stream, &INSERTED, true);
            }
            _ => write_data(&mut out, stream, b"ok", true),
        }
        out
    }

    /// Other bytes instead of a response, or before, after or around one; and whether the connection ends with it.
    fn bad(&mut self, slot: Slot, stream: u32) -> (Vec<u8>, Option<Act>) {
        let mut out = Vec::new();
        let code = ErrorCode(self.random.below(14) as u32);
        match self.random.below(20) {
            0 => {}
            1 => return (out, Some(Act::Close)),
            2 => return (out, Some(Act::Reset)),
            3 => write_reset(&mut out, stream, ErrorCode::REFUSED_STREAM),
            4 => write_reset(&mut out, stream, code),
            5 => self.go_away(
                slot,
                &mut out,
                stream.saturating_sub(2 * self.random.clone().below(3) as u32),
                code,
            ),
            6 => write_field_block(&mut out, stream, &STATUS[2..], true),
            7 => write_field_block(&mut out, stream, &STATUS[1..2], true),
            8 => {
                write_field_block(&mut out, stream, &STATUS[..1], false);
                write_data(&mut out, stream, b"no", true);
            }
            9 => {
                write_field_block(&mut out, stream, &[&STATUS[..1], &LENGTH].concat(), false);
                write_data(&mut out, stream, b"too long", true);
            }
            10 => (0..2_000).for_each(|_| write_ping(&mut out, [7; 8])),
            11 => (0..2_000).for_each(|_| write_settings(&mut out, &[])),
            12 => (0..20_000).for_each(|_| write_window_update(&mut out, 0, 1)),
            13 => out.extend_from_slice(b"HTTP/1.1 200 OK\r\n\r\n"),
            14 => write_data(&mut out, stream + 1_000, b"ok", true),
            15 => {
                let answer = self.good(stream);
                return ([&answer[..], &answer].concat(), None);
            }
            16 => {
                let streams = self.random.below(3) as u32;
                let window = self.random.below(70_000) as u32;
                write_settings(&mut out, &[(3, streams), (4, window)]);
                out.extend(self.good(stream));
                write_settings(&mut out, &[(3, 1 + streams)]);
            }
            17 => {
                out.extend(self.good(stream));
                return (out, Some(Act::Close));
            }
            18 => write_field_block(&mut out, stream, &[0x80], true),
            _ => {
                let answer = self.good(stream);
                let cut = self.random.below(answer.len() as u64) as usize;
                return (
                    answer[..cut].to_vec(),
                    Some([Act::Close, Act::Reset][self.random.below(2) as usize].clone()),
                );
            }
        }
        (out, None)
    }

    fn go_away(&mut self, slot: Slot, out: &mut Vec<u8>, last: u32, code: ErrorCode) {
        write_goaway(out, last, code, b"");
        if let Some(peer) = self.peers.get_mut(&slot) {
            peer.ends_at = Some(peer.ends_at.unwrap_or(last).min(last));
        }
    }

    /// Answers a whole request.
    fn answer(&mut self, slot: Slot, stream: u32, now: Nanos, acts: &mut Vec<(Nanos, Act)>) {
        let at = now + self.delay();
        let (last, ends_at) = self.peers.get(&slot).map_or((0, None), |peer| (peer.last, peer.ends_at));
        if ends_at.is_some_and(|last| stream > last) {
            return;
        }
        self.requests += 1;
        if !self.misbehaves() {
            let mut out = self.good(stream);
            if self.requests_per_connection > 0
                && last.div_ceil(2) >= self.requests_per_connection
                && ends_at.is_none()
            {
                self.go_away(slot, &mut out, last, ErrorCode::NO_ERROR);
            }
            self.send(out, at, acts);
            return;
        }
        let (out, end) = self.bad(slot, stream);
        let at = self.send(out, at, acts);
        let later = at + self.delay();
        acts.extend(end.map(|end| (later, end)));
    }

    /// Sends frames, often the first of them before the others, with those of other streams between them. Returns when
    /// the last of them are sent.
    fn send(&mut self, out: Vec<u8>, at: Nanos, acts: &mut Vec<(Nanos, Act)>) -> Nanos {
        let first =
            out.first_chunk().map_or(0, |head| FRAME_HEAD_BYTES + FrameHead::read(head).length as usize);
        if first >= out.len() || self.random.below(2) == 0 {
            acts.push((at, Act::Send(out.into())));
            return at;
        }
        let later = at + self.delay();
        acts.push((at, Act::Send(out[..first].into())));
        acts.push((later, Act::Send(out[first..].into())));
        later
    }

    /// Reads frames, and returns the streams whose requests are whole and the bytes to send at once.
    fn read(&mut self, slot: Slot, mut bytes: &[u8]) -> (Vec<u32>, Vec<u8>, bool) {
        let peer = self.peers.entry(slot).or_default();
        let (mut whole, mut out) = (Vec::new(), Vec::new());
        let missing = CLIENT_PREFACE.len() - peer.preface;
        let preface = missing.min(bytes.len());
        assert_eq!(bytes[..preface], CLIENT_PREFACE[peer.preface..peer.preface + preface]);
        peer.preface += preface;
        let greets = missing > 0 && missing == preface;
        bytes = &bytes[preface..];
        while !bytes.is_empty() && !peer.is_lost {
            let (event, taken) = match peer.reader.next(bytes) {
                Ok(read) => read,
                // It acknowledged each frame of a flood.
                Err(Http2Error::Flood { .. }) => {
                    peer.is_lost = true;
                    return (whole, out, greets);
                }
                Err(error) => panic!("the client violates HTTP/2: {error}"),
            };
            match event {
                FrameEvent::FieldBlock { stream, end_stream, .. } => {
                    assert!(stream > peer.last, "stream ids rise");
                    peer.last = stream;
                    whole.extend(end_stream.then_some(stream));
                }
                FrameEvent::Data { stream, flow_bytes, end_stream, .. } => {
                    write_window_update(&mut out, 0, flow_bytes.max(1));
                    if end_stream {
                        whole.push(stream);
                    } else {
                        write_window_update(&mut out, stream, flow_bytes.max(1));
                    }
                }
                FrameEvent::Settings(_) => write_settings_ack(&mut out),
                _ => {}
            }
            bytes = &bytes[taken..];
        }
        (whole, out, greets)
    }
}

impl Script for MisbehavingHttp2 {
    fn connect(&mut self, slot: Slot, _: Nanos) -> Connect {
        self.peers.insert(slot, SimulatedPeer::default());
        let after = self.delay();
        if !self.misbehaves() {
            return Connect::Accept(after);
        }
        match self.random.below(4) {
            0 => Connect::Refuse(after),
            1 => Connect::Ignore,
            2 => Connect::Greet(after, Act::Close),
            _ => Connect::Greet(after, Act::Reset),
        }
    }

    fn request(&mut self, _: Slot, _: Nanos, _: &mut Vec<(Nanos, Act)>) {}

    fn bytes(&mut self, slot: Slot, bytes: &[u8], now: Nanos, acts: &mut Vec<(Nanos, Act)>) -> bool {
        let (whole, said, greets) = self.read(slot, bytes);
        let greeting = if greets { self.greeting() } else { Some(Vec::new()) };
        let first = [greeting.unwrap_or_default(), said].concat();
        acts.push((now, Act::Send(first.into())));
        for stream in whole {
            self.answer(slot, stream, now, acts);
        }
        true
    }

    fn takes(&mut self, wanted: usize) -> usize {
        if self.pieces { self.random.below(wanted as u64 + 1) as usize } else { wanted }
    }

    fn room_after(&mut self) -> Nanos {
        self.delay()
    }

    fn gives(&mut self, there: usize) -> usize {
        if self.pieces { 1 + self.random.below(there as u64) as usize } else { there }
    }
}
