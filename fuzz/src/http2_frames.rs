//! Any bytes as HTTP/2 frames: no panic, no loop, and the same events one byte at a time as at once.
//!
//! The first byte decides whether valid SETTINGS precede the rest, so that the decoder reaches the rest. Field blocks
//! are tested by `http2_fields`.

use paceline_http::h2::{FrameEvent, FrameReader, PeerSettings, write_settings};

/// Events and errors as texts; neighbouring pieces of DATA of one stream are joined.
fn read(bytes: &[u8], piece_bytes: usize) -> Vec<String> {
    let mut reader = FrameReader::default();
    let mut peer = PeerSettings::default();
    let mut events: Vec<String> = Vec::new();
    // Stream, bytes and flow-control bytes of the DATA being joined.
    let mut data: Option<(u32, Vec<u8>, u32)> = None;
    for mut piece in bytes.chunks(piece_bytes) {
        loop {
            let (event, taken) = match reader.next(piece) {
                Ok(read) => read,
                Err(error) => {
                    events.extend(data.take().map(|data| format!("{data:?}")));
                    events.push(format!("{:?} {}", error.code(), error.is_stream_error()));
                    return events;
                }
            };
            if let FrameEvent::Data { stream, piece, flow_bytes, end_stream, .. } = event {
                let joined =
                    data.take().filter(|(same, ..)| *same == stream).unwrap_or((stream, Vec::new(), 0));
                let (stream, mut bytes, flow) = joined;
                bytes.extend_from_slice(piece);
                let flow = flow + flow_bytes;
                if end_stream {
                    events.push(format!("{stream} {bytes:?} {flow} end"));
                } else {
                    data = Some((stream, bytes, flow));
                }
            } else if event == FrameEvent::NeedMore {
                assert_eq!(taken, piece.len(), "NeedMore leaves bytes unread");
                break;
            } else {
                events.extend(data.take().map(|data| format!("{data:?}")));
                events.push(format!("{event:?}"));
                if let FrameEvent::Settings(payload) = event
                    && let Err(error) = peer.apply(payload)
                {
                    events.push(error.to_string());
                }
            }
            piece = &piece[taken..];
        }
    }
    events.push(format!("{data:?} {}", reader.end_of_input().is_ok()));
    events
}

pub fn run(input: (bool, &[u8])) {
    let (has_settings, bytes) = input;
    let mut all = Vec::new();
    if has_settings {
        write_settings(&mut all, &[(3, 100), (4, 1 << 20)]);
    }
    all.extend_from_slice(bytes);
    // DATA of different streams can alternate only between frames, so joining does not depend on the cuts.
    assert_eq!(read(&all, 1), read(&all, all.len().max(1)));
    assert_eq!(read(&all, 7), read(&all, all.len().max(1)));
}
