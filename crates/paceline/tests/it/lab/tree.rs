//! A tree of servers, workloads and plans in a temporary folder, with functions to run the binary on it.
//!
//! Used by every test of this folder. Its servers are scripts for python3, and its state is inside it, so that neither
//! the repository nor the user's results are changed. Its rounds share the machine with other tests.

use paceline_record::{Round, Trial};
use paceline_store::Store;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A Python server that answers `hello` correctly.
pub const GOOD: &str = include_str!("good.py");

const HELLO: &str = r#"about = "Twelve bytes."
[[case]]
path = "/hello"
[case.expect]
status = 200
content_type = "text/plain"
body = "Hello World\n"
[[refuse]]
path = "/no-such-path"
status = "404"
"#;

/// A temporary tree, deleted when dropped.
pub struct Tree {
    folder: tempfile::TempDir,
}

impl Tree {
    /// A tree with the workload `hello` and no server.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("servers")).unwrap();
        fs::create_dir_all(folder.path().join("workloads")).unwrap();
        fs::write(folder.path().join("workloads/hello.toml"), HELLO).unwrap();
        Self { folder }
    }

    /// Adds a server that runs `script` with python3.
    pub fn with_server(self, id: &str, script: &str, start_timeout_s: u32) -> Self {
        self.write_server(id, script, start_timeout_s);
        self
    }

    /// Writes a server that runs `script` with python3, replacing an existing one.
    pub fn write_server(&self, id: &str, script: &str, start_timeout_s: u32) {
        let folder = self.path(&format!("servers/{id}"));
        fs::create_dir_all(&folder).unwrap();
        let manifest = format!(
            "name = \"{id}\"\nlanguage = \"Python\"\nframework = \"none\"\nengine = \"none\"\nkind = \"platform\"\n\
             tags = [\"idiomatic\"]\nworkloads = [\"hello\"]\nneeds = [\"python3\"]\nversion = \"echo 1\"\n\
             pass_env = [\"WITNESS\", \"GATE\"]\n\
             [run]\ncommand = \"exec python3 server.py\"\nstart_timeout_s = {start_timeout_s}\n[forms.single]\n\
             [traits]\npipelining = true\nhttp10_keep_alive = true\nhead = false\n"
        );
        fs::write(folder.join("server.toml"), manifest).unwrap();
        fs::write(folder.join("server.py"), script).unwrap();
    }

    /// A path in the tree.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and creates its folders.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A `paceline` command with the places of this tree.
    pub fn paceline(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
        command.args(arguments).current_dir(self.folder.path());
        command.env("PACELINE_HOME", self.path("state")).env_remove("PACELINE_STORE");
        as_own_user(&mut command);
        // Tests run concurrently and measure nothing.
        command.env("PACELINE_SHARE_MACHINE", "1").env("PACELINE_STEADY_WITHIN", "0s");
        command.env("PACELINE_ALLOW_INVALID", "1");
        command
    }

    /// Runs `paceline` and waits for its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from_output(self.paceline(arguments).output().unwrap())
    }

    /// The newest round and its trials.
    pub fn kept(&self) -> (Round, Vec<Trial>) {
        let store = Store::open_existing(&self.path("state/results.sqlite")).unwrap();
        let round = store.newest().unwrap().unwrap();
        let trials = store.trials(&round.id).unwrap();
        (round, trials)
    }

    /// Writes an executable script.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        set_executable(&path);
        path
    }
}

/// Servers run as the user who runs the tests, since temporary folders are closed to other users.
pub fn as_own_user(command: &mut Command) {
    // SAFETY: takes no arguments and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        command.env("PACELINE_USER", "root");
    }
}

fn set_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The result of a command.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn from_output(output: Output) -> Self {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }
}
