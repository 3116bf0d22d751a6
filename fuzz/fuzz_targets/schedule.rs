//! Any text as a file of send times (`--schedule`): no panic, times that never decrease, errors that name a line of it.
//!
//! `scripts/fuzz` runs it. How a run uses the times is tested in the engine's simulation.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| paceline_run::fuzz_schedule(text));
