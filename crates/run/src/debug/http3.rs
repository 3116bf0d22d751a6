//! HTTP/3 read from the bytes of QUIC's streams: exchanges, and the frames by name (RFC 9114 §7).

use crate::exchange::{Message, exchanges};
use paceline_engine::{Direction, StreamEnd, TapEvent, TapEventKind};
use paceline_http::h2::DecodedFields;
use paceline_http::h3::{
    ErrorCode, FrameEvent, FrameReader, QpackScratch, SectionDecoder, StreamKind, StreamKindReader,
    decode_section,
};
use paceline_job::Nanos;
use std::collections::HashMap;

/// The two lowest bits of the id of a stream for requests, which the client opens for both directions (RFC 9000 §2.1).
const REQUEST_STREAM: u64 = 0;

impl Default for RequestFrames {
    fn default() -> Self {
        Self { reader: FrameReader::request(), data: 0 }
    }
}

/// One connection, as both sides see it.
#[derive(Default)]
struct Connection {
    /// Of streams for requests, by direction.
    frames: HashMap<(u64, Direction), RequestFrames>,
    /// Of streams in one direction.
    control: HashMap<u64, ControlStream>,
    sections: SectionDecoder,
    /// The stream of the current exchange.
    stream: Option<u64>,
}

/// One direction of a stream for requests.
struct RequestFrames {
    reader: FrameReader,
    /// Bytes of the current DATA frame that have come.
    data: u64,
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
        TapEventKind::StreamEnded { direction, id, end } => {
            if !matches!(end, StreamEnd::StopSending(_))
                && let Some(frames @ RequestFrames { data: 1.., .. }) =
                    connection.frames.get_mut(&(*id, *direction))
            {
                let come = std::mem::take(&mut frames.data);
                current.add_frame(mark(*direction), format!("DATA stream {id}, incomplete: {come} bytes"));
            }
            current.add_frame(mark(*direction), shown_end(*id, *end));
            let is_whole = (*direction, *end) == (Direction::Received, StreamEnd::Fin);
            if is_whole && connection.stream == Some(*id) {
                current.first_byte.get_or_insert(*at);
                current.complete.get_or_insert(*at);
            }
        }
        TapEventKind::ConnectionClosed { direction, code, reason } => {
            let reason = String::from_utf8_lossy(reason);
            let text = format!("CONNECTION_CLOSE, {} {reason}", ErrorCode(*code));
            current.add_frame(mark(*direction), text.trim_end().to_owned());
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
        let RequestFrames { reader, data } = self.frames.entry((id, Direction::Sent)).or_default();
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
                let mut line = Vec::new();
                // The section was made by Paceline and is valid.
                let _ = decode_section(section, &mut QpackScratch::default(), |field| {
                    if matches!(field.name, b":method" | b":path") {
                        line.push(String::from_utf8_lossy(field.value).into_owned());
                    }
                    let line = [field.name, b": ", field.value, b"\r\n"];
                    current.request.extend(line.into_iter().flatten());
                });
                current.request.extend_from_slice(b"\r\n");
                let (length, line) = (section.len(), line.join(" "));
                current.add_frame(">", format!("HEADERS stream {id}, length {length}: {line}"));
                continue;
            }
            if let FrameEvent::Data { piece, .. } = event {
                current.request.extend_from_slice(piece);
            }
            show(">", id, &event, data, current);
        }
    }

    /// Reads received frames of a response. The engine reports what is not HTTP/3.
    fn received(&mut self, id: u64, bytes: &[u8], at: Nanos, current: &mut Message) {
        let RequestFrames { reader, data } = self.frames.entry((id, Direction::Received)).or_default();
        let mut input = bytes;
        while !input.is_empty()
            && let Ok((event, taken)) = reader.next(input)
        {
            input = &input[taken..];
            let is_current = self.stream == Some(id) && current.complete.is_none();
            if is_current {
                current.first_byte.get_or_insert(at);
            }
            match event {
                FrameEvent::FieldSection(section) => {
                    received_fields(&mut self.sections, id, section, is_current, current)
                }
                _ => {
                    if let FrameEvent::Data { piece, .. } = event
                        && is_current
                    {
                        current.add_body(piece);
                    }
                    show("<", id, &event, data, current);
                }
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
            show(mark, id, &event, &mut 0, current);
        }
    }
}

/// Reads HEADERS of a response: its head, an interim one, or its trailers.
fn received_fields(
    sections: &mut SectionDecoder,
    id: u64,
    section: &[u8],
    is_current: bool,
    current: &mut Message,
) {
    let mut text = Vec::new();
    let fields = sections.decode_as_text(section, &mut text);
    let what = match &fields {
        Ok(DecodedFields::Response(response)) => format!("status {}", response.status),
        Ok(DecodedFields::Trailers(_)) => "trailers".to_owned(),
        Err(error) => error.to_string(),
    };
    current.add_frame("<", format!("HEADERS stream {id}, length {}: {what}", section.len()));
    match fields {
        Ok(DecodedFields::Response(response)) if is_current && response.status >= 200 => {
            (current.status, current.coding, current.head) = (response.status, response.coding, text);
        }
        Ok(DecodedFields::Trailers(_)) if is_current => current.trailers = text,
        Ok(DecodedFields::Response(_) | DecodedFields::Trailers(_)) | Err(_) => {}
    }
}

fn mark(direction: Direction) -> &'static str {
    match direction {
        Direction::Sent => ">",
        Direction::Received => "<",
    }
}

/// The end of a direction of a stream.
fn shown_end(id: u64, end: StreamEnd) -> String {
    match end {
        StreamEnd::Fin => format!("end of stream {id} (FIN)"),
        StreamEnd::Reset(code) => format!("RESET_STREAM stream {id}, {}", ErrorCode(code)),
        StreamEnd::StopSending(code) => format!("STOP_SENDING stream {id}, {}", ErrorCode(code)),
    }
}

/// Adds a frame to those that are shown: with its mark, name and contents.
fn show(mark: &str, id: u64, event: &FrameEvent<'_>, data: &mut u64, message: &mut Message) {
    message.add_frame(
        mark,
        match *event {
            FrameEvent::NeedMore => return,
            FrameEvent::Data { piece, end_frame } => {
                *data += piece.len() as u64;
                if !end_frame {
                    return;
                }
                format!("DATA stream {id}, length {}", std::mem::take(data))
            }
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
