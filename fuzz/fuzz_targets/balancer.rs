//! Any text as a balancer's manifest and template: no panic, and an accepted manifest has a policy.
//!
//! `scripts/fuzz` runs it. An input is `balancer.toml`, a line `---`, and the template `any.conf`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use paceline_catalogue::{BALANCER_FILE, Balancer};
use std::fs;

fuzz_target!(|text: &str| {
    let (manifest, template) = text.split_once("\n---\n").unwrap_or((text, ""));
    let folder = std::env::temp_dir().join(format!("paceline-fuzz-balancer-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(BALANCER_FILE), manifest).expect("a file");
    fs::write(folder.join("any.conf"), template).expect("a file");
    match Balancer::read(&folder) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(balancer) => assert!(!balancer.policies.is_empty()),
    }
});
