//! A control group for one launch: the only complete measure of a process tree's CPU time.
//!
//! `cpu.stat` of version 2 needs no controller enabled; version 1 has `cpuacct.usage`. Both are tried, and the first
//! group that can be created is used. Neither sets a limit. If no group can be created, [`crate::tree`] reads `/proc`
//! instead.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Prefix of the names of all groups.
const PREFIX: &str = "paceline-";
/// A group without a process is a leftover when it is older than this: a launch joins its group at once.
const LEFT_AFTER: Duration = Duration::from_secs(60);

/// A control group for a launch, removed when dropped, if it is empty by then.
#[derive(Debug)]
pub struct ControlGroup {
    folder: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

impl ControlGroup {
    /// Removes groups that remain after a lab and its shepherd were both killed: groups with this prefix, below the
    /// caller's own group, that hold no process and were not created in the last minute. The kernel refuses to remove
    /// any other.
    pub fn sweep() {
        for version in [Version::V2, Version::V1] {
            let Some(own) = own_group(version) else { continue };
            let entries = fs::read_dir(own).into_iter().flatten().flatten();
            let is_left = |entry: &fs::DirEntry| {
                let modified = entry.metadata().and_then(|about| about.modified()).ok();
                let age = modified.and_then(|modified| modified.elapsed().ok()).unwrap_or_default();
                entry.file_name().to_string_lossy().starts_with(PREFIX) && age >= LEFT_AFTER
            };
            for group in entries.filter(is_left) {
                let _ = fs::remove_dir(group.path());
            }
        }
    }

    /// Creates a group named after a launch below the caller's own. `None` if the machine has no control groups or does
    /// not permit creating one.
    pub fn create(launch: &str) -> Option<ControlGroup> {
        [Version::V2, Version::V1].into_iter().find_map(|version| {
            let folder = own_group(version)?.join(format!("{PREFIX}{launch}"));
            let group = ControlGroup { folder, version };
            fs::create_dir(&group.folder).ok()?;
            // A group whose CPU time cannot be read is removed again when dropped.
            group.cpu_ns().is_some().then_some(group)
        })
    }

    /// The folder of the group; a process that writes its id to `cgroup.procs` there joins.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// CPU time of all processes that were ever in the group, in nanoseconds.
    pub fn cpu_ns(&self) -> Option<u64> {
        match self.version {
            Version::V1 => fs::read_to_string(self.folder.join("cpuacct.usage")).ok()?.trim().parse().ok(),
            Version::V2 => {
                let stat = fs::read_to_string(self.folder.join("cpu.stat")).ok()?;
                let usage_us = stat.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
                Some(usage_us.trim().parse::<u64>().ok()? * 1_000)
            }
        }
    }

    /// The processes in it, as numbered in the caller's namespace.
    pub fn processes(&self) -> Vec<i32> {
        let listed = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        // 0 stands for a process outside the caller's namespace.
        listed.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 0).collect()
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // The shepherd also removes it, in case the lab cannot.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The folder of the caller's own group.
fn own_group(version: Version) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    place(&mounts, &fs::read_to_string("/proc/self/cgroup").ok()?, version, ACCOUNT)
}

/// The files that may limit a process's memory: those of its group and of every group above it, in either version.
pub(crate) fn memory_limit_files(pid: i32) -> Vec<PathBuf> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let files =
        [(Version::V2, "memory.max"), (Version::V1, "memory.limit_in_bytes")].map(|(version, file)| {
            let folder = place(&mounts, &groups, version, "memory");
            let above = folder.iter().flat_map(|folder| folder.ancestors());
            above.map(|folder| folder.join(file)).filter(|path| path.is_file()).collect::<Vec<PathBuf>>()
        });
    files.concat()
}

#[cfg(fuzzing)]
pub(crate) fn fuzz(text: &str) {
    let (mounts, own) = text.split_once("\n---\n").unwrap_or((text, ""));
    for version in [Version::V1, Version::V2] {
        if let Some(folder) = place(mounts, own, version, ACCOUNT) {
            assert!(!folder.as_os_str().is_empty());
        }
    }
}

/// The controller of version 1 that accounts for CPU time.
const ACCOUNT: &str = "cpuacct";

/// The folder of a group in the hierarchy of that version; for version 1, in the hierarchy of a controller.
fn place(mounts: &str, own: &str, version: Version, controller: &str) -> Option<PathBuf> {
    let own = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        match version {
            Version::V2 => (number == "0" && controllers.is_empty()).then_some(path),
            Version::V1 => controllers.split(',').any(|one| one == controller).then_some(path),
        }
    })?;
    let (root, point) = mounts.lines().find_map(|line| mount(line, version, controller))?;
    // A mount may show only a part of the hierarchy: proc_pid_mountinfo(5), field 4.
    let below = Path::new(own).strip_prefix(root).ok()?;
    Some(Path::new(point).join(below))
}

/// The root and the mount point of a line of mountinfo, if it is a hierarchy of that version.
fn mount<'a>(line: &'a str, version: Version, controller: &str) -> Option<(&'a str, &'a str)> {
    let (before, after) = line.split_once(" - ")?;
    let mut after = after.split(' ');
    let (kind, options) = (after.next()?, after.nth(1)?);
    let fits = match version {
        Version::V2 => kind == "cgroup2",
        Version::V1 => kind == "cgroup" && options.split(',').any(|option| option == controller),
    };
    let mut before = before.split(' ').skip(3);
    fits.then_some((before.next()?, before.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
24 20 0:22 / /proc rw,relatime - proc proc rw
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct
39 30 0:35 /user.slice /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 cgroup2 rw
";
    const OWN: &str = "4:cpu,cpuacct:/jobs/7\n1:name=systemd:/\n0::/user.slice/session-2.scope\n";

    #[test]
    fn the_own_group_is_found_in_either_version() {
        let v1 = place(MOUNTS, OWN, Version::V1, ACCOUNT);
        assert_eq!(v1.as_deref(), Some(Path::new("/sys/fs/cgroup/cpu,cpuacct/jobs/7")));
        let v2 = place(MOUNTS, OWN, Version::V2, ACCOUNT);
        assert_eq!(v2.as_deref(), Some(Path::new("/sys/fs/cgroup/unified/session-2.scope")));
    }

    #[test]
    fn a_machine_without_groups_has_none() {
        assert_eq!(place("24 20 0:22 / /proc rw - proc proc rw", OWN, Version::V2, ACCOUNT), None);
        assert_eq!(place(MOUNTS, "1:name=systemd:/\n", Version::V1, ACCOUNT), None);
    }

    #[test]
    fn a_group_that_can_be_made_can_be_read_and_goes_again() {
        let name = format!("test-{}", std::process::id());
        let Some(group) = ControlGroup::create(&name) else { return };
        assert_eq!((group.cpu_ns(), group.processes()), (Some(0), Vec::new()));
        let folder = group.folder().to_owned();
        drop(group);
        assert!(!folder.exists());
    }
}
