//! Responses that are read as streams of events, and when a stream ends.

use crate::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How responses are read as streams of events. Of the ends that are given, the first that is reached ends a stream; if
/// none is given, the server does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamSpec {
    /// How a body is divided into events.
    pub format: StreamFormat,
    /// End a stream after this many events.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub events: Option<u64>,
    /// End a stream this many seconds after its response begins.
    #[serde(rename = "for_s", skip_serializing_if = "Option::is_none", default, with = "optional_seconds")]
    #[schemars(with = "Option<f64>")]
    pub length: Option<Nanos>,
    /// End a stream with the event that contains this text, as sent: `data: [DONE]`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub until: Option<String>,
    /// The JSON pointer (RFC 6901) of a number in each event that is added up, such as tokens. Events without it count 0.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub count_json: Option<String>,
    /// The JSON pointer (RFC 6901) of the time in each event at which it was sent, from which its delay is computed: a
    /// number since 1970 in seconds, milliseconds, microseconds or nanoseconds, or text as in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub message_time: Option<String>,
}

/// How a body is divided into events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum StreamFormat {
    /// Server-sent events (text/event-stream), each with a data field
    Sse,
    /// Lines of JSON; each must be valid
    Ndjson,
    /// Lines that are not blank
    Lines,
    /// Chunks (HTTP/1.1) or DATA frames (HTTP/2), as sent
    Chunks,
    /// Messages of a WebSocket, or of gRPC
    Messages,
}

impl StreamFormat {
    /// Its name, as for `--stream`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sse => "sse",
            Self::Ndjson => "ndjson",
            Self::Lines => "lines",
            Self::Chunks => "chunks",
            Self::Messages => "messages",
        }
    }
}

impl StreamSpec {
    /// A stream in a format, which the server ends.
    pub fn new(format: StreamFormat) -> Self {
        Self { format, events: None, length: None, until: None, count_json: None, message_time: None }
    }

    /// Whether one of its ends would be before the first event.
    pub fn is_empty(&self) -> bool {
        self.events == Some(0)
            || self.length == Some(Nanos::ZERO)
            || self.until.as_ref().is_some_and(String::is_empty)
    }
}

/// Serde form of an optional duration in seconds.
mod optional_seconds {
    use crate::Nanos;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Seconds(#[serde(with = "crate::time::seconds")] Nanos);

    pub fn serialize<S: Serializer>(time: &Option<Nanos>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(Seconds).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Nanos>, D::Error> {
        Ok(Option::<Seconds>::deserialize(deserializer)?.map(|Seconds(time)| time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_the_same_after_a_round_trip() {
        let whole = StreamSpec {
            events: Some(3),
            length: Some(Nanos::from_millis(1_500)),
            until: Some("data: [DONE]".to_owned()),
            count_json: Some("/n".to_owned()),
            message_time: Some("/sent".to_owned()),
            ..StreamSpec::new(StreamFormat::Sse)
        };
        let written = concat!(
            r#"{"format":"sse","events":3,"for_s":1.5,"until":"data: [DONE]","#,
            r#""count_json":"/n","message_time":"/sent"}"#
        );
        for (stream, text) in
            [(whole, written), (StreamSpec::new(StreamFormat::Ndjson), r#"{"format":"ndjson"}"#)]
        {
            assert_eq!(serde_json::to_string(&stream).unwrap(), text);
            assert_eq!(serde_json::from_str::<StreamSpec>(text).unwrap(), stream);
        }
    }
}
