//! Starts a shepherd as a separate process; for these tests that is the example `shepherd`.
//!
//! For `provision.rs`. The test program cannot be one: a shepherd forks and has a single thread. The binary's tests use
//! the command `paceline shepherd`, which real labs start.

/// The command that starts a shepherd. Plain `cargo test` builds the examples, into a folder beside that of the tests.
pub fn command() -> Vec<String> {
    let binary = std::env::current_exe().unwrap();
    let shepherd = binary.ancestors().nth(2).unwrap().join("examples/shepherd");
    assert!(shepherd.exists(), "build {} first: cargo build -p paceline-lab --examples", shepherd.display());
    vec![shepherd.to_string_lossy().into_owned()]
}
