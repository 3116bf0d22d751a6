//! Any text as a file of send times (`--schedule`): no panic, times that never decrease, errors that name a line of it.
//!
//! How a run uses the times is tested in the engine's simulation.

pub fn run(text: &str) {
    paceline_run::fuzz_schedule(text);
}
