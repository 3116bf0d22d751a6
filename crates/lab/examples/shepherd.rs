//! A shepherd alone, as `paceline shepherd` is one: for the tests of this crate, which cannot be one themselves,
//! since a shepherd is a process of a single thread and a test runs on a second one.
//!
//! It reads its orders from standard input, as the lab gives them, and knows no flags.

fn main() -> std::io::Result<()> {
    paceline_host::shepherd::watch()
}
