//! What a run sets in this process: the allocation of large blocks, and Ctrl-C. The first Ctrl-C ends the window and
//! keeps the results so far, the second exits immediately.
//!
//! `paceline run` installs the handler shortly before the engine starts; before that a signal ends the process. Rounds
//! and the lab's commands have servers to stop and use the lab's `Interrupt`.

use paceline_engine::StopFlag;
use paceline_host::system::{end_signals, handle_signal};
use std::io;

static STOP: StopFlag = StopFlag::new();

/// The exit status of an interrupted command, for the handler that may not return.
const INTERRUPTED: i32 = 130;

/// Stops the run on SIGINT, SIGTERM and, except under nohup, SIGHUP from now on.
pub fn listen() -> io::Result<&'static StopFlag> {
    for signal in end_signals() {
        handle_signal(signal, on_signal)?;
    }
    Ok(&STOP)
}

/// Calls only what signal-safety(7) allows: atomics, clock_gettime, nanosleep, write and _exit.
extern "C" fn on_signal(_signal: i32) {
    if STOP.at() != paceline_engine::Nanos::NEVER {
        super::screen::clear_on_exit();
        // SAFETY: _exit is async-signal-safe.
        unsafe { libc::_exit(INTERRUPTED) };
    }
    STOP.request();
}

/// Blocks of at least this size come from the kernel, zeroed page by page when touched (mallopt(3)).
#[cfg(target_env = "gnu")]
const FROM_KERNEL_BYTES: libc::c_int = 128 * 1024;

/// Keeps the allocator from recycling large blocks, which it would have to overwrite with zeroes completely: a
/// histogram is 300 kB of zeroes, of which a run touches a few pages. Halves the page faults of a short run and saves 4
/// of its 11 ms of CPU time. Called first, while there is only one thread; a C library other than GNU's keeps its
/// default.
pub fn large_blocks_from_kernel() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt takes two numbers; there is no other thread yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, FROM_KERNEL_BYTES);
    }
}
