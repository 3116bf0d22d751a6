//! The protocol between the lab and a shepherd: JSON, one object per line.
//!
//! The shepherd reads the order from its standard input and writes the reports to its standard output.

use crate::inherited::InheritedVariables;
use crate::user::User;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A command to start and to watch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShepherdOrder {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where it runs.
    pub folder: PathBuf,
    /// Variables set in addition to those that it inherits.
    pub env: BTreeMap<String, String>,
    /// Which variables of the lab's environment it inherits.
    pub inherits: InheritedVariables,
    /// Further variables that it inherits, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// The cores it may run on; empty for those of the lab.
    pub cores: Vec<u32>,
    /// Where its output is written.
    pub output: CommandOutput,
    /// Folders of control groups it joins, removed at the end.
    pub groups: Vec<PathBuf>,
    /// How its descendants are held together.
    pub guard: TrackingMethod,
    /// How long it may take to end after SIGTERM, in milliseconds.
    pub stop_limit_ms: u64,
    /// The user it runs as, permanently; `None` for the lab's user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<User>,
    /// The file system as it sees it, if that differs from the machine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<FileView>,
    /// One descriptor of the shepherd that the command inherits, in addition to the standard three.
    pub inherit: Option<i32>,
    /// Files that the shepherd writes when all processes of the command have ended, for any reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restore: Vec<Restore>,
    /// A file that is removed when all processes of the command have ended and everything is restored: the list of what
    /// is to be written back, or a file that is only needed while the command runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore_note: Option<PathBuf>,
}

impl ShepherdOrder {
    /// A command of the lab itself: as its user, with its variables, and on its cores. Its processes are held by a
    /// subreaper, which disturbs one well-behaved process least.
    pub fn plain(command: Vec<String>, folder: PathBuf, stop_limit: Duration) -> Self {
        Self {
            command,
            folder,
            env: BTreeMap::new(),
            inherits: InheritedVariables::All,
            pass_env: Vec::new(),
            cores: Vec::new(),
            output: CommandOutput::Inherit,
            groups: Vec::new(),
            guard: TrackingMethod::Subreaper,
            stop_limit_ms: stop_limit.as_millis() as u64,
            user: None,
            view: None,
            inherit: None,
            restore: Vec::new(),
            restore_note: None,
        }
    }
}

/// The file system as a command sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileView {
    /// Host names that resolve, beside those of the machine.
    pub hosts: BTreeMap<String, IpAddr>,
    /// The files of an image as its root, in place of the machine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<ImageRoot>,
}

/// The files of an image as the root of a command. Its processes have no capabilities and can gain none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageRoot {
    /// The folder with the files, which are not changed: what the command writes is kept in memory until it ends.
    pub folder: PathBuf,
    /// Where the command starts, in the image.
    pub workdir: PathBuf,
    /// Files and folders of the machine that it can read, by their absolute path in the image.
    pub mounts: BTreeMap<PathBuf, PathBuf>,
    /// Whether it may use io_uring.
    pub io_uring: bool,
}

impl FileView {
    /// The hosts file: the names of the command, then the machine's lines without these names. A name of both would
    /// have both addresses, and getaddrinfo(3) returns `::1` of the machine's `localhost` first, where no database
    /// listens.
    pub(super) fn hosts_text(&self, machine: &str) -> String {
        let mut text: String =
            self.hosts.iter().map(|(name, address)| format!("{address}\t{name}\n")).collect();
        for line in machine.lines().filter_map(|line| self.without_own_names(line)) {
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    /// A line of the machine's hosts file without the names of the command; `None` if it had no others.
    fn without_own_names(&self, line: &str) -> Option<String> {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let address = words.next().unwrap_or_default();
        // Host names have no case (RFC 4343).
        let is_own = |name: &&str| self.hosts.keys().any(|own| own.eq_ignore_ascii_case(name));
        let (own, others): (Vec<&str>, Vec<&str>) = words.partition(is_own);
        match (own.is_empty(), others.is_empty()) {
            (true, _) => Some(line.to_owned()),
            (false, false) => Some(format!("{address}\t{}", others.join(" "))),
            (false, true) => None,
        }
    }
}

/// A file and the content to restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    /// The file.
    pub path: PathBuf,
    /// The content before the change.
    pub value: String,
    /// The content written in its place. If the file holds another value, it was changed since by another process.
    /// Unknown in notes of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
}

impl Restore {
    /// What the file holds now.
    pub fn now(&self) -> Option<String> {
        setting(&self.path)
    }

    /// Whether the file holds its earlier content again.
    pub fn is_done(&self) -> bool {
        self.now().as_ref() == Some(&self.value)
    }
}

/// The value of a setting, with single spaces: ports are separated by a tab.
pub(crate) fn setting(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Writes a setting. It is not created, and a link in its place is not followed.
pub(crate) fn put_setting(path: &Path, value: &str) -> io::Result<()> {
    let no_link = OFlags::NOFOLLOW.bits().cast_signed();
    let mut file = fs::OpenOptions::new().write(true).truncate(true).custom_flags(no_link).open(path)?;
    file.write_all(value.as_bytes())
}

/// How descendants are tracked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrackingMethod {
    /// A PID namespace; the fallback is `Subreaper`, if none can be created.
    #[default]
    Namespace,
    /// The shepherd adopts orphans and kills descendants until there are none.
    Subreaper,
}

/// Where a command's output is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandOutput {
    /// Both streams into one file of bounded length: the beginning and the end are kept.
    Bounded {
        /// The file, replaced if it exists.
        path: PathBuf,
        /// How much of the beginning is kept.
        head_bytes: u64,
        /// How much of the end is kept.
        tail_bytes: u64,
    },
    /// Each stream into a separate file, whole.
    Files {
        /// The file of standard output.
        stdout: PathBuf,
        /// The file of standard error.
        stderr: PathBuf,
    },
    /// Both to the lab's standard error, for the user to see.
    Inherit,
}

/// A report of a shepherd.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum ShepherdReport {
    /// The command runs.
    Started {
        /// Its process id, in the lab's namespace.
        pid: i32,
        /// When it was forked, on the monotonic clock, in nanoseconds.
        monotonic_ns: u64,
        /// Processes of the shepherd, which do not count as the server's.
        own: Vec<i32>,
        /// `pid_namespace` or `subreaper`.
        guarantee: String,
    },
    /// The command could not be started.
    Failed {
        /// Why, for people.
        message: String,
        /// Whether the namespace caused the failure, so that an attempt without it may succeed.
        tracker: bool,
    },
    /// The command's own process ended, on request or not.
    Ended {
        /// Its exit code, unless a signal ended it.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// Whether it had been asked to end.
        asked: bool,
    },
    /// All processes of the command have ended.
    Gone {
        /// User CPU time of all processes that were waited for, in seconds.
        user_s: f64,
        /// System CPU time of the same, in seconds.
        system_s: f64,
        /// Peak resident memory of the largest of them, in bytes.
        rss_bytes_peak: u64,
        /// Whether any process had to be killed by force.
        forced: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn names_of_the_command_have_no_other_address() {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let own = ["localhost", "tfb-database"].map(|name| (name.to_owned(), here));
        let view = FileView { hosts: BTreeMap::from(own), root: None };
        let machine = "# static\n127.0.0.1 localhost\n::1\tip6-localhost LocalHost loopback # local\n\n\
                       10.0.0.2 tfb-database # localhost\n10.0.0.3 db # localhost";
        let expected = "127.0.0.1\tlocalhost\n127.0.0.1\ttfb-database\n# static\n::1\tip6-localhost loopback\n\n\
                        10.0.0.3 db # localhost\n";
        assert_eq!(view.hosts_text(machine), expected);
        assert_eq!(FileView::default().hosts_text(machine), format!("{machine}\n"));
    }

    #[test]
    fn a_report_survives_the_pipe() {
        let report = ShepherdReport::Gone { user_s: 1.5, system_s: 0.25, rss_bytes_peak: 4096, forced: true };
        let line = serde_json::to_string(&report).unwrap();
        let expected =
            r#"{"report":"gone","user_s":1.5,"system_s":0.25,"rss_bytes_peak":4096,"forced":true}"#;
        assert_eq!(line, expected);
        assert_eq!(serde_json::from_str::<ShepherdReport>(&line).unwrap(), report);
    }
}
