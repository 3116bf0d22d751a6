//! Drives a decoder over pieces and records its events, checking at each step that it makes progress.
//!
//! Used by `responses.rs`, `pieces.rs` and `allocation.rs`. It uses the general path only; the tests compare the fast
//! one (`whole`) with it.

use std::mem::{Discriminant, discriminant};

use paceline_http::{DecodeStep, Decoder, Framing, Head, HeadCache, Method, ProtocolError};

/// An event of a stream of responses, with the pieces of a body joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Interim(u16),
    Head(Head),
    Body(Vec<u8>),
    End,
    Error(ProtocolError),
}

/// An event without the part that depends on the cuts: an error's excerpt.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind<'e> {
    Same(&'e Event),
    Error(Discriminant<ProtocolError>),
}

pub fn kinds(events: &[Event]) -> Vec<Kind<'_>> {
    events.iter().map(kind).collect()
}

fn kind(event: &Event) -> Kind<'_> {
    match event {
        Event::Error(error) => Kind::Error(discriminant(error)),
        event => Kind::Same(event),
    }
}

/// All events of `bytes`, cut into pieces of these sizes, used cyclically, then closed by the peer.
pub fn events(method: Method, bytes: &[u8], sizes: &[usize]) -> Vec<Event> {
    let mut decoder = Decoder::new(method);
    let mut cache = HeadCache::new();
    let mut events = Vec::new();
    let mut rest = bytes;
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let size = sizes.next().map_or(rest.len(), |size| rest.len().min(*size));
        let (piece, after) = rest.split_at(size);
        rest = after;
        if !feed(&mut decoder, &mut cache, piece, &mut events) {
            return events;
        }
    }
    match decoder.end_of_input() {
        Ok(true) => events.push(Event::End),
        Ok(false) => assert!(decoder.is_idle()),
        Err(error) => events.push(Event::Error(error)),
    }
    events
}

/// Decodes one piece up to [`DecodeStep::NeedMore`]; false after an error.
pub fn feed(decoder: &mut Decoder, cache: &mut HeadCache, mut piece: &[u8], events: &mut Vec<Event>) -> bool {
    loop {
        let was_idle = decoder.is_idle();
        let (step, consumed) = match decoder.decode(cache, piece) {
            Ok(step) => step,
            Err(error) => {
                events.push(Event::Error(error));
                return false;
            }
        };
        let left = &piece[consumed..];
        match step {
            DecodeStep::NeedMore => {
                assert!(left.is_empty(), "NeedMore leaves {} bytes unread", left.len());
                return true;
            }
            DecodeStep::End => assert!(!was_idle && decoder.is_idle(), "an end, and idle on one side of it"),
            DecodeStep::Body(part) => assert!(!part.is_empty() && consumed >= part.len()),
            DecodeStep::Head(_) | DecodeStep::Interim(_) => assert!(consumed > 0 && !decoder.is_idle()),
        }
        note(events, step);
        piece = left;
    }
}

fn note(events: &mut Vec<Event>, step: DecodeStep<'_>) {
    match (step, events.last_mut()) {
        (DecodeStep::Body(part), Some(Event::Body(body))) => body.extend_from_slice(part),
        (DecodeStep::Body(part), _) => events.push(Event::Body(part.to_vec())),
        (DecodeStep::Head(head), _) => events.push(Event::Head(head)),
        (DecodeStep::Interim(status), _) => events.push(Event::Interim(status)),
        (DecodeStep::End, _) => events.push(Event::End),
        (DecodeStep::NeedMore, _) => {}
    }
}

/// Events on one line: `200 length 5 keep | "hello" | end`.
pub fn line(events: &[Event]) -> String {
    events.iter().map(word).collect::<Vec<_>>().join(" | ")
}

fn word(event: &Event) -> String {
    match event {
        Event::Interim(status) => format!("({status})"),
        Event::Body(body) => format!("\"{}\"", body.escape_ascii()),
        Event::End => "end".into(),
        Event::Error(error) => format!("error: {error}"),
        Event::Head(head) => {
            let framing = match head.framing {
                Framing::Empty => "empty".into(),
                Framing::Length(length) => format!("length {length}"),
                Framing::Chunked => "chunked".into(),
                Framing::UntilClose => "until close".into(),
            };
            let after = if head.keep_alive { "keep" } else { "close" };
            let coded = if head.coding.is_compressed() { " encoded" } else { "" };
            format!("{}.{} {framing} {after}{coded}", head.status, head.minor)
        }
    }
}
