//! Tests closed or full standard streams, a low process limit, and inputs that never end: an exit status, never a
//! panic.

use super::{PACELINE, text};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs a shell command line in the repository, with Paceline as `$0`.
fn shell(line: &str) -> Output {
    let output = Command::new("sh")
        .args(["-c", line, PACELINE])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert!(!said.contains("panicked"), "{line}: {said}");
    output
}

fn code(line: &str) -> Option<i32> {
    shell(line).status.code()
}

/// A store with the first round of `history/`, imported.
fn store(folder: &Path) -> String {
    let store = folder.join("results.sqlite").display().to_string();
    let line = format!("\"$0\" store --store '{store}' import history/source-000");
    let imported = shell(&line);
    assert_eq!(imported.status.code(), Some(0), "{}", text(&imported.stderr));
    store
}

#[test]
fn an_unwritable_standard_output_changes_the_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    for command in [
        "--help",
        "--version",
        "run --help",
        "lab list",
        "completions bash",
        "round plans/quick.toml --estimate",
        "report --from history/source-000",
        &format!("report --store '{store}'"),
        &format!("report --store '{store}' --list"),
        &format!("store --store '{store}' check"),
    ] {
        assert_eq!(code(&format!("\"$0\" {command} >/dev/null")), Some(0), "{command}");
        assert_eq!(code(&format!("\"$0\" {command} >&-")), Some(3), "{command} >&-");
        assert_eq!(code(&format!("\"$0\" {command} >/dev/full")), Some(3), "{command} >/dev/full");
        // If the reader of a result has gone, the status is that of the command.
        let piped =
            format!("{{ \"$0\" {command}; echo $? >&3; }} 3>&1 1>&2 2>/dev/null | head -c 0 >/dev/null");
        assert_eq!(code(&piped), Some(0), "{command} | head -c 0");
    }
}

#[test]
fn a_limit_of_file_sizes_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("report.md");
    std::fs::write(&output, "before").unwrap();
    // One block of 512 or 1,024 bytes.
    let line = format!("ulimit -f 1; exec \"$0\" report --from history/source-000 -o '{}'", output.display());
    let limited = shell(&line);
    assert_eq!(limited.status.code(), Some(3), "{}", text(&limited.stderr));
    assert!(text(&limited.stderr).contains("report.md"), "{}", text(&limited.stderr));
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "before");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_run_under_nohup_survives_a_hangup() {
    let line = "trap '' HUP; \"$0\" lab list --format json >/dev/null & kill -HUP $!; wait $!";
    assert_eq!(code(line), Some(0));
}

#[test]
fn errors_keep_their_status_when_standard_error_cannot_be_written() {
    for command in [
        "report --store /nonexistent/x.sqlite",
        "report --from /nonexistent",
        "round /nonexistent.toml",
        "run not-a-url",
        "run http://127.0.0.1:1/ -c -5",
        "no-such-command",
    ] {
        for stderr in ["2>/dev/full", "2>&-", "2>/dev/full >/dev/null"] {
            assert_eq!(code(&format!("\"$0\" {command} {stderr}")), Some(2), "{command} {stderr}");
        }
    }
    // The result of the run does not depend on its messages: no process listens on port 1.
    assert_eq!(code("\"$0\" run http://127.0.0.1:1/ -d 1s 2>/dev/full"), Some(3));
}

#[test]
fn endless_inputs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo").display().to_string();
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for input in [fifo.as_str(), "/dev/zero"] {
        for command in [
            format!("round {input}"),
            format!("report --store {input}"),
            format!("store check --store {input}"),
            format!("store import x --store {input}"),
            format!("run http://127.0.0.1:1/ --mix {input}"),
            format!("run --har {input}"),
            format!("run --job {input}"),
        ] {
            let output = shell(&format!("ulimit -v 4000000; timeout 60 \"$0\" {command}"));
            let said = text(&output.stderr);
            assert!(output.status.code().is_some_and(|code| code == 2 || code == 3), "{command}: {said}");
            assert!(said.contains("regular file"), "{command}: {said}");
        }
    }
    let output = shell(&format!("timeout 60 \"$0\" run http://127.0.0.1:1/ --mix '{fifo}'"));
    assert!(text(&output.stderr).contains(": a named pipe, not a regular file"), "{}", text(&output.stderr));
}

#[test]
fn a_low_process_limit_is_an_error_and_not_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    // Root has no process limit.
    // SAFETY: takes no arguments and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    let other = if is_root { "setpriv --reuid=65534 --regid=65534 --clear-groups" } else { "" };
    if code(&format!("{other} test -x \"$0\"")) != Some(0) {
        return;
    }
    open_to_all(folder.path());
    for command in ["run http://127.0.0.1:1/ -t 4 -d 1s", &format!("report --store '{store}'"), "lab list"] {
        for limit in [1, 6] {
            let line = format!(
                "{other} sh -c 'ulimit -u {limit}; exec \"$0\" {}' \"$0\"",
                command.replace('\'', "")
            );
            let status = code(&line);
            assert!(matches!(status, Some(0..=3)), "{line}: {status:?}");
        }
    }
}

fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_shepherd_refuses_a_descriptor_that_is_not_open() {
    let order = |inherit: i32| {
        format!(
            r#"{{"command":["true"],"folder":"/","env":{{}},"inherits":"running","pass_env":[],"cores":[],"output":"inherit","groups":[],"guard":"subreaper","stop_limit_ms":0,"inherit":{inherit}}}"#
        )
    };
    for inherit in [-1, 1_000_000, i32::MAX] {
        let output = shell(&format!("echo '{}' | \"$0\" shepherd", order(inherit)));
        assert!(matches!(output.status.code(), Some(1..=3)), "{inherit}: {output:?}");
        assert!(text(&output.stderr).contains("descriptor that is not open"), "{output:?}");
    }
}
