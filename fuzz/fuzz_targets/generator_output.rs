//! Any text as what wrk and oha print: no panic, and the outcomes of what is understood add up.
//!
//! `scripts/fuzz` runs it. A round may be driven by any program that calls itself one of these.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| paceline_lab::fuzz_generator_output(text));
