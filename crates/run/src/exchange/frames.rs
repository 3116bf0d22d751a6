//! HTTP/2 read from the bytes of connections: exchanges, and the frames by name (RFC 9113 §6).

use super::message::{Message, exchanges};
use super::websocket_frames::WebSocketFrames;
use paceline_engine::{TapEvent, TapEventKind};
use paceline_http::h2::{
    BlockCache, CLIENT_PREFACE, DecodedFields, FieldDecoder, FrameEvent, FrameReader, HpackDecoder,
    HpackScratch, SettingsPayload,
};
use paceline_job::Nanos;

/// One connection, as both sides see it.
#[derive(Default)]
struct Connection {
    /// Bytes of the client's preface that have been skipped.
    preface: usize,
    sent: FrameReader,
    received: FrameReader,
    request_fields: HpackDecoder,
    response_fields: FieldDecoder,
    cache: BlockCache,
    /// The stream of the current exchange; 0 before the first.
    stream: u32,
}

/// The exchanges over HTTP/2 connections, of which each carries one at a time.
pub(crate) fn over_http2(events: &[TapEvent]) -> Vec<Message> {
    exchanges(events, |connection: &mut Connection, TapEvent { at, kind }, current, others| match kind {
        TapEventKind::Sent(bytes) => connection.sent(bytes, *at, current, others),
        TapEventKind::Received(bytes) => connection.received(bytes, *at, current),
        _ => {}
    })
}

impl Connection {
    /// Reads frames that were sent: HEADERS begin an exchange.
    fn sent(&mut self, bytes: &[u8], at: Nanos, current: &mut Message, exchanges: &mut Vec<Message>) {
        let preface = (CLIENT_PREFACE.len() - self.preface).min(bytes.len());
        self.preface += preface;
        let mut input = &bytes[preface..];
        while !input.is_empty()
            && let Ok((event, taken)) = self.sent.next(input)
        {
            input = &input[taken..];
            if let FrameEvent::FieldBlock { stream, block, .. } = event {
                if current.sent.is_some() {
                    exchanges.push(std::mem::take(current));
                }
                (self.stream, current.sent) = (stream, Some(at));
                // The block was made by Paceline and is valid.
                let _ = self.request_fields.decode(block, &mut HpackScratch::default(), |field| {
                    let line = [field.name, b": ", field.value, b"\r\n"];
                    current.request.extend(line.into_iter().flatten());
                    if field.name == b":protocol" {
                        current.websocket = Some(WebSocketFrames::default());
                    }
                });
                current.request.extend_from_slice(b"\r\n");
            } else if let FrameEvent::Data { piece, .. } = event {
                current.add_sent(piece);
            }
            show(">", &event, current);
        }
    }

    /// Reads received frames. The engine reports what is not HTTP/2.
    fn received(&mut self, bytes: &[u8], at: Nanos, current: &mut Message) {
        let mut input = bytes;
        while !input.is_empty()
            && let Ok((event, taken)) = self.received.next(input)
        {
            input = &input[taken..];
            show("<", &event, current);
            let is_current = |stream| stream == self.stream && current.complete.is_none();
            let ends = match event {
                FrameEvent::FieldBlock { stream, block, end_stream } => {
                    let mut head = Vec::new();
                    let fields = self.response_fields.decode_as_text(&mut self.cache, block, &mut head);
                    if !is_current(stream) {
                        continue;
                    }
                    if let Ok(DecodedFields::Response(response)) = fields
                        && response.status >= 200
                    {
                        (current.status, current.coding, current.head) =
                            (response.status, response.coding, head);
                        current.grpc_status_in_head = response.grpc.status;
                    } else if let Ok(DecodedFields::Trailers(status)) = fields {
                        (current.trailers, current.grpc_status_at_end) = (head, status);
                    }
                    end_stream
                }
                FrameEvent::Data { stream, piece, end_stream, .. } if is_current(stream) => {
                    current.add_received(piece);
                    end_stream
                }
                _ => continue,
            };
            current.first_byte.get_or_insert(at);
            current.complete = ends.then_some(at);
        }
    }
}

/// Adds a frame to those that are shown: with its mark, name and contents.
fn show(mark: &str, event: &FrameEvent<'_>, message: &mut Message) {
    let end = |ends: bool| if ends { ", END_STREAM" } else { "" };
    let text = match *event {
        FrameEvent::NeedMore => return,
        FrameEvent::Data { stream, flow_bytes, end_stream, .. } => {
            format!("DATA stream {stream}, length {flow_bytes}{}", end(end_stream))
        }
        FrameEvent::FieldBlock { stream, block, end_stream } => {
            format!("HEADERS stream {stream}, length {}{}", block.len(), end(end_stream))
        }
        FrameEvent::Reset { stream, code } => format!("RST_STREAM stream {stream}, {code}"),
        FrameEvent::Settings(payload) => format!("SETTINGS{}", settings(payload)),
        FrameEvent::SettingsAck => "SETTINGS, ACK".to_owned(),
        FrameEvent::Ping(_) => "PING".to_owned(),
        FrameEvent::PingAck(_) => "PING, ACK".to_owned(),
        FrameEvent::GoAway { last_stream, code, debug } => {
            let debug = String::from_utf8_lossy(debug);
            format!("GOAWAY last stream {last_stream}, {code} {debug}").trim_end().to_owned()
        }
        FrameEvent::WindowUpdate { stream, increment } => {
            format!("WINDOW_UPDATE stream {stream}, increment {increment}")
        }
    };
    message.add_frame(mark, text);
}

/// The settings by name (RFC 9113 §6.5.2).
fn settings(payload: SettingsPayload<'_>) -> String {
    const NAMES: [&str; 6] = [
        "HEADER_TABLE_SIZE",
        "ENABLE_PUSH",
        "MAX_CONCURRENT_STREAMS",
        "INITIAL_WINDOW_SIZE",
        "MAX_FRAME_SIZE",
        "MAX_HEADER_LIST_SIZE",
    ];
    let named = |(id, value): (u16, u32)| match NAMES.get(usize::from(id).wrapping_sub(1)) {
        Some(name) => format!(" {name}={value}"),
        None => format!(" {id:#x}={value}"),
    };
    payload.iter().map(named).collect()
}
