//! Any text as an access log (`--replay`), its first line as a format of lines (`--log-format`): no panic, times that never
//! decrease, and exactly one request for each line that is replayed.

pub fn run(text: &str) {
    paceline_run::fuzz_log(text);
}
