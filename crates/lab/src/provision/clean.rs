//! Finds and removes what rounds and servers leave behind in the state folder: `paceline lab clean`.
//!
//! Logs of launches, folders that a server made for a launch in its build folder, scratch folders of killed rounds,
//! templates of databases that were replaced or never finished, builds of removed servers; with `all` every build, and
//! the caches of tools in the homes of other users. Results are never removed.

use super::{DATABASE_PREFIX, LAUNCH, METADATA_DIR, Provisioner, TEMPLATE_PREFIX, container, rollback};
use paceline_catalogue::{BrokenEntry, Catalogue};
use paceline_host::{FileLock, Id, LockAttempt};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The unit of `st_blocks`, on every file system: stat(3).
const BLOCK_BYTES: u64 = 512;

/// A file or folder that can be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOver {
    /// A description.
    pub what: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// Its size on disk.
    pub bytes: u64,
}

impl LeftOver {
    fn from_path(what: &'static str, path: PathBuf) -> Self {
        let bytes = match fs::symlink_metadata(&path) {
            Ok(about) if about.is_dir() => folder_bytes(&path),
            Ok(about) => about.len(),
            Err(_) => 0,
        };
        Self { what, path, bytes }
    }

    /// Removes it. A symbolic link is removed, never followed.
    ///
    /// # Errors
    /// When it cannot be removed, or is a build that another process makes or runs.
    pub fn remove(&self) -> io::Result<()> {
        let is_folder = fs::symlink_metadata(&self.path)?.is_dir();
        // A template is made under the lock of its build.
        let build = self.path.parent().filter(|_| is_template(&self.path)).unwrap_or(&self.path);
        let _locks = if is_folder { lock_build(build)? } else { Vec::new() };
        if is_folder {
            // The engine keeps the files of an image.
            container::forget(&self.path);
        }
        rollback::remove(&self.path)
    }
}

impl Provisioner {
    /// Everything that can be removed, including all builds if `all`. No round may run meanwhile.
    pub fn left_overs(&self, catalogue: &Catalogue, all: bool) -> Vec<LeftOver> {
        let in_folder = |name: &str| entries(&self.state_dir.join(name));
        let mut found: Vec<LeftOver> =
            in_folder("logs").into_iter().map(|path| LeftOver::from_path("log", path)).collect();
        let scratch = in_folder("scratch").into_iter().filter(|path| !is_scratch_in_use(path));
        found.extend(scratch.map(|path| LeftOver::from_path("scratch folder", path)));
        if all {
            found.extend(
                in_folder("home").into_iter().map(|path| LeftOver::from_path("home folder of a user", path)),
            );
            found
                .extend(in_folder("files").into_iter().map(|path| LeftOver::from_path("static files", path)));
        }
        for build in in_folder("build") {
            let id = build.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            match is_known(catalogue, &id) {
                _ if all => found.push(LeftOver::from_path("build", build)),
                false => found.push(LeftOver::from_path("build of a server that no longer exists", build)),
                true => {
                    let of_launches = entries(&build).into_iter().filter(|path| is_of_launch(path));
                    found.extend(of_launches.map(|path| LeftOver::from_path("files of a launch", path)));
                    let templates = old_templates(&build).into_iter();
                    found.extend(templates.map(|path| LeftOver::from_path("old database template", path)));
                }
            }
        }
        found
    }
}

/// Whether the catalogue has the server, balancer or database of a build, also if its manifest has an error.
fn is_known(catalogue: &Catalogue, build: &str) -> bool {
    let has = |broken: &[BrokenEntry], id: &str| broken.iter().any(|entry| entry.id == id);
    if let Some(id) = build.strip_prefix("balancer-") {
        return catalogue.balancers.iter().any(|balancer| balancer.id == id)
            || has(&catalogue.broken_balancers, id);
    }
    if let Some(id) = build.strip_prefix("database-") {
        return catalogue.databases.iter().any(|database| database.id == id)
            || has(&catalogue.broken_databases, id);
    }
    catalogue.servers.iter().any(|server| server.id == build) || has(&catalogue.broken_servers, build)
}

/// The locks of a build; none for another folder. They are files in it, so that removing one that is held would let
/// another process begin a second build of the same server.
fn lock_build(folder: &Path) -> io::Result<Vec<FileLock>> {
    let keep = folder.join(METADATA_DIR);
    let names = ["build", container::IMAGE, LAUNCH];
    let there = names.into_iter().filter(|name| keep.join(lock_file(name)).exists());
    there
        .map(|name| match FileLock::try_take(&keep, &id(name)?, "clean-up")? {
            LockAttempt::Taken(lock) => Ok(lock),
            LockAttempt::HeldBy(holder) => Err(io::Error::other(format!("it is in use by {holder}"))),
        })
        .collect()
}

/// Whether a scratch folder, or the lock beside it, is that of a running process: `lab check` and `lab serve` have one
/// too.
fn is_scratch_in_use(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".lock").unwrap_or(&name);
    let Some(root) = path.parent().filter(|root| root.join(lock_file(name)).exists()) else { return false };
    let attempt = id(name).and_then(|name| FileLock::try_take(root, &name, "clean-up"));
    matches!(attempt, Ok(LockAttempt::HeldBy(_)))
}

/// The file of a lock: see [`FileLock::try_take`].
fn lock_file(name: &str) -> String {
    format!("{name}.lock")
}

fn id(name: &str) -> io::Result<Id> {
    Id::parse(name).map_err(io::Error::other)
}

/// Whether a server made it for one launch: its name is `run-PORT` or `PORT.conf`.
fn is_of_launch(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let port = name.strip_prefix("run-").or_else(|| name.strip_suffix(".conf")).unwrap_or_default();
    port.parse::<u16>().is_ok()
}

/// The templates of a database's build that a killed round left unfinished. One that is being made has its lock.
pub(crate) fn unfinished_templates(build: &Path) -> Vec<PathBuf> {
    let unfinished = |path: &PathBuf| is_template(path) && path.extension().is_some();
    entries(build).into_iter().filter(unfinished).collect()
}

/// The unfinished templates of a database's build, and those before the last: there is one for each version and user.
/// Without its template a database takes some seconds longer to start once.
fn old_templates(build: &Path) -> Vec<PathBuf> {
    let mut templates: Vec<PathBuf> = entries(build).into_iter().filter(|path| is_template(path)).collect();
    let finished = templates.iter().filter(|path| path.extension().is_none());
    let modified = |path: &&PathBuf| fs::metadata(path).and_then(|about| about.modified()).ok();
    let last = finished.max_by_key(modified).cloned();
    templates.retain(|path| Some(path) != last.as_ref());
    templates
}

/// Whether it is a template of a database, by its name and that of its build.
fn is_template(path: &Path) -> bool {
    let begins = |path: &Path, prefix: &str| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
    };
    begins(path, TEMPLATE_PREFIX) && path.parent().is_some_and(|build| begins(build, DATABASE_PREFIX))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The blocks of everything below `folder`, in bytes; 0 if it does not exist. Links are not followed; files that vanish
/// meanwhile are not counted.
pub(super) fn folder_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| {
        let Ok(about) = entry.metadata() else { return 0 };
        let below = if about.is_dir() { folder_bytes(&entry.path()) } else { 0 };
        below + about.blocks() * BLOCK_BYTES
    });
    bytes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_catalogue::fixture::TestTree;
    use paceline_host::Interrupt;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn builds_are_kept_by_default_and_results_always() {
        let tree = TestTree::with(&["go-server"]);
        for file in [
            "logs/go-server-1.log",
            "build/go-server/server",
            "build/go-server/run-20001/socket",
            "build/go-server/20002.conf",
            "build/go-server/php.conf",
            "build/go-gone/server",
            "build/database-broken/server",
            "build/database-gone/server",
            "home/nobody/.npm/cached",
            "files/1/static/app.js",
            "results.sqlite",
        ] {
            tree.write(&format!(".paceline/{file}"), "x");
        }
        tree.write("databases/broken/database.toml", "no manifest");
        let catalogue = tree.catalogue();
        let provisioner = Provisioner::new(&catalogue.folders, Vec::new(), Interrupt::never());
        let names = |all| -> Vec<String> {
            let found = provisioner.left_overs(&catalogue, all);
            let root = tree.path(".paceline");
            found.iter().map(|left| left.path.strip_prefix(&root).unwrap().display().to_string()).collect()
        };
        let some = [
            "logs/go-server-1.log",
            "build/database-gone",
            "build/go-gone",
            "build/go-server/20002.conf",
            "build/go-server/run-20001",
        ];
        assert_eq!(names(false), some);
        let all = [
            "logs/go-server-1.log",
            "home/nobody",
            "files/1",
            "build/database-broken",
            "build/database-gone",
            "build/go-gone",
            "build/go-server",
        ];
        assert_eq!(names(true), all);
        // Unlike root, a user has to open it first.
        let closed = fs::Permissions::from_mode(0o555);
        fs::set_permissions(tree.path(".paceline/build/go-gone"), closed).unwrap();
        for left in provisioner.left_overs(&catalogue, false) {
            left.remove().unwrap();
        }
        assert!(names(false).is_empty());
        assert!(
            tree.path(".paceline/results.sqlite").exists()
                && tree.path(".paceline/build/go-server/server").exists()
        );
    }

    #[test]
    fn what_a_running_process_uses_is_kept() {
        let tree = TestTree::with(&["go-server"]);
        tree.write(".paceline/build/go-server/server", "x");
        let catalogue = tree.catalogue();
        let provisioner = Provisioner::new(&catalogue.folders, Vec::new(), Interrupt::never());
        let _building = provisioner.lock(&catalogue.server("go-server").unwrap()).unwrap();
        let scratch = crate::Scratch::begin(&tree.path(".paceline/scratch"), &id("used").unwrap()).unwrap();
        tree.write(".paceline/scratch/killed/file", "x");
        let left = provisioner.left_overs(&catalogue, true);
        let paths: Vec<_> = left.iter().map(|left| left.path.clone()).collect();
        let listed = [".paceline/scratch/killed", ".paceline/build/go-server"].map(|path| tree.path(path));
        assert_eq!(paths, listed);
        left[0].remove().unwrap();
        let refused = left[1].remove().unwrap_err().to_string();
        assert!(refused.starts_with("it is in use by process "), "{refused}");
        assert!(tree.path(".paceline/build/go-server/server").exists() && scratch.folder().exists());
    }

    /// Removes it as soon as its lock is free: a process that another test is starting may have a copy for a moment.
    fn remove_unlocked(left: &LeftOver) {
        while let Err(error) = left.remove() {
            assert!(error.to_string().starts_with("it is in use by "), "{error}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    #[test]
    fn a_build_that_a_process_runs_is_kept() {
        let tree = TestTree::with(&["go-server"]);
        tree.write(".paceline/build/go-server/server", "x");
        let catalogue = tree.catalogue();
        let provisioner = || Provisioner::new(&catalogue.folders, Vec::new(), Interrupt::never());
        let running = provisioner();
        let server = catalogue.server("go-server").unwrap();
        assert!(running.image_launch(&server, "single").unwrap().is_none());
        let left = provisioner().left_overs(&catalogue, true);
        let refused = left[0].remove().unwrap_err().to_string();
        assert!(refused.contains(" (launch)"), "{refused}");
        assert!(tree.path(".paceline/build/go-server/server").exists());
        drop(running);
        remove_unlocked(&left[0]);
        assert!(!tree.path(".paceline/build/go-server").exists());
    }

    #[test]
    fn templates_are_listed_unless_they_are_the_last() {
        let tree = TestTree::with(&["go-server"]);
        tree.write("databases/broken/database.toml", "no manifest");
        let build = tree.path(".paceline/build/database-broken");
        let names = ["template-1", "template-2", "template-3", "template-3.killed"];
        let begun = std::time::SystemTime::now();
        for (name, age_s) in names.into_iter().zip([200, 100, 300, 0]) {
            tree.write(&format!(".paceline/build/database-broken/{name}/data"), "x");
            let folder = fs::File::open(build.join(name)).unwrap();
            folder.set_modified(begun - std::time::Duration::from_secs(age_s)).unwrap();
        }
        tree.write(".paceline/build/go-server/template-1/page.html", "x");
        let catalogue = tree.catalogue();
        let provisioner = Provisioner::new(&catalogue.folders, Vec::new(), Interrupt::never());
        let left = provisioner.left_overs(&catalogue, false);
        let paths: Vec<_> = left.iter().map(|left| left.path.clone()).collect();
        assert_eq!(paths, ["template-1", "template-3", "template-3.killed"].map(|name| build.join(name)));
        assert_eq!(unfinished_templates(&build), [build.join("template-3.killed")]);
        let making = FileLock::try_take(&build.join(METADATA_DIR), &id("build").unwrap(), "build").unwrap();
        assert!(left.iter().all(|left| left.remove().is_err()));
        drop(making);
        left.iter().for_each(remove_unlocked);
        assert!(provisioner.left_overs(&catalogue, false).is_empty() && build.join("template-2").exists());
    }

    #[test]
    fn folder_sizes_include_subfolders() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(folder_bytes(&folder.path().join("none")), 0);
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        let empty = folder_bytes(folder.path());
        fs::write(folder.path().join("a/b/c"), vec![1; 100_000]).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("a/root")).unwrap();
        let full = folder_bytes(folder.path());
        assert!((empty + 100_000..empty + 200_000).contains(&full), "{empty} to {full}");
    }
}
