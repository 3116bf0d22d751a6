//! Checks the `needs` of a manifest: whether each exists, and its version.
//!
//! A need is a program on the PATH, or, if it contains a `/`, a pattern of files of which one must exist: headers and
//! modules come in packages without a program.

use crate::LabError;
use paceline_host::{User, system};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The arguments for a program's version, in the order in which they are tried.
const VERSION_FLAGS: [&str; 3] = ["--version", "version", "-version"];

/// How long a program may take to print its version; Maven takes one second.
const VERSION_LIMIT: Duration = Duration::from_secs(60);

/// Caches versions, since many servers need the same few tools.
#[derive(Default)]
pub(super) struct Toolbox {
    versions: Mutex<HashMap<String, String>>,
    /// The user of the tools, if that is not the lab's own user.
    user: Option<User>,
}

/// A tool that exists, but is not accessible to the user of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClosedTool {
    need: String,
    file: PathBuf,
    user: String,
}

impl std::fmt::Display for ClosedTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { need, file, user } = self;
        let file = file.display();
        write!(f, "{need} ({file} is closed to the user `{user}`: install it for all users, or --user root)")
    }
}

impl Toolbox {
    /// The tools that `user` can access; `None` for the lab's own user.
    pub(super) fn of(user: Option<User>) -> Self {
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
    pub(super) fn closed(&self, need: &str) -> Option<ClosedTool> {
        let user = self.user.as_ref()?.name.clone();
        let file = find(need, None).filter(|_| self.find(need).is_none())?;
        Some(ClosedTool { need: need.to_owned(), file, user })
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
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = versions.get(need) {
            return Ok(known.clone());
        }
        let version = self.find(need).map_or(Ok(String::new()), |file| version_of(need, &file))?;
        versions.insert(need.to_owned(), version.clone());
        Ok(version)
    }

    /// Clears the cache, after an installation.
    pub(super) fn forget(&self) {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner).clear();
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

fn version_of(need: &str, file: &Path) -> Result<String, LabError> {
    let flags = if need.contains('/') { [].as_slice() } else { &VERSION_FLAGS };
    let mut first_error = None;
    for flag in flags {
        match ask(&[file.as_os_str(), OsStr::new(flag)]) {
            Ok(Some(reported)) => return Ok(reported),
            Ok(None) => {}
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    first_error.map_or_else(|| Ok(identity(file)), Err)
}

/// Path, size and time of change: not a version, but different whenever the file is.
fn identity(file: &Path) -> String {
    let facts = file.canonicalize().and_then(|file| Ok((file.metadata()?, file)));
    match facts {
        Ok((facts, file)) => format!("{} {} {}", file.display(), facts.size(), facts.mtime()),
        Err(_) => String::new(),
    }
}

/// The command's output, if it succeeds and is not empty.
///
/// # Errors
/// [`LabError::ToolVersion`] when it did not exit normally: that is not an answer, and no conclusion may be drawn from
/// it.
fn ask(words: &[&OsStr]) -> Result<Option<String>, LabError> {
    let output = output_of(words, VERSION_LIMIT).map_err(|error| {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        LabError::ToolVersion { command: words.join(" "), problem: error.to_string() }
    })?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status.success() && !text.is_empty()).then(|| String::from_utf8_lossy(&text).into_owned()))
}

/// The output of a command that exited normally.
fn output_of(words: &[&OsStr], limit: Duration) -> io::Result<Output> {
    let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .current_dir("/")
        // Ctrl-C in a terminal is sent to its foreground group: only the lab handles it, not this program.
        .process_group(0)
        .spawn()?;
    let output = wait(child, limit)?;
    match output.status.signal() {
        Some(signal) => Err(io::Error::other(format!("it was ended by signal {signal}"))),
        None => Ok(output),
    }
}

/// The output of a program that prints a few lines, which fit into its pipes.
fn wait(mut child: Child, limit: Duration) -> io::Result<Output> {
    let begun = Instant::now();
    while child.try_wait()?.is_none() {
        if begun.elapsed() > limit {
            system::kill_group(child.id().cast_signed(), libc::SIGKILL)?;
            child.wait()?;
            let late = format!("it did not end within {} s", limit.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, late));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output()
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
        assert_eq!(Toolbox::default().missing(&needs), [absent, "no-such-program-here".into()]);
        assert!(Toolbox::default().version(&pattern).unwrap().contains("uv.h"));
    }

    #[test]
    fn a_tool_that_tells_no_version_is_known_by_its_file() {
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
        let reported = |flag: &str| ask(&["sh".as_ref(), tool.as_os_str(), flag.as_ref()]).unwrap();
        write("one");
        assert_eq!(reported("--version"), None);
        assert_eq!(reported("version").as_deref(), Some("one\n"));
        write("two");
        assert_eq!(reported("version").as_deref(), Some("two\n"));
    }

    fn sh(script: &str) -> [&OsStr; 3] {
        ["sh".as_ref(), "-c".as_ref(), script.as_ref()]
    }

    #[test]
    fn a_tool_that_does_not_come_to_an_answer_has_no_other_version() {
        // Not SIGINT, which the parent of the tests may have set to be ignored.
        let reported = ask(&sh("kill -KILL $$")).unwrap_err();
        assert_eq!(
            reported.to_string(),
            "cannot learn the version by `sh -c kill -KILL $$`: it was ended by signal 9"
        );
        assert!(matches!(ask(&["/nowhere/tool".as_ref()]), Err(LabError::ToolVersion { .. })));
        let late = output_of(&sh("sleep 100"), Duration::ZERO).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        assert_eq!(ask(&sh("exit 2")).unwrap(), None, "it does not know the flag");
    }

    #[test]
    fn ctrl_c_in_a_terminal_does_not_reach_a_tool() {
        let reported = ask(&sh("echo $$; cut -d ' ' -f 5 /proc/$$/stat")).unwrap().unwrap();
        let (process, group) = reported.trim().split_once('\n').unwrap();
        assert_eq!(process, group, "it leads a process group of its own");
    }
}
