//! A workload, `workloads/<name>.toml`: what is asked of a server and what must come back, exactly.
//!
//! Bodies are loaded with the file, so that a workload is whole once it is read. Asking and comparing is the
//! validation's work and the generator's.

mod html;
mod wire;

pub use html::HtmlPage;

use crate::CatalogueError;
use paceline_job::JsonForm;
use paceline_record::DatabaseWork;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::path::Path;

/// A kind of request and its right answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The file's name without `.toml`.
    pub name: String,
    /// What it measures, for people.
    pub about: String,
    /// What can be put under load, at least one.
    pub cases: Vec<WorkloadCase>,
    /// More requests with right answers; validated, never put under load.
    pub checks: Vec<WorkloadCase>,
    /// What must be refused; validated, never put under load.
    pub refusals: Vec<Refusal>,
    /// What the lab can compute for any x; asked by `lab check`, never put under load.
    pub computed: Vec<Computed>,
}

/// A kind of request whose right answer follows from a number in its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computed {
    /// The path, with `{x}` in the number's place.
    pub path: String,
    /// The least x that is answered.
    pub least: u32,
    /// The greatest.
    pub most: u32,
    /// What the answer is of x.
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
    /// How plans and records name it: `hello`, or `tetra/140` where the workload has several.
    pub address: String,
    /// The workload's name.
    pub workload: String,
    /// The method, `GET` by default.
    pub method: String,
    /// The path with its query, from `/`.
    pub path: String,
    /// The right answer.
    pub expect: Expect,
    /// What a database has to do for it, where it needs one.
    pub database: Option<DatabaseWork>,
}

/// The one right answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// The status.
    pub status: u16,
    /// The media type, any where none is given; its parameters count only where it has some, as `; charset=utf-8`.
    pub content_type: Option<String>,
    /// The only charset the content type may name, where it names one; any where none is given.
    pub charset: Option<String>,
    /// Headers that must be there and not be empty, in small letters; `a|b` asks for either. A `date` must be true.
    pub headers: Vec<String>,
    /// The body.
    pub body: ExpectedBody,
}

/// The header that is not only to be there, but to be true.
pub const DATE: &str = "date";

/// A body known byte for byte, by its length and digest, or as a JSON value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExpectedBody {
    /// Its bytes.
    Exact(Vec<u8>),
    /// A body too long to write down. What passed validation once serves as the reference under load.
    Digest {
        /// Its length in bytes.
        length: u64,
        /// Its SHA-256.
        sha256: [u8; 32],
    },
    /// JSON that stands for this value: where a serializer puts spaces is its own. The bytes that passed validation
    /// are the reference under load.
    Json(serde_json::Value),
    /// JSON of this form, each time with other values.
    JsonForm(JsonForm),
    /// HTML that says the same as this page. The bytes that passed validation are the reference under load.
    Html(HtmlPage),
}

impl ExpectedBody {
    /// Its length in bytes; of JSON, which may have spaces, none is known beforehand.
    pub fn length(&self) -> Option<u64> {
        match self {
            ExpectedBody::Exact(bytes) => Some(bytes.len() as u64),
            ExpectedBody::Digest { length, .. } => Some(*length),
            ExpectedBody::Json(_) | ExpectedBody::JsonForm(_) | ExpectedBody::Html(_) => None,
        }
    }

    /// Whether `body` is it.
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

/// A request that a server must refuse, and stay alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The path, from `/`.
    pub path: String,
    /// How it must be refused.
    pub status: RefusedStatus,
}

/// A status that counts as a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedStatus {
    /// This one: `404`.
    Exactly(u16),
    /// Any of this hundred: `4xx` is 4.
    Class(u16),
}

impl RefusedStatus {
    /// Whether `status` is one.
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

    /// Reads the workload in the file at `path`, and the bodies it refers to, which lie beside it.
    ///
    /// # Errors
    /// [`CatalogueError::Document`] with file and line when a key is unknown or wrong or a body is given twice or not at
    /// all; [`CatalogueError::File`] when it or a body cannot be read.
    pub fn read(path: &Path) -> Result<Self, CatalogueError> {
        wire::read(path)
    }
}

#[cfg(test)]
mod tests;
