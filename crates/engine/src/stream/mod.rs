//! Defines streams: responses whose bodies are sequences of events, and when a stream has ended as asked.
//!
//! Made from a job by `crates/run`. `hot/streams.rs` keeps the state of the streams in flight; the framing of events is
//! in `paceline_http`.

mod examples;
mod json_place;
mod message_time;
mod text_search;

pub use examples::{EventTimes, StreamExample, StreamExamples, StreamGap, StreamMoments};
pub(crate) use examples::{StreamWatch, WatchPlace};
pub use json_place::{JsonPlace, JsonScalar, is_json};
pub use message_time::MessageTime;
pub use text_search::TextSearch;

use crate::Nanos;
use crate::grpc::{CallCheck, CallFault};
use paceline_http::EventFormat;
use paceline_stats::counted;
use std::fmt;

/// The maximum length of an event whose content is needed, in bytes: enough for any token or document, and a bound to
/// the memory of each stream.
pub const MAX_EVENT_BYTES: usize = 1 << 20;

/// How the responses to one kind of request are read as streams.
#[derive(Clone, Debug)]
pub struct StreamPlan {
    /// How the body is divided into events.
    pub format: EventFormat,
    /// Whether each event must be JSON.
    pub must_be_json: bool,
    /// The stream has ended as asked after this many events.
    pub events: Option<u64>,
    /// It has ended as asked this long after its head came.
    pub length: Option<Nanos>,
    /// It has ended as asked with the event that contains this text.
    pub until: Option<TextSearch>,
    /// The place of a number in each event that is added up.
    pub count: Option<JsonPlace>,
    /// The time that each event carries, from which its delay is computed.
    pub time: Option<MessageTime>,
    /// How the call is judged that has these messages in its response.
    pub call: Option<CallCheck>,
}

impl StreamPlan {
    /// Whether Paceline ends the stream; if not, the server's end is the one that was asked for.
    pub fn has_end(&self) -> bool {
        self.events.is_some() || self.length.is_some() || self.until.is_some()
    }

    /// Whether the content of events is needed.
    pub fn reads_content(&self) -> bool {
        self.must_be_json || self.count.is_some() || self.time.is_some()
    }
}

/// The reason why a stream did not end as asked, although its response was complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamFault {
    /// The server ended it after this many events, before what was asked for.
    EndedEarly(u64),
    /// The server ended it in the middle of an event, after this many whole ones.
    InEvent(u64),
    /// It had no event.
    NoEvent,
    /// The event of this number, from 1, is not JSON.
    NotJson(u64),
    /// The event of this number, from 1, is too long to be read.
    TooLong(u64),
    /// It has a content coding.
    Coded,
    /// The call of gRPC that it belongs to has ended with another status than expected, or without one.
    CallFailed,
    /// Its messages are not as expected.
    Messages(CallFault),
}

impl StreamFault {
    /// Whether the server ended the stream before what was asked for.
    pub fn is_early(&self) -> bool {
        match self {
            StreamFault::EndedEarly(_)
            | StreamFault::InEvent(_)
            | StreamFault::NoEvent
            | StreamFault::CallFailed => true,
            StreamFault::NotJson(_)
            | StreamFault::TooLong(_)
            | StreamFault::Coded
            | StreamFault::Messages(_) => false,
        }
    }
}

impl fmt::Display for StreamFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = |events: u64| counted(events, "event", "events");
        match self {
            StreamFault::EndedEarly(events) => {
                write!(f, "the server ended the stream early, after {}", after(*events))
            }
            StreamFault::InEvent(events) => {
                write!(f, "the server ended the stream in the middle of an event, after {}", after(*events))
            }
            StreamFault::NoEvent => f.write_str("the stream had no event"),
            StreamFault::NotJson(number) => write!(f, "event {number} of the stream is not JSON"),
            StreamFault::TooLong(number) => {
                write!(
                    f,
                    "event {number} of the stream is longer than {MAX_EVENT_BYTES} bytes, too long to be read"
                )
            }
            StreamFault::Coded => f.write_str("the stream is compressed, so that its events cannot be read"),
            StreamFault::CallFailed => f.write_str("the call failed"),
            StreamFault::Messages(fault) => fault.fmt(f),
        }
    }
}
