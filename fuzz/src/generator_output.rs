//! Any text as the output of every load generator in the lab's `PEERS`: no panic, and the outcomes of an accepted
//! output add up.
//!
//! A round may use any program with one of these names, so the output is untrusted input.

pub fn run(text: &str) {
    paceline_lab::fuzz_generator_output(text);
}
