//! The reference server: sends one short answer after a time drawn from a known distribution, and records the true
//! times.
//!
//! `paceline selftest` runs it as a child process on a separate core and compares the times that a run reports with the
//! times between arrival and answer that the server recorded. It polls without sleeping, so that its timers add no
//! delay. It is a test instrument for runs of about 30 s, not a server for production.

mod service;

pub use service::{FREEZE, FREEZE_PERIOD, Service};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use paceline_engine::kernel::KernelClock;
use paceline_engine::{Clock as _, Nanos, Random};
use paceline_record::Times;
use paceline_stats::Histogram;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The response: twelve bytes of body.
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nContent-Type: text/plain\r\n\r\nHello World\n";
/// The body only.
pub const BODY: &[u8] = b"Hello World\n";
/// The end of a request without a body.
const BLANK_LINE: &[u8] = b"\r\n\r\n";
const LISTENER: Token = Token(usize::MAX);
/// How often the end of standard input is checked.
const LOOK: Duration = Duration::from_millis(100);

/// A pending answer.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PendingAnswer {
    at: Nanos,
    arrived: Nanos,
    who: usize,
}

/// The server's state.
struct ReferenceServer {
    poll: Poll,
    listener: TcpListener,
    conversations: Vec<ClientConnection>,
    due: BinaryHeap<Reverse<PendingAnswer>>,
    service: Service,
    random: Random,
    /// The actual times from arrival to answer.
    truth: Histogram,
    /// Whether to poll without sleeping.
    spin: bool,
}

/// Serves on a free port, whose number it prints, until its standard input ends; then prints the actual times as JSON.
pub fn serve(address: SocketAddr, service: Service, seed: u64, spin: bool) -> anyhow::Result<()> {
    let mut listener = TcpListener::bind(address)?;
    let port = listener.local_addr()?.port();
    let poll = Poll::new()?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{port}")?;
    stdout.flush()?;
    static ENDED: AtomicBool = AtomicBool::new(false);
    std::thread::Builder::new().spawn(|| {
        // An error also means that standard input has ended.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        ENDED.store(true, Ordering::Relaxed);
    })?;
    let mut server = ReferenceServer {
        poll,
        listener,
        conversations: Vec::new(),
        due: BinaryHeap::new(),
        service,
        random: Random::new(seed),
        truth: Histogram::new(),
        spin,
    };
    while !ENDED.load(Ordering::Relaxed) {
        server.turn()?;
    }
    writeln!(stdout, "{}", serde_json::to_string(&Times::from_histogram(&server.truth))?)?;
    Ok(())
}

impl ReferenceServer {
    fn turn(&mut self) -> anyhow::Result<()> {
        let mut events = Events::with_capacity(1024);
        let next = self.due.peek().map(|Reverse(due)| due.at.since(KernelClock.now()));
        let pause = pause(next, self.spin);
        if let Err(error) = self.poll.poll(&mut events, Some(pause))
            && error.kind() != io::ErrorKind::Interrupted
        {
            return Err(error.into());
        }
        for event in &events {
            if event.token() == LISTENER { self.accept()? } else { self.read_requests(event.token().0) }
        }
        self.answer_due();
        Ok(())
    }

    fn accept(&mut self) -> anyhow::Result<()> {
        while let Ok((mut stream, _)) = self.listener.accept() {
            stream.set_nodelay(true)?;
            let who = self.conversations.len();
            self.poll.registry().register(&mut stream, Token(who), Interest::READABLE)?;
            self.conversations.push(ClientConnection::new(stream));
        }
        Ok(())
    }

    /// Reads the requests of one client and schedules their answers.
    fn read_requests(&mut self, who: usize) {
        let requests = self.conversations[who].requests();
        let arrived = KernelClock.now();
        for _ in 0..requests {
            let at = self.service.answer_at(arrived, &mut self.random);
            if at <= arrived {
                self.answer(who, arrived);
            } else {
                self.due.push(Reverse(PendingAnswer { at, arrived, who }));
            }
        }
    }

    fn answer_due(&mut self) {
        while let Some(Reverse(due)) = self.due.peek() {
            if due.at > KernelClock.now() {
                return;
            }
            let (who, arrived) = (due.who, due.arrived);
            self.due.pop();
            self.answer(who, arrived);
        }
    }

    fn answer(&mut self, who: usize, arrived: Nanos) {
        self.truth.record(KernelClock.now().since(arrived).0);
        self.conversations[who].write_answer(ANSWER);
    }
}

/// How long to wait for a request: at most until the next answer is due, in whole milliseconds, the resolution of the
/// system's poll.
fn pause(next_answer: Option<Nanos>, spin: bool) -> Duration {
    match next_answer {
        _ if spin => Duration::ZERO,
        Some(next) => Duration::from_millis(next.0 / 1_000_000).min(LOOK),
        None => LOOK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_due_does_not_wait_for_the_next_request() {
        let next = |micros| pause(Some(Nanos::from_micros(micros)), false);
        assert_eq!((next(999), next(2_500)), (Duration::ZERO, Duration::from_millis(2)));
        assert_eq!((next(900_000), pause(None, false)), (LOOK, LOOK));
        assert_eq!(pause(None, true), Duration::ZERO);
    }
}

/// One client: its requests are counted by their blank lines, so that they must have no bodies.
#[derive(Debug)]
struct ClientConnection {
    stream: TcpStream,
    /// Bytes of a blank line matched so far.
    matched: usize,
}

impl ClientConnection {
    fn new(stream: TcpStream) -> Self {
        Self { stream, matched: 0 }
    }

    /// Reads all available bytes; returns the number of requests that they complete.
    fn requests(&mut self) -> usize {
        let (mut buffer, mut requests) = ([0; 16 * 1024], 0);
        while let Ok(count @ 1..) = self.stream.read(&mut buffer) {
            for byte in &buffer[..count] {
                self.matched = if *byte == BLANK_LINE[self.matched] {
                    self.matched + 1
                } else {
                    usize::from(*byte == b'\r')
                };
                if self.matched == BLANK_LINE.len() {
                    requests += 1;
                    self.matched = 0;
                }
            }
        }
        requests
    }

    /// Writes a short answer. If the client's buffer is full, the answer is dropped without waiting.
    fn write_answer(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }
}
