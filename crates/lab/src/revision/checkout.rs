//! Builds of revisions, each in a folder that is kept for the next gate.
//!
//! A build is known by the content of its revision, by the command and by the tool chain, so that the base of one pull
//! request is the finished build of the next. While it is built, its folder is a worktree, because build tools ask git
//! for a version. Afterwards it is a plain folder: git does not list it, and a build is not repeated. A build that
//! fails or is interrupted leaves only its log; that of a killed gate is removed by the next one. Builds of a
//! repository that is no longer where it was are removed: CI systems keep the cache, and clone to another path.

use super::repository::{Repository, Revision};
use crate::LabError;
use crate::provision::{CommandStep, CommandWords, find, identity, run_command};
use paceline_host::{FileLock, Id, Interrupt, LockAttempt, build_variables};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How many builds of a repository are kept, those of the gate in progress included; and how many logs of failed ones.
const BUILDS_KEPT: usize = 8;
/// The file with the path of the repository, in the folder of its builds.
const ORIGIN: &str = "repository";
/// Digits of a digest in the name of a folder: no two builds of a repository share them.
const NAME_DIGITS: usize = 16;

/// Compilers, and runtimes for which packages are compiled. One that is replaced at the same path does not change PATH.
const COMPILERS: [&str; 13] = [
    "cc", "c++", "gcc", "g++", "clang", "clang++", "rustc", "go", "javac", "dotnet", "node", "python3",
    "ruby",
];

/// How a revision is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildOrder {
    /// The command for `sh -c`; none if there is nothing to build.
    pub command: Option<String>,
    /// The folder below the checkout in which it runs.
    pub folder: PathBuf,
    /// Its variables.
    pub env: BTreeMap<String, String>,
    /// Variables of the caller that it gets.
    pub pass_env: Vec<String>,
    /// How long it may take.
    pub limit: Duration,
}

/// A built revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// The folder in which its commands run.
    pub folder: PathBuf,
    /// Whether it was built earlier.
    pub is_cached: bool,
    /// How long the build took.
    pub took: Duration,
}

/// The builds of one repository.
pub struct Checkouts<'a> {
    repository: &'a Repository,
    folder: PathBuf,
    shepherd: Vec<String>,
    interrupt: Interrupt,
    _lock: FileLock,
}

impl<'a> Checkouts<'a> {
    /// Opens the builds of a repository below `cache`. Another gate of the same repository must end first: it would
    /// disturb the measurement, too.
    ///
    /// # Errors
    /// [`LabError::File`] if the folder cannot be made, [`LabError::Busy`] if another gate has it.
    pub fn open(
        repository: &'a Repository,
        cache: &Path,
        shepherd: Vec<String>,
        interrupt: Interrupt,
    ) -> Result<Self, LabError> {
        let origin = repository.git_folder().as_os_str().as_bytes();
        // git runs in the top folder of the repository, the gate perhaps below it.
        let folder = std::path::absolute(cache.join(name_of(origin))).map_err(|source| LabError::File {
            action: "find",
            path: cache.to_owned(),
            source,
        })?;
        let error = |source| LabError::File { action: "make", path: folder.clone(), source };
        fs::create_dir_all(&folder).map_err(error)?;
        hide_from(repository, &folder).map_err(error)?;
        match lock(&folder).map_err(error)? {
            LockAttempt::Taken(lock) => {
                fs::write(folder.join(ORIGIN), origin).map_err(error)?;
                remove_orphans(&folder);
                let checkouts = Self { repository, folder, shepherd, interrupt, _lock: lock };
                checkouts.remove_unfinished();
                Ok(checkouts)
            }
            LockAttempt::HeldBy(holder) => Err(LabError::Busy { what: "a gate of this repository", holder }),
        }
    }

    /// Removes the builds that a killed gate did not finish. A failure is not important: the next gate tries again.
    fn remove_unfinished(&self) {
        for name in unfinished(&self.folder) {
            let _ = self.discard(&name);
        }
    }

    /// The folder of the builds and their logs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Checks a revision out and builds it, unless that was done before.
    ///
    /// # Errors
    /// [`LabError::Command`] with the end of the log if the build fails, [`LabError::Git`], [`LabError::File`],
    /// [`LabError::Interrupted`]; each leaves no folder.
    pub fn prepare(&self, revision: &Revision, order: &BuildOrder) -> Result<Checkout, LabError> {
        let name = build_name(revision, order, &ToolChain::current(order));
        let folder = self.folder.join(&name);
        let stamp = self.folder.join(format!("{name}.done"));
        let work = folder.join(&order.folder);
        if stamp.exists() && work.is_dir() {
            // The time of the stamp is the time of its last use.
            let _ = fs::write(&stamp, "");
            return Ok(Checkout { folder: work, is_cached: true, took: Duration::ZERO });
        }
        self.discard(&name)?;
        let took = match self.make(revision, order, &name) {
            Ok(took) => took,
            Err(error) => {
                // The error at hand is the one to report.
                let _ = self.discard(&name);
                self.evict();
                return Err(if self.interrupt.requested() { LabError::Interrupted } else { error });
            }
        };
        fs::write(&stamp, "").map_err(|source| LabError::File { action: "write", path: stamp, source })?;
        self.evict();
        Ok(Checkout { folder: work, is_cached: false, took })
    }

    fn make(&self, revision: &Revision, order: &BuildOrder, name: &str) -> Result<Duration, LabError> {
        let folder = self.folder.join(name);
        self.repository.add_worktree(&folder, &revision.commit)?;
        let work = folder.join(&order.folder);
        if !work.is_dir() {
            let source = std::io::Error::new(
                std::io::ErrorKind::NotFound,
                format!("{} does not contain it", revision.shown),
            );
            return Err(LabError::File { action: "build in", path: order.folder.clone(), source });
        }
        let took = match &order.command {
            None => Duration::ZERO,
            Some(command) => run_command(
                &CommandStep {
                    server: &revision.shown,
                    name: "build",
                    command: CommandWords::Shell(command),
                    folder: &work,
                    environment: order.env.clone(),
                    pass_env: &order.pass_env,
                    log: self.folder.join(format!("{name}.log")),
                    printed: None,
                    limit: order.limit,
                    user: None,
                    removed_at_end: None,
                },
                &self.shepherd,
                self.interrupt,
            )?,
        };
        self.detach(&folder)?;
        Ok(took)
    }

    /// Removes a build and git's knowledge of it.
    fn discard(&self, name: &str) -> Result<(), LabError> {
        let folder = self.folder.join(name);
        // The stamp goes first: a folder without it is not used.
        let _ = fs::remove_file(self.folder.join(format!("{name}.done")));
        self.repository.forget_worktree(&folder)?;
        match fs::remove_dir_all(&folder) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(LabError::File { action: "remove", path: folder, source })
            }
            _ => Ok(()),
        }
    }

    /// Turns a worktree into a plain folder: removes git's knowledge of it, and the file that leads to its repository.
    fn detach(&self, folder: &Path) -> Result<(), LabError> {
        self.repository.forget_worktree(folder)?;
        let link = folder.join(".git");
        match fs::remove_file(&link) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(LabError::File { action: "remove", path: link, source })
            }
            _ => Ok(()),
        }
    }

    /// Removes the builds that were not used for longest, and the oldest logs of failed ones. A failure is not important:
    /// the next gate tries again.
    fn evict(&self) {
        for name in surplus(named(&self.folder, ".done")) {
            let _ = self.discard(&name);
            let _ = fs::remove_file(self.folder.join(format!("{name}.log")));
        }
        for log in surplus_logs(&self.folder) {
            let _ = fs::remove_file(log);
        }
    }
}

fn lock(folder: &Path) -> std::io::Result<LockAttempt> {
    let name = Id::parse("gate").map_err(std::io::Error::other)?;
    FileLock::try_take(folder, &name, "gate")
}

/// The files of a folder with this ending, without it, each with the time of its last change.
fn named(folder: &Path, ending: &str) -> Vec<(SystemTime, String)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().strip_suffix(ending)?.to_owned();
        Some((entry.metadata().ok()?.modified().ok()?, name))
    });
    found.collect()
}

/// The names of the builds without a stamp.
fn unfinished(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let names = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
    // Records are in a folder beside the builds.
    let is_build =
        |name: &str| name.len() == NAME_DIGITS && name.bytes().all(|letter| letter.is_ascii_hexdigit());
    names.filter(|name| is_build(name) && !folder.join(format!("{name}.done")).exists()).collect()
}

/// The oldest names beyond those that are kept.
fn surplus(mut names: Vec<(SystemTime, String)>) -> impl Iterator<Item = String> {
    names.sort();
    let surplus = names.len().saturating_sub(BUILDS_KEPT);
    names.into_iter().take(surplus).map(|(_, name)| name)
}

/// The oldest logs of builds that are not there.
fn surplus_logs(folder: &Path) -> Vec<PathBuf> {
    let mut logs = named(folder, ".log");
    logs.retain(|(_, name)| !folder.join(format!("{name}.done")).exists());
    surplus(logs).map(|name| folder.join(format!("{name}.log"))).collect()
}

/// Removes the folders beside `own` whose repository is no longer there. One that another gate uses is kept: its
/// repository may be visible only to that gate, in a container. A failure is not important: the next gate tries again.
fn remove_orphans(own: &Path) {
    for entry in own.parent().and_then(|cache| fs::read_dir(cache).ok()).into_iter().flatten().flatten() {
        let folder = entry.path();
        let Ok(origin) = fs::read(folder.join(ORIGIN)) else { continue };
        let is_ours = entry.file_name().to_string_lossy() == name_of(&origin);
        let is_gone = fs::metadata(OsStr::from_bytes(&origin))
            .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
        if folder != own
            && is_ours
            && is_gone
            && let Ok(LockAttempt::Taken(_lock)) = lock(&folder)
        {
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

/// The name of the folder with the builds of a repository, by the path of its git folder.
fn name_of(git_folder: &[u8]) -> String {
    hex_digest([git_folder])[..NAME_DIGITS].to_owned()
}

/// Lets git ignore a folder of builds in the working tree, as in the cache of a CI system that keeps only files of the
/// project: the builds would be new files, and so part of the next candidate.
fn hide_from(repository: &Repository, folder: &Path) -> std::io::Result<()> {
    match folder.canonicalize()?.starts_with(repository.root().canonicalize()?) {
        true => fs::write(folder.join(".gitignore"), "*\n"),
        false => Ok(()),
    }
}

/// What a build is made with. A base that was built with other flags or by another compiler than its candidate would be
/// compared with them, and not with the change: building it again costs less than that mistake.
#[derive(Clone, Default)]
struct ToolChain {
    /// The inherited variables that change builds. The values of other variables differ between CI jobs whose builds
    /// are the same.
    variables: BTreeMap<OsString, OsString>,
    /// The identities of the compilers' files.
    compilers: Vec<String>,
}

impl ToolChain {
    /// That of this process, as a build gets it.
    fn current(order: &BuildOrder) -> Self {
        let compilers = COMPILERS.iter().filter_map(|name| find(name, None));
        Self {
            variables: build_variables(std::env::vars_os(), &order.pass_env),
            compilers: compilers.map(|file| identity(&file)).collect(),
        }
    }
}

fn build_name(revision: &Revision, order: &BuildOrder, tool_chain: &ToolChain) -> String {
    let folder = order.folder.to_string_lossy();
    let env = order.env.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
    let command = order.command.as_deref().unwrap_or_default();
    let inherited = tool_chain.variables.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
    let compilers = tool_chain.compilers.iter().map(String::as_bytes);
    // Between the lists, so that a variable of one is not the same as that variable of the next.
    let end = || std::iter::once(&b""[..]);
    let parts = [revision.tree.as_bytes(), command.as_bytes(), folder.as_bytes()].into_iter().chain(env);
    let parts = parts.chain(end()).chain(inherited).chain(end()).chain(compilers);
    hex_digest(parts)[..NAME_DIGITS].to_owned()
}

/// SHA-256 over parts, each with its length, so that no two lists are the same bytes.
fn hex_digest<'b>(parts: impl IntoIterator<Item = &'b [u8]>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    paceline_catalogue::hex(&digest.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_known_by_content_command_and_tool_chain() {
        let revision = |tree: &str| Revision { commit: "c".into(), tree: tree.into(), shown: String::new() };
        let order = |command: &str| BuildOrder {
            command: Some(command.into()),
            folder: PathBuf::from("."),
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            limit: Duration::from_secs(1),
        };
        let tools = ToolChain::default();
        let name = build_name(&revision("t"), &order("make"), &tools);
        let same = Revision { commit: "d".into(), ..revision("t") };
        assert_eq!(name, build_name(&same, &order("make"), &tools));
        assert_ne!(name, build_name(&revision("u"), &order("make"), &tools));
        assert_ne!(name, build_name(&revision("t"), &order("make all"), &tools));
        assert_eq!(name.len(), NAME_DIGITS);
        let variable = |value: &str| BTreeMap::from([(OsString::from("RUSTFLAGS"), OsString::from(value))]);
        let flags = ToolChain { variables: variable("-Copt-level=1"), ..tools.clone() };
        let other_flags = ToolChain { variables: variable("-Copt-level=3"), ..tools.clone() };
        let compiler = ToolChain { compilers: vec!["/usr/bin/cc 100 1".into()], ..tools };
        let made_with = |tools: &ToolChain| build_name(&revision("t"), &order("make"), tools);
        let names = [made_with(&flags), made_with(&other_flags), made_with(&compiler)];
        assert!(!names.contains(&name) && names[0] != names[1], "{names:?}");
    }

    #[test]
    fn only_the_newest_logs_of_failed_builds_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..BUILDS_KEPT + 3 {
            let log = folder.path().join(format!("{number:02}.log"));
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(number as u64 + 1);
            fs::File::create(log).unwrap().set_modified(time).unwrap();
        }
        fs::write(folder.path().join("00.done"), "").unwrap();
        let oldest = ["01.log", "02.log"].map(|name| folder.path().join(name));
        assert_eq!(surplus_logs(folder.path()), oldest);
    }

    #[test]
    fn a_build_without_a_stamp_is_unfinished() {
        let folder = tempfile::tempdir().unwrap();
        let [built, killed] = ["0123456789abcdef", "fedcba9876543210"];
        for name in [built, killed, "records"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        for name in [format!("{built}.done"), format!("{killed}.log"), "0000000000000000".to_owned()] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(unfinished(folder.path()), [killed]);
    }

    #[test]
    fn builds_of_a_repository_that_is_gone_are_removed() {
        let cache = tempfile::tempdir().unwrap();
        let made = |git_folder: &Path| {
            let bytes = git_folder.as_os_str().as_bytes();
            let folder = cache.path().join(name_of(bytes));
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(ORIGIN), bytes).unwrap();
            folder
        };
        let own = made(&cache.path().join("own/.git"));
        let other = made(cache.path());
        let gone = made(&cache.path().join("gone/.git"));
        let in_use = made(&cache.path().join("elsewhere/.git"));
        let held = lock(&in_use).unwrap();
        let foreign = cache.path().join("foreign");
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join(ORIGIN), "/nowhere/.git").unwrap();
        remove_orphans(&own);
        drop(held);
        let kept = [own, other, gone, in_use, foreign].map(|folder| folder.exists());
        assert_eq!(kept, [true, true, false, true, true]);
    }
}
