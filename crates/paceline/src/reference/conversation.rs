//! One client of the reference server: its requests counted by their blank lines, its answers written at once.
//!
//! Called by the server's loop in `mod.rs`, which decides when an answer is due. Requests have no bodies here, and what
//! a client has no room for is not kept for it.

use mio::net::TcpStream;
use std::io::{Read as _, Write as _};

/// The end of a request without a body.
const BLANK_LINE: &[u8] = b"\r\n\r\n";

/// One client.
#[derive(Debug)]
pub(super) struct Conversation {
    stream: TcpStream,
    /// Bytes of a blank line seen so far.
    matched: usize,
}

impl Conversation {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, matched: 0 }
    }

    /// Reads what there is; how many requests it completes.
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

    /// Says something short. A client with no room for it has given up, and is not waited for.
    pub(super) fn say(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }
}
