//! httperf: `Total: connections N requests N replies N test-duration T s`.
//!
//! It has no closed loop for a given time, only a number of calls on each connection: a run lasts as long as they take.
//! Replies by status are read, not its own rate or reply times. `{port}` and `{calls}` are filled in by `speed/`.

use super::peer::{PeerGenerator, PeerReport, number_after};

/// `httperf`: connections made at once, each with its calls in sequence. It polls without sleeping.
pub const HTTPERF: PeerGenerator = PeerGenerator {
    name: "httperf",
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
    prints: "its report",
    read,
};

fn read(text: &str, _status: u16) -> Option<PeerReport> {
    let replies = |class: &str| number_after(text, class).map(|count| count as u64);
    let ok = replies("2xx=")?.saturating_add(replies("3xx=")?);
    let bad_status = replies("4xx=")?.saturating_add(replies("5xx=")?);
    PeerReport::from_counts(ok, bad_status, replies("Errors: total")?, number_after(text, "test-duration")?)
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
            200,
        )
        .unwrap();
        let counts = report.counts;
        assert_eq!((counts.ok, counts.bad_status, counts.io_failed), (12_760, 40, 2));
        assert_eq!(report.elapsed_s, 0.813);
    }
}
