//! A request file: several requests with weights, and what must come back for each. `paceline run --requests` reads it.
//!
//! Files it names are read with it, from its own folder, so that a request file is whole once it is read; those of
//! `{line:FILE}` are the caller's to read, who also knows what HTTP allows. Nothing is sent from here.

mod wire;

#[cfg(test)]
mod tests;

use crate::CatalogueError;
use crate::document::Document;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Requests of one file: each has a block of its own in a record and its own histograms in memory.
pub const REQUESTS_MOST: usize = 100;
/// The largest weight: shares finer than a millionth would not come up in a run.
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
    /// What records call it: its `name`, else its path, `/` where it has neither.
    pub name: String,
    /// How often it is sent, relative to the others': 1 to [`WEIGHT_MOST`].
    pub weight: u32,
    /// The method, `GET` by default.
    pub method: String,
    /// The path with its query; that of the target's URL where none is given.
    pub path: Option<String>,
    /// Fields in the order of the file.
    pub headers: Vec<(String, String)>,
    /// The body, possibly empty.
    pub body: Vec<u8>,
    /// Whether path, headers and body are sent as they stand, without placeholders.
    pub literal: bool,
    /// The status that must come back; any 2xx or 3xx where none is given.
    pub expect_status: Option<u16>,
    /// The body that must come back.
    pub expect_body: Option<FileBody>,
    /// The line in the file where it begins.
    pub line: usize,
}

/// What a request file says of the body that must come back.
#[derive(Clone, Debug, PartialEq)]
pub enum FileBody {
    /// These bytes.
    Exact(Vec<u8>),
    /// Bytes with this SHA-256.
    Sha256([u8; 32]),
    /// JSON with this value at each of these pointers (RFC 6901). Pointers are as written, unchecked.
    Json(Vec<(String, serde_json::Value)>),
}

impl RequestFile {
    /// No file that says what is sent, or what must come back, is longer: a request of which each thread has a copy. A
    /// device that never ends is refused with it.
    pub const BYTES_MOST: u64 = 256 << 20;

    /// All that there is to be read, if it is not too long to say what is sent.
    ///
    /// # Errors
    /// What reading answers; [`io::ErrorKind::FileTooLarge`] beyond [`RequestFile::BYTES_MOST`].
    pub fn content(from: impl Read) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        from.take(Self::BYTES_MOST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > Self::BYTES_MOST {
            let problem = format!("it has more than {} MiB", Self::BYTES_MOST >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
        }
        Ok(bytes)
    }

    /// Reads the text of a file; `read` brings the bodies it names, from their paths.
    ///
    /// # Errors
    /// [`CatalogueError::Document`] with the line of whatever is wrong in it, a body that cannot be read included.
    pub fn of(
        path: &Path,
        text: &str,
        read: &mut dyn FnMut(&Path) -> io::Result<Vec<u8>>,
    ) -> Result<Self, CatalogueError> {
        wire::read(&Document::of(path, text), read)
    }

    /// Where a file is that the requests name: relative to the request file's folder.
    pub fn beside(&self, file: &str) -> PathBuf {
        self.path.with_file_name(file)
    }

    /// What is wrong with one of the requests, with its place.
    pub fn complain(&self, request: &FileRequest, problem: impl std::fmt::Display) -> CatalogueError {
        CatalogueError::Document {
            path: self.path.clone(),
            line: Some(request.line),
            problem: format!("request `{}`: {problem}", request.name),
        }
    }
}
