//! Any bytes as what a WebSocket server sends, from its answer to the handshake or from the first frame: no panic, no
//! loop, and the same events one byte at a time as at once. A message that was read is read again from the frame that a
//! client writes for it, without its mask.

use paceline_http::LineEnds;
use paceline_http::websocket::{
    AnyFrameHead, FrameReader, Handshake, HandshakeError, HandshakeKey, HandshakeStep, MAX_FRAME_HEAD_BYTES,
    MessageType, WebSocketEvent, mask, write_message,
};

/// A bit of the second byte of a frame (RFC 6455 §5.2).
const MASKED: u8 = 0x80;

/// What was read, with the pieces of messages joined.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Open,
    Refused(u16),
    Message(MessageType, Vec<u8>),
    /// Any other event or error, as text.
    Other(String),
}

/// The reader of one connection.
struct Connection {
    /// Until the handshake is done.
    handshake: Option<Handshake>,
    frames: FrameReader,
    message: Vec<u8>,
    seen: Vec<Seen>,
}

impl Connection {
    fn new(is_open: bool) -> Self {
        // The key of RFC 6455 §1.3: the seeds contain its answer.
        let key = HandshakeKey::from_nonce(*b"the sample nonce");
        Self {
            handshake: (!is_open).then(|| Handshake::new(&key, LineEnds::CrLf)),
            frames: FrameReader::default(),
            message: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Reads some of a piece; returns the number of bytes consumed, or none after an error.
    fn read(&mut self, piece: &[u8]) -> Option<usize> {
        let Some(handshake) = &mut self.handshake else { return self.read_frame(piece) };
        match handshake.read(piece, ["chat, v2"].into_iter()) {
            Ok((HandshakeStep::NeedMore, taken)) => {
                assert_eq!(taken, piece.len(), "NeedMore leaves bytes unread");
                Some(taken)
            }
            Ok((HandshakeStep::Open, taken)) => {
                self.handshake = None;
                self.seen.push(Seen::Open);
                Some(taken)
            }
            // How much is shown of what is not HTTP, or of a body, depends on the pieces.
            Err(HandshakeError::Http(_)) => {
                self.seen.push(Seen::Other("not HTTP".to_owned()));
                None
            }
            Err(HandshakeError::Refused { status, .. }) => {
                self.seen.push(Seen::Refused(status));
                None
            }
            Err(error) => {
                self.seen.push(Seen::Other(error.to_string()));
                None
            }
        }
    }

    fn read_frame(&mut self, piece: &[u8]) -> Option<usize> {
        let (event, taken) = match self.frames.next(piece) {
            Ok(read) => read,
            Err(error) => {
                self.seen.push(Seen::Other(format!("{error:?} {}", error.close_code())));
                return None;
            }
        };
        match event {
            WebSocketEvent::NeedMore => assert_eq!(taken, piece.len(), "NeedMore leaves bytes unread"),
            WebSocketEvent::Message { kind, piece, begins, ends } => {
                assert!(!begins || self.message.is_empty(), "a message begins within another one");
                self.message.extend_from_slice(piece);
                if ends {
                    self.seen.push(Seen::Message(kind, std::mem::take(&mut self.message)));
                }
            }
            WebSocketEvent::Ping(_) | WebSocketEvent::Pong(_) | WebSocketEvent::Close { .. } => {
                self.seen.push(Seen::Other(format!("{event:?}")));
            }
        }
        Some(taken)
    }
}

/// The events of a connection whose bytes come in pieces of a size.
fn read(is_open: bool, bytes: &[u8], piece_bytes: usize) -> Vec<Seen> {
    let mut connection = Connection::new(is_open);
    for mut piece in bytes.chunks(piece_bytes) {
        while !piece.is_empty() {
            let Some(taken) = connection.read(piece) else { return connection.seen };
            piece = &piece[taken..];
        }
    }
    let is_between = connection.handshake.is_none() && connection.frames.is_between_messages();
    connection.seen.push(Seen::Other(format!("{:?}, ended: {is_between}", connection.message)));
    connection.seen
}

/// The frame that a client writes for a message, as a server would send it.
fn unmasked_frame(kind: MessageType, payload: &[u8]) -> Vec<u8> {
    let key = [0x37, 0xfa, 0x21, 0x3d];
    let mut frame = Vec::new();
    write_message(kind, payload, key, &mut frame);
    assert_eq!(frame[1] & MASKED, MASKED, "a frame of a client is masked");
    frame[1] &= !MASKED;
    let start = frame.len() - payload.len();
    mask(&mut frame[start..], key);
    frame.drain(start - key.len()..start);
    frame
}

pub fn run(input: (bool, &[u8])) {
    let (is_open, bytes) = input;
    if let Some((_, length)) = AnyFrameHead::read(bytes) {
        assert!((2..=MAX_FRAME_HEAD_BYTES.min(bytes.len())).contains(&length), "a head of {length} bytes");
    }
    let whole = read(is_open, bytes, bytes.len().max(1));
    assert_eq!(read(is_open, bytes, 1), whole);
    assert_eq!(read(is_open, bytes, 7), whole);
    for seen in &whole {
        let Seen::Message(kind, payload) = seen else { continue };
        assert!(*kind != MessageType::Text || std::str::from_utf8(payload).is_ok(), "a text is UTF-8");
        let frame = unmasked_frame(*kind, payload);
        assert_eq!(&read(true, &frame, frame.len())[0], seen);
    }
}
