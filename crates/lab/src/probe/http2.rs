//! Sends requests to a server over HTTP/2 with prior knowledge (RFC 9113 §3.3): all at once on one connection.
//!
//! For validation. It uses the codec of `paceline_http`, whose HPACK is tested with the vectors of RFC 7541; the
//! requests and the comparison of answers are separate from the engine.

use super::{Answer, ProbeDeadline, ProbeError, ProbeRequest, SLICE, is_slice_over};
use paceline_http::h2::{
    BlockCache, DecodedFields, FieldDecoder, FrameEvent, FrameReader, HpackDecoder, HpackEncoder,
    HpackScratch, Http2Error, Indexing, OUR_WINDOW, PeerSettings, ReceiveWindow, ResponseProgress,
    write_client_preface, write_field_block, write_ping_ack, write_settings_ack,
};
use paceline_http::{Method, h2};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A response that is not complete yet.
struct PendingResponse {
    progress: ResponseProgress,
    answer: Answer,
}

/// The responses of a connection.
struct ResponseReader {
    fields: HpackDecoder,
    /// Decodes the same blocks with the engine's rules.
    strict: FieldDecoder,
    cache: BlockCache,
    scratch: HpackScratch,
    peer: PeerSettings,
    window: ReceiveWindow,
    pending: Vec<PendingResponse>,
    /// Frames to send back.
    replies: Vec<u8>,
}

/// Sends all requests on a new connection, each on a stream; returns the answers in the order of the requests.
///
/// # Errors
/// [`ProbeError`], with the cause.
pub fn ask(
    address: SocketAddr,
    requests: &[ProbeRequest<'_>],
    deadline: ProbeDeadline,
) -> Result<Vec<Answer>, ProbeError> {
    deadline.check()?;
    let mut stream =
        TcpStream::connect_timeout(&address, SLICE.max(deadline.left())).map_err(ProbeError::Connect)?;
    stream.set_read_timeout(Some(SLICE)).map_err(ProbeError::Io)?;
    stream.set_nodelay(true).map_err(ProbeError::Io)?;
    stream.write_all(&request_bytes(address, requests)).map_err(ProbeError::Io)?;
    let mut responses = ResponseReader::to(requests);
    let mut frames = FrameReader::default();
    let mut chunk = [0; 4096];
    while !responses.are_complete() {
        match stream.read(&mut chunk) {
            Ok(0) => {
                frames.end_of_input().map_err(|error| not_http(&error))?;
                return Err(ProbeError::Closed("before all responses were complete".into()));
            }
            Ok(length) => responses.take(&mut frames, &chunk[..length])?,
            Err(error) if is_slice_over(&error) => {}
            Err(error) => return Err(ProbeError::Io(error)),
        }
        stream.write_all(&std::mem::take(&mut responses.replies)).map_err(ProbeError::Io)?;
        deadline.check()?;
    }
    Ok(responses.pending.into_iter().map(|pending| pending.answer).collect())
}

/// Preface and requests, on the streams 1, 3, 5 and so on.
fn request_bytes(address: SocketAddr, requests: &[ProbeRequest<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_client_preface(&mut bytes);
    let mut encoder = HpackEncoder::default();
    for (request, stream) in requests.iter().zip((1..).step_by(2)) {
        let mut block = Vec::new();
        for (name, value) in [
            (":method", request.method),
            (":scheme", "http"),
            (":authority", &address.to_string()),
            (":path", request.path),
        ] {
            encoder.field(name.as_bytes(), value.as_bytes(), Indexing::Insert, &mut block);
        }
        for (name, value) in request.headers {
            let name = name.to_ascii_lowercase();
            encoder.field(name.as_bytes(), value.as_bytes(), Indexing::Insert, &mut block);
        }
        write_field_block(&mut bytes, stream, &block, true);
    }
    bytes
}

fn not_http(error: &Http2Error) -> ProbeError {
    ProbeError::NotHttp(error.to_string())
}

impl ResponseReader {
    fn to(requests: &[ProbeRequest<'_>]) -> Self {
        let pending = |request: &ProbeRequest<'_>| PendingResponse {
            progress: ResponseProgress::new(Method::from_name(request.method)),
            answer: Answer {
                status: 0,
                headers: Vec::new(),
                body: Vec::new(),
                keeps_alive: true,
                took: Duration::ZERO,
            },
        };
        Self {
            fields: HpackDecoder::default(),
            strict: FieldDecoder::default(),
            cache: BlockCache::default(),
            scratch: HpackScratch::default(),
            peer: PeerSettings::default(),
            window: ReceiveWindow::new(OUR_WINDOW),
            pending: requests.iter().map(pending).collect(),
            replies: Vec::new(),
        }
    }

    fn are_complete(&self) -> bool {
        self.pending.iter().all(|pending| pending.progress.has_ended())
    }

    /// The response on a stream.
    fn on(&mut self, stream: u32) -> Result<&mut PendingResponse, ProbeError> {
        let place = (stream / 2) as usize;
        self.pending
            .get_mut(place)
            .ok_or_else(|| ProbeError::NotHttp(format!("a frame on stream {stream}, which was never opened")))
    }

    fn take(&mut self, frames: &mut FrameReader, mut bytes: &[u8]) -> Result<(), ProbeError> {
        loop {
            let (event, taken) = frames.next(bytes).map_err(|error| not_http(&error))?;
            bytes = &bytes[taken..];
            if event == FrameEvent::NeedMore {
                return Ok(());
            }
            self.handle(event).map_err(|error| match error {
                Http2ProbeError::Probe(error) => error,
                Http2ProbeError::Http2(error) => not_http(&error),
            })?;
        }
    }

    fn handle(&mut self, event: FrameEvent<'_>) -> Result<(), Http2ProbeError> {
        match event {
            FrameEvent::Data { stream, piece, flow_bytes, end_stream, .. } => {
                self.window.receive(0, flow_bytes)?;
                let pending = self.on(stream)?;
                pending.progress.data(piece.len(), end_stream).map_err(Http2Error::Response)?;
                pending.answer.body.extend_from_slice(piece);
                if let Some(increment) = self.window.replenish() {
                    h2::write_window_update(&mut self.replies, 0, increment);
                }
            }
            FrameEvent::FieldBlock { stream, block, end_stream } => self.block(stream, block, end_stream)?,
            FrameEvent::Reset { stream, code } => {
                return Err(ProbeError::Reset { stream, code: code.to_string() }.into());
            }
            FrameEvent::GoAway { last_stream, code, .. }
                if u64::from(last_stream) < 2 * self.pending.len() as u64 - 1 =>
            {
                return Err(
                    ProbeError::Closed(format!("with GOAWAY {code} after stream {last_stream}")).into()
                );
            }
            FrameEvent::Settings(payload) => {
                self.peer.apply(payload)?;
                write_settings_ack(&mut self.replies);
            }
            FrameEvent::Ping(opaque) => write_ping_ack(&mut self.replies, opaque),
            FrameEvent::NeedMore
            | FrameEvent::SettingsAck
            | FrameEvent::PingAck(_)
            | FrameEvent::GoAway { .. }
            | FrameEvent::WindowUpdate { .. } => {}
        }
        Ok(())
    }

    fn block(&mut self, stream: u32, block: &[u8], end_stream: bool) -> Result<(), Http2ProbeError> {
        let mut headers = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.fields
            .decode(block, &mut self.scratch, |field| {
                if !field.name.starts_with(b":") {
                    headers.push((text(field.name), text(field.value)));
                }
            })
            .map_err(Http2Error::from)?;
        let fields = self.strict.decode(&mut self.cache, block)?;
        let pending = self.on(stream)?;
        pending.progress.fields(fields, end_stream).map_err(Http2Error::Response)?;
        if let DecodedFields::Response(head) = fields
            && head.status >= 200
        {
            (pending.answer.status, pending.answer.headers) = (head.status, headers);
        }
        Ok(())
    }
}

/// Why a connection cannot continue.
enum Http2ProbeError {
    Probe(ProbeError),
    Http2(Http2Error),
}

impl From<ProbeError> for Http2ProbeError {
    fn from(error: ProbeError) -> Self {
        Self::Probe(error)
    }
}

impl From<Http2Error> for Http2ProbeError {
    fn from(error: Http2Error) -> Self {
        Self::Http2(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_host::Interrupt;
    use std::net::TcpListener;
    use std::time::Duration;

    /// Queries a server that sends these bytes in reply to any request.
    fn requested(bytes: Vec<u8>, requests: usize) -> Result<Vec<Answer>, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 512];
                let _ = stream.read(&mut request).unwrap();
                stream.write_all(&bytes).unwrap();
                // Until the client closes, so that the connection is not reset.
                let _ = stream.shutdown(std::net::Shutdown::Write);
                while stream.read(&mut request).is_ok_and(|count| count > 0) {}
            });
            let requests = vec![ProbeRequest::new("GET", "/hello"); requests];
            let deadline = ProbeDeadline::after(Duration::from_secs(20), Interrupt::never());
            ask(address, &requests, deadline).map_err(|error| error.to_string())
        })
    }

    fn frames(write: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        h2::write_settings(&mut bytes, &[]);
        write(&mut bytes);
        bytes
    }

    #[test]
    fn answers_may_come_in_any_order() {
        let bytes = frames(|out| {
            // :status 200, then "server: a" without indexing.
            write_field_block(out, 3, b"\x88\x0f\x27\x01a", false);
            h2::write_data(out, 3, b"second", true);
            write_field_block(out, 1, b"\x8d", false);
            h2::write_data(out, 1, b"fir", false);
            h2::write_data(out, 1, b"st", true);
        });
        let answers = requested(bytes, 2).unwrap();
        let reported: Vec<(u16, &[u8])> =
            answers.iter().map(|answer| (answer.status, answer.body.as_slice())).collect();
        assert_eq!(reported, [(404, b"first".as_slice()), (200, b"second")]);
        assert_eq!(answers[1].header("server"), Some("a"));
    }

    #[test]
    fn other_protocols_are_named() {
        let error = requested(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), 1).unwrap_err();
        assert!(error.contains("the server does not speak HTTP/2"), "{error}");
        let error =
            requested(frames(|out| h2::write_reset(out, 1, h2::ErrorCode::REFUSED_STREAM)), 1).unwrap_err();
        assert_eq!(error, "the server reset stream 1 with REFUSED_STREAM");
        let error =
            requested(frames(|out| h2::write_goaway(out, 1, h2::ErrorCode::NO_ERROR, b"")), 2).unwrap_err();
        assert_eq!(error, "the connection was closed with GOAWAY NO_ERROR after stream 1");
        let error = requested(frames(|_| ()), 1).unwrap_err();
        assert_eq!(error, "the connection was closed before all responses were complete");
    }
}
