//! The handshake of a client (RFC 6455 §4.1): the key, and the check of the answer.
//!
//! The request is a template without its last line, `Sec-WebSocket-Key` ([`crate::Request::compile_upgrade`]): the caller
//! appends a key that it has drawn for the connection.

use crate::h1::{DecodeStep, Decoder, HeadCache, LineEnds, ProtocolError, members, read_head};
use crate::{MAX_HEAD_BYTES, MAX_INTERIM_RESPONSES, Method};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use sha1::{Digest as _, Sha1};

/// The text that is appended to a key (§1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The length of a key in base64.
const KEY_LENGTH: usize = 24;
/// The length of its answer in base64.
const ACCEPT_LENGTH: usize = 28;
/// The maximum number of bytes shown of the body of a refusal.
const MAX_SHOWN: usize = 120;

/// The field with the subprotocols that a client offers, and with the one that the server has chosen (§11.3.4).
pub const SUBPROTOCOL_FIELD: &str = "Sec-WebSocket-Protocol";

/// The key of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeKey([u8; KEY_LENGTH]);

impl HandshakeKey {
    /// The key for a nonce that is drawn for each connection (§4.1).
    pub fn from_nonce(nonce: [u8; 16]) -> Self {
        let mut key = [0; KEY_LENGTH];
        // 16 bytes fill exactly 24 characters.
        let _ = BASE64_STANDARD.encode_slice(nonce, &mut key);
        Self(key)
    }

    /// Its text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The value of `Sec-WebSocket-Accept` that answers it (§4.2.2).
    pub fn accept(&self) -> [u8; ACCEPT_LENGTH] {
        accept_of(&self.0)
    }
}

/// The value of `Sec-WebSocket-Accept` that answers a key.
pub(crate) fn accept_of(key: &[u8]) -> [u8; ACCEPT_LENGTH] {
    let digest = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    let mut accept = [0; ACCEPT_LENGTH];
    // 20 bytes fill exactly 28 characters.
    let _ = BASE64_STANDARD.encode_slice(digest, &mut accept);
    accept
}

/// Why a handshake failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// Another status than 101.
    #[error("status {status} instead of 101{}", shown_body(body))]
    Refused {
        /// The status.
        status: u16,
        /// The beginning of its body.
        body: String,
    },
    /// The answer is not HTTP.
    #[error(transparent)]
    Http(#[from] ProtocolError),
    /// The answer does not change to WebSocket.
    #[error("status 101 without \"Upgrade: websocket\" and \"Connection: Upgrade\"")]
    NoUpgrade,
    /// The key was not answered.
    #[error("status 101 without Sec-WebSocket-Accept")]
    NoAccept,
    /// The key was answered wrongly.
    #[error("Sec-WebSocket-Accept is {found:?}, which does not answer the key")]
    Accept {
        /// The value.
        found: String,
    },
    /// An extension that was not offered.
    #[error("the server uses the extension {found:?}, which was not offered")]
    Extension {
        /// The value of `Sec-WebSocket-Extensions`.
        found: String,
    },
    /// A subprotocol that was not offered.
    #[error("the server has chosen the subprotocol {found:?}, which was not offered")]
    Subprotocol {
        /// Its name.
        found: String,
    },
}

fn shown_body(body: &str) -> String {
    if body.is_empty() { String::new() } else { format!(", body \"{body}\"") }
}

/// The result of one [`Handshake::read`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeStep {
    /// All of the input was consumed.
    NeedMore,
    /// The connection is open: frames follow.
    Open,
}

/// What has come of the answer.
#[derive(Debug)]
enum AnswerState {
    /// A part of a head.
    Head(Vec<u8>),
    /// The head of a refusal; the beginning of its body follows.
    Refused { status: u16, decoder: Box<Decoder> },
}

/// Reads the answer to an upgrade request.
#[derive(Debug)]
pub struct Handshake {
    accept: [u8; ACCEPT_LENGTH],
    line_ends: LineEnds,
    state: AnswerState,
    interims: u8,
}

impl Handshake {
    /// The handshake of a connection with this key.
    pub fn new(key: &HandshakeKey, line_ends: LineEnds) -> Self {
        Self { accept: key.accept(), line_ends, state: AnswerState::Head(Vec::new()), interims: 0 }
    }

    /// The status with which the server has refused, if it has.
    pub fn refused_with(&self) -> Option<u16> {
        match self.state {
            AnswerState::Refused { status, .. } => Some(status),
            AnswerState::Head(_) => None,
        }
    }

    /// Reads some of `input`; returns the step and the number of bytes consumed. `offered` are the values of the fields
    /// [`SUBPROTOCOL_FIELD`] of the request.
    ///
    /// # Errors
    /// [`HandshakeError`]: the connection cannot be used.
    pub fn read<'o>(
        &mut self,
        input: &[u8],
        offered: impl Iterator<Item = &'o str> + Clone,
    ) -> Result<(HandshakeStep, usize), HandshakeError> {
        let mut consumed = 0;
        loop {
            let AnswerState::Head(head) = &mut self.state else {
                self.read_refusal(&input[consumed..])?;
                return Ok((HandshakeStep::NeedMore, input.len()));
            };
            let before = head.len();
            let room = MAX_HEAD_BYTES - before;
            head.extend_from_slice(&input[consumed..][..room.min(input.len() - consumed)]);
            Decoder::check_start(head)?;
            let Some((status, length)) = read_head(head, before, self.line_ends)? else {
                if head.len() == MAX_HEAD_BYTES {
                    return Err(ProtocolError::HeadTooLarge { limit: MAX_HEAD_BYTES }.into());
                }
                return Ok((HandshakeStep::NeedMore, input.len()));
            };
            match status {
                101 => {
                    check_upgrade(&head[..length], &self.accept, offered)?;
                    self.state = AnswerState::Head(Vec::new());
                    return Ok((HandshakeStep::Open, consumed + length - before));
                }
                100..=199 => {
                    self.interims += 1;
                    if self.interims > MAX_INTERIM_RESPONSES {
                        return Err(ProtocolError::TooManyInterim { limit: MAX_INTERIM_RESPONSES }.into());
                    }
                    head.clear();
                    consumed += length - before;
                }
                status => {
                    let mut decoder = Box::new(Decoder::new(Method::Other).with_line_ends(self.line_ends));
                    let head = std::mem::take(head);
                    decoder.decode(&mut HeadCache::new(), &head[..length])?;
                    self.state = AnswerState::Refused { status, decoder };
                    consumed += length - before;
                }
            }
        }
    }

    /// Reads the beginning of the body of a refusal.
    fn read_refusal(&mut self, input: &[u8]) -> Result<(), HandshakeError> {
        let AnswerState::Refused { status, decoder } = &mut self.state else { return Ok(()) };
        let mut rest = input;
        loop {
            let (step, taken) = decoder.decode(&mut HeadCache::new(), rest)?;
            rest = &rest[taken..];
            let body = match step {
                DecodeStep::Body(piece) => shown(piece),
                DecodeStep::End => String::new(),
                DecodeStep::NeedMore => return Ok(()),
                DecodeStep::Interim(_) | DecodeStep::Head(_) => continue,
            };
            return Err(HandshakeError::Refused { status: *status, body });
        }
    }
}

/// Checks the fields of an answer with status 101 (§4.1).
fn check_upgrade<'o>(
    head: &[u8],
    accept: &[u8],
    mut offered: impl Iterator<Item = &'o str>,
) -> Result<(), HandshakeError> {
    let all = |name| fields(head, name);
    let has = |name, token: &[u8]| {
        all(name).any(|value| members(value).any(|member| member.eq_ignore_ascii_case(token)))
    };
    if !has("Upgrade", b"websocket") || !has("Connection", b"upgrade") {
        return Err(HandshakeError::NoUpgrade);
    }
    let mut accepts = all("Sec-WebSocket-Accept").peekable();
    if accepts.peek().is_none() {
        return Err(HandshakeError::NoAccept);
    }
    if let Some(wrong) = accepts.find(|value| *value != accept) {
        return Err(HandshakeError::Accept { found: shown(wrong) });
    }
    if let Some(found) = all("Sec-WebSocket-Extensions").find(|value| !value.is_empty()) {
        return Err(HandshakeError::Extension { found: shown(found) });
    }
    if let Some(chosen) = all(SUBPROTOCOL_FIELD).next()
        && !offered.any(|value| members(value.as_bytes()).any(|member| member == chosen))
    {
        return Err(HandshakeError::Subprotocol { found: shown(chosen) });
    }
    Ok(())
}

/// The values of the fields of a name in a valid head.
fn fields<'h>(head: &'h [u8], name: &'static str) -> impl Iterator<Item = &'h [u8]> {
    head.split(|byte| *byte == b'\n').filter_map(move |line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (given, value) = line.split_at(colon);
        given.eq_ignore_ascii_case(name.as_bytes()).then(|| value[1..].trim_ascii())
    })
}

/// The beginning of some bytes, printable on one line.
fn shown(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(MAX_SHOWN)].trim_ascii().escape_ascii().to_string()
}
