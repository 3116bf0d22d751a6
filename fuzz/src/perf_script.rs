//! Any bytes as the output of `perf script`: no panic, and no function or call with more samples than there are.

pub fn run(bytes: &[u8]) {
    paceline_profile::fuzz_perf_script(bytes);
}
