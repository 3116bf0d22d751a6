//! Pacing: how late the generator sends, and what it pays for being punctual.
//!
//! Two rates, each with every way to wait, beside a floor that sleeps. The lag is what Paceline's own record says, and
//! the goals bound its p99; the floor records none. No server's answer times are shown.

use super::{Settings, contender, floor_open, paceline_open};
use crate::plan::{ACHIEVED, CPU_US, Column, Comparison, Contender, Goal, Plan, Sample, ServerSetting};
use crate::tools::Tool;

const CONNECTIONS: u32 = 64;

const LAG_P50: Column =
    Column { heading: "lag us, p50", of: |s| s.extra.get("lag_us_p50").copied(), digits: 1 };
const LAG_P99: Column =
    Column { heading: "lag us, p99", of: |s| s.extra.get("lag_us_p99").copied(), digits: 1 };
const LAG_MAX: Column =
    Column { heading: "lag us, max", of: |s| s.extra.get("lag_us_max").copied(), digits: 0 };
const BUSY: Column = Column { heading: "busy s/s", of: |s| share(s, "busy_s"), digits: 3 };
const SPUN: Column = Column { heading: "spun s/s", of: |s| share(s, "spin_s"), digits: 3 };

fn share(sample: &Sample, seconds: &str) -> Option<f64> {
    Some(sample.extra.get(seconds)? / sample.extra.get("window_s")?)
}

/// Two rates, three ways to wait.
pub fn plan(settings: &Settings) -> Plan {
    let (server, seconds) = (ServerSetting::body(12), settings.seconds);
    let mut contenders = Vec::new();
    for (rate, shown) in [(1_000, "1,000/s"), (20_000, "20,000/s")] {
        let floor = floor_open(CONNECTIONS, rate, seconds);
        contenders.push(contender(&format!("{shown} floor"), Tool::FloorConnected, floor, &server));
        let paced = |name: &str, pace| {
            let command = paceline_open(CONNECTIONS, rate, pace, seconds);
            contender(&format!("{shown} {name}"), Tool::PacelineWindow, command, &server)
        };
        contenders.extend(["sleep", "auto", "spin"].map(|pace| paced(pace, pace)));
        let mut quiet = paced("sleep, quiet CPU", "sleep");
        quiet.command.arguments.push("--quiet-cpu".to_owned());
        contenders.push(Contender { needs_flag: Some("--quiet-cpu"), ..quiet });
    }
    let lag = |of, bound| Comparison { of, to: None, column: LAG_P99, goal: Some(Goal::AtMost(bound)) };
    Plan {
        name: "pacing",
        title: format!("Pacing: constant arrivals over {CONNECTIONS} connections"),
        about: "Generator lag is how much later than due, or than a connection was free, a request was sent. The floor sleeps \
                and records nothing. `auto` sleeps until 50 us before a send is due and then polls, where it has its core to \
                itself. With a quiet CPU (`--quiet-cpu`) no core sleeps so deep that waking takes long. Time spent in polls that found nothing is apart from busy time; CPU time has both.",
        contenders,
        rounds_most: None,
        columns: vec![LAG_P50, LAG_P99, LAG_MAX, BUSY, SPUN, CPU_US, ACHIEVED],
        comparisons: vec![
            lag("1,000/s spin", 5.0),
            lag("20,000/s spin", 5.0),
            lag("1,000/s sleep", 100.0),
            lag("20,000/s sleep", 100.0),
            Comparison { of: "1,000/s sleep", to: Some("1,000/s floor"), column: CPU_US, goal: None },
            Comparison { of: "20,000/s sleep", to: Some("20,000/s floor"), column: CPU_US, goal: None },
        ],
        derive: None,
    }
}
