//! Consent to build a container: once for each content of its folder.
//!
//! Building runs the folder's code with access to the network, and root's engine. The list of accepted contents is a
//! file of the state folder.

use super::super::Provisioner;
use super::super::digest::InputDigest;
use crate::LabError;
use paceline_catalogue::{BuildNeeds, Container, ImageSource};
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The file with a line for each accepted content: its digest and its folder.
const ACCEPTED: &str = "trusted-containers";
/// Most bytes of that file: 10,000 folders.
const ACCEPTED_BYTES: u64 = 1 << 21;
/// Most bytes of a Dockerfile: the largest of TechEmpower's has 5 KB.
const DOCKERFILE_BYTES: u64 = 1 << 18;

impl Provisioner {
    /// The digest of all that a container is built from and may do.
    pub(super) fn container_digest(&self, container: &Container) -> Result<String, LabError> {
        let mut digest = InputDigest::default();
        match &container.image {
            ImageSource::Image(name) => digest.add_list("image", [name.as_bytes()].into_iter()),
            ImageSource::Dockerfile(name) => {
                digest.add_list("dockerfile", [name.as_bytes()].into_iter());
                add_folder(&mut digest, &container.source)?;
            }
        }
        let args: Vec<&[u8]> =
            container.args.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]).collect();
        digest.add_list("args", args.into_iter());
        digest.add_list("rights", container.rights.iter().map(|right| right.as_str().as_bytes()));
        Ok(digest.finish())
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
                about: about(container)?,
            });
        }
        let path = self.state_dir.join(ACCEPTED);
        // A line break in the folder's name would begin the line of another content.
        let line = format!("{digest} {}\n", source.display().to_string().replace('\n', " "));
        let kept = fs::create_dir_all(&self.state_dir)
            .and_then(|()| fs::OpenOptions::new().create(true).append(true).open(&path))
            .and_then(|mut file| file.write_all(line.as_bytes()));
        kept.map_err(|source| LabError::File { action: "write", path, source })
    }
}

/// What building a container downloads and runs, and the rights that it asks for.
fn about(container: &Container) -> Result<String, LabError> {
    let needs = match &container.image {
        ImageSource::Image(name) => BuildNeeds { images: vec![name.clone()], ..BuildNeeds::default() },
        ImageSource::Dockerfile(name) => {
            let path = container.source.join(name);
            let text = paceline_files::read(&path, DOCKERFILE_BYTES);
            let text = text.map_err(|source| LabError::File { action: "read", path, source })?;
            BuildNeeds::from_dockerfile(&String::from_utf8_lossy(&text), &container.args)
        }
    };
    let parts = [
        ("images", needs.images),
        ("programs that download", needs.downloaders),
        ("addresses", needs.addresses),
        ("build arguments", container.args.iter().map(|(name, value)| format!("{name}={value}")).collect()),
        ("rights", container.rights.iter().map(|right| right.as_str().to_owned()).collect()),
    ];
    let named = parts.iter().filter(|(_, list)| !list.is_empty());
    Ok(named.map(|(name, list)| format!("{name}: {}", list.join(", "))).collect::<Vec<_>>().join("; "))
}

/// Adds every file of a folder: all of it is sent to the engine.
///
/// # Errors
/// [`LabError::File`] if a file cannot be read; [`LabError::Container`] for a link that leads out of the folder, which
/// the engine would follow: what it leads to is not part of the content.
fn add_folder(digest: &mut InputDigest, root: &Path) -> Result<(), LabError> {
    let read = |path: &Path, source| LabError::File { action: "read", path: path.to_owned(), source };
    let real_root = root.canonicalize().map_err(|source| read(root, source))?;
    let mut folders: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let error = |source| read(&folder, source);
        let mut entries: Vec<_> = fs::read_dir(&folder).and_then(Iterator::collect).map_err(error)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        let name = folder.strip_prefix(root).unwrap_or(&folder).as_os_str();
        let names: Vec<_> = entries.iter().map(fs::DirEntry::file_name).collect();
        digest.add(name.as_bytes());
        digest.add_list("entries", names.iter().map(|name| name.as_bytes()));
        for path in entries.iter().map(fs::DirEntry::path) {
            let error = |source| read(&path, source);
            let about = fs::symlink_metadata(&path).map_err(error)?;
            // The kind and the permissions: they are part of the image too.
            digest.add(&about.mode().to_le_bytes());
            if about.is_dir() {
                folders.push(path);
            } else if about.is_symlink() {
                check_link(&path, &real_root)?;
                digest.add(fs::read_link(&path).map_err(error)?.as_os_str().as_bytes());
            } else if !about.file_type().is_socket() {
                // A server that was killed may have left a socket, which has no contents.
                digest.add_file(&path).map_err(error)?;
            }
        }
    }
    Ok(())
}

fn check_link(link: &Path, root: &Path) -> Result<(), LabError> {
    if link.canonicalize().is_ok_and(|target| target.starts_with(root)) {
        return Ok(());
    }
    let problem = format!("the link {} leads to no file in the folder of its container", link.display());
    let remedy = "replace it by what it should contain, or remove it".to_owned();
    Err(LabError::Container { problem, remedy: Some(remedy) })
}

#[cfg(test)]
mod tests;
