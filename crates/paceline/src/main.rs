//! Placeholder while the binary is being written.
fn main() {}
