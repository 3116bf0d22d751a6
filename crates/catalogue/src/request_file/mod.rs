//! A request file: several requests with weights, and the expected response of each (`--mix`).
//!
//! Paths in it are relative to its folder; the caller reads those files.

mod wire;

#[cfg(test)]
mod tests;

use crate::CatalogueError;
use crate::document::Document;
use paceline_job::RequestSpec;
use std::path::{Path, PathBuf};

/// Requests of one file: each has a separate block in a record and separate histograms in memory.
pub const REQUESTS_MOST: usize = 100;
/// The largest weight: shares finer than a millionth would not occur in a run.
pub const WEIGHT_MOST: u32 = 1_000_000;

/// Several requests, each with its share of the load.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestFile {
    path: PathBuf,
    /// In the order of the file, at least one.
    pub requests: Vec<FileRequest>,
}

/// One request of a request file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileRequest {
    /// The request; paths in it are relative to the working directory, like the path of the request file.
    pub spec: RequestSpec,
    /// The line in the file where it begins.
    pub line: usize,
}

impl RequestFile {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`CatalogueError::Document`] with the line of the problem.
    pub fn of(path: &Path, text: &str) -> Result<Self, CatalogueError> {
        wire::read(&Document::of(path, text))
    }

    /// An error in one of the requests, with its line.
    pub fn complain(&self, request: &FileRequest, problem: impl std::fmt::Display) -> CatalogueError {
        CatalogueError::Document {
            path: self.path.clone(),
            line: Some(request.line),
            problem: format!("request `{}`: {problem}", request.spec.shown_name()),
        }
    }
}
