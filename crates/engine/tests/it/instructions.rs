//! A ceiling on the user instructions of a request, so that nobody makes the hot path heavier unnoticed.
//!
//! Callgrind counts them in this test binary, started again for one ignored test that drives the worker over a
//! transport inside the process: every wake-up finds the answers of all 64 connections, whatever else the machine does.
//! Two runs that differ in their number of requests only are subtracted from each other, which leaves the requests.

use crate::support::{asking, closed_loop};
use paceline_engine::Bound;
use paceline_engine::sim::{echo, response};
use std::process::Command;

/// Counts inside the worker only: not its start, nor what is made of the result.
const INSIDE: &str = "--toggle-collect=*Worker*::run";
/// User instructions of one request, closed loop, checked and recorded, the transport and the overflow checks of this
/// profile included. 1,006 were counted when the ceiling was set, 868 in a
/// release build. Raise it only for something that is worth it.
const INSTRUCTIONS_MOST: u64 = 1_040;
/// Of one request when 16 are pipelined, which share their send and their receive: 168 were counted.
const PIPELINED_MOST: u64 = 180;

/// What is counted: `PACELINE_LOAD` says how many requests, and how many outstanding on a connection.
#[test]
#[ignore = "carried out under callgrind by the tests below"]
fn load() {
    let load = std::env::var("PACELINE_LOAD").unwrap();
    let (requests, depth) = load.split_once(' ').unwrap();
    let mut settings = closed_loop(64, 1).with(|job| {
        job.window = Bound::Requests(requests.parse().unwrap());
        job.depth = depth.parse().unwrap();
    });
    settings.requests = asking(Some(200), Some(b"Hello World\n"));
    let counts = echo(&settings, response("Hello World\n")).unwrap().total.counts;
    assert_eq!(counts.completed_in_window.to_string(), requests);
}

fn instructions(requests: u64, depth: u16) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", INSIDE])
        .arg(std::env::current_exe().unwrap())
        .args(["instructions::load", "--exact", "--ignored"])
        .env("PACELINE_LOAD", format!("{requests} {depth}"))
        .output()
        .expect("valgrind counts the instructions: apt-get install valgrind");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stdout));
    let line = text.lines().find(|line| line.contains("Collected :")).expect("callgrind prints a total");
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

fn per_request(depth: u16) -> u64 {
    let (few, many) = (10_240, 30_720);
    (instructions(many, depth) - instructions(few, depth)) / (many - few)
}

#[test]
fn a_request_costs_no_more_instructions_than_it_did() {
    let count = per_request(1);
    println!("{count} user instructions a request, ceiling {INSTRUCTIONS_MOST}");
    assert!(count <= INSTRUCTIONS_MOST, "{count} user instructions a request, {INSTRUCTIONS_MOST} at most");
}

#[test]
fn a_pipelined_request_costs_no_more_either() {
    let count = per_request(16);
    println!("{count} user instructions a pipelined request, ceiling {PIPELINED_MOST}");
    assert!(count <= PIPELINED_MOST, "{count} user instructions a request, {PIPELINED_MOST} at most");
}
