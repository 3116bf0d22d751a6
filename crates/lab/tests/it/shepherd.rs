//! Tests the lab's handling of a shepherd: one that is killed is noticed, what its command has forked is ended, and a
//! control group that cannot be joined does not prevent a start.
//!
//! Through the crate's interface, with shell commands. The binary's `lab/survivors.rs` tests that no process survives a
//! shepherd and its lab.

use crate::shepherd_door;
use paceline_host::end_left_overs;
use paceline_host::process::ProcessIdentity;
use paceline_host::shepherd::{CommandOutput, Shepherd, ShepherdOrder, TrackingMethod};
use paceline_host::tree::ProcessTree;
use std::path::PathBuf;
use std::time::Duration;

/// Long enough for a very busy machine; the processes waited for end much earlier.
const LIMIT: Duration = Duration::from_secs(60);

/// A command that runs until it is stopped.
fn endless(groups: Vec<PathBuf>) -> ShepherdOrder {
    ShepherdOrder {
        command: ["sleep", "1000"].map(str::to_owned).into(),
        folder: "/".into(),
        env: Default::default(),
        inherits: Default::default(),
        pass_env: Vec::new(),
        cores: Vec::new(),
        output: CommandOutput::Inherit,
        groups,
        guard: TrackingMethod::Subreaper,
        stop_limit_ms: 2_000,
        user: None,
        view: None,
        inherit: None,
        restore: Vec::new(),
        restore_note: None,
    }
}

fn start(groups: Vec<PathBuf>) -> Shepherd {
    Shepherd::start(&shepherd_door::command(), &endless(groups)).unwrap()
}

#[test]
fn the_busiest_thread_is_sampled_beside_the_whole_tree() {
    let spin = "while :; do :; done & while :; do :; done & exec sleep 1000";
    let order =
        ShepherdOrder { command: ["sh", "-c", spin].map(str::to_owned).into(), ..endless(Vec::new()) };
    let shepherd = Shepherd::start(&shepherd_door::command(), &order).unwrap();
    let mut tree = ProcessTree::new(&shepherd, None);
    // Both processes have used some time before the period begins.
    while tree.sample().cpu_s < 0.1 {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(tree.sample().busiest_thread_s, None, "no period has begun");
    tree.mark_threads();
    let begun = tree.sample();
    assert_eq!(begun.busiest_thread_s, Some(0.0));
    let now = loop {
        let now = tree.sample();
        if now.cpu_s - begun.cpu_s >= 0.4 {
            break now;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let (busiest_s, all_s) = (now.busiest_thread_s.unwrap(), now.cpu_s - begun.cpu_s);
    // /proc/PID/stat counts in ticks of 10 ms, for each of two processes at each of two moments.
    assert!(busiest_s <= all_s + 0.04 && busiest_s >= all_s / 2.0 - 0.04, "{busiest_s} s of {all_s} s");
    shepherd.stop().unwrap();
}

fn kill(shepherd: &Shepherd) {
    // SAFETY: takes integers; the shepherd has not been waited for, so that its process id is still valid.
    assert_eq!(unsafe { libc::kill(shepherd.process(), libc::SIGKILL) }, 0);
}

#[test]
fn a_killed_shepherd_is_detected_by_waiting() {
    let mut shepherd = start(Vec::new());
    assert_eq!(shepherd.ended(), None);
    kill(&shepherd);
    let ended = shepherd.wait_ended(LIMIT).expect("no report will come any more");
    assert!(ended.is_unseen() && !ended.asked, "{ended:?}");
    assert_eq!(ended.to_string(), "an unknown exit status (its supervisor process was lost)");
    assert_eq!(shepherd.ended(), Some(ended));
    assert_eq!(shepherd.stop().unwrap().ended, Some(ended));
}

#[test]
fn a_killed_shepherd_is_detected_by_polling() {
    let mut shepherd = start(Vec::new());
    kill(&shepherd);
    let begun = std::time::Instant::now();
    let ended = loop {
        if let Some(ended) = shepherd.ended() {
            break ended;
        }
        assert!(begun.elapsed() < LIMIT, "nobody is left to report");
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(ended.is_unseen(), "{ended:?}");
}

/// Starts a command that leaves its session, its parent and its environment, without a control group. Returns its
/// escaped process as well.
fn escaped() -> (Shepherd, ProcessIdentity) {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("pid");
    let fork = format!(
        "(env -i setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 100' &) ; exec sleep 100",
        note.display()
    );
    let order =
        ShepherdOrder { command: ["sh", "-c", &fork].map(str::to_owned).into(), ..endless(Vec::new()) };
    let shepherd = Shepherd::start(&shepherd_door::command(), &order).unwrap();
    let begun = std::time::Instant::now();
    loop {
        if let Ok(pid) = std::fs::read_to_string(&note) {
            return (shepherd, ProcessIdentity::from_pid(pid.trim().parse().unwrap()).unwrap());
        }
        assert!(begun.elapsed() < LIMIT, "the command does not start");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_lab_ends_what_a_killed_shepherd_s_command_has_forked() {
    let (shepherd, escaped) = escaped();
    kill(&shepherd);
    shepherd.stop().unwrap();
    assert!(escaped.has_ended());
}

#[test]
fn the_next_lab_ends_what_a_killed_lab_and_shepherd_have_left() {
    let (running, of_running) = escaped();
    let (mut killed, escaped) = escaped();
    kill(&killed);
    killed.wait_ended(LIMIT);
    // A killed lab does nothing more.
    std::mem::forget(killed);
    assert!(!escaped.has_ended());
    assert!(end_left_overs() >= 1);
    assert!(escaped.has_ended() && !of_running.has_ended());
    running.stop().unwrap();
    assert!(of_running.has_ended());
}

#[test]
fn an_unavailable_control_group_does_not_prevent_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let full = folder.path().join("full");
    std::fs::create_dir(&full).unwrap();
    // It can be opened, and every write to it fails.
    std::os::unix::fs::symlink("/dev/full", full.join("cgroup.procs")).unwrap();
    for group in [full, folder.path().join("no-such-group")] {
        let mut shepherd = start(vec![group]);
        assert!(!shepherd.is_grouped());
        assert_eq!(shepherd.ended(), None);
        assert!(shepherd.stop().unwrap().ended.unwrap().asked);
    }
}

#[test]
fn a_command_that_cannot_start_is_reported() {
    let order =
        ShepherdOrder { command: vec!["no-such-program".into()], ..endless(vec!["/no-such-group".into()]) };
    let Err(error) = Shepherd::start(&shepherd_door::command(), &order) else { panic!("it is not there") };
    assert!(error.to_string().contains("cannot start no-such-program in /"), "{error}");
}

#[test]
fn a_measured_program_inherits_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let printed = folder.path().join("env");
    let output = CommandOutput::Files { stdout: printed.clone(), stderr: folder.path().join("err") };
    let order = ShepherdOrder { command: vec!["env".into()], output, ..endless(Vec::new()) };
    let variables = ["PGPASSWORD=hunter2", "https_proxy=http://u:hunter2@proxy.test", "LC_TIME=C"];
    let given = ["env"].iter().chain(&variables).map(|word| (*word).to_owned());
    let shepherd: Vec<String> = given.chain(shepherd_door::command()).collect();
    let mut running = Shepherd::start(&shepherd, &order).unwrap();
    assert_eq!(running.wait_ended(LIMIT).unwrap().code, Some(0));
    running.stop().unwrap();
    let environment = std::fs::read_to_string(printed).unwrap();
    assert!(environment.contains("LC_TIME=C") && !environment.contains("hunter2"), "{environment}");
}
