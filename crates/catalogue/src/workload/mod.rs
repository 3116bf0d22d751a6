//! A workload, `workloads/<name>.toml`: requests to a server and the exact responses expected.
//!
//! Bodies are loaded with the file, so that a workload is complete once it is read. Validation and the generator send
//! the requests and compare the responses.

mod headers;
mod html;
mod wire;

pub use html::HtmlPage;
pub(crate) use wire::is_path;

use paceline_job::{Headers, JsonForm, StreamSpec};
use paceline_record::{DatabaseWork, WorkloadProtocol};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::num::NonZeroU32;
use std::path::PathBuf;

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
    /// Requests beyond the rules of the board that it follows; only checked by `lab check`, by Paceline's rules.
    pub own_checks: Vec<WorkloadCase>,
    /// Requests that must be refused; validated, never used for load.
    pub refusals: Vec<Refusal>,
    /// Answers that the lab can compute for any x; requested by `lab check`, never used for load.
    pub computed: Vec<Computed>,
    /// The path below which its servers serve the lab's static files, such as `/static/`, if it needs these.
    pub static_files: Option<String>,
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
            grpc_status: None,
            content_type: self.content_type.clone(),
            charset: None,
            headers: Vec::new(),
            body: ExpectedBody::Exact(digits.into_bytes()),
            coding: ExpectedCoding::default(),
            events: None,
        }
    }
}

/// One request with its one right answer, or a mix of such requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadCase {
    /// Its name in plans and records: `hello`, or `tetra/140` where the workload has several.
    pub address: String,
    /// The workload's name.
    pub workload: String,
    /// The protocol that it is sent by.
    pub protocol: WorkloadProtocol,
    /// The method, `GET` by default, or `POST` if it has a body.
    pub method: String,
    /// The path with its query, from `/`; the method of a call of gRPC.
    pub path: String,
    /// Header fields of the request beside those that every request has.
    pub headers: Headers,
    /// The body of the request, or the message that is sent.
    pub body: Option<RequestBody>,
    /// What a load sends instead of the path and the body, if its requests differ.
    pub load: Option<LoadTemplate>,
    /// How often a load sends it, relative to the other requests of its mix.
    pub weight: u32,
    /// The size of the chunks in which the body is sent, in bytes; `None` for a body with its length.
    pub chunk_bytes: Option<NonZeroU32>,
    /// How a load reads the response as a stream of events, if it does.
    pub stream: Option<StreamSpec>,
    /// The definition of the service of gRPC; without it the server is asked.
    pub proto: Option<PathBuf>,
    /// The right answer.
    pub expect: Expect,
    /// The work of the database for it, if it needs one; that of a mix is the least that each of its requests needs.
    pub database: Option<DatabaseWork>,
    /// The databases that have its tables; empty if all have them.
    pub databases: Vec<String>,
    /// Whether checks of its workload expect values of header fields: they tell whether a cache answered, which depends
    /// on the requests before them to the same process.
    pub checks_cache: bool,
    /// The requests that a load sends by their weights, if there are several. The other fields are then those of the
    /// first, under the workload's name.
    pub mix: Vec<WorkloadCase>,
}

/// What a load sends instead of a request that is always the same: texts with the placeholders of a request file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadTemplate {
    /// The path with its query, from `/`.
    pub path: String,
    /// The body; `None` for that of the request.
    pub body: Option<String>,
}

impl WorkloadCase {
    /// The single requests that a load sends: those of the mix, or this one.
    pub fn requests(&self) -> &[WorkloadCase] {
        if self.mix.is_empty() { std::slice::from_ref(self) } else { &self.mix }
    }

    /// Whether it is a request of HTTP without a body: such requests are sent in unusual ways too, to test a server.
    pub fn is_plain(&self) -> bool {
        self.protocol == WorkloadProtocol::Http && self.body.is_none()
    }

    /// Whether this database has its tables.
    pub fn is_for_database(&self, id: &str) -> bool {
        self.databases.is_empty() || self.databases.iter().any(|known| known == id)
    }

    /// Whether its response must have a header field with a given value.
    fn expects_header_value(&self) -> bool {
        self.expect.headers.iter().any(|header| header.contains(": "))
    }

    /// Whether its load changes rows of the database.
    pub fn changes_rows(&self) -> bool {
        self.requests().iter().any(|request| request.database.is_some_and(|work| work.rows_updated > 0))
    }

    /// Its name in a check: `GET /hello`, `POST /sum in chunks`, `gRPC /benchmark.BenchmarkService/GetSum`.
    pub fn title(&self) -> String {
        let how = match (self.chunk_bytes, self.expect.coding.is_required) {
            (Some(_), _) => " in chunks",
            (None, true) => " compressed",
            (None, false) => "",
        };
        match self.protocol {
            WorkloadProtocol::Http => format!("{} {}{how}", self.method, self.path),
            WorkloadProtocol::WebSocket | WorkloadProtocol::Grpc => {
                format!("{} {}", self.protocol.name(), self.path)
            }
        }
    }
}

/// The body of a request, or the message that is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestBody {
    /// A text.
    Text(String),
    /// This many bytes, which look random and are always the same.
    Filler(u64),
}

impl RequestBody {
    /// Its length in bytes.
    pub fn length(&self) -> u64 {
        match self {
            RequestBody::Text(text) => text.len() as u64,
            RequestBody::Filler(length) => *length,
        }
    }

    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            RequestBody::Text(text) => text.clone().into_bytes(),
            RequestBody::Filler(length) => filler(*length as usize),
        }
    }
}

/// Bytes that do not compress: a xorshift generator (Marsaglia, 2003) from a fixed state.
fn filler(length: usize) -> Vec<u8> {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// The one right answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect {
    /// The status of HTTP: 101 for a WebSocket.
    pub status: u16,
    /// The status of a call of gRPC, by name, if it is not `OK`.
    pub grpc_status: Option<String>,
    /// The media type, or `None` for any; `a|b` is one of the two. Parameters count only if they are given, as in
    /// `text/html; charset=utf-8`.
    pub content_type: Option<String>,
    /// The only charset that the content type may have, if it has one; `None` for any.
    pub charset: Option<String>,
    /// Required headers, not empty, in lower case; `a|b` requires one of the two, `a: b` the value `b`. A `date` must
    /// be right.
    pub headers: Vec<String>,
    /// The body without its content coding, or the message that answers.
    pub body: ExpectedBody,
    /// How the body may be coded.
    pub coding: ExpectedCoding,
    /// How many events each stream has.
    pub events: Option<u64>,
}

/// The content codings that a response may have (RFC 9110, section 8.4.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedCoding {
    /// Those that the request accepts, in lower case: `gzip`, `br`.
    pub accepted: Vec<String>,
    /// Whether the response must have one of them.
    pub is_required: bool,
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
    /// Whatever it is: a status of gRPC is expected instead, or a number of events.
    Any,
}

impl ExpectedBody {
    /// Its length in bytes; unknown for JSON, which may have spaces.
    pub fn length(&self) -> Option<u64> {
        match self {
            ExpectedBody::Exact(bytes) => Some(bytes.len() as u64),
            ExpectedBody::Digest { length, .. } => Some(*length),
            ExpectedBody::Json(_) | ExpectedBody::JsonForm(_) | ExpectedBody::Html(_) | ExpectedBody::Any => {
                None
            }
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
            ExpectedBody::Any => true,
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

    /// Whether it needs a database, and this one has its tables.
    pub fn is_for_database(&self, id: &str) -> bool {
        self.cases.iter().any(|case| case.database.is_some() && case.is_for_database(id))
    }

    /// The single requests of its cases, in order.
    pub fn requests(&self) -> impl Iterator<Item = &WorkloadCase> {
        self.cases.iter().flat_map(WorkloadCase::requests)
    }
}

#[cfg(test)]
mod tests;
