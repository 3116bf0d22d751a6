//! Where the comparison works: the folder `speed` in the target folder, the programs in it, and the cores.

use crate::experiment::{ExperimentRow, fill};
use anyhow::{Context as _, bail};
use paceline_peers::{K6_SCRIPT, SIEGE_SETTINGS, tools};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FLOOR_HEADER: &str = include_str!("../floor/floor.h");
const FLOOR_PROGRAMS: [(&str, &str); 3] = [
    ("floor-server", include_str!("../floor/server.c")),
    ("floor-closed", include_str!("../floor/closed.c")),
    ("floor-open", include_str!("../floor/open.c")),
];
/// Needs liburing; where that is missing, its rows are left out.
const URING_PROGRAM: (&str, &str) = ("floor-uring", include_str!("../floor/uring.c"));
const SCRIPTS: [(&str, &str); 6] = [
    ("pipeline.lua", include_str!("../scripts/pipeline.lua")),
    ("request.lua", include_str!("../scripts/request.lua")),
    ("request_response.lua", include_str!("../scripts/request_response.lua")),
    ("percentiles.lua", include_str!("../scripts/percentiles.lua")),
    ("siegerc", SIEGE_SETTINGS),
    ("k6.js", K6_SCRIPT),
];

/// The folder, the binaries compared, and the machine's cores by side.
pub struct Workspace {
    /// `target/speed`.
    pub folder: PathBuf,
    /// The binary under test.
    pub paceline: PathBuf,
    /// An older one to compare it with.
    pub before: Option<PathBuf>,
    /// The command that starts a shepherd: the binary beside this program.
    pub shepherd: [String; 2],
    /// The server's core.
    pub server_core: u32,
    /// The generator's core.
    pub generator_core: u32,
}

/// A command with everything filled in.
pub struct ExpandedCommand {
    /// Variables of the environment.
    pub env: Vec<(String, String)>,
    /// The program, by its name.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl ExpandedCommand {
    /// The program whose output it prints: `paceline wrk` prints that of wrk.
    pub fn tool(&self) -> &str {
        let of_tool = self.arguments.first().filter(|word| tools().any(|tool| tool == word.as_str()));
        of_tool.unwrap_or(&self.program)
    }
}

impl Workspace {
    /// Makes the folder, compiles the floor programs, and writes the scripts and the bursts of a run of so many
    /// seconds.
    pub fn prepare(&self, seconds: u32) -> anyhow::Result<()> {
        for sub in ["home", "results", "floor"] {
            fs::create_dir_all(self.folder.join(sub)).with_context(|| self.folder.display().to_string())?;
        }
        for (name, text) in SCRIPTS {
            fs::write(self.folder.join(name), text).with_context(|| name.to_owned())?;
        }
        fs::write(self.folder.join("bursts"), bursts(seconds)).context("bursts")?;
        compile_floor(&self.folder)?;
        for binary in std::iter::once(&self.paceline).chain(&self.before) {
            Command::new(binary).arg("--version").output().with_context(|| {
                format!(
                    "cannot start {}; build it first: cargo build --release -p paceline",
                    binary.display()
                )
            })?;
        }
        Ok(())
    }

    /// Writes a body of so many bytes.
    pub fn make_body(&self, bytes: usize) -> anyhow::Result<()> {
        let path = self.body(bytes);
        if !path.exists() {
            fs::create_dir_all(self.documents(bytes))?;
            fs::write(&path, body_text(bytes)).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }

    fn body(&self, bytes: usize) -> PathBuf {
        self.documents(bytes).join("index.html")
    }

    fn documents(&self, bytes: usize) -> PathBuf {
        self.folder.join(format!("body-{bytes}"))
    }

    /// Finds a program: Paceline, a floor program, one built from source, or one in `PATH`.
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        match program {
            "paceline" => return Some(self.paceline.clone()),
            "paceline-before" => return self.before.clone(),
            _ => {}
        }
        let ours = [self.folder.join(program), self.folder.join("peers/bin").join(program)];
        let path = std::env::var_os("PATH").unwrap_or_default();
        let others = std::env::split_paths(&path).map(|folder| folder.join(program));
        ours.into_iter().chain(others).find(|path| path.is_file())
    }

    /// The cores of a side, or those whose numbers are given.
    pub fn cores(&self, side: &str) -> anyhow::Result<Vec<u32>> {
        match side {
            "server" => Ok(vec![self.server_core]),
            "generator" => Ok(vec![self.generator_core]),
            "both" => Ok(vec![self.server_core, self.generator_core]),
            numbers => numbers
                .split(',')
                .map(|number| number.parse().with_context(|| format!("{numbers:?} names no cores")))
                .collect(),
        }
    }

    /// A command of a row, the server's or the generator's, with everything filled in.
    pub fn fill(
        &self,
        command: &str,
        row: &ExperimentRow,
        port: &str,
        response_bytes: &str,
    ) -> ExpandedCommand {
        let (body, documents) = (self.body(row.body_bytes), self.documents(row.body_bytes));
        let values = [
            ("url", format!("http://127.0.0.1:{port}/")),
            ("port", port.to_owned()),
            ("response_bytes", response_bytes.to_owned()),
            ("body", body.display().to_string()),
            ("documents", documents.display().to_string()),
            ("work", self.folder.display().to_string()),
        ];
        let command = fill(command, values.iter().map(|(name, value)| (*name, value.as_str())));
        let mut words = command.split_whitespace().map(str::to_owned).peekable();
        let mut env = Vec::new();
        while let Some((name, value)) = words.peek().and_then(|word| word.split_once('=')) {
            env.push((name.to_owned(), value.to_owned()));
            words.next();
        }
        ExpandedCommand { env, program: words.next().unwrap_or_default(), arguments: words.collect() }
    }

    /// A text as the page prints it, without the path of this machine's target folder.
    pub fn shown(&self, text: &str) -> String {
        let target = self.folder.parent().unwrap_or(Path::new("target"));
        text.replace(&target.display().to_string(), "target")
    }
}

/// Send times of 20,000 requests a second as with h2load's `--rps`: its timer expires every 10 ms, and all requests
/// that are due by then are sent at once.
fn bursts(seconds: u32) -> String {
    (0..seconds * 100).map(|burst| format!("{}ms\n", burst * 10).repeat(200)).collect()
}

/// Numbered lines of 64 bytes, so that a part in the wrong place does not compare equal; the shortest body is the usual
/// hello.
fn body_text(bytes: usize) -> Vec<u8> {
    if bytes == 12 {
        return b"Hello World\n".to_vec();
    }
    let lines = (0..).flat_map(|line: u32| format!("{line:063}\n").into_bytes());
    lines.take(bytes).collect()
}

fn compile_floor(folder: &Path) -> anyhow::Result<()> {
    fs::write(folder.join("floor/floor.h"), FLOOR_HEADER)?;
    for program in FLOOR_PROGRAMS {
        if let Some(errors) = compile(folder, program, &[])? {
            bail!("gcc could not build {}:\n{errors}", program.0);
        }
    }
    if compile(folder, URING_PROGRAM, &["-luring"])?.is_some() {
        crate::progress::say("no floor on io_uring: it needs liburing (apt-get install liburing-dev)");
    }
    Ok(())
}

/// Builds one program; returns the compiler's errors if it fails.
fn compile(folder: &Path, (name, text): (&str, &str), libraries: &[&str]) -> anyhow::Result<Option<String>> {
    let file = folder.join(format!("floor/{name}.c"));
    fs::write(&file, text)?;
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-Wall", "-Wextra", "-o"]).arg(folder.join(name)).arg(&file).args(libraries);
    let done = gcc
        .output()
        .context("cannot start gcc, which builds the floor programs: apt-get install gcc libc6-dev")?;
    Ok((!done.status.success()).then(|| String::from_utf8_lossy(&done.stderr).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_their_length_and_do_not_repeat() {
        assert_eq!(body_text(12), b"Hello World\n");
        let body = body_text(2053);
        assert_eq!(body.len(), 2053);
        assert_ne!(body[..64], body[64..128]);
    }

    #[test]
    fn bursts_are_every_10_ms() {
        let bursts = bursts(2);
        assert_eq!(bursts.lines().count(), 40_000);
        let at = |line| bursts.lines().nth(line);
        assert_eq!([199, 200, 39_999].map(at), [Some("0ms"), Some("10ms"), Some("1990ms")]);
    }

    #[test]
    fn commands_are_filled_in() {
        let workspace = Workspace {
            folder: "/nowhere/target/speed".into(),
            paceline: "paceline".into(),
            before: None,
            shepherd: ["paceline", "shepherd"].map(str::to_owned),
            server_core: 0,
            generator_core: 1,
        };
        let row = ExperimentRow { body_bytes: 12, ..ExperimentRow::default() };
        let filled = workspace.fill("HOME={work}/home siege -b @{body} {url} {other}", &row, "80", "");
        assert_eq!(filled.env, [("HOME".to_owned(), "/nowhere/target/speed/home".to_owned())]);
        assert_eq!(filled.program, "siege");
        let shown = workspace.shown(&filled.arguments.join(" "));
        assert_eq!(shown, "-b @target/speed/body-12/index.html http://127.0.0.1:80/ {other}");
        assert_eq!(workspace.cores("both").unwrap(), [0, 1]);
        assert_eq!(workspace.cores("2,3").unwrap(), [2, 3]);
        assert!(workspace.cores("all").is_err());
        assert_eq!(workspace.find("no-such-program-anywhere"), None);
    }
}
