//! What was checked in responses, the results of each request of a mix, and bodies that were not as expected.
//!
//! Parts of a run, filled in by the crate `run`. Of a wrong body only a piece is kept.

use crate::{Block, Times};
use paceline_job::{ExpectedValue, JsonForm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What counted as a valid response. Without any, a 2xx status is valid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expectations {
    /// The status that every response must have.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// The length of the body asked for; every response's bytes were compared.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body_bytes: Option<u64>,
    /// The SHA-256 of that body, in hexadecimal. Without `body_bytes` it is what was asked for: a body that has it is
    /// what others were compared with.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body_sha256: Option<String>,
    /// The values asked for in a body of JSON.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub json: Vec<ExpectedValue>,
    /// The form asked for of a body of JSON.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub json_form: Option<JsonForm>,
}

/// One request of a mix: what was asked, how often, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestPart {
    /// Its name in the request file.
    pub name: String,
    /// How often it was sent, relative to the others.
    pub weight: u32,
    /// Method of the request.
    pub method: String,
    /// Its path, placeholders as they were written.
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
    /// How often it was begun, relative to the others.
    pub weight: u32,
    /// Sessions of the window's cohort; each was completed, failed or unfinished.
    pub started: u64,
    /// Sessions whose last step was answered as expected.
    pub completed: u64,
    /// Sessions of which a step failed; the steps behind it were not sent.
    pub failed: u64,
    /// Sessions that the end of the run cut off between two steps.
    pub unfinished: u64,
    /// The steps of the session, in order.
    pub steps: Vec<SessionStep>,
    /// From when a session was due to the last response of it, pauses included; completed sessions only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session_time_ns: Option<Times>,
}

/// One step of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionStep {
    /// Its name, as in `by_request`.
    pub name: String,
    /// Sessions that did not come to it: an earlier step failed, or the run ended.
    pub not_reached: u64,
}

/// How a body that was not as expected looked: the first of its kind, warm-up included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BadBody {
    /// Which request of a mix it answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request: Option<String>,
    /// When it was complete, in nanoseconds from the start of the run.
    pub at_ns: u64,
    /// The status it came with.
    pub status: u16,
    /// Length of the body, in bytes.
    pub body_bytes: u64,
    /// What is wrong with it, for people.
    pub fault: String,
    /// The first byte that differs from a body as it is expected, from 0, where such a body is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub differs_at: Option<u64>,
    /// Some of it, from shortly before that byte or from its beginning. What is not UTF-8 is replaced.
    pub shown: String,
    /// Where in the body that begins.
    pub shown_from: u64,
}
