//! Reads the frames of a server: received bytes in, [`WebSocketEvent`]s out.
//!
//! The same bytes give the same events however they are split, except for the pieces of messages. The reader keeps the
//! head of a frame of which a part has come, a control frame in pieces, and the last bytes of a text that end in the
//! middle of a character: 200 bytes at most.

use super::error::{CloseCode, WebSocketError};
use super::frame::{FIN, LENGTH_16, LENGTH_64, MASKED, MAX_CONTROL_BYTES, MessageType, Opcode, RESERVED};
use super::utf8::Utf8Check;

/// The maximum length of the head of a server's frame, which is not masked.
const MAX_HEAD: usize = 10;

/// The meaning of some received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebSocketEvent<'r> {
    /// All of the input was consumed.
    NeedMore,
    /// A piece of a message, possibly empty. A message in one frame that came at once is one piece.
    Message {
        /// The type of the message.
        kind: MessageType,
        /// The piece.
        piece: &'r [u8],
        /// Whether the message begins with it.
        begins: bool,
        /// Whether the message ends with it.
        ends: bool,
    },
    /// A Ping, to be answered with a Pong of the same payload (RFC 6455 §5.5.2).
    Ping(&'r [u8]),
    /// A Pong.
    Pong(&'r [u8]),
    /// The server closes the connection. Bytes after it are ignored (RFC 6455 §5.5.1).
    Close {
        /// Why; [`CloseCode::NO_STATUS`] if the frame has no code.
        code: CloseCode,
        /// The text in the frame.
        reason: &'r str,
    },
}

/// The head of a frame.
#[derive(Clone, Copy, Debug)]
struct FrameHead {
    opcode: Opcode,
    is_last: bool,
    length: u64,
}

/// The part of the input that the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReaderState {
    /// The head of a frame, of which this many bytes have come.
    Head(u8),
    /// A frame of a message, with this many bytes left.
    Payload { left: u64, is_last: bool },
    /// A control frame, with this many bytes left.
    Control { opcode: Opcode, left: u8 },
    /// After a Close frame.
    Closed,
}

/// The message that is being received.
#[derive(Clone, Copy, Debug)]
struct CurrentMessage {
    kind: MessageType,
    /// Whether no piece of it has been returned.
    begins: bool,
    text: Utf8Check,
}

/// Reads the frames of one connection.
#[derive(Debug)]
pub struct FrameReader {
    state: ReaderState,
    head: [u8; MAX_HEAD],
    message: Option<CurrentMessage>,
    /// A control frame that came in pieces.
    control: Vec<u8>,
}

impl Default for FrameReader {
    fn default() -> Self {
        Self { state: ReaderState::Head(0), head: [0; MAX_HEAD], message: None, control: Vec::new() }
    }
}

impl FrameReader {
    /// Resets to the initial state, and keeps the memory.
    pub fn reset(&mut self) {
        (self.state, self.message) = (ReaderState::Head(0), None);
    }

    /// Whether the input so far ends between two messages: a peer may close the connection here without loss.
    pub fn is_between_messages(&self) -> bool {
        self.message.is_none() && matches!(self.state, ReaderState::Head(0) | ReaderState::Closed)
    }

    /// Whether a part of a message has come, and not its end.
    pub fn is_in_message(&self) -> bool {
        self.message.is_some()
    }

    /// Reads some of `input`; returns the event and the number of bytes consumed. Call it again with the remaining input
    /// until that is empty.
    ///
    /// # Errors
    /// [`WebSocketError`]: the connection must be closed (RFC 6455 §7.1.7).
    pub fn next<'r>(&'r mut self, input: &'r [u8]) -> Result<(WebSocketEvent<'r>, usize), WebSocketError> {
        let mut consumed = 0;
        if let ReaderState::Head(have) = self.state {
            let Some((head, taken)) = self.read_head(have, input)? else {
                return Ok((WebSocketEvent::NeedMore, input.len()));
            };
            self.begin(&head)?;
            consumed = taken;
        }
        let (event, taken) = match self.state {
            ReaderState::Payload { left, is_last } => self.payload(&input[consumed..], left, is_last)?,
            ReaderState::Control { opcode, left } => self.control(&input[consumed..], opcode, left)?,
            ReaderState::Head(_) => (WebSocketEvent::NeedMore, 0),
            ReaderState::Closed => (WebSocketEvent::NeedMore, input.len() - consumed),
        };
        Ok((event, consumed + taken))
    }

    /// The head of the next frame, of which `have` bytes came before, and the number of bytes consumed; none if it is
    /// incomplete, and then all of the input was kept.
    fn read_head(&mut self, have: u8, input: &[u8]) -> Result<Option<(FrameHead, usize)>, WebSocketError> {
        let have = usize::from(have);
        let taken = (MAX_HEAD - have).min(input.len());
        self.head[have..have + taken].copy_from_slice(&input[..taken]);
        let known = &self.head[..have + taken];
        match parse_head(known)? {
            Some((head, length)) => Ok(Some((head, length - have))),
            None => {
                self.state = ReaderState::Head(known.len() as u8);
                Ok(None)
            }
        }
    }

    /// A frame with this head begins.
    fn begin(&mut self, head: &FrameHead) -> Result<(), WebSocketError> {
        let FrameHead { opcode, is_last, length } = *head;
        let kind = match opcode {
            Opcode::Close | Opcode::Ping | Opcode::Pong => {
                self.control.clear();
                self.state = ReaderState::Control { opcode, left: length as u8 };
                return Ok(());
            }
            Opcode::Continuation if self.message.is_none() => return Err(WebSocketError::Continuation),
            Opcode::Continuation => None,
            Opcode::Text => Some(MessageType::Text),
            Opcode::Binary => Some(MessageType::Binary),
        };
        if let Some(kind) = kind {
            if self.message.is_some() {
                return Err(WebSocketError::Interleaved);
            }
            self.message = Some(CurrentMessage { kind, begins: true, text: Utf8Check::default() });
        }
        self.state = ReaderState::Payload { left: length, is_last };
        Ok(())
    }

    /// The next piece of a message.
    fn payload<'r>(
        &mut self,
        input: &'r [u8],
        left: u64,
        is_last: bool,
    ) -> Result<(WebSocketEvent<'r>, usize), WebSocketError> {
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
        // The head of a frame may come alone.
        if taken == 0 && left > 0 {
            return Ok((WebSocketEvent::NeedMore, 0));
        }
        let (piece, left) = (&input[..taken], left - taken as u64);
        self.state = if left == 0 { ReaderState::Head(0) } else { ReaderState::Payload { left, is_last } };
        let ends = left == 0 && is_last;
        let Some(message) = &mut self.message else { return Ok((WebSocketEvent::NeedMore, taken)) };
        let (kind, begins) = (message.kind, std::mem::take(&mut message.begins));
        if kind == MessageType::Text && (!message.text.push(piece) || ends && !message.text.is_complete()) {
            return Err(WebSocketError::Text);
        }
        if ends {
            self.message = None;
        }
        Ok((WebSocketEvent::Message { kind, piece, begins, ends }, taken))
    }

    /// The next part of a control frame.
    fn control<'r>(
        &'r mut self,
        input: &'r [u8],
        opcode: Opcode,
        left: u8,
    ) -> Result<(WebSocketEvent<'r>, usize), WebSocketError> {
        let taken = usize::from(left).min(input.len());
        let left = left - taken as u8;
        if left > 0 || !self.control.is_empty() {
            self.control.extend_from_slice(&input[..taken]);
        }
        if left > 0 {
            self.state = ReaderState::Control { opcode, left };
            return Ok((WebSocketEvent::NeedMore, taken));
        }
        self.state = if opcode == Opcode::Close { ReaderState::Closed } else { ReaderState::Head(0) };
        let payload = if self.control.is_empty() { &input[..taken] } else { &self.control };
        let event = match opcode {
            Opcode::Ping => WebSocketEvent::Ping(payload),
            Opcode::Close => read_close(payload)?,
            _ => WebSocketEvent::Pong(payload),
        };
        Ok((event, taken))
    }
}

/// The head at the start of `bytes` and its length; none if it is incomplete.
fn parse_head(bytes: &[u8]) -> Result<Option<(FrameHead, usize)>, WebSocketError> {
    let &[first, ref rest @ ..] = bytes else { return Ok(None) };
    if first & RESERVED != 0 {
        return Err(WebSocketError::ReservedBit(first));
    }
    let opcode = Opcode::from_number(first & 0x0f).ok_or(WebSocketError::Opcode(first & 0x0f))?;
    let is_last = first & FIN != 0;
    if opcode.is_control() && !is_last {
        return Err(WebSocketError::ControlFragment);
    }
    let &[second, ref rest @ ..] = rest else { return Ok(None) };
    if second & MASKED != 0 {
        return Err(WebSocketError::Masked);
    }
    let (length, shortest, taken) = match (second, rest) {
        (LENGTH_16, [a, b, ..]) => (u64::from(u16::from_be_bytes([*a, *b])), u64::from(LENGTH_16), 4),
        (LENGTH_64, rest) => match rest.first_chunk::<8>() {
            Some(length) => (u64::from_be_bytes(*length), 1 << 16, 10),
            None => return Ok(None),
        },
        (LENGTH_16, _) => return Ok(None),
        (length, _) => (u64::from(length), 0, 2),
    };
    if length > i64::MAX as u64 {
        return Err(WebSocketError::Length);
    }
    if length < shortest {
        return Err(WebSocketError::LengthForm(length));
    }
    if opcode.is_control() && length > MAX_CONTROL_BYTES as u64 {
        return Err(WebSocketError::ControlTooLong(length));
    }
    Ok(Some((FrameHead { opcode, is_last, length }, taken)))
}

/// The code and the reason in a Close frame (RFC 6455 §5.5.1).
fn read_close(payload: &[u8]) -> Result<WebSocketEvent<'_>, WebSocketError> {
    let (code, reason) = match payload {
        [] => return Ok(WebSocketEvent::Close { code: CloseCode::NO_STATUS, reason: "" }),
        [_] => return Err(WebSocketError::CloseLength),
        [high, low, reason @ ..] => (CloseCode(u16::from_be_bytes([*high, *low])), reason),
    };
    if !code.may_be_sent() {
        return Err(WebSocketError::CloseCode(code.0));
    }
    let reason = std::str::from_utf8(reason).map_err(|_| WebSocketError::CloseReason)?;
    Ok(WebSocketEvent::Close { code, reason })
}
