//! HPACK against the examples of RFC 7541, appendix C, and properties: round trips, damaged blocks.
//!
//! The vectors come from the RFC. `responses` tests comparing blocks instead of decoding them.

use super::hex;
use paceline_http::h2::{
    BlockSummary, HpackDecoder, HpackEncoder, HpackError, HpackScratch, Indexing, TABLE_SIZE_DEFAULT,
};
use proptest::collection::vec;
use proptest::prelude::*;

type Field = (Vec<u8>, Vec<u8>);

fn decode(decoder: &mut HpackDecoder, block: &[u8]) -> Result<(Vec<Field>, BlockSummary), HpackError> {
    let mut fields = Vec::new();
    let summary = decoder.decode(block, &mut HpackScratch::default(), |field| {
        fields.push((field.name.to_vec(), field.value.to_vec()));
    })?;
    Ok((fields, summary))
}

fn fields(lines: &str) -> Vec<Field> {
    let field = |line: &str| {
        let (name, value) = line.trim().split_once(": ").unwrap();
        (name.as_bytes().to_vec(), value.as_bytes().to_vec())
    };
    lines.trim().lines().map(field).collect()
}

fn check_decoded(blocks: &[(&str, &str)], table_size: Option<&str>) {
    let mut decoder = HpackDecoder::default();
    if let Some(update) = table_size {
        assert_eq!(decode(&mut decoder, &hex(update)).unwrap().0, []);
    }
    for (block, expected) in blocks {
        assert_eq!(decode(&mut decoder, &hex(block)).unwrap().0, fields(expected), "{block}");
    }
}

const REQUESTS: [&str; 3] = [
    ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com",
    ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\ncache-control: no-cache",
    ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\ncustom-key: custom-value",
];

const RESPONSES: [&str; 3] = [
    ":status: 302\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com",
    ":status: 307\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:21 GMT\nlocation: https://www.example.com",
    ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\nlocation: https://www.example.com
     content-encoding: gzip\nset-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
];

/// Appendix C.4: the bytes of an encoder with Huffman coding.
const CODED_REQUESTS: [&str; 3] = [
    "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
    "8286 84be 5886 a8eb 1064 9cbf",
    "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
];

/// Appendix C.6, with a table of 256 bytes.
const CODED_RESPONSES: [&str; 3] = [
    "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7
     8f0b 97c8 e9ae 82ae 43d3",
    "4883 640e ffc1 c0bf",
    "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335
     dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
];

/// Sets the table to 256 bytes.
const TABLE_256: &str = "3fe101";

#[test]
fn appendix_c_2_single_fields() {
    for (block, field) in [
        ("400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", "custom-key: custom-header"),
        ("040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path"),
        ("1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret"),
        ("82", ":method: GET"),
    ] {
        check_decoded(&[(block, field)], None);
    }
}

#[test]
fn appendix_c_3_and_c_4_requests() {
    let plain = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    for blocks in [plain, CODED_REQUESTS] {
        let rows: Vec<(&str, &str)> = blocks.into_iter().zip(REQUESTS).collect();
        check_decoded(&rows, None);
    }
}

#[test]
fn appendix_c_5_and_c_6_responses_with_eviction() {
    let plain = [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d
         546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f
         6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b
         2076 6572 7369 6f6e 3d31",
    ];
    for blocks in [plain, CODED_RESPONSES] {
        let rows: Vec<(&str, &str)> = blocks.into_iter().zip(RESPONSES).collect();
        check_decoded(&rows, Some(TABLE_256));
    }
}

#[test]
fn the_encoder_sends_what_appendix_c_shows() {
    for (lists, blocks, size) in [(REQUESTS, CODED_REQUESTS, None), (RESPONSES, CODED_RESPONSES, Some(256))] {
        let mut encoder = HpackEncoder::default();
        if let Some(size) = size {
            let mut update = Vec::new();
            encoder.resize(size, &mut update);
            assert_eq!(update, hex(TABLE_256));
        }
        for (list, block) in lists.into_iter().zip(blocks) {
            let mut bytes = Vec::new();
            for (name, value) in fields(list) {
                encoder.field(&name, &value, Indexing::Insert, &mut bytes);
            }
            assert_eq!(bytes, hex(block), "{list}");
        }
    }
}

#[test]
fn invalid_blocks_are_refused() {
    for (block, expected) in [
        ("80", HpackError::Index { index: 0 }),
        ("be", HpackError::Index { index: 62 }),
        ("7e 01 61", HpackError::Index { index: 62 }),
        ("ff", HpackError::Truncated),
        ("ff 80 80 80 80 01", HpackError::Integer),
        ("ff ff ff ff ff 0f", HpackError::Integer),
        ("40", HpackError::Truncated),
        ("40 01", HpackError::Truncated),
        ("40 01 61", HpackError::Truncated),
        ("40 01 61 05 61", HpackError::Truncated),
        ("40 81 18 01 61", HpackError::Huffman),
        ("82 20", HpackError::LateTableSize),
        ("3f e2 1f", HpackError::TableSize { size: 4097, limit: TABLE_SIZE_DEFAULT }),
    ] {
        assert_eq!(decode(&mut HpackDecoder::default(), &hex(block)).unwrap_err(), expected, "{block}");
    }
    assert_eq!(
        decode(&mut HpackDecoder::default(), &hex("20 3f e1 1f 82")).unwrap().0,
        fields(":method: GET")
    );
}

#[test]
fn a_summary_describes_the_use_of_the_table() {
    let mut decoder = HpackDecoder::default();
    let mut summary = |block| decode(&mut decoder, &hex(block)).unwrap().1;
    let literal = summary("40 01 61 01 62");
    assert!(literal.is_self_contained() && literal.changed_table());
    assert_eq!((literal.inserted, literal.list_size), (1, 34));
    let index = summary("be");
    assert!(!index.is_self_contained() && !index.changed_table());
    let name = summary("0f 2f 01 63");
    assert!(!name.is_self_contained() && !name.changed_table(), "a name from the table");
    let fixed = summary("88 0f 10 01 62");
    assert!(fixed.is_self_contained() && !fixed.changed_table());
    let resize = summary("20 88");
    assert!(!resize.is_self_contained() && resize.changed_table());
}

fn field() -> impl Strategy<Value = (Field, bool)> {
    let name = prop_oneof![
        prop::sample::select(vec![":status", "date", "server", "content-length", "x"])
            .prop_map(|n| n.as_bytes().to_vec()),
        vec(any::<u8>(), 0..40),
    ];
    let value = prop_oneof![
        prop::sample::select(vec!["200", "", "nginx", "a"]).prop_map(|v| v.as_bytes().to_vec()),
        vec(any::<u8>(), 0..300),
    ];
    ((name, value), any::<bool>())
}

proptest! {
    /// Blocks decode to the encoded fields, through evictions and changes of the table's size.
    #[test]
    fn blocks_round_trip(blocks in vec((option_size(), vec(field(), 0..12)), 1..12)) {
        let (mut encoder, mut decoder) = (HpackEncoder::default(), HpackDecoder::default());
        for (size, list) in blocks {
            let mut block = Vec::new();
            if let Some(size) = size {
                encoder.resize(size, &mut block);
            }
            for ((name, value), insert) in &list {
                let indexing = if *insert { Indexing::Insert } else { Indexing::Omit };
                encoder.field(name, value, indexing, &mut block);
            }
            let (decoded, summary) = decode(&mut decoder, &block).unwrap();
            let expected: Vec<Field> = list.into_iter().map(|(field, _)| field).collect();
            prop_assert_eq!(summary.list_size, expected.iter().map(|(n, v)| n.len() + v.len() + 32).sum::<usize>());
            prop_assert_eq!(decoded, expected);
        }
    }

    #[test]
    fn no_block_makes_the_decoder_panic(blocks in vec(vec(any::<u8>(), 0..64), 1..8)) {
        let mut decoder = HpackDecoder::default();
        for block in blocks {
            _ = decode(&mut decoder, &block);
        }
    }
}

fn option_size() -> impl Strategy<Value = Option<u32>> {
    prop::option::of(prop_oneof![Just(0), 0..300u32, Just(TABLE_SIZE_DEFAULT)])
}
