//! Responses of every framing, whole, in pieces and broken, as the probe reads them.
//!
//! All from memory: no socket is opened, so that pieces can be of any size and a server may send without end. The
//! engine's codec is not used as an oracle: the two must not share a mistake.

use super::*;
use paceline_host::Interrupt;
use std::io::{Cursor, Read};
use std::sync::atomic::{AtomicBool, Ordering};

/// Reads an answer that arrives in pieces of `step` bytes.
fn read_in(text: &str, step: u64, method: &str) -> Result<Answer, ProbeError> {
    struct Steps(Cursor<Vec<u8>>, u64);
    impl Read for Steps {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            Read::by_ref(&mut self.0).take(self.1).read(buffer)
        }
    }
    let mut stream = Steps(Cursor::new(text.as_bytes().to_vec()), step);
    let mut reader = Reader::default();
    let deadline = ProbeDeadline::after(Duration::from_secs(60), Interrupt::never());
    let answer = reader.answer(&mut stream, &ProbeRequest::new(method, "/"), &deadline)?;
    reader.check_no_surplus()?;
    Ok(answer)
}

fn body_of(text: &str) -> Result<(u16, String, bool), String> {
    let whole = read_in(text, 1 << 20, "GET").map_err(|error| error.to_string());
    let byte_by_byte = read_in(text, 1, "GET").map_err(|error| error.to_string());
    if !text.contains("surplus") {
        assert_eq!(whole, byte_by_byte, "the size of the pieces makes a difference");
    }
    whole.map(|answer| (answer.status, String::from_utf8(answer.body).unwrap(), answer.keeps_alive))
}

#[test]
fn every_framing_is_read() {
    let table = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", (200, "abc", true)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", (200, "abc", false)),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", (200, "", false)),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n\r\n", (200, "", true)),
        ("HTTP/1.1 404 \r\n\r\nuntil close", (404, "until close", false)),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", (204, "", true)),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1 ;x=y\r\nc\r\n0 \t\r\nT: x\r\n\r\n",
            (200, "abc", true),
        ),
    ];
    for (text, (status, body, keeps_alive)) in table {
        assert_eq!(body_of(text), Ok((status, body.to_owned(), keeps_alive)), "{text}");
    }
}

#[test]
fn a_head_has_no_body() {
    let answer = read_in("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", 1, "HEAD").unwrap();
    assert_eq!((answer.body.len(), answer.header("content-length")), (0, Some("3")));
}

#[test]
fn protocol_violations_are_reported() {
    let table = [
        ("SSH-2.0-OpenSSH\r\n\r\n", "found \"SSH-2.0-OpenSSH\""),
        ("HTTP/2.0 200 OK\r\n\r\n", "expected a status line"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "closed after 3 of 5 bytes"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc surplus", "followed by 10 more bytes"),
        ("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\na", "content-length: \"+1\""),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na", "\"1, 2\""),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "both"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "instead of its length"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
            "longer than its declared",
        ),
        ("HTTP/1.1 200 OK\r\nNo colon\r\n\r\n", "no colon"),
        ("HTTP/1.1 200 OK\r\nSpace : x\r\n\r\n", "spaces"),
        ("HTTP/1.1 200", "before the headers were complete"),
        ("", "after 0 bytes"),
    ];
    for (text, part) in table {
        let message = body_of(text).expect_err(text);
        assert!(message.contains(part), "{text:?} gives {message:?}, which lacks {part:?}");
    }
}

#[test]
fn an_endless_head_is_given_up() {
    let text = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(100_000));
    let message = read_in(&text, 4096, "GET").expect_err("endless").to_string();
    assert!(message.contains("longer than 65536 bytes"), "{message}");
}

#[test]
fn endless_interim_answers_are_given_up() {
    let text = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(17);
    let message = read_in(&text, 4096, "GET").expect_err("endless").to_string();
    assert!(message.contains("more than 16 interim responses"), "{message}");
    let few = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(16) + "HTTP/1.1 204 No Content\r\n\r\n";
    assert_eq!(read_in(&few, 1, "GET").map(|answer| answer.status).ok(), Some(204));
}

#[test]
fn endless_trailers_are_given_up() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
    let text = head.to_owned() + &"X: y\r\n".repeat(20_000);
    let message = read_in(&text, 4096, "GET").expect_err("endless").to_string();
    assert!(message.contains("trailers are longer than 65536 bytes"), "{message}");
}

/// A server that sends without end: after `beginning` one `piece` per read, with an interrupt after `reads` of them. A
/// reader that ignores the interrupt fails the test instead of hanging it.
struct EndlessServer<'a> {
    beginning: &'a [u8],
    piece: &'a [u8],
    reads: usize,
    asked: &'static AtomicBool,
}

impl Read for EndlessServer<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        assert!(!self.asked.load(Ordering::Relaxed), "read on after the end was asked for");
        self.reads -= 1;
        self.asked.store(self.reads == 0, Ordering::Relaxed);
        let sent = std::mem::replace(&mut self.beginning, self.piece);
        buffer[..sent.len()].copy_from_slice(sent);
        Ok(sent.len())
    }
}

/// The error that ends the reading of an endless answer.
fn drip(beginning: &str, piece: &str, limit: Duration) -> ProbeError {
    let (interrupt, asked) = Interrupt::by_hand();
    let (beginning, piece) = (beginning.as_bytes(), piece.as_bytes());
    let mut stream = EndlessServer { beginning, piece, reads: 10, asked };
    let deadline = ProbeDeadline::after(limit, interrupt);
    Reader::default()
        .answer(&mut stream, &ProbeRequest::new("GET", "/"), &deadline)
        .expect_err("it never ends")
}

#[test]
fn a_dripping_server_is_given_up_and_stopped() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let table = [
        ("HTTP/1.1 200 OK\r\nX: ", "x"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", "x"),
        ("HTTP/1.1 200 OK\r\n\r\n", "x"),
        (chunked, "1\r\nx\r\n"),
        ("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n"),
        (&(chunked.to_owned() + "0\r\n"), "T: x\r\n"),
    ];
    for (beginning, piece) in table {
        let stopped = drip(beginning, piece, Duration::from_secs(60));
        assert!(matches!(stopped, ProbeError::Interrupted), "{beginning:?} then {piece:?}: {stopped}");
        let given_up = drip(beginning, piece, Duration::ZERO);
        assert!(matches!(given_up, ProbeError::TimedOut), "{beginning:?} then {piece:?}: {given_up}");
    }
}

#[test]
fn unsolicited_bytes_without_end_do_not_fill_the_memory() {
    let deadline = ProbeDeadline::after(Duration::from_secs(600), Interrupt::never());
    let rest = Reader::default().until_closed(&mut std::io::repeat(b'x'), &deadline).unwrap();
    assert_eq!(rest.closed_after, None);
    assert!(rest.bytes.len() <= MAX_BODY_BYTES + 4096, "{}", rest.bytes.len());
}
