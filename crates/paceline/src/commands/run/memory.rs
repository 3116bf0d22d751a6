//! How the C library hands out large blocks. Histograms are 300 kB of zeroes each, of which a run touches a few pages.
//!
//! Called first of all by `paceline run`, as long as there is one thread. Other commands keep the allocator as it is,
//! and so does a run on another C library than GNU's.

/// From this size on a block comes from the kernel, zeroed page by page as it is touched (mallopt(3)).
#[cfg(target_env = "gnu")]
const FROM_KERNEL_BYTES: libc::c_int = 128 * 1024;

/// Keeps the allocator from learning to recycle large blocks: it would have to write zeroes over all of each. Halves the
/// page faults of a short run and takes 4 of its 11 ms of CPU time.
pub fn large_blocks_from_kernel() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes two numbers; no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, FROM_KERNEL_BYTES);
    }
}
