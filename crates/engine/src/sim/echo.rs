//! Implements a transport inside the process: every request is answered at once, without the kernel.
//!
//! It measures the engine without system calls: instructions per request (`tests/it/instructions.rs`), and whether two
//! threads do twice the work of one (`examples/threads.rs`).

use crate::{IoProgress, Readiness, Slot, Transport, WaitLimit};
use paceline_http::h2::{CLIENT_PREFACE, FRAME_HEAD_BYTES, FrameHead, STREAM_AT, write_settings};
use std::io;
use std::ops::Range;
use std::rc::Rc;

/// Answers every request, all of the same known length, with the same bytes.
#[derive(Debug)]
pub struct Echo {
    answer: Rc<[u8]>,
    request_length: usize,
    /// Answers not yet read, by slot.
    owed: Vec<u32>,
    /// Slots with something to read, each once.
    ready: Vec<Readiness>,
}

impl Echo {
    /// A transport for this many slots.
    pub fn new(slots: u32, request_length: usize, answer: Rc<[u8]>) -> Self {
        Self { answer, request_length, owed: vec![0; slots as usize], ready: Vec::new() }
    }
}

impl Transport for Echo {
    type Inner = Self;

    fn connect(&mut self, _: Slot) -> io::Result<IoProgress> {
        Ok(IoProgress::Done)
    }

    fn finish_connect(&mut self, _: Slot) -> io::Result<IoProgress> {
        Ok(IoProgress::Done)
    }

    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<usize> {
        let owed = &mut self.owed[slot as usize];
        if *owed == 0 {
            self.ready.push(Readiness { slot, readable: true, writable: false, hangup: false });
        }
        *owed += (bytes.len() / self.request_length) as u32;
        Ok(bytes.len())
    }

    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> io::Result<usize> {
        let owed = std::mem::take(&mut self.owed[slot as usize]) as usize;
        let length = self.answer.len();
        for answer in 0..owed {
            buffer[answer * length..(answer + 1) * length].copy_from_slice(&self.answer);
        }
        if owed == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(owed * length) }
    }

    fn close(&mut self, slot: Slot) {
        self.owed[slot as usize] = 0;
    }

    fn wait(&mut self, _: WaitLimit, ready: &mut Vec<Readiness>) -> io::Result<()> {
        ready.append(&mut self.ready);
        Ok(())
    }
}

/// The order in which a server sends the frames of several responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameOrder {
    /// One response after the other.
    ByResponse,
    /// The first frame of each response, then the second of each, as nghttpd does.
    ByFrame,
}

/// The same over HTTP/2: answers the HEADERS of every stream with the same frames. Its own cost is a copy of them.
#[derive(Debug)]
pub struct EchoHttp2 {
    /// The frames, on stream 0.
    answer: Rc<[u8]>,
    /// The parts of the answer that are sent to each stream in turn: all of it, or each frame. A part is a range of
    /// offsets, and has the offsets of its frames.
    parts: Vec<(Range<usize>, Vec<usize>)>,
    /// Bytes that have not been read, by slot.
    owed: Vec<Vec<u8>>,
    /// Slots with something to read, each once.
    ready: Vec<Readiness>,
}

impl EchoHttp2 {
    /// A transport for this many slots.
    pub fn new(slots: u32, answer: Rc<[u8]>, order: FrameOrder) -> Self {
        let frames: Vec<usize> = frames_of(&answer).map(|(at, _)| at).collect();
        let parts = match order {
            FrameOrder::ByResponse => vec![(0..answer.len(), frames)],
            FrameOrder::ByFrame => {
                let ends = frames.iter().skip(1).copied().chain([answer.len()]);
                frames.iter().zip(ends).map(|(start, end)| (*start..end, vec![*start])).collect()
            }
        };
        Self { answer, parts, owed: vec![Vec::new(); slots as usize], ready: Vec::new() }
    }
}

/// The whole frames in some bytes: the offset of each, and its head.
fn frames_of(bytes: &[u8]) -> impl Iterator<Item = (usize, FrameHead)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let head = FrameHead::read(bytes.get(at..)?.first_chunk()?);
        let start = at;
        at += FRAME_HEAD_BYTES + head.length as usize;
        Some((start, head))
    })
}

impl Transport for EchoHttp2 {
    type Inner = Self;

    fn connect(&mut self, _: Slot) -> io::Result<IoProgress> {
        Ok(IoProgress::Done)
    }

    fn finish_connect(&mut self, _: Slot) -> io::Result<IoProgress> {
        Ok(IoProgress::Done)
    }

    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<usize> {
        let owed = &mut self.owed[slot as usize];
        if owed.is_empty() {
            self.ready.push(Readiness { slot, readable: true, writable: false, hangup: false });
        }
        let frames = match bytes.strip_prefix(CLIENT_PREFACE) {
            None => bytes,
            Some(frames) => {
                write_settings(owed, &[]);
                frames
            }
        };
        // HEADERS are the only frames with a stream here.
        for (part, part_frames) in &self.parts {
            for (_, head) in frames_of(frames).filter(|(_, head)| head.stream > 0) {
                let start = owed.len();
                owed.extend_from_slice(&self.answer[part.clone()]);
                for at in part_frames {
                    let field = start + (at - part.start) + STREAM_AT;
                    owed[field..field + 4].copy_from_slice(&head.stream.to_be_bytes());
                }
            }
        }
        Ok(bytes.len())
    }

    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> io::Result<usize> {
        let owed = &mut self.owed[slot as usize];
        let count = owed.len().min(buffer.len());
        buffer[..count].copy_from_slice(&owed[..count]);
        owed.drain(..count);
        if count == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(count) }
    }

    fn close(&mut self, slot: Slot) {
        self.owed[slot as usize].clear();
    }

    fn wait(&mut self, _: WaitLimit, ready: &mut Vec<Readiness>) -> io::Result<()> {
        ready.append(&mut self.ready);
        Ok(())
    }
}
