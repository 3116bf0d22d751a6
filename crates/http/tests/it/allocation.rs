//! In the steady state neither the decoder, the expander nor the frames of WebSocket allocate memory, and a decoder is
//! small.
//!
//! The whole test program runs on the counting allocator, but each thread has its own count, so that parallel tests do
//! not disturb it. `responses.rs` and `templates.rs` check that the decoded and expanded bytes are right.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use paceline_http::websocket::{
    FrameReader, MAX_FRAME_HEAD_BYTES, MessageType, Opcode, WebSocketEvent, write_control, write_message,
};
use paceline_http::{Decoder, Expander, HeadCache, LineFiles, Method, RandomBits, Request, Url};

use crate::observe::feed;

/// The system's allocator, counting this thread's requests.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is forwarded unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    work();
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn a_decoder_is_at_most_64_bytes() {
    assert!(size_of::<Decoder>() <= 64, "{} bytes", size_of::<Decoder>());
}

#[test]
fn nothing_is_allocated_once_heads_of_this_length_were_seen() {
    let first = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nDate: 1\r\n\r\nhello";
    let second = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n";
    let mut decoder = Decoder::new(Method::Other);
    let mut cache = HeadCache::new();
    let mut steps = |bytes: &[u8]| {
        let mut left = bytes;
        while !left.is_empty() || !decoder.is_idle() {
            left = match decoder.whole(&cache, left) {
                Some(whole) => &left[whole.consumed..],
                None => &left[decoder.decode(&mut cache, left).unwrap().1..],
            };
        }
    };
    assert!(allocations(|| steps(first)) > 0, "the counter counts");
    steps(second);
    let count =
        allocations(|| (0..100).for_each(|_| [first.as_slice(), second].into_iter().for_each(&mut steps)));
    assert_eq!(count, 0);
}

#[test]
fn a_head_in_pieces_is_freed_when_complete() {
    let mut decoder = Decoder::new(Method::Other);
    let mut cache = HeadCache::new();
    let mut events = Vec::new();
    assert!(feed(&mut decoder, &mut cache, b"HTTP/1.1 200 OK\r\nContent-", &mut events));
    assert!(format!("{decoder:?}").contains("partial: Some"), "{decoder:?}");
    assert!(feed(&mut decoder, &mut cache, b"Length: 5\r\n\r\nhel", &mut events));
    assert!(format!("{decoder:?}").contains("partial: None"), "{decoder:?}");
}

struct Ones;

impl RandomBits for Ones {
    fn next_bits(&mut self) -> u64 {
        u64::MAX
    }
}

#[test]
fn a_request_is_expanded_without_allocating() {
    let url = Url::parse("http://127.0.0.1/{seq}/{rand:1:100000}").unwrap();
    let body = b"{\"name\": \"{line:names}\"}".to_vec();
    let mut files = LineFiles::default();
    files.add("names", b"ann\nbo\n".to_vec());
    let template = Request { body, ..Request::get(&url) }.compile(&files).unwrap();
    let mut expander = Expander::new(0, 1, Ones, files.count(), std::iter::once(&template));
    let mut bytes = Vec::with_capacity(template.longest());
    let count = allocations(|| {
        for _ in 0..100 {
            bytes.clear();
            expander.expand(&template, &mut bytes);
        }
    });
    assert_eq!(count, 0);
    assert!(bytes.starts_with(b"GET /99/100000 HTTP/1.1\r\n") && bytes.ends_with(b"{\"name\": \"bo\"}"));
}

#[test]
fn websocket_frames_are_read_and_written_without_allocating() {
    let mut reader = FrameReader::default();
    // A message at once, one in fragments with a Ping between them, and a Pong.
    let bytes = b"\x81\x05Hello\x01\x03\xce\xba\xf0\x89\x04ping\x80\x03\x9f\x98\x80\x8a\x00";
    let (mut messages, mut pings) = (0, 0);
    let mut read = |piece_bytes| {
        for mut piece in bytes.chunks(piece_bytes) {
            while !piece.is_empty() {
                let (event, taken) = reader.next(piece).unwrap();
                messages += u32::from(matches!(event, WebSocketEvent::Message { ends: true, .. }));
                pings += u32::from(matches!(event, WebSocketEvent::Ping(b"ping")));
                piece = &piece[taken..];
            }
        }
    };
    assert_eq!(allocations(|| read(bytes.len())), 0, "frames that come at once need no memory");
    assert!(allocations(|| read(1)) > 0, "a control frame in pieces is kept");
    assert_eq!(allocations(|| (0..100).for_each(|_| [1, 7].into_iter().for_each(&mut read))), 0);
    assert_eq!((messages, pings), (404, 202));
    let mut out = Vec::with_capacity(2 * (MAX_FRAME_HEAD_BYTES + 70_000));
    let count = allocations(|| {
        for length in [0, 125, 126, 65_535, 65_536] {
            out.clear();
            write_message(MessageType::Binary, &[7; 65_536][..length], [1, 2, 3, 4], &mut out);
            write_control(Opcode::Pong, b"ping", [1, 2, 3, 4], &mut out);
        }
    });
    assert_eq!((count, out.len()), (0, MAX_FRAME_HEAD_BYTES + 65_536 + 10));
}
