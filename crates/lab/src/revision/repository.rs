//! The git repository of a server to measure: names of revisions, uncommitted changes, and worktrees.
//!
//! git runs as a program, so that its configuration, filters and credentials apply. Hooks do not run.

use crate::LabError;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How many digits of a commit are shown.
const SHORT: usize = 9;
/// The longest file with a path that is read: longer than any path of Linux.
const MAX_LINK_BYTES: u64 = 1 << 14;

/// A repository, and the folder in it from which it was found.
#[derive(Clone, Debug)]
pub struct Repository {
    root: PathBuf,
    git_folder: PathBuf,
}

/// A commit, or a snapshot of uncommitted changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The commit.
    pub commit: String,
    /// The digest of its content.
    pub tree: String,
    /// What it is, for people: `main (1a2b3c4d5, "subject")`.
    pub shown: String,
}

impl Repository {
    /// The repository that contains a folder.
    ///
    /// # Errors
    /// [`LabError::Git`] if there is none, or git cannot be started.
    pub fn find(from: &Path) -> Result<Self, LabError> {
        let say = |what: &str| git(from, &["rev-parse", "--path-format=absolute", what], &[]);
        let root = PathBuf::from(say("--show-toplevel")?);
        Ok(Self { git_folder: PathBuf::from(say("--git-common-dir")?), root })
    }

    /// Its top folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder with its objects, which all its worktrees share.
    pub fn git_folder(&self) -> &Path {
        &self.git_folder
    }

    /// The branch that pull requests go to: that of the remote `origin`, or else `main` or `master`. The name that is
    /// stored for `origin` leads to no branch if that was renamed on the server after the clone (git-remote(1),
    /// `set-head`).
    pub fn default_branch(&self) -> String {
        let stored = self.git(&["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"]).ok();
        let usual = ["origin/main", "origin/master", "main", "master"].map(str::to_owned);
        let mut names = stored.into_iter().chain(usual);
        names.find(|name| self.revision(name).is_ok()).unwrap_or_else(|| "main".to_owned())
    }

    /// The name of a branch without that of its remote: `release/1.0` for `origin/release/1.0`. Other names are
    /// returned unchanged. `origin` counts as a remote also where it is not configured yet.
    pub fn branch_name<'b>(&self, name: &'b str) -> &'b str {
        let remotes = self.git(&["remote"]).unwrap_or_default();
        let below = |remote: &str| name.strip_prefix(remote)?.strip_prefix('/');
        std::iter::once("origin").chain(remotes.lines()).find_map(below).unwrap_or(name)
    }

    /// The commit of a name.
    ///
    /// # Errors
    /// [`LabError::UnknownRevision`] if there is none, [`LabError::Git`] if git fails.
    pub fn revision(&self, name: &str) -> Result<Revision, LabError> {
        let wanted = format!("{name}^{{commit}}");
        let commit = self.git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]);
        let commit = commit.map_err(|_| LabError::UnknownRevision {
            name: name.to_owned(),
            is_shallow: self.git(&["rev-parse", "--is-shallow-repository"]).is_ok_and(|is| is == "true"),
        })?;
        self.describe(name, commit)
    }

    fn describe(&self, name: &str, commit: String) -> Result<Revision, LabError> {
        let tree = self.git(&["rev-parse", &format!("{commit}^{{tree}}")])?;
        let subject = self.git(&["log", "-1", "--format=%s", &commit])?;
        let short = commit.get(..SHORT).unwrap_or(&commit);
        let shown = format!("{name} ({short}, \"{subject}\")");
        Ok(Revision { commit, tree, shown })
    }

    /// The commit at which `candidate` left the branch `base`. Without a common commit, as in a shallow clone, it is
    /// the tip of `base`, and its name says so: the changes of `base` itself then count as those of the candidate.
    ///
    /// # Errors
    /// As [`Repository::revision`], and if git cannot read the commits between.
    pub fn merge_base(&self, base: &str, candidate: &Revision) -> Result<Revision, LabError> {
        let tip = self.revision(base)?;
        match self.git(&["merge-base", &tip.commit, &candidate.commit]) {
            Ok(commit) if commit == tip.commit => Ok(tip),
            Ok(commit) => self.describe(&format!("{base}, merge base"), commit),
            // Without a common commit, git prints nothing (git-merge-base(1)).
            Err(LabError::Git { problem, .. }) if problem.is_empty() => {
                self.describe(&format!("{base}, its tip: this checkout has no common commit"), tip.commit)
            }
            Err(error) => Err(error),
        }
    }

    /// The content of the working tree, without ignored files, as a commit that no branch contains. None if it is that
    /// of HEAD. The user's index is not changed. `outputs` are files and folders that the caller writes, with canonical
    /// paths: they are as in HEAD, or absent. A folder in which HEAD has files is not left out.
    ///
    /// # Errors
    /// [`LabError::Git`] if git fails, [`LabError::File`] if the copy of the index cannot be written.
    pub fn uncommitted(&self, scratch: &Path, outputs: &[PathBuf]) -> Result<Option<Revision>, LabError> {
        let outputs = self.names_of(outputs)?;
        let others: Vec<String> =
            outputs.iter().map(|name| format!(":(top,exclude,literal){name}")).collect();
        // Each new file is listed, also if the user's configuration hides new files or sums up their folder. A commit
        // names only the commits of submodules, so that uncommitted changes in one cannot be measured.
        let status =
            ["status", "--porcelain", "--untracked-files=all", "--ignore-submodules=dirty", "--", "."];
        let status = status.into_iter();
        let status: Vec<&str> = status.chain(others.iter().map(String::as_str)).collect();
        let changes = self.git(&status)?;
        if changes.is_empty() {
            return Ok(None);
        }
        let index =
            PathBuf::from(self.git(&["rev-parse", "--path-format=absolute", "--git-path", "index"])?);
        let copy = scratch.join("index");
        // Left by a gate that was killed: git refuses a locked index. An error shows in the copy.
        for left in [&copy, &scratch.join("index.lock")] {
            let _ = std::fs::remove_file(left);
        }
        let error = |source| LabError::File { action: "copy", path: index.clone(), source };
        if index.exists() {
            std::fs::copy(&index, &copy).map_err(error)?;
        }
        let variables: [(&str, &OsStr); 5] = [
            ("GIT_INDEX_FILE", copy.as_os_str()),
            ("GIT_AUTHOR_NAME", OsStr::new("paceline")),
            ("GIT_AUTHOR_EMAIL", OsStr::new("paceline@localhost")),
            ("GIT_COMMITTER_NAME", OsStr::new("paceline")),
            ("GIT_COMMITTER_EMAIL", OsStr::new("paceline@localhost")),
        ];
        let snapshot = || {
            // With the user's core.safecrlf, git would refuse files whose line ends a commit changes.
            git(&self.root, &["-c", "core.safecrlf=false", "add", "--all", "."], &variables)?;
            // Excluded from `add`, an ignored file would be an error.
            for name in &outputs {
                let file = format!(":(top,literal){name}");
                git(&self.root, &["reset", "--quiet", "HEAD", "--", &file], &variables)?;
            }
            let tree = git(&self.root, &["write-tree"], &variables)?;
            let commit =
                git(&self.root, &["commit-tree", &tree, "-p", "HEAD", "-m", "uncommitted"], &variables)?;
            Ok::<_, LabError>((tree, commit))
        };
        let snapshot = snapshot();
        // It is a copy.
        let _ = std::fs::remove_file(&copy);
        let (tree, commit) = snapshot?;
        let files = paceline_stats::counted(changes.lines().count(), "changed file", "changed files");
        let head = self.git(&["rev-parse", "--short=9", "HEAD"])?;
        Ok(Some(Revision { commit, tree, shown: format!("working tree ({head} and {files})") }))
    }

    /// The names of outputs below the top folder, without folders in which HEAD has files.
    fn names_of(&self, outputs: &[PathBuf]) -> Result<Vec<String>, LabError> {
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        let below = outputs.iter().filter_map(|output| output.strip_prefix(&root).ok()?.to_str());
        let mut names = Vec::new();
        for name in below.filter(|name| !name.is_empty()) {
            if !root.join(name).is_dir() || self.git(&["ls-tree", "HEAD", "--", name])?.is_empty() {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// The files that differ between two revisions.
    ///
    /// # Errors
    /// [`LabError::Git`] if git fails.
    pub fn changed(&self, from: &Revision, to: &Revision) -> Result<Vec<String>, LabError> {
        // A submodule may be ignored by the configuration, and its code is a part of the server all the same.
        let diff = ["diff", "--name-only", "-z", "--no-renames", "--ignore-submodules=none"];
        let names = self.git(&[&diff[..], &[from.tree.as_str(), to.tree.as_str()]].concat())?;
        Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// Checks a commit out into a new folder, as a worktree. An earlier worktree of that name, of which the folder is
    /// gone, is replaced, also if git was killed while it made that.
    pub(super) fn add_worktree(&self, folder: &Path, commit: &str) -> Result<(), LabError> {
        let folder = folder.to_string_lossy();
        self.git(&["worktree", "add", "--quiet", "--detach", "--force", "--force", &folder, commit]).map(drop)
    }

    /// Lets git forget the worktree in a folder, and no other: `git worktree prune` would also forget worktrees of the
    /// user that cannot be found now, because their drive is not mounted or they are outside this container.
    pub(super) fn forget_worktree(&self, folder: &Path) -> Result<(), LabError> {
        let Some(entry) = self.worktree_entry(folder) else { return Ok(()) };
        std::fs::remove_dir_all(&entry).map_err(|source| LabError::File {
            action: "remove",
            path: entry,
            source,
        })?;
        // Git removes the folder of all entries with the last one, too. It is not empty if there are others.
        let _ = std::fs::remove_dir(self.git_folder.join("worktrees"));
        Ok(())
    }

    /// The folder in which git keeps what it knows of the worktree in a folder: the file `.git` of a worktree leads to
    /// it, and its file `gitdir` leads back (gitrepository-layout(5)). None without such a pair in this repository.
    fn worktree_entry(&self, folder: &Path) -> Option<PathBuf> {
        let named = |file: &Path, from: &Path, prefix: &str| {
            let text = paceline_files::read_text(file, MAX_LINK_BYTES).ok()?;
            from.join(text.trim_end_matches('\n').strip_prefix(prefix)?).canonicalize().ok()
        };
        let link = folder.join(".git");
        let entry = named(&link, folder, "gitdir: ")?;
        let entries = self.git_folder.join("worktrees").canonicalize().ok()?;
        let is_of_folder = named(&entry.join("gitdir"), &entry, "")? == link.canonicalize().ok()?;
        (is_of_folder && entry.parent() == Some(entries.as_path())).then_some(entry)
    }

    fn git(&self, arguments: &[&str]) -> Result<String, LabError> {
        git(&self.root, arguments, &[])
    }
}

/// Runs git in a folder and returns its output without the last line feed.
fn git(folder: &Path, arguments: &[&str], variables: &[(&str, &OsStr)]) -> Result<String, LabError> {
    let command = || format!("git {}", arguments.join(" "));
    let output = Command::new("git")
        // With log.showSignature, the output of gpg would be part of a subject.
        .args(["-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false"])
        .args(arguments)
        // In a hook it names the user's index, which a worktree that is added would overwrite (githooks(5)).
        .env_remove("GIT_INDEX_FILE")
        .envs(variables.iter().copied())
        // A question for a password would wait for ever.
        .env("GIT_TERMINAL_PROMPT", "0")
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| LabError::Spawn { command: command(), source })?;
    if !output.status.success() {
        let problem = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(LabError::Git { command: command(), problem });
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

#[cfg(test)]
mod tests;
