//! HTTP/3: tables for each rule of RFC 9114 and RFC 9204 that a client needs.
//!
//! The fuzz target `http3_stream` checks that streams give the same events in pieces of any size.

use paceline_http::h2::{DecodedFields, ResponseFields};
use paceline_http::h3::{
    ErrorCode, FrameEvent, FrameReader, Http3Error, QpackScratch, RequestSections, SectionDecoder,
    StreamKind, StreamKindReader, decode_section, is_safe_text, push_field, push_prefix, read_varint,
    write_control_stream, write_data, write_goaway, write_headers, write_text_request,
};
use paceline_http::{
    BodyFraming, ContentCoding, Expander, GrpcFields, LineFiles, RandomBits, Request, Scheme, Url,
};
use std::num::NonZeroU32;

/// A field section with these fields.
fn section(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = Vec::new();
    push_prefix(&mut section);
    fields.iter().for_each(|(name, value)| push_field(&mut section, name.as_bytes(), value.as_bytes()));
    section
}

/// The fields of the HEADERS at the beginning of a stream, a line each, and the bytes after them.
fn request_fields(stream: &[u8]) -> (String, Vec<u8>) {
    let mut reader = FrameReader::request();
    let (event, taken) = reader.next(stream).unwrap();
    let FrameEvent::FieldSection(section) = event else { panic!("{event:?}") };
    let mut text = String::new();
    decode_section(section, &mut QpackScratch::default(), |field| {
        let [name, value] = [field.name, field.value].map(String::from_utf8_lossy);
        text += &format!("{name}: {value}\n");
    })
    .unwrap();
    (text, stream[taken..].to_vec())
}

/// The error of a stream, and how much of it was read before.
fn error_of(mut reader: FrameReader, stream: &[u8]) -> Option<Http3Error> {
    let mut input = stream;
    while !input.is_empty() {
        match reader.next(input) {
            Ok((_, taken)) => input = &input[taken..],
            Err(error) => return Some(error),
        }
    }
    reader.end().err()
}

#[test]
fn frames_have_their_places() {
    let mut control = Vec::new();
    write_control_stream(&mut control);
    let (kind, taken) = StreamKindReader::default().next(&control);
    assert_eq!((kind, taken), (Some(StreamKind::Control), 1));
    let settings = &control[taken..];
    let request_errors: [(&[u8], ErrorCode); 7] = [
        (&[4, 0], ErrorCode::FRAME_UNEXPECTED),
        (&[7, 1, 0], ErrorCode::FRAME_UNEXPECTED),
        (&[0xd, 1, 0], ErrorCode::FRAME_UNEXPECTED),
        (&[5, 1, 0], ErrorCode::ID_ERROR),
        // Types of HTTP/2: PRIORITY, PING.
        (&[2, 0], ErrorCode::FRAME_UNEXPECTED),
        (&[6, 0], ErrorCode::FRAME_UNEXPECTED),
        // Ends inside DATA.
        (&[0, 5, b'a'], ErrorCode::FRAME_ERROR),
    ];
    for (stream, code) in request_errors {
        assert_eq!(
            error_of(FrameReader::request(), stream).map(|error| error.code()),
            Some(code),
            "{stream:?}"
        );
    }
    let control_errors: [(&[u8], ErrorCode); 6] = [
        (&[7, 1, 0], ErrorCode::MISSING_SETTINGS),
        (&[4, 0, 4, 0], ErrorCode::FRAME_UNEXPECTED),
        (&[4, 0, 0, 0], ErrorCode::FRAME_UNEXPECTED),
        (&[4, 2, 2, 0], ErrorCode::SETTINGS_ERROR),
        (&[4, 1, 6], ErrorCode::FRAME_ERROR),
        (&[4, 0, 7, 2, 0, 0], ErrorCode::FRAME_ERROR),
    ];
    for (stream, code) in control_errors {
        assert_eq!(
            error_of(FrameReader::control(), stream).map(|error| error.code()),
            Some(code),
            "{stream:?}"
        );
    }
    // Unknown frames are skipped (RFC 9114 §9).
    let mut good = settings.to_vec();
    good.extend_from_slice(&[0x21, 2, 1, 2]);
    write_goaway(&mut good, 400);
    assert_eq!(error_of(FrameReader::control(), &good), None);
    let ended: Vec<u8> = [&[0x21, 1, 0][..], &[0, 0]].concat();
    assert_eq!(error_of(FrameReader::request(), &ended), None);
}

#[test]
fn a_goaway_has_the_id_of_a_stream() {
    let mut stream = vec![4, 0];
    write_goaway(&mut stream, 4_000);
    let mut reader = FrameReader::control();
    let (_, taken) = reader.next(&stream).unwrap();
    assert_eq!(reader.next(&stream[taken..]).unwrap().0, FrameEvent::GoAway(4_000));
}

#[test]
fn a_response_is_read() {
    let mut stream = Vec::new();
    let fields = [(":status", "200"), ("content-length", "5"), ("content-encoding", "gzip")];
    write_headers(&mut stream, &section(&fields));
    write_data(&mut stream, b"hello");
    let mut reader = FrameReader::request();
    let (event, taken) = reader.next(&stream).unwrap();
    let FrameEvent::FieldSection(section) = event else { panic!("{event:?}") };
    let mut sections = SectionDecoder::default();
    let (coding, grpc) = (ContentCoding::Gzip, GrpcFields::default());
    let head = ResponseFields { status: 200, content_length: Some(5), coding, grpc };
    assert_eq!(sections.decode(section), Ok(DecodedFields::Response(head)));
    let mut text = Vec::new();
    sections.decode_as_text(section, &mut text).unwrap();
    assert_eq!(text, b"HTTP/3 200\r\ncontent-length: 5\r\ncontent-encoding: gzip\r\n\r\n");
    let data = FrameEvent::Data { piece: b"hello", end_frame: true };
    assert_eq!(reader.next(&stream[taken..]).unwrap().0, data);
}

#[test]
fn an_invalid_response_fails_its_request_and_an_invalid_section_its_connection() {
    let mut sections = SectionDecoder::default();
    for fields in
        [&[(":status", "99")][..], &[("a", "b"), (":status", "200")], &[(":status", "200"), ("A", "b")]]
    {
        let error = sections.decode(&section(fields)).unwrap_err();
        assert!(error.is_stream_error() && error.code() == ErrorCode::MESSAGE_ERROR, "{error}");
    }
    let error = sections.decode(&[0, 0, 0x80]).unwrap_err();
    assert!(!error.is_stream_error() && error.code() == ErrorCode::QPACK_DECOMPRESSION_FAILED, "{error}");
    let too_long = error_of(FrameReader::request(), &[1, 0x80, 1, 0, 1]).unwrap();
    assert!(too_long.is_stream_error() && too_long.code() == ErrorCode::EXCESSIVE_LOAD, "{too_long}");
}

/// Always the lowest value.
#[derive(Clone)]
struct Lowest;

impl RandomBits for Lowest {
    fn next_bits(&mut self) -> u64 {
        0
    }
}

#[test]
fn a_request_is_encoded_once_or_made_anew() {
    let url = Url::parse("https://a.test/{seq}?q=1").unwrap();
    let files = LineFiles::default();
    let fixed = Request {
        method: "POST".into(),
        body: b"body".to_vec(),
        ..Request::get(&Url::parse("https://a.test/").unwrap())
    };
    let varied = Request { method: "POST".into(), body: b"n{seq}".to_vec(), ..Request::get(&url) };
    let compiled = [&fixed, &varied].map(|request| request.compile_http2(Scheme::Https, &files).unwrap());
    let mut sections = RequestSections::new(&compiled);
    let head = sections.fixed_head(0).unwrap();
    let (fields, after) = request_fields(&head);
    for field in
        [":method: POST\n:scheme: https\n", ":authority: a.test\n", ":path: /\n", "content-length: 4\n"]
    {
        assert!(fields.contains(field), "{fields}");
    }
    assert_eq!((after.as_slice(), sections.fixed_body(0)), (&[0, 4][..], Some(&b"body"[..])));
    assert_eq!((sections.fixed_head(1), sections.fixed_body(1)), (None, None));
    let mut expander = Expander::for_parts(0, 1, Lowest, 0, sections.parts_max());
    for number in 0..3 {
        let (mut out, mut body) = (Vec::new(), Vec::new());
        sections.write(1, &mut expander, &mut out, &mut body);
        let (fields, after) = request_fields(&out);
        assert!(fields.contains(&format!(":path: /{number}?q=1\n")), "{fields}");
        assert_eq!((body, after), (format!("n{number}").into_bytes(), vec![0, 2]));
    }
}

#[test]
fn a_request_given_as_text_has_its_pseudo_fields_first() {
    let text = b"PUT /x HTTP/1.1\r\nAccept: */*\r\nHost: b.test\r\nContent-Length: 2\r\n\r\nhi";
    let mut out = Vec::new();
    let body_at = write_text_request(text, Scheme::Https, &mut out);
    let (fields, after) = request_fields(&out);
    let expected =
        ":method: PUT\n:scheme: https\n:authority: b.test\n:path: /x\naccept: */*\ncontent-length: 2\n";
    assert_eq!(fields, expected);
    assert_eq!((&text[body_at..], after.as_slice()), (&b"hi"[..], &[0, 2][..]));
    assert_eq!(read_varint(&out), Some((1, 1)), "HEADERS");
}

#[test]
fn only_reads_without_a_body_are_safe_as_early_data() {
    let url = Url::parse("https://a.test/{seq}").unwrap();
    for (method, body, generated, is_safe) in [
        ("GET", "", None, true),
        ("HEAD", "", None, true),
        ("GET", "body", None, false),
        ("GET", "", Some(7), false),
        ("POST", "", None, false),
        ("DELETE", "", None, false),
        ("get", "", None, false),
    ] {
        let request = Request { method: method.into(), body: body.into(), generated, ..Request::get(&url) };
        let compiled = request.compile_http2(Scheme::Https, &LineFiles::default()).unwrap();
        assert_eq!(RequestSections::new(&[compiled]).is_safe(0), is_safe, "{method} {body:?}");
        if generated.is_none() {
            let text = format!("{method} / HTTP/1.1\r\nHost: a.test\r\n\r\n{body}");
            assert_eq!(is_safe_text(text.as_bytes()), is_safe, "{text}");
        }
    }
}

#[test]
fn bodies_in_chunks_are_several_frames() {
    let url = Url::parse("https://a.test/").unwrap();
    let framing = BodyFraming::Chunks(NonZeroU32::new(3).unwrap());
    let post = |body: &str, generated| Request {
        method: "POST".into(),
        body: body.into(),
        generated,
        framing,
        ..Request::get(&url)
    };
    let files = LineFiles::default();
    let requests = [post("body", None), post("n{seq}: x", None), post("", Some(7)), post("", None)];
    let compiled = requests.map(|request| request.compile_http2(Scheme::Https, &files).unwrap());
    let mut sections = RequestSections::new(&compiled);
    let head = sections.fixed_head(0).unwrap();
    let (fields, after) = request_fields(&head);
    assert!(!fields.contains("content-length") && after.is_empty(), "{fields}");
    assert_eq!(sections.fixed_body(0), Some(&b"\x00\x03bod\x00\x01y"[..]));
    let mut expander = Expander::for_parts(0, 1, Lowest, 0, sections.parts_max());
    let (mut out, mut body) = (Vec::new(), Vec::new());
    sections.write(1, &mut expander, &mut out, &mut body);
    assert_eq!((request_fields(&out).1.len(), body.as_slice()), (0, &b"\x00\x03n0:\x00\x02 x"[..]));
    let generated = sections.generated_body(2).unwrap();
    assert_eq!((generated.length(), sections.fixed_body(2)), (7 + 3 * 2, Some(&b""[..])));
    assert!(request_fields(&sections.fixed_head(3).unwrap()).0.contains("content-length: 0"));
    // With a length there is one frame, whose head comes first.
    let whole = Request { framing: BodyFraming::Length, ..post("", Some(70_000)) };
    let sections = RequestSections::new(&[whole.compile_http2(Scheme::Https, &files).unwrap()]);
    let (fields, after) = request_fields(&sections.fixed_head(0).unwrap());
    assert!(fields.contains("content-length: 70000\n"), "{fields}");
    assert_eq!(
        (after.as_slice(), sections.generated_body(0).unwrap().length()),
        (&[0, 0x80, 1, 0x11, 0x70][..], 70_000)
    );
}
