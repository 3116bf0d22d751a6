//! Outgoing bytes: the right ones in the right order, kinds by their weights, however many bytes sockets take.
//!
//! Each test plays the socket: it decides how many bytes were taken, and on which slot. Placeholders are tested with
//! templates, in `crates/http`.

use super::*;
use crate::{RequestKind, ResponseCheck};
use paceline_http::{LineFiles, Method, Request, Url};

/// A mix of requests with these paths and weights.
fn mix(kinds: &[(&str, u32)]) -> Arc<Requests> {
    let url = Url::parse("http://a/").unwrap();
    let kind = |(path, weight): &(&str, u32)| {
        let request = Request { path: (*path).into(), ..Request::get(&url) };
        let template = request.compile(&LineFiles::default()).unwrap();
        RequestKind { weight: *weight, template, method: Method::Other, check: ResponseCheck::default() }
    };
    Arc::new(Requests::from_kinds(kinds.iter().map(kind).collect(), 0))
}

fn outgoing(requests: &Arc<Requests>, depth: u16, worker: u32) -> Http1Outgoing {
    Http1Outgoing::new(requests, depth, 7, worker, 2)
}

fn varying(outgoing: &Http1Outgoing) -> &VaryingRequests {
    match outgoing.differing.as_deref() {
        Some(DifferingRequests::Varying(varying)) => varying,
        other => panic!("{other:?}"),
    }
}

/// The requests that begin in the bytes sent.
fn begun(outgoing: &mut Http1Outgoing, slot: Slot, sent: usize) -> SentRequests {
    outgoing.begun_alike(sent).unwrap_or_else(|| outgoing.begun_differing(slot, sent).0)
}

/// Sends the whole next request; returns its path and its kind.
fn send_one(outgoing: &mut Http1Outgoing) -> (String, u16) {
    let bytes = outgoing.next(1).to_vec();
    let begun = begun(outgoing, 0, bytes.len());
    assert_eq!((begun.count, begun.bytes, begun.unsent), (1, bytes.len(), 0));
    (paths(&bytes).concat(), begun.kind)
}

fn paths(bytes: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.split("GET ").skip(1).map(|request| request.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn the_same_request_is_a_slice() {
    let requests = Arc::new(Requests::fixed(*b"abc", Method::Other, ResponseCheck::default()));
    let mut outgoing = outgoing(&requests, 3, 0);
    assert_eq!(outgoing.next(1), b"abc");
    assert_eq!(outgoing.next(3), b"abcabcabc");
    for (sent, count, unsent) in [(3, 1, 0), (1, 1, 2), (4, 2, 2), (9, 3, 0)] {
        assert_eq!(begun(&mut outgoing, 0, sent), SentRequests { kind: 0, count, bytes: sent, unsent });
    }
    assert_eq!(outgoing.tail(0, 2), b"bc");
    assert_eq!(outgoing.skip(), 0);
}

#[test]
fn kinds_are_drawn_by_their_weights() {
    let weights = [1, 2, 5, 12];
    let requests = mix(&[("/0", 1), ("/{rand:1:9}", 2), ("/2", 5), ("/3", 12)]);
    for worker in 0..3 {
        let mut outgoing = outgoing(&requests, 1, worker);
        let mut seen = [0_u32; 4];
        for _ in 0..20_000 {
            seen[usize::from(send_one(&mut outgoing).1)] += 1;
        }
        // The 99.99 % point of chi-square with three degrees of freedom is 21.1; the seed is fixed.
        let chi_square: f64 = weights
            .iter()
            .zip(seen)
            .map(|(weight, seen)| {
                let expected = 20_000.0 * f64::from(*weight) / 20.0;
                (f64::from(seen) - expected).powi(2) / expected
            })
            .sum();
        assert!(chi_square < 21.1, "{seen:?}: {chi_square}");
    }
}

#[test]
fn a_seed_gives_each_worker_its_own_sequence_and_always_the_same() {
    let requests = mix(&[("/a", 1), ("/b", 1)]);
    let sequence = |worker| {
        let mut outgoing = outgoing(&requests, 1, worker);
        (0..64).map(|_| send_one(&mut outgoing).1).collect::<Vec<_>>()
    };
    assert_eq!(sequence(0), sequence(0));
    assert_ne!(sequence(0), sequence(1));
    // The sequence is the same, however requests are fetched, split, refused or skipped.
    let mut outgoing = outgoing(&requests, 4, 0);
    let mut kinds = Vec::new();
    while kinds.len() < 64 {
        let wanted = 1 + kinds.len() % 4;
        let length = outgoing.next(wanted as u16).len();
        match kinds.len() % 5 {
            0 => kinds.push(outgoing.skip()),
            1 => {
                // No room at first, and then room for part of one.
                assert_eq!(outgoing.next(wanted as u16).len(), length);
                kinds.push(begun(&mut outgoing, 1, 3).kind);
                outgoing.forget_tail(1);
            }
            _ => {
                let mut left = length;
                while left > 0 {
                    let begun = begun(&mut outgoing, 0, left);
                    kinds.push(begun.kind);
                    left -= begun.bytes;
                }
            }
        }
    }
    assert_eq!(kinds[..64], sequence(0));
}

#[test]
fn a_partly_sent_request_is_completed_with_its_own_bytes() {
    let requests = mix(&[("/{seq}/made", 1), ("/fixed", 1)]);
    let mut outgoing = outgoing(&requests, 4, 1);
    let mut seen = [false; 2];
    for turn in 0..40_usize {
        let bytes = outgoing.next(4).to_vec();
        // The first two requests and this many bytes of the third are sent on this slot.
        let slot = (turn % 3) as Slot;
        let first = begun(&mut outgoing, slot, bytes.len());
        let second = begun(&mut outgoing, slot, bytes.len() - first.bytes);
        let part = 1 + turn % 20;
        let third = begun(&mut outgoing, slot, part);
        assert_eq!((third.count, third.bytes), (1, part));
        let at = first.bytes + second.bytes + part;
        // Another slot sends in the meantime.
        assert_eq!(outgoing.next(1), &bytes[at + third.unsent..]);
        let length = outgoing.next(1).len();
        begun(&mut outgoing, slot + 10, length);
        assert_eq!(outgoing.tail(slot, third.unsent), &bytes[at..at + third.unsent]);
        assert_eq!(outgoing.tail(slot, 5), &bytes[at + third.unsent - 5..at + third.unsent]);
        outgoing.forget_tail(slot);
        seen[usize::from(third.kind)] = true;
    }
    assert_eq!(seen, [true; 2]);
    assert!(varying(&outgoing).spare.len() <= 1, "memory is used again");
}

#[test]
fn buffers_do_not_grow_during_a_run() {
    let requests = mix(&[("/{seq}/{rand:1:1000000}", 3), ("/fixed", 1)]);
    let mut outgoing = outgoing(&requests, 4, 0);
    let room = |outgoing: &Http1Outgoing| varying(outgoing).source.capacity();
    let before = room(&outgoing);
    for turn in 0..1_000 {
        let length = outgoing.next(1 + (turn % 4) as u16).len();
        // Some of them, so that others remain.
        let sent = begun(&mut outgoing, 0, length);
        if turn % 3 == 0 && sent.bytes < length {
            begun(&mut outgoing, 0, length - sent.bytes);
        }
    }
    assert_eq!(room(&outgoing), before);
}
