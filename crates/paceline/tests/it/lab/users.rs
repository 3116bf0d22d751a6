//! Servers as another user: set-up, build, version and the server itself give up root, and write only where they may.
//!
//! Needs root, which test machines often have; without it, that only root can do this is said.

use super::tree::{GOOD, Tree};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

/// A server that ends where it is root's, and whose commands leave the number of their user.
fn tree() -> Tree {
    let script = format!("import os, sys\nif os.getuid() == 0 or os.getgroups(): sys.exit('root')\n{GOOD}");
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
    let run = |arguments: &[&str]| tree.run(&[arguments, &["--user", "nobody"]].concat());
    if !is_root(&tree) {
        let ran = run(&["lab", "setup", "python-plain"]);
        assert!(ran.code == Some(2) && ran.stderr.contains("only root"), "{ran:?}");
        return;
    }
    // What root built before is handed over.
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
    // Root's own notes in the folder can be neither renamed nor replaced by the server.
    let (folder, notes) = (fs::metadata(&build).unwrap(), fs::metadata(build.join(".paceline")).unwrap());
    assert_eq!((folder.uid(), folder.mode() & 0o7777, notes.uid()), (0, 0o1775, 0));
    let ran = run(&["round", "--servers", "python-plain", "-c", "2", "-d", "200ms", "--warmup", "50ms"]);
    assert!(
        ran.stdout.contains("python-plain") && tree.kept().1.iter().all(|trial| trial.run.is_some()),
        "{ran:?}"
    );
}

#[test]
fn a_user_that_cannot_be_used_is_named() {
    let tree = tree();
    if !is_root(&tree) {
        return;
    }
    for (user, why) in [("no-such-user", "no user `no-such-user`"), ("root", "is root")] {
        let ran = tree.run(&["lab", "build", "python-plain", "--user", user]);
        assert!(ran.code == Some(2) && ran.stderr.contains(why), "{ran:?}");
    }
    fs::set_permissions(tree.path(""), fs::Permissions::from_mode(0o700)).unwrap();
    let ran = tree.run(&["lab", "build", "python-plain", "--user", "nobody"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("cannot enter"), "{ran:?}");
}
