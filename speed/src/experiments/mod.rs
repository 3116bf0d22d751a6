//! The experiments, each a plan: one question about Paceline's speed, with what it is held against.
//!
//! A new one is a file here and a line in [`all`].

mod bodies;
mod closed;
mod connections;
mod freeze;
mod http2;
mod open;
mod pacing;
mod peers;
mod pipeline;
mod threads;
mod transport;

use crate::plan::{Command, Contender, Plan, ServerSetting, Side};
use crate::tools::Tool;
use paceline_lab::peers::{Peer, peer};

/// Requests per second that `httperf` is expected to manage: it knows no closed loop for a time, only so many calls on
/// each connection.
const CALLS_PER_S: u32 = 40_000;

/// What a person may set.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Length of one run.
    pub seconds: u32,
    /// Length of one run against the freezing server.
    pub freeze_seconds: u32,
    /// Cores of the machine.
    pub cores: usize,
}

/// Every experiment, in the page's order.
pub fn all(settings: &Settings) -> Vec<Plan> {
    vec![
        closed::plan("closed-64", 64, settings),
        closed::plan("closed-256", 256, settings),
        peers::plan(settings),
        open::plan(settings),
        pacing::plan(settings),
        bodies::plan(settings),
        pipeline::plan(settings),
        http2::closed(settings),
        http2::at_rate(settings),
        transport::plan(settings),
        threads::plan(settings),
        connections::plan(settings),
        freeze::plan(settings),
    ]
}

/// A contender on the generator's core.
fn contender(name: &str, tool: Tool, command: Command, server: &ServerSetting) -> Contender {
    Contender {
        name: name.to_owned(),
        tool,
        command,
        server: server.clone(),
        cores: Side::Generator,
        needs_flag: None,
    }
}

/// A peer of the lab's list.
fn known(name: &'static str) -> &'static Peer {
    peer(name).unwrap_or_else(|| panic!("the lab knows no peer `{name}`"))
}

/// A peer in the closed loop that its entry describes, with one thread.
fn peer_closed(peer: &Peer, connections: u32, seconds: u32) -> Command {
    let values = [
        ("{connections}", connections.to_string()),
        ("{duration_s}", seconds.to_string()),
        ("{threads}", "1".to_owned()),
        ("{calls}", (CALLS_PER_S * seconds / connections.max(1)).to_string()),
    ];
    let fill =
        |word: &&str| values.iter().fold((*word).to_owned(), |word, (name, value)| word.replace(name, value));
    Command {
        program: peer.name,
        arguments: peer.arguments.iter().map(fill).collect(),
        environment: Vec::new(),
    }
}

/// The bare epoll loop.
fn floor_closed(connections: u32, more: &str, seconds: u32) -> Command {
    let arguments = format!(
        "--port {{port}} --response-bytes {{response_bytes}} --connections {connections} --seconds {seconds} {more}"
    );
    Command::new("floor-closed", &arguments)
}

/// The bare open loop.
fn floor_open(connections: u32, rate: u32, seconds: u32) -> Command {
    let arguments = format!(
        "--port {{port}} --response-bytes {{response_bytes}} --connections {connections} --rate {rate} --seconds {seconds}"
    );
    Command::new("floor-open", &arguments)
}

/// Paceline in a closed loop, every response compared byte for byte. Without a warm-up, so that every request is of the
/// window and all CPU time is a request's.
fn paceline_closed(connections: u32, more: &str, seconds: u32) -> Command {
    let arguments = format!(
        "run {{url}} -c {connections} -d {seconds}s --warmup 0s --expect-body @{{body}} --format json {more}"
    );
    Command::new("paceline", &arguments)
}

/// Paceline in an open loop, every response compared byte for byte.
fn paceline_open(connections: u32, rate: u32, pace: &str, seconds: u32) -> Command {
    let arguments = format!(
        "run {{url}} -c {connections} -r {rate} -d {seconds}s --warmup 1s --pace {pace} --expect-body @{{body}} --format json"
    );
    Command::new("paceline", &arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn plans_hang_together() {
        for cores in [2, 8] {
            let plans = all(&Settings { seconds: 1, freeze_seconds: 10, cores });
            let names: BTreeSet<&str> = plans.iter().map(|plan| plan.name).collect();
            assert_eq!(names.len(), plans.len());
            for plan in &plans {
                let rows: BTreeSet<&str> = plan.contenders.iter().map(|c| c.name.as_str()).collect();
                assert_eq!(rows.len(), plan.contenders.len(), "{}: two rows of one name", plan.name);
                for comparison in &plan.comparisons {
                    assert!(rows.contains(comparison.of), "{}: {}", plan.name, comparison.of);
                    assert!(comparison.to.is_none_or(|to| rows.contains(to)), "{}", plan.name);
                }
            }
        }
    }
}
