//! A named pipe that every process of a server holds open: it reaches its end when the last of them has ended.
//!
//! Used by `survivors.rs`, `rounds.rs` and `tuning.rs`. Processes are not looked up by process id, which the kernel may
//! have reused by then. The pipe shows that they have ended, but not why.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Long enough for a machine with ten other jobs; every wait here normally ends much earlier.
const LIMIT: Duration = Duration::from_secs(60);

/// The read end.
pub struct Witness(File);

impl Witness {
    /// Creates the pipe and opens it before any writer, so that no writer has to wait.
    pub fn new(path: &Path) -> Self {
        let name = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: `name` is a NUL-terminated string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        Self(OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).unwrap())
    }

    /// Waits until this many processes have signed.
    pub fn wait_signatures(&mut self, count: usize) {
        let mut signed = 0;
        while signed < count {
            signed += self.read().expect("they all ended before they signed");
        }
        assert_eq!(signed, count);
    }

    /// Waits until every process that held the pipe has ended.
    pub fn wait_end(&mut self) {
        while self.read().is_some() {}
    }

    /// Reads signatures and returns their number; `None` at the end.
    fn read(&mut self) -> Option<usize> {
        let begun = Instant::now();
        loop {
            let left = LIMIT.checked_sub(begun.elapsed()).expect("processes are still alive");
            let mut polled = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one descriptor, which is open.
            unsafe { libc::poll(&raw mut polled, 1, left.as_millis() as i32) };
            if polled.revents != 0 {
                let length = self.0.read(&mut [0; 64]).unwrap();
                return (length > 0).then_some(length);
            }
        }
    }
}
