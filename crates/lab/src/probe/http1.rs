//! HTTP/1.1: a connection that sends requests, and reads each answer strictly by RFC 9112's rules.
//!
//! Uses the standard library alone. Strict, because a server that violates a rule would be measured while doing
//! something else than it claims.

use super::{Answer, ProbeDeadline, ProbeError, ProbeRequest, SLICE, is_slice_over};
use paceline_stats::counted;
use std::io::{Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The longest head: the highest limit of common servers and proxies.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// The longest body of a workload; validation holds it in memory.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// Interim answers before the final one: a server sends one or two (100, 103), never many.
const MAX_INTERIM: usize = 16;
/// Trailers of a chunked body, in bytes: the same as for a head.
const MAX_TRAILER_BYTES: usize = MAX_HEAD_BYTES;

/// The result of waiting for a server to close.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseResult {
    /// Unsolicited bytes before that.
    pub bytes: Vec<u8>,
    /// How long it took to close; `None` if it was open at the deadline.
    pub closed_after: Option<Duration>,
}

/// One connection to a server.
pub struct ProbeConnection {
    stream: TcpStream,
    address: SocketAddr,
    deadline: ProbeDeadline,
    reader: Reader,
    /// When a request was last sent.
    sent_at: Instant,
}

impl ProbeConnection {
    /// Connects.
    ///
    /// # Errors
    /// [`ProbeError::Connect`] when no process listens.
    pub fn open(address: SocketAddr, deadline: ProbeDeadline) -> Result<Self, ProbeError> {
        deadline.check()?;
        let stream =
            TcpStream::connect_timeout(&address, deadline.left().max(SLICE)).map_err(ProbeError::Connect)?;
        stream.set_read_timeout(Some(SLICE)).map_err(ProbeError::Io)?;
        // A server that does not read a long body must not block the check.
        stream.set_write_timeout(Some(deadline.left().max(SLICE))).map_err(ProbeError::Io)?;
        stream.set_nodelay(true).map_err(ProbeError::Io)?;
        Ok(Self { stream, address, deadline, reader: Reader::default(), sent_at: Instant::now() })
    }

    /// Sends one request and reads its answer.
    ///
    /// # Errors
    /// [`ProbeError`], with the cause.
    pub fn ask(&mut self, request: ProbeRequest<'_>) -> Result<Answer, ProbeError> {
        self.ask_ahead(&[request]).map(|mut answers| answers.remove(0))
    }

    /// Sends all requests at once, then reads an answer to each.
    ///
    /// # Errors
    /// [`ProbeError`], with the cause.
    pub fn ask_ahead(&mut self, requests: &[ProbeRequest<'_>]) -> Result<Vec<Answer>, ProbeError> {
        let bytes = self.bytes_of(requests);
        self.send(&bytes)?;
        let answers = requests
            .iter()
            .map(|request| self.answer(request))
            .collect::<Result<Vec<Answer>, ProbeError>>()?;
        self.reader.check_no_surplus()?;
        Ok(answers)
    }

    /// Sends all requests at once and reads the answer to the first; the others are not read.
    ///
    /// # Errors
    /// [`ProbeError`], with the cause.
    pub fn ask_first_of(&mut self, requests: &[ProbeRequest<'_>]) -> Result<Answer, ProbeError> {
        let Some(first) = requests.first() else {
            return Err(ProbeError::Closed("before a request was sent".into()));
        };
        let bytes = self.bytes_of(requests);
        self.send(&bytes)?;
        self.answer(first)
    }

    /// Several requests as one text.
    fn bytes_of(&self, requests: &[ProbeRequest<'_>]) -> Vec<u8> {
        requests.iter().flat_map(|request| request.bytes(self.address)).collect()
    }

    /// Sends one request byte by byte, with `pause` between, and reads its answer.
    ///
    /// # Errors
    /// [`ProbeError`], with the cause.
    pub fn ask_slowly(&mut self, request: ProbeRequest<'_>, pause: Duration) -> Result<Answer, ProbeError> {
        for byte in request.bytes(self.address) {
            self.send(&[byte])?;
            // Each byte is a separate packet; the pause lets the server read it before the next arrives.
            std::thread::sleep(pause);
        }
        self.read(request)
    }

    /// Sends raw bytes.
    ///
    /// # Errors
    /// [`ProbeError::Io`].
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), ProbeError> {
        self.sent_at = Instant::now();
        self.stream.write_all(bytes).map_err(ProbeError::Io)
    }

    /// Sends one request and reads its answer; bytes after it are left for [`ProbeConnection::wait_closed`].
    ///
    /// # Errors
    /// [`ProbeError`], with the cause.
    pub fn ask_loosely(&mut self, request: ProbeRequest<'_>) -> Result<Answer, ProbeError> {
        let bytes = request.bytes(self.address);
        self.send(&bytes)?;
        self.answer(&request)
    }

    /// Reads one answer, as to `request`.
    ///
    /// # Errors
    /// [`ProbeError`], with the cause.
    fn read(&mut self, request: ProbeRequest<'_>) -> Result<Answer, ProbeError> {
        let answer = self.answer(&request)?;
        self.reader.check_no_surplus()?;
        Ok(answer)
    }

    /// The next answer on the connection.
    fn answer(&mut self, request: &ProbeRequest<'_>) -> Result<Answer, ProbeError> {
        let answer = self.reader.answer(&mut self.stream, request, &self.deadline)?;
        Ok(Answer { took: self.sent_at.elapsed(), ..answer })
    }

    /// Waits for the server to close, at most `until`, and returns the bytes that it sends meanwhile.
    ///
    /// # Errors
    /// [`ProbeError::Interrupted`]; a connection that breaks counts as closed.
    pub fn wait_closed(&mut self, until: Instant) -> Result<CloseResult, ProbeError> {
        let deadline = ProbeDeadline { deadline: until, ..self.deadline };
        self.reader.until_closed(&mut self.stream, &deadline)
    }

    /// Replaces the deadline.
    pub fn set_deadline(&mut self, deadline: ProbeDeadline) {
        self.deadline = deadline;
    }
}

/// Sends one request on a new connection.
///
/// # Errors
/// [`ProbeError`], with the cause.
pub fn ask(
    address: SocketAddr,
    request: ProbeRequest<'_>,
    deadline: ProbeDeadline,
) -> Result<Answer, ProbeError> {
    ProbeConnection::open(address, deadline)?.ask(request)
}

/// Bytes read and not yet used.
#[derive(Default)]
struct Reader {
    buffer: Vec<u8>,
}

/// How the end of a body is marked: RFC 9112, section 6.3.
enum ProbeFraming {
    Length(usize),
    Chunked,
    UntilClose,
}

impl Reader {
    /// Reads the answer to `request`; interim answers (1xx) are skipped.
    pub fn answer(
        &mut self,
        stream: &mut impl Read,
        request: &ProbeRequest<'_>,
        deadline: &ProbeDeadline,
    ) -> Result<Answer, ProbeError> {
        let mut source = DeadlineStream { stream, deadline };
        for _ in 0..=MAX_INTERIM {
            let head = ProbeHead::parse(&self.head(&mut source)?)?;
            if (100..200).contains(&head.status) {
                continue;
            }
            let framing = head.framing(request.method)?;
            let keeps_alive = head.keeps_alive() && !matches!(framing, ProbeFraming::UntilClose);
            let body = match framing {
                ProbeFraming::Length(length) => self.exactly(length, &mut source)?,
                ProbeFraming::Chunked => self.chunks(&mut source)?,
                ProbeFraming::UntilClose => self.until_close(&mut source)?,
            };
            let (status, headers) = (head.status, head.headers);
            return Ok(Answer { status, headers, body, keeps_alive, took: Duration::ZERO });
        }
        Err(not_http(format!("more than {MAX_INTERIM} interim responses (1xx) and no final response")))
    }

    /// An error if there are bytes that belong to no answer.
    pub fn check_no_surplus(&self) -> Result<(), ProbeError> {
        match self.buffer.len() {
            0 => Ok(()),
            surplus => Err(ProbeError::NotHttp(format!(
                "the body is followed by {}",
                counted(surplus, "more byte", "more bytes")
            ))),
        }
    }

    /// Reads bytes that belong to no answer until the end of the stream or the deadline, and not many more than the
    /// longest body: a server may send without end.
    fn until_closed(
        &mut self,
        stream: &mut impl Read,
        deadline: &ProbeDeadline,
    ) -> Result<CloseResult, ProbeError> {
        let (begun, mut bytes) = (Instant::now(), std::mem::take(&mut self.buffer));
        let mut chunk = [0; 4096];
        while bytes.len() <= MAX_BODY_BYTES {
            match stream.read(&mut chunk) {
                Ok(0) => return Ok(CloseResult { bytes, closed_after: Some(begun.elapsed()) }),
                Ok(length) => bytes.extend_from_slice(&chunk[..length]),
                Err(error) if is_slice_over(&error) => {}
                Err(_) => return Ok(CloseResult { bytes, closed_after: Some(begun.elapsed()) }),
            }
            match deadline.check() {
                Err(ProbeError::Interrupted) => return Err(ProbeError::Interrupted),
                Err(_) => break,
                Ok(()) => {}
            }
        }
        Ok(CloseResult { bytes, closed_after: None })
    }

    fn head(&mut self, source: &mut DeadlineStream<'_, impl Read>) -> Result<String, ProbeError> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
                let text =
                    String::from_utf8(head).map_err(|_| not_http("the headers are not valid UTF-8"))?;
                return Ok(text);
            }
            if self.buffer.len() > MAX_HEAD_BYTES {
                return Err(not_http(format!("the headers are longer than {MAX_HEAD_BYTES} bytes")));
            }
            if source.fill(&mut self.buffer)? == 0 {
                let after = format!(
                    "after {}, before the headers were complete",
                    counted(self.buffer.len(), "byte", "bytes")
                );
                return Err(ProbeError::Closed(after));
            }
        }
    }

    fn exactly(
        &mut self,
        length: usize,
        source: &mut DeadlineStream<'_, impl Read>,
    ) -> Result<Vec<u8>, ProbeError> {
        within_limit(length)?;
        while self.buffer.len() < length {
            if source.fill(&mut self.buffer)? == 0 {
                return Err(ProbeError::Closed(format!(
                    "after {} of {}",
                    self.buffer.len(),
                    counted(length, "byte", "bytes")
                )));
            }
        }
        Ok(self.buffer.drain(..length).collect())
    }

    fn until_close(&mut self, source: &mut DeadlineStream<'_, impl Read>) -> Result<Vec<u8>, ProbeError> {
        while source.fill(&mut self.buffer)? > 0 {
            within_limit(self.buffer.len())?;
        }
        Ok(std::mem::take(&mut self.buffer))
    }

    /// RFC 9112, section 7.1. Trailers are read and discarded.
    fn chunks(&mut self, source: &mut DeadlineStream<'_, impl Read>) -> Result<Vec<u8>, ProbeError> {
        let mut body = Vec::new();
        loop {
            let line = self.line(source)?;
            let digits = line.split(';').next().unwrap_or_default().trim_end();
            let length = usize::from_str_radix(digits, 16)
                .map_err(|_| not_http(format!("a chunk begins with {line:?} instead of its length")))?;
            if length == 0 {
                self.trailers(source)?;
                return Ok(body);
            }
            within_limit(body.len().saturating_add(length))?;
            body.extend(self.exactly(length, source)?);
            if !self.line(source)?.is_empty() {
                return Err(not_http(format!("a chunk is longer than its declared length ({length})")));
            }
        }
    }

    fn trailers(&mut self, source: &mut DeadlineStream<'_, impl Read>) -> Result<(), ProbeError> {
        let mut length = 0;
        while length <= MAX_TRAILER_BYTES {
            match self.line(source)?.len() {
                0 => return Ok(()),
                line => length += line,
            }
        }
        Err(not_http(format!("the trailers are longer than {MAX_TRAILER_BYTES} bytes")))
    }

    fn line(&mut self, source: &mut DeadlineStream<'_, impl Read>) -> Result<String, ProbeError> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..end + 2).take(end).collect();
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            if self.buffer.len() > MAX_HEAD_BYTES {
                return Err(not_http(format!(
                    "a line of the chunked body (the length of a chunk, or a trailer) is longer than {MAX_HEAD_BYTES} bytes"
                )));
            }
            if source.fill(&mut self.buffer)? == 0 {
                return Err(ProbeError::Closed("inside a chunked body".to_owned()));
            }
        }
    }
}

/// The stream with its deadline.
struct DeadlineStream<'a, S> {
    stream: &'a mut S,
    deadline: &'a ProbeDeadline,
}

impl<S: Read> DeadlineStream<'_, S> {
    /// Appends the next bytes; returns 0 at the end. The deadline is checked before every read, not only after an empty
    /// one: otherwise a server that sends without end would never time out.
    fn fill(&mut self, buffer: &mut Vec<u8>) -> Result<usize, ProbeError> {
        let mut chunk = [0; 16 * 1024];
        loop {
            self.deadline.check()?;
            match self.stream.read(&mut chunk) {
                Ok(length) => {
                    buffer.extend_from_slice(&chunk[..length]);
                    return Ok(length);
                }
                Err(error) if is_slice_over(&error) => {}
                Err(error) => return Err(ProbeError::Io(error)),
            }
        }
    }
}

/// A parsed head.
struct ProbeHead {
    minor: u8,
    status: u16,
    headers: Vec<(String, String)>,
}

impl ProbeHead {
    fn parse(text: &str) -> Result<ProbeHead, ProbeError> {
        let mut lines = text.trim_end_matches("\r\n").split("\r\n");
        let first = lines.next().unwrap_or_default();
        let (minor, status) = status_line(first).ok_or_else(|| {
            not_http(format!(
                "expected a status line, found {:?}",
                first.chars().take(60).collect::<String>()
            ))
        })?;
        let headers = lines.map(header).collect::<Result<_, _>>()?;
        Ok(ProbeHead { minor, status, headers })
    }

    fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.headers.iter().filter(move |(known, _)| known == name);
        named.flat_map(|(_, value)| value.split(',').map(str::trim))
    }

    fn keeps_alive(&self) -> bool {
        let says = |wanted| self.values("connection").any(|value| value.eq_ignore_ascii_case(wanted));
        if self.minor == 0 { says("keep-alive") } else { !says("close") }
    }

    fn framing(&self, method: &str) -> Result<ProbeFraming, ProbeError> {
        if method == "HEAD" || matches!(self.status, 204 | 304) {
            return Ok(ProbeFraming::Length(0));
        }
        let lengths: Vec<&str> = self.values("content-length").collect();
        if let Some(coding) = self.values("transfer-encoding").last() {
            return match (coding.eq_ignore_ascii_case("chunked"), lengths.is_empty()) {
                (true, true) => Ok(ProbeFraming::Chunked),
                (false, _) => Ok(ProbeFraming::UntilClose),
                (true, false) => Err(not_http("both content-length and transfer-encoding are present")),
            };
        }
        let Some(first) = lengths.first() else { return Ok(ProbeFraming::UntilClose) };
        let wrong = || not_http(format!("invalid content-length: {:?}", lengths.join(", ")));
        // Digits alone: `parse` would accept a plus sign.
        if lengths.iter().any(|length| length != first) || !first.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        first.parse().map(ProbeFraming::Length).map_err(|_| wrong())
    }
}

fn status_line(line: &str) -> Option<(u8, u16)> {
    let rest = line.strip_prefix("HTTP/1.")?;
    let (minor, rest) = rest.split_once(' ')?;
    let code = rest.split(' ').next().filter(|code| code.len() == 3)?;
    let status = code.parse().ok().filter(|status| (100..=999).contains(status))?;
    Some((minor.parse().ok().filter(|minor| *minor <= 1)?, status))
}

fn header(line: &str) -> Result<(String, String), ProbeError> {
    let (name, value) =
        line.split_once(':').ok_or_else(|| not_http(format!("a header line has no colon: {line:?}")))?;
    if name.is_empty() || name.contains([' ', '\t']) {
        return Err(not_http(format!("a header's name has spaces: {line:?}")));
    }
    Ok((name.to_ascii_lowercase(), value.trim().to_owned()))
}

fn within_limit(length: usize) -> Result<(), ProbeError> {
    if length > MAX_BODY_BYTES {
        return Err(not_http(format!("the body is longer than {MAX_BODY_BYTES} bytes")));
    }
    Ok(())
}

fn not_http(what: impl Into<String>) -> ProbeError {
    ProbeError::NotHttp(what.into())
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests;
