//! Implements WebSocket frames and the handshake of a client (RFC 6455), without any I/O.
//!
//! [`FrameReader`] reads what a server sends, piece by piece; [`write_message`] and [`write_control`] write masked frames;
//! [`Handshake`] checks the answer to an upgrade request; [`AnyFrameHead`] shows frames, also wrong ones. Messages are
//! never copied or kept. Extensions are not supported: none is offered, so that a server may use none (§9.1).

mod any_head;
mod error;
mod frame;
mod handshake;
mod mask;
mod reader;
mod utf8;

pub use any_head::AnyFrameHead;
pub use error::{CloseCode, WebSocketError};
pub use frame::{MAX_CONTROL_BYTES, MAX_FRAME_HEAD_BYTES, MessageType, Opcode, write_control, write_message};
pub(crate) use handshake::accept_of;
pub use handshake::{Handshake, HandshakeError, HandshakeKey, HandshakeStep, SUBPROTOCOL_FIELD};
pub use mask::mask;
pub use reader::{FrameReader, WebSocketEvent};
