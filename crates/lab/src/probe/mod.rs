//! A small strict HTTP/1.1 client that sends one request at a time: for readiness and validation.
//!
//! Blocking, uses the standard library alone, and deliberately not the engine's codec: a mistake in the engine must not
//! also be in the validation. HTTP/2 is in `http2`. Its only measurement is the time of a start.

pub mod http2;
mod reader;

use paceline_host::Interrupt;
use reader::Reader;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How long one read may block before the deadline and Ctrl-C are checked.
const SLICE: Duration = Duration::from_millis(50);

/// The deadline of an answer, and the interrupt that may end the wait earlier.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The deadline.
    pub deadline: Instant,
    /// Ctrl-C.
    pub interrupt: Interrupt,
}

impl Patience {
    /// A deadline `limit` from now.
    pub fn of(limit: Duration, interrupt: Interrupt) -> Self {
        Self { deadline: Instant::now() + limit, interrupt }
    }

    /// The time until the deadline.
    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// An error after the deadline or an interrupt.
    pub fn check(&self) -> Result<(), Trouble> {
        if self.interrupt.asked() {
            Err(Trouble::Interrupted)
        } else if Instant::now() >= self.deadline {
            Err(Trouble::TimedOut)
        } else {
            Ok(())
        }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// No process listens, or the connection was refused.
    #[error("cannot connect: {0}")]
    Connect(#[source] std::io::Error),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Io(#[source] std::io::Error),
    /// No complete answer in time.
    #[error("no complete answer in time")]
    TimedOut,
    /// The connection was closed before the answer was complete.
    #[error("the connection was closed {0}")]
    Closed(String),
    /// The answer violates HTTP's rules.
    #[error("invalid HTTP response: {0}")]
    NotHttp(String),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

/// A complete answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The body, without framing.
    pub body: Vec<u8>,
    /// Whether the connection may carry another request.
    pub keeps_alive: bool,
    /// From the sending of the request to the end of the answer.
    pub took: Duration,
}

impl Answer {
    /// The first header of that name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The method.
    pub method: &'a str,
    /// The path with its query.
    pub path: &'a str,
    /// The version, and the connection option.
    pub manner: Manner,
}

/// The version of a request, and its connection option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// `HTTP/1.1`, which stays open unless one side says otherwise.
    Http11,
    /// `HTTP/1.1` with `Connection: close`.
    Http11Close,
    /// `HTTP/1.0`, after which the server closes.
    Http10,
    /// `HTTP/1.0` with keep-alive requested, as in `ab -k`.
    Http10KeepAlive,
}

impl<'a> Question<'a> {
    /// An ordinary request.
    pub fn new(method: &'a str, path: &'a str) -> Self {
        Self { method, path, manner: Manner::Http11 }
    }

    /// The same request in another manner.
    pub fn in_manner(self, manner: Manner) -> Self {
        Self { manner, ..self }
    }

    fn text(&self, host: SocketAddr) -> String {
        let (version, connection) = match self.manner {
            Manner::Http11 => ("1.1", ""),
            Manner::Http11Close => ("1.1", "Connection: close\r\n"),
            Manner::Http10 => ("1.0", ""),
            Manner::Http10KeepAlive => ("1.0", "Connection: keep-alive\r\n"),
        };
        format!("{} {} HTTP/{version}\r\nHost: {host}\r\n{connection}\r\n", self.method, self.path)
    }
}

/// The result of waiting for a server to close.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rest {
    /// Unsolicited bytes before that.
    pub bytes: Vec<u8>,
    /// How long it took to close; `None` if it was open at the deadline.
    pub closed_after: Option<Duration>,
}

/// One connection to a server.
pub struct Connection {
    stream: TcpStream,
    address: SocketAddr,
    patience: Patience,
    reader: Reader,
    /// When a request was last sent.
    sent_at: Instant,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// [`Trouble::Connect`] when no process listens.
    pub fn open(address: SocketAddr, patience: Patience) -> Result<Self, Trouble> {
        patience.check()?;
        let stream =
            TcpStream::connect_timeout(&address, patience.left().max(SLICE)).map_err(Trouble::Connect)?;
        stream.set_read_timeout(Some(SLICE)).map_err(Trouble::Io)?;
        stream.set_nodelay(true).map_err(Trouble::Io)?;
        Ok(Self { stream, address, patience, reader: Reader::default(), sent_at: Instant::now() })
    }

    /// Sends one request and reads its answer.
    ///
    /// # Errors
    /// [`Trouble`], with the cause.
    pub fn ask(&mut self, question: Question<'_>) -> Result<Answer, Trouble> {
        self.ask_ahead(&[question]).map(|mut answers| answers.remove(0))
    }

    /// Sends all requests at once, then reads an answer to each.
    ///
    /// # Errors
    /// [`Trouble`], with the cause.
    pub fn ask_ahead(&mut self, questions: &[Question<'_>]) -> Result<Vec<Answer>, Trouble> {
        let text: String = questions.iter().map(|question| question.text(self.address)).collect();
        self.send(text.as_bytes())?;
        let answers = questions
            .iter()
            .map(|question| self.answer(question))
            .collect::<Result<Vec<Answer>, Trouble>>()?;
        self.reader.nothing_left()?;
        Ok(answers)
    }

    /// Sends all requests at once and reads the answer to the first; the others are not read.
    ///
    /// # Errors
    /// [`Trouble`], with the cause.
    pub fn ask_first_of(&mut self, questions: &[Question<'_>]) -> Result<Answer, Trouble> {
        let Some(first) = questions.first() else {
            return Err(Trouble::Closed("before it was asked".into()));
        };
        let text: String = questions.iter().map(|question| question.text(self.address)).collect();
        self.send(text.as_bytes())?;
        self.answer(first)
    }

    /// Sends one request byte by byte, with `pause` between, and reads its answer.
    ///
    /// # Errors
    /// [`Trouble`], with the cause.
    pub fn ask_slowly(&mut self, question: Question<'_>, pause: Duration) -> Result<Answer, Trouble> {
        for byte in question.text(self.address).as_bytes() {
            self.send(&[*byte])?;
            // Each byte is a separate packet; the pause lets the server read it before the next arrives.
            std::thread::sleep(pause);
        }
        self.read(question)
    }

    /// Sends raw bytes.
    ///
    /// # Errors
    /// [`Trouble::Io`].
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        self.sent_at = Instant::now();
        self.stream.write_all(bytes).map_err(Trouble::Io)
    }

    /// Sends one request and reads its answer; bytes after it are left for [`Connection::wait_closed`].
    ///
    /// # Errors
    /// [`Trouble`], with the cause.
    pub fn ask_loosely(&mut self, question: Question<'_>) -> Result<Answer, Trouble> {
        let text = question.text(self.address);
        self.send(text.as_bytes())?;
        self.answer(&question)
    }

    /// Reads one answer, as to `question`.
    ///
    /// # Errors
    /// [`Trouble`], with the cause.
    fn read(&mut self, question: Question<'_>) -> Result<Answer, Trouble> {
        let answer = self.answer(&question)?;
        self.reader.nothing_left()?;
        Ok(answer)
    }

    /// The next answer on the connection.
    fn answer(&mut self, question: &Question<'_>) -> Result<Answer, Trouble> {
        let answer = self.reader.answer(&mut self.stream, question, &self.patience)?;
        Ok(Answer { took: self.sent_at.elapsed(), ..answer })
    }

    /// Waits for the server to close, at most until `deadline`, and returns the bytes that it sends meanwhile.
    ///
    /// # Errors
    /// [`Trouble::Interrupted`]; a connection that breaks counts as closed.
    pub fn wait_closed(&mut self, deadline: Instant) -> Result<Rest, Trouble> {
        let (begun, mut bytes) = (Instant::now(), self.reader.take());
        let mut chunk = [0; 4096];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Ok(Rest { bytes, closed_after: Some(begun.elapsed()) }),
                Ok(length) => bytes.extend_from_slice(&chunk[..length]),
                Err(error) if reader::is_slice_over(&error) => {}
                Err(_) => return Ok(Rest { bytes, closed_after: Some(begun.elapsed()) }),
            }
            match (Patience { deadline, ..self.patience }).check() {
                Err(Trouble::Interrupted) => return Err(Trouble::Interrupted),
                Err(_) => return Ok(Rest { bytes, closed_after: None }),
                Ok(()) => {}
            }
        }
    }

    /// Replaces the deadline.
    pub fn be_patient(&mut self, patience: Patience) {
        self.patience = patience;
    }
}

/// Sends one request on a new connection.
///
/// # Errors
/// [`Trouble`], with the cause.
pub fn ask(address: SocketAddr, question: Question<'_>, patience: Patience) -> Result<Answer, Trouble> {
    Connection::open(address, patience)?.ask(question)
}

#[cfg(test)]
mod tests;
