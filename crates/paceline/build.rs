//! Embeds the commit in the binary, so that a record names the exact version. Without git the commit is left out.
//!
//! Cargo runs it before it compiles the binary, and again when the commit changes. Uncommitted changes are not
//! detected.

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
