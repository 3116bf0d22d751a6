//! Tests of revisions, worktrees and uncommitted changes.

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

#[test]
fn line_ends_that_a_commit_changes_are_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("repository");
    make_repository(&root);
    for (key, value) in [("core.autocrlf", "input"), ("core.safecrlf", "true")] {
        git(&root, &["config", key, value], &[]).unwrap();
    }
    std::fs::write(root.join("new"), "a\r\nb\r\n").unwrap();
    assert!(git(&root, &["add", "new"], &[]).is_err(), "the user's git refuses it");
    let revision = Repository::find(&root).unwrap().uncommitted(folder.path(), &[]).unwrap().unwrap();
    assert_eq!(git(&root, &["show", &format!("{}:new", revision.tree)], &[]).unwrap(), "a\nb");
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
fn a_killed_gate_does_not_lock_the_copy_of_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("repository");
    make_repository(&root);
    std::fs::write(root.join("new"), "text").unwrap();
    std::fs::write(folder.path().join("index.lock"), "").unwrap();
    let revision = Repository::find(&root).unwrap().uncommitted(folder.path(), &[]).unwrap().unwrap();
    assert!(revision.shown.ends_with(" and 1 changed file)"), "{}", revision.shown);
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
fn a_damaged_history_is_not_one_without_a_common_commit() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("repository");
    make_repository(&root);
    let repository = Repository::find(&root).unwrap();
    let first = repository.revision("main").unwrap().commit;
    git(&root, &["checkout", "--quiet", "-b", "other"], &[]).unwrap();
    commit(&root, "second");
    git(&root, &["checkout", "--quiet", "main"], &[]).unwrap();
    commit(&root, "third");
    let other = repository.revision("other").unwrap();
    let (folder_name, file) = first.split_at(2);
    std::fs::remove_file(root.join(".git/objects").join(folder_name).join(file)).unwrap();
    let error = repository.merge_base("main", &other).unwrap_err();
    assert!(matches!(&error, LabError::Git { problem, .. } if problem.contains(&first)), "{error}");
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
