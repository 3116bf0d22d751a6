//! Any bytes as a streamed body: no panic, the same events however the bytes are cut, and never more data than bytes.

use paceline_http::{EventFormat, EventReader, EventStep};

/// The number of events, their data, and whether the body ends in the middle of one.
fn read(format: EventFormat, bytes: &[u8], piece_bytes: usize) -> (usize, Vec<u8>, bool) {
    let (mut reader, mut events, mut data) = (EventReader::new(format), 0, Vec::new());
    for mut piece in bytes.chunks(piece_bytes) {
        loop {
            let (step, consumed) = reader.next(piece);
            piece = &piece[consumed..];
            match step {
                EventStep::NeedMore => break,
                EventStep::Data(part) => data.extend_from_slice(part),
                EventStep::End => events += 1,
            }
        }
        assert!(piece.is_empty());
    }
    // Blanks at the start of a line are left out if they come alone.
    data.retain(|byte| !matches!(byte, b' ' | b'\t' | b'\r') || format == EventFormat::ServerSent);
    (events, data, reader.is_in_event())
}

pub fn run(bytes: &[u8]) {
    for format in [EventFormat::ServerSent, EventFormat::Lines, EventFormat::Chunks] {
        let whole = read(format, bytes, bytes.len().max(1));
        assert_eq!(whole, read(format, bytes, 1));
        assert_eq!(whole, read(format, bytes, 7));
        assert!(whole.1.len() <= bytes.len() && whole.0 <= bytes.len());
    }
}
