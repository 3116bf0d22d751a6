//! Any bytes as the stream of an HTTP/3 response, of a server's control stream, or of its QPACK decoder: no panic, no
//! loop, and the same events one byte at a time as at once. Field sections are decoded, and a section that is
//! recognised has the same contents.

use paceline_http::h3::{
    DecoderStreamReader, FrameEvent, FrameReader, QpackScratch, SectionDecoder, decode_section,
};

/// Events and errors as texts; neighbouring pieces of DATA are joined.
fn read(mut reader: FrameReader, bytes: &[u8], piece_bytes: usize) -> Vec<String> {
    let mut events: Vec<String> = Vec::new();
    let mut data: Vec<u8> = Vec::new();
    let mut sections = SectionDecoder::default();
    for mut piece in bytes.chunks(piece_bytes) {
        while !piece.is_empty() {
            let (event, taken) = match reader.next(piece) {
                Ok(read) => read,
                Err(error) => {
                    events.push(format!("{data:?} {error:?} {:?}", error.code()));
                    return events;
                }
            };
            match event {
                FrameEvent::NeedMore => assert_eq!(taken, piece.len(), "NeedMore leaves bytes unread"),
                FrameEvent::Data { piece, end_frame } => {
                    data.extend_from_slice(piece);
                    if end_frame {
                        events.push(format!("{:?}", std::mem::take(&mut data)));
                    }
                }
                FrameEvent::FieldSection(section) => {
                    check_section(section, &mut sections);
                    events.push(format!("{event:?}"));
                }
                FrameEvent::Settings(_) | FrameEvent::GoAway(_) => events.push(format!("{event:?}")),
            }
            piece = &piece[taken..];
        }
    }
    events.push(format!("{data:?} {}", reader.end().is_ok()));
    events
}

fn check_section(section: &[u8], sections: &mut SectionDecoder) {
    let first = sections.decode(section);
    assert_eq!(sections.decode(section), first, "a section that is recognised");
    assert_eq!(sections.decode_as_text(section, &mut Vec::new()), first, "a section as text");
    let coded = decode_section(section, &mut QpackScratch::default(), |_| {});
    match (first, coded) {
        (Err(error), Ok(_)) => assert!(error.is_stream_error(), "{error}"),
        (Err(error), Err(_)) => assert!(!error.is_stream_error(), "{error}"),
        (Ok(_), coded) => assert!(coded.is_ok(), "{coded:?}"),
    }
}

/// Whether a server's QPACK decoder may send these bytes.
fn may_be_of_decoder(bytes: &[u8], piece_bytes: usize) -> bool {
    let mut reader = DecoderStreamReader::default();
    bytes.chunks(piece_bytes).all(|piece| reader.read(piece).is_ok())
}

pub fn run(input: (bool, &[u8])) {
    let (is_control, bytes) = input;
    let reader = || if is_control { FrameReader::control() } else { FrameReader::request() };
    let whole = read(reader(), bytes, bytes.len().max(1));
    assert_eq!(read(reader(), bytes, 1), whole);
    assert_eq!(read(reader(), bytes, 7), whole);
    let whole = may_be_of_decoder(bytes, bytes.len().max(1));
    assert_eq!(may_be_of_decoder(bytes, 1), whole);
    assert_eq!(may_be_of_decoder(bytes, 7), whole);
    if whole {
        // Each instruction cancels a stream (RFC 9204 section 4.4.2).
        assert!(bytes.first().is_none_or(|byte| byte & 0xc0 == 0x40));
    }
}
