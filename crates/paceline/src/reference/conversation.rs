//! One client of the reference server: counts its requests by their blank lines and writes its answers immediately.
//!
//! The loop in `mod.rs` decides when an answer is due. Requests must have no bodies. What does not fit in the socket's
//! buffer is dropped.

use mio::net::TcpStream;
use std::io::{Read as _, Write as _};

/// The end of a request without a body.
const BLANK_LINE: &[u8] = b"\r\n\r\n";

/// One client.
#[derive(Debug)]
pub(super) struct Conversation {
    stream: TcpStream,
    /// Bytes of a blank line matched so far.
    matched: usize,
}

impl Conversation {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, matched: 0 }
    }

    /// Reads all available bytes; returns the number of requests that they complete.
    pub(super) fn requests(&mut self) -> usize {
        let (mut buffer, mut requests) = ([0; 16 * 1024], 0);
        while let Ok(count @ 1..) = self.stream.read(&mut buffer) {
            for byte in &buffer[..count] {
                self.matched = if *byte == BLANK_LINE[self.matched] {
                    self.matched + 1
                } else {
                    usize::from(*byte == b'\r')
                };
                if self.matched == BLANK_LINE.len() {
                    requests += 1;
                    self.matched = 0;
                }
            }
        }
        requests
    }

    /// Writes a short answer. If the client's buffer is full, the answer is dropped without waiting.
    pub(super) fn say(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }
}
