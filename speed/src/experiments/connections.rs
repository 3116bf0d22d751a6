//! 100,000 connections open at once, each used.
//!
//! The goals: all of them had, nothing failed, 15 s for everything, 1 KiB of memory apiece. wrk does not report how many
//! connections it had, so its row has gaps. CPU time is no figure here: `closed` and `open` have it.

use super::{Settings, contender, known, paceline_closed};
use crate::plan::{Column, Command, Comparison, FAILURES, Goal, Plan, RSS_MB, Sample, ServerSetting};
use crate::tools::Tool;

const CONNECTIONS: u32 = 100_000;
/// The floor server's processes: the limit of open files may be 20,000 for each.
const SERVER_PROCESSES: u32 = 8;

const HAD: Column = Column { heading: "connections had", of: |s| extra(s, "connections_had"), digits: 0 };
const REFUSED: Column = Column { heading: "attempts failed", of: |s| extra(s, "failed_attempts"), digits: 0 };
const LEAST_USED: Column = Column { heading: "fewest on one", of: |s| extra(s, "served_min"), digits: 0 };
const CONNECT_S: Column = Column { heading: "connecting s", of: |s| extra(s, "connect_s"), digits: 2 };
const ALL_S: Column = Column { heading: "all s", of: |s| extra(s, "all_s"), digits: 2 };
const REQUESTS: Column = Column { heading: "requests", of: |s| Some(s.requests as f64), digits: 0 };
const KIB_APIECE: Column = Column {
    heading: "KiB apiece",
    of: |s| Some(s.rss_bytes_peak as f64 / 1024.0 / extra(s, "connections_had").filter(|had| *had > 0.0)?),
    digits: 3,
};

fn extra(sample: &Sample, name: &str) -> Option<f64> {
    sample.extra.get(name).copied()
}

/// Paceline as it comes and with several threads; wrk, with as many as its connections are divided by.
pub fn plan(settings: &Settings) -> Plan {
    let server = ServerSetting { processes: SERVER_PROCESSES, ..ServerSetting::body(12) };
    let paceline = |threads: u32| {
        Command::new(
            "paceline",
            &format!(
                "run {{url}} -c {CONNECTIONS} -n {CONNECTIONS} -t {threads} --pace sleep --connect-timeout 60s --timeout 30s \
         --expect-body @{{body}} --format json"
            ),
        )
    };
    let few = paceline_closed(64, "", settings.seconds);
    let wrk = Command::new("wrk", &format!("-t 8 -c {CONNECTIONS} -d 10s {{url}}"));
    let of = |column, goal| Comparison { of: "paceline", to: None, column, goal: Some(goal) };
    Plan {
        name: "connections-100k",
        title: "100,000 connections open at once, each used".to_owned(),
        about: "One request on each connection, all connections open meanwhile; the server is eight processes on one port. \
                The memory is Paceline's whole resident memory, divided by its connections: what a run over 64 needs in all \
                is in it. wrk says nothing of connections it could not make but in its count of socket errors.",
        contenders: vec![
            contender("paceline", Tool::PacelineWhole, paceline(1), &server),
            contender("paceline, 8 threads", Tool::PacelineWhole, paceline(8), &server),
            contender("paceline, 64 connections", Tool::PacelineWhole, few, &server),
            contender("wrk", Tool::Peer(known("wrk")), wrk, &server),
        ],
        rounds_most: None,
        columns: vec![HAD, REFUSED, REQUESTS, FAILURES, LEAST_USED, CONNECT_S, ALL_S, RSS_MB, KIB_APIECE],
        comparisons: vec![
            of(HAD, Goal::AtLeast(f64::from(CONNECTIONS))),
            of(FAILURES, Goal::AtMost(0.0)),
            of(ALL_S, Goal::AtMost(15.0)),
            of(KIB_APIECE, Goal::AtMost(1.0)),
        ],
        derive: None,
    }
}
