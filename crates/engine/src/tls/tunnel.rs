//! Opens a tunnel through an HTTP proxy (CONNECT, RFC 9110 §9.3.6) on a connection before its TLS handshake.
//!
//! The proxy sends no bytes after its response until TLS begins, so any bytes after the head are rejected.

use super::fault::{TlsError, TlsFault};
use crate::{IoProgress, Slot, Transport};
use std::io;
use std::sync::Arc;

/// The maximum length of the head of the proxy's response.
const MAX_HEAD: usize = 16 * 1024;

/// A tunnel that is being opened.
#[derive(Debug)]
pub(super) struct Tunnel {
    request: Arc<[u8]>,
    taken: usize,
    /// The part of the response's head received so far.
    head: Vec<u8>,
}

impl Tunnel {
    /// A tunnel requested by this request.
    pub(super) fn new(request: Arc<[u8]>) -> Self {
        Self { request, taken: 0, head: Vec::new() }
    }

    /// Continues as far as there is room to send and bytes to read.
    pub(super) fn advance<T: Transport>(&mut self, slot: Slot, transport: &mut T) -> io::Result<IoProgress> {
        let mut buffer = [0; 1024];
        loop {
            let moved = if self.taken < self.request.len() {
                transport.send(slot, &self.request[self.taken..]).map(|count| self.taken += count)
            } else {
                transport.receive(slot, &mut buffer).and_then(|count| {
                    if count == 0 {
                        return Err(closed());
                    }
                    self.head.extend_from_slice(&buffer[..count]);
                    Ok(())
                })
            };
            match moved {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(IoProgress::Pending),
                moved => moved?,
            }
            if self.taken == self.request.len() && !self.head.is_empty() && is_open(&self.head)? {
                return Ok(IoProgress::Done);
            }
        }
    }
}

/// The error for a proxy that closes the connection before its response is whole.
fn closed() -> io::Error {
    let detail = "the connection was closed before a whole response".to_owned();
    TlsError { fault: TlsFault::NoProxy, detail }.into()
}

/// Whether the proxy's response, as received so far, says that the tunnel is open; false while its head is incomplete.
fn is_open(head: &[u8]) -> io::Result<bool> {
    let fault = |fault| Err(TlsError::plain(fault).into());
    let begins_well = b"HTTP/1.".iter().zip(head).all(|(expected, byte)| expected == byte);
    if !begins_well || head.len() > MAX_HEAD {
        return fault(TlsFault::NoProxy);
    }
    let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(false) };
    let status = head.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<u16>().ok());
    match status {
        Some(200..=299) if end + 4 == head.len() => Ok(true),
        Some(status @ 300..) => fault(TlsFault::NoTunnel(status)),
        _ => fault(TlsFault::NoProxy),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Readiness, WaitLimit};

    /// A proxy that takes all bytes, answers with these and closes the connection.
    struct ClosingProxy(&'static [u8]);

    impl Transport for ClosingProxy {
        type Inner = Self;

        fn connect(&mut self, _: Slot) -> io::Result<IoProgress> {
            Ok(IoProgress::Done)
        }

        fn finish_connect(&mut self, _: Slot) -> io::Result<IoProgress> {
            Ok(IoProgress::Done)
        }

        fn send(&mut self, _: Slot, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn receive(&mut self, _: Slot, buffer: &mut [u8]) -> io::Result<usize> {
            io::Read::read(&mut self.0, buffer)
        }

        fn close(&mut self, _: Slot) {}

        fn wait(&mut self, _: WaitLimit, _: &mut Vec<Readiness>) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_proxy_that_closes_ends_the_attempt() {
        let advance = |answer: &'static [u8]| {
            let request = Arc::from(&b"CONNECT a:443 HTTP/1.1\r\n\r\n"[..]);
            Tunnel::new(request).advance(0, &mut ClosingProxy(answer))
        };
        for answer in [&b""[..], b"HTTP/1.1 200 OK\r\n"] {
            let error = advance(answer).unwrap_err();
            assert_eq!(TlsError::within(&error).map(|error| error.fault), Some(TlsFault::NoProxy));
        }
        assert_eq!(advance(b"HTTP/1.1 200 OK\r\n\r\n").unwrap(), IoProgress::Done);
    }

    #[test]
    fn partial_and_invalid_proxy_responses_are_handled() {
        let fault = |text: &[u8]| TlsError::within(&is_open(text).unwrap_err()).map(|error| error.fault);
        let answer = b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n";
        for length in 1..answer.len() {
            assert!(!is_open(&answer[..length]).unwrap(), "{length}");
        }
        assert!(is_open(answer).unwrap());
        assert_eq!(fault(b"HTTP/1.1 407 Auth\r\n\r\n"), Some(TlsFault::NoTunnel(407)));
        assert_eq!(fault(b"HTTP/1.1 502 X\r\nContent-Length: 3\r\n\r\nbad"), Some(TlsFault::NoTunnel(502)));
        for text in [&b"SSH-2.0"[..], b"HTTP/1.1 2x0 \r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\nmore", &[b'a'; 9]] {
            assert_eq!(fault(text), Some(TlsFault::NoProxy));
        }
    }
}
