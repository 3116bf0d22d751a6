//! Why there is no profile.

use std::io;

/// Why there is no profile. The caller reports it beside the result of the run.
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
        /// `record`, `script` or `trace`.
        command: &'static str,
        /// The line of its output that says why.
        message: String,
        /// The kernel's setting that permits profiling (`kernel.perf_event_paranoid`).
        paranoid: Option<i32>,
        /// Whether this process runs as root.
        is_root: bool,
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
            Self::Failed { command: "record", is_root: false, paranoid: Some(level @ 2..), .. } => Some(format!(
                "kernel.perf_event_paranoid is {level}: run `sysctl kernel.perf_event_paranoid=1` as root, or run Paceline as root; both also need to own the server's processes"
            )),
            Self::Failed { command: "record", is_root: true, .. } => Some(
                "in a container perf needs the capability PERFMON (docker run --cap-add PERFMON) and a seccomp profile that permits perf_event_open".to_owned(),
            ),
            Self::Failed { command: "record", .. } => {
                Some("run Paceline as the user of the server's processes, or as root".to_owned())
            }
            Self::Failed { command: "trace", is_root: false, .. } => Some(
                "run Paceline as root: perf reads /sys/kernel/tracing, which other users may not".to_owned(),
            ),
            Self::Failed { command: "trace", is_root: true, .. } => Some(
                "in a container perf needs the capabilities PERFMON and IPC_LOCK (for its buffers) and the tracing of the kernel (docker run --cap-add PERFMON --cap-add IPC_LOCK -v /sys/kernel/tracing:/sys/kernel/tracing)".to_owned(),
            ),
            // Since Linux commit 8eded45fcd34 perf trace counts errors.
            Self::UnknownTable => Some("use perf of Linux 5.5 or newer".to_owned()),
            Self::NotBegun => {
                Some("use a longer window (-d), or leave perf a core that is not busy".to_owned())
            }
            Self::NoSamples | Self::NoCalls => {
                Some("put more load on the server, or use a longer window (-d)".to_owned())
            }
            Self::Folder(_) => Some("set TMPDIR to a folder that can be written".to_owned()),
            Self::Start(_) | Self::Failed { .. } | Self::Read(_) => None,
        }
    }
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
        };
        let failed = |is_root, paranoid| of("record", is_root, paranoid);
        assert!(failed(false, Some(3)).hint().unwrap().contains("sysctl kernel.perf_event_paranoid=1"));
        assert!(failed(true, Some(3)).hint().unwrap().contains("PERFMON"));
        assert!(failed(false, Some(-1)).hint().unwrap().contains("user of the server"));
        assert!(of("trace", false, None).hint().unwrap().contains("as root"));
        assert!(of("trace", true, None).hint().unwrap().contains("/sys/kernel/tracing"));
        assert!(ProfileError::NotInstalled.hint().unwrap().contains("linux-perf"));
    }
}
