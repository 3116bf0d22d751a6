//! Requests with placeholders: their expansion, their length, and rejected ones.
//!
//! They are read back with code that shares no code with the writer. The binary's `requests` tests cover where files of
//! lines come from, and `--literal`; `allocation.rs` checks that expanding allocates no memory.

use paceline_http::{
    BodyFraming, Expander, LineFiles, RandomBits, Request, RequestError, RequestTemplate, USER_AGENT, Url,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::num::NonZeroU32;

/// A linear congruential generator (Knuth's MMIX constants), whose high bits are random enough for the counts.
struct Congruent(u64);

impl RandomBits for Congruent {
    fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }
}

fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Request {
    Request {
        method: method.into(),
        path: path.into(),
        headers: headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        body: body.into(),
        ..Request::get(&Url::parse("http://127.0.0.1:8080/").unwrap())
    }
}

fn files(files: &[(&str, &str)]) -> LineFiles {
    let mut read = LineFiles::default();
    files.iter().for_each(|(name, text)| read.add(*name, text.as_bytes().to_vec()));
    read
}

fn expander(template: &RequestTemplate, worker: u32, workers: u32) -> Expander<Congruent> {
    Expander::new(worker, workers, Congruent(worker.into()), 8, std::iter::once(template))
}

fn next(expander: &mut Expander<Congruent>, template: &RequestTemplate) -> Vec<u8> {
    let mut bytes = Vec::new();
    expander.expand(template, &mut bytes);
    assert!(bytes.len() <= template.longest(), "{} of {} bytes", bytes.len(), template.longest());
    bytes
}

/// One request as a server reads it: request line, fields, and the body as delimited by `Content-Length`.
#[derive(Debug, PartialEq)]
struct Heard {
    line: String,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

/// Reads one request and returns the remaining bytes: a naive reader that shares no code with the writer.
fn parse_request(bytes: &[u8]) -> (Heard, &[u8]) {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a blank line ends the head");
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap().to_owned();
    let fields: Vec<(String, String)> = lines
        .map(|field| field.split_once(": ").expect("a field has a colon and a blank"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let lengths: Vec<&String> =
        fields.iter().filter(|(name, _)| name == "Content-Length").map(|(_, value)| value).collect();
    assert!(lengths.len() <= 1, "{head}");
    let length = lengths.first().map_or(0, |length| length.parse().unwrap());
    let rest = &bytes[end + 4..];
    (Heard { line, fields, body: rest[..length].to_vec() }, &rest[length..])
}

fn hear_all(mut bytes: &[u8]) -> Vec<Heard> {
    let mut heard = Vec::new();
    while !bytes.is_empty() {
        let (one, rest) = parse_request(bytes);
        heard.push(one);
        bytes = rest;
    }
    heard
}

#[test]
fn a_request_without_placeholders_is_its_own_bytes() {
    for plain in [
        request("GET", "/", &[], ""),
        request("POST", "/a?b", &[("X-A", "1"), ("accept", "b")], "{\"a\": {}}"),
        request("POST", "/", &[("Content-Length", "2")], "hi"),
        request("OPTIONS", "*", &[], ""),
    ] {
        let template = plain.compile(&LineFiles::default()).unwrap();
        assert_eq!(template.as_fixed(), Some(plain.encode().unwrap().as_slice()));
    }
    let bytes = vec![0xff, b'{', b's', b'e', b'q', b'}'];
    let binary = Request { body: bytes.clone(), ..request("POST", "/", &[], "") };
    let template = binary.compile(&LineFiles::default()).unwrap();
    assert!(template.as_fixed().unwrap().ends_with(&bytes), "what is no text has no placeholders");
}

#[test]
fn values_are_inserted_and_the_length_is_adjusted() {
    let files = files(&[("users", "ann\r\nbo\n")]);
    let request = request(
        "POST",
        "/{line:users}/{seq}",
        &[("X-{{a}", "no"), ("X-B", "{line:users}{{{seq}}")],
        "{\"n\": {seq}, \"user\": \"{line:users}\"}",
    );
    assert!(matches!(request.compile(&files), Err(RequestError::HeaderName { .. })), "not in a name");
    let request = Request { headers: request.headers[1..].to_vec(), ..request };
    assert_eq!(request.line_files().unwrap(), ["users"]);
    let template = request.compile(&files).unwrap();
    assert_eq!(template.as_fixed(), None);
    let mut expander = expander(&template, 9, 1);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let expected = |user: &str, n: u64, length: usize| {
        format!(
            "POST /{user}/{n} HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: {USER_AGENT}\r\nAccept: */*\r\nX-B: {user}{{{n}}}\r\nContent-Length: {length}\r\n\r\n{{\"n\": {n}, \"user\": \"{user}\"}}"
        )
    };
    assert_eq!(text(next(&mut expander, &template)), expected("bo", 9, 22));
    assert_eq!(text(next(&mut expander, &template)), expected("ann", 10, 24));
    assert_eq!(text(next(&mut expander, &template)), expected("bo", 11, 23));
}

#[test]
fn numbers_and_lines_are_divided_among_workers() {
    let files = files(&[("five", "a\nb\nc\nd\ne")]);
    let request = request("GET", "/{seq}/{line:five}", &[], "");
    let template = request.compile(&files).unwrap();
    let mut numbers = BTreeSet::new();
    let mut lines = String::new();
    for worker in 0..3 {
        let mut expander = expander(&template, worker, 3);
        for _ in 0..5 {
            let line = parse_request(&next(&mut expander, &template)).0.line;
            let path: Vec<&str> = line.split([' ', '/']).collect();
            assert!(numbers.insert(path[2].parse::<u64>().unwrap()), "{line}: not the first of its number");
            lines.push_str(path[3]);
        }
    }
    assert_eq!(numbers, (0..15).collect());
    assert_eq!(lines, "adbecbecadcadbe", "worker k of 3 takes every third line from the k-th");
}

#[test]
fn numbers_may_begin_at_another_one_than_zero() {
    let template = request("GET", "/{seq:100001}/{seq}", &[], "").compile(&LineFiles::default()).unwrap();
    let mut expander = expander(&template, 1, 2);
    let lines = [1, 3].map(|number| (number, parse_request(&next(&mut expander, &template)).0.line));
    for (number, line) in lines {
        assert_eq!(line, format!("GET /{}/{number} HTTP/1.1", 100_001 + number));
    }
}

#[test]
fn random_numbers_fill_their_range() {
    let template = request("GET", "/{rand:8:11}", &[], "").compile(&LineFiles::default()).unwrap();
    let mut expander = expander(&template, 0, 1);
    let mut seen = [0; 4];
    for _ in 0..4_000 {
        let line = parse_request(&next(&mut expander, &template)).0.line;
        let number: usize = line["GET /".len()..].split(' ').next().unwrap().parse().unwrap();
        seen[number - 8] += 1;
    }
    // Each is expected 1,000 times with a standard deviation of 27.
    assert!(seen.iter().all(|count| (850..1_150).contains(count)), "{seen:?}");
    let widest = format!("/{{rand:0:{}}}{{rand:7:7}}", u64::MAX);
    let template = request("GET", &widest, &[], "").compile(&LineFiles::default()).unwrap();
    let line = parse_request(&next(&mut expander, &template)).0.line;
    assert!(line.ends_with("7 HTTP/1.1") && line.len() > 25, "{line}");
}

#[test]
fn values_that_cannot_be_sent_are_refused_with_their_position() {
    let files = files(&[("empty", ""), ("odd", "/a\n/b c\n"), ("bare", "/a\nb\n"), ("raw", "a\u{1}\n")]);
    for (request, expected) in [
        (
            request("GET", "/{sed}", &[], ""),
            "path: \"{sed}\" at character 2 is not a placeholder; the placeholders are {rand:MIN:MAX}, {seq}, {line:FILE} and {var:NAME}; write {{ for a literal {",
        ),
        (
            request("GET", "/", &[("X-A", "{rand:9:1}")], ""),
            "header X-A: \"{rand:9:1}\" at character 1 has its bounds in the wrong order; write {rand:1:9}",
        ),
        (
            request("POST", "/", &[], "{\"a\": {line}}"),
            "body: \"{line}\" at character 7 has no file name; write {line:FILE}",
        ),
        (request("GET", "/{line:empty}", &[], ""), "path: {line:empty}: the file has no lines"),
        (request("GET", "/{line:other}", &[], ""), "path: {line:other}: the file was not read"),
        (
            request("GET", "/{line:odd}", &[], ""),
            "path: {line:odd}: line 2 is \"/b c\": a line of a file that is inserted into a path may contain only visible ASCII characters except \"#\"; percent-encode all others",
        ),
        (
            request("GET", "{line:bare}", &[], ""),
            "path: {line:bare}: line 2 is \"b\": each line must begin with \"/\", because the path begins with this placeholder",
        ),
        (
            request("GET", "/", &[("X", "{line:raw}")], ""),
            "header X: {line:raw}: line 1 is \"a\\u{1}\": a line used in a header must not contain control characters",
        ),
        (request("GET", "{seq}", &[], ""), "path \"{seq}\" does not begin with \"/\"; write \"/{seq}\""),
        (
            request("POST", "/", &[("Content-Length", "5")], "{seq}"),
            "header Content-Length: \"5\", but the length of the body varies with its placeholders; remove the header: Paceline adds it",
        ),
        (
            request("POST", "/", &[("Content-Length", "2")], "{{"),
            "header Content-Length: \"2\", but the length of the body is 1; remove the header: Paceline adds it",
        ),
    ] {
        assert_eq!(request.compile(&files).unwrap_err().to_string(), expected);
    }
    assert!(request("GET", "{line:odd}", &[], "").compile(&files).is_err());
    assert!(
        request("POST", "/", &[], "{line:raw}{line:odd}").compile(&files).is_ok(),
        "a body may hold anything"
    );
}

#[test]
fn a_path_may_be_a_line() {
    let files = files(&[("paths", "/a\n/b\n")]);
    let template = request("GET", "{line:paths}", &[], "").compile(&files).unwrap();
    assert!(parse_request(&next(&mut expander(&template, 1, 2), &template)).0.line.starts_with("GET /b "));
}

/// Text with placeholders, with the file `lines` among them.
fn text(safe: &'static str) -> impl Strategy<Value = String> {
    let bounds = (any::<u64>(), any::<u64>()).prop_map(|(a, b)| (a.min(b), a.max(b)));
    let piece = prop_oneof![
        3 => safe.prop_map(|text: String| text.replace('{', "{{")),
        1 => Just("{seq}".to_owned()),
        1 => Just("{line:lines}".to_owned()),
        1 => (0..20_u64, 0..2_000_u64).prop_map(|(least, more)| format!("{{rand:{least}:{}}}", least + more)),
        1 => bounds.prop_map(|(least, most)| format!("{{rand:{least}:{most}}}")),
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_template_expands_to_requests_that_read_back(
        method in prop_oneof![Just("GET"), Just("POST"), Just("DELETE")],
        path in text("[a-z/?&=%{}\"]{0,8}"),
        header in text("[ -~]{0,8}"),
        body in text("\\PC{0,30}"),
        lines in proptest::collection::vec("[!-\"$-~]{0,12}", 1..5),
        depth in 1..5_usize,
    ) {
        let request = request(method, &format!("/{path}"), &[("X-Value", &header)], &body);
        let mut files = LineFiles::default();
        // An empty last line would not count as a line.
        files.add("lines", format!("{}\n", lines.join("\n")).into_bytes());
        let template = request.compile(&files).unwrap();
        let mut expander = expander(&template, 3, 4);
        let mut bytes = Vec::with_capacity(template.longest() * depth);
        let room = bytes.capacity();
        (0..depth).for_each(|_| expander.expand(&template, &mut bytes));
        prop_assert_eq!(bytes.capacity(), room, "the buffer did not grow");
        let heard = hear_all(&bytes);
        prop_assert_eq!(heard.len(), depth);
        for (index, heard) in heard.iter().enumerate() {
            let (line, number) = (&lines[(3 + 4 * index) % lines.len()], 3 + 4 * index as u64);
            let start = format!("{method} /");
            prop_assert!(heard.line.starts_with(&start) && heard.line.ends_with(" HTTP/1.1"));
            prop_assert!(is_expansion(&heard.line[method.len() + 2..heard.line.len() - 9], &path, line, number));
            let value = &heard.fields.iter().find(|(name, _)| name == "X-Value").unwrap().1;
            prop_assert!(is_expansion(value, &header, line, number), "{:?} of {:?}", value, header);
            let heard_body = std::str::from_utf8(&heard.body).unwrap();
            prop_assert!(is_expansion(heard_body, &body, line, number), "{:?} of {:?}", heard_body, body);
        }
    }
}

/// Whether a text is a possible expansion of a template: compares both with independent code.
fn is_expansion(text: &str, template: &str, line: &str, number: u64) -> bool {
    let Some(brace) = template.find('{') else { return text == template };
    let (before, rest) = template.split_at(brace);
    let Some(text) = text.strip_prefix(before) else { return false };
    if let Some(rest) = rest.strip_prefix("{{") {
        return text.strip_prefix('{').is_some_and(|text| is_expansion(text, rest, line, number));
    }
    let (placeholder, rest) = rest.split_once('}').unwrap();
    match placeholder.split(':').collect::<Vec<_>>().as_slice() {
        ["{seq"] => {
            text.strip_prefix(&number.to_string()).is_some_and(|t| is_expansion(t, rest, line, number))
        }
        ["{line", _] => text.strip_prefix(line).is_some_and(|t| is_expansion(t, rest, line, number)),
        ["{rand", least, most] => {
            let range = least.parse::<u64>().unwrap()..=most.parse().unwrap();
            // Digits of the template may follow: any cut is accepted that leaves a valid number and a valid rest.
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            (1..=digits.min(20)).any(|cut| {
                text[..cut].parse().is_ok_and(|number| range.contains(&number))
                    && is_expansion(&text[cut..], rest, line, number)
            })
        }
        _ => false,
    }
}

#[test]
fn a_varying_body_is_divided_into_chunks() {
    let files = files(&[("words", "a\n\nseventeen letters")]);
    for size in [1, 5, 16, 17, 4096] {
        let framing = BodyFraming::Chunks(NonZeroU32::new(size).unwrap());
        let plain = request("POST", "/{seq}", &[], "{line:words}{seq}");
        let template = Request { framing, ..plain.clone() }.compile(&files).unwrap();
        let expected = plain.compile(&files).unwrap();
        let (mut chunked, mut whole) = (expander(&template, 0, 1), expander(&expected, 0, 1));
        for number in 0..7 {
            let bytes = next(&mut chunked, &template);
            let (head, mut rest) =
                bytes.split_at(bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4);
            let head = std::str::from_utf8(head).unwrap();
            assert!(head.starts_with(&format!("POST /{number} ")), "{head}");
            assert!(head.ends_with("\r\nTransfer-Encoding: chunked\r\n\r\n"), "{head}");
            let mut body = Vec::new();
            loop {
                let end = rest.iter().position(|byte| *byte == b'\r').unwrap();
                let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
                let (piece, after) = rest[end + 2..].split_at(length);
                assert!(length <= size as usize && after.starts_with(b"\r\n"));
                body.extend_from_slice(piece);
                rest = &after[2..];
                if length == 0 {
                    break;
                }
            }
            assert!(rest.is_empty());
            assert_eq!(body, parse_request(&next(&mut whole, &expected)).0.body);
        }
    }
}
