//! The processes of a launch on this machine.

use crate::error::LaunchError;
use paceline_host::shepherd::{CommandResult, Shepherd};
use paceline_host::tree::ProcessTree;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How much of a log's end goes into a record.
const RECORD_TAIL_BYTES: usize = 4 * 1024;

/// The processes of a launch.
pub(super) struct Processes {
    pub shepherd: Shepherd,
    pub log: Option<PathBuf>,
    pub tree: ProcessTree,
    /// A moment before the first of them started.
    pub began: SystemTime,
}

impl Processes {
    /// The end of their output so far.
    pub fn log_tail(&mut self) -> String {
        if self.shepherd.ended().is_some() {
            self.shepherd.settle();
        }
        self.log.as_deref().map(tail_of).unwrap_or_default()
    }

    /// Stops them and waits until nothing is left, also of the maps that their runtimes made for a profiler.
    pub fn stop(self) -> io::Result<CommandResult> {
        let Self { shepherd, tree, began, .. } = self;
        let maps = tree.perf_maps(began);
        let gone = shepherd.stop();
        // A shepherd that was killed could not do this.
        tree.end();
        maps.remove();
        gone
    }

    /// Stops it after an error; the fault gets the end of the log, which is complete then.
    pub fn stop_after(self, error: LaunchError) -> LaunchError {
        let log = self.log.clone();
        // The fault at hand is the one to report.
        let _ = self.stop();
        match error {
            LaunchError::Fault { fault, .. } => {
                LaunchError::Fault { fault, log_tail: log.as_deref().map(tail_of).unwrap_or_default() }
            }
            LaunchError::Interrupted => LaunchError::Interrupted,
        }
    }
}

/// The end of a log, from the beginning of a line where there is one.
fn tail_of(path: &Path) -> String {
    let tail = paceline_files::tail(path, RECORD_TAIL_BYTES as u64).unwrap_or_default();
    let text = String::from_utf8_lossy(&tail);
    let whole = tail.len() < RECORD_TAIL_BYTES;
    let text = if whole { &*text } else { text.split_once('\n').map_or(&*text, |(_, rest)| rest) };
    text.trim_end().to_owned()
}
