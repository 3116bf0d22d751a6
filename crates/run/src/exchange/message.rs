//! A request with its response, and HTTP/1.1 read from the bytes of connections.

use super::frame_lines::push_frame;
use super::websocket_frames::WebSocketFrames;
use paceline_engine::{TapEvent, TapEventKind};
use paceline_http::{ContentCoding, DecodeStep, Decoder, GrpcCode, HeadCache, LineEnds, Method};
use paceline_job::Nanos;

/// Most bytes of a body that are kept.
const MAX_BODY_BYTES: usize = 16 << 20;

/// A request and its response.
#[derive(Debug, Default)]
pub(crate) struct Message {
    /// The request, as text.
    pub request: Vec<u8>,
    /// The head of the response, as text, including its blank line.
    pub head: Vec<u8>,
    pub status: u16,
    pub coding: ContentCoding,
    /// The trailers over HTTP/2 and HTTP/3, as text.
    pub trailers: Vec<u8>,
    /// The body, without framing.
    pub body: Vec<u8>,
    /// `grpc-status` in the trailers.
    pub grpc_status_at_end: Option<GrpcCode>,
    /// `grpc-status` in the head.
    pub grpc_status_in_head: Option<GrpcCode>,
    /// Frames of HTTP/2 or HTTP/3 before and in this exchange.
    pub frames: Vec<String>,
    /// The frames of the WebSocket that the exchange opens, if it does.
    pub websocket: Option<WebSocketFrames>,
    /// When the attempt to connect, the TLS handshake and the use of the connection began, if it was made for this
    /// request.
    pub connecting: Option<Nanos>,
    pub handshake_began: Option<Nanos>,
    pub connected: Option<Nanos>,
    pub sent: Option<Nanos>,
    pub first_byte: Option<Nanos>,
    /// When the response was complete; none if it is not.
    pub complete: Option<Nanos>,
}

/// The exchanges of connections that carry one at a time. `read` reads an event on the state of a connection, into the
/// current exchange; it moves that to the others when a request begins another one.
pub(crate) fn exchanges<C: Default>(
    events: &[TapEvent],
    mut read: impl FnMut(&mut C, &TapEvent, &mut Message, &mut Vec<Message>),
) -> Vec<Message> {
    let (mut others, mut connection, mut current) = (Vec::new(), C::default(), Message::default());
    for event in events {
        if event.kind == TapEventKind::Connecting {
            connection = C::default();
            if current.sent.is_some() {
                others.push(std::mem::take(&mut current));
            }
        }
        current.note(event.at, &event.kind);
        read(&mut connection, event, &mut current, &mut others);
    }
    others.extend(current.sent.is_some().then_some(current));
    others
}

impl Message {
    /// The status of gRPC, in the trailers or, in a response without a body, in the head.
    pub fn grpc_status(&self) -> Option<GrpcCode> {
        self.grpc_status_at_end.or(self.grpc_status_in_head)
    }

    /// Adds bytes of the body.
    pub fn add_body(&mut self, piece: &[u8]) {
        let room = MAX_BODY_BYTES - self.body.len().min(MAX_BODY_BYTES);
        self.body.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    /// Adds bytes of DATA that were received: of the body, or of a WebSocket that is open.
    pub fn add_received(&mut self, piece: &[u8]) {
        match &mut self.websocket {
            Some(frames) if self.status / 100 == 2 => frames.received(piece),
            _ => self.add_body(piece),
        }
    }

    /// Adds bytes of DATA that were sent: of the body, or of a WebSocket.
    pub fn add_sent(&mut self, piece: &[u8]) {
        match &mut self.websocket {
            Some(frames) => frames.sent(piece),
            None => self.request.extend_from_slice(piece),
        }
    }

    /// Adds a frame to those that are shown, after a mark for its direction.
    pub fn add_frame(&mut self, mark: &str, text: String) {
        push_frame(&mut self.frames, mark, text);
    }

    /// Notes an event of its connection other than bytes.
    pub fn note(&mut self, at: Nanos, kind: &TapEventKind) {
        match kind {
            TapEventKind::Connecting => self.connecting = Some(at),
            TapEventKind::Connected { handshake_began } => {
                (self.connected, self.handshake_began) = (Some(at), *handshake_began);
            }
            TapEventKind::Sent(_)
            | TapEventKind::Received(_)
            | TapEventKind::Ended
            | TapEventKind::Stream { .. }
            | TapEventKind::StreamEnded { .. }
            | TapEventKind::ConnectionClosed { .. } => {}
        }
    }
}

/// The exchanges over HTTP/1.1 connections, of which each carries one at a time.
pub(crate) fn over_http1(events: &[TapEvent], line_ends: LineEnds) -> Vec<Message> {
    let mut exchanges = Vec::new();
    let mut current = Message::default();
    let mut decoder = Decoder::new(Method::Other).with_line_ends(line_ends);
    for TapEvent { at, kind } in events {
        let is_next = match kind {
            TapEventKind::Connecting => current.sent.is_some(),
            TapEventKind::Sent(_) => current.complete.is_some(),
            _ => false,
        };
        if is_next {
            exchanges.push(std::mem::take(&mut current));
        }
        current.note(*at, kind);
        match kind {
            TapEventKind::Sent(bytes) => {
                if current.sent.is_none() {
                    let method = if bytes.starts_with(b"HEAD ") { Method::Head } else { Method::Other };
                    decoder = Decoder::new(method).with_line_ends(line_ends);
                    current.sent = Some(*at);
                }
                current.request.extend_from_slice(bytes);
            }
            TapEventKind::Received(bytes) if current.complete.is_none() => {
                current.first_byte.get_or_insert(*at);
                if decode(&mut decoder, bytes, &mut current) {
                    current.complete = Some(*at);
                }
            }
            TapEventKind::Ended if current.complete.is_none() => {
                current.complete = matches!(decoder.end_of_input(), Ok(true)).then_some(*at);
            }
            _ => {}
        }
    }
    exchanges.extend(current.sent.is_some().then_some(current));
    exchanges
}

/// Reads bytes of a response; returns whether they complete it.
pub(super) fn decode(decoder: &mut Decoder, mut input: &[u8], message: &mut Message) -> bool {
    let mut cache = HeadCache::new();
    // The engine reports what is not HTTP.
    while let Ok((step, taken)) = decoder.decode(&mut cache, input) {
        let (bytes, rest) = input.split_at(taken);
        input = rest;
        match step {
            DecodeStep::NeedMore => {
                if message.status == 0 {
                    message.head.extend_from_slice(bytes);
                }
                return false;
            }
            DecodeStep::Interim(_) => message.head.clear(),
            DecodeStep::Head(head) => {
                message.head.extend_from_slice(bytes);
                (message.status, message.coding) = (head.status, head.coding);
            }
            DecodeStep::Body(piece) => message.add_body(piece),
            DecodeStep::End => return true,
        }
    }
    false
}
