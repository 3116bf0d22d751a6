//! Any text as a server's manifest: no panic, and every complaint names the file.
//!
//! `scripts/fuzz` runs it. Nothing is set up, built or started by what is understood.
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
