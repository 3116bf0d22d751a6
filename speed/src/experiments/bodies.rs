//! Large bodies: how many bytes a second of CPU takes in, every one compared.
//!
//! Six rows: the floor, Paceline and wrk with bodies of two sizes. Comparing must not make Paceline dearer than wrk,
//! which does not compare: that is the goal. What a request with a short body costs is `closed`'s question.

use super::{Settings, contender, floor_closed, known, paceline_closed, peer_closed};
use crate::plan::{Column, Comparison, FAILURES, Goal, Plan, RATE, RSS_MB, ServerSetting};
use crate::tools::Tool;

const CONNECTIONS: u32 = 64;

/// Bodies of complete responses alone: heads, and what the end of a run cut off, do not count.
const GB_PER_CPU_S: Column = Column {
    heading: "GB/CPU s",
    of: |s| {
        let cpu_s = s.user_s + s.system_s;
        (cpu_s > 0.0).then_some(s.requests as f64 * s.extra.get("body_bytes")? / cpu_s / 1e9)
    },
    digits: 3,
};

/// 64 kB and 1 MB.
pub fn plan(settings: &Settings) -> Plan {
    let (seconds, wrk) = (settings.seconds, known("wrk"));
    let sizes = [
        (65_536, ["64 kB floor", "64 kB paceline", "64 kB wrk"]),
        (1_048_576, ["1 MB floor", "1 MB paceline", "1 MB wrk"]),
    ];
    let mut contenders = Vec::new();
    for (bytes, [floor, paceline, peer]) in sizes {
        let server = ServerSetting::body(bytes);
        contenders.extend([
            contender(floor, Tool::FloorWhole, floor_closed(CONNECTIONS, "", seconds), &server),
            contender(paceline, Tool::PacelineWhole, paceline_closed(CONNECTIONS, "", seconds), &server),
            contender(peer, Tool::Peer(wrk), peer_closed(wrk, CONNECTIONS, seconds), &server),
        ]);
    }
    let ratio = |of, to, goal| Comparison { of, to: Some(to), column: GB_PER_CPU_S, goal };
    Plan {
        name: "bodies",
        title: format!("Bodies of 64 kB and 1 MB, closed loop, {CONNECTIONS} connections"),
        about: "Bytes of whole bodies for each second of CPU time; more is better. Paceline compares every byte with what it \
                should be; the floor and wrk throw them away.",
        contenders,
        rounds_most: None,
        columns: vec![GB_PER_CPU_S, RATE, RSS_MB, FAILURES],
        comparisons: sizes
            .iter()
            .flat_map(|(_, [floor, paceline, peer])| {
                [ratio(paceline, peer, Some(Goal::AtLeast(1.0))), ratio(paceline, floor, None)]
            })
            .collect(),
        derive: None,
    }
}
