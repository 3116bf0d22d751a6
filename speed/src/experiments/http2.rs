//! HTTP/2 at 1, 10 and 100 streams a connection, beside h2load: as fast as it goes, and at a fixed rate.
//!
//! The server is nghttpd, without TLS: the floor server speaks HTTP/1.1 alone. The goal is at the fixed rate. As fast as
//! it goes, a cheaper client waits for the server more often and reads fewer responses at a time, so that CPU time per
//! request says little of the client there.

use super::{Settings, contender, known, paceline_closed, paceline_open};
use crate::plan::{
    ACHIEVED, CPU_US, Command, Comparison, Contender, FAILURES, Goal, Plan, RATE, ServerProgram,
    ServerSetting, USER_US,
};
use crate::tools::Tool;

const CONNECTIONS: u32 = 8;
/// Low enough for nghttpd at one stream on a slow core.
const RATE_PER_S: u32 = 20_000;

/// Rows of one number of streams: Paceline's and h2load's.
const ROWS: [(u32, &str, &str); 3] = [
    (1, "paceline, 1 stream", "h2load, 1 stream"),
    (10, "paceline, 10 streams", "h2load, 10 streams"),
    (100, "paceline, 100 streams", "h2load, 100 streams"),
];

fn server() -> ServerSetting {
    ServerSetting { program: ServerProgram::Nghttpd, ..ServerSetting::body(12) }
}

/// Over HTTP/2 without TLS, with all but unlimited windows.
fn h2load(load: &str) -> Command {
    Command::new("h2load", &format!("-t 1 -c {CONNECTIONS} {load} -w 30 -W 30 {{url}}"))
}

fn contenders(
    tool: Tool,
    paceline: impl Fn(&str) -> Command,
    peer: impl Fn(u32) -> Command,
) -> Vec<Contender> {
    let rows = ROWS.iter().flat_map(|(streams, ours, theirs)| {
        let ours = contender(ours, tool, paceline(&format!("--http 2 --streams {streams}")), &server());
        let theirs = contender(theirs, Tool::Peer(known("h2load")), peer(*streams), &server());
        [Contender { needs_flag: Some("--streams"), ..ours }, theirs]
    });
    rows.collect()
}

fn comparisons(goal: Option<f64>) -> Vec<Comparison> {
    let row = |(_, of, to): &(u32, &'static str, &'static str)| Comparison {
        of,
        to: Some(to),
        column: CPU_US,
        goal: goal.map(Goal::AtMost),
    };
    ROWS.iter().map(row).collect()
}

/// As fast as it goes.
pub fn closed(settings: &Settings) -> Plan {
    let seconds = settings.seconds;
    Plan {
        name: "http2-closed",
        title: format!("HTTP/2, closed loop, {CONNECTIONS} connections, 12-byte body"),
        about: "Cleartext with prior knowledge. Paceline compares each body with the expected one; h2load looks at the status.",
        contenders: contenders(
            Tool::PacelineWhole,
            |more| paceline_closed(CONNECTIONS, more, seconds),
            |streams| h2load(&format!("-m {streams} -D {seconds}")),
        ),
        rounds_most: None,
        columns: vec![CPU_US, USER_US, RATE, FAILURES],
        comparisons: comparisons(None),
        derive: None,
    }
}

/// At a fixed rate.
pub fn at_rate(settings: &Settings) -> Plan {
    let seconds = settings.seconds;
    Plan {
        name: "http2-rate",
        title: format!("HTTP/2 at {RATE_PER_S} requests/s, {CONNECTIONS} connections, 12-byte body"),
        about: "Both send the same number of requests a second, so that CPU time per request compares the clients. h2load \
                sends on each connection at its share of the rate (`--rps`).",
        contenders: contenders(
            Tool::PacelineWindow,
            |more| paceline_open(CONNECTIONS, RATE_PER_S, &format!("sleep {more}"), seconds),
            |streams| h2load(&format!("-m {streams} --rps={} -D {seconds}", RATE_PER_S / CONNECTIONS)),
        ),
        rounds_most: None,
        columns: vec![CPU_US, USER_US, ACHIEVED, FAILURES],
        comparisons: comparisons(Some(0.8)),
        derive: None,
    }
}
