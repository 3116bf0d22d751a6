//! The floor clients of `speed/floor/`: one object of JSON.
//!
//! The closed loop on epoll or io_uring and the open loop print the same keys. They never report a failure: they count
//! bytes and cannot recognise a wrong answer. How they are asked is in `experiments`, where their flags are chosen.

use super::Report;
use anyhow::Context as _;

#[derive(serde::Deserialize)]
struct Printed {
    requests: u64,
    achieved_per_s: f64,
    wall_s: f64,
    user_s: f64,
    system_s: f64,
}

/// What was done, and CPU time by wait4: connecting included, as for every other closed loop.
pub fn read_whole(output: &str) -> anyhow::Result<Report> {
    Ok(Report { cpu_s: None, ..read_connected(output)? })
}

/// What was done, and CPU time from when the connections were there.
pub fn read_connected(output: &str) -> anyhow::Result<Report> {
    let printed: Printed = serde_json::from_str(output).context("not the floor's JSON")?;
    Ok(Report {
        requests: printed.requests,
        wall_s: Some(printed.wall_s),
        cpu_s: Some((printed.user_s, printed.system_s)),
        extra: [("achieved_per_s", printed.achieved_per_s)].into(),
        ..Report::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str =
        r#"{"requests":52470,"achieved_per_s":34710.060,"wall_s":1.511669,"user_s":0.1,"system_s":0.409015}"#;

    #[test]
    fn connecting_counts_or_not() {
        let connected = read_connected(PRINTED).unwrap();
        assert_eq!((connected.requests, connected.failures), (52470, 0));
        assert_eq!(connected.cpu_s, Some((0.1, 0.409015)));
        assert_eq!(connected.extra["achieved_per_s"], 34710.06);
        let whole = read_whole(PRINTED).unwrap();
        assert_eq!((whole.cpu_s, whole.wall_s), (None, Some(1.511669)));
    }
}
