//! Whether a transport on io_uring would earn its keep: the floor on epoll beside the floor on io_uring.
//!
//! Three shapes of load, each with both closed-loop programs of `speed/floor/`. Paceline takes no part, and no goal is
//! set: the ratio is what a decision rests on. Without liburing the rows on io_uring are left out.

use super::{Settings, contender};
use crate::plan::{CPU_US, Command, Comparison, Contender, Plan, RATE, ServerSetting, USER_US};
use crate::tools::Tool;

/// Connections, requests in flight on each, and what the pair is called.
const SHAPES: [(u32, u32, [&str; 2]); 3] = [
    (64, 1, ["epoll, 64", "io_uring, 64"]),
    (256, 1, ["epoll, 256", "io_uring, 256"]),
    (64, 16, ["epoll, 64 x 16 deep", "io_uring, 64 x 16 deep"]),
];

/// The two floors, alternately.
pub fn plan(settings: &Settings) -> Plan {
    let server = ServerSetting::body(12);
    let rows = |(connections, depth, names): (u32, u32, [&'static str; 2])| {
        ["floor-closed", "floor-uring"]
            .into_iter()
            .zip(names)
            .map(move |(program, name)| (program, name, connections, depth))
    };
    let floor = |(program, name, connections, depth): (&'static str, &'static str, u32, u32)| -> Contender {
        let arguments = format!(
            "--port {{port}} --response-bytes {{response_bytes}} --connections {connections} --depth {depth} --seconds {}",
            settings.seconds
        );
        contender(name, Tool::FloorConnected, Command::new(program, &arguments), &server)
    };
    Plan {
        name: "transport",
        title: "epoll beside io_uring, nothing but the floor, 12-byte body".to_owned(),
        about: "A second transport is to be built only if it earns at least 5 % somewhere that matters. Both programs parse, \
                check and record nothing, so this is the most that io_uring (multishot receives, provided buffers, \
                DEFER_TASKRUN) could gain; beside the work of a real request it gains less. Connecting not counted.",
        contenders: SHAPES.into_iter().flat_map(rows).map(floor).collect(),
        rounds_most: None,
        columns: vec![CPU_US, USER_US, RATE],
        comparisons: SHAPES
            .into_iter()
            .map(|(_, _, [epoll, uring])| Comparison {
                of: uring,
                to: Some(epoll),
                column: CPU_US,
                goal: None,
            })
            .collect(),
        derive: None,
    }
}
