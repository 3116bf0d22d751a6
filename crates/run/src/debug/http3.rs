//! HTTP/3 read from the bytes of QUIC's streams: exchanges, and the frames by name (RFC 9114 §7).

use crate::exchange::{Message, exchanges};
use paceline_engine::{Direction, TapEvent, TapEventKind};
use paceline_http::h2::DecodedFields;
use paceline_http::h3::{
    FrameEvent, FrameReader, QpackScratch, SectionDecoder, StreamKind, StreamKindReader, decode_section,
};
use paceline_job::Nanos;
use std::collections::HashMap;

/// The two lowest bits of the id of a stream for requests, which the client opens for both directions (RFC 9000 §2.1).
const REQUEST_STREAM: u64 = 0;

/// One connection, as both sides see it.
#[derive(Default)]
struct Connection {
    /// Of streams for requests, by direction.
    frames: HashMap<(u64, bool), FrameReader>,
    /// Of streams in one direction.
    control: HashMap<u64, ControlStream>,
    sections: SectionDecoder,
    /// The stream of the current exchange.
    stream: Option<u64>,
}

/// A stream in one direction.
struct ControlStream {
    kind: StreamKindReader,
    known: Option<StreamKind>,
    frames: FrameReader,
}

/// The exchanges over HTTP/3 connections, of which each carries one at a time.
pub(super) fn over_http3(events: &[TapEvent]) -> Vec<Message> {
    exchanges(events, |connection: &mut Connection, TapEvent { at, kind }, current, others| match kind {
        TapEventKind::Stream { direction, id, bytes } if id % 4 != REQUEST_STREAM => {
            connection.control(mark(*direction), *id, bytes, current);
        }
        TapEventKind::Stream { direction: Direction::Sent, id, bytes } => {
            connection.sent(*id, bytes, *at, current, others);
        }
        TapEventKind::Stream { direction: Direction::Received, id, bytes } => {
            connection.received(*id, bytes, *at, current);
        }
        TapEventKind::StreamEnded { id } if connection.stream == Some(*id) => {
            current.first_byte.get_or_insert(*at);
            current.complete.get_or_insert(*at);
        }
        _ => {}
    })
}

impl Connection {
    /// Reads frames that were sent: HEADERS begin an exchange.
    fn sent(
        &mut self,
        id: u64,
        bytes: &[u8],
        at: Nanos,
        current: &mut Message,
        exchanges: &mut Vec<Message>,
    ) {
        let reader = self.frames.entry((id, true)).or_insert_with(FrameReader::request);
        let mut input = bytes;
        while !input.is_empty()
            && let Ok((event, taken)) = reader.next(input)
        {
            input = &input[taken..];
            if let FrameEvent::FieldSection(section) = event {
                if current.sent.is_some() {
                    exchanges.push(std::mem::take(current));
                }
                (self.stream, current.sent) = (Some(id), Some(at));
                // The section was made by Paceline and is valid.
                let _ = decode_section(section, &mut QpackScratch::default(), |field| {
                    let line = [field.name, b": ", field.value, b"\r\n"];
                    current.request.extend(line.into_iter().flatten());
                });
                current.request.extend_from_slice(b"\r\n");
            } else if let FrameEvent::Data { piece, .. } = event {
                current.request.extend_from_slice(piece);
            }
            show(">", id, &event, current);
        }
    }

    /// Reads received frames of a response. The engine reports what is not HTTP/3.
    fn received(&mut self, id: u64, bytes: &[u8], at: Nanos, current: &mut Message) {
        let reader = self.frames.entry((id, false)).or_insert_with(FrameReader::request);
        let mut input = bytes;
        while !input.is_empty()
            && let Ok((event, taken)) = reader.next(input)
        {
            input = &input[taken..];
            show("<", id, &event, current);
            if self.stream != Some(id) || current.complete.is_some() {
                continue;
            }
            current.first_byte.get_or_insert(at);
            match event {
                FrameEvent::FieldSection(section) => {
                    let mut head = Vec::new();
                    if let Ok(DecodedFields::Response(response)) =
                        self.sections.decode_as_text(section, &mut head)
                        && response.status >= 200
                    {
                        (current.status, current.coding, current.head) =
                            (response.status, response.coding, head);
                    }
                }
                FrameEvent::Data { piece, .. } => current.add_body(piece),
                FrameEvent::NeedMore | FrameEvent::Settings(_) | FrameEvent::GoAway(_) => {}
            }
        }
    }

    /// Reads a stream in one direction.
    fn control(&mut self, mark: &str, id: u64, mut input: &[u8], current: &mut Message) {
        let stream = self.control.entry(id).or_insert_with(|| ControlStream {
            kind: StreamKindReader::default(),
            known: None,
            frames: FrameReader::control(),
        });
        if stream.known.is_none() {
            let (kind, taken) = stream.kind.next(input);
            (stream.known, input) = (kind, &input[taken..]);
            match kind {
                None | Some(StreamKind::Control) => {}
                Some(StreamKind::Push) => current.add_frame(mark, format!("push stream {id}")),
                Some(StreamKind::Encoder) => current.add_frame(mark, format!("QPACK encoder stream {id}")),
                Some(StreamKind::Decoder) => current.add_frame(mark, format!("QPACK decoder stream {id}")),
                Some(StreamKind::Unknown(kind)) => {
                    current.add_frame(mark, format!("stream {id} of unknown type {kind:#x}"));
                }
            }
        }
        while stream.known == Some(StreamKind::Control)
            && !input.is_empty()
            && let Ok((event, taken)) = stream.frames.next(input)
        {
            input = &input[taken..];
            show(mark, id, &event, current);
        }
    }
}

fn mark(direction: Direction) -> &'static str {
    match direction {
        Direction::Sent => ">",
        Direction::Received => "<",
    }
}

/// Adds a frame to those that are shown: with its mark, name and contents.
fn show(mark: &str, id: u64, event: &FrameEvent<'_>, message: &mut Message) {
    message.add_frame(
        mark,
        match *event {
            FrameEvent::NeedMore => return,
            FrameEvent::Data { piece, .. } => format!("DATA stream {id}, length {}", piece.len()),
            FrameEvent::FieldSection(section) => format!("HEADERS stream {id}, length {}", section.len()),
            FrameEvent::Settings(settings) => {
                let named = |(id, value)| match id {
                    1 => format!(" QPACK_MAX_TABLE_CAPACITY={value}"),
                    6 => format!(" MAX_FIELD_SECTION_SIZE={value}"),
                    7 => format!(" QPACK_BLOCKED_STREAMS={value}"),
                    8 => format!(" ENABLE_CONNECT_PROTOCOL={value}"),
                    0x33 => format!(" H3_DATAGRAM={value}"),
                    id => format!(" {id:#x}={value}"),
                };
                format!("SETTINGS{}", settings.iter().map(named).collect::<String>())
            }
            FrameEvent::GoAway(first) => format!("GOAWAY first stream {first}"),
        },
    );
}
