//! Runs the whole binary against servers that misbehave: counts add up, no run hangs, memory stays bounded, and the
//! messages help.
//!
//! The table of all faults is docs/reference/faults.md, which is checked against the results here; `UPDATE=1` regenerates it. A
//! run that the machine delayed is repeated. The engine's `faults.rs` tests many of the faults without the messages.

mod gone;
mod grpc;
mod http2;
pub mod http3;
mod machine;
pub mod quic;
pub mod secure;
pub mod servers;
mod streams;
mod table;
pub mod websocket;

pub use servers::{closed_port, full_backlog};

use crate::noise::{quiet_status, watched};
use serde_json::Value;
use std::io::Read as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PACELINE: &str = env!("CARGO_BIN_EXE_paceline");
/// Far beyond every timeout used here; a run that still runs then hangs.
const HANGS_AFTER: Duration = Duration::from_secs(60);
/// A run of three connections does not need more, whatever the server sends.
const MAX_MEMORY: u64 = 64 << 20;
/// The outcome if the run ends before any request is sent.
const UNMEASURED: &str = "nothing was measured";
/// If the machine delays a thread for this long, timeouts may expire and responses may cross that otherwise would not.
const HELD_UP: Duration = Duration::from_millis(100);
/// Requests of a run.
const REQUESTS: u64 = 12;

/// A way in which a server misbehaves, and the expected result.
pub struct Fault {
    /// The server's behaviour, as the table describes it.
    name: &'static str,
    /// The server.
    serve: fn() -> SocketAddr,
    /// Flags in addition to those of every run here.
    flags: &'static [&'static str],
    /// The outcomes of the requests, one or several; includes [`UNMEASURED`] if there may be no record.
    outcomes: &'static [&'static str],
    /// The possible exit statuses.
    exits: &'static [i32],
    /// A literal part of the report or the error.
    says: &'static str,
}

/// Faults of servers that are requested in the same way.
struct Chapter {
    /// Its heading in the page; empty for the first.
    title: &'static str,
    /// What its runs have in common.
    note: &'static str,
    scheme: &'static str,
    path: &'static str,
    faults: &'static [Fault],
}

/// The result of a run: its exit status, its record if there is one, and everything it printed.
struct Left {
    exit: i32,
    record: Option<Value>,
    printed: String,
}

/// The timeout of a request: short if the run waits until it expires, else one that no busy machine reaches.
fn timeout(fault: &Fault) -> &'static str {
    let is_waited_for = fault.outcomes.iter().any(|name| ["timed_out", UNMEASURED].contains(name));
    if is_waited_for { "300ms" } else { "20s" }
}

fn run(chapter: &Chapter, fault: &Fault) -> Left {
    let url = format!("{}://{}{}", chapter.scheme, (fault.serve)(), chapter.path);
    let mut child = Command::new(PACELINE)
        .args(["run", &url, "-c", "3", "-n", &REQUESTS.to_string(), "-t", "1", "--format", "json"])
        .args(["--timeout", timeout(fault)])
        .args(fault.flags)
        .env("SSL_CERT_FILE", secure::trusted())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + HANGS_AFTER;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("{}: still running after {HANGS_AFTER:?}", fault.name);
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    Left {
        exit: quiet_status(status.code().unwrap_or(-1), &out),
        record: serde_json::from_str(&out).ok(),
        printed: format!("{out}\n{err}"),
    }
}

/// The difference from the table; none if there is none.
fn amiss(fault: &Fault, left: &Left) -> Option<String> {
    let Left { exit, record, printed } = left;
    if let Some(record) = record {
        let counts = record["total"]["counts"].as_object().unwrap();
        let number = |name: &str| counts[name].as_u64().unwrap();
        let ended: u64 = counts.keys().filter(|name| *name != "scheduled").map(|name| number(name)).sum();
        let of_the_kind: u64 =
            fault.outcomes.iter().filter(|name| **name != UNMEASURED).map(|name| number(name)).sum();
        // If connecting may take longer than the timeout, the run may end before all requests are sent.
        let asked = if fault.outcomes.contains(&UNMEASURED) { number("scheduled") } else { REQUESTS };
        if [number("scheduled"), ended, of_the_kind] != [asked; 3] || asked > REQUESTS {
            return Some(format!("{counts:?}"));
        }
        let memory = record["generator"]["rss_bytes_peak"].as_u64().unwrap();
        if memory >= MAX_MEMORY {
            return Some(format!("{memory} bytes"));
        }
    } else if !fault.outcomes.contains(&UNMEASURED) || !printed.contains(UNMEASURED) {
        return Some("no record".to_owned());
    }
    if fault.flags.contains(&"--accept-encoding") && printed.contains("\"name\":\"compressed_unasked\"") {
        return Some("reports what was requested".to_owned());
    }
    if !printed.contains(fault.says) {
        return Some(format!("does not contain {:?}", fault.says));
    }
    (!fault.exits.contains(exit)).then(|| format!("exit {exit}"))
}

/// Whether the machine delayed the run for so long that its timeouts may be caused by the machine.
fn is_disturbed(left: &Left) -> bool {
    let delay_s = |record: &Value| record["generator"]["run_delay_s"].as_f64();
    left.record.as_ref().and_then(delay_s).is_some_and(|delay_s| delay_s > 0.05)
}

/// Whether the error that should prevent the run came after the run had begun, and was reported: in TLS 1.3 a server
/// may refuse a certificate, or the lack of one, after its client considers the handshake complete.
fn is_late(fault: &Fault, left: &Left) -> bool {
    fault.outcomes == [UNMEASURED] && left.record.is_some() && left.printed.contains(fault.says)
}

/// The difference from the table and what the run printed; none if there is no difference.
fn difference(chapter: &Chapter, fault: &Fault) -> Option<String> {
    for tries_left in (0..5).rev() {
        let (left, held_up) = watched(|| run(chapter, fault));
        let what = amiss(fault, &left)?;
        let again = held_up > HELD_UP || is_disturbed(&left) || is_late(fault, &left);
        if tries_left == 0 || !again {
            return Some(format!("{}: {}: {what}\n{}", chapter.title, fault.name, left.printed));
        }
    }
    None
}

#[test]
fn every_fault_has_the_expected_outcome() {
    let mut differences = Vec::new();
    for chapter in table::CHAPTERS {
        // A few at a time: they mostly wait.
        for some in chapter.faults.chunks(6) {
            std::thread::scope(|scope| {
                let runs: Vec<_> =
                    some.iter().map(|fault| scope.spawn(|| difference(chapter, fault))).collect();
                differences.extend(runs.into_iter().filter_map(|run| run.join().unwrap()));
            });
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[test]
fn the_page_of_faults_matches_the_table() {
    let page = table::page();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/faults.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(kept, page, "docs/reference/faults.md differs from the tests: regenerate it with UPDATE=1");
}
