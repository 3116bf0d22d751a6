//! The table `stream` of requests and workloads: how responses are read as streams of events, and when a stream ends.

use crate::document::Document;
use crate::{CatalogueError, parse_duration};
use paceline_job::{Nanos, StreamFormat, StreamSpec, check_pointer};
use toml::Spanned;

/// As written in a file.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireStream {
    format: StreamFormat,
    events: Option<u64>,
    #[serde(rename = "for")]
    length: Option<Spanned<String>>,
    until: Option<String>,
    count_json: Option<String>,
    message_time: Option<String>,
}

/// Checks the table.
pub(crate) fn stream_of(
    wire: Spanned<WireStream>,
    document: &Document,
) -> Result<StreamSpec, CatalogueError> {
    let at = wire.span().start;
    let WireStream { format, events, length, until, count_json, message_time } = wire.into_inner();
    let time = |text: Spanned<String>| {
        parse_duration(text.get_ref()).map(Nanos::from).map_err(|error| {
            document.complain(Some(text.span().start), format!("stream.for {:?}: {error}", text.get_ref()))
        })
    };
    for (key, pointer) in [("count_json", &count_json), ("message_time", &message_time)] {
        if let Some(pointer) = pointer {
            check_pointer(pointer)
                .map_err(|error| document.complain(Some(at), format!("stream.{key}: {error}")))?;
        }
    }
    let length = length.map(time).transpose()?;
    Ok(StreamSpec { format, events, length, until, count_json, message_time })
}
