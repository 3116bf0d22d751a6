//! Finds and ends the processes of a launch whose shepherd was killed.
//!
//! Without a PID namespace, processes that a server has forked outlive a killed shepherd. In another session and under
//! another parent only an inherited attribute shows where they came from: the soft limit on file locks, which Linux has
//! not enforced since 2.4.25 (getrlimit(2)). It survives a change of the environment, and process titles, which
//! overwrite the environment; every user can read it in `/proc/PID/limits`. It names the shepherd: its id and when it
//! started. Processes of a launch whose shepherd lives are never touched, nor those of another user's launch.

use crate::cgroup::ControlGroup;
use crate::process::{self, ProcessIdentity};
use crate::system::{self, Pid};
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::time::Duration;

/// How long left-over processes may take to end after SIGKILL.
const END_LIMIT: Duration = Duration::from_secs(2);

/// The highest bits of a mark: limits that were set for another reason do not have them. Bit 63 stays free, since some
/// programs read limits as signed numbers.
const TAG: u64 = 0b1011;
const TAG_SHIFT: u32 = 59;
const ROOT_SHIFT: u32 = 58;
/// A process id is less than 2^22: PID_MAX_LIMIT of the kernel.
const PID_BITS: u32 = 22;
/// Clock ticks of 21 years, at 100 per second.
const TICKS_BITS: u32 = 36;

/// Kills the processes of earlier launches of this user whose shepherd was killed, and those in control groups of labs
/// that have ended; removes these groups. Returns how many processes there were.
pub fn end_left_overs() -> usize {
    // A lab that was itself started by such a launch does not end itself.
    let own = LaunchMark::from_pid(process::own());
    end(|mark| Some(mark) != own && mark.shepherd.has_ended()) + ControlGroup::sweep()
}

/// Kills the processes of the launch of a shepherd that has ended.
pub(crate) fn end_launch(shepherd: ProcessIdentity) {
    end(|mark| mark.shepherd == shepherd);
}

/// Kills the processes of this user's launches with such a mark, until none is left; returns how many there were.
fn end(is_meant: impl Fn(LaunchMark) -> bool) -> usize {
    let left = || -> Vec<ProcessIdentity> {
        let marked = process::all().into_iter().filter_map(|pid| Some((LaunchMark::from_pid(pid)?, pid)));
        let left = marked.filter(|(mark, pid)| mark.is_of_this_user(*pid) && is_meant(*mark));
        let left = left.filter_map(|(mark, pid)| mark.confirm(pid));
        left.filter(|process| !process.has_ended()).collect()
    };
    let mut killed = HashSet::new();
    process::kill_until_none(END_LIMIT, left, |process: ProcessIdentity| {
        process.kill();
        killed.insert(process);
    });
    killed.len()
}

/// The mark of a launch, which all its processes inherit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaunchMark {
    shepherd: ProcessIdentity,
    /// Whether root runs the lab. Its servers may run as any user.
    by_root: bool,
}

impl LaunchMark {
    /// The mark of this shepherd.
    pub(crate) fn of_this_process() -> Option<Self> {
        let shepherd = ProcessIdentity::from_pid(process::own())?;
        let fits = shepherd.pid < 1 << PID_BITS && shepherd.started_ticks < 1 << TICKS_BITS;
        fits.then(|| Self { shepherd, by_root: rustix::process::geteuid().is_root() })
    }

    /// Marks this process and its future descendants.
    pub(crate) fn set(self) -> io::Result<()> {
        system::set_file_locks(self.encode())
    }

    /// The mark of a process in this PID namespace: in another one the shepherd's id has another meaning.
    fn from_pid(pid: Pid) -> Option<Self> {
        let mark = Self::parse(&process::file(pid, "limits")?)?;
        is_in_this_namespace(&process::file(pid, "status")?).then_some(mark)
    }

    fn encode(self) -> u64 {
        let ProcessIdentity { pid, started_ticks } = self.shepherd;
        TAG << TAG_SHIFT
            | u64::from(self.by_root) << ROOT_SHIFT
            | u64::from(pid.cast_unsigned()) << TICKS_BITS
            | started_ticks
    }

    fn decode(limit: u64) -> Option<Self> {
        let pid = (limit >> TICKS_BITS & ((1 << PID_BITS) - 1)) as Pid;
        let shepherd = ProcessIdentity { pid, started_ticks: limit & ((1 << TICKS_BITS) - 1) };
        let mark = Self { shepherd, by_root: limit >> ROOT_SHIFT & 1 == 1 };
        (limit >> TAG_SHIFT == TAG && pid > 0).then_some(mark)
    }

    /// Reads `/proc/PID/limits`: proc_pid_limits(5).
    fn parse(limits: &str) -> Option<Self> {
        let values = limits.lines().find_map(|line| line.strip_prefix("Max file locks "))?;
        Self::decode(values.split_ascii_whitespace().next()?.parse().ok()?)
    }

    /// Whether this user's lab made the launch of a process with this mark.
    fn is_of_this_user(self, pid: Pid) -> bool {
        let own = rustix::process::geteuid();
        self.by_root == own.is_root() && (own.is_root() || process::user(pid) == Some(own.as_raw()))
    }

    /// The process with this id, if it is the one with this mark and can descend from the shepherd: it is not older.
    /// The mark is read again, since the id may have passed to another process.
    fn confirm(self, pid: Pid) -> Option<ProcessIdentity> {
        let process = ProcessIdentity::from_pid(pid)?;
        let is_younger = process.started_ticks >= self.shepherd.started_ticks;
        (is_younger && Self::from_pid(pid) == Some(self)).then_some(process)
    }
}

/// Whether a process's `status` has a single id: one for each PID namespace from this one down, proc_pid_status(5). A
/// kernel without PID namespaces shows none.
fn is_in_this_namespace(status: &str) -> bool {
    match process::namespace_numbers(status) {
        Some(ids) => ids.count() == 1,
        None => !Path::new("/proc/self/ns/pid").exists(),
    }
}

/// See [`crate::fuzz_proc_text`].
pub(crate) fn fuzz(text: &str) {
    if let Some(mark) = LaunchMark::parse(text) {
        assert_eq!(LaunchMark::decode(mark.encode()), Some(mark));
    }
    is_in_this_namespace(text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    fn mark(pid: Pid, started_ticks: u64, by_root: bool) -> LaunchMark {
        LaunchMark { shepherd: ProcessIdentity { pid, started_ticks }, by_root }
    }

    #[test]
    fn a_resource_limit_stores_a_mark() {
        for mark in [mark(1, 0, false), mark((1 << PID_BITS) - 1, (1 << TICKS_BITS) - 1, true)] {
            assert_eq!(LaunchMark::decode(mark.encode()), Some(mark));
            assert!(i64::try_from(mark.encode()).is_ok());
        }
        assert_eq!([0, 1024, u64::MAX, u64::MAX >> 1, TAG << TAG_SHIFT].map(LaunchMark::decode), [None; 5]);
    }

    #[test]
    fn a_mark_is_read_from_proc() {
        let text = |value: u64| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max file locks            {value}  unlimited            locks     \n\
                 Max pending signals       7                    7                    signals   \n"
            )
        };
        assert_eq!(LaunchMark::parse(&text(mark(7, 9, true).encode())), Some(mark(7, 9, true)));
        assert_eq!(LaunchMark::parse("Max file locks            unlimited            unlimited\n"), None);
        assert!(is_in_this_namespace("Name:\tx\nNSpid:\t17\n") && !is_in_this_namespace("NSpid:\t17\t1\n"));
        assert!(!is_in_this_namespace("Name:\tx\n"), "an old kernel does not say");
    }

    /// A process with a mark.
    fn marked(mark: LaunchMark) -> Child {
        let mut command = Command::new("sleep");
        // SAFETY: two system calls between fork and exec.
        unsafe { command.arg("600").pre_exec(move || mark.set()) };
        command.spawn().unwrap()
    }

    /// The mark of a shepherd that has ended.
    fn ended() -> LaunchMark {
        let mut shepherd = Command::new("true").spawn().unwrap();
        let identity = ProcessIdentity::from_pid(shepherd.id().cast_signed()).unwrap();
        shepherd.wait().unwrap();
        LaunchMark { shepherd: identity, ..LaunchMark::of_this_process().unwrap() }
    }

    #[test]
    fn processes_of_a_shepherd_that_has_ended_are_killed_and_no_others() {
        let (ended, running) = (ended(), LaunchMark::of_this_process().unwrap());
        let is_later = |mark: LaunchMark| ProcessIdentity { started_ticks: u64::MAX >> 28, ..mark.shepherd };
        let mut left = marked(ended);
        let mut others = [
            marked(running),
            // Of another user's lab, and older than its shepherd.
            marked(LaunchMark { by_root: !ended.by_root, ..ended }),
            marked(LaunchMark { shepherd: is_later(ended), ..ended }),
        ];
        let reaper = std::thread::spawn(move || left.wait().unwrap());
        // Not the number: a lab that starts meanwhile, in another test, may end the process first.
        end_left_overs();
        assert!(!reaper.join().unwrap().success(), "it was killed");
        for other in &mut others {
            assert!(other.try_wait().unwrap().is_none());
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }
}
