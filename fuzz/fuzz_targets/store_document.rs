//! Any text as a stored trial: no panic, and its histograms taken out and put back leave it as it was.
//!
//! `scripts/fuzz` runs it. What SQLite makes of a damaged file is SQLite's to test.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| paceline_store::fuzz_document(text));
