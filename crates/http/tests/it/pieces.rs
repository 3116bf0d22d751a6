//! Properties: the cuts do not matter, the oracle agrees, the fast path agrees, and the decoder never loops or panics.
//!
//! Streams come from `generate.rs`, and their meaning from `oracle.rs`. Rules that random streams would seldom reach
//! have rows in `responses.rs`. The fuzz target `response` covers more cases.

use paceline_http::{Decoder, HeadCache, Method};
use proptest::prelude::*;

use crate::generate::{babble, cuts, damaged, stream};
use crate::observe::{Event, events, feed, kinds, line};
use crate::oracle::{self, OracleEvent};

fn method() -> impl Strategy<Value = Method> {
    prop_oneof![4 => Just(Method::Other), 1 => Just(Method::Head)]
}

fn without_reasons(events: &[Event]) -> Vec<OracleEvent> {
    let convert = |event: &Event| match event {
        Event::Interim(status) => OracleEvent::Interim(*status),
        Event::Head(head) => OracleEvent::Head(*head),
        Event::Body(body) => OracleEvent::Body(body.clone()),
        Event::End => OracleEvent::End,
        Event::Error(_) => OracleEvent::Invalid,
    };
    events.iter().map(convert).collect()
}

/// One piece gives the oracle's events, and so do any pieces.
fn agree(method: Method, bytes: &[u8], cuts: &[usize]) -> Result<(), TestCaseError> {
    let at_once = events(method, bytes, &[]);
    prop_assert_eq!(without_reasons(&at_once), oracle::read(method, bytes), "{}", bytes.escape_ascii());
    let in_pieces = events(method, bytes, cuts);
    prop_assert_eq!(kinds(&in_pieces), kinds(&at_once), "{}", bytes.escape_ascii());
    Ok(())
}

/// At every response's start: a result of `whole` equals that of `decode`, and `whole` gives one where it can.
fn whole_agrees(method: Method, bytes: &[u8]) -> Result<(), TestCaseError> {
    let mut cache = HeadCache::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let mut decoder = Decoder::new(method);
        let whole = decoder.whole(&cache, rest);
        let mut seen = Vec::new();
        let Some(consumed) = one_response(&mut decoder, &mut cache, rest, &mut seen) else { return Ok(()) };
        if let Some(whole) = whole {
            let mut said = vec![Event::Head(whole.head), Event::Body(whole.body.to_vec()), Event::End];
            said.retain(|event| *event != Event::Body(Vec::new()));
            prop_assert_eq!(line(&said), line(&seen));
            prop_assert_eq!(whole.consumed, consumed);
        }
        let framed = !matches!(
            seen.iter().find_map(|event| match event {
                Event::Head(head) => Some(head.framing),
                _ => None,
            }),
            Some(paceline_http::Framing::Chunked | paceline_http::Framing::UntilClose)
        );
        let again = Decoder::new(method).whole(&cache, rest);
        prop_assert_eq!(again.is_some(), framed && !matches!(seen[0], Event::Interim(_)));
        rest = &rest[consumed..];
    }
    Ok(())
}

/// Decodes up to the first end; returns the bytes consumed, None if the end does not come.
fn one_response(
    decoder: &mut Decoder,
    cache: &mut HeadCache,
    bytes: &[u8],
    seen: &mut Vec<Event>,
) -> Option<usize> {
    for (at, byte) in bytes.iter().enumerate() {
        let ends = |seen: &[Event]| seen.iter().filter(|event| **event == Event::End).count();
        if !feed(decoder, cache, std::slice::from_ref(byte), seen) {
            return None;
        }
        if ends(seen) > 0 {
            return Some(at + 1);
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn a_valid_stream_reads_the_same_in_any_pieces(method in method(), bytes in stream(), cuts in cuts()) {
        agree(method, &bytes, &cuts)?;
    }

    #[test]
    fn a_damaged_stream_reads_the_same_in_any_pieces(method in method(), bytes in damaged(), cuts in cuts()) {
        agree(method, &bytes, &cuts)?;
    }

    #[test]
    fn a_stream_cut_short_reads_the_same_in_any_pieces(
        method in method(), bytes in stream(), cuts in cuts(), end in any::<prop::sample::Index>()
    ) {
        agree(method, &bytes[..end.index(bytes.len())], &cuts)?;
    }

    #[test]
    fn tokens_in_any_order_read_the_same_in_any_pieces(method in method(), bytes in babble(), cuts in cuts()) {
        agree(method, &bytes, &cuts)?;
    }

    #[test]
    fn any_bytes_read_the_same_in_any_pieces(
        method in method(), bytes in prop::collection::vec(any::<u8>(), 0..200), cuts in cuts()
    ) {
        agree(method, &bytes, &cuts)?;
    }

    #[test]
    fn the_fast_path_agrees_with_the_general_one(method in method(), bytes in stream()) {
        whole_agrees(method, &bytes)?;
        whole_agrees(method, &[bytes.as_slice(), &bytes].concat())?;
    }
}
