//! The inputs of a set-up or a build, as a SHA-256: the folder's files, the command and the tools' versions.
//!
//! Of `server.toml` only the commands count: a new tag or a corrected name does not cause a rebuild. Neither does a
//! change of the README.

use super::Provisioner;
use super::digest::InputDigest;
use crate::LabError;
use paceline_catalogue::MANIFEST_FILE;
use paceline_catalogue::Manifest;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Folders that tools leave behind in a source folder; they are not inputs.
const LEFT_BEHIND: [&str; 4] = [".git", "__pycache__", "node_modules", "target"];

/// Files at the top of a server's folder that are not inputs, except for the commands, which are added separately.
const NOT_MADE_OF: [&str; 2] = [MANIFEST_FILE, "README.md"];

/// The current inputs of a server's set-up and build.
pub(super) struct Fingerprints {
    pub setup: String,
    pub build: String,
}

impl Provisioner {
    pub(super) fn fingerprints(&self, server: &Manifest) -> Result<Fingerprints, LabError> {
        let mut inputs = InputDigest::default();
        add_folder(&mut inputs, &server.folder, &server.folder)?;
        for need in &server.needs {
            inputs.add(need.as_bytes());
            inputs.add(self.tools.version(need)?.as_bytes());
        }
        let setup_command = server.setup.as_ref().map_or("", |setup| &setup.command);
        let with = |command: &str| {
            let mut digest = inputs.clone();
            digest.add(command.as_bytes());
            digest.finish()
        };
        Ok(Fingerprints {
            setup: with(setup_command),
            build: with(server.build.as_deref().unwrap_or_default()),
        })
    }
}

fn add_folder(digest: &mut InputDigest, root: &Path, folder: &Path) -> Result<(), LabError> {
    let error = |source| LabError::File { action: "read", path: folder.into(), source };
    let mut entries: Vec<_> = std::fs::read_dir(folder).and_then(Iterator::collect).map_err(error)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type().map_err(error)?);
        if kind.is_dir() {
            let name = entry.file_name();
            if !LEFT_BEHIND.iter().any(|left| name == *left) {
                add_folder(digest, root, &path)?;
            }
        } else if (kind.is_file() || kind.is_symlink())
            && !NOT_MADE_OF.iter().any(|name| path == root.join(name))
        {
            // Anything else, such as the socket that a killed server left, has no contents to build from.
            digest.add(path.strip_prefix(root).unwrap_or(&path).as_os_str().as_bytes());
            add_file(digest, &path, kind.is_symlink())?;
        }
    }
    Ok(())
}

/// Adds the contents of a file; for a link, its target too. Servers share a file by a link to it.
fn add_file(digest: &mut InputDigest, path: &Path, is_link: bool) -> Result<(), LabError> {
    let error = |source| LabError::File { action: "read", path: path.into(), source };
    if is_link {
        digest.add(std::fs::read_link(path).map_err(error)?.as_os_str().as_bytes());
    }
    // A link to a folder, or to a missing file, is identified by its target alone.
    if !is_link || path.is_file() {
        digest.add_file(path).map_err(error)?;
    }
    Ok(())
}

/// The files of a source folder at one moment, by length and time, to detect what a server writes there.
pub struct SourceFiles(BTreeMap<PathBuf, (u64, Option<SystemTime>)>);

impl SourceFiles {
    /// The files now, without folders that tools leave behind.
    pub fn in_folder(folder: &Path) -> Self {
        let mut files = BTreeMap::new();
        add_files(&mut files, folder, folder);
        Self(files)
    }

    /// The paths of new or changed files, relative to the folder.
    pub fn changed(&self, folder: &Path) -> Vec<String> {
        let now = Self::in_folder(folder).0.into_iter();
        now.filter(|(path, about)| self.0.get(path) != Some(about))
            .map(|(path, _)| path.display().to_string())
            .collect()
    }
}

fn add_files(files: &mut BTreeMap<PathBuf, (u64, Option<SystemTime>)>, root: &Path, folder: &Path) {
    // A folder that cannot be read has no files to compare.
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, Ok(about)) = (entry.path(), entry.metadata()) else { continue };
        if about.is_dir() {
            if !LEFT_BEHIND.iter().any(|left| entry.file_name() == *left) {
                add_files(files, root, &path);
            }
        } else {
            let name = path.strip_prefix(root).unwrap_or(&path).to_owned();
            files.insert(name, (about.len(), about.modified().ok()));
        }
    }
}
