//! More generator threads: do two do twice one thread's work?
//!
//! With four cores or more that is measured and has a goal; with fewer, only what a second thread costs, without one.
//! Paceline stands beside itself: neither the floor nor a peer takes part.

use super::{Settings, contender, paceline_closed};
use crate::plan::{
    ACHIEVED, CPU_US, Comparison, Contender, FAILURES, Goal, Plan, ServerSetting, Side, USER_US,
};
use crate::tools::Tool;

const CONNECTIONS: u32 = 64;

const ON_TWO: &str = "Two cores cannot show two generator threads at full speed beside a server: it needs a core too. \
    What they can show is what a second thread costs. Two threads on *one* core must do one thread's work at one thread's \
    CPU time per request: any lock, shared cache line or extra wake-up would show there. Two threads on both cores, each \
    shared with a server process, must not cost more per request either; then two cores of their own do twice the work, \
    as far as the kernel lets them.";
const ON_MORE: &str =
    "Two server processes on cores 0 and 1; one generator thread on core 2, and two on cores 2 and 3.";

/// What the machine's cores allow.
pub fn plan(settings: &Settings) -> Plan {
    let seconds = settings.seconds;
    let run = |name: &str, threads: u32, cores: Side, server: &ServerSetting| {
        let command = paceline_closed(CONNECTIONS, &format!("-t {threads}"), seconds);
        Contender { cores, ..contender(name, Tool::PacelineWhole, command, server) }
    };
    let plan = Plan {
        name: "threads",
        title: format!("One generator thread and two, closed loop, {CONNECTIONS} connections"),
        about: ON_TWO,
        contenders: Vec::new(),
        rounds_most: None,
        columns: vec![ACHIEVED, CPU_US, USER_US, FAILURES],
        comparisons: Vec::new(),
        derive: None,
    };
    let one = "1 thread";
    let ratio = |of, column, goal| Comparison { of, to: Some(one), column, goal };
    if settings.cores < 4 {
        let beside = ServerSetting::body(12);
        let among = ServerSetting { processes: 2, cores: Side::Both, ..ServerSetting::body(12) };
        let (crowded, both) = ("2 threads on one core", "2 threads on both cores");
        let contenders = vec![
            run(one, 1, Side::Generator, &beside),
            run(crowded, 2, Side::Generator, &beside),
            run(both, 2, Side::Both, &among),
        ];
        let comparisons =
            vec![ratio(crowded, CPU_US, None), ratio(crowded, ACHIEVED, None), ratio(both, CPU_US, None)];
        return Plan { contenders, comparisons, ..plan };
    }
    let server = ServerSetting { processes: 2, cores: Side::These(&[0, 1]), ..ServerSetting::body(12) };
    let two = "2 threads";
    let contenders =
        vec![run(one, 1, Side::These(&[2]), &server), run(two, 2, Side::These(&[2, 3]), &server)];
    let comparisons = vec![ratio(two, ACHIEVED, Some(Goal::AtLeast(1.9))), ratio(two, CPU_US, None)];
    Plan { about: ON_MORE, contenders, comparisons, ..plan }
}
