//! Tests servers that come as a container, with a script in place of the engine: it builds nothing, and its image has the
//! files of this machine.
//!
//! Only root can change a root folder, and some machines do not allow it: the tests say then that they are skipped.

use super::tree::{GOOD, Ran, Tree};
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

/// The engine: it notes each call, and prints what is read of it.
const ENGINE: &str = r#"#!/bin/sh
echo "$*" >>"$(dirname "$0")/calls"
case "$1" in
image) cat "$(dirname "$0")/image.json" ;;
mount) echo / ;;
info) echo /tmp ;;
container) test ! -e "$(dirname "$0")/removed" ;;
esac
"#;

/// An engine whose files must be copied. The copy interrupts the lab, and does not end by itself.
const COPIED_ENGINE: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/calls"
case "$1" in
image) cat "$here/image.json" ;;
create) touch "$here/created" ;;
rm) rm -f "$here/created" ;;
export) kill -INT "$(cat "$here/lab")"; exec sleep 600 ;;
esac
"#;

/// The server is also a witness of what a container can see and do: it fails to start if it can do more.
const WITNESS: &str = r#"
import ctypes, errno, socket
assert os.getuid() != 0, "it is root"
def status(name):
    return next(line.split()[1] for line in open("/proc/self/status") if line.startswith(name + ":"))
assert [status(name) for name in ("CapEff", "CapBnd", "NoNewPrivs")] == ["0" * 16, "0" * 16, "1"]
assert ctypes.CDLL(None, use_errno=True).syscall(425, 1, 0) == -1 and ctypes.get_errno() == errno.ENOSYS, "io_uring"
assert len([name for name in os.listdir("/proc") if name.isdigit()]) < 5, "other processes are visible"
assert sorted(os.listdir("/dev"))[:2] == ["fd", "full"] and open("/dev/urandom", "rb").read(1), os.listdir("/dev")
assert socket.gethostbyname("the-database") == "127.0.0.1"
assert "PACELINE_HOME" not in os.environ and os.environ["FROM_IMAGE"] == "yes"
try:
    open("/proc/sys/kernel/core_pattern", "w")
    raise SystemExit("/proc/sys can be written")
except OSError:
    pass
try:
    open("/srv-of-test/server.py", "a")
    raise SystemExit("a mount can be written")
except OSError:
    pass
open("/var/tmp/written-by-a-container", "w").write("lost")
"#;

struct Container {
    tree: Tree,
    /// Another process has the server's port outside.
    _taken: TcpListener,
}

impl Container {
    fn new(more: &str) -> Self {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let script = GOOD
            .replace(
                "os.environ[\"PACELINE_HOST\"], int(os.environ[\"PACELINE_PORT\"])",
                &format!("\"\", {port}"),
            )
            .replace("import os", &format!("import os\n{WITNESS}"));
        let tree = Tree::new().with_server("python-boxed", &script, 60);
        let manifest = format!(
            "name = \"boxed\"\nlanguage = \"Python\"\nframework = \"none\"\nengine = \"none\"\nkind = \"platform\"\n\
             tags = [\"idiomatic\"]\nworkloads = [\"hello\"]\nport = {port}\nhosts = [\"the-database\"]\n\
             [container]\ndockerfile = \"Dockerfile\"\nsource = \"context\"\nargs = {{ WHO = \"me\" }}\n\
             command = [\"-u\", \"/srv-of-test/server.py\"]\nmounts = {{ \"/srv-of-test/server.py\" = \"server.py\" }}\n{more}\n\
             [run]\nstart_timeout_s = 60\n[traits]\npipelining = true\nhttp10_keep_alive = true\nhead = false\n"
        );
        tree.write("servers/python-boxed/server.toml", &manifest);
        tree.write(
            "servers/python-boxed/context/Dockerfile",
            "FROM python:3.12\nRUN curl https://example.com/x\nCMD python3\n",
        );
        let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
        let path = std::env::var("PATH").unwrap();
        let image = format!(
            "[{{\"Id\":\"sha256:abc\",\"Architecture\":\"{architecture}\",\"Os\":\"linux\",\"Config\":{{\
             \"Env\":[\"PATH={path}\",\"FROM_IMAGE=yes\"],\"Entrypoint\":[\"python3\"],\"Cmd\":[\"none\"]}}}}]"
        );
        tree.write("bin/image.json", &image);
        tree.script("bin/podman", ENGINE);
        Self { tree, _taken: taken }
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let path = format!("{}:{}", self.tree.path("bin").display(), std::env::var("PATH").unwrap());
        Ran::from_output(self.tree.paceline(arguments).env("PATH", path).output().unwrap())
    }

    /// The same in a network of its own, in which no other round runs; none without the rights for it.
    fn run_apart(&self, arguments: &[&str]) -> Option<Ran> {
        is_root().then_some(())?;
        self.run_by(&["unshare", "--net", "--"], arguments)
    }

    /// The same by a program that gets the command as its further arguments; none if there is no such program.
    fn run_by(&self, program: &[&str], arguments: &[&str]) -> Option<Ran> {
        let path = format!("{}:{}", self.tree.path("bin").display(), std::env::var("PATH").unwrap());
        let inner = self.tree.paceline(arguments);
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).arg(inner.get_program()).args(inner.get_args());
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", path).env_remove("PACELINE_STORE").current_dir(inner.get_current_dir()?);
        Some(Ran::from_output(command.output().ok()?))
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.tree.path("bin/calls")).unwrap_or_default()
    }
}

fn is_root() -> bool {
    // SAFETY: takes no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Printed by tests that other users cannot carry out.
const ROOT_ONLY: &str = "skipped: only root can build and run a container";

#[test]
fn only_root_builds_a_container_and_the_engine_is_podman_or_docker() {
    let boxed = Container::new("");
    let other = boxed.run(&["lab", "build", "python-boxed", "--engine", "rm"]);
    assert!(other.code == Some(2) && other.stderr.contains("podman, docker"), "{other:?}");
    let checked = boxed.run(&["lab", "check", "python-boxed", "--idle", "10ms"]);
    assert!(is_root() || checked.stdout.contains("root's rights"), "{checked:?}");
    // A container has no set-up: `lab setup` would say that there is nothing to do.
    assert!(checked.stderr.contains("set them up with: paceline lab build python-boxed"), "{checked:?}");
    let refused = boxed.run(&["lab", "build", "python-boxed", "--trust", "."]);
    assert!(is_root() || refused.code == Some(3) && refused.stderr.contains("root's rights"), "{refused:?}");
    assert!(is_root() || boxed.calls().is_empty(), "{}", boxed.calls());
}

#[test]
fn a_container_is_built_only_with_consent_and_again_only_after_a_change() {
    if !is_root() {
        eprintln!("{ROOT_ONLY}");
        return;
    }
    let boxed = Container::new("");
    let refused = boxed.run(&["lab", "build", "python-boxed"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    for shown in
        ["images: python:3.12", "download: curl", "https://example.com/x", "arguments: WHO=me", "--trust"]
    {
        assert!(refused.stderr.contains(shown), "{shown}: {refused:?}");
    }
    assert_eq!(boxed.calls(), "", "nothing is built before the consent");
    let elsewhere = boxed.run(&["lab", "build", "python-boxed", "--trust", "/no-such-folder"]);
    assert_eq!(elsewhere.code, Some(3), "{elsewhere:?}");
    let context = boxed.tree.path("servers/python-boxed/context").display().to_string();
    let built = boxed.run(&["lab", "build", "python-boxed", "--trust", &context]);
    assert_eq!(built.code, Some(0), "{built:?}");
    assert!(built.stderr.contains("of disk space left for images"), "{built:?}");
    assert!(boxed.calls().contains("--build-arg=WHO=me"), "{}", boxed.calls());
    assert!(built.stdout.contains("image sha256:abc"), "{built:?}");
    let again = boxed.run(&["lab", "build", "python-boxed"]);
    assert!(again.code == Some(0) && again.stdout.contains("up to date"), "{again:?}");
    boxed.tree.write("servers/python-boxed/context/new", "code");
    let changed = boxed.run(&["lab", "build", "python-boxed"]);
    assert_eq!(changed.code, Some(3), "other content needs another consent: {changed:?}");
}

#[test]
fn files_that_the_engine_removed_are_made_again() {
    if !is_root() {
        eprintln!("{ROOT_ONLY}");
        return;
    }
    let boxed = Container::new("");
    let context = boxed.tree.path("servers").display().to_string();
    let build = |more: &[&str]| boxed.run(&[&["lab", "build", "python-boxed"], more].concat());
    assert_eq!(build(&["--trust", &context]).code, Some(0));
    boxed.tree.write("bin/removed", "");
    let again = build(&[]);
    assert!(again.code == Some(0) && !again.stdout.contains("up to date"), "{again:?}");
    boxed.tree.script("bin/podman", &ENGINE.replace("echo / ;;", "echo gone >&2; exit 125 ;;"));
    let checked = boxed.run(&["lab", "check", "python-boxed", "--idle", "10ms"]);
    let said = "podman does not show the files of its image: gone; remove its build (rm -r ";
    assert!(checked.stdout.contains(said) && !checked.stdout.contains("lab build"), "{checked:?}");
    fs::remove_dir_all(boxed.tree.path("state/build/python-boxed")).unwrap();
    boxed.tree.script("bin/podman", ENGINE);
    let built = build(&[]);
    assert!(built.code == Some(0) && !built.stdout.contains("up to date"), "{built:?}");
}

#[test]
fn a_copy_that_is_interrupted_leaves_no_container() {
    if !is_root() {
        eprintln!("{ROOT_ONLY}");
        return;
    }
    let boxed = Container::new("");
    boxed.tree.script("bin/docker", COPIED_ENGINE);
    let context = boxed.tree.path("servers").display().to_string();
    let build = ["lab", "build", "python-boxed", "--engine", "docker", "--trust", &context];
    // The process of the shell becomes that of the lab.
    let by = ["sh", "-c", "echo $$ >bin/lab; exec \"$0\" \"$@\""];
    let interrupted = boxed.run_by(&by, &build).unwrap();
    assert_eq!(interrupted.code, Some(130), "{interrupted:?}");
    let calls = boxed.calls();
    assert!(calls.lines().any(|call| call.starts_with("export paceline-python-boxed-")), "{calls}");
    assert!(!boxed.tree.path("bin/created").exists(), "{calls}");
}

#[test]
fn an_old_image_is_removed_and_one_in_use_is_kept() {
    if !is_root() {
        eprintln!("{ROOT_ONLY}");
        return;
    }
    let boxed = Container::new("");
    let context = boxed.tree.path("servers").display().to_string();
    let build = |more: &[&str]| boxed.run(&[&["lab", "build", "python-boxed"], more].concat());
    assert_eq!(build(&["--trust", &context]).code, Some(0));
    let lock = fs::File::create(boxed.tree.path("state/build/python-boxed/.paceline/image.lock")).unwrap();
    lock.lock_shared().unwrap();
    let before = boxed.calls();
    let refused = build(&["--again"]);
    assert!(refused.code == Some(3) && refused.stderr.contains("its image is in use by"), "{refused:?}");
    assert_eq!(boxed.calls(), before, "nothing of it is removed");
    lock.unlock().unwrap();
    assert!(build(&["--again"]).code == Some(0) && !boxed.calls().contains("rmi"), "{}", boxed.calls());
    // A build of the same content, such as with newer packages, takes the name of the former one.
    boxed.tree.write(
        "bin/image.json",
        &fs::read_to_string(boxed.tree.path("bin/image.json")).unwrap().replace("abc", "def"),
    );
    assert_eq!(build(&["--again"]).code, Some(0));
    assert_eq!(boxed.calls().matches("rmi -- abc").count(), 1, "{}", boxed.calls());
    boxed.tree.write("servers/python-boxed/context/new", "code");
    assert_eq!(build(&["--trust", &context]).code, Some(0));
    assert_eq!(
        boxed.calls().matches("rmi -- localhost/paceline-python-boxed:").count(),
        1,
        "{}",
        boxed.calls()
    );
    let Some(cleaned) = boxed.run_apart(&["lab", "clean", "--all"]) else {
        eprintln!("skipped: only root has a network in which the rounds of other tests do not count");
        return;
    };
    assert_eq!(cleaned.code, Some(0), "{cleaned:?}");
    assert_eq!(
        boxed.calls().matches("rmi -- localhost/paceline-python-boxed:").count(),
        2,
        "{}",
        boxed.calls()
    );
}

#[test]
fn a_container_runs_with_its_own_files_and_without_rights() {
    if !is_root() {
        eprintln!("{ROOT_ONLY}");
        return;
    }
    let boxed = Container::new("");
    let context = boxed.tree.path("servers").display().to_string();
    let built = boxed.run(&["lab", "build", "python-boxed", "--trust", &context]);
    assert_eq!(built.code, Some(0), "{built:?}");
    let checked = boxed.run(&["lab", "check", "python-boxed", "--idle", "10ms"]);
    if checked.stdout.contains("cannot show the files of the image") {
        eprintln!("skipped: no layer can be mounted here: {}", checked.stdout);
        return;
    }
    assert_eq!(checked.code, Some(0), "{checked:?}");
    // Servers run as root then, but not a container without the right `root`: its witness checks that.
    let as_root = boxed.run(&["lab", "check", "python-boxed", "--idle", "10ms", "--user", "root"]);
    assert_eq!(as_root.code, Some(0), "{as_root:?}");
    assert!(!Path::new("/var/tmp/written-by-a-container").exists() && !Path::new("/srv-of-test").exists());
}

#[test]
fn what_gives_a_container_more_rights_is_refused() {
    for (more, why) in [
        ("privileged = true", "never gets the rights of root"),
        ("volumes = [\"/var/run/docker.sock\"]", "read-only `mounts`"),
        ("network = \"host\"", "the lab gives a launch its network"),
        ("image = \"x\"", "either `dockerfile` or `image`"),
        ("rights = [\"all\"]", "unknown value `all`"),
    ] {
        let refused = Container::new(more).run(&["lab", "build", "python-boxed", "--trust", "/"]);
        assert!(refused.code != Some(0) && refused.stderr.contains(why), "{more}: {refused:?}");
    }
    for (from, to, why) in [
        ("\"server.py\" }", "\"../x\" }", "the mount `/srv-of-test/server.py`"),
        ("\"server.py\" }", "\"/etc/shadow\" }", "the mount `/srv-of-test/server.py`"),
        ("\"Dockerfile\"", "\"../Dockerfile\"", "without `..`"),
    ] {
        let boxed = Container::new("");
        let path = boxed.tree.path("servers/python-boxed/server.toml");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace(from, to)).unwrap();
        let refused = boxed.run(&["lab", "build", "python-boxed", "--trust", "/"]);
        assert!(refused.code != Some(0) && refused.stderr.contains(why), "{to}: {refused:?}");
    }
}

#[test]
fn a_container_marked_as_untried_is_left_out_of_all_servers_until_it_is_built() {
    let boxed = Container::new("");
    boxed.tree.write_server("python-plain", GOOD, 60);
    let plan = "name = \"try\"\nrepeats = 1\nworkloads = [\"hello\"]\n[[load]]\nname = \"closed-1\"\n\
                connections = 1\nduration = \"100ms\"\n";
    boxed.tree.write("plans/try.toml", plan);
    let path = boxed.tree.path("servers/python-boxed/server.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("[container]", "untried = \"no registry\"\n[container]")).unwrap();
    let listed = boxed.run(&["lab", "list"]);
    assert!(listed.stdout.contains("\nNot tried here\n  no registry: python-boxed\n"), "{listed:?}");
    let json = boxed.run(&["lab", "list", "--json"]).stdout;
    assert!(json.contains("\"untried\"") && json.contains("no registry"), "{json}");
    let (left_out, notice) =
        ("1 server left out, marked as not tried", "python-boxed is marked as not tried: no registry; ");
    let all = boxed.run(&["lab", "build", "--all"]);
    assert!(all.code == Some(0) && all.stdout.contains("python-plain: up to date"), "{all:?}");
    assert!(all.stderr.contains(left_out) && all.stderr.contains(": python-boxed\n"), "{all:?}");
    assert!(!all.stdout.contains("python-boxed") && !all.stderr.contains(notice), "{all:?}");
    for named in [
        &["lab", "build", "python-boxed"][..],
        &["lab", "check", "python-boxed", "--idle", "10ms"],
        &["lab", "serve", "python-boxed"],
        &["lab", "try", "servers/python-boxed"],
    ] {
        let ran = boxed.run(named);
        assert!(ran.code == Some(3) && ran.stderr.matches(notice).count() == 1, "{named:?}: {ran:?}");
    }
    let context = boxed.tree.path("servers").display().to_string();
    let built = boxed.run(&["lab", "build", "python-boxed", "--trust", &context]);
    if !is_root() {
        assert_eq!(built.code, Some(3), "{built:?}");
        eprintln!("{ROOT_ONLY}");
        return;
    }
    assert_eq!(built.code, Some(0), "{built:?}");
    let all = boxed.run(&["lab", "build", "--all"]);
    assert!(all.code == Some(0) && all.stdout.contains("python-boxed: up to date"), "{all:?}");
    assert!(!all.stderr.contains(left_out) && all.stderr.contains(notice), "{all:?}");
}

#[test]
fn an_image_for_another_machine_or_a_failed_build_is_refused() {
    let boxed = Container::new("");
    let image = boxed.tree.path("bin/image.json");
    let text = fs::read_to_string(&image).unwrap();
    fs::write(&image, text.replace("amd64", "s390x").replace("arm64", "s390x")).unwrap();
    let context = boxed.tree.path("servers").display().to_string();
    let foreign = boxed.run(&["lab", "build", "python-boxed", "--trust", &context]);
    assert!(foreign.code == Some(3) && foreign.stderr.contains("linux s390x"), "{foreign:?}");
    boxed.tree.script("bin/podman", "#!/bin/sh\necho 'no space left on device' >&2\nexit 125\n");
    let failed = boxed.run(&["lab", "build", "python-boxed"]);
    assert!(failed.code == Some(3) && failed.stderr.contains("no space left on device"), "{failed:?}");
}
