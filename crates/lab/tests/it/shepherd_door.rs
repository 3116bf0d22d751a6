//! The lab starts a shepherd as a process of its own; for these tests that is the example `shepherd`.
//!
//! For `workshop.rs`. The test program cannot be one itself: a shepherd forks and has a single thread. The command
//! `paceline shepherd`, which real labs start, is used by the binary's tests.

/// The command that starts a shepherd. Plain `cargo test` builds the examples, into a folder beside the tests'.
pub fn command() -> Vec<String> {
    let binary = std::env::current_exe().unwrap();
    let shepherd = binary.ancestors().nth(2).unwrap().join("examples/shepherd");
    assert!(shepherd.exists(), "build {} first: cargo build -p paceline-lab --examples", shepherd.display());
    vec![shepherd.to_string_lossy().into_owned()]
}
