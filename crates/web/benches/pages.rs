//! How long the site's pages take with many trials: `cargo bench -p paceline-web -- [TRIALS] [FOLDER]`.
//!
//! Fills a store with copies of a round kept in `history/` (224 trials each, with their histograms), or opens the one
//! that is in FOLDER already, and asks for each page over loopback as a browser does. "first" has nothing in memory
//! yet; "again" is the middle of nine more. 100,000 trials take 3.5 GB of disk.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use paceline_record::{Round, Trial};
use paceline_store::{Store, archive};
use paceline_web::{Library, LiveFeed, WebServer};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

const ROUND_DIR: &str = "../../history/archive/frameworks-2026-11-22";

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let trials: usize = arguments.next().map_or(10_000, |count| count.parse().unwrap());
    let own = tempfile::tempdir().unwrap();
    let folder = arguments.next().map_or_else(|| own.path().to_owned(), Into::into);
    let place = folder.join(format!("pages-{trials}.sqlite"));
    if !place.exists() {
        fill(&place, trials);
    }
    let begun = Instant::now();
    let store = Store::open_existing(&place).unwrap();
    println!("{trials} trials, {} MB", place.metadata().unwrap().len() / 1_000_000);
    println!("{:<22} {:>9.1} ms", "open the store", ms(begun.elapsed()));
    let address = serve(Library::of_store(store));
    let get = |path: &str| {
        let begun = Instant::now();
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).unwrap();
        assert!(response.starts_with(b"HTTP/1.1 200"), "{path}: {}", String::from_utf8_lossy(&response));
        (begun.elapsed(), response.len())
    };
    let id = |round: usize| format!("pages-{round:05}");
    let last = trials.div_ceil(kept().1.len()) - 1;
    let trial = format!("{}-t0", id(0));
    for (name, path) in [
        ("list of rounds", "/api/index".to_owned()),
        ("round", format!("/api/rounds/{}", id(0))),
        ("another round", format!("/api/rounds/{}", id(last / 2))),
        ("run", format!("/api/rounds/{}/runs/{trial}", id(0))),
        ("compare", format!("/api/compare?a={}&b={}", id(0), id(last))),
        ("record of a run", format!("/api/rounds/{}/runs/{trial}/record.json", id(0))),
    ] {
        let (first, bytes) = get(&path);
        let mut again: Vec<Duration> = (0..9).map(|_| get(&path).0).collect();
        again.sort();
        println!(
            "{name:<22} {:>9.1} ms first {:>9.1} ms again {:>8} kB",
            ms(first),
            ms(again[4]),
            bytes / 1_000
        );
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A round of `history/`.
fn kept() -> (Round, Vec<Trial>) {
    archive::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(ROUND_DIR)).unwrap()
}

/// Fills a new store with copies of a round.
fn fill(place: &Path, count: usize) {
    let begun = Instant::now();
    let store = Store::open(place).unwrap();
    let (round, trials) = kept();
    for (copy, from) in (0..count).step_by(trials.len()).enumerate() {
        let id = format!("pages-{copy:05}");
        let started_at = format!("2026-{:02}-{:02}T00:00:00.000Z", copy / 28 % 12 + 1, copy % 28 + 1);
        let copies: Vec<Trial> = (0..)
            .zip(trials.iter().take(count - from))
            .map(|(place, trial)| Trial { id: format!("{id}-t{place}"), round: id.clone(), ..trial.clone() })
            .collect();
        store.put_whole(&Round { id, started_at, ..round.clone() }, &copies, false).unwrap();
    }
    println!("{:<22} {:>9.1} s", "filled in", begun.elapsed().as_secs_f64());
}

/// Serves the pages of a library on loopback until the process ends: the address.
fn serve(library: Library) -> String {
    let server =
        WebServer::bind("127.0.0.1:0".parse().unwrap(), Vec::new(), library, LiveFeed::default()).unwrap();
    let url = server.url();
    std::thread::spawn(move || server.serve());
    url.trim_start_matches("http://").trim_end_matches('/').to_owned()
}
