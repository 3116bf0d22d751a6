//! Validation before load: every case and every refusal of the workloads under test, and the traits in the manifest.
//!
//! A server with a wrong answer fails and is not measured; a wrong trait is a warning. Each check reports the exact
//! difference. The body that passed is passed on, so that the load compares bytes instead of digests.

mod changed_file;
mod client;
mod computed_answers;
mod difference;
mod examine;
mod idle;
mod protocol;
mod trait_check;

pub use client::CheckedServer;
use difference::content;
pub(crate) use difference::difference;
pub use examine::{ExamineOptions, ExamineResult, Rules, examine};

use crate::case_request::{CaseRequest, ValidatedBodies};
use crate::probe::{ProbeError, ProbeRequest};
pub(crate) use client::{CheckClient, request_for, same};
use paceline_catalogue::{RefusedStatus, Trait, Workload, WorkloadCase};
use paceline_record::{Check, CheckOutcome, Validation, WorkloadProtocol};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use trait_check::TraitTest;

/// Number of pipelined requests.
const PIPELINE_DEPTH: usize = 4;

/// The results of validation.
#[derive(Clone, Debug, Default)]
pub struct ValidationResult {
    /// Each check, in order.
    pub validation: Validation,
    /// The decoded body of every request that passed, by its address.
    pub bodies: BTreeMap<String, Vec<u8>>,
    /// The failures, by workload.
    failures: BTreeMap<String, Vec<String>>,
}

impl ValidationResult {
    /// The failed checks of a workload, as one text.
    pub fn failures_of(&self, workload: &str) -> Option<String> {
        self.failures.get(workload).map(|failures| failures.join("; "))
    }

    fn keep(&mut self, workload: &str, check: Check) {
        if check.outcome == CheckOutcome::Fail {
            let failure = format!("{}: {}", check.name, check.detail);
            self.failures.entry(workload.to_owned()).or_default().push(failure);
        }
        self.validation.checks.push(check);
    }
}

/// Checks a server on every case and refusal of `workloads`, then the traits that loads may rely on. A wrong trait is a
/// warning: its effects show under load.
///
/// # Errors
/// [`ProbeError::Interrupted`] alone: everything else is the outcome of a check.
pub fn validate(
    server: CheckedServer<'_>,
    workloads: &[Arc<Workload>],
) -> Result<ValidationResult, ProbeError> {
    let (client, traits) = (server.client(), server.traits);
    let mut found = answers(&client, workloads)?;
    let plain = workloads.iter().flat_map(|workload| workload.requests()).filter(|case| case.is_plain());
    // After the refusals, to detect a server that they crashed.
    if let Some(case) = plain.min_by_key(|case| case.stream.is_some()) {
        let attempt = TraitTest { case, other: case, depth: PIPELINE_DEPTH };
        for one in [Trait::KeepAlive, Trait::Pipelining, Trait::Http10KeepAlive, Trait::Http2] {
            // A stream has no length, so that its end closes a connection of HTTP/1.0.
            if one == Trait::Http10KeepAlive && case.stream.is_some() {
                continue;
            }
            // Nearly all servers lack HTTP/2: it is tested only if the manifest states it.
            if traits.has(one).is_some() && (one != Trait::Http2 || traits.stated(one).is_some()) {
                let check = trait_check::compare(&client, &attempt, traits, one, CheckOutcome::Warn)?;
                found.validation.checks.extend(check);
            }
        }
    }
    let checks = trait_check::secure(&server, workloads, &found.bodies, CheckOutcome::Warn)?;
    found.validation.checks.extend(checks);
    Ok(found)
}

/// Requests every case and every refusal.
pub(crate) fn answers(
    client: &CheckClient<'_>,
    workloads: &[Arc<Workload>],
) -> Result<ValidationResult, ProbeError> {
    let mut found = ValidationResult::default();
    for workload in workloads {
        for case in workload.requests() {
            let (check, body) = answer(client, case)?;
            found.keep(&workload.name, check);
            if let Some(body) = body {
                found.bodies.insert(case.address.clone(), body);
            }
        }
        for check in &workload.checks {
            found.keep(&workload.name, answer(client, check)?.0);
        }
        for refused in &workload.refusals {
            found.keep(&workload.name, refusal(client, &refused.path, refused.status)?);
        }
    }
    Ok(found)
}

/// Requests what Paceline asks beyond the rules of the board that a workload follows.
pub(crate) fn own_answers(
    client: &CheckClient<'_>,
    workloads: &[Arc<Workload>],
) -> Result<Vec<Check>, ProbeError> {
    let mut checks = Vec::new();
    for case in workloads.iter().flat_map(|workload| &workload.own_checks) {
        let (check, _) = answer(client, case)?;
        checks.push(Check { name: format!("Paceline's own rule: {}", check.name), ..check });
    }
    Ok(checks)
}

/// The check of a case, and the body of a right answer; that of another protocol than HTTP is empty.
fn answer(client: &CheckClient<'_>, case: &WorkloadCase) -> Result<(Check, Option<Vec<u8>>), ProbeError> {
    if case.protocol != WorkloadProtocol::Http {
        let request = CaseRequest { case, address: client.address, certificate: None };
        let wrong = client.wrong_by_engine(&request, None, &ValidatedBodies::new())?;
        let body = wrong.is_none().then(Vec::new);
        return Ok((same(case.title(), wrong), body));
    }
    Ok(match client.ask(request_for(case))? {
        Ok(answer) => match difference(&case.expect, &answer) {
            None => (same(case.title(), None), content(&case.expect, &answer).ok().map(Cow::into_owned)),
            wrong => (same(case.title(), wrong), None),
        },
        Err(error) => (same(case.title(), Some(error.to_string())), None),
    })
}

fn refusal(client: &CheckClient<'_>, path: &str, status: RefusedStatus) -> Result<Check, ProbeError> {
    let wrong = match client.ask(ProbeRequest::new("GET", path))? {
        Ok(answer) if status.admits(answer.status) => None,
        Ok(answer) => Some(format!("status {} instead of {status}", answer.status)),
        Err(error) => Some(error.to_string()),
    };
    Ok(same(format!("GET {path} refused"), wrong))
}
