//! Requests: the peer decodes the request that was specified, on every connection and in every order of kinds.
//!
//! A server's decoder reads every written block. Scheduling is not tested here.

use paceline_http::h2::*;
use paceline_http::{
    BodyBytes, BodyFraming, Expander, LineFiles, RandomBits, Request, RequestError, Scheme, Url,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::num::NonZeroU32;

/// Always zero: the lowest value.
struct Zeros;

impl RandomBits for Zeros {
    fn next_bits(&mut self) -> u64 {
        0
    }
}

fn get(url: &str, headers: &[(&str, &str)]) -> Request {
    let mut request = Request::get(&Url::parse(url).unwrap());
    request.headers = headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    request
}

fn compile(request: &Request) -> Http2Request {
    request.compile_http2(Scheme::Http, &LineFiles::default()).unwrap()
}

/// The server's end of a connection: decodes the written bytes.
struct Server {
    reader: FrameReader,
    hpack: HpackDecoder,
}

/// Fields, one per line; whether the stream ended; and the length of the frames in bytes.
type Received = (Vec<String>, bool, usize);

impl Server {
    fn new() -> Self {
        let mut reader = FrameReader::default();
        let mut settings = Vec::new();
        write_settings(&mut settings, &[]);
        assert_eq!(reader.next(&settings).unwrap().1, settings.len());
        Self { reader, hpack: HpackDecoder::default() }
    }

    fn read(&mut self, bytes: &[u8]) -> Received {
        let (event, taken) = self.reader.next(bytes).unwrap();
        assert_eq!(taken, bytes.len());
        let FrameEvent::FieldBlock { block, end_stream, stream: 1 } = event else { panic!("{event:?}") };
        let mut fields = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        self.hpack
            .decode(block, &mut HpackScratch::default(), |field| {
                fields.push(format!("{}: {}", text(field.name), text(field.value)));
            })
            .unwrap();
        (fields, end_stream, taken)
    }
}

/// A connection: writes requests and reads them as the server does.
struct Connection<'r> {
    blocks: &'r RequestBlocks,
    table: RequestTable,
    expander: Expander<Zeros>,
    server: Server,
    body: Vec<u8>,
}

impl<'r> Connection<'r> {
    fn new(blocks: &'r RequestBlocks) -> Self {
        let expander = Expander::for_parts(0, 1, Zeros, 0, blocks.parts_max());
        Self { blocks, table: RequestTable::default(), expander, server: Server::new(), body: Vec::new() }
    }

    fn settings(&mut self, header_table_size: u32) {
        let peer = PeerSettings { header_table_size, ..PeerSettings::default() };
        self.table.settings_applied(&peer);
    }

    fn send(&mut self, kind: usize) -> Received {
        let mut out = Vec::new();
        self.blocks.write(kind, 1, &mut self.table, &mut self.expander, &mut out, &mut self.body);
        self.server.read(&out)
    }
}

#[test]
fn a_plain_get_takes_14_bytes_from_the_second_on() {
    let blocks = RequestBlocks::new(&[compile(&get("http://127.0.0.1:8080/json", &[]))]);
    let mut connection = Connection::new(&blocks);
    let fields = [
        ":method: GET",
        ":scheme: http",
        ":authority: 127.0.0.1:8080",
        ":path: /json",
        concat!("user-agent: paceline/", env!("CARGO_PKG_VERSION")),
        "accept: */*",
    ];
    let (first, end, first_bytes) = connection.send(0);
    assert_eq!((first.as_slice(), end), (fields.map(String::from).as_slice(), true));
    assert!(first_bytes > 40);
    for _ in 0..3 {
        assert_eq!(connection.send(0), (first.clone(), true, FRAME_HEAD_BYTES + 6));
    }
}

#[test]
fn kinds_share_indices_whatever_comes_first() {
    let shared = [("X-Shared", "yes"), ("X-Own", "a")];
    let other = [("x-shared", "yes"), ("x-own", "b"), ("x-twice", "1"), ("x-twice", "2")];
    let post =
        Request { method: "POST".into(), body: b"{\"n\": {seq}}".to_vec(), ..get("http://a/p", &shared) };
    let requests = [get("http://a/", &shared), get("http://a/other", &other), post];
    let blocks = RequestBlocks::new(&requests.each_ref().map(compile));
    let names = |fields: &[String]| {
        fields.iter().filter(|field| !field.starts_with("content-length")).cloned().collect::<Vec<_>>()
    };
    let alone: Vec<Vec<String>> = (0..3).map(|kind| names(&Connection::new(&blocks).send(kind).0)).collect();
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut connection = Connection::new(&blocks);
        for kind in order.into_iter().chain(order) {
            assert_eq!(names(&connection.send(kind).0), alone[kind], "kind {kind} in {order:?}");
        }
    }
    assert!(alone[1].ends_with(&["x-own: b".into(), "x-twice: 1".into(), "x-twice: 2".into()]));
}

#[test]
fn placeholders_and_bodies_are_made_for_each_request() {
    let request = Request {
        method: "POST".into(),
        body: b"n={seq}&r={rand:7:9}".to_vec(),
        ..get("http://a/{seq}?q={rand:5:6}", &[("X-N", "{seq}")])
    };
    let blocks = RequestBlocks::new(&[compile(&request)]);
    assert!(blocks.has_body(0) && blocks.fixed_body(0).is_none());
    let mut connection = Connection::new(&blocks);
    for number in 0..12 {
        let (fields, end, _) = connection.send(0);
        let body = format!("n={number}&r=7");
        for expected in [
            format!(":path: /{number}?q=5"),
            format!("x-n: {number}"),
            format!("content-length: {}", body.len()),
        ] {
            assert!(fields.contains(&expected), "{expected} in {fields:?}");
        }
        assert_eq!((connection.body.as_slice(), end), (body.as_bytes(), false));
    }
}

#[test]
fn a_fixed_body_is_shared() {
    let request = Request { method: "PUT".into(), body: b"abc".to_vec(), ..get("http://a/", &[]) };
    let empty = Request { method: "POST".into(), ..get("http://a/", &[]) };
    let blocks = RequestBlocks::new(&[compile(&request), compile(&empty)]);
    assert_eq!((blocks.fixed_body(0), blocks.has_body(0)), (Some(b"abc".as_slice()), true));
    assert_eq!((blocks.fixed_body(1), blocks.has_body(1)), (Some(b"".as_slice()), false));
    let mut connection = Connection::new(&blocks);
    let (fields, end, _) = connection.send(0);
    assert!(fields.contains(&"content-length: 3".into()) && !end);
    let (fields, end, _) = connection.send(1);
    assert!(fields.contains(&"content-length: 0".into()) && end);
}

#[test]
fn a_small_table_is_not_used() {
    let blocks = RequestBlocks::new(&[compile(&get("http://a/{seq}", &[])), compile(&get("http://a/", &[]))]);
    // The second size has room for all shared fields: the peer expects a size update nevertheless.
    for (before, size) in [(0, 10), (0, 2048), (1, 10), (1, 2048), (3, 10)] {
        let mut connection = Connection::new(&blocks);
        let expected = Connection::new(&blocks).send(1).0;
        (0..before).for_each(|_| _ = connection.send(1));
        connection.settings(4096);
        assert_ne!(connection.table, RequestTable::Shrinking);
        connection.settings(size);
        assert_eq!(connection.table, RequestTable::Shrinking);
        let mut out = Vec::new();
        let Connection { table, expander, body, .. } = &mut connection;
        blocks.write(1, 1, table, expander, &mut out, body);
        assert_eq!(out[FRAME_HEAD_BYTES], 0x20, "a size update to 0 (RFC 7541 §4.2)");
        assert_eq!(connection.server.read(&out).0, expected);
        let (again, _, _) = connection.send(1);
        assert_eq!(again, expected);
        connection.settings(4096);
        connection.settings(0);
        assert_eq!(connection.table, RequestTable::Unused, "said once");
    }
}

#[test]
fn long_blocks_continue() {
    let long = "x".repeat(40_000);
    let requests = [get("http://a/", &[("x", &long)]), get("http://a/", &[("x", &long), ("y", "{seq}")])];
    let blocks = RequestBlocks::new(&requests.each_ref().map(compile));
    for kind in [0, 1] {
        let (fields, end, bytes) = Connection::new(&blocks).send(kind);
        assert!(fields.contains(&format!("x: {long}")) && end);
        assert!(bytes > FRAME_SIZE_DEFAULT as usize);
    }
}

#[test]
fn fields_of_http_1_are_refused() {
    for (name, value) in [("Connection", "close"), ("keep-alive", "1"), ("Upgrade", "h2c"), ("TE", "gzip")] {
        let request = get("http://a/", &[(name, value)]);
        let error = request.compile_http2(Scheme::Http, &LineFiles::default()).unwrap_err();
        assert_eq!(error, RequestError::Http1Field { name: name.into() });
        assert_eq!(error.to_string(), format!("header {name} cannot be sent with HTTP/2; remove it"));
    }
    compile(&get("http://a/", &[("te", "trailers")]));
}

proptest! {
    /// Whatever headers the kinds have, each request decodes to its own fields, in its own order within each name.
    #[test]
    fn any_mix_decodes_to_the_requests(
        kinds in vec(vec(("x-[a-d]", "[a-z]{0,3}|\\{seq\\}"), 0..8), 1..4),
        sends in vec(any::<prop::sample::Index>(), 1..12),
        shrink in prop::option::of((0..12usize, 0..200u32)),
    ) {
        let requests: Vec<Request> = kinds
            .iter()
            .map(|headers| get("http://a/", &headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect::<Vec<_>>()))
            .collect();
        let blocks = RequestBlocks::new(&requests.iter().map(compile).collect::<Vec<_>>());
        let mut connection = Connection::new(&blocks);
        for (number, kind) in sends.iter().enumerate() {
            if let Some((at, size)) = shrink && at == number {
                connection.settings(size);
            }
            let kind = kind.index(kinds.len());
            let (fields, _, _) = connection.send(kind);
            for name in ["x-a", "x-b", "x-c", "x-d"] {
                let asked: Vec<String> = kinds[kind].iter().filter(|(n, _)| n == name)
                    .map(|(n, v)| format!("{n}: {}", v.replace("{seq}", &number.to_string()))).collect();
                let sent: Vec<String> = fields.iter().filter(|field| field.starts_with(name)).cloned().collect();
                prop_assert_eq!(sent, asked);
            }
            prop_assert!(fields[0].starts_with(':') && fields.iter().filter(|f| f.starts_with(':')).count() == 4);
            prop_assert!(fields[..4].iter().all(|field| field.starts_with(':')));
        }
    }
}

#[test]
fn bodies_in_chunks_have_no_length() {
    let framing = BodyFraming::Chunks(NonZeroU32::new(1000).unwrap());
    let post = |body: &[u8], generated, framing| Request {
        method: "POST".into(),
        body: body.to_vec(),
        generated,
        framing,
        ..get("http://a/", &[])
    };
    let requests = [
        (post(b"abc", None, framing), BodyBytes::Kept(b"abc"), 1000, false),
        (post(b"", Some(1 << 40), framing), BodyBytes::Generated(1 << 40), 1000, false),
        (post(b"", Some(70_000), BodyFraming::Length), BodyBytes::Generated(70_000), u32::MAX, true),
    ];
    for (request, body, frame_bytes_max, has_length) in requests {
        let blocks = RequestBlocks::new(&[compile(&request)]);
        assert_eq!((blocks.body(0), blocks.has_body(0)), (Some(body), true));
        assert_eq!(blocks.frame_bytes_max(0), frame_bytes_max);
        let (fields, end, _) = Connection::new(&blocks).send(0);
        let length = fields.iter().any(|field| field.starts_with("content-length: "));
        assert_eq!((length, end), (has_length, false), "{fields:?}");
    }
}
