//! Maps of compiled functions, which runtimes write for perf and leave behind.
//!
//! A runtime names its map after its own number in its PID namespace, `/tmp/perf-2.map`: many launches have that
//! number. `crates/profile/src/maps.rs` reads maps while their processes live; here they are removed afterwards.

use crate::process;
use crate::system::Pid;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Where every runtime writes its map.
const FOLDER: &str = "/tmp";

/// The maps of some processes, to be removed when these have ended.
#[derive(Debug)]
pub struct PerfMaps(Vec<PerfMap>);

/// A map, and which file that is.
#[derive(Debug)]
struct PerfMap {
    path: PathBuf,
    identity: FileIdentity,
}

/// The device and the inode of a file.
type FileIdentity = (u64, u64);

impl PerfMaps {
    /// Finds the maps that living processes have created since `began`: regular files of the users of the processes. A
    /// file that was there before may be of another process with that number, which still writes it.
    pub fn find(processes: &[Pid], began: SystemTime) -> Self {
        Self::find_in(Path::new(FOLDER), processes, began)
    }

    fn find_in(folder: &Path, processes: &[Pid], began: SystemTime) -> Self {
        Self(processes.iter().filter_map(|pid| PerfMap::of_process(*pid, folder, began)).collect())
    }

    /// Removes those that are still the same files. What cannot be removed stays in the folder of temporary files.
    pub fn remove(self) {
        let is_same =
            |map: &PerfMap| regular_file(&map.path).is_some_and(|found| identity(&found) == map.identity);
        self.0.iter().filter(|map| is_same(map)).for_each(|map| drop(fs::remove_file(&map.path)));
    }
}

impl PerfMap {
    fn of_process(pid: Pid, folder: &Path, began: SystemTime) -> Option<Self> {
        let (number, user) = number_and_user(&process::text(&format!("/proc/{pid}/status"))?)?;
        let path = folder.join(format!("perf-{number}.map"));
        let found = regular_file(&path)?;
        // The folder of a process in an image is another one.
        let inside = format!("/proc/{pid}/root{}", path.display());
        let is_its_own = identity(&fs::symlink_metadata(inside).ok()?) == identity(&found);
        // Not every file system keeps the time of creation.
        let created = found.created().or_else(|_| found.modified()).ok()?;
        let is_of_launch = found.uid() == user && created >= began;
        (is_its_own && is_of_launch).then(|| Self { path, identity: identity(&found) })
    }
}

/// What is known of a path if it is a regular file, and no link to one.
fn regular_file(path: &Path) -> Option<Metadata> {
    fs::symlink_metadata(path).ok().filter(Metadata::is_file)
}

fn identity(file: &Metadata) -> FileIdentity {
    (file.dev(), file.ino())
}

/// The number of a process in its innermost PID namespace, and its effective user, from its `status` (proc(5)).
fn number_and_user(status: &str) -> Option<(Pid, u32)> {
    let number = process::namespace_numbers(status)?.next_back()?.parse().ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    Some((number, users.split_ascii_whitespace().nth(1)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    #[test]
    fn the_number_inside_is_the_last_one() {
        let status = "Name:\tnode\nUid:\t0\t65534\t0\t0\nNSpid:\t8676\t12\t2\n";
        assert_eq!(number_and_user(status), Some((2, 65_534)));
        assert_eq!(number_and_user("Name:\tnode\nUid:\t0\t0\t0\t0\n"), None);
    }

    #[test]
    fn only_a_map_that_the_process_wrote_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let own = std::process::id().cast_signed();
        let (map, other) = (folder.path().join(format!("perf-{own}.map")), folder.path().join("other"));
        let write = |path: &Path| fs::write(path, "1000 10 main\n").unwrap();
        let find = |began| PerfMaps::find_in(folder.path(), &[own, i32::MAX], began);
        write(&map);
        write(&other);
        let later = |seconds| SystemTime::now() + Duration::from_secs(seconds);
        find(later(60)).remove();
        assert!(map.exists(), "it was there before the launch");
        if fs::metadata(&map).unwrap().created().is_ok() {
            File::options().write(true).open(&map).unwrap().set_modified(later(120)).unwrap();
            find(later(60)).remove();
            assert!(map.exists(), "it was there before, and another process writes it");
        }
        find(SystemTime::UNIX_EPOCH).remove();
        assert!(!map.exists() && other.exists());
        write(&map);
        let found = find(SystemTime::UNIX_EPOCH);
        fs::rename(&other, &map).unwrap();
        found.remove();
        assert!(map.exists(), "it is another file by now");
        fs::rename(&map, &other).unwrap();
        symlink(&other, &map).unwrap();
        find(SystemTime::UNIX_EPOCH).remove();
        assert!(map.is_symlink() && other.exists());
    }
}
