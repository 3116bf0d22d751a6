//! Requests on the wire, and rejected requests.
//!
//! Requests without placeholders; those with placeholders are in `templates.rs`. Error messages are compared word for
//! word, with the position of the fault. The binary's `requests` tests check that a run sends exactly these bytes.

use paceline_http::{BodyFraming, LineFiles, Method, Request, RequestError, USER_AGENT, Url};
use std::num::NonZeroU32;

fn request(edit: impl FnOnce(&mut Request)) -> Request {
    let mut request = Request::get(&Url::parse("http://127.0.0.1:8080/").unwrap());
    edit(&mut request);
    request
}

fn with(headers: &[(&str, &str)]) -> Request {
    request(|request| {
        request.headers = headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    })
}

fn text(request: &Request) -> String {
    String::from_utf8(request.encode().unwrap()).unwrap()
}

#[test]
fn the_default_request() {
    let expected =
        format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: {USER_AGENT}\r\nAccept: */*\r\n\r\n");
    assert_eq!(text(&request(|_| {})), expected);
    assert_eq!(USER_AGENT, format!("paceline/{}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn given_fields_replace_defaults_and_follow_them() {
    let given = with(&[
        ("X-A", "1"),
        ("accept", "text/html"),
        ("HOST", "example.com"),
        ("X-A", ""),
        ("Connection", "close"),
    ]);
    let expected = format!(
        "GET / HTTP/1.1\r\nHOST: example.com\r\nUser-Agent: {USER_AGENT}\r\naccept: text/html\r\nX-A: 1\r\nX-A: \r\nConnection: close\r\n\r\n"
    );
    assert_eq!(text(&given), expected);
}

#[test]
fn a_length_is_sent_where_one_is_expected() {
    let length = |method: &str, body: &str| {
        let request = request(|request| {
            request.method = method.into();
            request.body = body.into();
        });
        let text = text(&request);
        assert!(text.ends_with(&format!("\r\n\r\n{body}")), "{text:?}");
        text.lines().find_map(|line| line.strip_prefix("Content-Length: ").map(str::to_owned))
    };
    assert_eq!(length("GET", ""), None);
    assert_eq!(length("DELETE", ""), None);
    assert_eq!(length("GET", "hi"), Some("2".into()));
    assert_eq!(length("POST", ""), Some("0".into()));
    assert_eq!(length("PUT", "h\u{e9}"), Some("3".into()));
    let given = request(|request| {
        request.body = b"hi".to_vec();
        request.headers = vec![("content-length".into(), "2".into())];
    });
    assert_eq!(text(&given).to_lowercase().matches("content-length").count(), 1);
}

#[test]
fn the_method_decides_how_the_response_is_read() {
    assert_eq!(request(|request| request.method = "HEAD".into()).method_kind(), Method::Head);
    assert_eq!(request(|request| request.method = "head".into()).method_kind(), Method::Other);
}

#[test]
fn a_target_may_be_a_star_for_options_alone() {
    let star = |method: &str| {
        request(|request| {
            request.method = method.into();
            request.path = "*".into();
        })
    };
    assert!(text(&star("OPTIONS")).starts_with("OPTIONS * HTTP/1.1\r\n"));
    assert!(matches!(star("GET").encode(), Err(RequestError::PathNotAbsolute { .. })));
}

#[test]
fn line_breaks_in_requests_are_refused() {
    let refusals: Vec<(Request, &str)> = vec![
        (request(|r| r.method = "".into()), "method \"\": it is empty; a method is a word such as GET"),
        (
            request(|r| r.method = "GET ".into()),
            "method \"GET \": character 4 is invalid; a method is a word such as GET",
        ),
        (
            request(|r| r.method = "CONNECT".into()),
            "method CONNECT opens a tunnel and cannot be measured; use another method",
        ),
        (request(|r| r.path = "x".into()), "path \"x\" does not begin with \"/\"; write \"/x\""),
        (
            request(|r| r.path = "/a b\r\nX: y".into()),
            "path \"/a b\\r\\nX: y\": the character at position 3 is not allowed; percent-encode it: \"/a%20b%0D%0AX:%20y\"",
        ),
        (
            request(|r| r.path = "/\u{e9}".into()),
            "path \"/\u{e9}\": the character at position 2 is not allowed; percent-encode it: \"/%C3%A9\"",
        ),
        (
            request(|r| r.host = "a\r\nX: y".into()),
            "header Host: \"a\\r\\nX: y\": character 2 is invalid; a value must not contain line breaks or control characters",
        ),
        (
            with(&[("", "x")]),
            "header \"\": it is empty; a name may contain only letters, digits and !#$%&'*+-.^_`|~",
        ),
        (
            with(&[("X:", "x")]),
            "header \"X:\": character 2 is invalid; a name may contain only letters, digits and !#$%&'*+-.^_`|~",
        ),
        (
            with(&[("X-\u{e9}", "x")]),
            "header \"X-\u{e9}\": character 3 is invalid; a name may contain only letters, digits and !#$%&'*+-.^_`|~",
        ),
        (
            with(&[("X", "\u{e9}\nb")]),
            "header X: \"\u{e9}\\nb\": character 2 is invalid; a value must not contain line breaks or control characters",
        ),
        (
            with(&[("X", "\0")]),
            "header X: \"\\0\": character 1 is invalid; a value must not contain line breaks or control characters",
        ),
        (with(&[("Host", "a"), ("host", "b")]), "header Host is given twice; a request may have only one"),
        (
            with(&[("Content-Length", "7")]),
            "header Content-Length: \"7\", but the length of the body is 0; remove the header: Paceline adds it",
        ),
        (
            with(&[("transfer-encoding", "chunked")]),
            "header Transfer-Encoding cannot be set: remove the header; --chunked sends the body in chunks",
        ),
        (
            with(&[("expect", "100-continue")]),
            "header Expect cannot be set: remove the header; --expect-continue sends it, and waits for 100 Continue",
        ),
    ];
    for (request, expected) in refusals {
        assert_eq!(request.encode().unwrap_err().to_string(), expected);
    }
}

#[test]
fn bodies_are_sent_in_chunks_and_after_100_continue() {
    let post = |body: &str, size: u32| {
        request(|request| {
            request.method = "POST".into();
            request.body = body.into();
            request.framing = NonZeroU32::new(size).map_or(BodyFraming::Length, BodyFraming::Chunks);
        })
    };
    let end = |request: &Request| text(request).split_once("Accept: */*\r\n").unwrap().1.to_owned();
    let chunks = "Transfer-Encoding: chunked\r\n\r\n4\r\nhell\r\n1\r\no\r\n0\r\n\r\n";
    assert_eq!(end(&post("hello", 4)), chunks);
    assert_eq!(end(&post("", 4)), "Content-Length: 0\r\n\r\n", "there is no body");
    let waits = |request: Request| Request { expects_continue: true, ..request };
    assert_eq!(end(&waits(post("hi", 0))), "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nhi");
    assert_eq!(end(&waits(post("hello", 4))), format!("Expect: 100-continue\r\n{chunks}"));
    assert_eq!(end(&waits(post("", 0))), "Content-Length: 0\r\n\r\n", "nothing waits");
    let generated = Request { generated: Some(70_000), ..post("", 0) };
    assert_eq!(end(&generated), "Content-Length: 70000\r\n\r\n", "its bytes follow");
    let generated = Request { generated: Some(70_000), ..post("", 9) };
    assert_eq!(end(&generated), "Transfer-Encoding: chunked\r\n\r\n");
    for request in [generated, waits(post("hello", 4)), waits(post("hi", 0))] {
        let template = request.compile(&LineFiles::default()).unwrap();
        assert_eq!(template.as_fixed(), Some(request.encode().unwrap().as_slice()));
    }
    let headers = vec![("Content-Length".to_owned(), "5".to_owned())];
    let both = Request { headers, ..post("hello", 4) };
    assert_eq!(both.encode(), Err(RequestError::LengthWithChunks));
}
