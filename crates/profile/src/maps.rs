//! Maps of compiled functions of processes in another PID namespace.
//!
//! A runtime names its map after its own number, `/tmp/perf-2.map`; perf looks for the number that it knows. A copy under
//! that name is there while perf reads.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Bytes of a map that are read.
const MAX_BYTES: u64 = 256 << 20;

/// Copies that are removed when dropped.
#[derive(Debug, Default)]
pub(crate) struct PlacedMaps(Vec<PathBuf>);

impl PlacedMaps {
    /// Places the maps of those processes that have another number in their own namespace, which `number_inside` gives.
    /// A map that cannot be read is left out: its functions have no names then.
    pub(crate) fn place(processes: &[i32], number_inside: impl Fn(i32) -> Option<i32>) -> Self {
        let place = |pid: &i32| {
            let inner = number_inside(*pid).filter(|inner| inner != pid)?;
            let from = PathBuf::from(format!("/proc/{pid}/root/tmp/perf-{inner}.map"));
            let to = PathBuf::from(format!("/tmp/perf-{pid}.map"));
            copy(&from, &to).ok().map(|()| to)
        };
        Self(processes.iter().filter_map(place).collect())
    }
}

impl Drop for PlacedMaps {
    fn drop(&mut self) {
        // What cannot be removed stays in the folder of temporary files.
        self.0.iter().for_each(|path| drop(fs::remove_file(path)));
    }
}

/// Copies a regular file to a new one that only this user can read.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let from = paceline_files::open(from)?;
    let mut to = File::options().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut from.take(MAX_BYTES), &mut to).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_private_and_replaces_nothing() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = std::env::temp_dir().join(format!("paceline-maps-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::write(&from, "1000 10 main\n").unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "1000 10 main\n");
        assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(copy(&from, &to).is_err() && copy(&folder, &folder.join("other")).is_err());
        drop(PlacedMaps(vec![to.clone()]));
        assert!(!to.exists());
        fs::remove_dir_all(&folder).unwrap();
        assert!(PlacedMaps::place(&[i32::MAX], |_| Some(2)).0.is_empty(), "there is no such process");
        assert!(PlacedMaps::place(&[std::process::id().cast_signed()], Some).0.is_empty(), "the same number");
    }
}
