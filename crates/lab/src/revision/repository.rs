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
    /// As [`Repository::revision`].
    pub fn merge_base(&self, base: &str, candidate: &Revision) -> Result<Revision, LabError> {
        let tip = self.revision(base)?;
        match self.git(&["merge-base", &tip.commit, &candidate.commit]) {
            Ok(commit) if commit == tip.commit => Ok(tip),
            Ok(commit) => self.describe(&format!("{base}, merge base"), commit),
            Err(_) => {
                self.describe(&format!("{base}, its tip: this checkout has no common commit"), tip.commit)
            }
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
        let status = ["status", "--porcelain", "--untracked-files=all", "--ignore-submodules=dirty", "--", "."];
        let status = status.into_iter();
        let status: Vec<&str> = status.chain(others.iter().map(String::as_str)).collect();
        let changes = self.git(&status)?;
        if changes.is_empty() {
            return Ok(None);
        }
        let index =
            PathBuf::from(self.git(&["rev-parse", "--path-format=absolute", "--git-path", "index"])?);
        let copy = scratch.join("index");
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
            git(&self.root, &["add", "--all", "."], &variables)?;
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
mod tests {
    use super::*;

    #[test]
    fn new_files_are_changes_also_if_the_status_does_not_show_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        std::fs::create_dir_all(root.join("new")).unwrap();
        let run = |arguments: &[&str]| git(&root, arguments, &[]).unwrap();
        run(&["init", "--quiet"]);
        run(&["config", "status.showUntrackedFiles", "no"]);
        let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
        run(&[&identity[..], &["commit", "--quiet", "--allow-empty", "-m", "first"]].concat());
        let repository = Repository::find(&root).unwrap();
        assert_eq!(repository.uncommitted(folder.path(), &[]).unwrap(), None);
        for name in ["new/a", "new/b"] {
            std::fs::write(root.join(name), "text").unwrap();
        }
        let revision = repository.uncommitted(folder.path(), &[]).unwrap().unwrap();
        assert!(revision.shown.ends_with(" and 2 changed files)"), "{}", revision.shown);
        assert_eq!(run(&["ls-tree", "-r", "--name-only", &revision.tree]), "new/a\nnew/b");
        let output = |name: &str| root.canonicalize().unwrap().join(name);
        // An ignored output, one that does not exist yet and one outside are no errors.
        std::fs::create_dir_all(root.join(".git/info")).unwrap();
        std::fs::write(root.join(".git/info/exclude"), "gate.md\n").unwrap();
        std::fs::write(root.join("gate.md"), "text").unwrap();
        let outputs = [output("new/b"), output("gate.md"), output("gate.xml"), PathBuf::from("/dev/stdout")];
        let revision = repository.uncommitted(folder.path(), &outputs).unwrap().unwrap();
        assert!(revision.shown.ends_with(" and 1 changed file)"), "{}", revision.shown);
        assert_eq!(run(&["ls-tree", "-r", "--name-only", &revision.tree]), "new/a");
        let all = [output("new/a"), output("new/b")];
        assert_eq!(repository.uncommitted(folder.path(), &all).unwrap(), None);
    }

    #[test]
    fn a_folder_of_outputs_is_left_out_unless_it_has_sources() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        for name in ["source", "records/checks"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let write = |name: &str| std::fs::write(root.join(name), "text").unwrap();
        let run = |arguments: &[&str]| git(&root, arguments, &[]).unwrap();
        run(&["init", "--quiet"]);
        write("source/a");
        run(&["add", "--all"]);
        let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
        run(&[&identity[..], &["commit", "--quiet", "-m", "first"]].concat());
        for name in ["source/b", "records/1.json", "records/checks/2"] {
            write(name);
        }
        let outputs = ["source", "records"].map(|name| root.canonicalize().unwrap().join(name));
        let repository = Repository::find(&root).unwrap();
        let revision = repository.uncommitted(folder.path(), &outputs).unwrap().unwrap();
        assert!(revision.shown.ends_with(" and 1 changed file)"), "{}", revision.shown);
        assert_eq!(run(&["ls-tree", "-r", "--name-only", &revision.tree]), "source/a\nsource/b");
    }

    /// Makes a repository with one commit on `main`.
    fn make_repository(root: &Path) {
        std::fs::create_dir(root).unwrap();
        git(root, &["init", "--quiet", "--initial-branch", "main"], &[]).unwrap();
        commit(root, "first");
    }

    fn commit(root: &Path, subject: &str) {
        let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
        let commit = ["commit", "--quiet", "--allow-empty", "-m", subject];
        git(root, &[&identity[..], &commit].concat(), &[]).unwrap();
    }

    #[test]
    fn only_the_own_worktree_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        make_repository(&root);
        let run = |arguments: &[&str]| git(&root, arguments, &[]).unwrap();
        // As if its drive were not mounted.
        run(&["worktree", "add", "--quiet", "--detach", "../of-the-user"]);
        std::fs::remove_dir_all(folder.path().join("of-the-user")).unwrap();
        let repository = Repository::find(&root).unwrap();
        let known = || run(&["worktree", "list"]).lines().count();
        let build = folder.path().join("build");
        repository.forget_worktree(&build).unwrap();
        repository.add_worktree(&build, "HEAD").unwrap();
        assert_eq!(known(), 3);
        // The folder is removed without git, and made again.
        std::fs::remove_dir_all(&build).unwrap();
        repository.add_worktree(&build, "HEAD").unwrap();
        assert_eq!(known(), 3);
        repository.forget_worktree(&build).unwrap();
        assert_eq!(known(), 2);
        // A link to a worktree of the user is no worktree.
        let entry = run(&["rev-parse", "--path-format=absolute", "--git-path", "worktrees/of-the-user"]);
        std::fs::write(build.join(".git"), format!("gitdir: {entry}\n")).unwrap();
        repository.forget_worktree(&build).unwrap();
        assert_eq!(known(), 2);
    }

    #[test]
    fn a_base_without_a_common_commit_is_named_as_such() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        make_repository(&root);
        git(&root, &["checkout", "--quiet", "--orphan", "other"], &[]).unwrap();
        commit(&root, "second");
        let repository = Repository::find(&root).unwrap();
        let [main, other] = ["main", "other"].map(|name| repository.revision(name).unwrap());
        let base = repository.merge_base("main", &other).unwrap();
        assert_eq!((&base.commit, &base.tree), (&main.commit, &main.tree));
        assert!(base.shown.starts_with("main, its tip: this checkout has no common commit ("), "{base:?}");
        assert_eq!(repository.merge_base("main", &main).unwrap(), main);
    }

    #[test]
    fn a_missing_revision_is_fetched_by_the_name_that_it_has_on_the_server() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        make_repository(&root);
        commit(&root, "second");
        let from = format!("file://{}", root.display());
        git(folder.path(), &["clone", "--quiet", "--depth=1", &from, "shallow"], &[]).unwrap();
        for (root, said) in [(root, "git branch --all"), (folder.path().join("shallow"), "fetch-depth: 0")] {
            let error = Repository::find(&root).unwrap().revision("origin/release/1.0").unwrap_err();
            let hint = error.hint().unwrap_or_default();
            let fetch = "`git fetch origin release/1.0:refs/remotes/origin/release/1.0`";
            assert!(hint.contains(fetch) && hint.contains(said), "{hint}");
        }
    }

    #[test]
    fn a_submodule_changes_with_its_commit() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        make_repository(&root);
        let below = root.join("below");
        make_repository(&below);
        let run = |arguments: &[&str]| git(&root, arguments, &[]).unwrap();
        let add_below = || {
            let head = git(&below, &["rev-parse", "HEAD"], &[]).unwrap();
            run(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},below")]);
        };
        let modules = "[submodule \"below\"]\n\tpath = below\n\turl = ./below\n\tignore = all\n";
        std::fs::write(root.join(".gitmodules"), modules).unwrap();
        run(&["add", ".gitmodules"]);
        add_below();
        commit(&root, "second");
        let repository = Repository::find(&root).unwrap();
        let before = repository.revision("HEAD").unwrap();
        std::fs::write(below.join("new"), "text").unwrap();
        assert_eq!(repository.uncommitted(folder.path(), &[]).unwrap(), None);
        commit(&below, "second");
        add_below();
        commit(&root, "third");
        let after = repository.revision("HEAD").unwrap();
        assert_eq!(repository.changed(&before, &after).unwrap(), ["below"]);
    }

    #[test]
    fn the_default_branch_is_one_that_exists() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repository");
        make_repository(&root);
        let run = |arguments: &[&str]| git(&root, arguments, &[]).unwrap();
        let repository = Repository::find(&root).unwrap();
        run(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk"]);
        assert_eq!(repository.default_branch(), "main");
        run(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        assert_eq!(repository.default_branch(), "origin/main");
        run(&["update-ref", "refs/remotes/origin/trunk", "HEAD"]);
        assert_eq!(repository.default_branch(), "origin/trunk");
    }

    /// A `gpg` that signs and verifies anything, and prints a line while it verifies.
    const GPG: &str = "#!/bin/sh\ncat >/dev/null\ncase \"$*\" in\n\
        *--verify*) echo 'gpg: Good signature' >&2; printf '\\n[GNUPG:] GOODSIG 0 test\\n' ;;\n\
        *) printf '\\n[GNUPG:] SIG_CREATED \\n' >&2\n\
           printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n' ;;\nesac\n";

    #[test]
    fn a_signature_is_no_part_of_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let gpg = root.join("gpg");
        // Another process writes it: a file that a child of this one still has open for writing cannot be started.
        let write = Command::new("sh")
            .args(["-c", "printf '%s' \"$1\" >\"$2\" && chmod +x \"$2\"", "sh", GPG])
            .arg(&gpg)
            .status();
        assert!(write.unwrap().success());
        let run = |arguments: &[&str]| git(root, arguments, &[]).unwrap();
        run(&["init", "--quiet"]);
        run(&["config", "gpg.format", "openpgp"]);
        run(&["config", "gpg.program", &gpg.to_string_lossy()]);
        run(&["config", "log.showSignature", "true"]);
        let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
        let commit = ["commit", "--quiet", "--allow-empty", "--gpg-sign=test", "-m", "first"];
        run(&[&identity[..], &commit].concat());
        let revision = Repository::find(root).unwrap().revision("HEAD").unwrap();
        assert!(revision.shown.ends_with(", \"first\")"), "{}", revision.shown);
    }
}
