//! Tests `lab list`, `lab setup` and `lab build` through the binary: output, exit status, and the effects of Ctrl-C.
//!
//! Servers are manifests with shell commands; for packages the test provides a fake apt-get. The lab crate's
//! `provision.rs` tests when a server is rebuilt; `lab check` and `lab serve` are tested in `lab/launches.rs`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Long enough for a machine with ten other jobs; every step here normally ends much earlier.
const LIMIT: Duration = Duration::from_secs(60);

/// A tree of one server, `sh-one`.
struct Tree(tempfile::TempDir);

impl Tree {
    /// `steps` are the `[setup]` and `[build]` sections of the manifest.
    fn new(steps: &str) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.write(
            "workloads/hello.toml",
            "about = 'x'\n[[case]]\npath = '/hello'\n[case.expect]\nstatus = 200\nbody = 'x'\n",
        );
        let manifest = "name = 'One'\nlanguage = 'Shell'\nframework = 'none'\nengine = 'none'\nkind = 'micro'\n\
                        tags = ['tuned']\nworkloads = ['hello']\nneeds = ['sh']\nversion = 'echo one 1.0'\n";
        let rest = "[run]\ncommand = 'true'\n[forms.single]\n";
        tree.write("servers/sh-one/server.toml", &format!("{manifest}{steps}\n{rest}"));
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn paceline(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
        command.arg("lab").args(arguments).current_dir(self.0.path()).env_remove("PACELINE_HOME");
        crate::lab::as_own_user(&mut command);
        command
    }

    /// Standard output, standard error and exit status.
    fn run(&self, arguments: &[&str]) -> (String, String, i32) {
        let Output { stdout, stderr, status } = self.paceline(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(stdout), text(stderr), status.code().unwrap())
    }
}

const BUILD: &str = "[build]\ncommand = 'touch $PACELINE_BUILD/made'";

#[test]
fn a_server_is_listed_in_every_state() {
    let tree = Tree::new(&format!("[setup]\ncommand = 'true'\ndownload_mb = 0.5\n{BUILD}"));
    let state = || tree.run(&["list"]).0.lines().nth(1).unwrap().split("  ").next().unwrap().to_owned();
    assert_eq!(state(), "not set up");
    let (stdout, stderr, code) = tree.run(&["build", "sh-one"]);
    assert_eq!((stdout.as_str(), code), ("", 3));
    assert_eq!(
        stderr,
        "paceline: sh-one is not set up: its `setup` command has not been run successfully\n  hint: set it up with: paceline lab setup sh-one\n"
    );
    let (stdout, _, code) = tree.run(&["setup", "--all"]);
    let begins = "sh-one, about 1 MB: true\nto download: about 1 MB\nsh-one: set up in ";
    assert!(stdout.starts_with(begins) && code == 0, "{stdout}");
    let sums = stdout.split_once(" on disk\n\n1 set up, 0 failed; ").map(|(_, sums)| sums);
    assert!(sums.is_some_and(|sums| sums.contains(" written to disk")), "{stdout}");
    let (stdout, _, code) = tree.run(&["setup", "--all"]);
    assert!(
        stdout.starts_with("nothing to install or fetch\nsh-one: already set up\n\n1 set up, 0 failed; "),
        "{stdout}"
    );
    assert_eq!(code, 0);
    assert_eq!(state(), "not built");
    assert!(tree.run(&["build", "sh-*"]).0.ends_with(" s (one 1.0)\n"));
    assert_eq!(state(), "ready");
    assert_eq!(tree.run(&["build", "--all"]).0, "sh-one: up to date (one 1.0)\n");
    tree.write("servers/sh-one/source.txt", "changed");
    assert_eq!(state(), "stale");
}

/// Adds a second server beside `sh-one`, with other steps.
fn beside(tree: &Tree, id: &str, more: &str) {
    let one = std::fs::read_to_string(tree.path("servers/sh-one/server.toml")).unwrap();
    let text = one.replace("needs = ['sh']", more).replace("[setup]\ncommand = 'false'", "");
    tree.write(&format!("servers/{id}/server.toml"), &text);
}

#[test]
fn a_failed_setup_is_listed_at_the_end_and_others_continue() {
    let tree = Tree::new("[setup]\ncommand = 'false'");
    beside(&tree, "sh-two", "needs = ['sh']");
    beside(&tree, "sh-zero", "needs = ['sh', 'no-such-program']");
    let (stdout, _, code) = tree.run(&["setup", "--all"]);
    assert_eq!(code, 3);
    assert!(
        stdout
            .contains("\nsh-one: failed, see below\nsh-two: nothing to set up\nsh-zero: failed, see below\n"),
        "{stdout}"
    );
    assert!(stdout.contains("\nsh-one is not set up: setup ended with exit status 1\n"), "{stdout}");
    assert!(
        stdout
            .contains("\nsh-zero is not set up: these programs are missing or not accessible: no-such-program. No package"),
        "{stdout}"
    );
    assert!(!stdout.contains("paceline lab setup sh-zero"), "the same command does not help: {stdout}");
    assert!(stdout.contains("\n1 set up, 2 failed; "), "{stdout}");
    assert!(stdout.contains("\nto download: unknown size\n"), "{stdout}");
}

#[test]
fn an_unavailable_package_fails_only_its_server() {
    let tree = Tree::new("");
    let needs = |package: &str| {
        format!("needs = ['sh', '{}/{package}']\npackages = ['{package}']", tree.0.path().display())
    };
    beside(&tree, "sh-two", &needs("no-such-package-to-be-had"));
    beside(&tree, "sh-zero", &needs("no-such-package-at-all"));
    // An apt-get that has one of the two packages, and is to wait for another one.
    let fake = "#!/bin/sh\ncase \"$*\" in *at-all*) echo \"Unable to locate package\"; exit 100;; esac\n\
                case \"$*\" in *print-uris*) exit 0;; *Lock::Timeout=*to-be-had*) touch 'HAD';; esac\n";
    tree.write("bin/apt-get", &fake.replace("HAD", tree.path("no-such-package-to-be-had").to_str().unwrap()));
    std::fs::set_permissions(tree.path("bin/apt-get"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let path = format!("{}:{}", tree.path("bin").display(), std::env::var("PATH").unwrap());
    let mut setup = tree.paceline(&["setup", "--all"]);
    let output = setup.env("PATH", path).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{stdout}");
    // SAFETY: takes no arguments and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        assert!(stdout.contains("\nsh-two: nothing to set up\n"), "{stdout}");
        assert!(stdout.contains("\nsh-zero is not set up: packages no-such-package-at-all: "), "{stdout}");
        assert!(stdout.contains("| Unable to locate package"), "{stdout}");
    } else {
        assert!(
            stdout.contains("\nsh-two is not set up: only root can install no-such-package-to-be-had\n"),
            "{stdout}"
        );
    }
}

#[test]
fn no_setup_changes_the_system_python() {
    let tree = Tree::new("[setup]\ncommand = 'echo $PIP_REQUIRE_VIRTUALENV > $PACELINE_BUILD/pip'");
    assert_eq!(tree.run(&["setup", "--all"]).2, 0);
    assert_eq!(std::fs::read_to_string(tree.path(".paceline/build/sh-one/pip")).unwrap(), "1\n");
}

#[test]
fn a_broken_manifest_is_listed_with_its_error_beside_the_others() {
    let tree = Tree::new(BUILD);
    tree.write("servers/sh-two/server.toml", "name = 'Two'\nlangauge = 'Shell'\n");
    let (stdout, _, code) = tree.run(&["list"]);
    assert!(stdout.contains("  sh-one  ") && code == 0, "{stdout}");
    assert!(stdout.contains("sh-two/server.toml:2: unknown key `langauge`; did you mean `language`?"));
    let json: serde_json::Value = serde_json::from_str(&tree.run(&["list", "--format", "json"]).0).unwrap();
    assert_eq!(
        (&json["servers"][0]["server"], &json["broken_servers"][0]["name"]),
        (&"sh-one".into(), &"sh-two".into())
    );
    let (stdout, stderr, code) = tree.run(&["build", "--all"]);
    assert!(
        stdout.starts_with("sh-one: built") && stderr.starts_with("server sh-two is skipped, ") && code == 3
    );
}

#[test]
fn an_unknown_name_is_reported_with_the_most_similar_one() {
    let (_, stderr, code) = Tree::new(BUILD).run(&["build", "sh-oen"]);
    assert!(
        stderr.starts_with("paceline: there is no server `sh-oen`; did you mean `sh-one`?\n"),
        "{stderr}"
    );
    assert_eq!(code, 2);
}

#[test]
fn a_failed_build_shows_its_command_and_the_end_of_its_log() {
    let (_, stderr, code) = Tree::new("[build]\ncommand = 'echo no uv.h; exit 4'").run(&["build", "--all"]);
    assert!(stderr.starts_with(
        "paceline: sh-one: build ended with exit status 4\n  command: echo no uv.h; exit 4\n  log: "
    ));
    assert!(stderr.contains("\n  | no uv.h\n") && code == 3, "{stderr}");
}

#[test]
fn ctrl_c_ends_a_build_with_all_its_processes() {
    let tree = Tree::new(
        "[build]\ncommand = 'setsid sleep 600 & echo $! > $PACELINE_BUILD/new; mv $PACELINE_BUILD/new $PACELINE_BUILD/begun; wait'",
    );
    let building =
        tree.paceline(&["build", "--all"]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let stray = wait_for(&tree.path(".paceline/build/sh-one/begun"));
    // SAFETY: takes integers; the child has not been waited for, so its process id is still valid.
    assert_eq!(unsafe { libc::kill(building.id().cast_signed(), libc::SIGINT) }, 0);
    let output = building.wait_with_output().unwrap();
    assert_eq!(
        (String::from_utf8_lossy(&output.stderr).as_ref(), output.status.code()),
        ("paceline: interrupted\n", Some(130))
    );
    assert!(!Path::new(&format!("/proc/{}", stray.trim())).exists(), "process {stray} is left");
    assert!(!tree.path(".paceline/build/sh-one/.paceline/build.stamp").exists());
}

#[test]
fn a_killed_set_up_keeps_the_previous_one() {
    // The first set-up ends at once; a second one begins to replace it and never ends.
    let setup = "[setup]\ncommand = 'if [ -e $PACELINE_BUILD/made ]; then rm $PACELINE_BUILD/made; echo half > $PACELINE_BUILD/half; \
                 sleep 600; fi; echo whole > $PACELINE_BUILD/made'\n";
    let tree = Tree::new(setup);
    assert_eq!(tree.run(&["setup", "--all"]).2, 0);
    let mut again = tree.paceline(&["setup", "--all", "--again"]);
    let mut again = again.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    wait_for(&tree.path(".paceline/build/sh-one/half"));
    again.kill().unwrap();
    again.wait().unwrap();
    let (stdout, _, _) = tree.run(&["list"]);
    assert!(stdout.contains("\nready "), "{stdout}");
    let (stdout, stderr, code) = tree.run(&["build", "--all"]);
    assert_eq!((stdout.as_str(), code), ("sh-one: up to date (one 1.0)\n", 0), "{stderr}");
    assert!(
        stderr.contains(
            "sh-one: an earlier set-up or build was killed; the last complete build is in use again"
        ),
        "{stderr}"
    );
    let made = |name: &str| std::fs::read_to_string(tree.path(".paceline/build/sh-one").join(name)).ok();
    assert_eq!((made("made").as_deref(), made("half")), (Some("whole\n"), None));
}

/// Waits until the file exists; returns its content.
fn wait_for(path: &Path) -> String {
    let begun = Instant::now();
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) => return text,
            Err(error) => assert!(begun.elapsed() < LIMIT, "{}: {error}", path.display()),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Standard error and exit status of a command whose standard output is closed.
fn unread(tree: &Tree, arguments: &[&str]) -> (String, i32) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = tree.paceline(arguments).stdout(writer).output().unwrap();
    (String::from_utf8(output.stderr).unwrap(), output.status.code().unwrap())
}

#[test]
fn a_closed_pipe_does_not_stop_setup_and_build() {
    let tree = Tree::new("[setup]\ncommand = 'false'");
    beside(&tree, "sh-two", "needs = ['sh']\nsetup.command = 'touch $PACELINE_BUILD/fetched'");
    let (stderr, code) = unread(&tree, &["setup", "--all"]);
    assert_eq!(code, 3, "one of them failed: {stderr}");
    assert!(tree.path(".paceline/build/sh-two/fetched").exists(), "the other was to be set up: {stderr}");

    let tree = Tree::new(BUILD);
    beside(&tree, "sh-two", "needs = ['sh']\nbuild.command = 'false'");
    let manifest = tree.path("servers/sh-two/server.toml");
    let text = std::fs::read_to_string(&manifest).unwrap().replace(BUILD, "");
    std::fs::write(&manifest, text).unwrap();
    let (stderr, code) = unread(&tree, &["build", "--all"]);
    assert_eq!(code, 3, "one of them failed: {stderr}");
    assert!(stderr.contains("sh-two: build ended with exit status 1"), "{stderr}");
}

#[test]
fn a_repeated_setup_invalidates_the_build() {
    let setup = "[setup]\ncommand = 'rm -f $PACELINE_BUILD/made'\n";
    let tree = Tree::new(&format!("{setup}{BUILD}"));
    assert_eq!(tree.run(&["setup", "--all"]).2, 0);
    assert_eq!(tree.run(&["build", "--all"]).2, 0);
    assert_eq!(tree.run(&["setup", "--all", "--again"]).2, 0);
    let (stdout, _, code) = tree.run(&["build", "--all"]);
    assert!(stdout.starts_with("sh-one: built in ") && code == 0, "{stdout}");
    assert!(tree.path(".paceline/build/sh-one/made").exists());
}

#[test]
fn a_set_up_that_is_repeated_is_announced() {
    let setup = "[setup]\ncommand = 'echo fetched >> $PACELINE_BUILD/made'\ndownload_mb = 3\n";
    let tree = Tree::new(&format!("{setup}{BUILD}"));
    assert_eq!((tree.run(&["setup", "--all"]).2, tree.run(&["build", "--all"]).2), (0, 0));
    tree.write("servers/sh-one/source.txt", "changed");
    let (_, stderr, code) = tree.run(&["build", "--all"]);
    assert_eq!(code, 0, "{stderr}");
    let said = "sh-one: the server's folder or tools changed since its set-up; repeating the set-up (may download about 3 MB): \
                echo fetched";
    assert!(stderr.starts_with(said), "{stderr}");
    assert_eq!(tree.run(&["build", "--all"]).1, "");
}

#[test]
fn a_tool_that_cannot_start_does_not_hide_other_servers() {
    let tree = Tree::new(BUILD);
    // A file can be found although it cannot be started; the failed start is reported.
    tree.write("bin/fickle-tool", "#!/no/such/interpreter\n");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(tree.path("bin/fickle-tool"), executable).unwrap();
    beside(&tree, "sh-two", "needs = ['sh', 'fickle-tool']");
    let path = format!("{}:{}", tree.path("bin").display(), std::env::var("PATH").unwrap());
    let run = |arguments: &[&str]| {
        let output = tree.paceline(arguments).env("PATH", &path).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr), output.status.code())
    };
    let reported = format!("the manifest's version command `{}", tree.path("bin/fickle-tool").display());
    let (stdout, stderr, code) = run(&["list"]);
    assert!(
        stdout.contains("  sh-one  ") && stdout.contains(&format!("unknown: {reported}")),
        "{stdout}{stderr}"
    );
    assert_eq!(code, Some(0));
    let (stdout, stderr, code) = run(&["build", "--all"]);
    assert!(stdout.starts_with("sh-one: built in ") && stderr.contains(&reported), "{stdout}{stderr}");
    assert_eq!(code, Some(3));
}

#[test]
fn a_file_that_cannot_be_read_does_not_hide_other_servers() {
    let tree = Tree::new("[setup]\ncommand = 'touch $PACELINE_BUILD/fetched'");
    beside(&tree, "sh-two", "needs = ['sh']");
    // The first page of a process is not mapped: reading it fails, also for root.
    std::os::unix::fs::symlink("/proc/self/mem", tree.path("servers/sh-two/data")).unwrap();
    let (stdout, stderr, code) = tree.run(&["setup", "--all"]);
    assert_eq!(code, 3, "{stderr}");
    assert!(
        stdout.contains("\nsh-one: set up in ") && stdout.contains("\nsh-two is not set up: "),
        "{stdout}"
    );
    let (stdout, stderr, code) = tree.run(&["list"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("  sh-one  ") && stdout.contains("os error 5"), "{stdout}");
}
