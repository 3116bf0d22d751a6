//! Tests `paceline gate --base`: builds, worktrees, files, exit statuses and error messages, with a repository that has
//! the reference server as its server. No figure of a run is asserted.

use crate::loaders::children_of;
use crate::reference::PACELINE;
use paceline_host::process::Stat;
use paceline_host::system;
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A repository with one commit on `main`, and a folder for builds.
struct TestRepository {
    folder: tempfile::TempDir,
}

impl TestRepository {
    /// Its `[gate]` table ends with `more`.
    fn new(more: &str) -> Self {
        let repository = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(repository.root()).unwrap();
        repository.git(&["init", "--quiet", "--initial-branch", "main"]);
        let start = format!(
            "tail -f /dev/null | {PACELINE} reference-server --service immediate --listen 127.0.0.1:$PORT"
        );
        let table = format!(
            "[gate]\nbase = \"main\"\nbuild = \"cat number > built && test -e .git\"\nstart = \"\"\"{start}\"\"\"\n\
             window = \"100ms\"\nwarm_up = \"50ms\"\n{more}"
        );
        repository.write("paceline.toml", &table);
        repository.write("number", "1");
        repository.commit("first");
        repository
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("repository")
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.root().join(name), text).unwrap();
    }

    fn git(&self, arguments: &[&str]) -> String {
        let identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
        let output =
            Command::new("git").args(identity).args(arguments).current_dir(self.root()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        text(&output.stdout)
    }

    fn commit(&self, subject: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", subject]);
    }

    fn gate(&self, arguments: &[&str]) -> Output {
        self.gate_command(arguments).output().unwrap()
    }

    fn gate_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PACELINE);
        command
            .arg("gate")
            .args(arguments)
            .args(["--format", "json"])
            .current_dir(self.root())
            .env("PACELINE_GATE_CACHE", self.folder.path().join("cache"));
        command
    }

    /// A value of PATH with a script as the first program of this name.
    fn path_with(&self, name: &str, script: &str) -> String {
        let programs = self.folder.path().join("programs");
        std::fs::create_dir(&programs).unwrap();
        std::fs::write(programs.join(name), script).unwrap();
        std::fs::set_permissions(programs.join(name), Permissions::from_mode(0o755)).unwrap();
        format!("{}:{}", programs.display(), std::env::var("PATH").unwrap())
    }

    /// Checks that git knows only the main worktree, and that nothing was added to it.
    fn assert_clean(&self, changes: &str) {
        assert_eq!(self.git(&["worktree", "list"]).lines().count(), 1);
        assert_eq!(self.git(&["status", "--porcelain"]).trim(), changes);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn one_block_is_undecided_and_leaves_only_builds() {
    let repository = TestRepository::new("");
    repository.write("number", "2");
    let files =
        ["--markdown", "../gate.md", "--junit", "../gate.xml", "--html", "../gate.html", "--annotations"];
    let output = repository.gate(&[&["--budget", "1ms", "--path", "/hello"][..], &files].concat());
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let (annotation, json) = std::str::from_utf8(&output.stdout).unwrap().split_once('\n').unwrap();
    assert!(annotation.starts_with("::warning title=Performance gate undecided::"), "{annotation}");
    let report: Value = serde_json::from_str(json).unwrap();
    assert_eq!((report["outcome"].as_str(), report["blocks"].as_u64()), (Some("undecided"), Some(1)));
    assert!(report["candidate"].as_str().unwrap().contains("1 changed file)"), "{report}");
    assert!(text(&output.stderr).contains("build of main"), "{output:?}");
    let read = |name: &str| std::fs::read_to_string(repository.folder.path().join(name)).unwrap();
    assert!(read("gate.md").starts_with("### Performance gate undecided"));
    assert!(read("gate.xml").contains("name=\"failed requests of /hello\""));
    assert!(read("gate.html").starts_with("<!doctype html>"));
    repository.assert_clean("M number");

    repository.commit("second");
    let again = repository.gate(&["--budget", "1ms", "--pass-undecided"]);
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    let said = text(&again.stderr);
    assert_eq!(said.matches("): built earlier").count(), 2, "the same content is not built again: {said}");
    let notes = report_notes(&again);
    assert!(notes.contains("this is an A/A run"), "{notes}");
}

#[test]
fn builds_in_the_working_tree_are_no_part_of_the_candidate() {
    let repository = TestRepository::new("");
    std::fs::create_dir(repository.root().join("below")).unwrap();
    // In the second run, the folder has the builds of the first.
    for folder in ["", "", "below"] {
        let mut gate = repository.gate_command(&["--cache", "builds", "--budget", "1ms", "--path", "/hello"]);
        let output = gate.current_dir(repository.root().join(folder)).output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{folder}: {output:?}");
        let notes = report_notes(&output);
        assert!(notes.contains("this is an A/A run"), "{folder}: {notes}");
    }
    repository.assert_clean("");
}

#[test]
fn the_files_of_an_earlier_gate_are_no_part_of_the_candidate() {
    let repository = TestRepository::new("");
    std::fs::create_dir(repository.root().join("pictures")).unwrap();
    repository.write("pictures/base.svg", "old");
    for time in ["first", "second"] {
        let files = ["--markdown", "gate.md", "--junit", "./gate.xml", "--report", "gate.json"];
        // Without perf there are no new flame graphs, and the result is the same.
        let more = ["--records", "records", "--profile=pictures"];
        let output = repository.gate(&[&["--budget", "1ms", "--path", "/hello"][..], &files, &more].concat());
        assert_eq!(output.status.code(), Some(4), "{time}: {output:?}");
        let notes = report_notes(&output);
        assert!(notes.contains("this is an A/A run"), "{time}: {notes}");
    }
    repository.assert_clean("?? gate.json\n?? gate.md\n?? gate.xml\n?? pictures/\n?? records/");
}

#[test]
fn a_gate_in_a_hook_does_not_use_the_index_of_the_hook() {
    let repository = TestRepository::new("");
    repository.write("number", "2");
    let mut gate = repository.gate_command(&["--budget", "1ms", "--path", "/hello"]);
    let output = gate.env("GIT_INDEX_FILE", ".git/index").output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    repository.assert_clean("M number");
}

#[test]
fn profiles_of_both_sides_or_why_there_are_none_are_beside_the_result() {
    let repository = TestRepository::new("");
    repository.write("number", "2");
    let flags = ["--budget", "1ms", "--path", "/hello", "--html", "../gate.html", "--profile=../flames"];
    let output = repository.gate(&flags);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let (report, flames) = (report(&output), repository.folder.path().join("flames"));
    let profile = &report["profile"];
    assert_eq!((profile["load"].as_str(), report["blocks"].as_u64()), (Some("/hello"), Some(1)), "{report}");
    let page = std::fs::read_to_string(repository.folder.path().join("gate.html")).unwrap();
    if let Some(failure) = profile["failure"].as_str() {
        println!("no profile here: {failure}");
        assert!(page.contains("No profile of /hello: ") && !page.contains("<svg"), "{page}");
        return;
    }
    assert!(page.contains("Profile of /hello: ") && page.contains("<svg"), "{page}");
    for name in ["base.svg", "candidate.svg", "difference.svg"] {
        assert!(std::fs::read_to_string(flames.join(name)).unwrap().starts_with("<svg"), "{name}");
    }
    assert_eq!(profile["flame_graphs"].as_array().unwrap().len(), 3, "{profile}");
    assert!(profile["grown"].as_array().unwrap().len() <= 3, "{profile}");
    repository.assert_clean("M number");
}

#[test]
fn a_profiler_without_rights_does_not_change_the_result() {
    let repository = TestRepository::new("");
    let perf = "#!/bin/sh\ntest \"$1\" = --version && exec echo perf version 0\necho Error: not permitted >&2; exit 255\n";
    let flags = ["--budget", "1ms", "--path", "/hello", "--profile"];
    let output =
        repository.gate_command(&flags).env("PATH", repository.path_with("perf", perf)).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let report = report(&output);
    assert_eq!((report["outcome"].as_str(), report["blocks"].as_u64()), (Some("undecided"), Some(1)));
    let failure = report["profile"]["failure"].as_str().unwrap();
    assert!(failure.starts_with("base: perf record failed: not permitted: "), "{failure}");
}

fn report_notes(output: &Output) -> String {
    report(output)["notes"].to_string()
}

#[test]
fn ignored_files_are_not_measured() {
    let repository = TestRepository::new("ignore = [\"*.md\"]\n");
    repository.git(&["checkout", "--quiet", "-b", "change"]);
    repository.write("README.md", "text");
    repository.commit("documents");
    let output = repository.gate(&[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(report(&output)["reason"].as_str().unwrap().starts_with("nothing was measured"), "{output:?}");
}

#[test]
fn a_failed_build_or_start_is_not_a_slow_server() {
    let repository = TestRepository::new("start_timeout = \"5s\"\n");
    let failed = repository.gate(&["--build", "echo the compiler says no; exit 9", "--junit", "../gate.xml"]);
    assert_eq!(failed.status.code(), Some(3), "{failed:?}");
    let said = text(&failed.stderr);
    assert!(said.contains("exit status 9") && said.contains("| the compiler says no"), "{said}");
    let junit = std::fs::read_to_string(repository.folder.path().join("gate.xml")).unwrap();
    assert!(junit.contains("errors=\"1\""), "{junit}");
    repository.assert_clean("");
    let failed = repository.gate(&["--start", "echo no configuration; exit 7"]);
    assert_eq!(failed.status.code(), Some(3), "{failed:?}");
    let said = text(&failed.stderr);
    assert!(said.contains("the server of main") && said.contains("| no configuration"), "{said}");
    repository.assert_clean("");
}

/// A server in Python; in a candidate, it ends at the 21st request.
const ENDING_SERVER: &str = r#"
import http.server, os, sys
left = 20 if open("built").read() == "2" else 10**9
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

#[test]
fn a_candidate_that_ends_under_load_fails() {
    let repository = TestRepository::new("");
    repository.write("server.py", ENDING_SERVER);
    let table = std::fs::read_to_string(repository.root().join("paceline.toml")).unwrap();
    let (before, rest) = table.split_once("start = ").unwrap();
    let (_, after) = rest.split_once('\n').unwrap();
    let start = "start = \"exec python3 server.py $PORT\"";
    repository.write("paceline.toml", &format!("{before}{start}\n{after}"));
    repository.commit("another server");
    repository.write("number", "2");
    let output = repository.gate(&["--budget", "1ms", "--path", "/"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report = report(&output);
    assert_eq!(report["failures"][0]["candidate_launches"], serde_json::json!([1, 1]), "{report}");
    assert!(report["reason"].as_str().unwrap().contains("(exit status 9)"), "{report}");
    assert!(text(&output.stderr).contains("ended with exit status 9 under /"), "{output:?}");
}

#[test]
fn wrong_settings_exit_with_two_and_say_why() {
    let repository = TestRepository::new("");
    for (arguments, said) in [
        (&["--base", "no-such-branch"][..], "there is no revision `no-such-branch`"),
        (&["--head", "no-such-tag"], "there is no revision `no-such-tag`"),
        (&["--config", "other.toml"], "there is no file other.toml"),
        (&["--base", "main", "http://127.0.0.1:1/"], "cannot be used with"),
        (&["--metric", "response.p50"], "no metric of [gate.margins] applies"),
        (&["--pairs", "8"], "--pairs has no effect on a gate between two commits"),
        (&["--quiet-cpu"], "--quiet-cpu has no effect on a gate between two commits"),
    ] {
        let output = repository.gate(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(text(&output.stderr).contains(said), "{arguments:?}: {output:?}");
    }
    repository.write(
        "paceline.toml",
        "[gate]\nbase = \"main\"\nstart = \"true\"\n[[gate.load]]\npath = \"/hello\"\n",
    );
    for (flag, value) in [("--rate", "100"), ("--connections", "4"), ("--path", "/other")] {
        let output = repository.gate(&[flag, value]);
        assert_eq!(output.status.code(), Some(2), "{flag}: {output:?}");
        let said = format!("{flag} conflicts with the loads in paceline.toml");
        assert!(text(&output.stderr).contains(&said), "{output:?}");
    }
    let with = |margins: &str, flags: &str| {
        format!(
            "[gate]\nbase = \"main\"\nstart = \"true\"\nbuild = \"echo built; exit 9\"\n\
             [gate.margins]\n{margins}\n[[gate.load]]\nflags = {flags}\n"
        )
    };
    for (margins, flags, said) in [
        ("rate = 5", "[\"--conections=4\"]", "--conections"),
        ("rate = 5", "[\"--mix\", \"missing.toml\"]", "missing.toml"),
        ("rate = 5", "[\"--rate\", \"100\"]", "no metric of [gate.margins] applies"),
        ("sessions = 5", "[]", "no metric of [gate.margins] applies"),
        ("rate = 5\n\"response.p99\" = 5", "[]", "no load has the metric response.p99"),
        ("rate = 5", "[\"--body\", \"@-\"]", "a gate repeats the load, but @- can be read only once"),
        ("rate = 5", "[\"--curl\", \"curl -d @- http://a/\"]", "this run has no standard input"),
    ] {
        repository.write("paceline.toml", &with(margins, flags));
        let output = repository.gate(&[]);
        assert_eq!(output.status.code(), Some(2), "{flags}: {output:?}");
        assert!(text(&output.stderr).contains(said), "{flags}: {output:?}");
    }
    std::fs::write(repository.folder.path().join("outside.toml"), with("rate = 5", "[]")).unwrap();
    let outside = repository.gate(&["--config", "../outside.toml"]);
    assert_eq!(outside.status.code(), Some(2), "{outside:?}");
    let said = text(&outside.stderr);
    assert!(said.contains("is outside the repository") && said.contains("set `folder` to"), "{said}");
    repository.write("paceline.toml", "[gate]\nbasis = \"main\"\n");
    let page = repository.folder.path().join("gate.md");
    for (more, said) in [(&["--pairs", "8"][..], "--pairs has no effect"), (&[], "paceline.toml:2")] {
        std::fs::write(&page, "### Performance gate passed\n").unwrap();
        let output = repository.gate(&[&["--markdown", "../gate.md"][..], more].concat());
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains(said), "{output:?}");
        let page = std::fs::read_to_string(&page).unwrap();
        assert!(page.starts_with("### Performance gate not evaluated"), "{page}");
    }
}

#[test]
fn settings_that_no_run_can_have_are_found_before_the_builds() {
    let repository = TestRepository::new("");
    for (table, said) in [
        ("ready = \"health\"", "the path \"health\" does not begin with /"),
        ("window = \"0s\"", "the window is empty"),
        ("[[gate.load]]\npath = \"/a b\"", "/a b"),
        ("[[gate.load]]\nconnections = 0", "-c 0: use at least 1 connection"),
        ("[[gate.load]]\nflags = [\"--replay\", \"missing.log\"]", "missing.log"),
        ("[[gate.load]]\nflags = [\"--print-job\"]", "--print-job cannot be used in runs that are repeated"),
        ("[[gate.load]]\nflags = [\"--format\", \"text\"]", "cannot be used multiple times"),
    ] {
        let start = "base = \"main\"\nstart = \"true\"\nbuild = \"echo built; exit 9\"";
        repository.write("paceline.toml", &format!("[gate]\n{start}\n{table}\n"));
        let output = repository.gate(&[]);
        assert_eq!(output.status.code(), Some(2), "{table}: {output:?}");
        assert!(text(&output.stderr).contains(said), "{table}: {output:?}");
    }
}

#[test]
fn a_gate_needs_no_warm_up() {
    let repository = TestRepository::new("");
    let flags = ["--budget", "1ms", "--path", "/hello", "--warmup", "0s", "--max-errors", "0"];
    let output = repository.gate(&[&flags[..], &["--records", "../records"]].concat());
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let records = repository.folder.path().join("records");
    assert!(records.join("00-0-0-0.json").exists() && !records.join("00-0-0-warm-up.json").exists());
}

#[test]
fn git_that_ends_with_an_interrupted_gate_is_no_error_of_the_repository() {
    let repository = TestRepository::new("");
    repository.write("number", "2");
    let git = "#!/bin/sh\nPATH=${PATH#*:}\n\
               case \"$*\" in *write-tree*) kill -TERM $PPID; echo 'fatal: killed' >&2; exit 128 ;; esac\n\
               exec git \"$@\"\n";
    let mut gate = repository.gate_command(&["--path", "/hello", "--markdown", "../gate.md"]);
    let output = gate.env("PATH", repository.path_with("git", git)).output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let page = std::fs::read_to_string(repository.folder.path().join("gate.md")).unwrap();
    assert!(page.contains("interrupted"), "{page}");
    repository.assert_clean("M number");
}

#[test]
fn a_margin_that_the_load_of_the_flags_does_not_have_is_noted() {
    let repository = TestRepository::new("[gate.margins]\nrate = \"5%\"\n\"response.p99\" = \"5%\"\n");
    let output = repository.gate(&["--budget", "1ms", "--path", "/hello"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let notes = report_notes(&output);
    assert!(notes.contains("No load has response.p99, so its margin is not judged."), "{notes}");
}

#[test]
fn the_files_of_flags_are_beside_the_file_of_the_gate() {
    let repository =
        TestRepository::new("[[gate.load]]\npath = \"/hello\"\nflags = [\"--mix\", \"mix.toml\"]\n");
    repository.write("mix.toml", "[[request]]\nname = \"list\"\npath = \"/hello\"\n");
    let below = repository.root().join("below");
    std::fs::create_dir(&below).unwrap();
    let mut gate = repository.gate_command(&["--budget", "1ms", "--records", "records"]);
    let output = gate.current_dir(&below).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert_eq!(report(&output)["blocks"].as_u64(), Some(1), "{output:?}");
    assert!(below.join("records/00-0-0-warm-up.json").exists(), "flags are relative to the current folder");
}

#[test]
fn a_request_of_a_mix_is_a_metric() {
    let request =
        |name: &str| format!("[[request]]\nsession = \"shop\"\nname = \"{name}\"\npath = \"/hello\"\n");
    let mix = request("log in") + &request("list");
    let gate = |margin: &str, more: &[&str]| {
        let repository = TestRepository::new(&format!(
            "[gate.margins]\n\"{margin}\" = \"10%\"\n[[gate.load]]\npath = \"/hello\"\nflags = [\"--mix\", \"mix.toml\"]\n"
        ));
        repository.write("mix.toml", &mix);
        repository.gate(&[&["--budget", "1ms"][..], more].concat())
    };
    let measured = gate("step(log in).p99", &[]);
    assert_eq!(measured.status.code(), Some(4), "{measured:?}");
    assert_eq!(report(&measured)["blocks"].as_u64(), Some(1), "{measured:?}");
    for (margin, more, said) in [
        ("step(pay).p99", &[][..], ["step(pay).p99: no load has a request of this name", "log in, list"]),
        ("step(list).p90", &[], ["no metric `step(list).p90`", "step(NAME).p99"]),
        ("rate", &["--metric", "step(pay).p50"], ["step(pay).p50: no load", "log in, list"]),
    ] {
        let output = gate(margin, more);
        assert_eq!(output.status.code(), Some(2), "{margin}: {output:?}");
        assert!(said.iter().all(|said| text(&output.stderr).contains(said)), "{margin}: {output:?}");
    }
    let compared = Command::new(PACELINE)
        .args(["compare", "http://127.0.0.1:1/", "http://127.0.0.1:2/", "--metric", "step(list).p99"])
        .output()
        .unwrap();
    assert_eq!(compared.status.code(), Some(2), "{compared:?}");
    assert!(text(&compared.stderr).contains("only a gate between two commits"), "{compared:?}");
}

/// The process of the load that a gate puts on a server, once there is one.
fn load_of(gate: &mut Child) -> i32 {
    let is_load = |process: &i32| {
        let words = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).nth(1) == Some(&b"run"[..])
    };
    loop {
        if let Some(load) = children_of(gate.id()).into_iter().find(is_load) {
            return load;
        }
        assert!(gate.try_wait().unwrap().is_none(), "the gate ended before its first load");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process ends within a minute.
fn ends(process: i32) -> bool {
    (0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        Stat::is_ended(process)
    })
}

#[test]
fn a_load_ends_with_its_gate() {
    for (signal, status) in [(libc::SIGTERM, Some(130)), (libc::SIGKILL, None)] {
        let repository = TestRepository::new("");
        let flags = ["--path", "/hello", "--warmup", "1h", "--markdown", "../gate.md"];
        let mut command = repository.gate_command(&flags);
        let mut gate = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let load = load_of(&mut gate);
        let process = gate.id().cast_signed();
        // The load gets no signal but the one that the gate passes on.
        system::kill(process, signal).unwrap();
        let ended = [process, load].map(ends);
        if ended != [true, true] {
            [process, load].iter().for_each(|left| system::kill(*left, libc::SIGKILL).unwrap());
        }
        assert_eq!((ended, gate.wait().unwrap().code()), ([true, true], status));
        if status.is_some() {
            let page = std::fs::read_to_string(repository.folder.path().join("gate.md")).unwrap();
            assert!(page.starts_with("### Performance gate interrupted"), "{page}");
        }
    }
}

#[test]
fn a_folder_without_a_repository_is_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(PACELINE)
        .args(["gate", "--base", "main", "--start", "true"])
        .current_dir(folder.path())
        .env("GIT_CEILING_DIRECTORIES", folder.path().parent().unwrap_or(Path::new("/")))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("not a git repository"), "{output:?}");
}

#[test]
fn init_writes_what_it_can_find_out_and_overwrites_nothing() {
    let repository = TestRepository::new("");
    std::fs::remove_file(repository.root().join("paceline.toml")).unwrap();
    repository.write("go.mod", "module example.test/app\n");
    let init =
        || Command::new(PACELINE).args(["gate", "init"]).current_dir(repository.root()).output().unwrap();
    let output = init();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let read = |name: &str| std::fs::read_to_string(repository.root().join(name)).unwrap();
    let file = read("paceline.toml");
    assert!(file.contains("base = \"main\"") && file.contains("build = \"go build -o server .\""), "{file}");
    assert!(paceline_catalogue::GateFile::read(&repository.root().join("paceline.toml")).unwrap().is_some());
    assert!(read(".github/workflows/performance.yml").contains("fetch-depth: 0"));
    repository.write("paceline.toml", "mine");
    let workflow = repository.root().join(".github/workflows/performance.yml");
    std::fs::remove_file(&workflow).unwrap();
    std::os::unix::fs::symlink("../../../elsewhere", &workflow).unwrap();
    let again = init();
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    assert!(read("paceline.toml") == "mine" && text(&again.stdout).matches("kept").count() == 2, "{again:?}");
    assert!(!repository.folder.path().join("elsewhere").exists(), "a link leads out of the repository");
}

#[test]
fn the_workflow_compares_with_the_branch_and_not_with_the_end_of_its_name() {
    let repository = TestRepository::new("");
    repository.git(&["remote", "add", "upstream", "../other"]);
    let workflow = repository.root().join(".github/workflows/performance.yml");
    for base in ["release/1.0", "origin/release/1.0", "upstream/release/1.0"] {
        let init = ["gate", "init", "--base", base];
        let output = Command::new(PACELINE).args(init).current_dir(repository.root()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let written = std::fs::read_to_string(&workflow).unwrap();
        assert!(written.contains("base: \"origin/release/1.0\"\n"), "{base}: {written}");
        std::fs::remove_file(&workflow).unwrap();
    }
}

/// Runs the script of CI jobs with a gate that stores its arguments in the file `seen` and ends with an error.
fn job(folder: &Path, arguments: &str) -> Output {
    job_of(folder, arguments, "return 3")
}

/// As [`job`], with the last commands of the gate.
fn job_of(folder: &Path, arguments: &str, end: &str) -> Output {
    job_command(folder, arguments, end).output().unwrap()
}

fn job_command(folder: &Path, arguments: &str, end: &str) -> Command {
    let gate = format!("() {{ printf '%s ' \"$@\" >\"$SEEN\"; {end}; }}");
    // Bash cannot catch a signal that was ignored when it started, as it is in a test that runs in the background.
    let mut job = Command::new("env");
    job.args(["--default-signal=INT", concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/ci-gate")]);
    job.env("BASH_FUNC_paceline%%", gate)
        .env("SEEN", folder.join("seen"))
        .env("BASE", "main")
        .env("ARGUMENTS", arguments)
        .env("RESULTS", folder.join("results"))
        .env("GITHUB_STEP_SUMMARY", folder.join("summary"))
        .env("GITHUB_OUTPUT", folder.join("output"))
        .env_remove("GITHUB_ACTIONS")
        .env_remove("UNDECIDED");
    job
}

#[test]
fn a_job_may_have_arguments_on_several_lines() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, words) in [("--budget 5m\n--window 1s\n", "--budget 5m --window 1s "), ("", "gate.json ")]
    {
        let output = job(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let seen = std::fs::read_to_string(folder.path().join("seen")).unwrap();
        assert!(seen.starts_with("gate --base main ") && seen.ends_with(words), "{seen}");
    }
}

#[test]
fn a_job_without_a_result_does_not_show_an_earlier_one() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("results")).unwrap();
    std::fs::write(folder.path().join("results/gate.md"), "### Performance gate passed\n").unwrap();
    let output = job(folder.path(), "");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(!folder.path().join("summary").exists() && !folder.path().join("results/gate.md").exists());
}

#[test]
fn a_cancelled_job_lets_the_gate_write_its_files() {
    let end = "trap 'echo interrupted >\"$RESULTS/gate.md\"; exit 130' TERM; \
               : >\"$RESULTS/started\"; while :; do sleep 0.01; done";
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let folder = tempfile::tempdir().unwrap();
        let mut job = job_command(folder.path(), "", end).spawn().unwrap();
        while !folder.path().join("results/started").exists() {
            assert!(job.try_wait().unwrap().is_none(), "the job ended before its gate");
            std::thread::sleep(Duration::from_millis(10));
        }
        system::kill(job.id().cast_signed(), signal).unwrap();
        assert_eq!(job.wait().unwrap().code(), Some(130), "{signal}");
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(read("summary"), "interrupted\n", "{signal}");
        assert!(read("output").starts_with("outcome=error\n"), "{signal}");
    }
}

#[test]
fn the_outcome_of_a_job_is_that_of_the_gate_and_not_of_its_exit_status() {
    for (outcome, status, expected) in
        [("undecided", 1, 1), ("undecided", 0, 0), ("undecided", 4, 0), ("passed", 0, 0), ("failed", 1, 1)]
    {
        let folder = tempfile::tempdir().unwrap();
        let report = format!("{{\\n  \"schema\": 1,\\n  \"outcome\": \"{outcome}\",\\n}}\\n");
        let end = format!("printf '{report}' >\"$RESULTS/gate.json\"; return {status}");
        let output = job_of(folder.path(), "", &end);
        assert_eq!(output.status.code(), Some(expected), "{outcome}, {status}: {output:?}");
        let written = std::fs::read_to_string(folder.path().join("output")).unwrap();
        assert!(written.starts_with(&format!("outcome={outcome}\n")), "{status}: {written}");
    }
}

#[test]
fn the_script_for_other_ci_systems_becomes_the_gate() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["paceline/bin", "repository"] {
        std::fs::create_dir_all(path(name)).unwrap();
    }
    std::fs::write(path("paceline/bin/paceline"), "#!/bin/sh\necho $$ \"$@\" >gate.md\n").unwrap();
    std::fs::set_permissions(path("paceline/bin/paceline"), Permissions::from_mode(0o755)).unwrap();
    let packed = ["-czf", "archive.tar.gz", "paceline"];
    assert!(Command::new("tar").args(packed).current_dir(folder.path()).status().unwrap().success());
    for is_kept in [false, true] {
        if is_kept {
            std::fs::remove_file(path("archive.tar.gz")).unwrap();
        }
        std::fs::write(path("repository/gate.xml"), "of an earlier gate").unwrap();
        let mut job = Command::new("sh")
            .args([concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ci/gate.sh"), "--budget", "5m"])
            .env("ARCHIVE", path("archive.tar.gz"))
            .env("BASE", "main")
            .env("XDG_CACHE_HOME", path("cache"))
            .current_dir(path("repository"))
            .spawn()
            .unwrap();
        // A signal to the job is one to the gate, because it is the same process.
        let process = job.id();
        assert!(job.wait().unwrap().success(), "{is_kept}");
        let seen = std::fs::read_to_string(path("repository/gate.md")).unwrap();
        assert!(seen.starts_with(&format!("{process} gate --base main ")), "{process}: {seen}");
        assert!(seen.ends_with(" --budget 5m\n"), "{seen}");
        assert!(!path("repository/gate.xml").exists(), "{is_kept}");
        assert_eq!(std::fs::read_dir(path("cache/paceline/programs")).unwrap().count(), 1, "{is_kept}");
    }
}
