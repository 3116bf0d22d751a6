//! One row per rule: what a server sends, what is told of it, whatever the pieces.
//!
//! And the limits, to the byte, and where the fast path has to leave a response to the general one. Streams nobody
//! wrote by hand are in `pieces.rs`. Which outcome a request has after an error is the engine's to say.

use paceline_http::{
    CHUNK_LINE_BYTES_MAX, Decoder, HEAD_BYTES_MAX, HeadCache, Method, ProtocolError, TRAILERS_BYTES_MAX,
};

use crate::observe::{events, kinds, line};

/// Rows of (request method, bytes up to the close, what is told of them); pieces must change nothing.
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
            "200.1 length 18446744073709551615 keep | \"x\" | error: the connection closed with 18446744073709551614 bytes of the body missing",
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
        ("5\nhello\n0\n\n", "\"hello\" | end"),
        ("0000A\r\n0123456789\r\n1\r\n!\r\n00\r\n\r\n", "\"0123456789!\" | end"),
        ("5 ; a=\"b;\" ;c\r\nhello\r\n0;last\r\nX-Sum: 7\r\nFolded: a\r\n b\r\n\r\n", "\"hello\" | end"),
        ("2\r\nhi\r\n0\r\n\r\nHTTP/1.1 204 \r\n\r\n", "\"hi\" | end | 204.1 empty keep | end"),
        (
            "ffffffffffffffff\r\nx",
            "\"x\" | error: the connection closed before the last chunk and its blank line",
        ),
        (
            "10000000000000000\r\nx",
            "error: a chunk size beyond 64 bits: \"0\\r\\nx\" follows its first 16 digits",
        ),
        (
            "5\r\nhello world",
            "\"hello\" | error: a chunk is longer than announced: \" world\" stands where it should end",
        ),
        (
            "5\r\nhello\rx",
            "\"hello\" | error: a chunk is longer than announced: \"x\" stands where it should end",
        ),
        ("hello", "error: malformed chunk size: \"hello\""),
        ("\r\n5\r\n", "error: malformed chunk size: \"\\r\\n5\\r\\n\""),
        ("-5\r\n", "error: malformed chunk size: \"-5\\r\\n\""),
        ("0x5\r\n", "error: malformed chunk size: \"x5\\r\\n\""),
        ("5\rx", "error: malformed chunk size: \"x\""),
        ("5 5\r\n", "error: malformed chunk size: \"5\\r\\n\""),
        (
            "0\r\nHTTP/1.1 200 OK\r\n",
            "error: malformed trailer: \"/1.1 200 OK\\r\\n\" (is the blank line after the last chunk missing?)",
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
            "error: unsupported Transfer-Encoding \"gzip, chunked\" (only \"chunked\", once, can be read)",
        ),
        (
            Other,
            &row("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
            "error: unsupported Transfer-Encoding \"chunked\" (only \"chunked\", once, can be read)",
        ),
        (
            Other,
            &row("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity"),
            "error: unsupported Transfer-Encoding \"identity\" (only \"chunked\", once, can be read)",
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
    let told = "200.1 length 2 keep | \"hi\" | end";
    check(&[
        (Other, &format!("HTTP/1.1 100 Continue\r\n\r\n{interim}{last}"), &format!("(100) | (103) | {told}")),
        (Other, &format!("{}{last}", interim.repeat(16)), &format!("{}{told}", "(103) | ".repeat(16))),
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
            "error: the server switched protocols (101) without being asked to",
        ),
    ]);
}

#[test]
fn lines_may_end_in_lf_alone_and_be_folded() {
    check(&[
        (Other, "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "200.1 length 2 keep | \"hi\" | end"),
        (Other, "HTTP/1.1 200 OK\nContent-Length: 2\r\n\nhi", "200.1 length 2 keep | \"hi\" | end"),
        (Other, "HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nhi", "200.1 length 2 keep | \"hi\" | end"),
        (
            Other,
            "HTTP/1.1 200 OK\r\nX: a\r\n Content-Length: 9\r\nContent-Length:\r\n\t2\r\n\r\nhi",
            "200.1 length 2 keep | \"hi\" | end",
        ),
        (
            Other,
            "HTTP/1.1 200 OK\r\n X: folded onto the status line\r\n\r\n",
            "error: malformed header line \" X: folded onto the status line\" (want \"name: value\", no blank before the colon)",
        ),
    ]);
}

#[test]
fn status_lines() {
    let malformed =
        |line: &str| format!("error: malformed status line \"{line}\" (want \"HTTP/1.1 200 OK\")");
    let rows = [
        ("HTTP/1.1 200", "200.1 empty keep | end".to_owned()),
        ("HTTP/1.1 200 ", "200.1 empty keep | end".to_owned()),
        ("HTTP/1.1 999 \u{e9}", "999.1 empty keep | end".to_owned()),
        ("HTTP/1.1 20 OK", malformed("HTTP/1.1 20 OK")),
        ("HTTP/1.1 2000 OK", malformed("HTTP/1.1 2000 OK")),
        ("HTTP/1.1  200 OK", malformed("HTTP/1.1  200 OK")),
        ("HTTP/1.1 2x0 OK", malformed("HTTP/1.1 2x0 OK")),
        ("HTTP/1.10 200 OK", malformed("HTTP/1.10 200 OK")),
        ("HTTP/x 200 OK", malformed("HTTP/x 200 OK")),
        ("HTTP/2 200", "error: the answer is not HTTP/1.x: it begins \"HTTP/2 200\"".to_owned()),
        ("HTTP/0.9 200", "error: the answer is not HTTP/1.x: it begins \"HTTP/0.9 200\"".to_owned()),
    ];
    for (line, expected) in rows {
        check(&[(Head, &format!("{line}\r\n\r\n"), &expected)]);
    }
}

#[test]
fn header_lines() {
    for field in
        ["X", "X : y", ": y", "X y: z", "X(: y", "X: a\rb", "X: a\0b", "\u{e9}: y", "Content-Length : 2"]
    {
        let told = line(&events(Other, format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n").as_bytes(), &[]));
        assert!(told.starts_with("error: malformed header line \""), "{field:?}: {told}");
    }
    for field in ["X:", "X:\t", "X: a:b", "!#$%&'*+-.^_`|~09: \u{1}\u{7f}", "X: \u{fc}"] {
        check(&[(Head, &format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n"), "200.1 empty keep | end")]);
    }
}

#[test]
fn what_is_not_http() {
    let unknown = "; another protocol, or bytes beyond the end of the previous response";
    check(&[
        (
            Other,
            "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3 and more of it\r\n",
            &format!(
                "error: the answer is not HTTP: it begins \"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3 a...\"; this is SSH: check the port"
            ),
        ),
        (
            Other,
            "\r\nHTTP/1.1 200 OK\r\n\r\n",
            &format!(
                "error: the answer is not HTTP: it begins \"\\r\\nHTTP/1.1 200 OK\\r\\n\\r\\n\"{unknown}"
            ),
        ),
        (
            Other,
            "http/1.1 200 OK\r\n\r\n",
            &format!("error: the answer is not HTTP: it begins \"http/1.1 200 OK\\r\\n\\r\\n\"{unknown}"),
        ),
        (
            Other,
            "\u{15}\u{3}\u{1}\0\u{2}\u{2}P",
            "error: the answer is not HTTP: it begins \"\\x15\\x03\\x01\\x00\\x02\\x02P\"; this is TLS: use https://",
        ),
        (
            Other,
            "\0\0\u{c}\u{4}\0",
            "error: the answer is not HTTP: it begins \"\\x00\\x00\\x0c\\x04\\x00\"; this is HTTP/2: use --http 2",
        ),
        (
            Other,
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi there",
            &format!(
                "200.1 length 2 keep | \"hi\" | end | error: the answer is not HTTP: it begins \" there\"{unknown}"
            ),
        ),
    ]);
}

#[test]
fn a_close_in_the_middle() {
    check(&[
        (Other, "", ""),
        (Other, "HTT", "error: the connection closed 3 bytes into a response's head"),
        (
            Other,
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n",
            "error: the connection closed 36 bytes into a response's head",
        ),
        (
            Other,
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
            "200.1 length 9 keep | error: the connection closed with 9 bytes of the body missing",
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
        (head(HEAD_BYTES_MAX), "204.1 empty keep | end"),
        (head(HEAD_BYTES_MAX + 1), "error: the response's head does not end within 65536 bytes"),
        (size(CHUNK_LINE_BYTES_MAX), "200.1 chunked keep | \"x\" | end"),
        (
            size(CHUNK_LINE_BYTES_MAX + 1),
            "200.1 chunked keep | error: a chunk-size line does not end within 4096 bytes",
        ),
        (trailers(TRAILERS_BYTES_MAX), "200.1 chunked keep | end"),
        (
            trailers(TRAILERS_BYTES_MAX + 1),
            "200.1 chunked keep | error: the response's trailers do not end within 65536 bytes",
        ),
        (
            "HTTP/1.1 200 OK\r\n".to_owned() + &"X: y\r\n".repeat(20_000),
            "error: the response's head does not end within 65536 bytes",
        ),
        (
            format!("{chunked}{}", "0".repeat(5000)),
            "200.1 chunked keep | error: a chunk-size line does not end within 4096 bytes",
        ),
        (
            format!("{chunked}0\r\n{}", "X: y\r\n".repeat(20_000)),
            "200.1 chunked keep | error: the response's trailers do not end within 65536 bytes",
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
fn the_fast_path_leaves_open_ended_bodies_and_begun_responses_alone() {
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
