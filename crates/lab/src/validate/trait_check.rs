//! Tests a trait on a running server, and compares the result with the manifest.
//!
//! A disagreement says which line of the manifest to change. The caller decides its severity: a warning before a load,
//! a failure in `lab check`.

use super::client::{CheckClient, CheckedServer, check, request_for, split_interrupt};
use super::difference::difference;
use crate::case_request::{CaseRequest, ValidatedBodies};
use crate::probe::{self, ProbeError, ProbeRequest, RequestMode};
use paceline_catalogue::{Trait, Traits, Workload, WorkloadCase};
use paceline_record::{Check, CheckOutcome, WorkloadProtocol};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The pause between two bytes of a request that is sent byte by byte: long enough for an idle server to read each
/// separately; the whole request takes a tenth of a second.
const BYTE_PAUSE: Duration = Duration::from_millis(1);

/// The result of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TraitCheck {
    /// The server supports it.
    Does,
    /// It does not; the text says what it does instead.
    Lacks(String),
}

/// The inputs of a test.
#[derive(Clone, Copy, Debug)]
pub(super) struct TraitTest<'a> {
    /// A case with a right answer.
    pub case: &'a WorkloadCase,
    /// Another case, to detect answers in a wrong order; the same case if there is no other.
    pub other: &'a WorkloadCase,
    /// How many requests are pipelined.
    pub depth: usize,
}

/// The name of a trait in a check.
fn label(one: Trait) -> &'static str {
    match one {
        Trait::KeepAlive => "keep-alive",
        Trait::Pipelining => "pipelining",
        Trait::Http10KeepAlive => "HTTP/1.0 keep-alive",
        Trait::ByteWise => "byte by byte",
        Trait::Head => "HEAD",
        Trait::Http2 => "HTTP/2",
        Trait::Tls => "TLS",
        Trait::Http3 => "HTTP/3",
    }
}

/// Tests `one` and compares. A disagreement with the stated or assumed value has the outcome `wrong`. None for a trait
/// that [`secure`] tests.
pub(super) fn compare(
    client: &CheckClient<'_>,
    attempt: &TraitTest<'_>,
    traits: &Traits,
    one: Trait,
    wrong: CheckOutcome,
) -> Result<Option<Check>, ProbeError> {
    let Some(ability) = try_out(client, attempt, traits, one)? else { return Ok(None) };
    let (outcome, detail) = judged(traits, one, &ability, wrong);
    Ok(Some(check(label(one), outcome, detail)))
}

/// Tests the traits that need a certificate, if the manifest states them: by requests of a case with right answers,
/// whose bodies are `bodies`. Sent by the generator, because the probe speaks neither TLS nor HTTP/3.
pub(super) fn secure(
    server: &CheckedServer<'_>,
    workloads: &[Arc<Workload>],
    bodies: &ValidatedBodies,
    wrong: CheckOutcome,
) -> Result<Vec<Check>, ProbeError> {
    let traits = server.traits;
    let mut checks = Vec::new();
    for (one, http) in [(Trait::Tls, None), (Trait::Http3, Some("3"))] {
        let is_right = |case: &&WorkloadCase| {
            let is_asked = http.is_none() || case.protocol == WorkloadProtocol::Http;
            is_asked && bodies.contains_key(&case.address)
        };
        let cases = workloads.iter().flat_map(|workload| workload.requests()).filter(is_right);
        let Some(case) = cases.min_by_key(|case| !case.is_plain()) else { continue };
        if traits.stated(one) != Some(true) {
            continue;
        }
        let address = traits.address(server.address, http, true);
        let request = CaseRequest { case, address, certificate: Some(server.certificate) };
        let difference = server.client().wrong_by_engine(&request, http, bodies)?;
        let (outcome, detail) = judged(traits, one, &right(difference), wrong);
        checks.push(check(label(one), outcome, detail));
    }
    Ok(checks)
}

fn judged(traits: &Traits, one: Trait, ability: &TraitCheck, wrong: CheckOutcome) -> (CheckOutcome, String) {
    let says = if traits.stated(one).is_some() {
        "the manifest says `true`"
    } else {
        "the manifest has no entry, which means `true`"
    };
    match (traits.has(one), ability) {
        (Some(true), TraitCheck::Does) => (CheckOutcome::Pass, String::new()),
        (Some(false), TraitCheck::Lacks(_)) if traits.stated(one).is_none() => {
            (CheckOutcome::Pass, "not supported, as in most servers".into())
        }
        (Some(false), TraitCheck::Lacks(_)) => {
            (CheckOutcome::Pass, "not supported, as the manifest says".into())
        }
        (Some(true), TraitCheck::Lacks(why)) => {
            (wrong, format!("not supported: {why}; {says}: {}", traits.correction(one, false)))
        }
        (Some(false), TraitCheck::Does) if traits.stated(one).is_some() => (
            wrong,
            format!(
                "the manifest says `false`, but the server supports this: {}",
                traits.correction(one, true)
            ),
        ),
        (None | Some(false), TraitCheck::Does) => (
            CheckOutcome::Warn,
            format!("supported, but not in the manifest: {}", traits.correction(one, true)),
        ),
        (None, TraitCheck::Lacks(why)) => (
            CheckOutcome::Warn,
            format!("not supported: {why}; the manifest does not say so: {}", traits.correction(one, false)),
        ),
    }
}

fn try_out(
    client: &CheckClient<'_>,
    attempt: &TraitTest<'_>,
    traits: &Traits,
    one: Trait,
) -> Result<Option<TraitCheck>, ProbeError> {
    let ordinary = request_for(attempt.case);
    let seen = match one {
        Trait::KeepAlive => twice(client, ordinary, attempt.case),
        Trait::Http10KeepAlive => twice(client, ordinary.in_mode(RequestMode::Http10KeepAlive), attempt.case),
        Trait::Pipelining => ahead(client, attempt),
        Trait::ByteWise => byte_wise(client, ordinary, attempt.case),
        Trait::Head => head(client, attempt.case),
        Trait::Http2 => http2(client, attempt, traits.address(client.address, Some("2"), false)),
        Trait::Tls | Trait::Http3 => return Ok(None),
    };
    Ok(Some(split_interrupt(seen)?.unwrap_or_else(|error| TraitCheck::Lacks(error.to_string()))))
}

/// Tests whether one connection answers twice.
fn twice(
    client: &CheckClient<'_>,
    request: ProbeRequest<'_>,
    case: &WorkloadCase,
) -> Result<TraitCheck, ProbeError> {
    let mut connection = client.open()?;
    let first = connection.ask(request)?;
    if let Some(wrong) = difference(&case.expect, &first) {
        return Ok(TraitCheck::Lacks(wrong));
    }
    if !first.keeps_alive {
        return Ok(TraitCheck::Lacks("the server closes the connection after the response".into()));
    }
    Ok(right(difference(&case.expect, &connection.ask(request)?)))
}

/// Tests whether pipelined requests, of two kinds in turn, are answered in their order.
fn ahead(client: &CheckClient<'_>, attempt: &TraitTest<'_>) -> Result<TraitCheck, ProbeError> {
    let turns: Vec<&WorkloadCase> =
        [attempt.case, attempt.other].into_iter().cycle().take(attempt.depth).collect();
    let requests: Vec<ProbeRequest<'_>> = turns.iter().map(|case| request_for(case)).collect();
    let answers = client.open()?.ask_ahead(&requests)?;
    let wrong = turns.iter().zip(&answers).enumerate().find_map(|(place, (case, answer))| {
        let wrong = difference(&case.expect, answer)?;
        Some(format!("response {} of {}: {wrong}", place + 1, attempt.depth))
    });
    Ok(right(wrong))
}

/// Tests whether two kinds of request, several of each at once on one connection, are answered over HTTP/2 with prior
/// knowledge.
fn http2(
    client: &CheckClient<'_>,
    attempt: &TraitTest<'_>,
    address: SocketAddr,
) -> Result<TraitCheck, ProbeError> {
    let turns: Vec<&WorkloadCase> =
        [attempt.case, attempt.other].into_iter().cycle().take(attempt.depth).collect();
    let requests: Vec<ProbeRequest<'_>> = turns.iter().map(|case| request_for(case)).collect();
    let answers = probe::http2::ask(address, &requests, client.deadline())?;
    let wrong = turns.iter().zip(&answers).enumerate().find_map(|(place, (case, answer))| {
        let wrong = difference(&case.expect, answer)?;
        Some(format!("stream {} of {}: {wrong}", place + 1, attempt.depth))
    });
    Ok(right(wrong))
}

fn byte_wise(
    client: &CheckClient<'_>,
    request: ProbeRequest<'_>,
    case: &WorkloadCase,
) -> Result<TraitCheck, ProbeError> {
    let answer = client.open()?.ask_slowly(request, BYTE_PAUSE)?;
    Ok(right(difference(&case.expect, &answer)))
}

/// HEAD must have the same status as GET, and no `Content-Length` other than that of the body for GET: RFC 9110,
/// section 9.3.2. That there is no body is a separate check, not a trait.
fn head(client: &CheckClient<'_>, case: &WorkloadCase) -> Result<TraitCheck, ProbeError> {
    let body = client.open()?.ask(request_for(case))?.body;
    let request = ProbeRequest::new("HEAD", &case.path).with_headers(&case.headers.0);
    let answer = client.open()?.ask_loosely(request.in_mode(RequestMode::Http11Close))?;
    if answer.status != case.expect.status {
        return Ok(TraitCheck::Lacks(format!("status {} instead of {}", answer.status, case.expect.status)));
    }
    let length = answer.header("content-length").filter(|length| **length != body.len().to_string());
    Ok(right(length.map(|length| format!("content-length {length} instead of {}", body.len()))))
}

fn right(difference: Option<String>) -> TraitCheck {
    difference.map_or(TraitCheck::Does, TraitCheck::Lacks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_catalogue::fixture::{MANIFEST, TestTree};

    fn reported(traits: &str, one: Trait, ability: &TraitCheck) -> (CheckOutcome, String) {
        let tree = TestTree::new();
        tree.write("servers/go-server/server.toml", &format!("{MANIFEST}\n[traits]\n{traits}"));
        judged(&tree.catalogue().server("go-server").unwrap().traits, one, ability, CheckOutcome::Fail)
    }

    #[test]
    fn a_trait_that_disagrees_names_the_line_to_change() {
        let lacks = TraitCheck::Lacks("answer 2 of 16: status 400 instead of 200".into());
        let said = reported("pipelining = true", Trait::Pipelining, &lacks);
        let expected = "not supported: answer 2 of 16: status 400 instead of 200; the manifest says `true`: \
                        write `pipelining = false` in line 25 of server.toml";
        assert_eq!(said, (CheckOutcome::Fail, expected.to_owned()));
        let expected = "the manifest says `false`, but the server supports this: write `head = true` in line 25 of server.toml";
        assert_eq!(
            reported("head = false", Trait::Head, &TraitCheck::Does),
            (CheckOutcome::Fail, expected.to_owned())
        );
        let unsaid = reported("", Trait::KeepAlive, &lacks);
        assert_eq!(unsaid.0, CheckOutcome::Fail);
        assert!(
            unsaid
                .1
                .ends_with("means `true`: add `keep_alive = false` below [traits] (line 24 of server.toml)")
        );
    }

    #[test]
    fn matching_traits_pass_and_unstated_ones_are_warnings() {
        let lacks = TraitCheck::Lacks("it closes".into());
        assert_eq!(reported("head = false", Trait::Head, &lacks).0, CheckOutcome::Pass);
        assert_eq!(reported("", Trait::Head, &TraitCheck::Does), (CheckOutcome::Pass, String::new()));
        assert_eq!(reported("", Trait::Http2, &lacks).0, CheckOutcome::Pass);
        let said = reported("", Trait::Http2, &TraitCheck::Does);
        let expected =
            "supported, but not in the manifest: add `http2 = true` below [traits] (line 24 of server.toml)";
        assert_eq!(said, (CheckOutcome::Warn, expected.to_owned()));
        let said = reported("", Trait::Pipelining, &TraitCheck::Does);
        let expected = "supported, but not in the manifest: add `pipelining = true` below [traits] (line 24 of server.toml)";
        assert_eq!(said, (CheckOutcome::Warn, expected.to_owned()));
    }
}
