//! Sends requests to one server, all with the same time limit, and turns the results into checks.
//!
//! Shared by validation and `lab check`. Each check defines its own requests; `difference` compares the answers. A
//! launch that waits for its first answer sends its own requests, with the manifest's time limit.

use super::difference::difference;
use crate::case_request::{CaseRequest, ValidatedBodies};
use crate::probe::engine::EngineProbe;
use crate::probe::{self, Answer, ProbeConnection, ProbeDeadline, ProbeError, ProbeRequest, RequestMode};
use paceline_catalogue::{Traits, WorkloadCase};
use paceline_host::Interrupt;
use paceline_record::{Check, CheckOutcome};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// How long one answer may take. The slowest valid one, 500 rows read and updated by a server and a database that are
/// both cold, took 10 s on a machine with ten times more runnable threads than cores.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// The server to check.
#[derive(Clone, Copy, Debug)]
pub struct CheckedServer<'a> {
    /// Its address.
    pub address: SocketAddr,
    /// What its manifest states.
    pub traits: &'a Traits,
    /// The file of its certificate, which exists if its traits need one.
    pub certificate: &'a Path,
    /// The folder of the static files that it serves, if its workloads need them.
    pub static_files: &'a Path,
    /// For protocols that need Paceline's own generator.
    pub engine: EngineProbe<'a>,
}

impl<'a> CheckedServer<'a> {
    pub(crate) fn client(&self) -> CheckClient<'a> {
        CheckClient { address: self.address, engine: self.engine }
    }
}

/// Sends requests to the server at an address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckClient<'a> {
    pub address: SocketAddr,
    /// For protocols that this client does not speak.
    pub engine: EngineProbe<'a>,
}

/// The result of an attempt; the outer error is Ctrl-C alone: any other trouble is a finding about the server.
pub(crate) type ProbeResult<T> = Result<Result<T, ProbeError>, ProbeError>;

impl CheckClient<'_> {
    pub fn interrupt(&self) -> Interrupt {
        self.engine.interrupt
    }

    pub fn deadline(&self) -> ProbeDeadline {
        ProbeDeadline::after(ANSWER_LIMIT, self.engine.interrupt)
    }

    /// Opens a new connection.
    pub fn open(&self) -> Result<ProbeConnection, ProbeError> {
        ProbeConnection::open(self.address, self.deadline())
    }

    /// Sends a request on a new connection.
    pub fn ask(&self, request: ProbeRequest<'_>) -> ProbeResult<Answer> {
        split_interrupt(probe::ask(self.address, request, self.deadline()))
    }

    /// The difference in the answer to a case in some mode; `None` if it is right.
    pub fn wrong(&self, case: &WorkloadCase, mode: RequestMode) -> Result<Option<String>, ProbeError> {
        Ok(match self.ask(request_for(case).in_mode(mode))? {
            Ok(answer) => difference(&case.expect, &answer),
            Err(error) => Some(error.to_string()),
        })
    }

    /// What is wrong with the answers to some requests that the generator sends; `None` if nothing is.
    pub fn wrong_by_engine(
        &self,
        request: &CaseRequest<'_>,
        http: Option<&str>,
        validated: &ValidatedBodies,
    ) -> Result<Option<String>, ProbeError> {
        self.engine.check(request, http, validated, ANSWER_LIMIT)
    }
}

/// The ordinary request of a case.
pub(crate) fn request_for(case: &WorkloadCase) -> ProbeRequest<'_> {
    ProbeRequest::new(&case.method, &case.path)
        .with_headers(&case.headers.0)
        .with_body(case.body.as_ref(), case.chunk_bytes)
}

/// A check that fails if there is a difference.
pub(crate) fn same(name: impl Into<String>, difference: Option<String>) -> Check {
    match difference {
        None => check(name, CheckOutcome::Pass, ""),
        Some(detail) => check(name, CheckOutcome::Fail, detail),
    }
}

pub(crate) fn check(name: impl Into<String>, outcome: CheckOutcome, detail: impl Into<String>) -> Check {
    Check { name: name.into(), outcome, detail: detail.into() }
}

/// Ctrl-C ends validation; any other trouble is a finding about the server.
pub(crate) fn split_interrupt<T>(answer: Result<T, ProbeError>) -> ProbeResult<T> {
    match answer {
        Err(ProbeError::Interrupted) => Err(ProbeError::Interrupted),
        other => Ok(other),
    }
}
