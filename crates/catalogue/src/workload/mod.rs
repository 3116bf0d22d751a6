//! A workload, `workloads/<name>.toml`: requests to a server and the exact responses expected.
//!
//! Bodies are loaded with the file, so that a workload is complete once it is read. Validation and the generator send
//! the requests and compare the responses.

mod html;
mod wire;

pub use html::HtmlPage;
pub(crate) use wire::is_path;

use paceline_job::JsonForm;
use paceline_record::DatabaseWork;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A kind of request and its right answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The file's name without `.toml`.
    pub name: String,
    /// A description of what it measures.
    pub about: String,
    /// The beginning of its paths that a server's own path replaces.
    pub base: String,
    /// The cases for load, at least one.
    pub cases: Vec<WorkloadCase>,
    /// More requests with right answers; validated, never used for load.
    pub checks: Vec<WorkloadCase>,
    /// Requests that must be refused; validated, never used for load.
    pub refusals: Vec<Refusal>,
    /// Answers that the lab can compute for any x; requested by `lab check`, never used for load.
    pub computed: Vec<Computed>,
}

/// A kind of request whose right answer follows from a number in its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computed {
    /// The path, with `{x}` in the number's place.
    pub path: String,
    /// The least valid x.
    pub least: u32,
    /// The greatest valid x.
    pub most: u32,
    /// The formula of the answer.
    pub answer: Formula,
    /// The media type of the answer, as in [`Expect`].
    pub content_type: Option<String>,
}

/// A formula the lab can compute, as a workload names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum Formula {
    /// x to the power x in decimal digits, with 0 to the power 0 = 1.
    #[serde(rename = "x^x")]
    PowerOfItself,
}

impl Computed {
    /// The path for one x.
    pub fn path_of(&self, x: u32) -> String {
        self.path.replace("{x}", &x.to_string())
    }

    /// The right answer for one x.
    pub fn expect_of(&self, x: u32) -> Expect {
        let digits = match self.answer {
            Formula::PowerOfItself => num_bigint::BigUint::from(x).pow(x).to_string(),
        };
        Expect {
            status: 200,
            content_type: self.content_type.clone(),
            charset: None,
            headers: Vec::new(),
            body: ExpectedBody::Exact(digits.into_bytes()),
        }
    }
}

/// One request with its one right answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadCase {
    /// Its name in plans and records: `hello`, or `tetra/140` where the workload has several.
    pub address: String,
    /// The workload's name.
    pub workload: String,
    /// The method, `GET` by default.
    pub method: String,
    /// The path with its query, from `/`.
    pub path: String,
    /// The right answer.
    pub expect: Expect,
    /// The work of the database for it, if it needs one.
    pub database: Option<DatabaseWork>,
}

/// The one right answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// The status.
    pub status: u16,
    /// The media type, or `None` for any; its parameters count only if they are given, as `; charset=utf-8`.
    pub content_type: Option<String>,
    /// The only charset that the content type may have, if it has one; `None` for any.
    pub charset: Option<String>,
    /// Required headers, not empty, in lower case; `a|b` requires one of the two. A `date` must be right.
    pub headers: Vec<String>,
    /// The body.
    pub body: ExpectedBody,
}

/// The header whose value is checked too, not only its presence.
pub const DATE: &str = "date";

/// A body known byte for byte, by its length and digest, or as a JSON value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExpectedBody {
    /// Its bytes.
    Exact(Vec<u8>),
    /// A body too long for the file. The body that passed validation is the reference under load.
    Digest {
        /// Its length in bytes.
        length: u64,
        /// Its SHA-256.
        sha256: [u8; 32],
    },
    /// JSON with this value: a serializer may place spaces freely. The bytes that passed validation are the reference
    /// under load.
    Json(serde_json::Value),
    /// JSON of this form, with different values each time.
    JsonForm(JsonForm),
    /// HTML with the same content as this page. The bytes that passed validation are the reference under load.
    Html(HtmlPage),
}

impl ExpectedBody {
    /// Its length in bytes; unknown for JSON, which may have spaces.
    pub fn length(&self) -> Option<u64> {
        match self {
            ExpectedBody::Exact(bytes) => Some(bytes.len() as u64),
            ExpectedBody::Digest { length, .. } => Some(*length),
            ExpectedBody::Json(_) | ExpectedBody::JsonForm(_) | ExpectedBody::Html(_) => None,
        }
    }

    /// Whether `body` is the expected one.
    pub fn matches(&self, body: &[u8]) -> bool {
        match self {
            ExpectedBody::Exact(bytes) => bytes == body,
            ExpectedBody::Digest { length, sha256 } => {
                body.len() as u64 == *length && Sha256::digest(body).as_slice() == sha256
            }
            ExpectedBody::Json(value) => {
                serde_json::from_slice(body).is_ok_and(|is: serde_json::Value| is == *value)
            }
            ExpectedBody::JsonForm(form) => form.check(body).is_ok(),
            ExpectedBody::Html(page) => page.difference(body).is_none(),
        }
    }
}

/// A request that a server must refuse without crashing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The path, from `/`.
    pub path: String,
    /// The status of the refusal.
    pub status: RefusedStatus,
}

/// A status that counts as a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedStatus {
    /// This one: `404`.
    Exactly(u16),
    /// Any status of this class: `4xx` is 4.
    Class(u16),
}

impl RefusedStatus {
    /// Whether `status` counts as this refusal.
    pub fn admits(self, status: u16) -> bool {
        match self {
            RefusedStatus::Exactly(wanted) => status == wanted,
            RefusedStatus::Class(hundred) => status / 100 == hundred,
        }
    }
}

impl std::fmt::Display for RefusedStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RefusedStatus::Exactly(status) => write!(f, "{status}"),
            RefusedStatus::Class(hundred) => write!(f, "{hundred}xx"),
        }
    }
}

impl Workload {
    /// Whether its requests need a database.
    pub fn needs_database(&self) -> bool {
        self.cases.iter().any(|case| case.database.is_some())
    }
}

#[cfg(test)]
mod tests;
