//! Tracks all descendants of a server, even if they fork, double-fork or call `setsid`.
//!
//! The shepherd is always a child subreaper, so that orphans become its children. If the kernel permits it, there is
//! also a PID namespace, whose processes the kernel kills when its init ends; this works even when the shepherd is
//! killed.

use super::TrackingMethod;
use crate::process;
use crate::system::{self, Pid, WaitResult};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};

/// How descendants are tracked.
pub enum DescendantTracker {
    /// A PID namespace.
    Namespace {
        /// Its init, which ends when the shepherd ends.
        init: Pid,
        /// The init polls the other end, which closes when the shepherd ends for any reason.
        _lifeline: OwnedFd,
    },
    /// The subreaper alone.
    Subreaper,
}

impl DescendantTracker {
    /// Starts tracking. Children started from now on are tracked.
    ///
    /// # Errors
    /// When the namespace was only partly created: this process cannot start a child any more; another shepherd may run
    /// without a namespace.
    ///
    /// # Safety
    /// The caller must have only one thread: the init is forked from it.
    pub unsafe fn start(guard: TrackingMethod) -> io::Result<DescendantTracker> {
        system::become_subreaper()?;
        if guard == TrackingMethod::Subreaper || !enter_namespaces()? {
            return Ok(DescendantTracker::Subreaper);
        }
        let (lifeline_end, lifeline) = system::pipe()?;
        // SAFETY: the caller promises to be the only thread.
        match unsafe { system::fork() }? {
            Some(init) => Ok(DescendantTracker::Namespace { init, _lifeline: lifeline }),
            None => be_init(lifeline_end.as_raw_fd()),
        }
    }

    /// The name of the guarantee in the record.
    pub fn guarantee(&self) -> &'static str {
        match self {
            DescendantTracker::Namespace { .. } => "pid_namespace",
            DescendantTracker::Subreaper => "subreaper",
        }
    }

    /// The processes of the tracker, which do not belong to the server.
    pub fn own(&self) -> Vec<Pid> {
        match self {
            DescendantTracker::Namespace { init, .. } => vec![*init],
            DescendantTracker::Subreaper => Vec::new(),
        }
    }

    /// Sends SIGTERM to every process of the command.
    pub fn terminate_all(&self) {
        let own = self.own();
        for pid in process::descendants(&[process::own()]) {
            if !own.contains(&pid) {
                // It may already have ended.
                let _ = system::kill(pid, libc::SIGTERM);
            }
        }
    }

    /// Sends SIGKILL to every process inside. Outside a namespace another process may have been forked meanwhile: the
    /// caller repeats this until it has no children left.
    pub fn kill_all(&self) {
        let inside = match self {
            DescendantTracker::Namespace { init, .. } => vec![*init],
            DescendantTracker::Subreaper => process::descendants(&[process::own()]),
        };
        for pid in inside {
            // A process that has ended needs no signal; a process that may not be signalled is not a child.
            let _ = system::kill(pid, libc::SIGKILL);
        }
    }
}

/// Enters a PID namespace, as root or through a user namespace. `false` if the kernel refuses both.
fn enter_namespaces() -> io::Result<bool> {
    if system::unshare(libc::CLONE_NEWPID).is_ok() {
        return Ok(true);
    }
    // SAFETY: these take no arguments and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    if system::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWPID).is_err() {
        return Ok(false);
    }
    // user_namespaces(7): setgroups must be denied before an ordinary user may map a group.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    Ok(true)
}

/// The init of the namespace: reaps orphans until the shepherd has ended. Every process inside ends with the init.
fn be_init(lifeline: RawFd) -> ! {
    // No descriptor may stay open here, in particular the pipe by which the lab waits for the shepherd's end.
    // SAFETY: this process uses only descriptor 0 from here on.
    unsafe {
        libc::dup2(lifeline, 0);
        let _ = system::close_from(1);
    }
    let _ = system::die_with_parent();
    if let Ok(signals) = system::signal_descriptor(&[libc::SIGCHLD]) {
        use std::os::fd::AsFd as _;
        while let Ok([false, _]) = system::poll_readable([0, signals.as_raw_fd()], None) {
            while system::next_signal(signals.as_fd()).is_some() {}
            while let Ok(WaitResult::Ended(..)) = system::wait_any() {}
        }
    }
    // SAFETY: ends this process at once; buffers copied from the parent must not be flushed twice.
    unsafe { libc::_exit(0) }
}
