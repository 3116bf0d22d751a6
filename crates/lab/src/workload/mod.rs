//! A workload, `workloads/<name>.toml`: what is asked of a server and what must come back, exactly.
//!
//! Bodies are loaded with the file, so that a workload is whole once it is read. Asking and comparing is the
//! validation's work and the generator's.

mod wire;

use crate::LabError;
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
    /// What must be refused; validated, never put under load.
    pub refusals: Vec<Refusal>,
}

/// One request with its one right answer.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

/// The one right answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expect {
    /// The status.
    pub status: u16,
    /// The media type, parameters such as `charset` left out; any where none is given.
    pub content_type: Option<String>,
    /// The body.
    pub body: ExpectedBody,
}

/// A body known byte for byte, or by its length and digest.
#[derive(Clone, Debug, PartialEq, Eq)]
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
}

impl ExpectedBody {
    /// Its length in bytes.
    pub fn length(&self) -> u64 {
        match self {
            ExpectedBody::Exact(bytes) => bytes.len() as u64,
            ExpectedBody::Digest { length, .. } => *length,
        }
    }

    /// Its SHA-256.
    pub fn sha256(&self) -> [u8; 32] {
        match self {
            ExpectedBody::Exact(bytes) => Sha256::digest(bytes).into(),
            ExpectedBody::Digest { sha256, .. } => *sha256,
        }
    }

    /// Whether `body` is it.
    pub fn matches(&self, body: &[u8]) -> bool {
        match self {
            ExpectedBody::Exact(bytes) => bytes == body,
            ExpectedBody::Digest { length, sha256 } => {
                body.len() as u64 == *length && Sha256::digest(body).as_slice() == sha256
            }
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
    /// Reads the workload in the file at `path`, and the bodies it refers to, which lie beside it.
    ///
    /// # Errors
    /// [`LabError::Document`] with file and line when a key is unknown or wrong or a body is given twice or not at
    /// all; [`LabError::File`] when it or a body cannot be read.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        wire::read(path)
    }
}

#[cfg(test)]
mod tests;
