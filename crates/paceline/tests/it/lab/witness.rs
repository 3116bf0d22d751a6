//! A pipe with a name that every process of a server holds open: it comes to its end when the last of them is dead.
//!
//! For `survivors.rs`, `rounds.rs` and `tuning.rs`. No process is asked for by its number, which the kernel may have
//! given to another by then. It tells that they are dead, and not what they died of.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Long enough for a machine that does ten other things; what waits here ends on its own much earlier.
const LIMIT: Duration = Duration::from_secs(60);

/// The end to read.
pub struct Witness(File);

impl Witness {
    /// Makes the pipe. Opened before any writer, so that none has to wait.
    pub fn new(path: &Path) -> Self {
        let name = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: `name` is a string that ends in zero.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        Self(OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).unwrap())
    }

    /// Waits until so many processes have signed.
    pub fn wait_signatures(&mut self, count: usize) {
        let mut signed = 0;
        while signed < count {
            signed += self.read().expect("they all ended before they signed");
        }
        assert_eq!(signed, count);
    }

    /// Waits until every process that held the pipe is dead.
    pub fn wait_end(&mut self) {
        while self.read().is_some() {}
    }

    /// How many signatures came; `None` at the end.
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
