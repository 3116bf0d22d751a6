//! Measures the cost of the HTTP/2 codec in instructions: writes N requests and reads N responses, as the engine does.
//!
//!     valgrind --tool=callgrind target/release/examples/http2_cost N [STREAMS]
//!
//! The difference of two counts, divided by the difference of the two N, is the cost of one request. The responses are
//! those of nginx 1.22: a head that inserts its fields into the table every time, and 13 bytes of body.

use paceline_http::h2::{
    BlockCache, FieldDecoder, FrameEvent, FrameReader, HpackEncoder, Indexing, PeerSettings, ReceiveWindow,
    RequestBlocks, RequestTable, ResponseProgress, StreamIds, write_client_preface, write_data,
    write_field_block, write_settings,
};
use paceline_http::{Expander, LineFiles, Method, RandomBits, Request, Scheme, Url};

struct Zeros;

impl RandomBits for Zeros {
    fn next_bits(&mut self) -> u64 {
        0
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u32>().expect("a number"));
    let requests = arguments.next().unwrap_or(1000);
    let streams = arguments.next().unwrap_or(1);
    let url = Url::parse("http://127.0.0.1:8080/plaintext").expect("a URL");
    let request = Request::get(&url).compile_http2(Scheme::Http, &LineFiles::default()).expect("a request");
    let blocks = RequestBlocks::new(&[request]);
    let mut expander = Expander::for_parts(0, 1, Zeros, 0, blocks.parts_max());
    let (mut reader, mut fields, mut cache) =
        (FrameReader::default(), FieldDecoder::default(), BlockCache::default());
    let (mut table, mut ids, mut window) =
        (RequestTable::default(), StreamIds::default(), ReceiveWindow::new(1 << 30));
    let (mut out, mut body, mut received) = (Vec::new(), Vec::new(), Vec::new());
    write_client_preface(&mut out);
    write_settings(&mut received, &[(3, 128)]);
    let mut progress = vec![ResponseProgress::new(Method::Other); streams as usize];
    let mut bytes = 0;
    for _ in 0..requests.div_ceil(streams) {
        out.clear();
        for place in &mut progress {
            let Some(stream) = ids.peek() else { return };
            ids.advance();
            blocks.write(0, stream, &mut table, &mut expander, &mut out, &mut body);
            *place = ResponseProgress::new(Method::Other);
            respond(stream, &mut received);
        }
        let mut rest = received.as_slice();
        loop {
            let (event, taken) = reader.next(rest).expect("frames");
            match event {
                FrameEvent::NeedMore => break,
                FrameEvent::Data { stream, piece, flow_bytes, end_stream, .. } => {
                    window.receive(0, flow_bytes).expect("a window");
                    let _ = window.replenish();
                    progress[(stream / 2 % streams) as usize].data(piece.len(), end_stream).expect("a body");
                    bytes += piece.len();
                }
                FrameEvent::FieldBlock { stream, block, end_stream } => {
                    let head = fields.decode(&mut cache, block).expect("fields");
                    progress[(stream / 2 % streams) as usize].fields(head, end_stream).expect("a head");
                }
                FrameEvent::Settings(payload) => drop(PeerSettings::default().apply(payload)),
                _ => {}
            }
            rest = &rest[taken..];
        }
        received.clear();
    }
    assert_eq!(bytes, 13 * requests.div_ceil(streams) as usize * streams as usize);
}

/// The server's bytes: made once; the stream's number is filled in.
fn respond(stream: u32, received: &mut Vec<u8>) {
    use std::sync::OnceLock;
    static RESPONSE: OnceLock<Vec<u8>> = OnceLock::new();
    let response = RESPONSE.get_or_init(|| {
        let (mut block, mut response) = (Vec::new(), Vec::new());
        let mut encoder = HpackEncoder::default();
        encoder.field(b":status", b"200", Indexing::Omit, &mut block);
        for (name, value) in [
            ("server", "nginx/1.22.1"),
            ("date", "Sun, 22 Nov 2026 12:00:00 GMT"),
            ("content-type", "text/plain"),
            ("content-length", "13"),
        ] {
            encoder.field(name.as_bytes(), value.as_bytes(), Indexing::Insert, &mut block);
        }
        write_field_block(&mut response, 0, &block, false);
        write_data(&mut response, 0, b"Hello, World!", true);
        response
    });
    let start = received.len();
    received.extend_from_slice(response);
    let data = start + response.len() - 13 - 9;
    for head in [start, data] {
        received[head + 5..head + 9].copy_from_slice(&stream.to_be_bytes());
    }
}
