//! The checks of responses, the results of each request of a mix, and unexpected bodies.
//!
//! Parts of a run, filled in by the crate `run`. Of an unexpected body only an excerpt is kept.

use crate::{Block, RecordError, Times};
use paceline_job::{ExpectedValue, JsonForm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What counted as a valid response. Without any, a 2xx status is valid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expectations {
    /// The status that every response must have.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// The status of gRPC that every call must end with.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub grpc_status: Option<String>,
    /// The expected body's length; every response's bytes were compared with that body.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body_bytes: Option<u64>,
    /// The SHA-256 of the expected body, in hexadecimal. Without `body_bytes` only the hash was given: the first body
    /// that matches it is the reference for the others.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body_sha256: Option<String>,
    /// The expected values in a JSON body.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub json: Vec<ExpectedValue>,
    /// The expected form of a JSON body.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub json_form: Option<JsonForm>,
    /// Whether every answer had to equal its message, each of which was different (WebSocket).
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub echo: bool,
}

/// One request of a mix: the request, its frequency, and its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestPart {
    /// Its name in the request file.
    pub name: String,
    /// Its relative frequency.
    pub weight: u32,
    /// Method of the request.
    pub method: String,
    /// Its path, with placeholders as written.
    pub path: String,
    /// What counted as a valid response to it.
    pub expectations: Expectations,
    /// The window's requests of this kind.
    #[serde(flatten)]
    pub block: Block,
}

/// One session of a request file: steps in order by one user. Each step is one of `by_request`, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionPart {
    /// Its name in the request file.
    pub name: String,
    /// Its relative frequency.
    pub weight: u32,
    /// Sessions of the window's cohort; each was completed, failed or unfinished.
    pub started: u64,
    /// Sessions whose last step was answered as expected.
    pub completed: u64,
    /// Sessions that were completed inside the window, those that began in the warm-up included; none in older records.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub completed_in_window: Option<u64>,
    /// Sessions with a failed step; the steps after it were not sent.
    pub failed: u64,
    /// Sessions that the end of the run interrupted between two steps.
    pub unfinished: u64,
    /// The steps of the session, in order.
    pub steps: Vec<SessionStep>,
    /// Time from the due time of a session to its last response, pauses included; completed sessions only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session_time_ns: Option<Times>,
}

impl SessionPart {
    /// Adds the same session of another loader.
    ///
    /// # Errors
    /// [`RecordError::Histogram`] when a histogram cannot be decoded.
    pub fn add(&mut self, other: &Self) -> Result<(), RecordError> {
        self.started += other.started;
        self.completed += other.completed;
        self.completed_in_window =
            self.completed_in_window.zip(other.completed_in_window).map(|(ours, theirs)| ours + theirs);
        self.failed += other.failed;
        self.unfinished += other.unfinished;
        for (step, other) in self.steps.iter_mut().zip(&other.steps) {
            step.not_reached += other.not_reached;
        }
        if let Some(times) = &other.session_time_ns {
            let mut sum = self.session_time_ns.as_ref().map(Times::decode).transpose()?.unwrap_or_default();
            sum.merge(&times.decode()?);
            self.session_time_ns = Some(Times::from_histogram(&sum));
        }
        Ok(())
    }
}

/// How request bodies that waited for 100 Continue were sent: of requests of the window whose wait has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectContinue {
    /// Bodies that were sent after 100 Continue.
    pub continued: u64,
    /// Bodies that were not sent, because a final status came instead.
    pub answered: u64,
    /// Bodies that were sent after a second without either.
    pub silent: u64,
    /// Time from the actual send to 100 Continue.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub continue_time_ns: Option<Times>,
}

impl ExpectContinue {
    /// Adds the bodies of another loader.
    ///
    /// # Errors
    /// [`RecordError::Histogram`] when a histogram cannot be decoded.
    pub fn add(&mut self, other: &Self) -> Result<(), RecordError> {
        self.continued += other.continued;
        self.answered += other.answered;
        self.silent += other.silent;
        self.continue_time_ns = match (self.continue_time_ns.take(), &other.continue_time_ns) {
            (Some(ours), Some(theirs)) => Some(ours.merge(theirs)?),
            (ours, theirs) => ours.or_else(|| theirs.clone()),
        };
        Ok(())
    }
}

/// What went wrong with the files of request bodies that were read while they were sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BodyFaults {
    /// The names of the files that were modified during the run, without their folders.
    pub changed: Vec<String>,
    /// Connections that were closed because a body could not be read to its end.
    pub connections: u64,
}

impl BodyFaults {
    /// Adds what went wrong at another loader.
    pub fn add(&mut self, other: &Self) {
        for file in &other.changed {
            if !self.changed.contains(file) {
                self.changed.push(file.clone());
            }
        }
        self.connections += other.connections;
    }
}

/// Reads of files of request bodies, while these were sent, that had to wait for the disk in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BodyWaits {
    /// Their number. The file's content was not in memory; where the file system does not report that, the reads that
    /// took at least a millisecond.
    pub reads: u64,
    /// How long they took, added up over the threads, in nanoseconds.
    pub wait_ns_total: u64,
    /// The longest of them, in nanoseconds.
    pub wait_ns_max: u64,
}

impl BodyWaits {
    /// Adds those of another file or loader.
    pub fn add(&mut self, other: &Self) {
        self.reads = self.reads.saturating_add(other.reads);
        self.wait_ns_total = self.wait_ns_total.saturating_add(other.wait_ns_total);
        self.wait_ns_max = self.wait_ns_max.max(other.wait_ns_max);
    }
}

/// One step of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionStep {
    /// Its name, as in `by_request`.
    pub name: String,
    /// Sessions that did not reach it: an earlier step failed, or the run ended.
    pub not_reached: u64,
}

/// A check of a script (`--lua`) that responses of the window failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedCheck {
    /// The reason, as the script gives it.
    pub reason: String,
    /// The number of responses that were refused for it.
    pub count: u64,
}

/// An unexpected body: the first of its kind, warm-up included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BadBody {
    /// The request of a mix that it answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request: Option<String>,
    /// When it was complete, in nanoseconds from the start of the run.
    pub at_ns: u64,
    /// The status of the response.
    pub status: u16,
    /// Length of the body, in bytes.
    pub body_bytes: u64,
    /// The difference from the expectation, as text.
    pub fault: String,
    /// The first byte that differs from the expected body, from 0, if that body is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub differs_at: Option<u64>,
    /// An excerpt, from shortly before that byte or from the start. Bytes that are not UTF-8 are replaced.
    pub shown: String,
    /// Offset of the excerpt in the body.
    pub shown_from: u64,
}
