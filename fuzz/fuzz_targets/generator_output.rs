//! Any text as output of wrk and oha: no panic, and the outcomes of an accepted output add up.
//!
//! `scripts/fuzz` runs it. A round may use any program with one of these names, so the output is untrusted input.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| paceline_lab::fuzz_generator_output(text));
