//! Keeps the set-up and build in use while a step makes the next one, and puts them back unless it succeeds.
//!
//! Tools write the path of the build folder into files (the first line of each script in a Python environment), so that
//! a step must run in this folder. It works there on a copy, while the original waits in `.paceline/former`, where no
//! user of servers can write. Renaming `former` is the commit. A killed step leaves it behind: the next holder of the
//! lock puts the original back. `build` decides when; `stamp` files belong to what is kept and go with it.

use super::stamp::{self, METADATA_DIR};
use crate::LabError;
use paceline_host::User;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The original, whole; the build folder has a step's unfinished work.
const FORMER: &str = "former";
/// Entries of the original on their way from or to the build folder, which has the others and nothing else.
const MOVING: &str = "moving";
/// The copy for the step, unfinished.
const COPYING: &str = "copying";
/// An original that was replaced, to be removed.
const REPLACED: &str = "replaced";
/// The owner, group and mode of the original build folder, beside its stamps.
const FOLDER: &str = "folder";

/// The build folder of a server, of which one step at a time makes the next version. The caller holds its lock.
pub(super) struct Rollback {
    build: PathBuf,
    keep: PathBuf,
}

impl Rollback {
    pub(super) fn for_build(build: &Path) -> Self {
        Self { build: build.to_owned(), keep: build.join(METADATA_DIR) }
    }

    /// The stamp `name` of the version in use, while a step makes the next one or after it was killed.
    pub(super) fn stamp(&self, name: &str) -> Option<String> {
        [FORMER, MOVING].iter().find_map(|state| stamp::read(&self.keep.join(state).join(METADATA_DIR), name))
    }

    /// Puts the original aside and a copy in its place, which belongs to `user`. `copy` copies entries of the build
    /// folder to a folder.
    ///
    /// # Errors
    /// That of `copy`, or [`LabError::File`]; the original is in place.
    pub(super) fn set_aside(
        &self,
        user: Option<&User>,
        copy: impl FnOnce(&[OsString], &Path) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let copying = self.keep.join(COPYING);
        let entries = names(&self.build).map_err(|source| file("read", &self.build, source))?;
        make_folder(&copying, user)?;
        copy(&entries, &copying).inspect_err(|_| self.sweep())?;
        self.exchange(&entries).inspect_err(|_| {
            // The error that stopped the exchange is the one to report; the next holder of the lock tries again.
            let _ = self.recover();
        })
    }

    fn exchange(&self, entries: &[OsString]) -> Result<(), LabError> {
        let moving = self.keep.join(MOVING);
        make_folder(&moving, None)?;
        self.keep_notes(&moving.join(METADATA_DIR)).map_err(|source| file("write", &moving, source))?;
        move_all(entries, &self.build, &moving)?;
        rename(&moving, &self.keep.join(FORMER))?;
        let copying = self.keep.join(COPYING);
        move_all(entries, &copying, &self.build)?;
        fs::remove_dir(&copying).map_err(|source| file("remove", &copying, source))
    }

    /// Copies the stamps, and the rights of the build folder, which a step for another user changes.
    fn keep_notes(&self, notes: &Path) -> io::Result<()> {
        fs::create_dir(notes)?;
        for name in names(&self.keep)?.into_iter().filter(is_stamp) {
            fs::copy(self.keep.join(&name), notes.join(&name))?;
        }
        let about = fs::metadata(&self.build)?;
        fs::write(notes.join(FOLDER), format!("{} {} {}", about.uid(), about.gid(), about.mode() & 0o7777))
    }

    /// Accepts what the step made.
    ///
    /// # Errors
    /// [`LabError::File`]: the next holder of the lock puts the original back.
    pub(super) fn replace(&self) -> Result<(), LabError> {
        rename(&self.keep.join(FORMER), &self.keep.join(REPLACED))?;
        self.sweep();
        Ok(())
    }

    /// Puts the original back after a step that failed or was killed, at any moment of it; does nothing if none did.
    ///
    /// # Errors
    /// [`LabError::File`]: it can be repeated.
    pub(super) fn recover(&self) -> Result<bool, LabError> {
        let (former, moving) = (self.keep.join(FORMER), self.keep.join(MOVING));
        let of_build = |source| file("restore", &self.build, source);
        if former.exists() {
            for name in names(&self.build).map_err(of_build)? {
                remove(&self.build.join(name)).map_err(of_build)?;
            }
            rename(&former, &moving)?;
        }
        let was_replaced = moving.exists();
        if was_replaced {
            self.put_back(&moving)?;
        }
        self.sweep();
        Ok(was_replaced)
    }

    fn put_back(&self, moving: &Path) -> Result<(), LabError> {
        let of_build = |source| file("restore", &self.build, source);
        let notes = moving.join(METADATA_DIR);
        let entries = names(moving).map_err(of_build)?;
        move_all(&entries, moving, &self.build)?;
        for name in names(&notes).unwrap_or_default().into_iter().filter(is_stamp) {
            fs::copy(notes.join(&name), self.keep.join(&name)).map_err(of_build)?;
        }
        let rights = fs::read_to_string(notes.join(FOLDER)).unwrap_or_default();
        let mut rights = rights.split(' ').filter_map(|number| number.parse::<u32>().ok());
        if let (Some(uid), Some(gid), Some(mode)) = (rights.next(), rights.next(), rights.next()) {
            std::os::unix::fs::lchown(&self.build, Some(uid), Some(gid)).map_err(of_build)?;
            fs::set_permissions(&self.build, fs::Permissions::from_mode(mode)).map_err(of_build)?;
        }
        remove(moving).map_err(of_build)
    }

    /// Removes files that no version needs. The next step tries again where this fails.
    fn sweep(&self) {
        for left in [COPYING, REPLACED] {
            let _ = remove(&self.keep.join(left));
        }
    }
}

/// The names in a folder, without that of the provisioner's files.
fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    let names = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name()));
    names.filter(|name| !name.as_ref().is_ok_and(|name| name == METADATA_DIR)).collect()
}

fn is_stamp(name: &OsString) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == stamp::EXTENSION)
}

/// An empty folder that only its owner can enter.
fn make_folder(path: &Path, user: Option<&User>) -> Result<(), LabError> {
    let made = remove(path)
        .and_then(|()| fs::create_dir(path))
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o700)))
        .and_then(|()| match user {
            Some(user) => std::os::unix::fs::lchown(path, Some(user.uid), Some(user.gid)),
            None => Ok(()),
        });
    made.map_err(|source| file("create", path, source))
}

fn move_all(entries: &[OsString], from: &Path, to: &Path) -> Result<(), LabError> {
    entries.iter().try_for_each(|name| rename(&from.join(name), &to.join(name)))
}

fn rename(from: &Path, to: &Path) -> Result<(), LabError> {
    fs::rename(from, to).map_err(|source| file("move", from, source))
}

/// Removes a file, or a folder with its content; links are not followed. Tools make folders that their owner cannot
/// write (the module cache of Go): these are opened first, which root need not do.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    let is_folder = match fs::symlink_metadata(path) {
        Ok(about) => about.is_dir(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !is_folder {
        return fs::remove_file(path);
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let chmod =
                Command::new("chmod").args(["-R", "u+rwx", "--"]).arg(path).stderr(Stdio::null()).status();
            chmod.and_then(|_| fs::remove_dir_all(path))
        }
        removed => removed,
    }
}

fn file(action: &'static str, path: &Path, source: io::Error) -> LabError {
    LabError::File { action, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A build folder with a version in use, and a `Rollback` of it.
    fn build() -> (tempfile::TempDir, Rollback) {
        let folder = tempfile::tempdir().unwrap();
        let former = Rollback::for_build(folder.path());
        fs::create_dir(&former.keep).unwrap();
        fs::create_dir(folder.path().join("deep")).unwrap();
        for (file, text) in [
            ("one", "1"),
            ("deep/two", "2"),
            (".paceline/build.stamp", "old\n"),
            (".paceline/build.lock", ""),
        ] {
            fs::write(folder.path().join(file), text).unwrap();
        }
        (folder, former)
    }

    /// All files below the folder with their texts.
    fn files(folder: &Path) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
            if path.is_dir() {
                found.extend(files(&path).into_iter().map(|(below, text)| (format!("{name}/{below}"), text)));
            } else {
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
        found.sort();
        found
    }

    fn copy(former: &Rollback) -> impl FnOnce(&[OsString], &Path) -> Result<(), LabError> {
        let build = former.build.clone();
        move |entries, to| {
            let status = Command::new("cp").arg("-a").args(entries).arg(to).current_dir(build).status();
            assert!(status.unwrap().success());
            Ok(())
        }
    }

    #[test]
    fn a_step_works_on_a_copy_until_it_succeeds() {
        let (folder, former) = build();
        former.set_aside(None, copy(&former)).unwrap();
        fs::write(folder.path().join("one"), "next").unwrap();
        stamp::remove(&former.keep, "build").unwrap();
        assert_eq!(former.stamp("build").as_deref(), Some("old"));
        former.replace().unwrap();
        assert!(!former.recover().unwrap() && former.stamp("build").is_none());
        let expected = [(".paceline/build.lock", ""), ("deep/two", "2"), ("one", "next")];
        assert_eq!(files(folder.path()), expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    }

    /// Every state that a kill can leave, made by hand: an interruption after any number of moves in either direction.
    #[test]
    fn the_original_is_restored_after_an_interruption_at_any_point() {
        for moved in 0..=2 {
            for (state, unfinished) in [(MOVING, false), (FORMER, true)] {
                let (folder, former) = build();
                let before = files(folder.path());
                let aside = former.keep.join(state);
                fs::create_dir_all(aside.join(METADATA_DIR)).unwrap();
                fs::create_dir(former.keep.join(COPYING)).unwrap();
                fs::rename(former.keep.join("build.stamp"), aside.join(METADATA_DIR).join("build.stamp"))
                    .unwrap();
                // `former` is only whole.
                for name in ["one", "deep"].iter().take(if unfinished { 2 } else { moved }) {
                    fs::rename(folder.path().join(name), aside.join(name)).unwrap();
                }
                if unfinished {
                    for name in ["one", "other"].iter().take(moved) {
                        fs::write(folder.path().join(name), "half").unwrap();
                    }
                }
                assert!(former.recover().unwrap());
                assert_eq!(files(folder.path()), before, "{state}, {moved} moved");
                assert!(!former.recover().unwrap());
            }
        }
    }

    #[test]
    fn a_copy_that_fails_changes_nothing() {
        let (folder, former) = build();
        let before = files(folder.path());
        let failed = former.set_aside(None, |_, to| {
            fs::write(to.join("one"), "half").unwrap();
            Err(LabError::Interrupted)
        });
        assert!(matches!(failed, Err(LabError::Interrupted)));
        assert_eq!(files(folder.path()), before);
    }
}
