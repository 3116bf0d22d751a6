//! httperf: `Total: connections N requests N replies N test-duration T s`.
//!
//! It has no closed loop for a given time, only a number of calls on each connection: a run lasts as long as they take.
//! Replies by class of status are read, not its own reply times. `{port}` and `{calls}` are filled in by `speed/`.

use crate::peer::{Peer, PeerLaunch};
use crate::quantity::{count, number};
use crate::report::{PeerReport, PrintedReport};
use paceline_record::Counts;

/// `httperf`: connections made at once, each with its calls in sequence. It polls without sleeping.
pub const HTTPERF: Peer = Peer {
    name: "httperf",
    launch: Some(PeerLaunch {
        arguments: &[
            "--hog",
            "--server",
            "127.0.0.1",
            "--port",
            "{port}",
            "--uri",
            "/",
            "--num-conns",
            "{connections}",
            "--rate",
            "10000",
            "--num-calls",
            "{calls}",
        ],
        required: None,
        version_flag: "--version",
        version_prefix: "httperf-",
        timeout_ns: None,
    }),
    prints: "its report",
    is_first_line: |line| line.starts_with("Total: connections "),
    is_report: |printed| {
        printed.text.contains("Total: connections ") && printed.text.contains("test-duration")
    },
    read,
};

/// The word after `label` in a line of words.
fn word_after<'a>(line: &'a str, label: &str) -> Result<&'a str, String> {
    let rest = line.split_once(label).and_then(|(_, rest)| rest.split_whitespace().next());
    rest.ok_or_else(|| format!("\"{label}\" is missing"))
}

fn read(printed: &PrintedReport<'_>) -> Result<PeerReport, String> {
    let lines = printed.lines();
    let (total, replies) = (lines.rest("Total:")?, lines.rest("Reply status:")?);
    let class = |class: &str| count(word_after(replies, class)?);
    let counts = Counts {
        ok: class("2xx=")?.saturating_add(class("3xx=")?),
        bad_status: class("4xx=")?.saturating_add(class("5xx=")?),
        io_failed: count(word_after(lines.rest("Errors: total")?, "").unwrap_or_default())?,
        ..Counts::default()
    };
    Ok(PeerReport {
        protocol: "http/1.1".to_owned(),
        connections: u32::try_from(count(word_after(total, "connections")?)?).unwrap_or(u32::MAX),
        requests: Some(count(word_after(total, "requests")?)?),
        elapsed_s: Some(number(word_after(total, "test-duration")?)?),
        counts,
        ..PeerReport::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report() {
        let text = "Maximum connect burst length: 18\n\nTotal: connections 64 requests 12800 replies 12800 test-duration 0.813 s\n\n\
             Reply status: 1xx=0 2xx=12700 3xx=60 4xx=30 5xx=10\n\n\
             Errors: total 2 client-timo 0 socket-timo 0 connrefused 2 connreset 0\n";
        let report = read(&PrintedReport::from_output(text)).unwrap();
        let counts = report.counts;
        assert_eq!((counts.ok, counts.bad_status, counts.io_failed), (12_760, 40, 2));
        assert_eq!((report.duration_s(), report.requests), (Some(0.813), Some(12_800)));
    }
}
