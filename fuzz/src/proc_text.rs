//! Any text as files of `/proc` and of control groups: no panic, no negative time.
//!
//! A line `---` separates two files that are read together. A process chooses its own name, so part of these texts is
//! untrusted input.

pub fn run(text: &str) {
    paceline_host::fuzz_proc_text(text);
}
