//! Responses: fields are checked, known blocks are recognised and mean the same as when decoded, parts come in order.
//!
//! The rows are one for each rule of RFC 9113 section 8. The engine decides the outcome of a failed stream.

use paceline_http::h2::*;
use paceline_http::{ContentCoding, GrpcCode, GrpcFields, Method};
use proptest::collection::vec;
use proptest::prelude::*;

/// A block without use of the table.
fn block(lines: &[(&str, &str)]) -> Vec<u8> {
    let (mut encoder, mut block) = (HpackEncoder::default(), Vec::new());
    for (name, value) in lines {
        encoder.field(name.as_bytes(), value.as_bytes(), Indexing::Omit, &mut block);
    }
    block
}

fn decode(lines: &[(&str, &str)]) -> Result<DecodedFields, Http2Error> {
    FieldDecoder::default().decode(&mut BlockCache::default(), &block(lines))
}

fn response(status: u16, content_length: Option<u64>) -> DecodedFields {
    let (coding, grpc) = (ContentCoding::Identity, GrpcFields::default());
    DecodedFields::Response(ResponseFields { status, content_length, coding, grpc })
}

#[test]
fn fields_are_read() {
    assert_eq!(decode(&[(":status", "200")]), Ok(response(200, None)));
    let ordinary = [(":status", "404"), ("content-length", "13"), ("content-length", "13"), ("x", "")];
    assert_eq!(decode(&ordinary), Ok(response(404, Some(13))));
    for (status, code) in [("0", GrpcCode::Ok), ("14", GrpcCode::Unavailable), ("x", GrpcCode::Unknown)] {
        assert_eq!(decode(&[("grpc-status", status)]), Ok(DecodedFields::Trailers(Some(code))));
    }
    assert_eq!(decode(&[]), Ok(DecodedFields::Trailers(None)));
    let Ok(DecodedFields::Response(encoded)) = decode(&[(":status", "200"), ("content-encoding", "gzip")])
    else {
        panic!()
    };
    assert_eq!(encoded.coding, ContentCoding::Gzip);
    let Ok(DecodedFields::Response(plain)) = decode(&[(":status", "200"), ("content-encoding", "identity")])
    else {
        panic!()
    };
    assert_eq!(plain.coding, ContentCoding::Identity);
}

#[test]
fn the_text_of_a_block_is_bounded() {
    let (mut encoder, mut block) = (HpackEncoder::default(), Vec::new());
    let long = "x".repeat(4_000);
    encoder.field(b":status", b"200", Indexing::Omit, &mut block);
    (0..10_000).for_each(|_| encoder.field(b"a", long.as_bytes(), Indexing::Insert, &mut block));
    assert!(block.len() < MAX_FIELD_BLOCK_BYTES, "one byte for each repetition");
    let mut text = Vec::new();
    let decoded = FieldDecoder::default().decode_as_text(&mut BlockCache::default(), &block, &mut text);
    let Err(Http2Error::Response(MalformedResponse::HeaderListTooLong { size, .. })) = decoded else {
        panic!("{decoded:?}")
    };
    assert!(size > 40_000_000 && text.len() < 2 * MAX_HEADER_LIST_BYTES, "{} bytes", text.len());
}

#[test]
fn malformed_fields_end_the_stream() {
    let ok = (":status", "200");
    for (lines, expected) in [
        (&[("x", "a"), ok][..], "pseudo-header field \":status\" is not allowed here"),
        (&[ok, (":path", "/")], "pseudo-header field \":path\" is not allowed here"),
        (&[ok, ok], "invalid :status"),
        (&[(":status", "20")], "invalid :status"),
        (&[(":status", "099")], "invalid :status"),
        (&[(":status", "2000")], "invalid :status"),
        (&[(":status", "101")], "status 101 exists only in HTTP/1.1"),
        (&[ok, ("X", "a")], "invalid field name \"X\""),
        (&[ok, ("", "a")], "invalid field name \"\""),
        (&[ok, ("a b", "a")], "invalid field name \"a b\""),
        (&[ok, ("a:", "a")], "invalid field name \"a:\""),
        (&[ok, ("x", " a")], "invalid value of field \"x\""),
        (&[ok, ("x", "a\t")], "invalid value of field \"x\""),
        (&[ok, ("x", "a\r\nb")], "invalid value of field \"x\""),
        (&[ok, ("x", "a\0")], "invalid value of field \"x\""),
        (&[ok, ("connection", "close")], "field \"connection\" is allowed only in HTTP/1.1"),
        (&[ok, ("transfer-encoding", "chunked")], "field \"transfer-encoding\" is allowed only in HTTP/1.1"),
        (&[ok, ("content-length", "-1")], "invalid content-length"),
        (&[ok, ("content-length", "1"), ("content-length", "2")], "invalid content-length"),
    ] {
        let error = decode(lines).unwrap_err();
        assert_eq!(error.to_string(), format!("malformed HTTP/2 response: {expected}"));
        assert!(error.is_stream_error());
        assert_eq!(error.code(), ErrorCode::PROTOCOL_ERROR);
    }
    let error = FieldDecoder::default().decode(&mut BlockCache::default(), &[0x80]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "HTTP/2 header compression error: HPACK index 0 is not in the header table"
    );
    assert!(!error.is_stream_error());
    assert_eq!(error.code(), ErrorCode::COMPRESSION_ERROR);
}

#[test]
fn a_header_list_is_limited() {
    // One entry of 4,000 bytes, referred to again and again by one byte.
    let (mut encoder, mut block) = (HpackEncoder::default(), vec![]);
    encoder.field(b":status", b"200", Indexing::Insert, &mut block);
    for _ in 0..17 {
        encoder.field(b"x", "y".repeat(4000).as_bytes(), Indexing::Insert, &mut block);
    }
    let error = FieldDecoder::default().decode(&mut BlockCache::default(), &block).unwrap_err();
    let text = "malformed HTTP/2 response: header list of 68603 bytes; the maximum is 65536";
    assert_eq!(error.to_string(), text);
}

enum Part {
    Block(DecodedFields, bool),
    Data(usize, bool),
}

/// The last error of a response that comes in parts, or whether it has ended.
fn end_of_parts(method: Method, parts: Vec<Part>) -> String {
    let mut progress = ResponseProgress::new(method);
    let mut reported = String::new();
    for part in parts {
        let result = match part {
            Part::Block(fields, end) => progress.fields(fields, end).map(drop),
            Part::Data(bytes, end) => progress.data(bytes, end),
        };
        if let Err(error) = result {
            reported = error.to_string();
        }
    }
    match (reported.is_empty(), progress.has_ended()) {
        (false, _) => reported,
        (true, true) => "ended".to_owned(),
        (true, false) => "open".to_owned(),
    }
}

#[test]
fn the_parts_of_a_response_come_in_order() {
    use Part::{Block, Data};
    let head = |end| Block(response(200, None), end);
    let length = |bytes, end| Block(response(200, Some(bytes)), end);
    let early = || Block(response(103, None), false);
    let trailers = |end| Block(DecodedFields::Trailers(None), end);
    for (method, parts, expected) in [
        (Method::Other, vec![head(true)], "ended"),
        (Method::Other, vec![early(), early(), head(false), Data(5, false), Data(0, true)], "ended"),
        (Method::Other, vec![length(5, false), Data(5, false), trailers(true)], "ended"),
        (Method::Other, vec![length(0, true)], "ended"),
        (Method::Head, vec![length(5, true)], "ended"),
        (Method::Other, vec![Block(response(304, Some(5)), true)], "ended"),
        (Method::Other, vec![length(5, false), Data(3, false)], "open"),
        (Method::Other, vec![length(5, true)], "content-length 5, but the length of the body is 0"),
        (
            Method::Other,
            vec![length(5, false), Data(3, true)],
            "content-length 5, but the length of the body is 3",
        ),
        (
            Method::Other,
            vec![length(5, false), Data(6, false)],
            "content-length 5, but the length of the body is 6 or more",
        ),
        (Method::Head, vec![length(5, false), Data(5, false)], "DATA in the response to a HEAD request"),
        (Method::Other, vec![Block(response(204, None), false), Data(0, true)], "ended"),
        (
            Method::Other,
            vec![Block(response(204, None), false), Data(1, true)],
            "DATA in a response with status 204, which has no body",
        ),
        (
            Method::Other,
            vec![Block(response(304, Some(5)), false), Data(5, true)],
            "DATA in a response with status 304, which has no body",
        ),
        (
            Method::Other,
            vec![length(0, false), Data(1, false)],
            "content-length 0, but the length of the body is 1 or more",
        ),
        (Method::Other, vec![Data(1, true)], "DATA before the response headers"),
        (Method::Other, vec![head(true), Data(1, true)], "DATA after the end of the response"),
        (Method::Other, vec![trailers(true)], "no :status field"),
        (Method::Other, vec![head(false), trailers(false)], "trailers that do not end the stream"),
        (Method::Other, vec![head(false), head(true)], "pseudo-header field \":status\" is not allowed here"),
        (
            Method::Other,
            vec![head(true), trailers(true)],
            "header or trailer fields after the end of the response",
        ),
        (
            Method::Other,
            vec![Block(response(100, None), true)],
            "an interim (1xx) response that ends the stream",
        ),
        (Method::Other, (0..17).map(|_| early()).collect(), "more than 16 interim (1xx) responses"),
    ] {
        assert_eq!(end_of_parts(method, parts), expected);
    }
}

/// A server's block: some fields inserted, some referring to earlier inserts.
fn field() -> impl Strategy<Value = (&'static str, String, bool)> {
    let regular = (prop::sample::select(vec!["date", "server", "x"]), "[a-c]{0,2}|long{40}", any::<bool>());
    let length =
        (Just("content-length"), prop::sample::select(vec!["0".to_owned(), "13".into()]), any::<bool>());
    prop_oneof![4 => regular, 1 => length]
}

proptest! {
    /// Two connections share a cache: comparing gives the same result as decoding, with blocks repeated in any order.
    #[test]
    fn known_blocks_have_the_meaning_of_decoded_ones(
        lists in vec((prop::sample::select(vec!["200", "404", "503"]), vec(field(), 0..4)), 1..5),
        sends in vec((any::<prop::sample::Index>(), 0..2usize, 1..120usize), 1..12),
        resize in prop::option::of((0..12usize, 0..200u32)),
    ) {
        let mut cache = BlockCache::default();
        let mut ends: [_; 2] = std::array::from_fn(|_| (HpackEncoder::default(), FieldDecoder::default(), HpackDecoder::default()));
        for (place, (list, connection, times)) in sends.into_iter().enumerate() {
            let (status, fields) = &lists[list.index(lists.len())];
            let (encoder, fast, plain) = &mut ends[connection];
            for time in 0..times {
                let mut block = Vec::new();
                if let Some((at, size)) = resize && at == place && time == 0 {
                    encoder.resize(size, &mut block);
                }
                encoder.field(b":status", status.as_bytes(), Indexing::Insert, &mut block);
                for (name, value, insert) in fields {
                    let indexing = if *insert { Indexing::Insert } else { Indexing::Omit };
                    encoder.field(name.as_bytes(), value.as_bytes(), indexing, &mut block);
                }
                // A second reading, without any state except HPACK's.
                let (coding, grpc) = (ContentCoding::Identity, GrpcFields::default());
                let mut expected = ResponseFields { status: 0, content_length: None, coding, grpc };
                let mut lengths = Vec::new();
                plain.decode(&block, &mut HpackScratch::default(), |field| {
                    let text = String::from_utf8(field.value.to_vec()).unwrap();
                    match field.name {
                        b":status" => expected.status = text.parse().unwrap(),
                        b"content-length" => lengths.push(text.parse::<u64>().unwrap()),
                        _ => {}
                    }
                }).unwrap();
                expected.content_length = lengths.first().copied();
                let decoded = fast.decode(&mut cache, &block);
                if lengths.windows(2).any(|pair| pair[0] != pair[1]) {
                    prop_assert!(decoded.is_err());
                } else {
                    prop_assert_eq!(decoded, Ok(DecodedFields::Response(expected)));
                }
            }
        }
    }

    /// nginx inserts its fields with every response and never refers to them. A block that refers to an entry that a
    /// known block inserted, however often, means the same as if every block had been decoded.
    #[test]
    fn inserts_of_known_blocks_are_not_lost(times in 1..300usize, refers in any::<bool>()) {
        let (mut cache, mut decoder, mut plain) = (BlockCache::default(), FieldDecoder::default(), HpackDecoder::default());
        // :status 200, then two literals with indexing: "server: a" by the static table's name, "x: 13".
        let inserting = b"\x88\x76\x01a\x40\x01x\x0213";
        for _ in 0..times {
            prop_assert_eq!(decoder.decode(&mut cache, inserting), Ok(response(200, None)));
            plain.decode(inserting, &mut HpackScratch::default(), |_| {}).unwrap();
        }
        let index = |index: usize| match index {
            ..127 => vec![0x80 | index as u8],
            _ => vec![0xff, (index - 127) as u8],
        };
        let mut oldest = 62;
        while plain.decode(&index(oldest + 1), &mut HpackScratch::default(), |_| {}).is_ok() {
            oldest += 1;
        }
        let wanted = if refers { oldest } else { oldest + 1 };
        let decoded = decoder.decode(&mut cache, &[vec![0x88], index(wanted)].concat());
        prop_assert_eq!(decoded.is_ok(), refers, "{:?}", decoded);
    }
}
