//! What the readers of events and of messages return.

/// The result of one `next` of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventStep<'i> {
    /// All of the input was consumed.
    NeedMore,
    /// Some of the data of an event, never empty: of a server-sent event, its `data` fields, joined by LF; of a line,
    /// all of it except for the LF; of a message, all of it except for its prefix.
    Data(&'i [u8]),
    /// An event is complete.
    End,
}
