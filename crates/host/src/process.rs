//! Processes as `/proc` shows them: their descent, and the CPU time and memory each has used so far.
//!
//! A process may end between two reads, so every reader returns `None` instead of an error.

use crate::system::{self, Pid};
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::str::SplitAsciiWhitespace;
use std::thread;
use std::time::{Duration, Instant};

/// More bytes than `status`, the longest of the files that are read whole, has on any machine.
const LONGEST_TEXT: u64 = 64 * 1024;
/// Interval at which processes are killed again: one may have been forked meanwhile.
const KILL_AGAIN: Duration = Duration::from_millis(10);

/// The fields of `/proc/PID/stat` that are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// The parent.
    pub parent: Pid,
    /// The session, identified by the process that created it.
    pub session: Pid,
    /// User and system time, in clock ticks.
    pub cpu_ticks: u64,
    /// The system time among them.
    pub system_ticks: u64,
    /// User and system time of children it waited for, and of their descendants, in clock ticks.
    pub children_ticks: u64,
    /// The system time among them.
    pub children_system_ticks: u64,
    /// Threads.
    pub threads: u32,
    /// When it started, in clock ticks since boot.
    pub started_ticks: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Resident memory, in pages.
    pub rss_pages: u64,
}

/// One process, distinct from later ones with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessIdentity {
    /// Its id.
    pub pid: Pid,
    /// When it started, in clock ticks since boot.
    pub started_ticks: u64,
}

/// A thread's scheduler counters so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// Voluntary switches: the thread gave up its core.
    pub voluntary_switches: u64,
    /// Involuntary switches: the thread was preempted.
    pub involuntary_switches: u64,
    /// Time on a core, and time waiting for one.
    pub times: CoreNanos,
}

impl Stat {
    /// Reads `/proc/PID/stat` of a process.
    pub fn read(pid: Pid) -> Option<Stat> {
        Self::parse(&text(&format!("/proc/{pid}/stat"))?)
    }

    /// The name in parentheses may contain any character, so fields are counted from the last parenthesis: see
    /// proc_pid_stat(5).
    fn parse(line: &str) -> Option<Stat> {
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        // Field 3, the state, is the first after the name.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Stat {
            parent: number(4)?.try_into().ok()?,
            session: number(6)?.try_into().ok()?,
            major_faults: number(12)?,
            cpu_ticks: number(14)?.saturating_add(number(15)?),
            system_ticks: number(15)?,
            children_ticks: number(16)?.saturating_add(number(17)?),
            children_system_ticks: number(17)?,
            threads: number(20)?.try_into().ok()?,
            started_ticks: number(22)?,
            rss_pages: number(24)?,
        })
    }

    /// Whether a process has ended: it does not exist, or is a zombie.
    pub fn is_ended(pid: Pid) -> bool {
        is_of_ended(&text(&format!("/proc/{pid}/stat")).unwrap_or_default())
    }
}

/// Whether a line of `/proc/PID/stat` is that of a zombie or a dead process, or has no state.
fn is_of_ended(line: &str) -> bool {
    let state = line.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    state.is_none_or(|state| matches!(state, 'Z' | 'X'))
}

impl ProcessIdentity {
    /// The process that has this id now.
    pub fn from_pid(pid: Pid) -> Option<Self> {
        Some(Self { pid, started_ticks: Stat::read(pid)?.started_ticks })
    }

    /// Whether it is known to have ended; a zombie has.
    pub fn has_ended(self) -> bool {
        matches!(self.is_alive(), Ok(false))
    }

    fn is_alive(self) -> io::Result<bool> {
        match read_text(&format!("/proc/{}/stat", self.pid)) {
            Ok(line) => {
                let is_this = Stat::parse(&line).is_some_and(|stat| stat.started_ticks == self.started_ticks);
                Ok(is_this && !is_of_ended(&line))
            }
            // It ended before the file was opened, or before it was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Kills it, and no other process that has its id by now.
    pub(crate) fn kill(self) {
        self.signal(Signal::KILL);
    }

    /// Sends it a signal, and none to another process that has its id by now.
    pub fn signal(self, signal: Signal) {
        let opened = rustix::process::Pid::from_raw(self.pid)
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        // If it is alive now, the descriptor is its own. A signal that fails: it has ended, or may not be signalled.
        match opened {
            _ if !matches!(self.is_alive(), Ok(true)) => {}
            Some(process) => _ = pidfd_send_signal(process, signal),
            // Before Linux 5.3, and in sandboxes that refuse pidfd_open(2).
            None => _ = system::kill(self.pid, signal.as_raw()),
        }
    }
}

impl Scheduling {
    /// Reads a thread's counters; zero if the kernel does not keep them.
    pub fn read(pid: Pid, thread: Pid) -> Option<Scheduling> {
        let status = text(&format!("/proc/{pid}/task/{thread}/status"))?;
        let schedstat = text(&format!("/proc/{pid}/task/{thread}/schedstat")).unwrap_or_default();
        Some(Self::parse(&status, &schedstat))
    }

    fn parse(status: &str, schedstat: &str) -> Scheduling {
        let count = |key: &str| {
            let line = status.lines().rev().find_map(|line| line.strip_prefix(key));
            line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
        };
        Scheduling {
            voluntary_switches: count("voluntary_ctxt_switches:"),
            involuntary_switches: count("nonvoluntary_ctxt_switches:"),
            times: CoreNanos::parse(schedstat).unwrap_or_default(),
        }
    }
}

/// See [`crate::fuzz_proc_text`].
pub(crate) fn fuzz(text: &str) {
    let (first, second) = text.split_once("\n---\n").unwrap_or((text, ""));
    let _ = Stat::parse(first);
    let _ = Scheduling::parse(first, second);
}

/// Whether a thread is running or runnable. The kernel updates the counter of that wait only when the wait is over.
pub fn is_runnable(pid: Pid, thread: Pid) -> bool {
    let status = text(&format!("/proc/{pid}/task/{thread}/status")).unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("State:"))
        .is_some_and(|state| state.trim().starts_with('R'))
}

/// Time that a thread has been on a core and time that it waited for one, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreNanos {
    /// On a core.
    pub on_core_ns: u64,
    /// Runnable, but not on a core.
    pub run_delay_ns: u64,
}

impl CoreNanos {
    /// Reads `schedstat`: time on a core, time waiting for one, time slices (Documentation/scheduler/sched-stats.rst).
    fn parse(schedstat: &str) -> Option<Self> {
        let mut times = schedstat.split_ascii_whitespace().map(|n| n.parse().ok());
        Some(Self { on_core_ns: times.next()??, run_delay_ns: times.next()?? })
    }
}

/// The time of a thread on a core; `None` if the kernel does not keep this counter.
pub fn core_time(pid: Pid, thread: Pid) -> Option<CoreNanos> {
    CoreNanos::parse(&text(&format!("/proc/{pid}/task/{thread}/schedstat"))?)
}

/// The threads of a process.
pub fn threads(pid: Pid) -> Vec<Pid> {
    numbered(&format!("/proc/{pid}/task"))
}

/// What the open descriptors of a process are links to, such as `socket:[7]`, as far as `/proc` shows them.
pub fn descriptors(pid: Pid) -> impl Iterator<Item = PathBuf> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    open.filter_map(|fd| fs::read_link(fd.path()).ok())
}

/// Gives the calling thread the lowest priority (nice 19): on a shared core it runs after others.
pub fn run_thread_last() {
    // For "this process" the kernel uses the calling thread alone (setpriority(2), "C library/kernel differences"). If
    // it refuses, the priority is unchanged.
    let _ = rustix::process::setpriority_process(None, 19);
}

/// Number of open sockets of a process.
pub fn sockets(pid: Pid) -> u64 {
    let is_socket = |link: &PathBuf| link.as_os_str().as_encoded_bytes().starts_with(b"socket:");
    descriptors(pid).filter(is_socket).count() as u64
}

/// The proportional share of a process's memory, in bytes: pages shared by n processes count one n-th in each.
pub fn pss_bytes(pid: Pid) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let kilobytes: u64 = rollup
        .lines()
        .find_map(|line| line.strip_prefix("Pss:"))?
        .trim()
        .strip_suffix("kB")?
        .trim()
        .parse()
        .ok()?;
    Some(kilobytes * 1024)
}

/// Bytes that a process, and the children it waited for, have read from disk so far; reads from the page cache do not
/// count.
pub fn disk_read_bytes(pid: Pid) -> Option<u64> {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    io.lines().find_map(|line| line.strip_prefix("read_bytes:"))?.trim().parse().ok()
}

/// Every visible process.
pub fn all() -> Vec<Pid> {
    numbered("/proc")
}

/// Every process of a session, including its leader.
pub fn session(leader: Pid) -> Vec<Pid> {
    all().into_iter().filter(|pid| Stat::read(*pid).is_some_and(|stat| stat.session == leader)).collect()
}

/// The ancestors of a process, the nearest first, as far as `/proc` shows them.
pub fn ancestors(pid: Pid) -> Vec<Pid> {
    let parent = |pid: &Pid| Some(Stat::read(*pid)?.parent).filter(|parent| *parent > 0);
    std::iter::successors(parent(&pid), parent).collect()
}

/// Every process that descends from one of `roots`, without these, parents before children.
pub fn descendants(roots: &[Pid]) -> Vec<Pid> {
    let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
    for pid in numbered("/proc") {
        if let Some(stat) = Stat::read(pid) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut found = roots.to_vec();
    let mut seen: HashSet<Pid> = roots.iter().copied().collect();
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        // A process id that is reused during the read could create a cycle.
        found.extend(children.get(&pid).into_iter().flatten().filter(|child| seen.insert(**child)));
        next += 1;
    }
    found.split_off(roots.len())
}

/// Processes and all their descendants.
pub fn with_descendants(roots: &[Pid]) -> Vec<Pid> {
    let mut pids = roots.to_vec();
    pids.extend(descendants(roots));
    pids
}

/// Sends SIGKILL to a process, which may already have ended.
pub(crate) fn kill(pid: Pid) {
    let _ = system::kill(pid, libc::SIGKILL);
}

/// Kills what `find` returns until that is nothing, for at most `limit`.
pub(crate) fn kill_until_none<P>(limit: Duration, mut find: impl FnMut() -> Vec<P>, mut kill: impl FnMut(P)) {
    let begun = Instant::now();
    loop {
        let left = find();
        if left.is_empty() || begun.elapsed() > limit {
            return;
        }
        left.into_iter().for_each(&mut kill);
        thread::sleep(KILL_AGAIN);
    }
}

/// This process.
pub fn own() -> Pid {
    std::process::id().cast_signed()
}

/// The number of a process in its innermost PID namespace, which is how it knows itself; `None` if it has ended, or the
/// kernel has no such namespaces.
pub fn number_inside(pid: Pid) -> Option<Pid> {
    namespace_numbers(&file(pid, "status")?)?.next_back()?.parse().ok()
}

/// The numbers of a process in each PID namespace from this one down, from its `status` (proc_pid_status(5)).
pub(crate) fn namespace_numbers(status: &str) -> Option<SplitAsciiWhitespace<'_>> {
    let numbers = status.lines().rev().find_map(|line| line.strip_prefix("NSpid:"))?;
    Some(numbers.split_ascii_whitespace())
}

/// The user that a process runs as.
pub(crate) fn user(pid: Pid) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata(format!("/proc/{pid}")).ok().map(|folder| folder.uid())
}

/// A file of a process's folder in `/proc` as text.
pub(crate) fn file(pid: Pid, name: &str) -> Option<String> {
    text(&format!("/proc/{pid}/{name}"))
}

/// A file of `/proc` as text. A process may give itself any bytes as its name: those that are not UTF-8 are replaced.
pub(crate) fn text(path: &str) -> Option<String> {
    read_text(path).ok()
}

fn read_text(path: &str) -> io::Result<String> {
    // Room for a whole file from the beginning, so that one read suffices: a run reads one for every process.
    let mut bytes = Vec::with_capacity(4096);
    fs::File::open(path)?.take(LONGEST_TEXT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The entries of a folder whose names are numbers.
fn numbered(folder: &str) -> Vec<Pid> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_may_contain_any_character() {
        let line = "7 (a) b (c) S 3 7 7 0 -1 4194304 1 2 3 4 50 60 70 80 20 0 9 0 123 4096 77 1 2";
        let expected = Stat {
            parent: 3,
            session: 7,
            major_faults: 3,
            cpu_ticks: 110,
            system_ticks: 60,
            children_ticks: 150,
            children_system_ticks: 80,
            threads: 9,
            started_ticks: 123,
            rss_pages: 77,
        };
        assert_eq!(Stat::parse(line), Some(expected));
        assert_eq!(Stat::parse("7 (broken"), None);
    }

    #[test]
    fn a_name_that_is_not_utf_8_hides_no_process() {
        let (own, name) = (std::process::id() as Pid, b"\xff\xfe) S\0");
        let thread = std::thread::spawn(move || {
            // SAFETY: the name ends with a NUL and is at most 16 bytes long.
            assert_eq!(unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) }, 0);
            let thread = unsafe { libc::gettid() };
            assert!(std::fs::read_to_string(format!("/proc/{own}/task/{thread}/stat")).is_err());
            (Stat::read(thread).map(|stat| stat.parent), Scheduling::read(own, thread).is_some())
        });
        assert_eq!(thread.join().unwrap(), (Stat::read(own).map(|stat| stat.parent), true));
    }

    #[test]
    fn a_running_process_is_runnable_and_a_sleeping_one_is_not() {
        let own = std::process::id() as Pid;
        // SAFETY: takes no arguments and cannot fail.
        assert!(is_runnable(own, unsafe { libc::gettid() }));
        let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = sleeper.id() as Pid;
        while is_runnable(pid, pid) {
            std::thread::yield_now();
        }
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert!(!is_runnable(pid, pid), "what has gone does not run");
    }

    #[test]
    fn a_reused_pid_is_not_killed() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let process = ProcessIdentity::from_pid(child.id() as Pid).unwrap();
        let earlier = ProcessIdentity { started_ticks: process.started_ticks - 1, ..process };
        assert!(earlier.has_ended() && !process.has_ended());
        earlier.kill();
        assert!(child.try_wait().unwrap().is_none(), "it only has the id of the earlier process");
        process.kill();
        assert!(!child.wait().unwrap().success());
        assert!(process.has_ended());
    }

    #[test]
    fn scheduling_is_read_by_key() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t41\nnonvoluntary_ctxt_switches:\t7\n";
        let times = CoreNanos { on_core_ns: 1000, run_delay_ns: 500 };
        let expected = Scheduling { voluntary_switches: 41, involuntary_switches: 7, times };
        assert_eq!(Scheduling::parse(status, "1000 500 3\n"), expected);
    }

    #[test]
    fn the_number_inside_is_the_last_one() {
        let last = |status| namespace_numbers(status).and_then(|mut numbers| numbers.next_back());
        assert_eq!(last("Name:\tnode\nNSpid:\t8676\t12\t2\n"), Some("2"));
        assert_eq!(last("Name:\tnode\nNSpid:\t8676\n"), Some("8676"));
        assert_eq!(last("Name:\tnode\n"), None);
        assert_eq!(number_inside(i32::MAX), None);
    }

    #[test]
    fn this_process_is_a_descendant_of_its_parent() {
        let own = std::process::id().cast_signed();
        let stat = Stat::read(own).unwrap();
        assert!(stat.threads >= 1 && stat.rss_pages > 0);
        assert!(descendants(&[stat.parent]).contains(&own));
        assert_eq!(
            descendants(&[stat.parent, own]).iter().filter(|pid| **pid == own).count(),
            0,
            "it is a root"
        );
        assert!(threads(own).contains(&own));
    }
}
