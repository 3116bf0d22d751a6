//! A transport inside the process: every request is answered at once, without the kernel.
//!
//! What remains is the engine alone. Used to see what it costs by itself, and that threads share nothing: two of them
//! do twice one's work (`examples/threads.rs`).

use crate::{Patience, Progress, Ready, Slot, Transport};
use std::io;
use std::rc::Rc;

/// Answers every request of a known length with the same bytes.
#[derive(Debug)]
pub struct Echo {
    answer: Rc<[u8]>,
    request_length: usize,
    /// Answers not yet read, by slot.
    owed: Vec<u32>,
    /// Slots with something to read, each once.
    ready: Vec<Ready>,
}

impl Echo {
    /// A transport for so many slots.
    pub fn new(slots: u32, request_length: usize, answer: Rc<[u8]>) -> Self {
        Self { answer, request_length, owed: vec![0; slots as usize], ready: Vec::new() }
    }
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
        if *owed == 0 {
            self.ready.push(Ready { slot, readable: true, writable: false, hangup: false });
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

    fn wait(&mut self, _: Patience, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.append(&mut self.ready);
        Ok(())
    }
}
