//! Tests servers that run as another user: set-up, build, version and the server itself run without root, and can write
//! only where they may.
//!
//! Needs root, which test machines often have; otherwise the tests print that they need it.

use super::survivors::kill;
use super::tree::{GOOD, Ran, Tree};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;

/// A server that exits if it runs as root, and whose commands write the id of their user to files.
fn tree() -> Tree {
    let script = format!(
        "import os, sys\nif os.getuid() == 0 or os.getgroups(): sys.exit('root')\n\
                          open('/dev/stderr', 'w').close()\n{GOOD}"
    );
    let tree = Tree::new().with_server("python-plain", &script, 60);
    let manifest = tree.path("servers/python-plain/server.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let commands = "[setup]\ncommand = \"id -u > $PACELINE_BUILD/setup\"\n\
                    [build]\ncommand = \"id -u > $PACELINE_BUILD/build; echo $HOME > $PACELINE_BUILD/home; : > $HOME/made\"\n\
                    [run]\n";
    fs::write(&manifest, text.replace("[run]\n", commands)).unwrap();
    for folder in ["", "servers", "workloads"] {
        fs::set_permissions(tree.path(folder), fs::Permissions::from_mode(0o755)).unwrap();
    }
    tree
}

fn is_root(tree: &Tree) -> bool {
    fs::metadata(tree.path("servers")).unwrap().uid() == 0
}

#[test]
fn commands_of_a_server_give_up_root() {
    let tree = tree();
    let run = |arguments: &[&str]| {
        let arguments = [arguments, &["--user", "nobody"]].concat();
        Ran::from_output(tree.paceline(&arguments).env_remove("PACELINE_USER").output().unwrap())
    };
    if !is_root(&tree) {
        let ran = run(&["lab", "setup", "python-plain"]);
        assert!(ran.code == Some(2) && ran.stderr.contains("only root"), "{ran:?}");
        return;
    }
    // Files that root built earlier are handed over.
    fs::create_dir_all(tree.path("state/build/python-plain")).unwrap();
    fs::write(tree.path("state/build/python-plain/build"), "0\n").unwrap();
    for command in ["setup", "build", "check"] {
        let ran = run(&["lab", command, "python-plain"]);
        assert_eq!(ran.code, Some(0), "{command}: {ran:?}");
    }
    let build = tree.path("state/build/python-plain");
    let read = |name: &str| fs::read_to_string(build.join(name)).unwrap().trim().to_owned();
    let uid = fs::metadata(build.join("setup")).unwrap().uid();
    assert_ne!(uid, 0);
    assert_eq!((read("setup"), read("build")), (uid.to_string(), uid.to_string()));
    assert_eq!(read("home"), tree.path("state/home/nobody").display().to_string());
    // The server can neither rename nor replace root's notes in the folder.
    let (folder, notes) = (fs::metadata(&build).unwrap(), fs::metadata(build.join(".paceline")).unwrap());
    assert_eq!((folder.uid(), folder.mode() & 0o7777, notes.uid()), (0, 0o1775, 0));
    let ran = run(&["round", "--servers", "python-plain", "-c", "2", "-d", "200ms", "--warmup", "50ms"]);
    assert!(
        ran.stdout.contains("python-plain") && tree.kept().1.iter().all(|trial| trial.run.is_some()),
        "{ran:?}"
    );
}

#[test]
fn servers_of_root_run_as_another_user_by_default() {
    let tree = tree();
    if !is_root(&tree) {
        return;
    }
    let run = |user: Option<&str>, arguments: &[&str]| {
        let mut command = tree.paceline(arguments);
        match user {
            Some(user) => command.env("PACELINE_USER", user),
            None => command.env_remove("PACELINE_USER"),
        };
        Ran::from_output(command.output().unwrap())
    };
    let notice = "servers run as the user `";
    for (command, has_notice) in [("setup", true), ("build", false), ("check", false)] {
        let ran = run(None, &["lab", command, "python-plain"]);
        assert!(ran.code == Some(0) && ran.stderr.contains(notice) == has_notice, "{command}: {ran:?}");
    }
    let made_by = |name: &str| fs::metadata(tree.path("state/build/python-plain").join(name)).unwrap().uid();
    assert_ne!((made_by("setup"), made_by("build")), (0, 0));
    let round = ["round", "--servers", "python-plain", "-c", "2", "-d", "200ms", "--warmup", "50ms"];
    let ran = run(None, &round);
    assert!(ran.stderr.contains(notice) && tree.kept().1.iter().all(|trial| trial.run.is_some()), "{ran:?}");
    // Root runs nothing that another user can change.
    let ran = run(Some("root"), &["lab", "check", "python-plain"]);
    assert!(ran.code == Some(1) && !ran.stderr.contains(notice), "{ran:?}");
    assert!(ran.stdout.contains("can be changed by the user `"), "{ran:?}");
    fs::remove_dir_all(tree.path("state/build/python-plain")).unwrap();
    assert_eq!(run(Some("root"), &["lab", "setup", "python-plain"]).code, Some(0));
    let ran = run(Some("root"), &["lab", "check", "python-plain"]);
    assert!(
        ran.code == Some(1) && ran.stdout.contains("the process ended with exit status 1"),
        "the server ends where it is root's: {ran:?}"
    );
}

#[test]
fn servers_built_by_root_keep_running_as_root() {
    let tree = tree();
    if !is_root(&tree) {
        return;
    }
    let mut root = tree.paceline(&["lab", "setup", "python-plain"]);
    let ran = Ran::from_output(root.env("PACELINE_USER", "root").output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mut again = tree.paceline(&["lab", "setup", "python-plain"]);
    let ran = Ran::from_output(again.env_remove("PACELINE_USER").output().unwrap());
    assert!(
        ran.code == Some(0) && ran.stderr.starts_with("servers run as root because root built them"),
        "{ran:?}"
    );
    let mut named = tree.paceline(&["lab", "setup", "python-plain"]);
    let ran = Ran::from_output(named.env("PACELINE_USER", "nobody").output().unwrap());
    assert!(ran.code == Some(0) && !ran.stderr.contains("as root"), "{ran:?}");
}

#[test]
fn a_lock_alone_does_not_make_root_the_user_of_servers() {
    let tree = tree();
    if !is_root(&tree) {
        return;
    }
    let run = |arguments: &[&str]| {
        Ran::from_output(tree.paceline(arguments).env_remove("PACELINE_USER").output().unwrap())
    };
    assert_eq!(run(&["lab", "build", "python-plain"]).code, Some(3), "it is not set up");
    assert!(tree.path("state/build/python-plain").exists());
    let ran = run(&["lab", "setup", "python-plain"]);
    assert!(ran.code == Some(0) && ran.stderr.starts_with("servers run as the user `"), "{ran:?}");
}

#[test]
fn a_server_without_a_build_gives_up_root_and_can_write() {
    let script = format!(
        "import os, sys\nif os.getuid() == 0: sys.exit('root')\nopen(os.environ['PACELINE_BUILD'] + '/made', 'w').close()\n{GOOD}"
    );
    let tree = Tree::new().with_server("python-plain", &script, 60);
    if !is_root(&tree) {
        return;
    }
    for folder in ["", "servers", "workloads"] {
        fs::set_permissions(tree.path(folder), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut serve = tree.paceline(&["lab", "serve", "python-plain"]);
    let mut lab =
        serve.env_remove("PACELINE_USER").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(lab.stdout.take().unwrap()).read_line(&mut url).unwrap();
    kill(&lab, libc::SIGINT);
    let output = lab.wait_with_output().unwrap();
    assert!(url.starts_with("http://"), "{output:?}");
    assert_ne!(fs::metadata(tree.path("state/build/python-plain/made")).unwrap().uid(), 0);
}

#[test]
fn a_failed_set_up_as_another_user_leaves_what_root_built() {
    let tree = tree();
    if !is_root(&tree) {
        return;
    }
    let run = |user: &str, arguments: &[&str]| {
        Ran::from_output(tree.paceline(arguments).env("PACELINE_USER", user).output().unwrap())
    };
    for command in ["setup", "build"] {
        assert_eq!(run("root", &["lab", command, "python-plain"]).code, Some(0));
    }
    let build = tree.path("state/build/python-plain");
    let facts = |name: &str| {
        let about = fs::symlink_metadata(build.join(name)).unwrap();
        (about.uid(), about.gid(), about.mode(), about.ino())
    };
    let before = ["", "setup", "build", "home"].map(facts);
    let manifest = tree.path("servers/python-plain/server.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let ruin = "rm $PACELINE_BUILD/build; echo half > $PACELINE_BUILD/home; exit 1 #";
    fs::write(
        &manifest,
        text.replace("command = \"id -u > $PACELINE_BUILD/setup", &format!("command = \"{ruin}")),
    )
    .unwrap();
    let ran = run("nobody", &["lab", "setup", "python-plain"]);
    assert!(ran.code == Some(3) && ran.stderr.contains("the previous setup stays in use"), "{ran:?}");
    fs::write(&manifest, text).unwrap();
    assert_eq!(["", "setup", "build", "home"].map(facts), before);
    let ran = run("root", &["lab", "build", "python-plain"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("up to date"), "{ran:?}");
    // A file that only root can read cannot be copied: nothing is changed, and the remedy is named.
    fs::set_permissions(build.join("home"), fs::Permissions::from_mode(0o600)).unwrap();
    let ran = run("nobody", &["lab", "setup", "python-plain", "--again"]);
    assert!(
        ran.code == Some(3)
            && ran.stdout.contains("make the user that servers run as the owner of all files"),
        "{ran:?}"
    );
    assert_eq!(facts("home").0, 0);
    let owned = format!("chown -R nobody: {}", build.display());
    assert!(ran.stdout.contains(&owned), "{ran:?}");
}

#[test]
fn a_folder_of_another_user_is_refused_with_the_remedy() {
    let tree = tree();
    if !is_root(&tree) {
        return;
    }
    let build = tree.path("state/build/python-plain");
    let run = |user: &str, arguments: &[&str]| {
        Ran::from_output(tree.paceline(arguments).env("PACELINE_USER", user).output().unwrap())
    };
    for command in ["setup", "build"] {
        assert_eq!(run("nobody", &["lab", command, "python-plain"]).code, Some(0));
    }
    // Root does not run files that another user built.
    let ran = run("root", &["lab", "build", "python-plain"]);
    let said =
        format!("{} can be changed by the user `nobody`: it is not safe to run it as root", build.display());
    assert!(ran.code == Some(3) && ran.stderr.contains(&said), "{ran:?}");
    assert!(ran.stderr.contains(&format!("rm -r {}", build.display())), "{ran:?}");
    let ran = run("root", &["lab", "check", "python-plain"]);
    assert!(ran.code == Some(1) && ran.stdout.contains(&said), "{ran:?}");
    // A user other than root cannot replace files that root made.
    let mut own = tree.paceline(&["lab", "build", "python-plain"]);
    own.env_remove("PACELINE_USER").uid(65_534).gid(65_534);
    let ran = Ran::from_output(own.output().unwrap());
    assert!(ran.code == Some(3) && ran.stderr.contains("belongs to the user `root`"), "{ran:?}");
    assert!(ran.stderr.contains("sudo chown -R nobody:"), "{ran:?}");
}

#[test]
fn a_tool_that_is_closed_to_the_user_is_named() {
    use std::os::unix::fs::DirBuilderExt as _;
    let tree = tree();
    if !is_root(&tree) {
        return;
    }
    fs::DirBuilder::new().mode(0o700).create(tree.path("closed")).unwrap();
    let tool = tree.script("closed/only-root-has-it", "#!/bin/sh\necho 1\n");
    let manifest = tree.path("servers/python-plain/server.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("[\"python3\"]", "[\"only-root-has-it\"]")).unwrap();
    let path = format!("{}:{}", tree.path("closed").display(), std::env::var("PATH").unwrap());
    let run = |arguments: &[&str], user: &str| {
        Ran::from_output(
            tree.paceline(arguments).env("PATH", &path).env("PACELINE_USER", user).output().unwrap(),
        )
    };
    let said = format!("(the user `nobody` cannot access {}:", tool.display());
    let ran = run(&["lab", "setup", "python-plain", "--dry-run"], "nobody");
    assert!(ran.code == Some(3) && ran.stdout.contains(&said), "{ran:?}");
    let ran = run(&["lab", "build", "python-plain"], "nobody");
    assert!(ran.code == Some(3) && ran.stderr.contains(&said), "{ran:?}");
    let ran = run(&["lab", "setup", "python-plain", "--dry-run"], "root");
    assert!(ran.code == Some(0) && !ran.stdout.contains("cannot access"), "{ran:?}");
}

#[test]
fn a_user_that_cannot_be_used_is_named() {
    let tree = tree();
    if !is_root(&tree) {
        return;
    }
    let ran = tree.run(&["lab", "build", "python-plain", "--user", "no-such-user"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("no user `no-such-user`"), "{ran:?}");
    fs::set_permissions(tree.path(""), fs::Permissions::from_mode(0o700)).unwrap();
    let ran = tree.run(&["lab", "build", "python-plain", "--user", "nobody"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("cannot enter"), "{ran:?}");
    // Without a user, the servers run as root.
    let setup = tree.paceline(&["lab", "setup", "python-plain"]).env_remove("PACELINE_USER").output();
    let ran = Ran::from_output(setup.unwrap());
    let said = "servers run as root because the user `nobody` cannot enter ";
    assert!(ran.code == Some(0) && ran.stderr.starts_with(said), "{ran:?}");
}
