//! The static files that the lab makes for servers whose workloads need them: `PACELINE_STATIC`.
//!
//! They are made once, in the state folder, where only the lab's user can write. Text has a copy compressed by gzip
//! beside it, as sites keep one: `app.js.gz`.

mod content;

use super::Provisioner;
use crate::LabError;
use flate2::Compression;
use flate2::write::GzEncoder;
use paceline_catalogue::Manifest;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The name of the folder of the files, also in `mounts`.
const STATIC_DIR: &str = "static";
/// The file beside that folder which says that all files are there.
const COMPLETE: &str = "complete";

impl Provisioner {
    /// `PACELINE_STATIC`: the folder of the static files, which exists if a server that needs them was built.
    pub fn static_dir(&self) -> PathBuf {
        self.files_dir().join(STATIC_DIR)
    }

    /// The folder of the files of this version.
    pub(super) fn files_dir(&self) -> PathBuf {
        self.state_dir.join("files").join(content::VERSION.to_string())
    }

    /// Makes the static files for a server that needs them, unless they are there. Several processes may do so at once:
    /// each file is replaced by an equal one.
    pub(super) fn make_static_files(&self, server: &Manifest) -> Result<(), LabError> {
        let complete = self.files_dir().join(COMPLETE);
        if !server.needs_static_files || complete.exists() {
            return Ok(());
        }
        let folder = self.static_dir();
        let made = make_folders(&folder, &self.state_dir).and_then(|()| write_all(&folder));
        made.and_then(|()| fs::write(&complete, "")).map_err(|source| LabError::File {
            action: "write",
            path: folder,
            source,
        })
    }
}

/// Makes a folder below `root`, with those between, which every user can enter.
fn make_folders(folder: &Path, root: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut below = folder.ancestors().take_while(|path| *path != root);
    below.try_for_each(|path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)))
}

fn write_all(folder: &Path) -> io::Result<()> {
    for file in content::files() {
        write_readable(&folder.join(file.name), &file.content)?;
        if file.is_text {
            write_readable(&folder.join(format!("{}.gz", file.name)), &gzip(&file.content))?;
        }
    }
    Ok(())
}

/// Replaces a file, which every user can read.
///
/// # Errors
/// The system's error.
pub(crate) fn write_readable(path: &Path, content: &[u8]) -> io::Result<()> {
    paceline_files::replace(path, content)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}

/// Compressed as a site does it once, not as a server does it for each request.
fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(content);
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_catalogue::fixture::TestTree;
    use paceline_host::Interrupt;
    use sha2::{Digest as _, Sha256};
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn the_files_are_made_once_for_a_server_that_needs_them() {
        let tree = TestTree::with(&["go-server"]);
        let catalogue = tree.catalogue();
        let provisioner = Provisioner::new(&catalogue.folders, Vec::new(), Interrupt::never());
        let mut server = (*catalogue.server("go-server").unwrap()).clone();
        provisioner.make_static_files(&server).unwrap();
        assert!(!provisioner.static_dir().exists());
        server.needs_static_files = true;
        let made = || {
            provisioner.make_static_files(&server).unwrap();
            let about = fs::metadata(provisioner.static_dir().join("app.js")).unwrap();
            (about.ino(), about.mode() & 0o777)
        };
        let (inode, mode) = made();
        assert_eq!(mode, 0o644);
        assert_eq!(made(), (inode, mode), "it was written again");
        let names = fs::read_dir(provisioner.static_dir()).unwrap().count();
        assert_eq!(names, 20 + 17, "with the copies of 17 texts");
        let packed = fs::read(provisioner.static_dir().join("app.js.gz")).unwrap();
        let whole = fs::read(provisioner.static_dir().join("app.js")).unwrap();
        assert_eq!(paceline_files::gunzip(&packed, 1 << 20).unwrap(), whole);
    }

    /// The digests in the repository's workload are those of the files.
    #[test]
    fn the_workload_states_the_files() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/arena-static.toml");
        let workload = paceline_catalogue::Workload::read(&path).unwrap();
        let requests: Vec<_> = workload.requests().collect();
        assert_eq!(requests.len(), content::files().count());
        let mut differences = Vec::new();
        for (request, file) in requests.iter().zip(content::files()) {
            assert_eq!(request.path, format!("/static/{}", file.name));
            if !request.expect.body.matches(&file.content) {
                let digest = paceline_catalogue::hex(&Sha256::digest(&file.content));
                differences.push(format!(
                    "{} has length = {}, sha256 = {digest}",
                    file.name,
                    file.content.len()
                ));
            }
        }
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }
}
