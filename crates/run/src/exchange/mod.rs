//! Exchanges read from the bytes that passed through a connection: a request with its response.
//!
//! Used where one exchange is looked at closely: `--debug`, and server reflection before a run.

mod frames;
mod message;

pub(crate) use frames::over_http2;
pub(crate) use message::{Message, exchanges, over_http1};
