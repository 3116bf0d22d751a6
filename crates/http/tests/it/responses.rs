//! One row per rule: the bytes of a server and the events that they give, in any pieces.
//!
//! Also the limits, to the byte, and the responses that the fast path must leave to the general one. Generated streams
//! are in `pieces.rs`. The engine decides the outcome of a request after an error.

use paceline_http::{
    Decoder, HeadCache, LineEnds, MAX_CHUNK_LINE_BYTES, MAX_HEAD_BYTES, MAX_TRAILERS_BYTES, Method,
    ProtocolError,
};

use crate::observe::{events, feed, kinds, line};

/// Rows of (request method, bytes up to the close, events); splitting into pieces must change no event.
fn check(rows: &[(Method, &str, &str)]) {
    for &(method, text, expected) in rows {
        let bytes = text.as_bytes();
        let at_once = events(method, bytes, &[]);
        assert_eq!(line(&at_once), expected, "{text:?}");
        for sizes in [&[1][..], &[2], &[3, 5], &[7], &[16, 1]] {
            assert_eq!(
                kinds(&events(method, bytes, sizes)),
                kinds(&at_once),
                "{text:?} in pieces of {sizes:?}"
            );
        }
    }
}

use Method::{Head, Other};

#[test]
fn bodies_of_known_length() {
    check(&[
        (Other, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "200.1 length 5 keep | \"hello\" | end"),
        (Other, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200.1 length 0 keep | end"),
        (
            Other,
            "HTTP/1.1 200 OK\r\ncontent-LENGTH:\t5 \r\n\r\nhello",
            "200.1 length 5 keep | \"hello\" | end",
        ),
        (
            Other,
            "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\nContent-Length: 05\r\n\r\nhello",
            "200.1 length 5 keep | \"hello\" | end",
        ),
        (
            Other,
            "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nx",
            "200.1 length 18446744073709551615 keep | \"x\" | error: the connection closed before the end of the body (bytes missing: 18446744073709551614)",
        ),
        (
            Other,
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",
            "200.1 length 2 keep | \"hi\" | end | 404.1 length 2 keep | \"no\" | end",
        ),
    ]);
}

#[test]
fn lengths_that_cannot_be_trusted() {
    check(&[
        (
            Other,
            "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n",
            "error: two different Content-Lengths, 5 and 6",
        ),
        (
            Other,
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            "error: two different Content-Lengths, 5 and 6",
        ),
        (Other, "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n", "error: invalid Content-Length \"+5\""),
        (Other, "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "error: invalid Content-Length \"-1\""),
        (Other, "HTTP/1.1 200 OK\r\nContent-Length: 5 6\r\n\r\n", "error: invalid Content-Length \"5 6\""),
        (Other, "HTTP/1.1 200 OK\r\nContent-Length: 5,\r\n\r\n", "error: invalid Content-Length \"5,\""),
        (Other, "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", "error: invalid Content-Length \"\""),
        (
            Other,
            "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
            "error: invalid Content-Length \"18446744073709551616\"",
        ),
    ]);
}

#[test]
fn responses_without_a_body() {
    check(&[
        (Other, "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "204.1 empty keep | end"),
        (Other, "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "304.1 empty keep | end"),
        (Other, "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", "304.1 empty keep | end"),
        (Head, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "200.1 empty keep | end"),
        (Head, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "200.1 empty keep | end"),
        (
            Head,
            "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 404 No\r\nConnection: close\r\n\r\n",
            "200.1 empty keep | end | 404.1 empty close | end",
        ),
    ]);
}

#[test]
fn bodies_in_chunks() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let rows = [
        ("5\r\nhello\r\n0\r\n\r\n", "\"hello\" | end"),
        ("0\r\n\r\n", "end"),
        ("0000A\r\n0123456789\r\n1\r\n!\r\n00\r\n\r\n", "\"0123456789!\" | end"),
        (
            "5 ; a = \"b\\\";\" ;c=d\r\nhello\r\n0;last\r\nX-Sum: 7\r\nFolded: a\r\n b\r\n\r\n",
            "\"hello\" | end",
        ),
        ("2\r\nhi\r\n0\r\n\r\nHTTP/1.1 204 \r\n\r\n", "\"hi\" | end | 204.1 empty keep | end"),
        (
            "ffffffffffffffff\r\nx",
            "\"x\" | error: the connection closed before the last chunk and its blank line",
        ),
        (
            "10000000000000000\r\nx",
            "error: chunk size over 64 bits: \"0\\r\\nx\" follows the first 16 digits",
        ),
        (
            "5\r\nhello world",
            "\"hello\" | error: chunk data is not followed by CR LF but by \" world\" (wrong chunk size?)",
        ),
        (
            "5\r\nhello\rx",
            "\"hello\" | error: chunk data is not followed by CR LF but by \"x\" (wrong chunk size?)",
        ),
        ("hello", "error: invalid chunk size: \"hello\""),
        ("\r\n5\r\n", "error: invalid chunk size: \"\\r\\n5\\r\\n\""),
        ("-5\r\n", "error: invalid chunk size: \"-5\\r\\n\""),
        ("0x5\r\n", "error: invalid chunk size: \"x5\\r\\n\""),
        ("5\rx", "error: a chunk-size line has a CR without LF, or a NUL byte: \"x\""),
        ("5 5\r\n", "error: invalid chunk size: \"5\\r\\n\""),
        (" 5\r\nhello\r\n", "error: invalid chunk size: \" 5\\r\\nhello\\r\\n\""),
        (
            "0\r\nHTTP/1.1 200 OK\r\n",
            "error: invalid trailer: \"/1.1 200 OK\\r\\n\" (is the blank line after the last chunk missing?)",
        ),
        ("0\r\n", "error: the connection closed before the last chunk and its blank line"),
        ("5\r\nhel", "\"hel\" | error: the connection closed before the last chunk and its blank line"),
    ];
    for (body, expected) in rows {
        check(&[(Other, &format!("{head}{body}"), &format!("200.1 chunked keep | {expected}"))]);
    }
}

#[test]
fn transfer_encoding_decides_and_others_are_refused() {
    let tail = "2\r\nhi\r\n0\r\n\r\n";
    let row = |fields: &str| format!("{fields}\r\n\r\n{tail}");
    check(&[
        (
            Other,
            &row("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: CHUNKED"),
            "200.1 chunked close | \"hi\" | end",
        ),
        (
            Other,
            &row("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked"),
            "200.0 chunked close | \"hi\" | end",
        ),
        (
            Other,
            &row("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked"),
            "error: unsupported Transfer-Encoding \"gzip, chunked\" (only a single \"chunked\" is supported)",
        ),
        (
            Other,
            &row("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
            "error: unsupported Transfer-Encoding \"chunked\" (only a single \"chunked\" is supported)",
        ),
        (
            Other,
            &row("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity, chunked"),
            "error: unsupported Transfer-Encoding \"identity, chunked\" (only a single \"chunked\" is supported)",
        ),
        (
            Other,
            &row("HTTP/1.1 200 OK\r\nTransfer-Encoding: Identity\r\nContent-Length: 12"),
            "200.1 length 12 keep | \"2\\r\\nhi\\r\\n0\\r\\n\\r\\n\" | end",
        ),
    ]);
}

#[test]
fn bodies_that_end_with_the_connection() {
    check(&[
        (Other, "HTTP/1.1 200 OK\r\n\r\nall the rest", "200.1 until close close | \"all the rest\" | end"),
        (Other, "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", "200.0 until close close | end"),
    ]);
}

#[test]
fn persistence() {
    let head = |minor: u8, connection: &str| {
        format!("HTTP/1.{minor} 200 OK\r\nConnection: {connection}\r\nContent-Length: 0\r\n\r\n")
    };
    let rows = [
        (1, "", "keep"),
        (1, "close", "close"),
        (1, "Close", "close"),
        (1, "upgrade, close", "close"),
        (1, "closed", "keep"),
        (1, "keep-alive", "keep"),
        (1, "keep-alive, close", "close"),
        (2, "", "keep"),
        (0, "", "close"),
        (0, "Keep-Alive", "keep"),
        (0, "keep-alive,close", "close"),
        (0, "close", "close"),
        (0, "x,\r\n keep-alive", "keep"),
    ];
    for (minor, connection, expected) in rows {
        check(&[(Other, &head(minor, connection), &format!("200.{minor} length 0 {expected} | end"))]);
    }
}

#[test]
fn interim_responses() {
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 3\r\n\r\n";
    let last = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    let last_events = "200.1 length 2 keep | \"hi\" | end";
    check(&[
        (
            Other,
            &format!("HTTP/1.1 100 Continue\r\n\r\n{interim}{last}"),
            &format!("(100) | (103) | {last_events}"),
        ),
        (Other, &format!("{}{last}", interim.repeat(16)), &format!("{}{last_events}", "(103) | ".repeat(16))),
        (
            Other,
            &format!("{}{last}", interim.repeat(17)),
            &format!("{}error: more than 16 interim (1xx) responses to one request", "(103) | ".repeat(16)),
        ),
        (
            Other,
            interim,
            "(103) | error: the connection closed after an interim (1xx) response, before the final one",
        ),
        (
            Other,
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
            "error: the server switched protocols (status 101), but no request asked for an upgrade",
        ),
    ]);
}

#[test]
fn blanks_may_end_a_chunk_size_line() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for blanks in [" ", "\t", "     ", " \t \t"] {
        for extension in ["", ";a", " ; a", ";a=b", ";a=\"b\""] {
            let end = format!("{extension}{blanks}\r\n");
            let body = format!("{head}5{end}hello\r\n0{end}X: 1\r\n\r\n");
            check(&[(Other, &body, "200.1 chunked keep | \"hello\" | end")]);
        }
    }
    let rows = [
        ("5 \nhello", "error: a chunk-size line ends in LF without CR: \"\\nhello\""),
        ("5 \rx", "error: a chunk-size line has a CR without LF, or a NUL byte: \"x\""),
        ("5 \0\r\n", "error: a chunk-size line has a CR without LF, or a NUL byte: \"\\x00\\r\\n\""),
        ("5 \u{b}\r\n", "error: invalid chunk size: \"\\x0b\\r\\n\""),
    ];
    for (body, expected) in rows {
        check(&[(Other, &format!("{head}{body}"), &format!("200.1 chunked keep | {expected}"))]);
    }
    let padded = format!("{head}1{}\r\nx\r\n0\r\n\r\n", " ".repeat(MAX_CHUNK_LINE_BYTES));
    let too_long = "200.1 chunked keep | error: a chunk-size line does not end within 4096 bytes";
    check(&[(Other, &padded, too_long)]);
}

#[test]
fn chunk_framing_is_strict() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let bare = |line: &str, text: &str| format!("error: {line} ends in LF without CR: \"{text}\"");
    let control =
        |line: &str, text: &str| format!("error: {line} has a CR without LF, or a NUL byte: \"{text}\"");
    let extension = |text: &str| {
        format!(
            "error: invalid chunk extension at \"{text}\" (expected ;name, ;name=token or ;name=\"text\")"
        )
    };
    let after_data = |text: &str| {
        format!(
            "\"hello\" | error: chunk data is not followed by CR LF but by \"{text}\" (wrong chunk size?)"
        )
    };
    let (size, trailers) = ("a chunk-size line", "a line of the trailers");
    let rows = [
        // A size that is off by one.
        ("6\r\nhello\r\n0\r\n\r\n", after_data("\\n0\\r\\n\\r\\n").replace("hello", "hello\\r")),
        ("4\r\nhello\r\n0\r\n\r\n", after_data("o\\r\\n0\\r\\n\\r\\n").replace("\"hello\"", "\"hell\"")),
        ("5\r\nhello\n0\r\n\r\n", after_data("\\n0\\r\\n\\r\\n")),
        ("5\nhello\r\n0\r\n\r\n", bare(size, "\\nhello\\r\\n0\\r\\n\\r\\n")),
        ("5;a\nhello\r\n", bare(size, "\\nhello\\r\\n")),
        ("5;a=\"b\nhello\r\n", bare(size, "\\nhello\\r\\n")),
        ("5;a=b\rc\r\n", control(size, "c\\r\\n")),
        ("5;a=b\0\r\n", control(size, "\\x00\\r\\n")),
        ("5;a=\"b\0\"\r\n", control(size, "\\x00\\\"\\r\\n")),
        ("5;a=\"b\r\n", extension("\\r\\n")),
        ("5;a=\"b\u{1}\"\r\n", extension("\\x01\\\"\\r\\n")),
        ("5;a=b\"c\"\r\n", extension("\\\"c\\\"\\r\\n")),
        ("5;a=\"b\"c\r\n", extension("c\\r\\n")),
        ("5;\r\n", extension("\\r\\n")),
        ("5;;a\r\n", extension(";a\\r\\n")),
        ("5;a=\r\n", extension("\\r\\n")),
        ("5;=b\r\n", extension("=b\\r\\n")),
        ("5;a b\r\n", extension("b\\r\\n")),
        ("0\r\n\n", bare(trailers, "\\n")),
        ("0\r\nX: a\n\r\n", bare(trailers, "\\n\\r\\n")),
        ("0\r\nX: a\rb\r\n\r\n", control(trailers, "b\\r\\n\\r\\n")),
        ("0\r\nX: a\0\r\n\r\n", control(trailers, "\\x00\\r\\n\\r\\n")),
        ("0\r\n\rX", control(trailers, "X")),
    ];
    for (body, expected) in rows {
        check(&[(Other, &format!("{head}{body}"), &format!("200.1 chunked keep | {expected}"))]);
    }
}

#[test]
fn lines_of_a_head_end_in_cr_lf_and_may_be_folded() {
    let bare = |text: &str| {
        format!("error: a status or header line ends in LF without CR: \"{text}\" (--lenient accepts this)")
    };
    check(&[
        (Other, "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", &bare("HTTP/1.1 200 OK\\n")),
        (Other, "HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nhi", &bare("Content-Length: 2\\n")),
        (Other, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\nhi", &bare("\\n")),
        (
            Other,
            "HTTP/1.1 200 OK\r\nX: a\r\n Content-Length: 9\r\nContent-Length:\r\n\t2\r\n\r\nhi",
            "200.1 length 2 keep | \"hi\" | end",
        ),
        (
            Other,
            "HTTP/1.1 200 OK\r\n X: folded onto the status line\r\n\r\n",
            "error: invalid header line \" X: folded onto the status line\" (expected \"name: value\", no space before the colon)",
        ),
    ]);
}

#[test]
fn heads_with_lf_alone_are_read_where_allowed() {
    for head in [
        "HTTP/1.1 200 OK\nContent-Length: 2\n\n",
        "HTTP/1.1 200 OK\nContent-Length: 2\r\n\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\n",
        "HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\nContent-Length: 2\n\n",
    ] {
        let bytes = format!("{head}hi");
        for size in [1, 2, 7, bytes.len()] {
            let mut decoder = Decoder::new(Other).with_line_ends(LineEnds::LfAllowed);
            let mut seen = Vec::new();
            for piece in bytes.as_bytes().chunks(size) {
                assert!(
                    feed(&mut decoder, &mut HeadCache::new(), piece, &mut seen),
                    "{head:?}: {}",
                    line(&seen)
                );
            }
            assert!(line(&seen).ends_with("200.1 length 2 keep | \"hi\" | end"), "{head:?}: {}", line(&seen));
        }
    }
    // Chunks are still read strictly, in every response of the connection.
    let mut decoder = Decoder::new(Other).with_line_ends(LineEnds::LfAllowed);
    let (mut cache, mut seen) = (HeadCache::new(), Vec::new());
    let chunked = b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\r\nhi\r\n0\r\n\r\n";
    assert!(feed(&mut decoder, &mut cache, &chunked.repeat(2), &mut seen));
    assert!(!feed(
        &mut decoder,
        &mut cache,
        b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nhi\n",
        &mut seen
    ));
}

#[test]
fn a_content_coding_is_noticed() {
    let head = |field: &str| format!("HTTP/1.1 200 OK\r\n{field}\r\nContent-Length: 0\r\n\r\n");
    for (field, coded) in [
        ("Content-Encoding: gzip", " encoded"),
        ("content-encoding: br", " encoded"),
        ("Content-Encoding: utf-8, GZIP", " encoded"),
        ("Content-Encoding: identity", ""),
        ("Content-Encoding: none", ""),
        ("Content-Encoding: utf-8", ""),
        ("X-Content-Encoding: gzip", ""),
    ] {
        check(&[(Other, &head(field), &format!("200.1 length 0 keep{coded} | end"))]);
    }
}

#[test]
fn status_lines() {
    let malformed =
        |line: &str| format!("error: invalid status line \"{line}\" (expected \"HTTP/1.1 200 OK\")");
    let rows = [
        ("HTTP/1.1 200", "200.1 empty keep | end".to_owned()),
        ("HTTP/1.1 200 ", "200.1 empty keep | end".to_owned()),
        ("HTTP/1.1 999 \u{e9}", "999.1 empty keep | end".to_owned()),
        ("HTTP/1.1 000", malformed("HTTP/1.1 000")),
        ("HTTP/1.1 099 OK", malformed("HTTP/1.1 099 OK")),
        ("HTTP/1.1 20 OK", malformed("HTTP/1.1 20 OK")),
        ("HTTP/1.1 2000 OK", malformed("HTTP/1.1 2000 OK")),
        ("HTTP/1.1  200 OK", malformed("HTTP/1.1  200 OK")),
        ("HTTP/1.1 2x0 OK", malformed("HTTP/1.1 2x0 OK")),
        ("HTTP/1.10 200 OK", malformed("HTTP/1.10 200 OK")),
        ("HTTP/x 200 OK", malformed("HTTP/x 200 OK")),
        ("HTTP/2 200", "error: the response is not HTTP/1.x: it begins \"HTTP/2 200\"".to_owned()),
        ("HTTP/0.9 200", "error: the response is not HTTP/1.x: it begins \"HTTP/0.9 200\"".to_owned()),
    ];
    for (line, expected) in rows {
        check(&[(Head, &format!("{line}\r\n\r\n"), &expected)]);
    }
    for reason in ["a\u{1}", "\u{7f}", "O\u{1b}[31mK"] {
        let line = format!("HTTP/1.1 200 {reason}");
        let expected = format!(
            "error: control character in the reason phrase of \"{}\"",
            line.as_bytes().escape_ascii()
        );
        check(&[(Head, &format!("{line}\r\n\r\n"), &expected)]);
    }
}

#[test]
fn header_lines() {
    let read =
        |field: &str| line(&events(Other, format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n").as_bytes(), &[]));
    for field in ["X", "X : y", ": y", "X y: z", "X(: y", "\u{e9}: y", "Content-Length : 2"] {
        let event = read(field);
        assert!(event.starts_with("error: invalid header line \""), "{field:?}: {event}");
    }
    for field in ["X: a\rb", "X: a\0b", "X\0: a"] {
        let event = read(field);
        assert!(
            event.starts_with("error: a status or header line has a CR without LF, or a NUL byte"),
            "{event}"
        );
    }
    for field in ["X:", "X:\t", "X: a:b", "!#$%&'*+-.^_`|~09: \u{1}\u{7f}", "X: \u{fc}"] {
        check(&[(Head, &format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n"), "200.1 empty keep | end")]);
    }
}

#[test]
fn text_that_is_not_http_is_rejected() {
    let unknown = "; this is another protocol, or bytes after the end of the previous response";
    check(&[
        (
            Other,
            "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3 and more of it\r\n",
            "error: the response is not HTTP: it begins \"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3 a...\"; the server speaks SSH: check the port",
        ),
        (
            Other,
            "\r\nHTTP/1.1 200 OK\r\n\r\n",
            &format!(
                "error: the response is not HTTP: it begins \"\\r\\nHTTP/1.1 200 OK\\r\\n\\r\\n\"{unknown}"
            ),
        ),
        (
            Other,
            "http/1.1 200 OK\r\n\r\n",
            &format!("error: the response is not HTTP: it begins \"http/1.1 200 OK\\r\\n\\r\\n\"{unknown}"),
        ),
        (
            Other,
            "\u{15}\u{3}\u{1}\0\u{2}\u{2}P",
            "error: the response is not HTTP: it begins \"\\x15\\x03\\x01\\x00\\x02\\x02P\"; the server speaks TLS: use https://",
        ),
        (
            Other,
            "\0\0\u{c}\u{4}\0",
            "error: the response is not HTTP: it begins \"\\x00\\x00\\x0c\\x04\\x00\"; the server speaks HTTP/2: use --http 2",
        ),
        (
            Other,
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi there",
            &format!(
                "200.1 length 2 keep | \"hi\" | end | error: the response is not HTTP: it begins \" there\"{unknown}"
            ),
        ),
    ]);
}

#[test]
fn a_close_in_the_middle() {
    check(&[
        (Other, "", ""),
        (Other, "HTT", "error: the connection closed after byte 3 of the response headers"),
        (
            Other,
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n",
            "error: the connection closed after byte 36 of the response headers",
        ),
        (
            Other,
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
            "200.1 length 9 keep | error: the connection closed before the end of the body (bytes missing: 9)",
        ),
    ]);
}

#[test]
fn limits_are_reached_and_not_passed() {
    let head = |bytes: usize| {
        let (start, end) = ("HTTP/1.1 204 No\r\nX: ", "\r\n\r\n");
        format!("{start}{}{end}", "x".repeat(bytes - start.len() - end.len()))
    };
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let size = |bytes: usize| format!("{chunked}1;{}\r\nx\r\n0\r\n\r\n", "x".repeat(bytes - 4));
    let trailers = |bytes: usize| format!("{chunked}0\r\nX:{}\r\n\r\n", "x".repeat(bytes - 6));
    let rows = [
        (head(MAX_HEAD_BYTES), "204.1 empty keep | end"),
        (head(MAX_HEAD_BYTES + 1), "error: the response headers do not end within 65536 bytes"),
        (size(MAX_CHUNK_LINE_BYTES), "200.1 chunked keep | \"x\" | end"),
        (
            size(MAX_CHUNK_LINE_BYTES + 1),
            "200.1 chunked keep | error: a chunk-size line does not end within 4096 bytes",
        ),
        (trailers(MAX_TRAILERS_BYTES), "200.1 chunked keep | end"),
        (
            trailers(MAX_TRAILERS_BYTES + 1),
            "200.1 chunked keep | error: the trailers do not end within 65536 bytes",
        ),
        (
            "HTTP/1.1 200 OK\r\n".to_owned() + &"X: y\r\n".repeat(20_000),
            "error: the response headers do not end within 65536 bytes",
        ),
        (
            format!("{chunked}{}", "0".repeat(5000)),
            "200.1 chunked keep | error: a chunk-size line does not end within 4096 bytes",
        ),
        (
            format!("{chunked}0\r\n{}", "X: y\r\n".repeat(20_000)),
            "200.1 chunked keep | error: the trailers do not end within 65536 bytes",
        ),
    ];
    for (text, expected) in rows {
        check(&[(Other, &text, expected)]);
    }
}

#[test]
fn one_cache_serves_both_kinds_of_method() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let response = [head.as_slice(), b"hello"].concat();
    let mut cache = HeadCache::new();
    assert_eq!(Decoder::new(Other).whole(&cache, &response), None, "an empty cache knows no head");
    Decoder::new(Head).decode(&mut cache, head).unwrap();
    let to_other = Decoder::new(Other).whole(&cache, &response).unwrap();
    assert_eq!((to_other.body, to_other.consumed), (b"hello".as_slice(), response.len()));
    let to_head = Decoder::new(Head).whole(&cache, &response).unwrap();
    assert_eq!((to_head.body, to_head.consumed), (b"".as_slice(), head.len()));
    assert_eq!(
        Decoder::new(Other).whole(&cache, &response[..response.len() - 1]),
        None,
        "a body not all there"
    );
    assert_eq!(Decoder::new(Other).whole(&cache, &head[..10]), None, "a head not all there");
}

#[test]
fn the_fast_path_ignores_open_ended_bodies_and_partial_responses() {
    for fields in ["Transfer-Encoding: chunked\r\n", ""] {
        let response = format!("HTTP/1.1 200 OK\r\n{fields}\r\n0\r\n\r\n");
        let mut cache = HeadCache::new();
        Decoder::new(Other).decode(&mut cache, response.as_bytes()).unwrap();
        assert_eq!(Decoder::new(Other).whole(&cache, response.as_bytes()), None, "{response:?}");
    }
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let mut cache = HeadCache::new();
    let mut decoder = Decoder::new(Other);
    decoder.decode(&mut cache, response).unwrap();
    assert!(!decoder.is_idle());
    assert_eq!(decoder.whole(&cache, response), None, "the end of the first was not taken");
    decoder.reset();
    assert!(decoder.is_idle() && decoder.whole(&cache, response).is_some());
}

#[test]
fn the_method_may_change_between_responses() {
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    let mut cache = HeadCache::new();
    let mut decoder = Decoder::new(Other);
    decoder.set_method(Head);
    assert_eq!(decoder.whole(&cache, response), None);
    decoder.decode(&mut cache, response).unwrap();
    decoder.decode(&mut cache, b"").unwrap();
    assert!(decoder.is_idle());
}

#[test]
fn errors_are_small() {
    assert!(size_of::<ProtocolError>() <= 32, "{} bytes", size_of::<ProtocolError>());
}
