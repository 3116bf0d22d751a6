//! Any text as a stored trial: no panic, and the trial is unchanged after its histograms are extracted and inserted again.
//!
//! `scripts/fuzz` runs it. Damaged SQLite files are not tested here.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| paceline_store::fuzz_document(text));
