//! Any text as a server's manifest: no panic, and every error names the file.
//!
//! `scripts/fuzz` runs it. Commands of an accepted manifest are not run.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_catalogue::Manifest;
use std::path::Path;

fuzz_target!(|text: &str| {
    let folder = Path::new("servers/any-server");
    match Manifest::parse(folder, text) {
        Err(error) => assert!(error.to_string().starts_with("servers/any-server/server.toml"), "{error}"),
        Ok(manifest) => {
            assert_eq!(manifest.id, "any-server");
            assert!(!manifest.forms.is_empty() && !manifest.workloads.is_empty());
        }
    }
});
