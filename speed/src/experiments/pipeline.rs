//! Pipelining 16 deep.
//!
//! Paceline's two ways, topped up one by one or batch after batch, beside the floor and wrk, which know only the
//! second. wrk needs `speed/pipeline.lua` for it. No time of a request is shown: wrk has one for all sixteen.

use super::{Settings, contender, floor_closed, known, paceline_closed};
use crate::plan::{
    CPU_US, Command, Comparison, Contender, FAILURES, Goal, Plan, RATE, ServerSetting, USER_US,
};
use crate::tools::Tool;

const CONNECTIONS: u32 = 64;

/// The floor, Paceline in both of its ways, wrk with a script.
pub fn plan(settings: &Settings) -> Plan {
    let (server, seconds) = (ServerSetting::body(12), settings.seconds);
    let floor = floor_closed(CONNECTIONS, "--depth 16", seconds);
    let topped_up = paceline_closed(CONNECTIONS, "--pipeline 16", seconds);
    let batch = paceline_closed(CONNECTIONS, "--pipeline 16 --pipeline-batch", seconds);
    let script = format!("-t 1 -c {CONNECTIONS} -d {seconds}s -s {{work}}/pipeline.lua {{url}}");
    let in_batches = contender("paceline, batches", Tool::PacelineWhole, batch, &server);
    Plan {
        name: "pipeline",
        title: format!("Pipelining 16 deep, closed loop, {CONNECTIONS} connections, 12-byte body"),
        about: "The floor, wrk and `--pipeline-batch` send 16 requests at once, and the next 16 when all are answered. \
                `--pipeline 16` alone sends the next as soon as one is answered. Paceline times and checks each response by \
                itself; wrk records one time for all 16.",
        contenders: vec![
            contender("floor", Tool::FloorWhole, floor, &server),
            contender("paceline", Tool::PacelineWhole, topped_up, &server),
            Contender { needs_flag: Some("--pipeline-batch"), ..in_batches },
            contender("wrk", Tool::Peer(known("wrk")), Command::new("wrk", &script), &server),
        ],
        rounds_most: None,
        columns: vec![CPU_US, USER_US, RATE, FAILURES],
        comparisons: vec![
            ratio("paceline", "wrk", Some(Goal::AtMost(0.55))),
            ratio("paceline, batches", "wrk", Some(Goal::AtMost(0.55))),
            ratio("paceline", "floor", None),
            ratio("paceline, batches", "floor", None),
        ],
        derive: None,
    }
}

fn ratio(of: &'static str, to: &'static str, goal: Option<Goal>) -> Comparison {
    Comparison { of, to: Some(to), column: CPU_US, goal }
}
