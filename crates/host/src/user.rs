//! The unprivileged user that runs the code of servers: its ids, its home, and the part of the file system and of
//! root's environment that it can use.
//!
//! Used if root runs the lab, unless the user `root` is named. The shepherd stays root; its command gives up root
//! before it starts and cannot become root again.

use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The rights to enter a folder, without those to list it.
const ENTRY: u32 = 0o111;
/// Most bytes read of the list of users.
const PASSWD_BYTES: u64 = 1 << 20;
/// The users that servers run as by default if root runs the lab: the first of these that exists. Every machine has
/// `nobody`; `paceline` is for machines with a dedicated user.
const DEFAULT_NAMES: [&str; 2] = ["paceline", "nobody"];

/// A user without root's rights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Its name.
    pub name: String,
    /// Its user id.
    pub uid: u32,
    /// Its group id.
    pub gid: u32,
    /// The home folder of its programs.
    pub home: PathBuf,
}

/// Why commands cannot run as a user.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// There is no user of this name.
    #[error("there is no user `{0}` in /etc/passwd: create one with useradd --system {0}")]
    Unknown(String),
    /// It has root's group.
    #[error("the primary group of the user `{0}` is root: use a user with another group")]
    Privileged(String),
    /// Root runs the lab, and there is no user to run servers as.
    #[error(
        "there is no user to run servers as, neither `paceline` nor `nobody`: create one with useradd --system paceline, \
         or run servers as root with --user root"
    )]
    NoDefault,
    /// Only root can become another user.
    #[error("only root can run servers as another user: remove --user")]
    NotRoot,
    /// The user cannot reach a folder that is needed.
    #[error(
        "servers run as the user `{user}`, which needs {} but cannot enter {closed}: allow access (chmod o+x {closed}), choose other folders (--servers-dir, --state-dir), or run servers as root with --user root",
        needed.display(), closed = folder.display()
    )]
    Closed {
        /// The user.
        user: String,
        /// The file or folder that it needs.
        needed: PathBuf,
        /// The first folder on the path that it cannot enter.
        folder: PathBuf,
    },
    /// A folder cannot be prepared for it.
    #[error("cannot change the owner of folder {} to the user that servers run as", path.display())]
    Prepare {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl User {
    /// The user that servers run as: the requested user, or `paceline` or `nobody` if none is requested and root runs
    /// the lab. `None` means the user who runs the lab. Homes are below `homes`.
    ///
    /// # Errors
    /// [`UserError`] if no user has this name, if it has root's rights without being root, or if another user than the
    /// lab's is requested and the lab does not run as root.
    pub fn for_servers(asked: Option<&str>, homes: &Path) -> Result<Option<Self>, UserError> {
        let own = rustix::process::geteuid().as_raw();
        if asked.is_none() && own != 0 {
            return Ok(None);
        }
        let passwd = paceline_files::read_text(Path::new("/etc/passwd"), PASSWD_BYTES).unwrap_or_default();
        let numbers = |name: &str| find(&passwd, name).map(|found| (name.to_owned(), found));
        let found = match asked {
            Some(name) => numbers(name).ok_or_else(|| UserError::Unknown(name.to_owned())),
            None => DEFAULT_NAMES.iter().find_map(|name| numbers(name)).ok_or(UserError::NoDefault),
        };
        match found? {
            (_, (uid, _)) if uid == own => Ok(None),
            _ if own != 0 => Err(UserError::NotRoot),
            (name, (0, _) | (_, 0)) => Err(UserError::Privileged(name)),
            (name, (uid, gid)) => Ok(Some(Self { home: homes.join(&name), name, uid, gid })),
        }
    }

    /// Whether root runs the lab and all servers in the folder `builds` were built by root for root: if no user is
    /// requested, they keep running as root, because another user would repeat every set-up. Only root can create such
    /// folders. A folder with nothing but `kept`, where root keeps its lock, has no build.
    pub fn root_built(builds: &Path, kept: &str) -> bool {
        let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
        let is_server = |entry: &fs::DirEntry| !entry.file_name().as_bytes().starts_with(b"database-");
        let is_built = |entry: &fs::DirEntry| entries(&entry.path()).any(|made| made.file_name() != kept);
        let mut owners = entries(builds)
            .filter(|entry| is_server(entry) && is_built(entry))
            .filter_map(|entry| entry.metadata().ok())
            .map(|about| (about.uid(), about.gid()))
            .peekable();
        rustix::process::geteuid().is_root() && owners.peek().is_some() && owners.all(|owner| owner == (0, 0))
    }

    /// The variables of root's environment that the user can use: paths that it cannot enter (root's own toolchains and
    /// caches) are removed, single ones and entries of a `PATH`.
    pub fn environment(
        &self,
        variables: impl Iterator<Item = (OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        let is_open = |path: &Path| !path.is_absolute() || self.check_reach(path).is_ok();
        let for_it = |(name, value): (OsString, OsString)| {
            if !name.as_bytes().ends_with(b"PATH") {
                return is_open(Path::new(&value)).then_some((name, value));
            }
            let open = std::env::split_paths(&value).filter(|folder| is_open(folder));
            let open: Vec<PathBuf> = open.collect();
            let joined = std::env::join_paths(open).unwrap_or_default();
            (joined != OsStr::new("")).then_some((name, joined))
        };
        variables.filter_map(for_it).collect()
    }

    /// Checks that it can enter a folder or read a file, including the folders on the path.
    ///
    /// # Errors
    /// [`UserError::Closed`] with the first folder that it cannot enter.
    pub fn check_reach(&self, folder: &Path) -> Result<(), UserError> {
        let mut ancestors: Vec<&Path> = folder.ancestors().collect();
        ancestors.reverse();
        let closed = ancestors.into_iter().filter(|path| !path.as_os_str().is_empty()).find(|path| {
            fs::metadata(path).is_ok_and(|about| {
                // Entering a folder needs x, reading a file needs r.
                let right = if about.is_dir() { 0o001 } else { 0o004 };
                let shift = match (about.uid() == self.uid, about.gid() == self.gid) {
                    (true, _) => 6,
                    (false, true) => 3,
                    (false, false) => 0,
                };
                about.permissions().mode() & (right << shift) == 0
            })
        });
        closed.map_or(Ok(()), |path| {
            let (needed, folder) = (folder.to_owned(), path.to_owned());
            Err(UserError::Closed { user: self.name.clone(), needed, folder })
        })
    }

    /// Creates its home, which it owns, in a folder that it can enter.
    ///
    /// # Errors
    /// [`UserError::Prepare`].
    pub fn prepare_home(&self) -> Result<(), UserError> {
        let failed = |source| UserError::Prepare { path: self.home.clone(), source };
        fs::create_dir_all(&self.home).map_err(failed)?;
        self.home.parent().map_or(Ok(()), allow_entry).map_err(failed)?;
        std::os::unix::fs::lchown(&self.home, Some(self.uid), Some(self.gid)).map_err(failed)?;
        fs::set_permissions(&self.home, fs::Permissions::from_mode(0o700)).map_err(failed)
    }

    /// Creates a folder that it can write to, in one that it can enter. The folder stays owned by root and has the
    /// sticky bit, so that the user can neither rename nor replace `kept`, which root keeps in it; everything else in
    /// it becomes owned by the user.
    ///
    /// # Errors
    /// [`UserError::Prepare`] with the file or folder that cannot be handed over.
    pub fn share_folder(&self, folder: &Path, kept: &str) -> Result<(), UserError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| UserError::Prepare { path, source }
        };
        fs::create_dir_all(folder).map_err(failed(folder))?;
        folder.parent().map_or(Ok(()), allow_entry).map_err(failed(folder))?;
        std::os::unix::fs::lchown(folder, Some(0), Some(self.gid)).map_err(failed(folder))?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o1775)).map_err(failed(folder))?;
        for entry in fs::read_dir(folder).map_err(failed(folder))?.flatten() {
            if entry.file_name() != kept {
                self.hand_over(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Changes the owner of a file or folder and its content to the user; links are not followed. A folder follows its
    /// content, so that only root can change the path meanwhile. A file with several names keeps its owner: another
    /// name may be in a cache of root.
    fn hand_over(&self, path: &Path) -> Result<(), UserError> {
        let failed = |source| UserError::Prepare { path: path.to_owned(), source };
        let about = fs::symlink_metadata(path).map_err(failed)?;
        if about.uid() == self.uid || about.is_file() && about.nlink() > 1 {
            return Ok(());
        }
        if about.is_dir() {
            for entry in fs::read_dir(path).map_err(failed)?.flatten() {
                self.hand_over(&entry.path())?;
            }
        }
        std::os::unix::fs::lchown(path, Some(self.uid), Some(self.gid)).map_err(failed)
    }
}

/// If root runs this program, lets other users enter a folder of the lab, but not list it: root's new folders may be
/// private by default (umask 077), and the processes that root starts as other users have their files in it.
///
/// # Errors
/// The system's error.
pub fn allow_entry(folder: &Path) -> io::Result<()> {
    let mode = fs::metadata(folder)?.permissions().mode();
    if mode & ENTRY == ENTRY || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    fs::set_permissions(folder, fs::Permissions::from_mode(mode | ENTRY))
}

/// The name of the user with this id, or the id if it has none.
pub fn user_name(uid: u32) -> String {
    user_with(|user, _| user == uid).unwrap_or_else(|| uid.to_string())
}

/// The name of a user with this primary group, or the group's id if there is none. Several may have it: the user with
/// the same number owns it.
pub fn user_of_group(gid: u32) -> String {
    let owner = user_with(|user, group| (user, group) == (gid, gid));
    owner.or_else(|| user_with(|_, group| group == gid)).unwrap_or_else(|| gid.to_string())
}

/// The name of the first user in `/etc/passwd` (passwd(5)) whose ids are meant.
fn user_with(is_meant: impl Fn(u32, u32) -> bool) -> Option<String> {
    let passwd = paceline_files::read_text(Path::new("/etc/passwd"), PASSWD_BYTES).unwrap_or_default();
    let mut names = passwd.lines().filter_map(|line| line.split(':').next());
    let is_meant = |name: &&str| find(&passwd, name).is_some_and(|(user, group)| is_meant(user, group));
    names.find(is_meant).map(str::to_owned)
}

/// The remedy where this process lacks the rights to use `path`: it, or the folder that it would be in, is another
/// user's. `None` if it is not.
pub fn owner_remedy(path: &Path) -> Option<String> {
    let (owned, about) = path.ancestors().find_map(|path| Some((path, fs::symlink_metadata(path).ok()?)))?;
    let is_foreign = about.uid() != rustix::process::geteuid().as_raw();
    is_foreign.then(|| {
        let (owned, owner) = (owned.display(), user_name(about.uid()));
        format!("{owned} belongs to the user `{owner}`: run paceline as this user, or choose another folder with --state-dir")
    })
}

/// The ids of a user in the text of `/etc/passwd` (passwd(5)).
fn find(passwd: &str, name: &str) -> Option<(u32, u32)> {
    let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_exact_name() {
        let passwd =
            "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65533:nobody:/nonexistent:/bin/false\nbad:x:a\n";
        assert_eq!(find(passwd, "nobody"), Some((65_534, 65_533)));
        assert_eq!((user_name(0).as_str(), user_name(54_321).as_str()), ("root", "54321"));
        assert_eq!((user_of_group(0).as_str(), user_of_group(54_321).as_str()), ("root", "54321"));
        assert_eq!((find(passwd, "nobod"), find(passwd, "bad"), find(passwd, "")), (None, None, None));
    }

    #[test]
    fn an_inaccessible_parent_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        fs::create_dir(&inside).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let stranger = User { name: "stranger".into(), uid: 54_321, gid: 54_321, home: "/".into() };
        let refused = stranger.check_reach(&inside).unwrap_err();
        assert!(refused.to_string().contains(&folder.path().display().to_string()), "{refused}");
        assert!(stranger.check_reach(Path::new("/usr")).is_ok());
        let closed = inside.display();
        let root = [
            ("PATH", format!("{closed}:/usr/bin:/bin")),
            ("GOPATH", format!("{closed}")),
            ("CARGO_HOME", format!("{closed}")),
            ("LANG", "C.UTF-8".to_owned()),
            ("CA_FILE", "/etc/passwd".to_owned()),
        ];
        let root = root.into_iter().map(|(name, value)| (name.into(), value.into()));
        let left = [("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("CA_FILE", "/etc/passwd")];
        let left: Vec<(OsString, OsString)> =
            left.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        assert_eq!(stranger.environment(root), left);
    }

    #[test]
    fn a_folder_with_only_a_lock_has_no_build_of_root() {
        let builds = tempfile::tempdir().unwrap();
        let folder = builds.path().join("c-server");
        fs::create_dir_all(folder.join(".kept")).unwrap();
        assert!(!User::root_built(builds.path(), ".kept"));
        fs::write(folder.join("server"), "").unwrap();
        assert_eq!(User::root_built(builds.path(), ".kept"), rustix::process::geteuid().is_root());
    }

    #[test]
    fn hard_linked_files_keep_their_owner() {
        // SAFETY: takes no arguments and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (build, cache) = (folder.path().join("build"), folder.path().join("cached"));
        fs::create_dir_all(build.join("deep")).unwrap();
        fs::write(&cache, "of root").unwrap();
        fs::hard_link(&cache, build.join("deep/linked")).unwrap();
        std::os::unix::fs::symlink(&cache, build.join("deep/link")).unwrap();
        fs::write(build.join("deep/own"), "").unwrap();
        let stranger = User { name: "stranger".into(), uid: 54_321, gid: 54_321, home: "/".into() };
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        stranger.share_folder(&build, ".kept").unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o711);
        let owner = |path: &str| fs::symlink_metadata(build.join(path)).unwrap().uid();
        assert_eq!((owner("deep"), owner("deep/own"), owner("deep/link")), (54_321, 54_321, 54_321));
        assert_eq!((owner("deep/linked"), fs::metadata(&cache).unwrap().uid()), (0, 0));
    }
}
