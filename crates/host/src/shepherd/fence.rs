//! What holds a server's descendants together, however they fork, `setsid` or double-fork.
//!
//! Always: the shepherd is a child subreaper, so that orphans become its own. Where the kernel lets us: also a PID
//! namespace, whose processes the kernel itself kills when its init ends; that holds even when the shepherd is killed.

use super::Guard;
use crate::process;
use crate::system::{self, Pid, Waited};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};

/// Which of the two holds.
pub enum Fence {
    /// A PID namespace.
    Namespace {
        /// Its init, which dies when the shepherd does.
        init: Pid,
        /// The init polls the other end: it closes with the shepherd, however that ends.
        _lifeline: OwnedFd,
    },
    /// The subreaper alone.
    Subreaper,
}

impl Fence {
    /// Raises the fence. Children started from now on are inside.
    ///
    /// # Errors
    /// When the namespace is half made: this process can start nothing any more, another one may do without.
    ///
    /// # Safety
    /// The caller has one thread: the init is forked from it.
    pub unsafe fn raise(guard: Guard) -> io::Result<Fence> {
        system::become_subreaper()?;
        if guard == Guard::Subreaper || !enter_namespaces()? {
            return Ok(Fence::Subreaper);
        }
        let (lifeline_end, lifeline) = system::pipe()?;
        // SAFETY: the caller promises to be the only thread.
        match unsafe { system::fork() }? {
            Some(init) => Ok(Fence::Namespace { init, _lifeline: lifeline }),
            None => be_init(lifeline_end.as_raw_fd()),
        }
    }

    /// The guarantee's name in the record.
    pub fn guarantee(&self) -> &'static str {
        match self {
            Fence::Namespace { .. } => "pid_namespace",
            Fence::Subreaper => "subreaper",
        }
    }

    /// The processes of the fence itself: they are not the server's.
    pub fn own(&self) -> Vec<Pid> {
        match self {
            Fence::Namespace { init, .. } => vec![*init],
            Fence::Subreaper => Vec::new(),
        }
    }

    /// Sends SIGKILL to everything inside. Outside a namespace one more may have been forked meanwhile: the caller
    /// repeats it until it has no children left.
    pub fn kill_all(&self) {
        let inside = match self {
            Fence::Namespace { init, .. } => vec![*init],
            Fence::Subreaper => process::descendants(std::process::id().cast_signed()),
        };
        for pid in inside {
            // One that ended meanwhile needs no signal, and one we may not signal is no child of ours.
            let _ = system::kill(pid, libc::SIGKILL);
        }
    }
}

/// Asks for a PID namespace, as root or through a user namespace. `false` where the kernel refuses both.
fn enter_namespaces() -> io::Result<bool> {
    if system::unshare(libc::CLONE_NEWPID).is_ok() {
        return Ok(true);
    }
    // SAFETY: these cannot fail and take nothing.
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

/// The init of the namespace: reaps orphans until the shepherd is gone. Everything inside ends with it.
fn be_init(lifeline: RawFd) -> ! {
    // Nothing may stay open here, least of all the pipe by which the lab waits for the shepherd's end.
    // SAFETY: this process uses nothing but descriptor 0 from here on.
    unsafe {
        libc::dup2(lifeline, 0);
        let _ = system::close_from(1);
    }
    let _ = system::die_with_parent();
    if let Ok(signals) = system::signal_descriptor(&[libc::SIGCHLD]) {
        use std::os::fd::AsFd as _;
        while let Ok([false, _]) = system::poll_readable([0, signals.as_raw_fd()], None) {
            while system::next_signal(signals.as_fd()).is_some() {}
            while let Ok(Waited::Ended(..)) = system::wait_any() {}
        }
    }
    // SAFETY: ends this process at once; nothing of the parent's is to be flushed twice.
    unsafe { libc::_exit(0) }
}
