//! Any bytes as the output of `perf script` and of `perf trace`: no panic, no function or call with more samples than there
//! are, and no more system calls in the list than in the sum.

pub fn run(bytes: &[u8]) {
    paceline_profile::fuzz_perf_script(bytes);
    paceline_profile::fuzz_perf_trace(bytes);
}
