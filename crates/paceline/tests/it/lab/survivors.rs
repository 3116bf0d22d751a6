//! Tests that no process survives the lab, whatever ends it: Ctrl-C, SIGTERM and SIGKILL, with and without a PID
//! namespace.
//!
//! The server tries to escape in every way; a `witness.rs` reports when the last of its processes has ended. The same
//! is tested for a round and its generator in `rounds.rs`, for a build in `provision.rs` one folder up.

use super::tree::{GOOD, Tree};
use super::witness::Witness;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};

/// The server and its four descendants.
const PROCESSES: usize = 5;

fn nasty() -> (Tree, Witness) {
    let tree = Tree::new().with_server("python-nasty", include_str!("nasty.py"), 60);
    fs::write(tree.path("servers/python-nasty/good.py"), GOOD).unwrap();
    let witness = Witness::new(&tree.path("witness"));
    (tree, witness)
}

/// Sends a signal to `lab serve` once the server answers; returns its exit status.
fn end_by(signal: i32, flags: &[&str]) -> Option<i32> {
    let (tree, mut witness) = nasty();
    let (mut lab, _stdout) = serve(&tree, flags);
    witness.wait_signatures(PROCESSES);
    kill(&lab, signal);
    witness.wait_end();
    lab.wait().unwrap().code()
}

/// Returns once it serves. Its standard output stays open, since it would end without a reader.
fn serve(tree: &Tree, flags: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut command = tree.paceline(&["lab", "serve", "python-nasty"]);
    command.args(flags).env("WITNESS", tree.path("witness"));
    let mut lab = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut url = String::new();
    let mut stdout = BufReader::new(lab.stdout.take().unwrap());
    stdout.read_line(&mut url).unwrap();
    assert!(url.starts_with("http://127.0.0.1:"), "{url:?}");
    (lab, stdout)
}

pub fn kill(child: &Child, signal: i32) {
    // SAFETY: takes integers; the child has not been waited for, so its process id is still valid.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn ctrl_c_leaves_no_process() {
    assert_eq!(end_by(libc::SIGINT, &[]), Some(130));
}

#[test]
fn ctrl_c_leaves_no_process_without_a_namespace() {
    assert_eq!(end_by(libc::SIGINT, &["--no-namespace"]), Some(130));
}

#[test]
fn sigterm_leaves_no_process() {
    assert_eq!(end_by(libc::SIGTERM, &[]), Some(130));
}

#[test]
fn sigterm_leaves_no_process_without_a_namespace() {
    assert_eq!(end_by(libc::SIGTERM, &["--no-namespace"]), Some(130));
}

#[test]
fn sigkill_leaves_no_process() {
    assert_eq!(end_by(libc::SIGKILL, &[]), None);
}

#[test]
fn sigkill_leaves_no_process_without_a_namespace() {
    assert_eq!(end_by(libc::SIGKILL, &["--no-namespace"]), None);
}

/// The shepherd is the only child of `lab serve`.
fn shepherd_of(lab: &Child) -> i32 {
    let children = format!("/proc/{0}/task/{0}/children", lab.id());
    fs::read_to_string(children).unwrap().split_whitespace().next().unwrap().parse().unwrap()
}

fn kill_shepherd_of(lab: &Child) {
    let shepherd = shepherd_of(lab);
    // SAFETY: takes integers; the lab has not waited for it, so its process id is still valid.
    assert_eq!(unsafe { libc::kill(shepherd, libc::SIGKILL) }, 0);
}

#[test]
fn the_lab_ends_processes_of_a_killed_shepherd() {
    let (tree, mut witness) = nasty();
    let (mut lab, _stdout) = serve(&tree, &["--no-namespace"]);
    witness.wait_signatures(PROCESSES);
    kill_shepherd_of(&lab);
    witness.wait_end();
    lab.wait().unwrap();
}

#[test]
fn the_next_lab_ends_processes_of_a_lab_and_shepherd_killed_together() {
    let (tree, mut witness) = nasty();
    let (mut lab, _stdout) = serve(&tree, &["--no-namespace"]);
    witness.wait_signatures(PROCESSES);
    // The lab must not notice the end of its shepherd.
    kill(&lab, libc::SIGSTOP);
    kill_shepherd_of(&lab);
    kill(&lab, libc::SIGKILL);
    lab.wait().unwrap();
    let next = tree.paceline(&["lab", "build", "python-nasty"]).output().unwrap();
    witness.wait_end();
    // Another test's lab that began meanwhile may have ended some of them.
    let reported = String::from_utf8(next.stderr).unwrap();
    assert!(
        reported.is_empty() || reported.contains("left over from an earlier lab that did not end normally"),
        "{reported}"
    );
}

#[test]
fn a_second_ctrl_c_kills_processes_that_ignore_the_first() {
    let deaf = format!("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{GOOD}");
    let tree = Tree::new().with_server("python-nasty", &deaf, 60);
    let mut command = tree.paceline(&["lab", "serve", "python-nasty"]);
    let mut lab = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(lab.stdout.take().unwrap()).lines();
    let url = stdout.next().unwrap().unwrap();
    let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    kill(&lab, libc::SIGINT);
    let mut reported = String::new();
    BufReader::new(lab.stderr.take().unwrap()).read_line(&mut reported).unwrap();
    assert_eq!(reported, "stopping server python-nasty, which may take 5 s; Ctrl-C again kills it\n");
    kill(&lab, libc::SIGINT);
    assert_eq!(lab.wait().unwrap().code(), Some(130));
    assert!(std::net::TcpStream::connect(address).is_err(), "the server lives on");
}
