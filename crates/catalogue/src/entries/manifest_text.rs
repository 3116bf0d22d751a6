//! The manifest of an imported server, as text.

use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The keys of `server.toml` that an import writes, in this order: TOML needs tables last.
#[derive(Serialize)]
pub(super) struct ManifestText {
    pub name: String,
    pub language: String,
    pub framework: String,
    pub engine: String,
    pub kind: &'static str,
    pub tags: Vec<String>,
    pub workloads: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub databases: Vec<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub database_at_start: bool,
    pub port: u16,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub paths: BTreeMap<&'static str, String>,
    pub container: ContainerText,
    pub run: RunText,
}

/// `[container]`.
#[derive(Serialize)]
pub(super) struct ContainerText {
    pub dockerfile: String,
    pub source: PathBuf,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rights: Vec<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub args: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mounts: BTreeMap<&'static str, &'static str>,
}

/// `[run]`.
#[derive(Serialize)]
pub(super) struct RunText {
    pub start_timeout_s: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<&'static str, &'static str>,
}

impl ManifestText {
    /// The text, below a line that says where it comes from.
    pub fn render(&self, origin: &str) -> Result<String, String> {
        let text = toml::to_string(self).map_err(|error| format!("cannot be written as TOML: {error}"))?;
        // A name of the board could end the comment and add keys.
        let origin: String = origin.chars().map(without_control).collect();
        Ok(format!("# {origin}\n{text}"))
    }
}

/// A space for a control character: these are forbidden in a comment (TOML 1.0), and a line feed ends it.
fn without_control(letter: char) -> char {
    if letter.is_control() { ' ' } else { letter }
}
