//! Where the comparison works: the folder `speed` in the target folder, the programs in it, and the cores.
//!
//! Everything made here is made again by the next run; only the page leaves it.

use crate::plan::Side;
use anyhow::{Context as _, bail};
use paceline_lab::peers::{K6_SCRIPT, SIEGE_SETTINGS};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FLOOR_HEADER: &str = include_str!("../floor/floor.h");
const FLOOR_PROGRAMS: [(&str, &str); 3] = [
    ("floor-server", include_str!("../floor/server.c")),
    ("floor-closed", include_str!("../floor/closed.c")),
    ("floor-open", include_str!("../floor/open.c")),
];
/// Needs liburing; where it is missing, its rows are left out.
const URING_PROGRAM: (&str, &str) = ("floor-uring", include_str!("../floor/uring.c"));
const SCRIPTS: [(&str, &str); 4] = [
    ("pipeline.lua", include_str!("../pipeline.lua")),
    ("percentiles.lua", include_str!("../percentiles.lua")),
    ("siegerc", SIEGE_SETTINGS),
    ("k6.js", K6_SCRIPT),
];

/// The folder, what is in it, and the machine's cores by side.
pub struct Workplace {
    /// `target/speed`.
    pub folder: PathBuf,
    /// The binary under test.
    pub paceline: PathBuf,
    /// What `paceline run --help` says: which flags it has.
    paceline_help: String,
    server_core: u32,
    generator_core: u32,
}

impl Workplace {
    /// Makes the folder, compiles the floor programs and writes the scripts.
    pub fn prepare(paceline: PathBuf, server_core: u32, generator_core: u32) -> anyhow::Result<Self> {
        let target = target_folder()?;
        let folder = target.join("speed");
        for sub in ["home", "results", "floor"] {
            fs::create_dir_all(folder.join(sub)).with_context(|| folder.display().to_string())?;
        }
        for (name, text) in SCRIPTS {
            fs::write(folder.join(name), text).with_context(|| name.to_owned())?;
        }
        compile_floor(&folder)?;
        let help = Command::new(&paceline).args(["run", "--help"]).output();
        let help = help.with_context(|| {
            format!("cannot start {}; build it first: cargo build --release -p paceline", paceline.display())
        })?;
        let paceline_help = String::from_utf8_lossy(&help.stdout).into_owned();
        Ok(Self { folder, paceline, paceline_help, server_core, generator_core })
    }

    /// A body of so many bytes, in a file: numbered lines, so that a part in the wrong place does not compare equal.
    pub fn body(&self, bytes: usize) -> anyhow::Result<PathBuf> {
        let path = self.folder.join(format!("body-{bytes}"));
        if !path.exists() {
            fs::write(&path, body_text(bytes)).with_context(|| path.display().to_string())?;
        }
        Ok(path)
    }

    /// Where a program is: one of ours, one built from source, or wherever `PATH` finds it.
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        if program == "paceline" {
            return Some(self.paceline.clone());
        }
        let ours = [self.folder.join(program), self.folder.join("peers/bin").join(program)];
        let path = std::env::var_os("PATH").unwrap_or_default();
        let elsewhere = std::env::split_paths(&path).map(|folder| folder.join(program));
        ours.into_iter().chain(elsewhere).find(|path| path.is_file())
    }

    /// Whether this Paceline knows a flag.
    pub fn paceline_has(&self, flag: &str) -> bool {
        let is_part_of_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        self.paceline_help.split(|c| !is_part_of_name(c)).any(|word| word == flag)
    }

    /// The cores of a side, as taskset(1) takes them.
    pub fn cores(&self, side: Side) -> String {
        let list: Vec<String> = self.core_numbers(side).iter().map(u32::to_string).collect();
        list.join(",")
    }

    /// The cores of a side.
    pub fn core_numbers(&self, side: Side) -> Vec<u32> {
        match side {
            Side::Server => vec![self.server_core],
            Side::Generator => vec![self.generator_core],
            Side::Both => vec![self.server_core, self.generator_core],
            Side::These(cores) => cores.to_vec(),
        }
    }

    /// A text with its places filled in.
    pub fn fill(text: &str, places: &BTreeMap<&str, String>) -> String {
        places.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }

    /// A path as the page prints it: the target folder is wherever the reader has it.
    pub fn shown(&self, text: &str) -> String {
        let target = self.folder.parent().unwrap_or(Path::new("target"));
        text.replace(&target.display().to_string(), "target")
    }
}

/// The target folder this program was built into: it lies in `target/release`.
fn target_folder() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("where this program is")?;
    let target = own.ancestors().nth(2).map(Path::to_path_buf);
    target.with_context(|| format!("{} is in no target folder", own.display()))
}

/// Numbered lines of 64 bytes; the shortest body is the usual hello.
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
        let said = compile(folder, program, &[])?;
        if let Some(said) = said {
            bail!("gcc could not build {}:\n{said}", program.0);
        }
    }
    if compile(folder, URING_PROGRAM, &["-luring"])?.is_some() {
        crate::say("no floor on io_uring: it needs liburing (apt-get install liburing-dev)");
    }
    Ok(())
}

/// Builds one program; what gcc said where it could not.
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
    fn places_are_filled_in() {
        let places = BTreeMap::from([("port", "80".to_owned()), ("url", "http://x/".to_owned())]);
        assert_eq!(Workplace::fill("--port {port} {url} {other}", &places), "--port 80 http://x/ {other}");
    }

    #[test]
    fn flags_are_whole_words() {
        let workplace = Workplace {
            folder: "/nowhere/target/speed".into(),
            paceline: "paceline".into(),
            paceline_help: "  --pipeline <DEPTH>\n  --pipeline-batch\n".into(),
            server_core: 0,
            generator_core: 1,
        };
        assert!(workplace.paceline_has("--pipeline") && workplace.paceline_has("--pipeline-batch"));
        assert!(!workplace.paceline_has("--pipe"));
        assert_eq!(workplace.cores(Side::Both), "0,1");
        assert_eq!(workplace.shown("-b /nowhere/target/speed/body-12"), "-b target/speed/body-12");
        assert_eq!(workplace.find("no-such-program-anywhere"), None);
    }
}
