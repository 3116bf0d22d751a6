//! A transport inside the process: every request is answered at once, without the kernel.
//!
//! It measures the engine without system calls: instructions per request (`tests/it/instructions.rs`), and whether two
//! threads do twice the work of one (`examples/threads.rs`). What it costs itself is a copy of each answer.

use crate::{Patience, Progress, Ready, Slot, Transport};
use paceline_http::h2::{CLIENT_PREFACE, FRAME_HEAD_BYTES, FrameHead, STREAM_AT, write_settings};
use std::io;
use std::rc::Rc;

/// Answers every request with the same bytes, over HTTP/2 on the request's stream.
#[derive(Debug)]
pub struct Echo {
    answer: Rc<[u8]>,
    /// Where the answer's stream stands: once in each frame.
    stream_fields: Vec<usize>,
    /// Length of a request over HTTP/1.1; none over HTTP/2, where a request is one frame.
    request_length: Option<usize>,
    /// By slot.
    owed: Vec<Owed>,
    /// Slots with something to read, each once.
    ready: Vec<Ready>,
}

/// What has not been read.
#[derive(Clone, Debug, Default)]
struct Owed {
    /// How many answers,
    answers: u32,
    /// and over HTTP/2 on which streams.
    streams: Vec<u32>,
    /// A server's first word, before it is asked anything.
    greeting: Vec<u8>,
}

impl Echo {
    /// A transport for so many slots, over HTTP/1.1.
    pub fn new(slots: u32, request_length: usize, answer: Rc<[u8]>) -> Self {
        let owed = vec![Owed::default(); slots as usize];
        let request_length = Some(request_length);
        Self { answer, stream_fields: Vec::new(), request_length, owed, ready: Vec::new() }
    }

    /// The same over HTTP/2, with the frames of an answer on stream 0.
    pub fn over_http2(slots: u32, answer: Rc<[u8]>) -> Self {
        let stream_fields = frames_of(&answer).map(|(at, _)| at + STREAM_AT).collect();
        let owed = vec![Owed::default(); slots as usize];
        Self { answer, stream_fields, request_length: None, owed, ready: Vec::new() }
    }
}

impl Owed {
    /// What is owed for some frames. A stream is what HEADERS names, the only kind of frame that has one here.
    #[inline(never)]
    fn read_frames(&mut self, bytes: &[u8]) {
        let frames = bytes.strip_prefix(CLIENT_PREFACE);
        if frames.is_some() {
            write_settings(&mut self.greeting, &[]);
        }
        let streams = frames_of(frames.unwrap_or(bytes)).map(|(_, head)| head.stream);
        self.streams.extend(streams.filter(|stream| *stream > 0));
        self.answers = self.streams.len() as u32;
    }

    #[cold]
    fn take_greeting(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let greeting = std::mem::take(&mut self.greeting);
        buffer[..greeting.len()].copy_from_slice(&greeting);
        if greeting.is_empty() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(greeting.len()) }
    }
}

/// The whole frames of some bytes: where each begins, and its head.
fn frames_of(bytes: &[u8]) -> impl Iterator<Item = (usize, FrameHead)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let head = FrameHead::read(bytes.get(at..)?.first_chunk()?);
        let start = at;
        at += FRAME_HEAD_BYTES + head.length as usize;
        Some((start, head))
    })
}

impl Transport for Echo {
    fn connect(&mut self, _: Slot) -> io::Result<Progress> {
        Ok(Progress::Done)
    }

    fn finish_connect(&mut self, _: Slot) -> io::Result<Progress> {
        Ok(Progress::Done)
    }

    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<usize> {
        let owed = &mut self.owed[slot as usize];
        if owed.answers == 0 && owed.greeting.is_empty() {
            self.ready.push(Ready { slot, readable: true, writable: false, hangup: false });
        }
        match self.request_length {
            Some(length) => owed.answers += (bytes.len() / length) as u32,
            None => owed.read_frames(bytes),
        }
        Ok(bytes.len())
    }

    fn receive(&mut self, slot: Slot, buffer: &mut [u8]) -> io::Result<usize> {
        let owed = &mut self.owed[slot as usize];
        if owed.answers == 0 {
            return owed.take_greeting(buffer);
        }
        let mut count = 0;
        for number in 0..std::mem::take(&mut owed.answers) {
            let answer = &mut buffer[count..count + self.answer.len()];
            answer.copy_from_slice(&self.answer);
            for at in &self.stream_fields {
                answer[*at..at + 4].copy_from_slice(&owed.streams[number as usize].to_be_bytes());
            }
            count += answer.len();
        }
        owed.streams.clear();
        Ok(count)
    }

    fn close(&mut self, slot: Slot) {
        self.owed[slot as usize] = Owed::default();
    }

    fn wait(&mut self, _: Patience, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.append(&mut self.ready);
        Ok(())
    }
}
