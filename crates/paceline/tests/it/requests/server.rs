//! A server that reads whole requests, with bodies and pipelining, and answers as the test specifies.
//!
//! Used by `mod.rs`, which then checks every recorded request. It assumes valid HTTP; servers with deliberate errors
//! are in `faults/servers.rs`.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request as received.
#[derive(Clone, Debug)]
pub struct Heard {
    /// All its bytes.
    pub bytes: Vec<u8>,
    pub method: String,
    pub path: String,
    pub body: Vec<u8>,
}

/// A server and the requests that it received.
pub struct Server {
    pub address: SocketAddr,
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Server {
    /// Answers each request with a status and a body, which for a redirect is its Location; the threads end with the
    /// test process.
    pub fn start(answer: impl Fn(&Heard) -> (u16, Vec<u8>) + Clone + Send + 'static) -> Self {
        Self::start_with("", answer)
    }

    /// The same, with these lines in the head of each response.
    pub fn start_with(
        fields: &'static str,
        answer: impl Fn(&Heard) -> (u16, Vec<u8>) + Clone + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, kept) = (answer.clone(), Arc::clone(&kept));
                let _ = stream.set_nodelay(true);
                std::thread::spawn(move || converse(stream, fields, &answer, &kept));
            }
        });
        Self { address, heard }
    }

    /// Every request received so far.
    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }
}

fn converse(
    mut stream: TcpStream,
    fields: &str,
    answer: &impl Fn(&Heard) -> (u16, Vec<u8>),
    kept: &Mutex<Vec<Heard>>,
) {
    let mut bytes = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..count]);
        let mut answers = Vec::new();
        while let Some(heard) = first(&bytes) {
            bytes.drain(..heard.bytes.len());
            let (status, mut body) = answer(&heard);
            let location = if (300..400).contains(&status) { std::mem::take(&mut body) } else { Vec::new() };
            let location = match String::from_utf8(location).unwrap() {
                location if location.is_empty() => location,
                location => format!("Location: {location}\r\n"),
            };
            answers.extend_from_slice(
                format!("HTTP/1.1 {status} X\r\n{fields}{location}Content-Length: {}\r\n\r\n", body.len())
                    .as_bytes(),
            );
            if heard.method != "HEAD" {
                answers.extend_from_slice(&body);
            }
            kept.lock().unwrap().push(heard);
        }
        if stream.write_all(&answers).is_err() {
            return;
        }
    }
}

/// The first complete request in the bytes, if any.
fn first(bytes: &[u8]) -> Option<Heard> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).unwrap();
    let mut words = text.split(' ');
    let (method, path) = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
    let lengths: Vec<&str> =
        text.split("\r\n").filter_map(|line| line.strip_prefix("Content-Length: ")).collect();
    assert!(lengths.len() < 2, "{text}");
    let whole = head + lengths.first().map_or(0, |length| length.parse::<usize>().unwrap());
    let body = bytes.get(head..whole)?.to_vec();
    Some(Heard { bytes: bytes[..whole].to_vec(), method, path, body })
}
