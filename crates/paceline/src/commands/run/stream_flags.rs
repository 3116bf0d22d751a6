//! Flags of streams: responses whose events are measured one by one.

use super::values::{duration, whole};
use paceline_job::{Job, Nanos, PointerError, StreamFormat, StreamSpec, check_pointer};
use std::time::Duration;

/// How responses are read as streams of events, and when a stream ends.
#[derive(clap::Args, Debug)]
pub struct StreamFlags {
    /// Read responses as events: sse, ndjson, lines, chunks, messages
    ///
    /// Measures the time to the first event (from the intended send), the gaps between events, and events per second. A
    /// stream is ok if it ended as asked: by the server, or with the first of the --stream- flags below that is reached.
    /// --timeout then limits the wait for the first event and for each further one, not the whole stream. docs/streams.md
    /// has examples.
    #[arg(hide_short_help = true, long, value_name = "FORMAT", value_enum, hide_possible_values = true, conflicts_with_all = ["mix", "expect_body", "expect_sha256", "expect_json", "expect_json_form"], help_heading = "Streams")]
    pub stream: Option<StreamFormat>,

    /// End each stream after N events
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = whole::<u64>, requires = "stream", help_heading = "Streams")]
    pub stream_events: Option<u64>,

    /// End each stream this long after its response began
    #[arg(hide_short_help = true, long, value_name = "T", value_parser = duration, requires = "stream", help_heading = "Streams")]
    pub stream_for: Option<Duration>,

    /// End each stream with the event that contains a text: 'data: [DONE]'
    #[arg(hide_short_help = true, long, value_name = "TEXT", requires = "stream", help_heading = "Streams")]
    pub stream_until: Option<String>,

    /// Add up a number in each event's JSON: /usage/completion_tokens
    ///
    /// The pointer is a JSON Pointer (RFC 6901). Events that are not JSON, or have no number there, count 0.
    #[arg(hide_short_help = true, long, value_name = "POINTER", value_parser = pointer, requires = "stream", help_heading = "Streams")]
    pub count_json: Option<String>,

    /// Measure delays from the time in each event's JSON: /sent
    ///
    /// The delay of an event is its arrival minus the time at this JSON Pointer: a number since 1970 in seconds,
    /// milliseconds, microseconds or nanoseconds (told apart by its size), or text as in RFC 3339. The clocks of sender
    /// and Paceline must agree: one machine, or synchronised clocks. Negative delays, and events without a time, are
    /// counted apart.
    #[arg(hide_short_help = true, long, value_name = "POINTER", value_parser = pointer, requires = "stream", help_heading = "Streams")]
    pub message_time: Option<String>,
}

impl StreamFlags {
    /// Puts the flags that were given into a job. The drain is long enough for a stream that begins at the end of the
    /// window, unless it was `given`.
    pub fn fill(&self, job: &mut Job, is_drain_given: bool) {
        if let Some(format) = self.stream {
            let spec = StreamSpec {
                events: self.stream_events,
                length: self.stream_for.map(Nanos::from),
                until: self.stream_until.clone(),
                count_json: self.count_json.clone(),
                message_time: self.message_time.clone(),
                ..StreamSpec::new(format)
            };
            job.requests.iter_mut().for_each(|request| request.stream = Some(spec.clone()));
        }
        let lengths = job.requests.iter().filter_map(|request| request.stream.as_ref()?.length);
        if let Some(longest) = lengths.max().filter(|_| !is_drain_given) {
            job.drain = job.drain.max(job.timeout + longest);
        }
    }
}

fn pointer(text: &str) -> Result<String, PointerError> {
    check_pointer(text).map(|()| text.to_owned())
}
