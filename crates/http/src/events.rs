//! Reads the events of a streamed body: bytes in, [`EventStep`]s out.
//!
//! The engine passes the pieces of a body to an [`EventReader`] as they arrive. The same bytes give the same events
//! however they are split. The reader keeps none of them: its state is a few bytes, so that an event may have any
//! length. It checks no encoding, since no byte above 0x7f has a meaning here.

use crate::MessageReader;
use crate::event_step::EventStep;
use memchr::{memchr, memchr2};

/// How a body is divided into events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventFormat {
    /// Server-sent events (WHATWG HTML, section 9.2): blocks of fields, each ended by an empty line. A block without a
    /// `data` field is no event.
    ServerSent,
    /// Lines that end in LF or CR LF. Blank lines are no events. A byte order mark before the first line is skipped, as
    /// readers of JSON may do (RFC 8259, section 8.1).
    Lines,
    /// The chunks in which the body was sent, for which the caller uses [`EventReader::end_chunk`].
    Chunks,
    /// The messages of a WebSocket, which may be empty. The caller uses [`EventReader::end_chunk`] at the end of each.
    Messages,
    /// Length-prefixed messages of gRPC ([`MessageReader`]).
    LengthPrefixed,
}

/// The part of a line that the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineState {
    /// The byte order mark at the start of the stream, of which this many bytes have come.
    Mark(u8),
    /// The start of a line.
    Start,
    /// The name of a field, which is so far this many bytes of `data`.
    Name(u8),
    /// After the colon: one blank is skipped.
    Colon,
    /// The value of `data`, or any content of a line.
    Value,
    /// The rest of a line without a meaning.
    Ignored,
}

/// The field that makes a block an event.
const DATA: &[u8; 4] = b"data";
/// The byte order mark of UTF-8, which is skipped.
const MARK: &[u8; 3] = b"\xef\xbb\xbf";

/// Reads the events of one body.
#[derive(Clone, Copy, Debug)]
pub struct EventReader {
    format: EventFormat,
    state: LineState,
    /// Whether the last byte was a CR that ended a line: a LF after it belongs to the same line end.
    after_cr: bool,
    /// Whether the current event has data, even if that is empty.
    has_data: bool,
    messages: MessageReader,
}

impl EventReader {
    /// A reader at the beginning of a body.
    pub const fn new(format: EventFormat) -> Self {
        let state = match format {
            EventFormat::ServerSent | EventFormat::Lines => LineState::Mark(0),
            EventFormat::Chunks | EventFormat::Messages | EventFormat::LengthPrefixed => LineState::Start,
        };
        Self { format, state, after_cr: false, has_data: false, messages: MessageReader::new() }
    }

    /// Reads some of `input`; returns the step and the number of bytes consumed. Call it again with the remaining input
    /// until it returns [`EventStep::NeedMore`].
    pub fn next<'i>(&mut self, input: &'i [u8]) -> (EventStep<'i>, usize) {
        match self.format {
            EventFormat::ServerSent => self.next_sent(input),
            EventFormat::Lines => self.next_line(input),
            EventFormat::LengthPrefixed => self.messages.next(input),
            EventFormat::Chunks | EventFormat::Messages if input.is_empty() => (EventStep::NeedMore, 0),
            EventFormat::Chunks | EventFormat::Messages => {
                self.has_data = true;
                (EventStep::Data(input), input.len())
            }
        }
    }

    /// A chunk of the body ends here. Returns whether that completes an event; never in the other formats.
    pub fn end_chunk(&mut self) -> bool {
        match self.format {
            EventFormat::Chunks => std::mem::take(&mut self.has_data),
            EventFormat::Messages => {
                self.has_data = false;
                true
            }
            EventFormat::ServerSent | EventFormat::Lines | EventFormat::LengthPrefixed => false,
        }
    }

    /// The body is complete. Returns whether that completes an event: a last line may lack its line end. An incomplete
    /// server-sent event is discarded (WHATWG HTML, section 9.2.6): [`EventReader::is_in_event`] is still true.
    pub fn end_body(&mut self) -> bool {
        let may_lack_end = matches!(self.format, EventFormat::Lines | EventFormat::Chunks);
        may_lack_end && (std::mem::take(&mut self.has_data) || self.has_part_of_mark())
    }

    /// Whether the bytes so far end in the middle of an event.
    pub fn is_in_event(&self) -> bool {
        self.has_data
            || self.has_part_of_mark()
            || matches!(self.state, LineState::Name(1..) | LineState::Colon)
            || self.messages.is_in_message()
    }

    /// Whether a body of lines consists of the first bytes of a byte order mark so far: a line, if no more come.
    fn has_part_of_mark(&self) -> bool {
        self.format == EventFormat::Lines && matches!(self.state, LineState::Mark(1..))
    }

    /// The flags of all messages so far ([`MessageReader::flags`]); 0 in the other formats.
    pub fn message_flags(&self) -> u8 {
        self.messages.flags()
    }

    /// The next step of a body of lines.
    fn next_line<'i>(&mut self, input: &'i [u8]) -> (EventStep<'i>, usize) {
        let mut at = 0;
        while let LineState::Mark(seen) = self.state {
            let Some(byte) = input.get(at) else { return (EventStep::NeedMore, at) };
            if *byte != MARK[usize::from(seen)] {
                self.state = LineState::Start;
                if seen == 0 {
                    break;
                }
                // The bytes that have come are no mark but begin the first line.
                self.has_data = true;
                return (EventStep::Data(&MARK[..usize::from(seen)]), at);
            }
            at += 1;
            self.state = after_mark_byte(seen);
        }
        loop {
            let rest = &input[at..];
            let end = memchr(b'\n', rest);
            let line = &rest[..end.unwrap_or(rest.len())];
            let is_blank = line.iter().all(|byte| matches!(byte, b'\r' | b' ' | b'\t'));
            if !line.is_empty() && (self.has_data || !is_blank) {
                self.has_data = true;
                return (EventStep::Data(line), at + line.len());
            }
            let Some(end) = end else { return (EventStep::NeedMore, input.len()) };
            at += end + 1;
            if std::mem::take(&mut self.has_data) {
                return (EventStep::End, at);
            }
        }
    }

    /// The next step of a body of server-sent events.
    fn next_sent<'i>(&mut self, input: &'i [u8]) -> (EventStep<'i>, usize) {
        let mut at = 0;
        while let Some(byte) = input.get(at).copied() {
            if std::mem::take(&mut self.after_cr) && byte == b'\n' {
                at += 1;
                continue;
            }
            if matches!(byte, b'\r' | b'\n') {
                at += 1;
                self.after_cr = byte == b'\r';
                match self.end_line() {
                    Some(step) => return (step, at),
                    None => continue,
                }
            }
            let rest = &input[at..];
            self.state = match self.state {
                LineState::Mark(seen) if byte == MARK[usize::from(seen)] => {
                    at += 1;
                    after_mark_byte(seen)
                }
                LineState::Mark(0) => LineState::Start,
                LineState::Mark(_) => LineState::Ignored,
                LineState::Start => LineState::Name(0),
                LineState::Name(known) if usize::from(known) < DATA.len() => {
                    let is_data = byte == DATA[usize::from(known)];
                    at += usize::from(is_data);
                    if is_data { LineState::Name(known + 1) } else { LineState::Ignored }
                }
                LineState::Name(_) if byte == b':' => {
                    at += 1;
                    self.state = LineState::Colon;
                    match self.begin_value() {
                        Some(step) => return (step, at),
                        None => LineState::Colon,
                    }
                }
                LineState::Name(_) => LineState::Ignored,
                LineState::Colon => {
                    at += usize::from(byte == b' ');
                    LineState::Value
                }
                LineState::Value => {
                    let length = memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
                    return (EventStep::Data(&rest[..length]), at + length);
                }
                LineState::Ignored => {
                    at += memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
                    LineState::Ignored
                }
            };
        }
        (EventStep::NeedMore, at)
    }

    /// A `data` field has come. If it is not the first one of its event, LF separates their values.
    fn begin_value(&mut self) -> Option<EventStep<'static>> {
        std::mem::replace(&mut self.has_data, true).then_some(EventStep::Data(b"\n"))
    }

    /// A line has ended. An empty one ends the event.
    fn end_line(&mut self) -> Option<EventStep<'static>> {
        match std::mem::replace(&mut self.state, LineState::Start) {
            LineState::Mark(0) | LineState::Start => {
                std::mem::take(&mut self.has_data).then_some(EventStep::End)
            }
            // A line without a colon is the name of a field with an empty value.
            LineState::Name(4) => self.begin_value(),
            _ => None,
        }
    }
}

/// The state after one more byte of the byte order mark, of which `seen` had come.
fn after_mark_byte(seen: u8) -> LineState {
    if usize::from(seen) + 1 == MARK.len() { LineState::Start } else { LineState::Mark(seen + 1) }
}
