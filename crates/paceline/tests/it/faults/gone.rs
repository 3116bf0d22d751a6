//! Servers that are gone for a part of a run: they end, come back, freeze, or one of two backends ends.
//!
//! A server answers a number of requests before, so that the moment does not depend on the machine's speed.

use super::servers::{OK, read_request, reset};
use crate::noise::within_five_tries;
use crate::reference::PACELINE;
use serde_json::Value;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Responses before the fault.
const ANSWERS: usize = 60;

/// What happens to the server.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// It closes its port and resets all connections.
    Ends,
    /// The same, and it listens again after this time.
    Returns(Duration),
    /// It keeps its connections and answers nothing.
    Freezes,
    /// Every second connection gets no response.
    LosesBackend,
}

struct Server {
    fate: Fate,
    address: SocketAddr,
    answers: AtomicUsize,
    is_back: AtomicBool,
}

impl Server {
    fn start(fate: Fate) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server =
            Arc::new(Self { fate, address, answers: AtomicUsize::new(0), is_back: AtomicBool::new(false) });
        std::thread::spawn(move || {
            server.listen(listener);
            let Fate::Returns(after) = fate else { return };
            std::thread::sleep(after);
            server.is_back.store(true, Ordering::SeqCst);
            server.listen(TcpListener::bind(address).unwrap());
        });
        address
    }

    /// Accepts connections until the server is gone; the port is closed then.
    fn listen(self: &Arc<Self>, listener: TcpListener) {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            if self.is_gone() {
                return;
            }
            let server = Arc::clone(self);
            std::thread::spawn(move || server.answer(stream, number));
        }
    }

    fn is_over(&self) -> bool {
        self.answers.load(Ordering::SeqCst) >= ANSWERS && !self.is_back.load(Ordering::SeqCst)
    }

    fn is_gone(&self) -> bool {
        self.is_over() && matches!(self.fate, Fate::Ends | Fate::Returns(_))
    }

    fn answer(&self, mut stream: TcpStream, number: usize) {
        while read_request(&mut stream) {
            let is_frozen = match self.fate {
                Fate::Ends | Fate::Returns(_) => false,
                Fate::Freezes => self.is_over(),
                Fate::LosesBackend => self.is_over() && number.is_multiple_of(2),
            };
            if self.is_gone() {
                return reset(&stream);
            }
            if is_frozen {
                continue;
            }
            if stream.write_all(OK).is_err() {
                return;
            }
            let answers = self.answers.fetch_add(1, Ordering::SeqCst) + 1;
            if answers == ANSWERS && self.is_gone() {
                // Wakes the thread that accepts connections.
                drop(TcpStream::connect(self.address));
            }
        }
    }
}

/// The verdicts of a run, and its exit status.
fn verdicts(fate: Fate, flags: &[&str]) -> (Vec<String>, Option<i32>, String) {
    let url = format!("http://{}/", Server::start(fate));
    let output = Command::new(PACELINE)
        .args(["run", &url, "-c", "4", "--timeout", "1500ms", "--format", "json"])
        .args(flags)
        .output()
        .unwrap();
    let record: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let verdicts = record["verdicts"].as_array().unwrap();
    let names = verdicts.iter().map(|verdict| verdict["name"].as_str().unwrap().to_owned());
    (names.collect(), output.status.code(), record["verdicts"].to_string())
}

fn check(fate: Fate, flags: &[&str], expected: &str) {
    within_five_tries(|| {
        let (names, exit, all) = verdicts(fate, flags);
        let is_other = |name: &String| matches!(name.as_str(), "outage" | "saturated" | "gave_up");
        match names.iter().any(|name| name == expected) && !names.iter().any(is_other) && exit == Some(1) {
            true => Ok(()),
            false => Err(format!("{flags:?}, exit {exit:?}: {all}")),
        }
    });
}

#[test]
fn a_server_that_ends_stopped_answering() {
    let slo = ["-d", "3s", "--warmup", "0s", "--slo", "service.p99<10s", "--max-errors", "20%"];
    check(Fate::Ends, &slo, "stopped_answering");
    check(Fate::Ends, &["-d", "3s", "--warmup", "0s", "-r", "400"], "stopped_answering");
    check(Fate::Ends, &["-n", "100000"], "stopped_answering");
}

#[test]
fn a_server_that_comes_back_stopped_answering() {
    let returns = Fate::Returns(Duration::from_millis(900));
    check(returns, &["-d", "3s", "--warmup", "0s"], "stopped_answering");
    check(returns, &["-d", "3s", "--warmup", "0s", "-r", "400"], "stopped_answering");
}

#[test]
fn a_server_that_freezes_stopped_answering() {
    check(Fate::Freezes, &["-d", "3s", "--warmup", "0s"], "stopped_answering");
}

#[test]
fn a_lost_backend_holds_its_connections() {
    check(Fate::LosesBackend, &["-d", "3s", "--warmup", "0s"], "held_connections");
}
