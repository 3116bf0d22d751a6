//! `--events FD`: a line of JSON as each phase begins, so that another program can sample the server meanwhile.
//!
//! A line is `{"phase":"window","monotonic_ns":N}`: the phase that begins, and the time on CLOCK_MONOTONIC, which all
//! processes of a machine share.

use crate::RunError;
use paceline_engine::Phase;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::FromRawFd as _;

/// An open descriptor that phases are written to.
#[derive(Debug)]
pub struct PhaseEventWriter(File);

impl PhaseEventWriter {
    /// Takes ownership of the descriptor.
    pub fn open(descriptor: i32) -> Result<Self, RunError> {
        // SAFETY: F_GETFD reads a flag of any descriptor, or fails.
        if descriptor < 3 || unsafe { libc::fcntl(descriptor, libc::F_GETFD) } < 0 {
            let what = format!("--events {descriptor}: the file descriptor must be open, and 3 or higher");
            return Err(RunError::usage(what)
                .hint("open the descriptor in the shell: paceline run URL --events 3 3>events.ndjson"));
        }
        // SAFETY: the descriptor is open, and the flag's documentation gives its ownership to this process.
        Ok(Self(unsafe { File::from_raw_fd(descriptor) }))
    }

    /// Writes a phase. If the reader has closed its end, the run continues.
    pub fn write(&self, phase: Phase, monotonic_ns: u64) {
        let name = match phase {
            Phase::Connect => "connect",
            Phase::Warmup => "warmup",
            Phase::Window => "window",
            Phase::Drain => "drain",
            Phase::End => "end",
        };
        let line = format!("{{\"phase\":\"{name}\",\"monotonic_ns\":{monotonic_ns}}}\n");
        let _ = (&self.0).write_all(line.as_bytes());
    }
}
