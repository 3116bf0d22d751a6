//! Any text as files of `/proc` and of control groups: no panic, no negative time.
//!
//! `scripts/fuzz` runs it. A line `---` separates two files that are read together. A process chooses its own name, so
//! part of these texts is untrusted input.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| paceline_host::fuzz_proc_text(text));
