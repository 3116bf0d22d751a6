//! A shepherd as a separate program, like `paceline shepherd`: for the tests of this crate, which cannot be one, since
//! a shepherd is a process with a single thread and a test runs on a second one.
//!
//! It reads its orders from standard input, like a shepherd of the lab, and has no flags.

fn main() -> std::io::Result<()> {
    paceline_host::shepherd::watch()
}
