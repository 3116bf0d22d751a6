//! The web crate from outside: its types in TypeScript, its built files, its responses to allowed and refused requests,
//! the decisions of its comparisons, and its tables of direct beside balanced.
//!
//! Pages in a browser are tested in `ui/tests`.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod answers;
mod built;
mod compared;
mod pairings;
mod served;
mod site;
mod times;
mod types;

use std::path::{Path, PathBuf};

/// The project's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
