//! The file system as a command sees it: host names that it can resolve, in a mount namespace of its own.
//!
//! All of it is done between fork and exec, so that the kernel removes it with the last process of the command.

use super::protocol::FileView;
use crate::system;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount,
};
use std::fs;
use std::io;

/// The hosts file (hosts(5)).
const HOSTS: &str = "/etc/hosts";
/// Where a file system in memory is mounted for a moment: every machine has this folder.
const STAGING: &str = "/tmp";

/// Gives the calling process this view.
///
/// # Errors
/// The system's error, after the step that failed.
pub fn enter(view: &FileView) -> io::Result<()> {
    step("make a mount namespace", system::unshare(libc::CLONE_NEWNS))?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    step("separate the mounts from those of the machine", mount_change("/", private))?;
    step("replace the hosts file", replace_hosts(&view.hosts_text(&fs::read_to_string(HOSTS)?)))
}

/// Mounts a file in memory over the hosts file. It has no name in any folder and ends with the namespace.
fn replace_hosts(text: &str) -> io::Result<()> {
    mount("tmpfs", STAGING, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0755,size=64k")?;
    let staged = format!("{STAGING}/hosts");
    let replaced = fs::write(&staged, text).and_then(|()| Ok(mount_bind(staged, HOSTS)?));
    unmount(STAGING, UnmountFlags::DETACH)?;
    replaced
}

fn step<T, E: Into<io::Error>>(what: &str, done: Result<T, E>) -> io::Result<T> {
    done.map_err(|error| {
        let error: io::Error = error.into();
        io::Error::new(error.kind(), format!("cannot {what}: {error}"))
    })
}
