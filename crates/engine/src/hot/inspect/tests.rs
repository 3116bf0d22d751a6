//! Bodies whole and in pieces: judged the same, hashed or parsed no more than needed, and the first wrong one shown.
//!
//! An inspector alone, without a worker or a decoder, receives bodies whole and in pieces; a property checks that both
//! ways agree. The checks themselves are tested in `check/mod.rs`.

use super::*;
use paceline_job::ExpectedValue;
use proptest::prelude::*;

const NOW: Nanos = Nanos(7);

const OK: JudgedHead = JudgedHead { status: 200, coding: ContentCoding::Identity, messages: None };
const GZIP: JudgedHead = JudgedHead { coding: ContentCoding::Gzip, ..OK };
const ERROR: JudgedHead = JudgedHead { status: 500, ..OK };

fn json(check: &str) -> BodyCheck {
    BodyCheck::Json(Arc::new([ExpectedValue::parse(check).unwrap()]))
}

fn digest_of(body: &[u8]) -> BodyCheck {
    BodyCheck::Sha256(Sha256::digest(body).into())
}

fn inspector(body: BodyCheck) -> Inspector {
    Inspector::new(&ResponseCheck { status: None, body })
}

fn whole(inspector: &mut Inspector, body: &[u8]) -> Ending {
    inspector.ending(OK, body, NOW)
}

fn in_pieces(inspector: &mut Inspector, body: &[u8], piece: usize) -> Ending {
    coded_in_pieces(inspector, OK, body, piece)
}

fn coded_in_pieces(inspector: &mut Inspector, head: JudgedHead, body: &[u8], piece: usize) -> Ending {
    let mut received = Body::default();
    body.chunks(piece).for_each(|piece| inspector.take(head, &mut received, piece));
    let ending = inspector.ending_in_pieces(head, &mut received, NOW);
    assert!(received.bytes == 0 && !received.differs && received.kept.is_none(), "ready for the next");
    ending
}

#[test]
fn the_first_good_body_is_the_reference() {
    for check in [json("/a=1"), digest_of(b"{\"a\": 1}")] {
        for receive in [whole, |inspector: &mut Inspector, body: &[u8]| in_pieces(inspector, body, 3)] {
            let mut inspector = inspector(check.clone());
            assert_eq!(receive(&mut inspector, b"{\"a\": 2}"), Ending::BadBody);
            assert_eq!(inspector.reference, None);
            assert_eq!(receive(&mut inspector, b"{\"a\": 1}"), Ending::Ok);
            assert_eq!(inspector.reference.as_deref(), Some(&b"{\"a\": 1}"[..]));
            // Judging would now fail: a body that equals the reference is not judged again.
            inspector.check.body = digest_of(b"something else");
            assert_eq!(receive(&mut inspector, b"{\"a\": 1}"), Ending::Ok);
            assert_eq!(receive(&mut inspector, b"{\"a\": 1} "), Ending::BadBody);
            assert_eq!(receive(&mut inspector, b"{\"a\": "), Ending::BadBody);
        }
    }
}

#[test]
fn a_good_body_may_differ_from_the_reference() {
    let mut inspector = inspector(json("/a=1"));
    for (body, ending) in [
        ("{\"a\": 1, \"time\": 1}", Ending::Ok),
        ("{\"a\": 1, \"time\": 2}", Ending::Ok),
        ("{\"a\": 1}", Ending::Ok),
        ("{\"a\": 1, \"time\": 12}", Ending::Ok),
        ("{\"a\": 3, \"time\": 1}", Ending::BadBody),
        ("", Ending::BadBody),
    ] {
        assert_eq!(whole(&mut inspector, body.as_bytes()), ending, "{body}");
        for piece in [1, 5, 100] {
            assert_eq!(in_pieces(&mut inspector, body.as_bytes(), piece), ending, "{body} by {piece}");
        }
    }
}

#[test]
fn the_first_wrong_body_is_shown() {
    let expected: Vec<u8> = (0..200).map(|at| b'a' + at % 26).collect();
    let mut wrong = expected.clone();
    wrong[150] = b'!';
    for piece in [0, 1, 7, 64, 151, 300] {
        let mut inspector = inspector(BodyCheck::Exact(Arc::from(expected.as_slice())));
        let ending = match piece {
            0 => whole(&mut inspector, &wrong),
            piece => in_pieces(&mut inspector, &wrong, piece),
        };
        assert_eq!(ending, Ending::BadBody);
        assert_eq!(whole(&mut inspector, b"another"), Ending::BadBody);
        assert_eq!(in_pieces(&mut inspector, b"another", 3), Ending::BadBody);
        let shown = inspector.into_wrong().unwrap();
        assert_eq!((shown.at, shown.status, shown.length), (NOW, 200, 200));
        assert_eq!((shown.differs_at, shown.shown_from), (Some(150), 126));
        assert_eq!(shown.shown, &wrong[126..200], "by {piece}");
        assert_eq!(shown.fault, BodyFault::Differs(200));
    }
}

#[test]
fn a_body_that_ends_early_differs_where_it_ends() {
    for piece in [0, 2, 10] {
        let mut inspector = inspector(BodyCheck::Exact(Arc::from(*b"hello")));
        let ending = if piece == 0 {
            whole(&mut inspector, b"hell")
        } else {
            in_pieces(&mut inspector, b"hell", piece)
        };
        assert_eq!(ending, Ending::BadBody);
        let shown = inspector.into_wrong().unwrap();
        assert_eq!((shown.differs_at, shown.length, shown.shown.as_slice()), (Some(4), 4, &b"hell"[..]));
    }
    let mut inspector = inspector(digest_of(b"hello"));
    assert_eq!(in_pieces(&mut inspector, b"", 1), Ending::BadBody);
    assert_eq!(inspector.into_wrong().unwrap().differs_at, None, "there is nothing to compare it with");
}

#[test]
fn a_wrong_status_comes_before_a_wrong_body() {
    let mut inspector = inspector(digest_of(b"hello"));
    assert_eq!(inspector.ending(ERROR, b"oops", NOW), Ending::BadStatus);
    let mut body = Body::default();
    inspector.take(ERROR, &mut body, b"oops");
    assert!(body.kept.is_none());
    assert_eq!(inspector.ending_in_pieces(ERROR, &mut body, NOW), Ending::BadStatus);
    assert_eq!(inspector.into_wrong(), None);
}

#[test]
fn long_bodies_are_hashed_while_read_and_not_stored() {
    let long = vec![b'x'; 2 * MAX_KEPT];
    let mut inspector = inspector(digest_of(&long));
    let mut body = Body::default();
    for piece in long.chunks(60_000) {
        inspector.take(OK, &mut body, piece);
        assert!(body.kept.as_ref().unwrap().bytes.len() <= MAX_KEPT);
    }
    assert_eq!(inspector.ending_in_pieces(OK, &mut body, NOW), Ending::Ok);
    assert_eq!(inspector.reference, None);
    assert_eq!(in_pieces(&mut inspector, &long[1..], 60_000), Ending::BadBody);
    assert_eq!(inspector.into_wrong().unwrap().length, 2 * MAX_KEPT as u64 - 1);
    let mut inspector = super::tests::inspector(json("=1"));
    assert_eq!(in_pieces(&mut inspector, &long, 60_000), Ending::BadBody);
    assert_eq!(inspector.into_wrong().unwrap().fault, BodyFault::TooLong(MAX_KEPT));
}

/// `hello`, as gzip writes it (RFC 1952), in one block that is not compressed.
const PACKED: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01\x05\0\xfa\xffhello\x86\xa6\x10\x36\x05\0\0\0";

#[test]
fn a_coded_body_is_judged_by_its_content_or_as_received() {
    for check in [BodyCheck::Exact(Arc::from(*b"hello")), digest_of(b"hello"), json("=1")] {
        let is_json = matches!(check, BodyCheck::Json(_));
        for piece in [PACKED.len(), 1, 7] {
            let mut inspector = inspector(check.clone());
            let good = if is_json { Ending::BadBody } else { Ending::Ok };
            for _ in 0..3 {
                assert_eq!(coded_in_pieces(&mut inspector, GZIP, PACKED, piece), good, "{check:?}");
                assert_eq!(in_pieces(&mut inspector, b"hello", piece), good, "{check:?}");
                assert_eq!(in_pieces(&mut inspector, PACKED, piece), Ending::BadBody, "without the header");
                assert_eq!(inspector.ending(GZIP, PACKED, NOW), good, "{check:?}");
            }
        }
    }
    for check in [BodyCheck::Exact(Arc::from(PACKED)), digest_of(PACKED)] {
        let mut inspector = inspector(check.clone());
        for piece in [PACKED.len(), 1, 7] {
            assert_eq!(
                in_pieces(&mut inspector, PACKED, piece),
                Ending::Ok,
                "a file that is gzip: {check:?}"
            );
            assert_eq!(coded_in_pieces(&mut inspector, GZIP, PACKED, piece), Ending::Ok, "{check:?}");
        }
    }
}

#[test]
fn the_content_of_a_wrong_coded_body_is_shown() {
    let mut inspector = inspector(BodyCheck::Exact(Arc::from(*b"hallo")));
    assert_eq!(coded_in_pieces(&mut inspector, GZIP, PACKED, 5), Ending::BadBody);
    let wrong = inspector.into_wrong().unwrap();
    assert_eq!((wrong.shown.as_slice(), wrong.differs_at, wrong.length), (&b"hello"[..], Some(1), 28));
}

proptest! {
    #[test]
    fn a_body_in_pieces_is_judged_like_a_whole_body(
        expected in "[ab]{0,6}",
        bodies in proptest::collection::vec(("[ab]{0,6}", 1..4_usize), 1..8),
        kind in 0..3,
    ) {
        let check = match kind {
            0 => BodyCheck::Exact(Arc::from(expected.as_bytes())),
            1 => digest_of(expected.as_bytes()),
            _ => BodyCheck::Any,
        };
        let mut at_once = inspector(check.clone());
        let mut by_piece = inspector(check);
        for (body, piece) in &bodies {
            let ending = whole(&mut at_once, body.as_bytes());
            prop_assert_eq!(ending == Ending::Ok, kind == 2 || *body == expected);
            prop_assert_eq!(in_pieces(&mut by_piece, body.as_bytes(), *piece), ending);
        }
        prop_assert_eq!(at_once.into_wrong(), by_piece.into_wrong());
    }
}
