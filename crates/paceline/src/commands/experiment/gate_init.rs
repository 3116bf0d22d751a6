//! `paceline gate init`: writes `paceline.toml` and a workflow for the repository in the current folder.
//!
//! The build and start commands follow from the files that build tools need. Existing files are kept.

use crate::exit::{Complaint, Status, print};
use crate::lab_folders::complain;
use anyhow::Context as _;
use paceline_catalogue::{GATE_FILE, toml_text};
use paceline_lab::Repository;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

/// The path of the workflow.
const WORKFLOW: &str = ".github/workflows/performance.yml";
/// Where the action is unless `--action` names it: its owner is not known here.
const ACTION: &str = concat!("<OWNER>/paceline@v", env!("CARGO_PKG_VERSION"));

/// Flags of `paceline gate init`.
#[derive(clap::Args, Clone, Debug)]
pub struct InitArguments {
    /// The action in the workflow
    #[arg(long, value_name = "OWNER/REPOSITORY@VERSION", default_value = ACTION)]
    action: String,
    /// Base of the comparison [default: the default branch of the repository]
    #[arg(long, value_name = "REF")]
    base: Option<String>,
}

/// A build tool: a file that shows it, and its usual commands.
struct Tool {
    file: &'static str,
    build: &'static str,
    start: &'static str,
    prepare: &'static str,
}

/// The step of a workflow that installs node.
const SET_UP_NODE: &str = "      - uses: actions/setup-node@v4\n        with: { node-version: lts/* }\n";

/// The tools, the most specific first.
const TOOLS: &[Tool] = &[
    Tool {
        file: "go.mod",
        build: "go build -o server .",
        start: "./server",
        prepare: "      - uses: actions/setup-go@v5\n        with: { go-version: stable }\n",
    },
    Tool {
        file: "Cargo.toml",
        build: "cargo build --release --locked",
        start: "./target/release/NAME",
        prepare: "",
    },
    Tool {
        file: "package-lock.json",
        build: "npm ci && npm run build --if-present",
        start: "npm start",
        prepare: SET_UP_NODE,
    },
    Tool {
        file: "package.json",
        build: "npm install && npm run build --if-present",
        start: "npm start",
        prepare: SET_UP_NODE,
    },
    Tool {
        file: "requirements.txt",
        build: "python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt",
        start: ".venv/bin/python app.py",
        prepare: "",
    },
    Tool {
        file: "pom.xml",
        build: "mvn -q -B package -DskipTests",
        start: "java -jar target/app.jar",
        prepare: "",
    },
    Tool {
        file: "build.gradle",
        build: "./gradlew --quiet bootJar",
        start: "java -jar build/libs/app.jar",
        prepare: "",
    },
    Tool {
        file: "Gemfile",
        build: "bundle install --quiet",
        start: "bundle exec puma -p $PORT",
        prepare: "      - uses: ruby/setup-ruby@v1\n",
    },
];

/// A repository whose tool is not known.
const UNKNOWN: Tool = Tool { file: "", build: "make", start: "./server", prepare: "" };

/// Writes the files that do not exist yet.
pub fn run(arguments: &InitArguments) -> anyhow::Result<Status> {
    let here = std::env::current_dir().context("cannot find the current folder")?;
    let repository = Repository::find(&here).map_err(complain)?;
    let root = repository.root();
    let tool = TOOLS.iter().find(|tool| here.join(tool.file).is_file()).unwrap_or(&UNKNOWN);
    let base = arguments.base.clone().unwrap_or_else(|| repository.default_branch());
    let gate = gate_file(tool, &base, &name_of(&here));
    let below = here.strip_prefix(root).unwrap_or(Path::new(""));
    let workflow = workflow(tool, repository.branch_name(&base), &arguments.action, below);
    let files = [(here.join(GATE_FILE), gate), (root.join(WORKFLOW), workflow)];
    for (path, text) in &files {
        print(&write_new(path, text)?)?;
    }
    let steps = [
        format!("1. Check `build`, `start` and the loads in {GATE_FILE}; the server must listen on $PORT."),
        "2. Try it: paceline gate".to_owned(),
        match arguments.action.contains('<') {
            true => format!("3. Replace <OWNER> in {WORKFLOW} by the owner of Paceline's repository."),
            false => format!("3. Commit both files: {WORKFLOW} runs the gate in pull requests."),
        },
    ];
    print(&format!("\n{}\n", steps.join("\n")))?;
    Ok(Status::Done)
}

fn write_new(path: &Path, text: &str) -> anyhow::Result<String> {
    let cannot =
        |error: std::io::Error| Complaint::environment(format!("cannot write {}: {error}", path.display()));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(cannot)?;
    }
    // It does not follow a symbolic link of the repository to a file elsewhere.
    match fs::File::create_new(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            Ok(format!("kept     {} (exists already)\n", path.display()))
        }
        created => {
            created.and_then(|mut file| file.write_all(text.as_bytes())).map_err(cannot)?;
            Ok(format!("written  {}\n", path.display()))
        }
    }
}

/// The name of the package in `Cargo.toml`, or of the folder: what a build is probably called.
fn name_of(folder: &Path) -> String {
    let cargo = paceline_files::read_text(&folder.join("Cargo.toml"), 1 << 20).unwrap_or_default();
    let cargo: toml::Table = cargo.parse().unwrap_or_default();
    let named = cargo.get("package").and_then(|package| package.get("name")?.as_str());
    let folder = || folder.file_name().map(|name| name.to_string_lossy().into_owned());
    named.map(str::to_owned).or_else(folder).unwrap_or_else(|| "server".to_owned())
}

fn gate_file(tool: &Tool, base: &str, name: &str) -> String {
    let start = tool.start.replace("NAME", name);
    let [base, build, start] = [base, tool.build, &start].map(toml_text);
    format!(
        "# The performance gate: `paceline gate` compares this change with the base. See paceline gate --help.\n\
         [gate]\nbase = {base}\nbuild = {build}\n\
         # Must listen on $PORT, on 127.0.0.1 or on all addresses.\nstart = {start}\n\
         budget = \"10m\"\n# Changes of these files alone are not measured.\nignore = [\"*.md\", \"docs/**\"]\n\n\
         # A margin of 5 % means: the gate fails only if a loss of more than 5 % is proven, and passes only if a loss of\n\
         # more than 5 % is excluded. Without this table, rate (or response.p50) and cpu have a margin of 5 %.\n\
         # [gate.margins]\n# rate = \"5%\"\n# cpu = \"5%\"\n# memory = \"10%\"\n\n\
         [[gate.load]]\nname = \"home\"\npath = \"/\"\nconnections = 32\n\
         # rate = 500          a fixed rate instead of as fast as possible\n\
         # flags = [\"--mix\", \"requests.toml\"]\n"
    )
}

/// The workflow compares with a branch of `origin`, the only remote of a job's checkout.
fn workflow(tool: &Tool, branch: &str, action: &str, folder: &Path) -> String {
    let folder = match folder.to_string_lossy() {
        empty if empty.is_empty() => ".".to_owned(),
        folder => folder.into_owned(),
    };
    let [base, folder] = [format!("origin/{branch}"), folder].map(yaml_text);
    format!(
        "name: performance\non:\n  pull_request:\npermissions:\n  contents: read\njobs:\n  gate:\n    \
         runs-on: ubuntu-latest\n    timeout-minutes: 30\n    steps:\n      - uses: actions/checkout@v4\n        \
         with: {{ fetch-depth: 0 }}\n{}      - uses: {action}\n        with:\n          base: {base}\n          \
         folder: {folder}\n",
        tool.prepare
    )
}

/// Text as a quoted scalar: every JSON string is one (YAML 1.2, section 1.3). Unquoted, `#` after a space begins a
/// comment, and a colon before a space makes a mapping.
fn yaml_text(text: String) -> String {
    serde_json::Value::String(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_catalogue::GateFile;

    #[test]
    fn the_file_is_valid_for_any_folder_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(GATE_FILE);
        for tool in TOOLS {
            fs::write(&file, gate_file(tool, "origin/main", "a\"b\\c")).unwrap();
            assert!(GateFile::read(&file).unwrap().is_some());
        }
    }

    #[test]
    fn the_name_of_the_package_is_read_as_toml() {
        let folder = tempfile::tempdir().unwrap();
        for (text, name) in [
            ("[package]\nname = \"app\" # note\n", "app"),
            ("[[bin]]\nname = 'other'\n[package]\nname = 'app-two'\n", "app-two"),
        ] {
            fs::write(folder.path().join("Cargo.toml"), text).unwrap();
            assert_eq!(name_of(folder.path()), name, "{text}");
        }
        fs::write(folder.path().join("Cargo.toml"), "[workspace]\nname-like = \"x\"\n").unwrap();
        assert_eq!(name_of(folder.path()), folder.path().file_name().unwrap().to_str().unwrap());
    }

    #[test]
    fn the_workflow_names_the_whole_branch_and_quotes_the_folder() {
        let text = workflow(&UNKNOWN, "release/1.0", ACTION, Path::new("a #b: \"c\""));
        assert!(text.contains("          base: \"origin/release/1.0\"\n"), "{text}");
        assert!(text.ends_with("          folder: \"a #b: \\\"c\\\"\"\n"), "{text}");
        let at_the_top = workflow(&UNKNOWN, "main", ACTION, Path::new(""));
        assert!(at_the_top.ends_with("          folder: \".\"\n"), "{at_the_top}");
    }
}
