//! Any text as a balancer's manifest and template: no panic, and an accepted manifest has a policy.
//!
//! An input is `balancer.toml`, a line `---`, and the template `any.conf`.

use crate::scratch;
use paceline_catalogue::{BALANCER_FILE, Balancer};
use std::fs;

pub fn run(text: &str) {
    let (manifest, template) = text.split_once("\n---\n").unwrap_or((text, ""));
    let folder = scratch::folder("balancer");
    fs::write(folder.join(BALANCER_FILE), manifest).expect("a file");
    fs::write(folder.join("any.conf"), template).expect("a file");
    match Balancer::read(&folder) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(balancer) => assert!(!balancer.policies.is_empty()),
    }
}
