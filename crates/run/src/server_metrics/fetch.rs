//! Fetches a page over HTTP/1.1 within a time and a size: a connection for each, from the generator's own thread.

use crate::host_connection::connect_to_host;
use paceline_http::{DecodeStep, Decoder, HeadCache, LineEnds, Method, Url};
use std::io::{self, Read as _, Write as _};
use std::time::{Duration, Instant};

/// Maximum time for a page, in all.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(1);
/// Maximum bytes of a page.
const MAX_BYTES: usize = 1 << 20;

/// Why a page was not fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("no complete answer within 1 s")]
    TimedOut,
    #[error("the page is larger than 1 MiB")]
    TooLarge,
    #[error("{0}")]
    Http(#[from] paceline_http::ProtocolError),
    #[error("the answer has status {0}")]
    Status(u16),
    #[error("the page is not UTF-8")]
    Encoding,
}

/// The page at a URL.
pub(super) fn page(url: &Url) -> Result<String, FetchError> {
    let until = Instant::now() + TIME_LIMIT;
    let left = || match until.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(FetchError::TimedOut),
        left => Ok(left),
    };
    let mut stream = connect_to_host(url, left()?)?;
    stream.set_write_timeout(Some(left()?))?;
    let accept = "text/plain;version=0.0.4, application/json;q=0.9, */*;q=0.1";
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nAccept: {accept}\r\nAccept-Encoding: identity\r\nUser-Agent: {}\r\n\
         Connection: close\r\n\r\n",
        url.path,
        url.authority(),
        paceline_http::USER_AGENT
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Answer::default();
    let mut buffer = [0; 16_384];
    while !answer.is_complete {
        stream.set_read_timeout(Some(left()?))?;
        match stream.read(&mut buffer) {
            Ok(0) => answer.end()?,
            Ok(length) => answer.read(&buffer[..length])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Err(FetchError::TimedOut);
            }
            Err(error) => return Err(error.into()),
        }
    }
    match answer.status {
        200..300 => paceline_files::text(answer.body).map_err(|_| FetchError::Encoding),
        status => Err(FetchError::Status(status)),
    }
}

/// The response as far as it is read.
struct Answer {
    decoder: Decoder,
    cache: HeadCache,
    status: u16,
    body: Vec<u8>,
    is_complete: bool,
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            decoder: Decoder::new(Method::Other).with_line_ends(LineEnds::LfAllowed),
            cache: HeadCache::new(),
            status: 0,
            body: Vec::new(),
            is_complete: false,
        }
    }
}

impl Answer {
    fn read(&mut self, mut input: &[u8]) -> Result<(), FetchError> {
        while !self.is_complete {
            let (step, taken) = self.decoder.decode(&mut self.cache, input)?;
            match step {
                DecodeStep::NeedMore => break,
                DecodeStep::Interim(_) => {}
                DecodeStep::Head(head) => self.status = head.status,
                DecodeStep::Body(piece) if self.body.len() + piece.len() > MAX_BYTES => {
                    return Err(FetchError::TooLarge);
                }
                DecodeStep::Body(piece) => self.body.extend_from_slice(piece),
                DecodeStep::End => self.is_complete = true,
            }
            input = &input[taken..];
        }
        Ok(())
    }

    /// The server closed the connection.
    fn end(&mut self) -> Result<(), FetchError> {
        self.is_complete = self.decoder.end_of_input()?;
        let closed =
            || io::Error::new(io::ErrorKind::UnexpectedEof, "the connection closed without an answer");
        if self.is_complete { Ok(()) } else { Err(closed().into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// What is read from a server that gives this answer and then closes the connection, if it does so.
    fn answered(answer: Vec<u8>, closes: bool) -> Result<String, FetchError> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = Url::parse(&format!("http://{}/metrics", listener.local_addr().unwrap())).unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1_024];
            let length = stream.read(&mut request).unwrap();
            // The client may have left already.
            let _ = stream.write_all(&answer);
            (!closes).then_some(stream).map(|stream| (stream, request[..length].len()))
        });
        let page = page(&url);
        drop(server.join().unwrap());
        page
    }

    #[test]
    fn a_page_may_be_chunked_or_end_with_the_connection() {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na 1\r\n1\r\n\n\r\n0\r\n\r\n";
        assert_eq!(answered(chunked.into(), false).unwrap(), "a 1\n");
        let until_close = "HTTP/1.0 200 OK\r\n\r\n\u{feff}a 1";
        assert_eq!(answered(until_close.into(), true).unwrap(), "a 1", "without its byte order mark");
    }

    #[test]
    fn what_is_wrong_with_an_answer_is_said() {
        let fails = |answer: &[u8]| answered(answer.to_vec(), true).unwrap_err().to_string();
        assert_eq!(
            fails(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
            "the answer has status 404"
        );
        assert!(fails(b"").contains("closed without an answer"));
        assert!(fails(b"SSH-2.0\r\n").contains("not HTTP"));
        let large = [&b"HTTP/1.1 200 OK\r\n\r\n"[..], &vec![b'a'; MAX_BYTES + 1]].concat();
        assert_eq!(fails(&large), "the page is larger than 1 MiB");
    }
}
