//! Events of streams: the rules of server-sent events and of lines, against a reader of the whole text, in all splits.

use paceline_http::{EventFormat, EventReader, EventStep};
use proptest::prelude::*;

/// The events of a body that comes in pieces, and whether it ends in the middle of one.
fn events(format: EventFormat, pieces: &[&[u8]]) -> (Vec<String>, bool) {
    let (mut reader, mut events, mut data) = (EventReader::new(format), Vec::new(), Vec::new());
    for piece in pieces {
        let mut at = 0;
        loop {
            let (step, consumed) = reader.next(&piece[at..]);
            at += consumed;
            match step {
                EventStep::NeedMore => break,
                EventStep::Data(part) => {
                    assert!(!part.is_empty());
                    data.extend_from_slice(part);
                }
                EventStep::End => events.push(text(&mut data)),
            }
        }
        assert_eq!(at, piece.len(), "all of a piece is consumed");
    }
    let in_event = reader.is_in_event();
    if reader.end_body() {
        events.push(text(&mut data));
    }
    (events, in_event)
}

fn text(data: &mut Vec<u8>) -> String {
    String::from_utf8_lossy(&std::mem::take(data)).into_owned()
}

/// The events of server-sent events as the standard describes them, line by line (WHATWG HTML, section 9.2.6).
fn expected_sent(body: &str) -> Vec<String> {
    let body = body.strip_prefix('\u{feff}').unwrap_or(body).replace("\r\n", "\n").replace('\r', "\n");
    let (mut events, mut data) = (Vec::new(), Vec::<&str>::new());
    let mut lines: Vec<&str> = body.split('\n').collect();
    // Text behind the last line end is not a line.
    lines.pop();
    for line in lines {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if line.is_empty() {
            if !data.is_empty() {
                events.push(std::mem::take(&mut data).join("\n"));
            }
        } else if field == "data" {
            data.push(value.strip_prefix(' ').unwrap_or(value));
        }
    }
    events
}

/// The events of a body of lines.
fn expected_lines(body: &str) -> Vec<String> {
    let body = body.strip_prefix('\u{feff}').unwrap_or(body);
    let is_blank = |line: &&str| line.chars().all(|letter| " \t\r".contains(letter));
    body.split('\n').filter(|line| !is_blank(line)).map(str::to_owned).collect()
}

#[test]
fn server_sent_events_follow_the_standard() {
    for (body, expected, ends_in_event) in [
        ("data: a\n\ndata: b\n\n", &["a", "b"][..], false),
        ("data:a\r\n\r\ndata:  b\r\rdata:c\n\r\n", &["a", " b", "c"], false),
        ("data: a\ndata: b\ndata\ndata:\n\n", &["a\nb\n\n"], false),
        ("data\n\n", &[""], false),
        (": comment\n\nevent: x\nid: 1\nretry: 10\n\n", &[], false),
        (": comment\ndata: a\nevent: x\n\n\n\n", &["a"], false),
        ("\u{feff}data: a\n\n", &["a"], false),
        ("\u{feff}\u{feff}data: a\n\n", &[], false),
        ("dat: a\n\ndatax: b\n\nDATA: c\n\n data: d\n\n", &[], false),
        ("data: a\n\ndata: b\n", &["a"], true),
        ("data: a", &[], true),
        ("data:", &[], true),
        ("data: a\n\n: pin", &["a"], false),
        ("", &[], false),
        ("\n\r\n\r", &[], false),
    ] {
        let found = events(EventFormat::ServerSent, &[body.as_bytes()]);
        assert_eq!(
            (found.0.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), found.1),
            (expected, ends_in_event),
            "{body:?}"
        );
        assert_eq!(expected_sent(body), expected, "the model: {body:?}");
    }
}

#[test]
fn lines_are_events_unless_they_are_blank() {
    for (body, expected, ends_in_event) in [
        ("a\nb\r\n\n \t\r\nc", &["a", "b\r", "c"][..], true),
        ("a\r", &["a\r"], true),
        ("{\"a\": 1}\n\n", &["{\"a\": 1}"], false),
        ("  ", &[], false),
        ("", &[], false),
        ("\u{feff}{}\n", &["{}"], false),
        ("\u{feff}", &[], false),
        ("\u{feff}\n\u{feff}a", &["\u{feff}a"], true),
        // Other characters begin with the same bytes as the mark.
        ("\u{f8ff}\na", &["\u{f8ff}", "a"], true),
        ("\u{fefe}\n", &["\u{fefe}"], false),
    ] {
        let found = events(EventFormat::Lines, &[body.as_bytes()]);
        assert_eq!(
            (found.0.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), found.1),
            (expected, ends_in_event),
            "{body:?}"
        );
        let bytewise: Vec<&[u8]> = body.as_bytes().chunks(1).collect();
        assert_eq!(events(EventFormat::Lines, &bytewise), found, "{body:?}");
    }
    // A part of a mark is a line like any other.
    let (lines, in_event) = events(EventFormat::Lines, &[b"\xef", b"\xbb\na"]);
    assert_eq!((lines, in_event), (vec!["\u{fffd}".to_owned(), "a".to_owned()], true));
    let (lines, in_event) = events(EventFormat::Lines, &[b"\xef\xbb"]);
    assert_eq!((lines.len(), in_event), (1, true));
}

#[test]
fn chunks_are_events_as_the_caller_ends_them() {
    let mut reader = EventReader::new(EventFormat::Chunks);
    assert!(!reader.end_chunk(), "an empty chunk");
    assert_eq!(reader.next(b"ab"), (EventStep::Data(b"ab"), 2));
    assert_eq!(reader.next(b""), (EventStep::NeedMore, 0));
    assert!(reader.is_in_event());
    assert_eq!(reader.next(b"\n"), (EventStep::Data(b"\n"), 1));
    assert!(reader.end_chunk() && !reader.is_in_event() && !reader.end_chunk());
    assert!(!EventReader::new(EventFormat::Lines).end_chunk());
}

/// Text that is mostly syntax.
fn body() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "data: ", "data:", "data", "da", "event: e", "id", ": ", ":", "\n", "\n", "\r\n", "\r", "\n\n", "x",
        " ", "\u{feff}", "\u{f8ff}", "\u{e9}", "\t", "\0",
    ]);
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(body in body(), cuts in prop::collection::vec(0..80usize, 0..6)) {
        for format in [EventFormat::ServerSent, EventFormat::Lines] {
            let whole = events(format, &[body.as_bytes()]);
            let single: Vec<&[u8]> = body.as_bytes().chunks(1).collect();
            let bytewise = events(format, &single);
            let mut at: Vec<usize> = cuts.iter().map(|cut| (*cut).min(body.len())).chain([0, body.len()]).collect();
            at.sort_unstable();
            let pieces: Vec<&[u8]> = at.windows(2).map(|ends| &body.as_bytes()[ends[0]..ends[1]]).collect();
            let in_pieces = events(format, &pieces);
            // Blanks before a line are left out if they come alone.
            let shown = |(events, in_event): &(Vec<String>, bool)| {
                let trim = |event: &String| if format == EventFormat::Lines { event.trim_start().to_owned() } else { event.clone() };
                (events.iter().map(trim).collect::<Vec<_>>(), *in_event)
            };
            prop_assert_eq!(shown(&whole), shown(&bytewise));
            prop_assert_eq!(shown(&whole), shown(&in_pieces));
            let expected = if format == EventFormat::Lines { expected_lines(&body) } else { expected_sent(&body) };
            prop_assert_eq!(whole.0, expected);
        }
    }

    #[test]
    fn no_bytes_cause_a_panic(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..8)) {
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        for format in [EventFormat::ServerSent, EventFormat::Lines, EventFormat::Chunks] {
            events(format, &pieces);
        }
    }
}
