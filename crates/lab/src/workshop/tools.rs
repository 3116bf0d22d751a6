//! What a manifest `needs`: whether each is there, and in which version.
//!
//! A need is a program on the PATH, or, where it holds a `/`, a pattern of files of which one must exist: headers and
//! modules come in packages that bring no program.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The ways in which programs are asked for their version, in the order in which they are tried.
const VERSION_FLAGS: [&str; 3] = ["--version", "version", "-version"];

/// How long a program may take to tell its version; Maven takes one second.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// Remembers versions, since many servers ask for the same few tools.
#[derive(Default)]
pub(super) struct Toolbox {
    versions: Mutex<HashMap<String, String>>,
}

impl Toolbox {
    /// Those of `needs` that are not there.
    pub(super) fn missing(&self, needs: &[String]) -> Vec<String> {
        needs.iter().filter(|need| find(need).is_none()).cloned().collect()
    }

    /// What `need` says of its version; where it does not say, which file it is.
    pub(super) fn version(&self, need: &str) -> String {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        versions.entry(need.to_owned()).or_insert_with(|| version_of(need)).clone()
    }

    /// Forgets what it knows, after something was installed.
    pub(super) fn forget(&self) {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Where `need` is.
pub(super) fn find(need: &str) -> Option<PathBuf> {
    if need.contains('/') {
        return glob::glob(need).ok()?.flatten().next();
    }
    program(need)
}

/// The file that a command's first word starts: as it stands where it holds a `/`, else on the PATH.
pub(crate) fn program(word: &str) -> Option<PathBuf> {
    if word.contains('/') {
        return Some(PathBuf::from(word)).filter(|file| is_program(file));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(word)).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

fn version_of(need: &str) -> String {
    let Some(file) = find(need) else { return String::new() };
    let told = if need.contains('/') { None } else { VERSION_FLAGS.iter().find_map(|flag| ask(&file, flag)) };
    told.unwrap_or_else(|| identity(&file))
}

/// Path, size and time of change: not a version, but another one whenever the file is.
fn identity(file: &Path) -> String {
    let facts = file.canonicalize().and_then(|file| Ok((file.metadata()?, file)));
    match facts {
        Ok((facts, file)) => format!("{} {} {}", file.display(), facts.size(), facts.mtime()),
        Err(_) => String::new(),
    }
}

/// What `program flag` prints, if it succeeds and prints something.
fn ask(program: &Path, flag: &str) -> Option<String> {
    let child = Command::new(program)
        .arg(OsStr::new(flag))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .current_dir("/")
        .spawn()
        .ok()?;
    let output = wait(child)?;
    let text = [output.stdout, output.stderr].concat();
    (output.status.success() && !text.is_empty()).then(|| String::from_utf8_lossy(&text).into_owned())
}

/// The output of a program that tells a few lines, which fit into its pipes; nothing from one that takes too long.
fn wait(mut child: Child) -> Option<std::process::Output> {
    let begun = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if begun.elapsed() > VERSION_LIMIT {
            child.kill().ok()?;
            child.wait().ok()?;
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().ok()
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
        assert!(Toolbox::default().version(&pattern).contains("uv.h"));
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
            std::fs::write(&tool, format!("#!/bin/sh\n[ \"$1\" = version ] && echo {says}\n")).unwrap();
            std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        write("one");
        assert_eq!(ask(&tool, "--version"), None);
        assert_eq!(ask(&tool, "version").as_deref(), Some("one\n"));
        write("two");
        assert_eq!(ask(&tool, "version").as_deref(), Some("two\n"));
    }
}
