//! Exchanges read from the bytes that passed through a connection: a request with its response.
//!
//! Used where one exchange is looked at closely: `--debug`, and server reflection before a run.

mod frame_lines;
mod frames;
mod message;
mod websocket;
mod websocket_frames;

pub(crate) use frames::over_http2;
pub(crate) use message::{Message, exchanges, over_http1};
pub(crate) use websocket::over_websocket;
