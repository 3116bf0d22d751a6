//! Consent to build a container: once for each content of its folder.
//!
//! Building runs the folder's code with access to the network, and root's engine. The list of accepted contents is a file
//! of the state folder.

use super::super::Provisioner;
use crate::LabError;
use paceline_catalogue::{BuildNeeds, Container, ImageSource, hex};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The file with a line for each accepted content: its digest and its folder.
const ACCEPTED: &str = "trusted-containers";
/// Most bytes of that file: 10,000 folders.
const ACCEPTED_BYTES: u64 = 1 << 21;

impl Provisioner {
    /// The digest of all that a container is built from and may do.
    pub(super) fn container_digest(&self, container: &Container) -> Result<String, LabError> {
        let mut digest = Sha256::new();
        match &container.image {
            ImageSource::Image(name) => add(&mut digest, name.as_bytes()),
            ImageSource::Dockerfile(name) => {
                add(&mut digest, name.as_bytes());
                add_folder(&mut digest, &container.source)?;
            }
        }
        let args = container.args.iter().flat_map(|(name, value)| [name, value]);
        args.for_each(|text| add(&mut digest, text.as_bytes()));
        container.rights.iter().for_each(|right| add(&mut digest, right.as_str().as_bytes()));
        Ok(hex(&digest.finalize()))
    }

    /// Whether this content was accepted.
    pub(super) fn is_accepted(&self, digest: &str) -> bool {
        let accepted = paceline_files::read_text(&self.state_dir.join(ACCEPTED), ACCEPTED_BYTES);
        accepted.unwrap_or_default().lines().any(|line| line.split(' ').next() == Some(digest))
    }

    /// Checks that the content was accepted, now or before.
    ///
    /// # Errors
    /// [`LabError::Untrusted`] with what the build downloads and runs.
    pub(super) fn check_accepted(
        &self,
        server: &str,
        container: &Container,
        digest: &str,
    ) -> Result<(), LabError> {
        if self.is_accepted(digest) {
            return Ok(());
        }
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let source = real(&container.source);
        if !self.trusted.iter().any(|folder| source.starts_with(real(folder))) {
            return Err(LabError::Untrusted {
                server: server.to_owned(),
                folder: container.source.clone(),
                about: about(container),
            });
        }
        let path = self.state_dir.join(ACCEPTED);
        let line = format!("{digest} {}\n", source.display());
        let kept = fs::create_dir_all(&self.state_dir)
            .and_then(|()| fs::OpenOptions::new().create(true).append(true).open(&path))
            .and_then(|mut file| file.write_all(line.as_bytes()));
        kept.map_err(|source| LabError::File { action: "write", path, source })
    }
}

/// What building a container downloads and runs, and the rights that it asks for.
fn about(container: &Container) -> String {
    let needs = match &container.image {
        ImageSource::Image(name) => BuildNeeds { images: vec![name.clone()], ..BuildNeeds::default() },
        ImageSource::Dockerfile(name) => {
            let text =
                paceline_files::read_text(&container.source.join(name), paceline_files::MAX_OUTPUT_BYTES);
            BuildNeeds::from_dockerfile(&text.unwrap_or_default())
        }
    };
    let rights: Vec<String> = container.rights.iter().map(|right| right.as_str().to_owned()).collect();
    let parts = [
        ("images", needs.images),
        ("programs that download", needs.downloaders),
        ("addresses", needs.addresses),
        ("rights", rights),
    ];
    let named = parts.iter().filter(|(_, list)| !list.is_empty());
    named.map(|(name, list)| format!("{name}: {}", list.join(", "))).collect::<Vec<_>>().join("; ")
}

fn add(digest: &mut Sha256, bytes: &[u8]) {
    digest.update((bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}

/// Adds every file of a folder: all of it is sent to the engine.
fn add_folder(digest: &mut Sha256, root: &Path) -> Result<(), LabError> {
    let mut folders: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let error = |source| LabError::File { action: "read", path: folder.clone(), source };
        let mut entries: Vec<_> = fs::read_dir(&folder).and_then(Iterator::collect).map_err(error)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type().map_err(error)?);
            add(digest, path.strip_prefix(root).unwrap_or(&path).as_os_str().as_bytes());
            let error = |source| LabError::File { action: "read", path: path.clone(), source };
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_symlink() {
                add(digest, fs::read_link(&path).map_err(error)?.as_os_str().as_bytes());
            } else {
                add(digest, &paceline_files::read(&path, paceline_files::MAX_OUTPUT_BYTES).map_err(error)?);
            }
        }
    }
    Ok(())
}
