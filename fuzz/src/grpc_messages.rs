//! Any bytes as the body of a gRPC response: no panic, the same messages however the bytes are cut, and framing them again
//! gives the same bytes. The same bytes as a `grpc-message`: no panic, and a text that is not longer.

use paceline_http::{EventStep, MESSAGE_PREFIX_BYTES, MessageReader, framed_message, status_message};

/// The messages that are complete, the bytes of the last one that is not, and the reader at the end.
fn read(bytes: &[u8], piece_bytes: usize) -> (Vec<Vec<u8>>, Vec<u8>, MessageReader) {
    let (mut reader, mut messages, mut message) = (MessageReader::new(), Vec::new(), Vec::new());
    for mut piece in bytes.chunks(piece_bytes) {
        loop {
            let (step, consumed) = reader.next(piece);
            piece = &piece[consumed..];
            match step {
                EventStep::NeedMore => break,
                EventStep::Data(part) => message.extend_from_slice(part),
                EventStep::End => messages.push(std::mem::take(&mut message)),
            }
        }
        assert!(piece.is_empty(), "NeedMore leaves bytes unread");
    }
    (messages, message, reader)
}

pub fn run(bytes: &[u8]) {
    let whole = read(bytes, bytes.len().max(1));
    for piece_bytes in [1, 7] {
        assert_eq!(whole, read(bytes, piece_bytes));
        let mut counter = MessageReader::new();
        let count: u32 = bytes.chunks(piece_bytes).map(|piece| counter.read(piece)).sum();
        assert_eq!((count as usize, counter), (whole.0.len(), whole.2));
    }
    let (messages, rest, reader) = whole;
    let mut at = 0;
    for message in &messages {
        let frame = framed_message(bytes[at], message);
        assert_eq!(frame, &bytes[at..at + frame.len()]);
        at += frame.len();
    }
    assert_eq!(reader.is_in_message(), at < bytes.len());
    assert_eq!(rest, &bytes[(at + MESSAGE_PREFIX_BYTES).min(bytes.len())..]);
    // A byte that is not UTF-8 becomes a mark of three.
    assert!(status_message(bytes).len() <= 3 * bytes.len());
}
