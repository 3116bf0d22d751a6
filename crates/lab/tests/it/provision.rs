//! Tests of the provisioner: it builds once, again after a change, never stamps a failure, and leaves no process
//! behind.
//!
//! Through the crate's interface, with shell commands as steps. The binary's `provision.rs` tests the output of
//! `lab setup`, `lab build` and `lab list`, and packages of the system.

use crate::shepherd_door;
use paceline_catalogue::{Catalogue, FolderFlags, Folders, Manifest};
use paceline_host::Interrupt;
use paceline_lab::{CommandFailure, LabError, Provisioner, ServerState, StepOutcome};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A tree of one server, `sh-one`, removed at the end of the test.
struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    /// `steps` are the manifest's `[setup]` and `[build]`.
    fn new(steps: &str) -> Self {
        let tree = Self { folder: tempfile::tempdir().unwrap() };
        let hello = "about = 'x'\n[[case]]\npath = '/hello'\n[case.expect]\nstatus = 200\nbody = 'x'\n";
        tree.write("workloads/hello.toml", hello);
        tree.write("servers/sh-one/source.txt", "one");
        tree.manifest(&format!("version = 'cat $PACELINE_BUILD/made'\n{steps}"));
        tree
    }

    fn manifest(&self, version_and_steps: &str) {
        let head =
            "name = 'x'\nlanguage = 'sh'\nframework = 'x'\nengine = 'x'\nkind = 'micro'\ntags = ['tuned']\n";
        let rest = "[run]\ncommand = 'true'\n[forms.single]\n";
        let text = format!("{head}workloads = ['hello']\nneeds = ['sh']\n{version_and_steps}\n{rest}");
        self.write("servers/sh-one/server.toml", &text);
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    fn server(&self) -> Arc<Manifest> {
        Catalogue::read(self.folders()).unwrap().server("sh-one").unwrap()
    }

    fn folders(&self) -> Folders {
        Folders::find_from(&FolderFlags::default(), self.folder.path(), Path::new("/nowhere/bin/x")).unwrap()
    }

    fn provisioner(&self) -> Provisioner {
        Provisioner::new(&self.folders(), shepherd_door::command(), Interrupt::never())
    }

    fn build(&self) -> Result<StepOutcome, LabError> {
        self.provisioner().build(&self.server(), false)
    }
}

/// Each build appends one line to `made`.
const BUILD: &str =
    "[build]\ncommand = 'cat source.txt >> $PACELINE_BUILD/made; echo >> $PACELINE_BUILD/made'";

#[test]
fn a_linked_file_is_a_source_of_each_server() {
    let tree = Tree::new(BUILD);
    tree.write("servers/sh-two/shared.txt", "one");
    std::os::unix::fs::symlink("../sh-two/shared.txt", tree.path("servers/sh-one/shared.txt")).unwrap();
    assert!(matches!(tree.build().unwrap(), StepOutcome::Now(_)));
    assert_eq!(tree.build().unwrap(), StepOutcome::Already);
    tree.write("servers/sh-two/shared.txt", "two");
    assert!(matches!(tree.build().unwrap(), StepOutcome::Now(_)));
    // A dangling link is a source too, and not an error.
    std::fs::remove_file(tree.path("servers/sh-two/shared.txt")).unwrap();
    assert!(matches!(tree.build().unwrap(), StepOutcome::Now(_)));
}

#[test]
fn a_server_is_built_once_and_again_after_a_change() {
    let tree = Tree::new(BUILD);
    let state = || tree.provisioner().state(&tree.server()).unwrap();
    assert_eq!(state(), ServerState::NotBuilt);
    assert!(matches!(tree.build().unwrap(), StepOutcome::Now(_)));
    assert_eq!(tree.build().unwrap(), StepOutcome::Already);
    assert_eq!(state(), ServerState::Ready);
    tree.write("servers/sh-one/source.txt", "two");
    assert_eq!(state(), ServerState::Stale);
    assert!(matches!(tree.build().unwrap(), StepOutcome::Now(_)));
    assert_eq!(tree.read(".paceline/build/sh-one/made"), "one\ntwo\n");
    assert!(matches!(tree.provisioner().build(&tree.server(), true).unwrap(), StepOutcome::Now(_)));
}

#[test]
fn a_server_whose_files_were_deleted_is_set_up_and_built_again() {
    let tree = Tree::new(&format!("[setup]\ncommand = 'echo x > $PACELINE_BUILD/fetched'\n{BUILD}"));
    let set_up = || tree.provisioner().set_up(&tree.server(), false).unwrap();
    let state = || tree.provisioner().state(&tree.server()).unwrap();
    assert!(matches!(set_up(), StepOutcome::Now(_)));
    assert!(matches!(tree.build().unwrap(), StepOutcome::Now(_)));
    assert_eq!((set_up(), state()), (StepOutcome::Already, ServerState::Ready));
    // As a user deletes them who may not delete the provisioner's own.
    for file in ["fetched", "made"] {
        std::fs::remove_file(tree.path(format!(".paceline/build/sh-one/{file}"))).unwrap();
    }
    assert_eq!(state(), ServerState::NotSetUp);
    assert!(matches!(set_up(), StepOutcome::Now(_)));
    assert_eq!(state(), ServerState::NotBuilt);
}

#[test]
fn the_first_launch_after_a_build_is_recorded() {
    let tree = Tree::new(BUILD);
    let note = || tree.provisioner().note_launch(&tree.server());
    tree.build().unwrap();
    assert_eq!((note(), note()), (Some(true), Some(false)));
    tree.build().unwrap();
    assert_eq!(note(), Some(false));
    tree.provisioner().build(&tree.server(), true).unwrap();
    assert_eq!((note(), note()), (Some(true), Some(false)));
    tree.write("servers/sh-one/source.txt", "two");
    assert_eq!((note(), note()), (Some(true), Some(false)));
}

#[test]
fn only_the_commands_of_a_manifest_are_fingerprinted() {
    let tree = Tree::new(BUILD);
    tree.build().unwrap();
    tree.manifest(&format!("version = 'echo another'\n{BUILD}"));
    assert_eq!(tree.build().unwrap(), StepOutcome::Already);
    tree.manifest(&format!("version = 'echo another'\n{}", BUILD.replace("echo", "echo more")));
    assert!(matches!(tree.build().unwrap(), StepOutcome::Now(_)));
}

#[test]
fn the_fingerprint_includes_names_new_files_and_folders() {
    let tree = Tree::new(BUILD);
    tree.build().unwrap();
    let changes: [&dyn Fn(); 4] = [
        &|| tree.write("servers/sh-one/more.txt", ""),
        &|| tree.write("servers/sh-one/src/deep.txt", "a"),
        &|| tree.write("servers/sh-one/src/deep.txt", "b"),
        &|| {
            std::fs::rename(tree.path("servers/sh-one/more.txt"), tree.path("servers/sh-one/less.txt"))
                .unwrap()
        },
    ];
    for change in changes {
        change();
        assert!(matches!(tree.build().unwrap(), StepOutcome::Now(_)));
        assert_eq!(tree.build().unwrap(), StepOutcome::Already);
    }
    tree.write("servers/sh-one/__pycache__/x.pyc", "left behind by a run");
    let _socket = std::os::unix::net::UnixListener::bind(tree.path("servers/sh-one/app.sock")).unwrap();
    assert_eq!(tree.build().unwrap(), StepOutcome::Already);
}

#[test]
fn a_failed_build_shows_its_log_and_leaves_no_stamp() {
    let tree = Tree::new("[build]\ncommand = 'echo first; echo cannot find uv.h >&2; exit 3'");
    let failure = |error: LabError| match error {
        LabError::Command(failure) => *failure,
        other => panic!("{other}"),
    };
    let CommandFailure { how, tail, log, .. } = failure(tree.build().unwrap_err());
    assert_eq!((how.as_str(), tail.as_str()), ("ended with exit status 3", "first\ncannot find uv.h"));
    assert_eq!(std::fs::read_to_string(log).unwrap(), "first\ncannot find uv.h\n");
    assert_eq!(tree.provisioner().state(&tree.server()).unwrap(), ServerState::NotBuilt);
    let reported = tree.build().unwrap_err().to_string();
    assert!(
        reported.starts_with("sh-one: build ended with exit status 3\n  command: echo first"),
        "{reported}"
    );
    assert!(reported.ends_with("\n  | first\n  | cannot find uv.h"), "{reported}");
}

#[test]
fn a_failed_step_keeps_the_previous_version() {
    let setup = "[setup]\ncommand = 'echo setup >> $PACELINE_BUILD/made'\ndownload_mb = 1.5\n";
    let good = format!("version = 'true'\n{setup}{BUILD}");
    let tree = Tree::new("");
    tree.manifest(&good);
    tree.provisioner().set_up(&tree.server(), false).unwrap();
    tree.build().unwrap();
    let ruin = "rm -rf $PACELINE_BUILD/made; echo half > $PACELINE_BUILD/other; exit 1";
    for (from, to) in
        [("echo setup >> $PACELINE_BUILD/made", ruin), ("cat source.txt", &format!("{ruin}; cat"))]
    {
        tree.manifest(&good.replace(from, to));
        let failed = tree.build().unwrap_err();
        assert!(
            matches!(&failed, LabError::Command(failure) if failure.how.contains("exit status 1")),
            "{failed}"
        );
        assert_eq!(tree.provisioner().state(&tree.server()).unwrap(), ServerState::Stale);
        tree.manifest(&good);
        assert_eq!(tree.provisioner().state(&tree.server()).unwrap(), ServerState::Ready);
        assert_eq!(tree.build().unwrap(), StepOutcome::Already);
        assert_eq!(tree.read(".paceline/build/sh-one/made"), "setup\none\n");
        assert!(!tree.path(".paceline/build/sh-one/other").exists());
    }
}

#[test]
fn a_build_is_repeated_whatever_the_names_of_its_files() {
    let tree = Tree::new(BUILD);
    tree.build().unwrap();
    let names: [&[u8]; 3] = [b"caf\xe9", b"-n a\nb", b"'$(x)"];
    let paths = names.map(|name| tree.path(".paceline/build/sh-one").join(OsStr::from_bytes(name)));
    for path in &paths {
        std::fs::write(path, "kept").unwrap();
    }
    tree.write("servers/sh-one/source.txt", "two");
    assert!(matches!(tree.build().unwrap(), StepOutcome::Now(_)));
    assert_eq!(tree.read(".paceline/build/sh-one/made"), "one\ntwo\n");
    assert!(paths.iter().all(|path| std::fs::read(path).unwrap() == b"kept"));
}

#[test]
fn a_killed_step_keeps_the_previous_version() {
    let tree = Tree::new(BUILD);
    tree.build().unwrap();
    // What a kill in the middle of a build leaves: the unit tests of `rollback` hold each moment of it.
    let build = tree.path(".paceline/build/sh-one");
    std::fs::create_dir_all(build.join(".paceline/former/.paceline")).unwrap();
    std::fs::rename(build.join("made"), build.join(".paceline/former/made")).unwrap();
    std::fs::rename(
        build.join(".paceline/build.stamp"),
        build.join(".paceline/former/.paceline/build.stamp"),
    )
    .unwrap();
    std::fs::write(build.join("made"), "half").unwrap();
    assert_eq!(tree.provisioner().state(&tree.server()).unwrap(), ServerState::Ready);
    assert_eq!(tree.build().unwrap(), StepOutcome::Already);
    assert_eq!(tree.read(".paceline/build/sh-one/made"), "one\n");
}

#[test]
fn a_build_repeats_a_stale_set_up_but_does_not_start_one() {
    let setup = "[setup]\ncommand = 'echo setup >> $PACELINE_BUILD/made'\ndownload_mb = 1.5\n";
    let tree = Tree::new(&format!("{setup}{BUILD}"));
    let reported = tree.build().unwrap_err();
    assert!(matches!(&reported, LabError::NotSetUp { .. }), "{reported}");
    assert_eq!(reported.hint().as_deref(), Some("set it up with: paceline lab setup sh-one"));
    let (provisioner, server) = (tree.provisioner(), tree.server());
    let plan = provisioner.setup_plan(&[Arc::clone(&server)], false).unwrap();
    assert_eq!((plan.packages.len(), plan.servers.len(), plan.servers[0].download_mb), (0, 1, Some(1.5)));
    assert!(matches!(provisioner.set_up(&server, false).unwrap(), StepOutcome::Now(_)));
    assert_eq!(provisioner.set_up(&server, false).unwrap(), StepOutcome::Already);
    assert!(provisioner.setup_plan(&[server], false).unwrap().is_empty());
    tree.build().unwrap();
    tree.write("servers/sh-one/source.txt", "two");
    tree.build().unwrap();
    assert_eq!(tree.read(".paceline/build/sh-one/made"), "setup\none\nsetup\ntwo\n");
}

#[test]
fn a_missing_program_is_reported_before_any_command_runs() {
    let tree = Tree::new(BUILD);
    let text = tree.read("servers/sh-one/server.toml");
    let needs = "needs = ['sh', 'no-such-program']\npackages = ['no-such-package']";
    tree.write("servers/sh-one/server.toml", &text.replace("needs = ['sh']", needs));
    assert_eq!(
        tree.provisioner().state(&tree.server()).unwrap(),
        ServerState::Lacking(vec!["no-such-program".into()])
    );
    assert!(matches!(tree.build(), Err(LabError::NotSetUp { .. })));
    let plan = tree.provisioner().setup_plan(&[tree.server()], false).unwrap();
    assert_eq!(plan.packages, ["no-such-package"]);
    assert!(!tree.path(".paceline/build/sh-one/made").exists());
}

#[test]
fn a_server_without_a_version_is_not_measured() {
    let tree = Tree::new(BUILD);
    tree.build().unwrap();
    assert_eq!(tree.provisioner().versions(&tree.server()).unwrap(), "one");
    tree.manifest("version = 'echo warning >&2'");
    assert!(matches!(tree.provisioner().versions(&tree.server()), Err(LabError::NoVersion { .. })));
    tree.manifest("version = 'exit 1'");
    assert!(matches!(tree.provisioner().versions(&tree.server()), Err(LabError::Command(_))));
}

#[test]
fn the_second_of_two_builds_waits_and_uses_the_first() {
    let tree = Tree::new(BUILD);
    std::thread::scope(|scope| {
        let builds: Vec<_> = (0..4).map(|_| scope.spawn(|| tree.build().unwrap())).collect();
        let made: Vec<StepOutcome> = builds.into_iter().map(|build| build.join().unwrap()).collect();
        assert_eq!(made.iter().filter(|made| matches!(made, StepOutcome::Now(_))).count(), 1);
    });
    assert_eq!(tree.read(".paceline/build/sh-one/made"), "one\n");
}

#[test]
fn builds_of_several_servers_run_one_after_the_other() {
    // The folder can be made only while no other build has it.
    let tree = Tree::new("[build]\ncommand = 'mkdir ../busy && sleep 0.1 && rmdir ../busy'");
    for other in ["sh-two", "sh-three"] {
        tree.write(&format!("servers/{other}/server.toml"), &tree.read("servers/sh-one/server.toml"));
    }
    let (catalogue, provisioner) = (Catalogue::read(tree.folders()).unwrap(), tree.provisioner());
    std::thread::scope(|scope| {
        for id in ["sh-one", "sh-two", "sh-three"] {
            let server = catalogue.server(id).unwrap();
            let provisioner = &provisioner;
            scope
                .spawn(move || assert!(matches!(provisioner.build(&server, false), Ok(StepOutcome::Now(_)))));
        }
    });
}

#[test]
fn processes_left_by_a_build_are_ended() {
    let tree = Tree::new("[build]\ncommand = 'setsid sleep 300 & echo $! > $PACELINE_BUILD/made'");
    tree.build().unwrap();
    let pid = tree.read(".paceline/build/sh-one/made");
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    assert!(stat.is_err() || stat.unwrap().contains(") Z "), "process {pid} is still there");
}

#[test]
fn an_endless_log_stays_bounded() {
    let tree = Tree::new("[build]\ncommand = 'yes no end of words | head -c 5000000; echo the end; exit 1'");
    let Err(LabError::Command(failure)) = tree.build() else { panic!("it fails") };
    assert!(failure.tail.ends_with("the end"), "{}", failure.tail);
    assert!(std::fs::metadata(&failure.log).unwrap().len() < 2_000_000);
}

#[test]
fn commands_inherit_only_known_variables_and_those_that_the_manifest_names() {
    let tree = Tree::new("[build]\ncommand = 'env > $PACELINE_BUILD/made'");
    tree.manifest("version = 'env > $PACELINE_BUILD/of_version; echo 1'\npass_env = ['LICENSE_FILE']\n[build]\ncommand = 'env > $PACELINE_BUILD/made'");
    let secret =
        ["PACELINE_STORE=postgres://u:hunter2@db/x", "PGPASSWORD=hunter2", "CARGO_REGISTRY_TOKEN=hunter2"];
    let known = ["https_proxy=http://proxy.test:3128", "JAVA_HOME=/opt/java", "LICENSE_FILE=/opt/license"];
    let mut shepherd = vec!["env".to_owned()];
    shepherd.extend(secret.iter().chain(&known).map(|variable| (*variable).to_owned()));
    shepherd.extend(shepherd_door::command());
    let provisioner = Provisioner::new(&tree.folders(), shepherd, Interrupt::never());
    provisioner.build(&tree.server(), false).unwrap();
    provisioner.versions(&tree.server()).unwrap();
    for file in ["made", "of_version"] {
        let environment = tree.read(&format!(".paceline/build/sh-one/{file}"));
        assert!(!environment.contains("hunter2"), "{environment}");
        for expected in known.iter().chain(&["PATH=", "PACELINE_BUILD="]) {
            assert!(environment.lines().any(|line| line.starts_with(expected)), "{expected}: {environment}");
        }
    }
}
