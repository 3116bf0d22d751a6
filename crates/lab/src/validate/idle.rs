//! Checks how a server treats an idle connection after an answer: closed after a time, closed with 408, or kept.
//!
//! Each of these is valid; the errors are to keep it and then not answer, or to send unsolicited bytes. The wait is
//! bounded: a server may keep a connection for minutes, and then the check reports only that.

use super::client::{CheckClient, check, request_for, same, split_interrupt};
use super::difference;
use crate::probe::{Answer, CloseResult, ProbeError};
use paceline_catalogue::WorkloadCase;
use paceline_record::{Check, CheckOutcome};
use paceline_stats::duration_text;
use std::time::{Duration, Instant};

/// How long a server may take to close after an answer with `Connection: close`.
const LAST_LIMIT: Duration = Duration::from_secs(2);

/// The result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Idle {
    /// The check.
    pub check: Check,
    /// The result in a few words: `closed after 5.0 s`.
    pub summary: String,
}

/// Sends a request, waits at most `limit`, and sends another if the connection is still open.
pub(super) fn wait(
    client: &CheckClient<'_>,
    case: &WorkloadCase,
    limit: Duration,
) -> Result<Idle, ProbeError> {
    let name = "idle connection";
    Ok(match split_interrupt(seen(client, case, limit))? {
        Ok((outcome, summary)) => Idle { check: check(name, outcome, &summary), summary },
        Err(error) => Idle { check: same(name, Some(error.to_string())), summary: "broke".into() },
    })
}

fn seen(
    client: &CheckClient<'_>,
    case: &WorkloadCase,
    limit: Duration,
) -> Result<(CheckOutcome, String), ProbeError> {
    let mut connection = client.open()?;
    let first = connection.ask(request_for(case))?;
    if !first.keeps_alive {
        let rest = connection.wait_closed(Instant::now() + LAST_LIMIT)?;
        return Ok(after_the_last(&rest));
    }
    let rest = connection.wait_closed(Instant::now() + limit)?;
    if !rest.bytes.is_empty() || rest.closed_after.is_some() {
        return Ok(after_silence(&rest));
    }
    connection.set_deadline(client.deadline());
    let again: Result<Answer, ProbeError> = connection.ask(request_for(case));
    let wrong = split_interrupt(again)?
        .map_or_else(|error| Some(error.to_string()), |answer| difference(&case.expect, &answer));
    let kept = format!("kept open for {}", duration_text(limit));
    Ok(match wrong {
        None => (CheckOutcome::Pass, kept),
        Some(wrong) => (CheckOutcome::Fail, format!("{kept}, but the next request failed: {wrong}")),
    })
}

fn after_the_last(rest: &CloseResult) -> (CheckOutcome, String) {
    match rest.closed_after {
        Some(_) => (CheckOutcome::Pass, "closed after each response".into()),
        None => (
            CheckOutcome::Warn,
            format!(
                "the server sent `Connection: close`, but had not closed the connection after {}",
                duration_text(LAST_LIMIT)
            ),
        ),
    }
}

fn after_silence(rest: &CloseResult) -> (CheckOutcome, String) {
    let said = String::from_utf8_lossy(&rest.bytes[..rest.bytes.len().min(40)]).into_owned();
    let is_timeout = said.strip_prefix("HTTP/1.").is_some_and(|rest| rest.get(2..5) == Some("408"));
    let after = rest.closed_after.map_or_else(String::new, |time| format!(" after {}", duration_text(time)));
    match (rest.bytes.is_empty(), is_timeout) {
        (true, _) => (CheckOutcome::Pass, format!("closed{after}")),
        (false, true) => (CheckOutcome::Pass, format!("status 408{after}")),
        (false, false) => {
            let detail = format!("{} unsolicited bytes{after}: {said:?}", rest.bytes.len());
            (CheckOutcome::Fail, detail)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handling_of_idle_connections_is_reported() {
        let rest = |bytes: &str, ms: Option<u64>| CloseResult {
            bytes: bytes.as_bytes().to_vec(),
            closed_after: ms.map(Duration::from_millis),
        };
        let table = [
            (rest("", Some(5_020)), CheckOutcome::Pass, "closed after 5.0 s"),
            (
                rest("HTTP/1.1 408 Request Timeout\r\n\r\n", Some(3_000)),
                CheckOutcome::Pass,
                "status 408 after 3.0 s",
            ),
            (rest("bye", Some(100)), CheckOutcome::Fail, "3 unsolicited bytes after 0.1 s: \"bye\""),
            (rest("HTTP/1.1 200 OK\r\n", None), CheckOutcome::Fail, "17 unsolicited bytes: "),
        ];
        for (rest, outcome, text) in table {
            let (is, said) = after_silence(&rest);
            assert!(is == outcome && said.starts_with(text), "{said}");
        }
    }
}
