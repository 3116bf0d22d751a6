//! httperf: `Total: connections N requests N replies N test-duration T s`.
//!
//! For `peers`, though it has no closed loop for a time: the calls on each connection are set beforehand, and a run is
//! as long as they take. Replies by status are read, not its own rate or reply times.

use super::{Report, number_after};
use crate::plan::Command;

/// So many requests per second it is expected to manage: it knows no closed loop for a time, only so many calls on
/// each connection.
const EXPECTED_PER_S: u32 = 40_000;

/// Connections made at once, each with one call after the other. It polls without sleeping.
pub fn closed(connections: u32, seconds: u32) -> Command {
    let calls = EXPECTED_PER_S * seconds / connections.max(1);
    Command::new(
        "httperf",
        &format!(
            "--hog --server 127.0.0.1 --port {{port}} --uri / --num-conns {connections} --rate 10000 --num-calls {calls}"
        ),
    )
}

/// Reads the report.
pub fn read(output: &str) -> anyhow::Result<Report> {
    let good = number_after(output, "2xx=")? + number_after(output, "3xx=")?;
    let bad = number_after(output, "4xx=")? + number_after(output, "5xx=")?;
    let errors = number_after(output, "Errors: total")?;
    Ok(Report {
        requests: good as u64,
        failures: (bad + errors) as u64,
        wall_s: Some(number_after(output, "test-duration")?),
        ..Report::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report() {
        let report = read(
            "Maximum connect burst length: 18\n\nTotal: connections 64 requests 12800 replies 12800 test-duration 0.813 s\n\n\
             Reply status: 1xx=0 2xx=12700 3xx=60 4xx=30 5xx=10\n\n\
             Errors: total 2 client-timo 0 socket-timo 0 connrefused 2 connreset 0\n",
        )
        .unwrap();
        assert_eq!((report.requests, report.failures, report.wall_s), (12_760, 42, Some(0.813)));
    }
}
