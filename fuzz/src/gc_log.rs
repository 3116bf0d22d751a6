//! Any text as the log of a garbage collector (`--gc-log`): no panic, no pause that cannot be.

pub fn run(text: &str) {
    paceline_run::fuzz_gc_log(text);
}
