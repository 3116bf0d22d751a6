//! Puts the commit into the binary, so that a record says exactly what measured. Without git it says nothing.
//!
//! Cargo runs it before it compiles the binary, and again when the commit changes. Changes that were not committed are
//! not looked for.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=../../.git/HEAD");
    println!("cargo:rerun-if-changed=../../.git/refs/heads");
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output();
    let commit = output.ok().filter(|output| output.status.success());
    if let Some(commit) = commit.and_then(|output| String::from_utf8(output.stdout).ok()) {
        println!("cargo:rustc-env=PACELINE_COMMIT={}", commit.trim());
    }
}
