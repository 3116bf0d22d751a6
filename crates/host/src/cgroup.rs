//! A control group for one launch: the only complete measure of a process tree's CPU time.
//!
//! `cpu.stat` of version 2 needs no controller enabled; version 1 has `cpuacct.usage`. Both are tried, and the first
//! group that can be created is used. Neither sets a limit. If no group can be created, [`crate::tree`] reads `/proc`
//! instead.

use crate::mode_time::ModeTime;
use crate::process::{self, ProcessIdentity};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Prefix of the names of all groups.
const PREFIX: &str = "paceline-";
/// A group that names no owner and holds no process is a leftover when it is older than this: a launch joins its group
/// at once.
const LEFT_AFTER: Duration = Duration::from_secs(60);
/// How long the processes of a leftover group may take to end.
const END_LIMIT: Duration = Duration::from_secs(2);

/// A control group for a launch, removed when dropped, if it is empty by then.
#[derive(Debug)]
pub struct ControlGroup {
    files: GroupFiles,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CgroupVersion {
    V1,
    V2,
}

/// A control group that exists, and how its files are named.
#[derive(Clone, Debug)]
pub(crate) struct GroupFiles {
    folder: PathBuf,
    version: CgroupVersion,
}

impl GroupFiles {
    /// The group of a process that accounts for CPU time.
    pub(crate) fn of_process(pid: i32) -> Option<Self> {
        groups_of(pid, ACCOUNT).into_iter().find(|group| group.cpu_ns().is_some())
    }

    /// CPU time of all processes that were ever in the group, in nanoseconds.
    pub(crate) fn cpu_ns(&self) -> Option<u64> {
        match self.version {
            CgroupVersion::V1 => {
                fs::read_to_string(self.folder.join("cpuacct.usage")).ok()?.trim().parse().ok()
            }
            CgroupVersion::V2 => {
                let stat = fs::read_to_string(self.folder.join("cpu.stat")).ok()?;
                let usage_us = stat.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
                Some(usage_us.trim().parse::<u64>().ok()? * 1_000)
            }
        }
    }

    /// How the CPU time of all processes that were ever in the group divides.
    fn mode_time(&self) -> Option<ModeTime> {
        let file = match self.version {
            CgroupVersion::V1 => "cpuacct.stat",
            CgroupVersion::V2 => "cpu.stat",
        };
        parse_mode_time(&fs::read_to_string(self.folder.join(file)).ok()?, self.version)
    }

    /// The processes in it, as numbered in the caller's namespace.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let listed = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        // 0 stands for a process outside the caller's namespace.
        listed.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 0).collect()
    }
}

impl ControlGroup {
    /// Removes groups that remain after a lab and its shepherd were both killed: groups with this prefix below the
    /// caller's own group, whose lab has ended. Their processes are killed: without a PID namespace, processes that a
    /// server has forked outlive it. A group of an unknown lab is removed if it holds no process and was not created in
    /// the last minute. Returns how many processes were in the groups.
    pub(crate) fn sweep() -> usize {
        let mut count = 0;
        for GroupFiles { folder: own, version } in groups_of("self", ACCOUNT) {
            for entry in fs::read_dir(own).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let Some(name) = name.strip_prefix(PREFIX) else { continue };
                let owner = Owner::parse(name);
                let has_ended = owner.as_ref().is_some_and(Owner::has_ended);
                if has_ended || (owner.is_none_or(|owner| !owner.is_visible()) && is_old(&entry)) {
                    // Dropping it removes it if it is empty.
                    let left = ControlGroup { files: GroupFiles { folder: entry.path(), version } };
                    if has_ended {
                        count += left.processes().len();
                        left.end();
                    }
                }
            }
        }
        count
    }

    /// Creates a group named after a launch below the caller's own. `None` if the machine has no control groups or does
    /// not permit creating one.
    pub fn create(launch: &str) -> Option<ControlGroup> {
        let owner = Owner::this_process().map(|owner| format!("{owner}-")).unwrap_or_default();
        groups_of("self", ACCOUNT).into_iter().find_map(|own| {
            let folder = own.folder.join(format!("{PREFIX}{owner}{launch}"));
            let group = ControlGroup { files: GroupFiles { folder, version: own.version } };
            fs::create_dir(group.folder()).ok()?;
            // A group whose CPU time cannot be read is removed again when dropped.
            group.cpu_ns().is_some().then_some(group)
        })
    }

    /// The folder of the group; a process that writes its id to `cgroup.procs` there joins.
    pub fn folder(&self) -> &Path {
        &self.files.folder
    }

    /// CPU time of all processes that were ever in the group, in nanoseconds.
    pub fn cpu_ns(&self) -> Option<u64> {
        self.files.cpu_ns()
    }

    /// How the CPU time of all processes that were ever in the group divides; none if the kernel does not report it.
    pub fn mode_time(&self) -> Option<ModeTime> {
        self.files.mode_time()
    }

    /// The processes in it, as numbered in the caller's namespace.
    pub fn processes(&self) -> Vec<i32> {
        self.files.processes()
    }

    /// Kills its processes until none is left.
    fn end(&self) {
        process::kill_until_none(END_LIMIT, || self.processes(), process::kill);
    }
}

/// The process that created a group, as a part of the group's name: process ids are used again, and have another
/// meaning in another PID namespace.
#[derive(Debug, PartialEq, Eq)]
struct Owner {
    namespace: u64,
    process: ProcessIdentity,
}

impl Owner {
    fn this_process() -> Option<Self> {
        Some(Self { namespace: own_namespace()?, process: ProcessIdentity::from_pid(process::own())? })
    }

    /// Reads the owner in the name of a group.
    fn parse(name: &str) -> Option<Self> {
        let mut numbers = name.split('-').next()?.split('.');
        let namespace = numbers.next()?.parse().ok()?;
        let process = ProcessIdentity {
            pid: numbers.next()?.parse().ok()?,
            started_ticks: numbers.next()?.parse().ok()?,
        };
        let owner = Self { namespace, process };
        numbers.next().is_none().then_some(owner)
    }

    /// Whether its process id has a meaning here.
    fn is_visible(&self) -> bool {
        own_namespace() == Some(self.namespace)
    }

    /// Whether the process is known to have ended.
    fn has_ended(&self) -> bool {
        self.is_visible() && self.process.has_ended()
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProcessIdentity { pid, started_ticks } = self.process;
        write!(f, "{}.{pid}.{started_ticks}", self.namespace)
    }
}

/// The number of the caller's PID namespace: namespaces(7).
fn own_namespace() -> Option<u64> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

fn is_old(entry: &fs::DirEntry) -> bool {
    let modified = entry.metadata().and_then(|about| about.modified()).ok();
    modified.and_then(|modified| modified.elapsed().ok()).unwrap_or_default() >= LEFT_AFTER
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // The shepherd also removes it, in case the lab cannot.
        let _ = fs::remove_dir(&self.files.folder);
    }
}

/// The groups of a process, or of the caller (`self`): that of version 2, then that in the hierarchy of `controller` in
/// version 1, as far as they exist.
fn groups_of(process: impl fmt::Display, controller: &str) -> Vec<GroupFiles> {
    let groups = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let group = |version| Some(GroupFiles { folder: place(&mounts, &groups, version, controller)?, version });
    [CgroupVersion::V2, CgroupVersion::V1].into_iter().filter_map(group).collect()
}

/// The files that may limit a process's memory: those of its group and of every group above it, in either version.
pub(crate) fn memory_limit_files(pid: i32) -> Vec<PathBuf> {
    files_above(pid, "memory", ["memory.max", "memory.limit_in_bytes"])
}

/// The files of a process's group and of every group above it, which have these names in version 2 and, in the
/// hierarchy of `controller`, in version 1.
pub(crate) fn files_above(pid: i32, controller: &str, names: [&str; 2]) -> Vec<PathBuf> {
    let [of_v2, of_v1] = names;
    let groups = groups_of(pid, controller);
    let files = groups.iter().flat_map(|group| {
        let name = match group.version {
            CgroupVersion::V1 => of_v1,
            CgroupVersion::V2 => of_v2,
        };
        group.folder.ancestors().map(move |folder| folder.join(name))
    });
    files.filter(|path| path.is_file()).collect()
}

/// The folders of a process's group and of every group above it, in either version.
pub(crate) fn folders_above(pid: i32, controller: &str) -> Vec<PathBuf> {
    let groups = groups_of(pid, controller);
    groups.iter().flat_map(|group| group.folder.ancestors()).map(Path::to_owned).collect()
}

/// The modes in `cpuacct.stat` (clock ticks: Documentation/admin-guide/cgroup-v1/cpuacct.rst) or in `cpu.stat`
/// (microseconds: Documentation/admin-guide/cgroup-v2.rst).
fn parse_mode_time(text: &str, version: CgroupVersion) -> Option<ModeTime> {
    let number = |key: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok()
    };
    match version {
        CgroupVersion::V1 => {
            let (user, system) = (number("user ")?, number("system ")?);
            Some(ModeTime::from_ticks(user.saturating_add(system), system))
        }
        CgroupVersion::V2 => {
            let [user_s, system_s] =
                [number("user_usec ")?, number("system_usec ")?].map(|micros| micros as f64 * 1e-6);
            Some(ModeTime { user_s, system_s })
        }
    }
}

/// See [`crate::fuzz_proc_text`].
pub(crate) fn fuzz(text: &str) {
    let (mounts, own) = text.split_once("\n---\n").unwrap_or((text, ""));
    for version in [CgroupVersion::V1, CgroupVersion::V2] {
        assert!(parse_mode_time(text, version).is_none_or(|modes| modes.user_s.min(modes.system_s) >= 0.0));
        if let Some(folder) = place(mounts, own, version, ACCOUNT) {
            assert!(!folder.as_os_str().is_empty());
        }
    }
}

/// The controller of version 1 that accounts for CPU time.
const ACCOUNT: &str = "cpuacct";

/// The folder of a group in the hierarchy of that version; for version 1, in the hierarchy of a controller.
fn place(mounts: &str, own: &str, version: CgroupVersion, controller: &str) -> Option<PathBuf> {
    let own = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        match version {
            CgroupVersion::V2 => (number == "0" && controllers.is_empty()).then_some(path),
            CgroupVersion::V1 => controllers.split(',').any(|one| one == controller).then_some(path),
        }
    })?;
    let (root, point) = mounts.lines().find_map(|line| mount(line, version, controller))?;
    // A mount may show only a part of the hierarchy: proc_pid_mountinfo(5), field 4.
    let below = Path::new(own).strip_prefix(root).ok()?;
    Some(Path::new(point).join(below))
}

/// The root and the mount point of a line of mountinfo, if it is a hierarchy of that version.
fn mount<'a>(line: &'a str, version: CgroupVersion, controller: &str) -> Option<(&'a str, &'a str)> {
    let (before, after) = line.split_once(" - ")?;
    let mut after = after.split(' ');
    let (kind, options) = (after.next()?, after.nth(1)?);
    let fits = match version {
        CgroupVersion::V2 => kind == "cgroup2",
        CgroupVersion::V1 => kind == "cgroup" && options.split(',').any(|option| option == controller),
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
    fn the_own_control_group_is_found_in_both_versions() {
        let v1 = place(MOUNTS, OWN, CgroupVersion::V1, ACCOUNT);
        assert_eq!(v1.as_deref(), Some(Path::new("/sys/fs/cgroup/cpu,cpuacct/jobs/7")));
        let v2 = place(MOUNTS, OWN, CgroupVersion::V2, ACCOUNT);
        assert_eq!(v2.as_deref(), Some(Path::new("/sys/fs/cgroup/unified/session-2.scope")));
    }

    #[test]
    fn a_machine_without_control_groups_has_none() {
        assert_eq!(place("24 20 0:22 / /proc rw - proc proc rw", OWN, CgroupVersion::V2, ACCOUNT), None);
        assert_eq!(place(MOUNTS, "1:name=systemd:/\n", CgroupVersion::V1, ACCOUNT), None);
    }

    #[test]
    fn the_modes_of_both_versions_are_read_in_their_units() {
        let ticks = parse_mode_time("user 300\nsystem 100\n", CgroupVersion::V1);
        assert_eq!(ticks, Some(ModeTime::from_ticks(400, 100)));
        let text = "usage_usec 4000000\nuser_usec 3000000\nsystem_usec 1000000\nnr_periods 0\n";
        let micros = parse_mode_time(text, CgroupVersion::V2).unwrap();
        assert!((micros.user_s - 3.0).abs() < 1e-9 && (micros.system_s - 1.0).abs() < 1e-9, "{micros:?}");
        assert_eq!(parse_mode_time("usage_usec 4000000\n", CgroupVersion::V2), None);
    }

    #[test]
    fn a_control_group_is_created_read_and_removed() {
        let name = format!("test-{}", std::process::id());
        let Some(group) = ControlGroup::create(&name) else { return };
        assert_eq!((group.cpu_ns(), group.processes()), (Some(0), Vec::new()));
        let folder = group.folder().to_owned();
        drop(group);
        assert!(!folder.exists());
    }

    #[test]
    fn a_control_group_of_an_ended_lab_is_removed_with_its_processes() {
        let own = Owner::this_process().unwrap();
        assert_eq!(Owner::parse(&format!("{own}-20261123-040822-645ec3c5")), Some(own));
        assert_eq!(Owner::parse("20261123-040822-645ec3c5"), None);
        let mut lab = std::process::Command::new("true").spawn().unwrap();
        let process = ProcessIdentity::from_pid(lab.id().cast_signed()).unwrap();
        let owner = Owner { process, ..Owner::this_process().unwrap() };
        lab.wait().unwrap();
        assert!(owner.has_ended());
        let Some(used) = ControlGroup::create(&format!("used-{}", std::process::id())) else { return };
        let of_lab = |owner: &Owner| used.files.folder.with_file_name(format!("{PREFIX}{owner}-test"));
        let elsewhere = Owner { namespace: 1, ..Owner::this_process().unwrap() };
        let (left, other) = (of_lab(&owner), of_lab(&elsewhere));
        fs::create_dir(&left).unwrap();
        fs::create_dir(&other).unwrap();
        let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        fs::write(left.join("cgroup.procs"), child.id().to_string()).unwrap();
        // The sweep waits until the group is empty, and this process must reap the child for that.
        let reaper = std::thread::spawn(move || child.wait().unwrap());
        ControlGroup::sweep();
        assert!(!reaper.join().unwrap().success(), "it was killed");
        assert!(!left.exists() && other.exists() && used.folder().exists());
        fs::remove_dir(other).unwrap();
    }
}
