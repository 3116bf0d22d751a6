//! Limits the user instructions of a request, so that a heavier hot path is noticed.
//!
//! Callgrind counts them in this test binary, started again for one ignored test that drives the worker over a
//! transport inside the process: every wake-up finds the responses of all 64 connections, independent of the load of
//! the machine. Two loads that differ only in their number of requests are subtracted from each other, which leaves the
//! cost of the requests. Each load has a thread, because callgrind counts threads separately and starts slowly.

use crate::support::{asking, closed_loop};
use paceline_engine::sim::{FrameOrder, echo, response};
use paceline_engine::{Bound, Requests};
use paceline_http::h2::{HpackEncoder, Indexing, write_data, write_field_block};
use paceline_http::{LineFiles, Request, Scheme, Url};
use paceline_job::Protocol;
use std::process::Command;
use std::sync::{Arc, Barrier};

/// Counts inside the worker only: not its start, nor the processing of its result.
const INSIDE: &str = "--toggle-collect=*Worker*::run";
/// User instructions of one request, closed loop, checked and recorded, including the transport and the overflow checks
/// of this profile. 1,006 were counted when the limit was set, 868 in a release build. Raise it only for a good reason.
const MAX_INSTRUCTIONS: u64 = 1_040;
/// For one request when 16 are pipelined, which share their send and their receive: 168 were counted.
const MAX_PIPELINED: u64 = 180;

/// Over HTTP/2, with 1, 10 and 100 streams on each connection, which share their send and their receive; about 280 are
/// in the transport. The field block is nginx's: it inserts its fields into the header table with every response.
/// nginx sends one response after the other: 1,517, 639 and 543 were counted. nghttpd sends the HEADERS of all streams
/// before their DATA: 1,610, 907 and 797. node ends a stream with an empty frame: 2,440, 1,427 and 1,392.
const MAX_HTTP2: [(&str, [(u16, u64); 3]); 3] = [
    ("h2", [(1, 1_580), (10, 675), (100, 575)]),
    ("h2 by frame", [(1, 1_680), (10, 920), (100, 805)]),
    ("h2 with an empty frame", [(1, 2_490), (10, 1_450), (100, 1_415)]),
];

/// A load to count: requests, the number outstanding on a connection, and the protocol.
type Load = (u64, u16, &'static str);

/// Carries out the loads of `PACELINE_LOADS`, one in each thread. No thread ends before all have finished: callgrind
/// would count the next one with it.
#[test]
#[ignore = "carried out under callgrind by the tests below"]
fn loads() {
    let loads = std::env::var("PACELINE_LOADS").unwrap();
    let loads: Vec<_> = loads.split(';').map(str::to_owned).collect();
    let all_finished = Arc::new(Barrier::new(loads.len()));
    let threads: Vec<_> = loads
        .into_iter()
        .map(|load| {
            let all_finished = Arc::clone(&all_finished);
            std::thread::spawn(move || {
                let requests = carry_out(&load);
                all_finished.wait();
                assert_eq!(requests, load.split(' ').next().unwrap());
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Carries out one load, and returns the number of completed requests.
fn carry_out(load: &str) -> String {
    let [requests, depth, protocol] = load.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
    let mut settings = closed_loop(64, 1).with(|job| {
        job.window = Bound::Requests(requests.parse().unwrap());
        job.depth = depth.parse().unwrap();
    });
    let check = (Some(200), Some(&b"Hello World\n"[..]));
    settings.requests = asking(check.0, check.1);
    let mut answer = response("Hello World\n");
    let mut order = FrameOrder::ByResponse;
    if let Some(form) = protocol.strip_prefix("h2") {
        settings.job.protocol = Protocol::Http2;
        let get = Request::get(&Url::parse("http://a/").unwrap());
        let http2 = get.compile_http2(Scheme::Http, &LineFiles::default()).unwrap();
        settings.requests = Arc::new(Requests::clone(&settings.requests).with_http2(vec![http2]));
        answer = http2_response(form == " with an empty frame").into();
        if form == " by frame" {
            order = FrameOrder::ByFrame;
        }
    }
    let outcome = echo(&settings, answer, order).unwrap();
    outcome.total.counts.completed_in_window.to_string()
}

/// The response of nginx, on stream 0; or with the end of the stream in an empty frame, as node sends it.
fn http2_response(ends_empty: bool) -> Vec<u8> {
    let (mut block, mut encoder) = (Vec::new(), HpackEncoder::default());
    encoder.field(b":status", b"200", Indexing::Omit, &mut block);
    for (name, value) in [
        ("server", "nginx/1.22.1"),
        ("date", "Sun, 22 Nov 2026 12:00:00 GMT"),
        ("content-type", "text/plain"),
        ("content-length", "12"),
    ] {
        encoder.field(name.as_bytes(), value.as_bytes(), Indexing::Insert, &mut block);
    }
    let mut frames = Vec::new();
    write_field_block(&mut frames, 0, &block, false);
    write_data(&mut frames, 0, b"Hello World\n", !ends_empty);
    if ends_empty {
        write_data(&mut frames, 0, b"", true);
    }
    frames
}

/// The user instructions of each load.
fn instructions(loads: &[Load]) -> Vec<u64> {
    let folder = tempfile::tempdir().unwrap();
    let text_of = |(requests, depth, protocol): &Load| format!("{requests} {depth} {protocol}");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--separate-threads=yes", INSIDE])
        .arg(format!("--callgrind-out-file={}/counts", folder.path().display()))
        .arg(std::env::current_exe().unwrap())
        .args(["instructions::loads", "--exact", "--ignored"])
        .env("PACELINE_LOADS", loads.iter().map(text_of).collect::<Vec<_>>().join(";"))
        .output()
        .expect("valgrind counts the instructions: apt-get install valgrind");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stdout));
    // A file for each thread, in the order of their starts; those of the test harness have counted nothing.
    let mut files: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let totals = files.iter().filter_map(|file| {
        let counts = std::fs::read_to_string(file).unwrap();
        let total = counts.lines().find_map(|line| line.strip_prefix("totals: "))?;
        Some(total.parse().unwrap()).filter(|total| *total > 0)
    });
    let totals: Vec<u64> = totals.collect();
    assert_eq!(totals.len(), loads.len(), "{INSIDE} matches no function, or files are missing: {files:?}");
    for (total, (requests, ..)) in totals.iter().zip(loads) {
        assert!(total > requests, "{total} instructions for {requests} requests");
    }
    totals
}

/// The user instructions of a request, for each number outstanding and protocol.
fn per_request(of: &[(u16, &'static str)]) -> Vec<u64> {
    let (few, many) = (12_800, 38_400);
    let loads: Vec<_> = of
        .iter()
        .flat_map(|(depth, protocol)| [few, many].map(|requests| (requests, *depth, *protocol)))
        .collect();
    instructions(&loads).chunks(2).map(|pair| (pair[1] - pair[0]) / (many - few)).collect()
}

#[test]
fn a_request_costs_no_more_instructions_than_before() {
    let count = per_request(&[(1, "h1")])[0];
    println!("{count} user instructions a request, ceiling {MAX_INSTRUCTIONS}");
    assert!(count <= MAX_INSTRUCTIONS, "{count} user instructions a request, {MAX_INSTRUCTIONS} at most");
}

#[test]
fn a_pipelined_request_costs_no_more_either() {
    let count = per_request(&[(16, "h1")])[0];
    println!("{count} user instructions a pipelined request, ceiling {MAX_PIPELINED}");
    assert!(count <= MAX_PIPELINED, "{count} user instructions a request, {MAX_PIPELINED} at most");
}

#[test]
fn a_request_over_http2_costs_no_more_either() {
    let ceilings =
        MAX_HTTP2.iter().flat_map(|(form, ceilings)| ceilings.map(|(streams, most)| (*form, streams, most)));
    let of: Vec<_> = ceilings.clone().map(|(form, streams, _)| (streams, form)).collect();
    for ((form, streams, most), count) in ceilings.zip(per_request(&of)) {
        println!("{form}: {count} user instructions a request at {streams} streams, ceiling {most}");
        assert!(count <= most, "{form}: {count} user instructions at {streams} streams, {most} at most");
    }
}
