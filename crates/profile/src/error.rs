//! Why perf gave no profile, or no system calls.

use std::ffi::OsStr;
use std::fmt;
use std::io;

/// A command of perf that Paceline runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerfCommand {
    /// `perf record`: samples processes.
    Record,
    /// `perf script`: prints the samples of a recording.
    Script,
    /// `perf trace`: counts system calls.
    Trace,
}

impl PerfCommand {
    fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Script => "script",
            Self::Trace => "trace",
        }
    }
}

impl fmt::Display for PerfCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl AsRef<OsStr> for PerfCommand {
    fn as_ref(&self) -> &OsStr {
        OsStr::new(self.name())
    }
}

/// A limit that perf reaches on a server with many threads: it opens files and locks memory for each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerfLimit {
    /// The number of open files of a process.
    OpenFiles,
    /// The memory that a user may lock for events.
    LockedMemory,
}

impl PerfLimit {
    /// Finds the limit in perf's messages, since it ends with the same status whatever failed: `evsel__open_strerror` of
    /// tools/perf/util/evsel.c, `record__mmap_evlist` of builtin-record.c, `evlist__strerror_mmap` of evlist.c. Its text
    /// on missing rights also contains the words `perf_event_mlock_kb`, but not the path of the setting.
    pub(crate) fn from_messages(text: &str) -> Option<Self> {
        if text.contains("Too many events are opened") || text.contains("Too many open files") {
            Some(Self::OpenFiles)
        } else if text.contains("/proc/sys/kernel/perf_event_mlock_kb") {
            Some(Self::LockedMemory)
        } else {
            None
        }
    }

    /// What to do about it.
    fn hint(self) -> &'static str {
        match self {
            Self::OpenFiles => {
                "perf opens files for each thread of the server: raise the limit of open files (`ulimit -n 1048576` as root, or docker run --ulimit nofile=1048576), or give the server fewer threads"
            }
            Self::LockedMemory => {
                "perf locks memory for each thread of the server: run `sysctl kernel.perf_event_mlock_kb=65536` as root, raise `ulimit -l`, or give the server fewer threads"
            }
        }
    }
}

/// Why there is no profile, or why system calls were not counted. The caller reports it beside the result of the run.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// There is no program `perf`.
    #[error("perf is not installed")]
    NotInstalled,
    /// The folder for its data could not be created.
    #[error("cannot create a folder for the data of perf")]
    Folder(#[source] io::Error),
    /// It could not be started.
    #[error("cannot start perf")]
    Start(#[source] io::Error),
    /// It ended with a failure.
    #[error("perf {command} failed: {message}")]
    Failed {
        /// What perf was to do.
        command: PerfCommand,
        /// The line of its output that says why.
        message: String,
        /// The kernel's setting that permits profiling (`kernel.perf_event_paranoid`).
        paranoid: Option<i32>,
        /// Whether this process runs as root.
        is_root: bool,
        /// The limit that was reached, if that was the reason.
        limit: Option<PerfLimit>,
    },
    /// It was asked to end before it had begun.
    #[error("perf had not begun to record when the recording ended")]
    NotBegun,
    /// It took no sample.
    #[error("perf took no sample: the server used hardly any CPU time")]
    NoSamples,
    /// It saw no system call.
    #[error("perf saw no system call: the server did hardly anything")]
    NoCalls,
    /// Its table of system calls has other columns than those that are known.
    #[error("the table of perf trace has unknown columns")]
    UnknownTable,
    /// Its output could not be read.
    #[error("cannot read the output of perf")]
    Read(#[source] io::Error),
}

impl ProfileError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotInstalled => {
                Some("install it: `apt-get install linux-perf` (Debian), `linux-tools-generic` (Ubuntu), `perf` (Fedora, Alpine)".to_owned())
            }
            Self::Failed { limit: Some(limit), .. } => Some(limit.hint().to_owned()),
            Self::Failed { command, is_root, paranoid, .. } => rights_hint(*command, *is_root, *paranoid),
            // Since Linux commit 8eded45fcd34 perf trace counts errors.
            Self::UnknownTable => Some("use perf of Linux 5.5 or newer".to_owned()),
            Self::NotBegun => {
                Some("use a longer window (-d), or leave perf a core that is not busy".to_owned())
            }
            Self::NoSamples | Self::NoCalls => {
                Some("put more load on the server, or use a longer window (-d)".to_owned())
            }
            Self::Folder(_) => Some("set TMPDIR to a folder that can be written".to_owned()),
            Self::Start(_) | Self::Read(_) => None,
        }
    }
}

/// The rights that a command of perf that failed may lack; none if it needs none.
fn rights_hint(command: PerfCommand, is_root: bool, paranoid: Option<i32>) -> Option<String> {
    let hint = match (command, is_root, paranoid) {
        (PerfCommand::Record, false, Some(level @ 2..)) => {
            return Some(format!(
                "kernel.perf_event_paranoid is {level}: run `sysctl kernel.perf_event_paranoid=1` as root, or run Paceline as root; both also need to own the server's processes"
            ));
        }
        (PerfCommand::Record, false, _) => "run Paceline as the user of the server's processes, or as root",
        (PerfCommand::Record, true, _) => {
            "in a container perf needs the capability PERFMON (docker run --cap-add PERFMON) and a seccomp profile that permits perf_event_open"
        }
        (PerfCommand::Trace, false, _) => {
            "run Paceline as root: perf reads /sys/kernel/tracing, which other users may not"
        }
        (PerfCommand::Trace, true, _) => {
            "in a container perf needs the capabilities PERFMON and IPC_LOCK (for its buffers) and the tracing of the kernel (docker run --cap-add PERFMON --cap-add IPC_LOCK -v /sys/kernel/tracing:/sys/kernel/tracing)"
        }
        (PerfCommand::Script, ..) => return None,
    };
    Some(hint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_rights_name_the_setting() {
        let of = |command, is_root, paranoid| ProfileError::Failed {
            command,
            message: "no".to_owned(),
            paranoid,
            is_root,
            limit: None,
        };
        let failed = |is_root, paranoid| of(PerfCommand::Record, is_root, paranoid);
        assert!(failed(false, Some(3)).hint().unwrap().contains("sysctl kernel.perf_event_paranoid=1"));
        assert!(failed(true, Some(3)).hint().unwrap().contains("PERFMON"));
        assert!(failed(false, Some(-1)).hint().unwrap().contains("user of the server"));
        assert!(of(PerfCommand::Trace, false, None).hint().unwrap().contains("as root"));
        assert!(of(PerfCommand::Trace, true, None).hint().unwrap().contains("/sys/kernel/tracing"));
        assert_eq!(of(PerfCommand::Script, true, None).hint(), None, "it reads a file of this user");
        assert!(ProfileError::NotInstalled.hint().unwrap().contains("linux-perf"));
    }
}
