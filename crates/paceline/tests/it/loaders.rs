//! Tests `paceline run --loaders`: one run by several generators, and the loss of one of them.
//!
//! Each loader is a child process on this machine. Other machines use the same code; the differences are tested in the
//! crate `host`, which starts processes there, and by `scripts/cluster`.

use crate::faults::closed_port;
use crate::faults::servers::{OK, read_request};
use serde_json::Value;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit of each step, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Answers every request, and reports the first request of each connection.
fn server() -> (SocketAddr, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (seeing, seen) = mpsc::channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let seeing = seeing.clone();
            thread::spawn(move || {
                let _ = stream.set_nodelay(true);
                let mut requests = 0;
                while read_request(&mut stream) && stream.write_all(OK).is_ok() {
                    requests += 1;
                    if requests == 1 {
                        let _ = seeing.send(());
                    }
                }
            });
        }
    });
    (address, seen)
}

fn command(address: SocketAddr, flags: &[&str]) -> Command {
    let url = format!("http://{address}/");
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.args(["run", &url, "--json", "-q"]).args(flags);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn start(address: SocketAddr, flags: &[&str]) -> Child {
    command(address, flags).spawn().unwrap()
}

/// The exit status, the record (null if there is none) and standard error.
fn end(child: Child) -> (Option<i32>, Value, String) {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or(Value::Null), said)
}

fn names(run: &Value) -> Vec<&str> {
    run["verdicts"].as_array().unwrap().iter().map(|verdict| verdict["name"].as_str().unwrap()).collect()
}

/// The process ids of the children of a process, such as the loaders of a run.
pub fn children_of(process: u32) -> Vec<i32> {
    let mut children = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten() {
        let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        children.extend(text.split_whitespace().map(|id| id.parse::<i32>().unwrap()));
    }
    children
}

#[test]
fn several_loaders_carry_out_one_schedule() {
    let (address, _seen) = server();
    let flags =
        ["-c", "7", "-r", "400", "-d", "1s", "--warmup", "500ms", "--arrivals", "poisson", "--seed", "5"];
    let (_, alone, _) = end(start(address, &flags));
    let (_, run, said) = end(start(address, &[&flags[..], &["--loaders", "3"]].concat()));
    let scheduled = |block: &Value| block["counts"]["scheduled"].as_u64().unwrap();
    assert_eq!(scheduled(&run["total"]), scheduled(&alone["total"]), "the same arrivals: {said}");
    let by_generator = run["by_generator"].as_array().unwrap();
    let shares: Vec<u64> = by_generator.iter().map(scheduled).collect();
    assert_eq!(shares.iter().sum::<u64>(), scheduled(&run["total"]));
    let loaders = run["loaders"].as_array().unwrap();
    assert_eq!(loaders.iter().map(|loader| loader["share"].as_u64().unwrap()).collect::<Vec<_>>(), shares);
    for loader in loaders {
        let clock = &loader["clock_before"];
        // One machine has one clock: its offset is 0, which must be within the bounds.
        assert!(clock["low_ns"].as_i64() <= Some(0) && clock["high_ns"].as_i64() >= Some(0), "{loader}");
        assert!(loader["window"]["end_ns"].as_u64() > loader["window"]["start_ns"].as_u64());
    }
    assert_eq!(
        (run["connections"]["asked"].as_u64(), run["connections"]["had"].as_u64()),
        (Some(7), Some(7))
    );
    assert_eq!(run["total"]["counts"]["ok"], run["total"]["counts"]["scheduled"], "{run}");
    assert!(run["job"]["share"].is_null(), "the record's job is the whole one");
    assert!(!names(&run).contains(&"loader_lost") && !names(&run).contains(&"loaders_apart"), "{run}");
}

#[test]
fn a_killed_loader_leaves_a_smaller_run_with_a_verdict() {
    let (address, seen) = server();
    let child = start(address, &["-c", "4", "-r", "200", "-d", "2s", "--loaders", "2"]);
    // Every connection has carried a request: both loaders are running.
    (0..4).for_each(|_| seen.recv_timeout(LIMIT).unwrap());
    let victim = children_of(child.id())[0];
    assert_eq!(unsafe { libc::kill(victim, libc::SIGKILL) }, 0);
    let (status, run, said) = end(child);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("was lost; the others continue"), "{said}");
    let lost = run["verdicts"].as_array().unwrap().iter().find(|verdict| verdict["name"] == "loader_lost");
    let evidence = &lost.unwrap()["evidence"];
    assert_eq!((evidence["loaders_lost"].as_u64(), evidence["loaders"].as_u64()), (Some(1), Some(2)));
    assert_eq!(evidence["missing_share"].as_f64(), Some(0.5));
    assert_eq!(run["total"]["counts"]["scheduled"].as_u64(), Some(200), "the other kept to its part");
    assert!(!names(&run).contains(&"saturated"), "the server is not to blame: {run}");
}

/// Replaces ssh: runs the command here. For the host `late`, the order to start arrives a second later. `late` waits
/// until `prompt` has received the program, because `read` cannot pass on binary data.
const SSH: &str = r#"#!/bin/sh
while [ "$1" != -- ]; do shift; done
case "$2 $3" in
late*" loader")
  until ls "$HOME/.cache/paceline/bin" 2>/dev/null | grep -q '^[^.]*$'; do sleep 0.1; done
  while IFS= read -r line; do
    case $line in *'"start"'*) sleep 1 ;; esac
    printf '%s\n' "$line"
  done | sh -c "$3" ;;
*) exec sh -c "$3" ;;
esac
"#;

#[test]
fn the_window_is_cut_where_a_loader_begins_late() {
    let (address, _seen) = server();
    let folder = tempfile::tempdir().unwrap();
    let ssh = folder.path().join("ssh");
    std::fs::write(&ssh, SSH).unwrap();
    std::fs::set_permissions(&ssh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let flags = ["-c", "4", "-r", "200", "-d", "8s", "--on", "ssh:loader=prompt,loader=late"];
    let child = command(address, &flags)
        .env("PATH", path)
        .env("HOME", folder.path())
        .env_remove("XDG_CACHE_HOME")
        .spawn()
        .unwrap();
    let (_, run, said) = end(child);
    let loaders = run["loaders"].as_array().unwrap_or_else(|| panic!("no record: {said}"));
    let late_ns = loaders[1]["late_ns"].as_u64().unwrap();
    assert!(late_ns > 0 && late_ns % 1_000_000_000 == 0 && loaders[0]["late_ns"].is_null(), "{loaders:?}");
    assert_eq!(run["window_s"].as_f64().unwrap(), 8.0 - late_ns as f64 / 1e9);
    let count = |block: &Value, key: &str| block["counts"][key].as_u64().unwrap();
    let parts = run["by_generator"].as_array().unwrap().iter();
    assert_eq!(parts.map(|block| count(block, "scheduled")).sum::<u64>(), count(&run["total"], "scheduled"));
    for loader in loaders {
        // 100/s for each second in which not both were running; a response may end in the next interval.
        let left_out = loader["left_out"].as_u64().unwrap() as f64;
        let expected = 100.0 * late_ns as f64 / 1e9;
        assert!(left_out > 0.0 && left_out < expected * 2.0, "{left_out} of {expected}");
    }
    assert!(names(&run).contains(&"loaders_apart") && !names(&run).contains(&"loader_lost"), "{run}");
}

#[test]
fn an_interrupt_ends_the_wait_for_a_silent_place() {
    let (address, _seen) = server();
    let folder = tempfile::tempdir().unwrap();
    let (ssh, started) = (folder.path().join("ssh"), folder.path().join("started"));
    std::fs::write(
        &ssh,
        "#!/bin/sh\necho $$ >\"$STARTED.new\"; mv \"$STARTED.new\" \"$STARTED\"; exec sleep 600\n",
    )
    .unwrap();
    std::fs::set_permissions(&ssh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let flags = ["-c", "2", "-r", "100", "-d", "1s", "--on", "ssh:loader=silent"];
    let child = command(address, &flags).env("PATH", path).env("STARTED", &started).spawn().unwrap();
    let deadline = Instant::now() + LIMIT;
    while !started.exists() {
        assert!(Instant::now() < deadline, "ssh was not started");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(unsafe { libc::kill(child.id().cast_signed(), libc::SIGTERM) }, 0);
    let (status, run, said) = end(child);
    assert!(status == Some(130) && run.is_null() && said.contains("interrupted"), "{status:?} {said}");
    let silent: i32 = std::fs::read_to_string(&started).unwrap().trim().parse().unwrap();
    assert_eq!(unsafe { libc::kill(silent, 0) }, -1, "the connection was left open");
}

#[test]
fn no_loader_outlives_its_coordinator() {
    let (address, seen) = server();
    let mut child = start(address, &["-c", "2", "-r", "100", "-d", "60s", "--loaders", "2"]);
    (0..2).for_each(|_| seen.recv_timeout(LIMIT).unwrap());
    let loaders = children_of(child.id());
    assert_eq!(loaders.len(), 2);
    child.kill().unwrap();
    child.wait().unwrap();
    let deadline = Instant::now() + LIMIT;
    let runs = |id: &i32| {
        let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z ")
    };
    while loaders.iter().any(runs) {
        assert!(Instant::now() < deadline, "a loader goes on without its coordinator");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn loaders_that_cannot_connect_or_share_are_reported() {
    let refused = |flags: &[&str]| end(start(closed_port(), flags));
    let (status, _, said) = refused(&["-c", "4", "--loaders", "2", "--connect-timeout", "2s"]);
    assert!(status == Some(3) && said.contains("nothing was measured"), "{status:?} {said}");
    let (status, _, said) = refused(&["-c", "1", "--loaders", "2"]);
    assert!(status == Some(2) && said.contains("raise -c"), "{status:?} {said}");
    // Nothing is asked of Slurm, which need not exist here, and no memory for so many loaders.
    for flags in [&["--loaders", "4294967295"][..], &["-c", "1", "--loaders", "2", "--on", "slurm"]] {
        let (status, _, said) = refused(flags);
        assert!(status == Some(2) && said.contains("raise -c"), "{status:?} {said}");
    }
    let (status, _, said) = refused(&["--loaders", "2", "--csv", "/dev/null"]);
    assert!(status == Some(2) && said.contains("--csv cannot be combined"), "{status:?} {said}");
    let (status, _, said) = refused(&["--loaders", "2", "--debug"]);
    assert!(status == Some(2) && said.contains("--debug") && said.contains("--loaders"), "{status:?} {said}");
}
