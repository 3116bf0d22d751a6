//! Tests the reported differences: of status, headers, dates and bodies.
//!
//! Answers are made by hand, without a server. Reading an answer from a connection is tested with the probe.

use super::*;
use paceline_catalogue::ExpectedCoding;

fn answer(status: u16, content_type: &str, body: &str) -> Answer {
    let headers = vec![("content-type".to_owned(), content_type.to_owned())];
    Answer { status, headers, body: body.as_bytes().to_vec(), keeps_alive: true, took: Duration::ZERO }
}

fn expect(body: ExpectedBody) -> Expect {
    let content_type = Some("text/plain".into());
    let headers = Vec::new();
    Expect {
        status: 200,
        grpc_status: None,
        content_type,
        charset: None,
        headers,
        body,
        coding: ExpectedCoding::default(),
        events: None,
    }
}

#[test]
fn differences_are_exact() {
    let hello = expect(ExpectedBody::Exact(b"Hello World\n".to_vec()));
    let table = [
        (answer(200, "text/plain", "Hello World\n"), None),
        (answer(200, "Text/Plain; charset=utf-8", "Hello World\n"), None),
        (answer(500, "text/plain", "Hello World\n"), Some("status 500 instead of 200")),
        (answer(200, "text/html", "Hello World\n"), Some("content type text/html instead of text/plain")),
        (
            answer(200, "text/plain", "Hello World"),
            Some(r#"the body has 11 bytes instead of 12, and nothing instead of "\n" at byte 11"#),
        ),
        (
            answer(200, "text/plain", "Hello world\n"),
            Some(r#"the body has "world\n" instead of "World\n" at byte 6"#),
        ),
    ];
    for (answer, expected) in table {
        assert_eq!(difference(&hello, &answer).as_deref(), expected);
    }
}

#[test]
fn a_digest_is_compared() {
    let sha256 = Sha256::digest(b"27").into();
    let power = expect(ExpectedBody::Digest { length: 2, sha256 });
    assert_eq!(difference(&power, &answer(200, "text/plain", "27")), None);
    let wrong = difference(&power, &answer(200, "text/plain", "28")).unwrap();
    assert!(wrong.starts_with("the body has SHA-256 59e19706d51d39f6"), "{wrong}");
    let short = difference(&power, &answer(200, "text/plain", "2"));
    assert_eq!(short.as_deref(), Some("the body has 1 byte instead of 2"));
}

/// TechEmpower's rules for its JSON test.
fn techempower() -> Expect {
    Expect {
        status: 200,
        grpc_status: None,
        coding: ExpectedCoding::default(),
        events: None,
        content_type: Some("application/json".into()),
        charset: Some("utf-8".into()),
        headers: vec!["server".into(), "date".into(), "content-length|transfer-encoding".into()],
        body: ExpectedBody::Json(serde_json::json!({ "message": "Hello, World!" })),
    }
}

fn json(content_type: &str, body: &str, headers: &[(&str, &str)]) -> Answer {
    let mut answer = answer(200, content_type, body);
    answer.headers.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    answer
}

#[test]
fn missing_headers_are_reported() {
    let now = httpdate::fmt_http_date(SystemTime::now());
    let (server, date, length) = (("server", "x"), ("date", now.as_str()), ("content-length", "27"));
    let chunked = ("transfer-encoding", "chunked");
    let reported = |headers: &[(&str, &str)]| {
        difference(&techempower(), &json("application/json", "{\"message\":\"Hello, World!\"}", headers))
    };
    assert_eq!(reported(&[server, date, length]), None);
    assert_eq!(reported(&[server, date, chunked]), None);
    assert_eq!(reported(&[date, length]).as_deref(), Some("no server header"));
    assert_eq!(reported(&[("server", ""), date, length]).as_deref(), Some("no server header"));
    assert_eq!(reported(&[server, length]).as_deref(), Some("no date header"));
    assert_eq!(reported(&[server, date]).as_deref(), Some("no content-length or transfer-encoding header"));
    let packed = reported(&[server, date, length, ("content-encoding", "gzip")]);
    assert_eq!(packed.as_deref(), Some("content-encoding gzip, which the request did not accept"));
}

#[test]
fn a_date_header_is_current_and_well_formed() {
    let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
    for fine in
        ["Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:34 GMT", "Sun, 06 Nov 1994 08:49:40 GMT"]
    {
        assert_eq!(date_difference(fine, now, Duration::ZERO), None, "{fine}");
    }
    let stopped = date_difference("Sun, 06 Nov 1994 08:49:27 GMT", now, Duration::ZERO).unwrap();
    assert!(stopped.contains("differs by 10 s"), "{stopped}");
    // Read when the request began, which was 9 s ago.
    let nine = Duration::from_secs(9);
    assert_eq!(date_difference("Sun, 06 Nov 1994 08:49:28 GMT", now, nine), None);
    assert!(date_difference("Sun, 06 Nov 1994 08:49:23 GMT", now, nine).unwrap().contains("differs by 5 s"));
    assert!(date_difference("Sun, 06 Nov 1994 08:49:46 GMT", now, nine).unwrap().contains("differs by 9 s"));
    let table = [
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Mon, 06 Nov 1994 08:49:37 GMT",
        "now",
    ];
    for wrong in table {
        let reported = date_difference(wrong, now, Duration::ZERO).unwrap();
        assert!(
            reported.contains("does not have the format \"Sun, 06 Nov 1994 08:49:37 GMT\""),
            "{reported}"
        );
    }
}

#[test]
fn a_charset_may_be_missing_but_not_different() {
    let wanted = Expect { headers: Vec::new(), ..techempower() };
    let reported =
        |content_type| difference(&wanted, &json(content_type, "{\"message\": \"Hello, World!\"}", &[]));
    for fine in ["application/json", "application/json;charset=utf-8", "Application/JSON; charset=\"UTF-8\""]
    {
        assert_eq!(reported(fine), None, "{fine}");
    }
    assert!(
        reported("application/json; charset=latin1").unwrap().contains("but only charset=utf-8 is allowed")
    );
    assert!(reported("application/json; version=1").unwrap().contains("but only charset=utf-8 is allowed"));
}

#[test]
fn json_is_compared_as_a_value() {
    let wanted = Expect { headers: Vec::new(), ..techempower() };
    let reported = |body| difference(&wanted, &json("application/json", body, &[]));
    assert_eq!(reported("{ \"message\" : \"Hello, World!\" }\n"), None);
    for wrong in
        ["{\"message\":\"hello, world!\"}", "{\"message\":\"Hello, World!\",\"more\":1}", "[]", "Hello", ""]
    {
        let reported = reported(wrong).unwrap();
        assert!(
            reported.ends_with("instead of the JSON value {\"message\":\"Hello, World!\"}"),
            "{reported}"
        );
    }
}

/// "hello" in brotli, as one block that is not compressed.
const HELLO_BROTLI: &[u8] = b"\x0b\x02\x80hello\x03";
/// "hello" in gzip, as one block that is not compressed.
const HELLO_GZIP: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01\x05\0\xfa\xffhello\x86\xa6\x10\x36\x05\0\0\0";

#[test]
fn a_compressed_body_is_compared_without_its_coding() {
    let accepted = vec!["gzip".to_owned(), "br".to_owned()];
    let accepting = |is_required| Expect {
        coding: ExpectedCoding { accepted: accepted.clone(), is_required },
        ..expect(ExpectedBody::Exact(b"hello".to_vec()))
    };
    let (may, must) = (accepting(false), accepting(true));
    let coded = |coding: &str, body: &[u8]| {
        let mut answer = answer(200, "text/plain", "");
        answer.headers.push(("content-encoding".to_owned(), coding.to_owned()));
        Answer { body: body.to_vec(), ..answer }
    };
    for wanted in [&may, &must] {
        for fine in [coded("gzip", HELLO_GZIP), coded("BR", HELLO_BROTLI)] {
            assert_eq!(difference(wanted, &fine), None);
            assert_eq!(content(wanted, &fine).as_deref(), Ok(&b"hello"[..]));
        }
    }
    let plain = answer(200, "text/plain", "hello");
    assert_eq!(difference(&may, &plain), None);
    let unpacked = "the response is not compressed, although the request accepts gzip and br";
    assert_eq!(difference(&must, &plain).as_deref(), Some(unpacked));
    for (wrong, reported) in [
        (coded("zstd", b"hello"), "content-encoding zstd, which the request did not accept"),
        (coded("gzip", HELLO_BROTLI), "content-encoding gzip, but the body is not valid gzip: "),
        (coded("br", &HELLO_BROTLI[..6]), "content-encoding br, but the body is not valid br: "),
    ] {
        let difference = difference(&may, &wrong).unwrap();
        assert!(difference.starts_with(reported), "{difference}");
    }
    let other = Expect { body: ExpectedBody::Exact(b"hallo".to_vec()), ..may };
    let different = difference(&other, &coded("br", HELLO_BROTLI)).unwrap();
    assert!(different.contains("instead of \"allo\" at byte 1"), "{different}");
}

#[test]
fn a_header_may_need_a_value() {
    let wanted =
        Expect { headers: vec!["x-cache: HIT".to_owned()], ..expect(ExpectedBody::Exact(b"x".to_vec())) };
    let reported = |headers: &[(&str, &str)]| difference(&wanted, &json("text/plain", "x", headers));
    assert_eq!(reported(&[("x-cache", "HIT")]), None);
    assert_eq!(reported(&[("x-cache", "MISS")]).as_deref(), Some("header x-cache: MISS instead of HIT"));
    assert_eq!(reported(&[]).as_deref(), Some("header x-cache: (none) instead of HIT"));
}

#[test]
fn one_of_several_content_types_is_enough() {
    let script = Expect {
        content_type: Some("text/javascript|application/javascript".to_owned()),
        ..expect(ExpectedBody::Exact(b"x".to_vec()))
    };
    for fine in ["application/javascript", "text/javascript; charset=utf-8"] {
        assert_eq!(difference(&script, &answer(200, fine, "x")), None, "{fine}");
    }
    assert_eq!(
        difference(&script, &answer(200, "text/plain", "x")).as_deref(),
        Some("content type text/plain instead of text/javascript or application/javascript")
    );
}
