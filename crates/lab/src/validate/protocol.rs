//! Checks of HTTP itself beyond the workloads: old clients, unknown methods, unknown paths, noise.
//!
//! After each the server must still answer: a crash is a failure, whatever the response.

use super::client::{CheckClient, check, request_for, same, split_interrupt};
use super::{difference, refusal};
use crate::probe::{ProbeError, ProbeRequest, RequestMode};
use paceline_catalogue::{RefusedStatus, WorkloadCase};
use paceline_record::{Check, CheckOutcome};
use paceline_stats::counted;
use std::time::{Duration, Instant};

/// How long a server may take to close a finished connection, or to reject input that it cannot parse.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);
/// A method that no server supports, in valid form.
const UNKNOWN_METHOD: &str = "BREW";
/// The beginning of a TLS handshake: the bytes that a plain server receives when a client uses https.
const NOISE: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 this is no HTTP\r\n\r\n";

/// All checks, with a case that has a right answer and a number that makes a path unknown.
pub(super) fn checks(
    client: &CheckClient<'_>,
    case: &WorkloadCase,
    number: u64,
) -> Result<Vec<Check>, ProbeError> {
    Ok(vec![
        two_in_one_packet(client, case)?,
        old_client(client, case, RequestMode::Http10)?,
        old_client(client, case, RequestMode::Http10KeepAlive)?,
        refusal(client, &format!("/no-such-path-{number}"), RefusedStatus::Exactly(404))?,
        head_has_no_body(client, case)?,
        unknown_method(client, case)?,
        still_serves(client, case, "the unknown method")?,
        noise(client)?,
        still_serves(client, case, "a TLS handshake")?,
    ])
}

/// The first request must be answered right; the second is covered by the trait `pipelining`.
fn two_in_one_packet(client: &CheckClient<'_>, case: &WorkloadCase) -> Result<Check, ProbeError> {
    let two = [request_for(case); 2];
    let first = || client.open()?.ask_first_of(&two);
    let wrong = match split_interrupt(first())? {
        Ok(answer) => difference(&case.expect, &answer).map(|wrong| format!("the first response: {wrong}")),
        Err(error) => Some(format!("the first response: {error}")),
    };
    Ok(same("two requests in one packet", wrong))
}

/// HTTP/1.0 has no chunks, and closes after the answer unless keep-alive was requested: RFC 9112, sections 6.1 and 9.3.
fn old_client(client: &CheckClient<'_>, case: &WorkloadCase, mode: RequestMode) -> Result<Check, ProbeError> {
    let (name, must_close) = match mode {
        RequestMode::Http10KeepAlive => ("HTTP/1.0 with keep-alive requested", false),
        _ => ("HTTP/1.0 without keep-alive", true),
    };
    let talk = || {
        let mut connection = client.open()?;
        let answer = connection.ask(request_for(case).in_mode(mode))?;
        if !must_close {
            return Ok((answer, true));
        }
        let rest = connection.wait_closed(Instant::now() + CLOSE_LIMIT)?;
        Ok((answer, rest.closed_after.is_some()))
    };
    let (answer, ended_well) = match split_interrupt(talk())? {
        Ok(talked) => talked,
        Err(error) => return Ok(same(name, Some(error.to_string()))),
    };
    if let Some(wrong) = difference(&case.expect, &answer) {
        return Ok(same(name, Some(wrong)));
    }
    if answer.header("transfer-encoding").is_some() {
        return Ok(check(
            name,
            CheckOutcome::Warn,
            "the response is chunked, but HTTP/1.0 has no chunked encoding",
        ));
    }
    if !ended_well {
        let detail = format!("the connection is still open {} s after the response", CLOSE_LIMIT.as_secs());
        return Ok(check(name, CheckOutcome::Warn, detail));
    }
    Ok(same(name, None))
}

/// An answer to HEAD has no body, whatever its status: a client would read it as the next answer. Support of HEAD is
/// checked by the trait `head`.
fn head_has_no_body(client: &CheckClient<'_>, case: &WorkloadCase) -> Result<Check, ProbeError> {
    let name = format!("HEAD {} without a body", case.path);
    let talk = || {
        let mut connection = client.open()?;
        let request = ProbeRequest::new("HEAD", &case.path).in_mode(RequestMode::Http11Close);
        let status = connection.ask_loosely(request)?.status;
        Ok((status, connection.wait_closed(Instant::now() + CLOSE_LIMIT)?.bytes.len()))
    };
    Ok(match split_interrupt(talk())? {
        Ok((_, 0)) | Err(ProbeError::Closed(_) | ProbeError::Io(_)) => same(name, None),
        Ok((status, bytes)) => {
            let outcome = if status < 400 { CheckOutcome::Fail } else { CheckOutcome::Warn };
            check(
                name,
                outcome,
                format!(
                    "{} of body follow the headers of a response that must not have a body (status {status})",
                    counted(bytes, "byte", "bytes")
                ),
            )
        }
        Err(error) => same(name, Some(error.to_string())),
    })
}

fn unknown_method(client: &CheckClient<'_>, case: &WorkloadCase) -> Result<Check, ProbeError> {
    let name = format!("{UNKNOWN_METHOD} {}", case.path);
    Ok(match client.ask(ProbeRequest::new(UNKNOWN_METHOD, &case.path))? {
        Ok(answer) if answer.status / 100 == 4 || answer.status == 501 => same(name, None),
        Ok(answer) if answer.status / 100 == 2 => {
            let detail = format!("status {}: the server treats any method as GET", answer.status);
            check(name, CheckOutcome::Warn, detail)
        }
        Ok(answer) => same(name, Some(format!("status {} instead of 4xx or 501", answer.status))),
        Err(ProbeError::Closed(_) | ProbeError::Io(_)) => check(
            name,
            CheckOutcome::Warn,
            "the server closed the connection without a response; expected status 4xx or 501",
        ),
        Err(error) => same(name, Some(format!("{error}; expected status 4xx or 501"))),
    })
}

fn noise(client: &CheckClient<'_>) -> Result<Check, ProbeError> {
    let name = "a TLS handshake instead of a request";
    let talk = || {
        let mut connection = client.open()?;
        connection.send(NOISE)?;
        connection.wait_closed(Instant::now() + CLOSE_LIMIT)
    };
    let rest = match split_interrupt(talk())? {
        Ok(rest) => rest,
        // Closed by the server in the meantime.
        Err(ProbeError::Io(_)) => return Ok(same(name, None)),
        Err(error) => return Ok(same(name, Some(error.to_string()))),
    };
    let said = String::from_utf8_lossy(&rest.bytes).into_owned();
    let status = said.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse::<u16>().ok());
    Ok(match (status, rest.closed_after) {
        // It parsed the bytes as a method or as a version of HTTP (RFC 9110, sections 15.6.2 and 15.6.6).
        (Some(status), _) if status / 100 == 4 || matches!(status, 501 | 505) => same(name, None),
        (Some(status), _) => same(name, Some(format!("status {status} instead of 4xx, 501 or 505"))),
        (None, Some(_)) => same(name, None),
        (None, None) => {
            let detail = format!(
                "the server neither responded nor closed the connection within {} s",
                CLOSE_LIMIT.as_secs()
            );
            check(name, CheckOutcome::Warn, detail)
        }
    })
}

/// Repeats the request after one that may have crashed the server.
pub(super) fn still_serves(
    client: &CheckClient<'_>,
    case: &WorkloadCase,
    after: &str,
) -> Result<Check, ProbeError> {
    let wrong = client.wrong(case, RequestMode::Http11)?;
    Ok(same(format!("{} {} after {after}", case.method, case.path), wrong))
}
