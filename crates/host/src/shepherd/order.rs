//! What the lab asks of a shepherd and what it hears back: JSON, one object a line.
//!
//! The order comes on the shepherd's standard input; the reports leave by its standard output.

use crate::user::User;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A command to start and to watch over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
    /// Variables set on top of the lab's own.
    pub env: BTreeMap<String, String>,
    /// The cores it may run on; empty for those of the lab.
    pub cores: Vec<u32>,
    /// Where what it prints goes.
    pub output: Output,
    /// Folders of control groups it joins, removed at the end.
    pub groups: Vec<PathBuf>,
    /// How its descendants are held together.
    pub guard: Guard,
    /// How long it may take to end after SIGTERM, in milliseconds.
    pub stop_limit_ms: u64,
    /// As whom it runs, for good; none for the lab's own user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<User>,
    /// One descriptor of the shepherd's that it inherits, beside the standard three.
    pub inherit: Option<i32>,
    /// Files the shepherd writes when nothing is left of the command, whatever ended it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restore: Vec<Restore>,
    /// A file that notes what is to be written back: removed when all of it is as it was, so that nobody goes by it
    /// later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore_note: Option<PathBuf>,
}

/// A file with what it is to hold again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    /// The file.
    pub path: PathBuf,
    /// What it held.
    pub value: String,
    /// What was written in its place; where it holds something else, somebody changed it since. Unknown in notes of
    /// older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
}

impl Restore {
    /// What the file holds now.
    pub fn now(&self) -> Option<String> {
        setting(&self.path)
    }

    /// Whether it holds what it held.
    pub fn is_done(&self) -> bool {
        self.now().as_ref() == Some(&self.value)
    }
}

/// The text of a setting, its spaces made one: ports are parted by a tab.
pub(crate) fn setting(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// How descendants are held together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    /// A PID namespace; the fallback is `Subreaper`, where none can be made.
    #[default]
    Namespace,
    /// The shepherd adopts orphans and kills descendants until there are none.
    Subreaper,
}

/// Where what a command prints goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Both streams into one file of bounded length: the beginning and the end are kept.
    Bounded {
        /// The file, replaced if it exists.
        path: PathBuf,
        /// How much of the beginning is kept.
        head_bytes: u64,
        /// How much of the end is kept.
        tail_bytes: u64,
    },
    /// Each stream into a file of its own, whole.
    Files {
        /// The file of standard output.
        stdout: PathBuf,
        /// The file of standard error.
        stderr: PathBuf,
    },
    /// Both to the lab's standard error, for a person to see.
    Inherit,
}

/// What a shepherd has to tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// The command runs.
    Started {
        /// Its process id, as the lab's namespace numbers it.
        pid: i32,
        /// When it was forked, on the monotonic clock, in nanoseconds.
        monotonic_ns: u64,
        /// Processes of the shepherd's own, not to be counted as the server's.
        own: Vec<i32>,
        /// `pid_namespace` or `subreaper`.
        guarantee: String,
    },
    /// The command could not be started.
    Failed {
        /// Why, for people.
        message: String,
        /// Whether the namespace is to blame, so that a try without may go well.
        fence: bool,
    },
    /// The command's own process ended, asked or not.
    Ended {
        /// Its exit code, unless a signal ended it.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// Whether it had been asked to.
        asked: bool,
    },
    /// Nothing is left of it.
    Gone {
        /// User CPU time of all processes that were waited for, in seconds.
        user_s: f64,
        /// System CPU time of the same, in seconds.
        system_s: f64,
        /// Peak resident memory of the largest of them, in bytes.
        rss_bytes_peak: u64,
        /// Whether anything had to be killed by force.
        forced: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_the_pipe() {
        let report = Report::Gone { user_s: 1.5, system_s: 0.25, rss_bytes_peak: 4096, forced: true };
        let line = serde_json::to_string(&report).unwrap();
        let expected =
            r#"{"report":"gone","user_s":1.5,"system_s":0.25,"rss_bytes_peak":4096,"forced":true}"#;
        assert_eq!(line, expected);
        assert_eq!(serde_json::from_str::<Report>(&line).unwrap(), report);
    }
}
