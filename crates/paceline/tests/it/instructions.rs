//! A ceiling on the user instructions of a request, so that nobody makes the hot path heavier unnoticed.
//!
//! Instructions are counted by valgrind's callgrind: unlike times they are the same on a busy machine. Two runs that
//! differ in their number of requests only are subtracted from each other, which leaves the requests.

use crate::reference::{PACELINE, Server};
use std::process::Command;

/// Counts inside the worker only: not its start, nor what is made of the result.
const INSIDE: &str = "--toggle-collect=*Worker*::run";
/// User instructions of one request, closed loop, checked and recorded. 1,079 were counted when the ceiling was set, in
/// this profile, whose overflow checks are part of it; the rest is room for a busy machine, where fewer requests share
/// a turn of the loop. Raise it only for something that is worth it.
const INSTRUCTIONS_MOST: u64 = 1_400;
/// Of one request when 16 are pipelined, which share their system calls: 234 were counted.
const PIPELINED_MOST: u64 = 350;

fn instructions(server: &Server, requests: u64, more: &[&str]) -> u64 {
    let url = server.url();
    let requests = requests.to_string();
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", INSIDE, PACELINE, "run", &url])
        .args(["-c", "64", "-n", &requests, "--expect-body", "Hello World\n", "--timeout", "60s"])
        .args(more)
        .output()
        .expect("valgrind counts the instructions: apt-get install valgrind");
    let text = String::from_utf8_lossy(&output.stderr);
    // 1: on a busy machine the run says that it is not to be trusted; its instructions are.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{text}");
    let line =
        text.lines().find(|line| line.contains("Collected :")).expect("callgrind says what it collected");
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

fn per_request(more: &[&str]) -> u64 {
    let server = Server::start("immediate");
    let (few, many) = (4_000, 24_000);
    (instructions(&server, many, more) - instructions(&server, few, more)) / (many - few)
}

#[test]
fn a_request_costs_no_more_instructions_than_it_did() {
    let count = per_request(&[]);
    println!("{count} user instructions a request, ceiling {INSTRUCTIONS_MOST}");
    assert!(count <= INSTRUCTIONS_MOST, "{count} user instructions a request, {INSTRUCTIONS_MOST} at most");
}

#[test]
fn nor_does_a_pipelined_one() {
    let count = per_request(&["--pipeline", "16"]);
    println!("{count} user instructions a pipelined request, ceiling {PIPELINED_MOST}");
    assert!(count <= PIPELINED_MOST, "{count} user instructions a request, {PIPELINED_MOST} at most");
}
