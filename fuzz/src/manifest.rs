//! Any text as a server's manifest: no panic, and every error names the file.
//!
//! Commands of an accepted manifest are not run.

use paceline_catalogue::Manifest;
use std::path::Path;

pub fn run(text: &str) {
    let folder = Path::new("servers/any-server");
    match Manifest::parse(folder, text) {
        Err(error) => assert!(error.to_string().starts_with("servers/any-server/server.toml"), "{error}"),
        Ok(manifest) => {
            assert_eq!(manifest.id, "any-server");
            assert!(!manifest.forms.is_empty() && !manifest.workloads.is_empty());
        }
    }
}
