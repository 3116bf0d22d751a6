//! A child process kept on some cores, its output in files, its cost from wait4.
//!
//! `runner` starts generators with it, `server` the floor server. Which cores is in the command it is given, taskset's
//! arguments. It reads nothing that a child prints, and it is no shepherd: what a child leaves running stays.

use anyhow::{Context as _, bail};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// How a child ended and what it cost, its own children included where it waited for them.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Whether its exit status was 0.
    pub well: bool,
    /// The status as wait(2) gives it.
    pub status: i32,
    /// User CPU time, in seconds.
    pub user_s: f64,
    /// System CPU time, in seconds.
    pub system_s: f64,
    /// Peak resident memory.
    pub rss_bytes_peak: u64,
}

/// A child that is running. Dropped, it is killed and waited for.
pub struct Child {
    pid: i32,
    watch: OwnedFd,
    waited: bool,
}

/// Starts a command through taskset(1), so that what runs is what the page prints. The child dies with this thread.
pub fn start(command: &mut Command, stdout: &Path, stderr: &Path) -> anyhow::Result<Child> {
    let create = |path: &Path| File::create(path).with_context(|| path.display().to_string());
    command.stdin(Stdio::null()).stdout(create(stdout)?).stderr(create(stderr)?);
    // SAFETY: prctl is async-signal-safe and touches nothing but the child's own setting.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    let program = command.get_program().to_string_lossy().into_owned();
    let pid = command.spawn().with_context(|| format!("cannot start {program}"))?.id() as i32;
    // SAFETY: the child is ours and not yet waited for, so that its number stands for it.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as i32;
    if descriptor < 0 {
        let error = io::Error::last_os_error();
        // SAFETY: as above; without a descriptor it would never be ended.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        return Err(error).context("pidfd_open (needs Linux 5.3)");
    }
    // SAFETY: the kernel has just given us this descriptor.
    Ok(Child { pid, watch: unsafe { OwnedFd::from_raw_fd(descriptor) }, waited: false })
}

impl Child {
    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid as u32
    }

    /// Whether it ended within `limit`. Sleeps meanwhile: this process must not disturb what it measures.
    pub fn ended_within(&self, limit: Duration) -> bool {
        let mut watch = libc::pollfd { fd: self.watch.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let limit_ms = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one valid pollfd.
        unsafe { libc::poll(&raw mut watch, 1, limit_ms) > 0 }
    }

    /// Waits for its end; after `limit` it is killed, which is an error.
    pub fn wait(mut self, limit: Duration) -> anyhow::Result<Ended> {
        if !self.ended_within(limit) {
            self.kill_and_reap();
            bail!("did not end within {} s and was killed", limit.as_secs());
        }
        self.reap().context("wait4")
    }

    fn reap(&mut self) -> io::Result<Ended> {
        let mut status = 0;
        // SAFETY: rusage is plain old data, for which zeroes are a valid value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both are valid to write to.
        if unsafe { libc::wait4(self.pid, &raw mut status, 0, &raw mut usage) } < 0 {
            return Err(io::Error::last_os_error());
        }
        self.waited = true;
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Ok(Ended {
            well: libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
            status,
            user_s: seconds(usage.ru_utime),
            system_s: seconds(usage.ru_stime),
            rss_bytes_peak: usage.ru_maxrss as u64 * 1024,
        })
    }

    fn kill_and_reap(&mut self) {
        // SAFETY: the child is ours and not yet waited for, so that its number still stands for it.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        // Nothing is to be done about a child that cannot be waited for.
        let _ = self.reap();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.waited {
            self.kill_and_reap();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, folder: &Path) -> Child {
        start(Command::new("sh").args(["-c", script]), &folder.join("out"), &folder.join("err")).unwrap()
    }

    #[test]
    fn output_cost_and_end() {
        let folder = tempfile::tempdir().unwrap();
        let script = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; echo done";
        let ended = sh(script, folder.path()).wait(Duration::from_secs(60)).unwrap();
        assert!(ended.well && ended.user_s + ended.system_s > 0.0 && ended.rss_bytes_peak > 0);
        assert_eq!(std::fs::read_to_string(folder.path().join("out")).unwrap(), "done\n");
        let ended = sh("exit 3", folder.path()).wait(Duration::from_secs(60)).unwrap();
        assert!(!ended.well && libc::WEXITSTATUS(ended.status) == 3);
    }

    #[test]
    fn a_child_that_stays_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let error = sh("exec sleep 1000", folder.path()).wait(Duration::from_millis(1)).unwrap_err();
        assert!(error.to_string().contains("was killed"));
        let child = sh("exec sleep 1000", folder.path());
        let pid = child.pid();
        drop(child);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
}
