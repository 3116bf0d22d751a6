//! Configures how the C library allocates large blocks. A histogram is 300 kB of zeroes, of which a run touches a few
//! pages.
//!
//! Called first by `paceline run`, while there is only one thread. Other commands keep the default, and so does a run
//! on a C library other than GNU's.

/// Blocks of at least this size come from the kernel, zeroed page by page when touched (mallopt(3)).
#[cfg(target_env = "gnu")]
const FROM_KERNEL_BYTES: libc::c_int = 128 * 1024;

/// Keeps the allocator from recycling large blocks, which it would have to overwrite with zeroes completely. Halves the
/// page faults of a short run and saves 4 of its 11 ms of CPU time.
pub fn large_blocks_from_kernel() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes two numbers; there is no other thread yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, FROM_KERNEL_BYTES);
    }
}
