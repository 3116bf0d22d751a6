//! Checks the `needs` of a manifest: whether each exists, and its version.
//!
//! A need is a program on the PATH, or, if it contains a `/`, a pattern of files of which one must exist: headers and
//! modules come in packages without a program. It also finds packages that are not installed.

use crate::LabError;
use paceline_host::{User, system};
use rustix::fs::OFlags;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::num::NonZero;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The arguments for a program's version, in the order in which they are tried.
const VERSION_FLAGS: [&str; 3] = ["--version", "version", "-version"];

/// How long a program may take to print its version with any of the flags; Maven takes one second.
const VERSION_LIMIT: Duration = Duration::from_secs(60);

/// How much of a program's output is its version; the rest is ignored.
const VERSION_BYTES: u64 = 64 * 1024;

/// The version of a tool, or why it is unknown.
type VersionResult = Result<String, ToolFailure>;

/// Caches versions, since many servers need the same few tools.
#[derive(Default)]
pub(super) struct ToolVersions {
    versions: Mutex<HashMap<String, VersionResult>>,
    /// The user of the tools, if that is not the lab's own user.
    user: Option<User>,
}

/// A tool that exists, but is not accessible to the user of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InaccessibleTool {
    need: String,
    file: PathBuf,
    user: String,
}

impl std::fmt::Display for InaccessibleTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { need, file, user } = self;
        let file = file.display();
        write!(
            f,
            "{need} (the user `{user}` cannot access {file}: install it for all users, or use --user root)"
        )
    }
}

impl ToolVersions {
    /// The tools that `user` can access; `None` for the lab's own user.
    pub(super) fn for_user(user: Option<User>) -> Self {
        Self { versions: Mutex::default(), user }
    }

    /// The `needs` that are missing or not accessible, as messages.
    pub(super) fn missing(&self, needs: &[String]) -> Vec<String> {
        let absent = needs.iter().filter(|need| self.find(need).is_none());
        let reported =
            |need: &String| self.closed(need).map_or_else(|| need.clone(), |closed| closed.to_string());
        absent.map(reported).collect()
    }

    /// The tool for `need`, if it exists and only the user of servers cannot access it.
    pub(super) fn closed(&self, need: &str) -> Option<InaccessibleTool> {
        let user = self.user.as_ref()?.name.clone();
        let file = find(need, None).filter(|_| self.find(need).is_none())?;
        Some(InaccessibleTool { need: need.to_owned(), file, user })
    }

    /// The path of `need` for its user.
    pub(super) fn find(&self, need: &str) -> Option<PathBuf> {
        find(need, self.user.as_ref())
    }

    /// The version that `need` prints; if it prints none, the identity of its file.
    ///
    /// # Errors
    /// [`LabError::ToolVersion`] when it could not run to its end. That does not count as a changed version: what was
    /// made with the tool stays valid.
    pub(super) fn version(&self, need: &str) -> Result<String, LabError> {
        // Locked while it asks: servers that are built side by side need the same tools.
        let mut versions = self.cached();
        if let Some(known) = versions.get(need) {
            return known.clone().map_err(Into::into);
        }
        let version = self.ask(need, Instant::now() + VERSION_LIMIT)?;
        versions.insert(need.to_owned(), Ok(version.clone()));
        Ok(version)
    }

    /// Asks for the versions of `needs` side by side, for at most `limit` in all. A tool that does not answer in this
    /// time counts as one without a version until the cache is cleared.
    pub(super) fn ask_all(&self, needs: &BTreeSet<&str>, limit: Duration) {
        let until = Instant::now() + limit;
        let left = Mutex::new(needs.iter());
        let ask_next = || {
            while let Some(need) = left.lock().unwrap_or_else(PoisonError::into_inner).next() {
                let version = self.ask(need, until);
                self.cached().insert((*need).to_owned(), version);
            }
        };
        let askers = std::thread::available_parallelism().map_or(1, NonZero::get) * 2;
        std::thread::scope(|scope| {
            for _ in 0..askers {
                // Without threads, the versions are asked for when they are needed.
                let _ = std::thread::Builder::new().spawn_scoped(scope, ask_next);
            }
        });
    }

    fn ask(&self, need: &str, until: Instant) -> VersionResult {
        self.find(need).map_or(Ok(String::new()), |file| version_of(need, &file, until))
    }

    /// Clears the cache, after an installation.
    pub(super) fn forget(&self) {
        self.cached().clear();
    }

    fn cached(&self) -> MutexGuard<'_, HashMap<String, VersionResult>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tool that did not run to its end.
#[derive(Clone, Debug)]
struct ToolFailure {
    command: String,
    problem: String,
}

impl From<ToolFailure> for LabError {
    fn from(ToolFailure { command, problem }: ToolFailure) -> Self {
        Self::ToolVersion { command, problem }
    }
}

/// The path of `need`, among the places that `user` can access.
pub(crate) fn find(need: &str, user: Option<&User>) -> Option<PathBuf> {
    if need.contains('/') {
        return glob::glob(need).ok()?.flatten().find(|file| is_open(file, user));
    }
    on_path(need, user)
}

/// The file of a command's first word: the word itself if it contains a `/`, else the match on the PATH.
pub(crate) fn program(word: &str) -> Option<PathBuf> {
    if word.contains('/') {
        return Some(PathBuf::from(word)).filter(|file| is_program(file));
    }
    on_path(word, None)
}

fn on_path(word: &str, user: Option<&User>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&path).map(|folder| folder.join(word));
    files.find(|file| is_program(file) && is_open(file, user))
}

/// Whether the user can enter the folders of a file, and of its link's target.
fn is_open(file: &Path, user: Option<&User>) -> bool {
    let Some(user) = user else { return true };
    let folder = |file: &Path| file.parent().is_none_or(|folder| user.check_reach(folder).is_ok());
    folder(file) && file.canonicalize().is_ok_and(|target| folder(&target))
}

fn is_program(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

fn version_of(need: &str, file: &Path, until: Instant) -> VersionResult {
    let flags = if need.contains('/') { [].as_slice() } else { &VERSION_FLAGS };
    let mut first_error = None;
    for flag in flags {
        match ask(&[file.as_os_str(), OsStr::new(flag)], until) {
            Ok(Some(reported)) => return Ok(reported),
            Ok(None) => {}
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    first_error.map_or_else(|| Ok(identity(file)), Err)
}

/// Path, size and time of change: not a version, but different whenever the file is.
pub(crate) fn identity(file: &Path) -> String {
    let facts = file.canonicalize().and_then(|file| Ok((file.metadata()?, file)));
    match facts {
        Ok((facts, file)) => format!("{} {} {}", file.display(), facts.size(), facts.mtime()),
        Err(_) => String::new(),
    }
}

/// The command's output, if it succeeds and is not empty.
///
/// # Errors
/// When it did not exit normally: that is not an answer, and no conclusion may be drawn from it.
fn ask(words: &[&OsStr], until: Instant) -> Result<Option<String>, ToolFailure> {
    let output = output_of(words, until).map_err(|error| {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        ToolFailure { command: words.join(" "), problem: error.to_string() }
    })?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status.success() && !text.is_empty()).then(|| String::from_utf8_lossy(&text).into_owned()))
}

/// The output of a command that exited normally.
fn output_of(words: &[&OsStr], until: Instant) -> io::Result<Output> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    if Instant::now() >= until {
        return Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the time limit was reached before the command could run",
        ));
    }
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .current_dir("/")
        // Ctrl-C in a terminal is sent to its foreground group: only the lab handles it, not this program.
        .process_group(0)
        .spawn()?;
    let output = wait(child, until)?;
    match output.status.signal() {
        Some(signal) => Err(io::Error::other(format!("the command was ended by signal {signal}"))),
        None => Ok(output),
    }
}

/// What a program has printed when it ends. A process that it leaves behind may keep the pipes open; the rest of its
/// group is ended.
fn wait(mut child: Child, until: Instant) -> io::Result<Output> {
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    for pipe in [stdout.as_ref().map(|pipe| pipe.as_fd()), stderr.as_ref().map(|pipe| pipe.as_fd())] {
        pipe.map_or(Ok(()), |pipe| rustix::fs::fcntl_setfl(pipe, OFlags::NONBLOCK))?;
    }
    let (mut printed, mut complained) = (Vec::new(), Vec::new());
    let begun = Instant::now();
    loop {
        let ended = child.try_wait()?;
        // Also when it has ended: what it printed is in the pipe.
        drain(&mut stdout, &mut printed)?;
        drain(&mut stderr, &mut complained)?;
        if let Some(status) = ended {
            // It may have left no process to end.
            let _ = system::kill_group(child.id().cast_signed(), libc::SIGKILL);
            return Ok(Output { status, stdout: printed, stderr: complained });
        }
        if Instant::now() >= until {
            system::kill_group(child.id().cast_signed(), libc::SIGKILL)?;
            child.wait()?;
            let late = format!("the command did not end within {:.0} s", begun.elapsed().as_secs_f64());
            return Err(io::Error::new(io::ErrorKind::TimedOut, late));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Reads the bytes that a pipe holds now, without waiting for more; keeps the beginning.
fn drain(pipe: &mut Option<impl Read>, kept: &mut Vec<u8>) -> io::Result<()> {
    let Some(pipe) = pipe else { return Ok(()) };
    let mut piece = [0; 4096];
    // At most what a full pipe holds, so that a program that never stops printing is ended in time.
    for _ in 0..VERSION_BYTES / piece.len() as u64 {
        match pipe.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => {
                let room = (VERSION_BYTES as usize).saturating_sub(kept.len());
                kept.extend_from_slice(&piece[..length.min(room)]);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The `packages` that dpkg does not list as installed, and that no installed package provides: the `nodejs` of
/// NodeSource provides `npm`, and apt-get would remove it for Debian's. Empty without dpkg.
pub(super) fn absent_packages(packages: &[String]) -> Vec<String> {
    let is_absent = |package: &&String| {
        let status = Command::new("dpkg-query")
            .args(["--show", "--showformat=${db:Status-Status}", "--", package.as_str()])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        status.is_ok_and(|status| status.stdout != b"installed")
    };
    let mut absent: Vec<String> = packages.iter().filter(is_absent).cloned().collect();
    if !absent.is_empty() {
        let provided = provided_packages();
        absent.retain(|package| !names(&provided, package));
    }
    absent
}

/// A line of `installed NAME, NAME (= VERSION)` for each installed package, with the names that it provides.
fn provided_packages() -> String {
    let listed = Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Status} ${Provides}\n"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    listed.map_or_else(|_| String::new(), |listed| String::from_utf8_lossy(&listed.stdout).into_owned())
}

/// Whether an installed package provides this one (deb-control(5), Provides).
fn names(provided: &str, package: &str) -> bool {
    let mut lists = provided.lines().filter_map(|line| line.strip_prefix("installed "));
    lists.any(|list| list.split(',').any(|entry| entry.split_whitespace().next() == Some(package)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_is_a_program_or_a_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("uv.h"), "").unwrap();
        let pattern = format!("{}/*.h", folder.path().display());
        let absent = format!("{}/*.hpp", folder.path().display());
        let needs = ["sh".to_owned(), pattern.clone(), absent.clone(), "no-such-program-here".into()];
        assert_eq!(ToolVersions::default().missing(&needs), [absent, "no-such-program-here".into()]);
        assert!(ToolVersions::default().version(&pattern).unwrap().contains("uv.h"));
    }

    #[test]
    fn a_package_that_another_one_provides_is_not_absent() {
        let listed = "installed nodejs-dev, npm (= 10.8)\nconfig-files yarn\ninstalled \n";
        assert!(names(listed, "npm") && names(listed, "nodejs-dev"));
        assert!(!names(listed, "yarn") && !names(listed, "nodejs") && !names(listed, ""));
    }

    #[test]
    fn a_tool_without_a_version_is_identified_by_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let tool = folder.path().join("tool");
        std::fs::write(&tool, "one").unwrap();
        let before = identity(&tool);
        std::fs::write(&tool, "longer").unwrap();
        assert!(before.contains("tool") && before != identity(&tool), "{before}");
    }

    #[test]
    fn a_version_changes_with_the_tool() {
        let folder = tempfile::tempdir().unwrap();
        let tool = folder.path().join("tool");
        let write = |says: &str| {
            std::fs::write(&tool, format!("[ \"$1\" = version ] && echo {says}\n")).unwrap();
        };
        // Started by `sh`: a file just written may still be open for writing in a child of another test.
        let reported = |flag: &str| ask(&["sh".as_ref(), tool.as_os_str(), flag.as_ref()], soon()).unwrap();
        write("one");
        assert_eq!(reported("--version"), None);
        assert_eq!(reported("version").as_deref(), Some("one\n"));
        write("two");
        assert_eq!(reported("version").as_deref(), Some("two\n"));
    }

    fn soon() -> Instant {
        Instant::now() + VERSION_LIMIT
    }

    fn sh(script: &str) -> [&OsStr; 3] {
        ["sh".as_ref(), "-c".as_ref(), script.as_ref()]
    }

    #[test]
    fn a_tool_that_fails_has_no_version() {
        // Not SIGINT, which the parent of the tests may have set to be ignored.
        let reported = LabError::from(ask(&sh("kill -KILL $$"), soon()).unwrap_err());
        assert_eq!(
            reported.to_string(),
            "the manifest's version command `sh -c kill -KILL $$` failed: the command was ended by signal 9"
        );
        assert!(ask(&["/nowhere/tool".as_ref()], soon()).is_err());
        let late = output_of(&sh("sleep 100"), Instant::now() + Duration::from_millis(20)).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        assert_eq!(ask(&sh("exit 2"), soon()).unwrap(), None, "it does not know the flag");
    }

    #[test]
    fn a_left_over_process_of_a_tool_does_not_delay_its_version() {
        let reported = ask(&sh("echo 1.0; setsid sleep 100 & echo $!"), soon()).unwrap().unwrap();
        let (version, left) = reported.trim().split_once('\n').unwrap();
        assert_eq!(version, "1.0");
        system::kill_group(left.parse().unwrap(), libc::SIGKILL).unwrap();
        let many = ask(&sh("yes | head -c 1000000"), soon()).unwrap().unwrap();
        assert_eq!(many.len() as u64, VERSION_BYTES);
    }

    #[test]
    fn tools_that_hang_share_one_time_limit() {
        let tools = ToolVersions::default();
        let needs = BTreeSet::from(["sh", "cat"]);
        tools.ask_all(&needs, Duration::ZERO);
        for need in needs {
            let error = tools.version(need).unwrap_err().to_string();
            assert!(
                error.ends_with("the time limit was reached before the command could run"),
                "it is not asked again: {error}"
            );
        }
        tools.forget();
        assert!(tools.version("cat").unwrap().starts_with("cat "));
    }

    #[test]
    fn ctrl_c_in_a_terminal_does_not_reach_a_tool() {
        let reported = ask(&sh("echo $$; cut -d ' ' -f 5 /proc/$$/stat"), soon()).unwrap().unwrap();
        let (process, group) = reported.trim().split_once('\n').unwrap();
        assert_eq!(process, group, "it leads a process group of its own");
    }
}
