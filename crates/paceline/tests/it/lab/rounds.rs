//! Tests rounds with real servers, our own generator and scripted ones.
//!
//! Every trial is kept once, also a failed one, and a round ends or can be resumed, whatever stops it. The windows are
//! too short for meaningful figures. Balancers are in `balanced.rs`, `--tune` is in `tuning.rs`.

use super::survivors::kill;
use super::tree::{GOOD, Ran, Tree};
use super::witness::Witness;
use paceline_record::{Stage, Trial};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};
use std::time::Duration;

/// A round with windows so short that it tests only the lab.
pub const SHORT: [&str; 9] =
    ["round", "--servers", "python-*", "--duration", "400ms", "--warmup", "50ms", "--connections", "4"];

/// Checks that there are as many trials as planned, each once, or twice if this machine was too busy the first time.
fn assert_each_once(trials: &[Trial], planned: u32) {
    let mut tries: BTreeMap<_, Vec<&Trial>> = BTreeMap::new();
    for trial in trials {
        tries.entry((trial.server.id.clone(), trial.repeat)).or_default().push(trial);
    }
    assert_eq!(tries.len(), planned as usize);
    for tries in tries.values() {
        let (_last, earlier) = tries.split_last().unwrap();
        assert!(earlier.len() <= 1 && earlier.iter().all(|trial| trial.is_disturbed()), "{tries:?}");
    }
}

#[test]
fn a_round_measures_keeps_and_reports() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let ran = tree.run(&[&SHORT[..], &["--repeats", "2"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("python-good") && ran.stdout.contains(" is stored in "), "{ran:?}");
    let (round, trials) = tree.kept();
    assert!(round.finished_at.is_some());
    assert_each_once(&trials, 2);
    for trial in &trials {
        let (run, startup) = (trial.run.as_ref().unwrap(), trial.startup.as_ref().unwrap());
        assert_eq!(run.total.counts.not_ok(), 0, "{:?}", run.total.counts);
        assert_eq!(run.expectations.body_bytes, Some(12));
        assert!(startup.listening_ns > 0 && startup.listening_ns <= startup.first_answer_ns);
        let phases: BTreeSet<_> = trial.samples.iter().map(|sample| sample.phase).collect();
        assert_eq!(phases.len(), 5, "a sample at each phase's beginning: {phases:?}");
        assert!(trial.samples.is_sorted_by_key(|sample| sample.at_ns));
        assert!(trial.samples.is_sorted_by(|a, b| a.cpu_s <= b.cpu_s));
        // If the machine is too busy to wake the sampler in time, there are no server figures, but a note.
        let noted = trial.verdicts.iter().any(|verdict| verdict.name == "window_not_sampled");
        // Without any response in the window there is no cost per request either.
        let answered = run.total.completed_in_window > 0;
        assert_eq!(trial.usage.is_some(), answered && !noted, "{:?}", trial.verdicts);
        if let Some(usage) = &trial.usage {
            assert!(usage.cpu_s > 0.0 && usage.cpu_ns_per_request > 0.0 && usage.rss_bytes_peak > 0);
            assert!(usage.over_s > 0.0 && usage.over_s < run.window_s * 1.2, "{} s", usage.over_s);
        }
        assert_eq!(
            trial.cores.len(),
            trial.cores.iter().map(|core| core.core).collect::<BTreeSet<_>>().len()
        );
    }
    assert_ne!(trials[0].launch, trials[1].launch);
}

#[test]
fn a_round_profiles_its_servers_or_says_why_not() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let ran = tree.run(&[&SHORT[..], &["--repeats", "1", "--profile=pictures"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (round, trials) = tree.kept();
    assert!(round.finished_at.is_some());
    assert_each_once(&trials, 1);
    for trial in &trials {
        let run = trial.run.as_ref().unwrap();
        assert!(run.profile.is_none() && run.profile_failure.is_none(), "no trial contains a profile");
    }
    let folder = tree.path("pictures");
    if ran.stderr.contains("no profiles: ") || ran.stderr.contains("no profile of ") {
        println!("no profile here: {}", ran.stderr);
        assert!(!folder.join("python-good.svg").exists(), "{ran:?}");
    } else {
        let picture = fs::read_to_string(folder.join("python-good.svg")).unwrap();
        assert!(picture.starts_with("<svg") && picture.contains("python-good"));
        let functions = fs::read_to_string(folder.join("functions.txt")).unwrap();
        assert!(functions.starts_with("python-good") && ran.stdout.contains(&functions), "{functions}");
    }
}

#[test]
fn several_generators_share_the_loads_of_a_round() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let ran = tree.run(&[&SHORT[..], &["--repeats", "1", "--loaders", "2", "--rate", "100"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (round, trials) = tree.kept();
    assert_eq!(round.generator.as_deref(), Some("paceline --loaders 2"));
    let run = trials.last().unwrap().run.as_ref().unwrap();
    let by_generator = run.by_generator.as_deref().unwrap();
    let shares: Vec<u64> = by_generator.iter().map(|block| block.counts.scheduled).collect();
    assert_eq!((run.loaders.len(), shares), (2, vec![20, 20]));
    // The phases cover all generators and are reported by their coordinator.
    let phases: BTreeSet<_> = trials.last().unwrap().samples.iter().map(|sample| sample.phase).collect();
    assert_eq!(phases.len(), 5, "{phases:?}");
    let ran = tree.run(&[&SHORT[..], &["--on", "ssh:cook=n1", "--listen", "127.0.0.1"]].concat());
    assert!(ran.code == Some(2) && ran.stderr.contains("\"cook\" is not a role"), "{ran:?}");
}

#[test]
fn a_failure_is_recorded_and_the_round_continues() {
    let dying = "import sys\nprint('cannot find x')\nsys.exit(7)\n";
    let tree = Tree::new().with_server("python-good", GOOD, 60).with_server("python-dying", dying, 60);
    let ran = tree.run(&[&SHORT[..], &["--repeats", "1"]].concat());
    assert_eq!(ran.code, Some(1), "a planned cell has no usable trial: {ran:?}");
    assert!(ran.stderr.contains("python-dying single hello closed-4"), "{ran:?}");
    let (round, trials) = tree.kept();
    assert!(round.finished_at.is_some());
    assert_each_once(&trials, 2);
    let dying = trials.iter().find(|trial| trial.server.id == "python-dying").unwrap();
    let fault = dying.error.as_ref().unwrap();
    assert_eq!((fault.stage, fault.transient), (Stage::Start, false));
    assert!(fault.message.contains("exit status 7"), "{fault:?}");
    assert_eq!(dying.log_tail, "cannot find x");
    assert!(trials.iter().any(|trial| trial.server.id == "python-good" && trial.error.is_none()));
}

#[test]
fn a_server_that_dies_under_load_is_distinguished_from_a_slow_one() {
    // It passes validation, then exits when it has many connections.
    let mortal = GOOD.replace(
        "    def do_GET(self):\n",
        "    def do_GET(self):\n        import threading\n        threading.active_count() > 16 and os._exit(9)\n",
    );
    let tree = Tree::new().with_server("python-mortal", &mortal, 60);
    let ran = tree.run(&[&SHORT[..7], &["--connections", "32", "--repeats", "1"]].concat());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let (_, trials) = tree.kept();
    let fault = trials[0].error.as_ref().unwrap();
    assert_eq!(fault.stage, Stage::Load, "{fault:?}");
    assert!(fault.message.contains("exit status 9 under load"), "{fault:?}");
    assert!(trials[0].verdicts.iter().any(|verdict| verdict.name == "server_died"));
}

#[test]
fn a_round_of_overloaded_rows_alone_fails_unless_it_is_allowed() {
    // Four connections carry at most 80 requests/s.
    let slow = GOOD.replace(
        "    def do_GET(self):\n",
        "    def do_GET(self):\n        import time\n        time.sleep(0.05)\n",
    );
    let tree = Tree::new().with_server("python-slow", &slow, 60);
    let flags = [&SHORT[..], &["--repeats", "1", "--rate", "2000"]].concat();
    let ran = Ran::from_output(tree.paceline(&flags).env_remove("PACELINE_ALLOW_INVALID").output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("every row is invalid, overloaded or failed"), "{ran:?}");
    let (_, trials) = tree.kept();
    assert!(trials[0].is_usable(), "it has answers: {:?}", trials[0].error);
    let allowed = [&flags[..], &["--allow-invalid"]].concat();
    let ran =
        Ran::from_output(tree.paceline(&allowed).env_remove("PACELINE_ALLOW_INVALID").output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_failing_generator_reports_the_reason() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let broken = tree.script("broken", "#!/bin/sh\necho 'no such flag: --events' >&2\nexit 2\n");
    let ran = tree.run(&[&SHORT[..], &["--repeats", "1", "--generator", broken.to_str().unwrap()]].concat());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let (_, trials) = tree.kept();
    let fault = trials[0].error.as_ref().unwrap();
    assert_eq!(fault.stage, Stage::Generate);
    assert_eq!(fault.message, "the generator ended with exit status 2: no such flag: --events");
}

#[test]
fn an_invalid_generator_is_reported_before_any_command_runs() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let ran = tree.run(&[&SHORT[..], &["--generator", "sh -c 'hey {url}'"]].concat());
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("use a template for wrk, oha, h2load"), "{ran:?}");
    let nameless = tree.script("wrk", "#!/bin/sh\necho hello\n");
    let ran = tree.run(&[&SHORT[..], &["--generator", nameless.to_str().unwrap()]].concat());
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("printed no version, which a record must contain"), "{ran:?}");
    let ran = tree.run(&["report", "--list"]);
    assert!(ran.stderr.contains("no round is stored"), "{ran:?}");
}

#[test]
fn an_interrupted_round_leaves_no_process_and_can_be_resumed() {
    for signal in [libc::SIGKILL, libc::SIGINT] {
        let held = GOOD.replace(
            "Server((",
            "witness = os.environ.get('WITNESS')\nif witness:\n    os.write(os.open(witness, os.O_WRONLY), b'x')\nServer((",
        );
        let tree = Tree::new().with_server("python-good", &held, 60);
        let mut servers = Witness::new(&tree.path("servers-witness"));
        let mut generators = Witness::new(&tree.path("generators-witness"));
        // A generator that never ends and signs a witness pipe while `GENERATORS` is set.
        let endless = format!(
            "#!/bin/sh\n[ -z \"$GENERATORS\" ] && exec {} \"$@\"\nexec 9>\"$GENERATORS\"\nprintf x >&9\nexec sleep 100\n",
            env!("CARGO_BIN_EXE_paceline")
        );
        let endless = tree.script("endless", &endless);
        let flags = [&SHORT[..], &["--repeats", "2", "--generator", endless.to_str().unwrap()]].concat();
        let mut command = tree.paceline(&flags);
        command
            .env("WITNESS", tree.path("servers-witness"))
            .env("GENERATORS", tree.path("generators-witness"));
        let mut lab = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        servers.wait_signatures(1);
        generators.wait_signatures(1);
        kill(&lab, signal);
        servers.wait_end();
        generators.wait_end();
        let expected = (signal == libc::SIGINT).then_some(130);
        assert_eq!(lab.wait().unwrap().code(), expected);
        let (round, trials) = tree.kept();
        assert_eq!((round.finished_at, trials.len()), (None, 0));

        let ran = tree.run(&["round", "--resume", "--generator", "paceline"]);
        assert_eq!(ran.code, Some(2), "one round, one generator: {ran:?}");
        assert!(ran.stderr.contains("/endless\""), "{ran:?}");
        let ran = tree.run(&["round", "--resume", "--generator", endless.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let (resumed, trials) = tree.kept();
        assert_eq!((resumed.id, resumed.sittings.len()), (round.id, 2));
        assert_each_once(&trials, 2);
        assert!(trials.iter().all(|trial| trial.error.is_none()), "{trials:?}");
    }
}

#[test]
fn a_report_without_a_reader_can_be_interrupted() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let (reader, mut writer) = std::io::pipe().unwrap();
    // A full pipe: the report waits for its reader.
    // SAFETY: returns a number; the descriptor is open.
    let length = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_GETPIPE_SZ) };
    writer.write_all(&vec![b'x'; usize::try_from(length).unwrap()]).unwrap();
    let mut command = tree.paceline(&[&SHORT[..], &["--repeats", "1"]].concat());
    let mut lab = command.stdout(writer).stderr(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", lab.id());
    // Once the round is over, SIGINT is no longer caught. The mask of signals is hexadecimal: proc_pid_status(5).
    let catches_sigint = || {
        let status = fs::read_to_string(&status).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap() >> (libc::SIGINT - 1) & 1 == 1
    };
    let mut was_caught = false;
    while !was_caught || catches_sigint() {
        was_caught |= catches_sigint();
        assert!(lab.try_wait().unwrap().is_none(), "it ended without a reader");
        std::thread::sleep(Duration::from_millis(20));
    }
    kill(&lab, libc::SIGINT);
    assert_eq!(lab.wait().unwrap().signal(), Some(libc::SIGINT));
    drop(reader);
    let (round, trials) = tree.kept();
    assert!(round.finished_at.is_some() && !trials.is_empty());
}

#[test]
fn a_server_that_leaves_its_control_group_is_still_sampled() {
    let leaves = format!(
        "import os\nfor line in open('/proc/self/cgroup'):\n    \
         path = line.strip().split(':', 2)[2]\n    \
         if 'paceline-' not in path:\n        continue\n    \
         for mount in ('/sys/fs/cgroup/cpuacct', '/sys/fs/cgroup/cpu,cpuacct', '/sys/fs/cgroup'):\n        \
         try:\n            open(mount + os.path.dirname(path) + '/cgroup.procs', 'w').write(str(os.getpid()))\n        \
         except OSError:\n            pass\n{GOOD}"
    );
    let tree = Tree::new().with_server("python-leaving", &leaves, 60);
    let ran = tree.run(&[&SHORT[..], &["--repeats", "1"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (_, trials) = tree.kept();
    let trial = trials.iter().find(|trial| trial.error.is_none()).unwrap();
    assert!(trial.verdicts.iter().all(|verdict| verdict.name != "not_sampled"), "{trial:?}");
    let last = trial.samples.last().unwrap();
    assert!(last.processes >= 1 && last.rss_bytes > 0 && last.cpu_s > 0.0, "{last:?}");
    assert!(trial.usage.as_ref().is_none_or(|usage| usage.cpu_s > 0.0), "{:?}", trial.usage);
}

#[test]
fn a_launch_is_warmed_up_before_its_loads() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let ran = tree.run(&[&SHORT[..], &["--repeats", "1", "--steady-within", "9s"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (round, trials) = tree.kept();
    assert!(round.plan_toml.contains("steady_within = \"9s\""), "{}", round.plan_toml);
    let trial = trials.iter().find(|trial| trial.error.is_none()).unwrap();
    let warm_up = trial.startup.as_ref().unwrap().warm_up.as_ref().unwrap();
    assert_eq!((warm_up.limit_s, warm_up.connections), (9.0, 4));
    assert_eq!(warm_up.workloads, ["hello"]);
    assert!(
        warm_up.rate_per_s.len() >= 7 && warm_up.rate_per_s[1..].iter().all(|rate| *rate > 0.0),
        "{warm_up:?}"
    );
    // Whether the server is steady depends on the machine; either that or the verdict is reported.
    let is_said = trial.verdicts.iter().any(|verdict| verdict.name == "still_warming");
    assert_eq!(is_said, warm_up.steady_after_s.is_none(), "{trial:?}");
}

#[test]
fn a_launch_is_warmed_up_in_bursts() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    tree.write(
        "plans/bursts.toml",
        "name = \"bursts\"\nrepeats = 1\nwarmup = { bursts = 3, pause = \"400ms\", length = \"1s\" }\n\
         workloads = [\"hello\"]\n[[load]]\nname = \"a\"\nconnections = 4\nduration = \"400ms\"\nwarmup = \"50ms\"\n",
    );
    let round = |arguments: &[&str]| {
        let mut command = tree.paceline(&[&["round", "bursts"], arguments].concat());
        command.env_remove("PACELINE_STEADY_WITHIN");
        Ran::from_output(command.output().unwrap())
    };
    let ran = round(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (_, trials) = tree.kept();
    let warm_up = trials[0].startup.as_ref().unwrap().warm_up.as_ref().unwrap();
    let bursts = warm_up.bursts.unwrap();
    assert_eq!((bursts.count, bursts.length_s, bursts.pause_s), (3, 1.0, 0.4));
    assert!(warm_up.warmed_s >= 4.2 && warm_up.rate_per_s.len() <= 3, "{warm_up:?}");
    // Three seconds of load are too few to know whether it is steady.
    assert!(
        trials[0].verdicts.iter().any(|verdict| verdict.name == "still_warming"),
        "{:?}",
        trials[0].verdicts
    );
    let ran = round(&["--steady-within", "0s"]);
    assert!(ran.stderr.contains("without the plan's bursts (--steady-within)"), "{ran:?}");
    assert!(tree.kept().1[0].startup.as_ref().unwrap().warm_up.is_none());
}

#[test]
fn a_resume_without_an_unfinished_round_is_reported() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let ran = tree.run(&["round", "--resume"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("no unfinished round in "), "{ran:?}");
}

#[test]
fn an_unusable_generator_is_reported_before_a_round_is_stored() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    for (generator, reported) in [
        ("", "the command of the generator is empty"),
        ("sh {foo}", "the output of `sh` cannot be parsed"),
        ("no-such-program --fast", "program `no-such-program` not found"),
    ] {
        let ran = tree.run(&[&SHORT[..], &["--generator", generator]].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(reported), "{ran:?}");
    }
    let ran = tree.run(&["report", "--list"]);
    assert!(ran.stderr.contains("no round is stored"), "{ran:?}");
}

#[test]
fn a_round_has_one_process_and_a_machine_one_round() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    let mut generators = Witness::new(&tree.path("generators-witness"));
    let endless = tree.script("endless", "#!/bin/sh\nexec 9>\"$GENERATORS\"\nprintf x >&9\nexec sleep 100\n");
    let mut command = tree.paceline(&[&SHORT[..], &["--generator", endless.to_str().unwrap()]].concat());
    command.env("GENERATORS", tree.path("generators-witness")).stdout(Stdio::null()).stderr(Stdio::piped());
    let lab = command.spawn().unwrap();
    generators.wait_signatures(1);
    let ran = tree.run(&["round", "--resume"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let (round, _) = tree.kept();
    let reported = format!("round {} is being run by process {}\n", round.id, lab.id());
    assert!(ran.stderr.contains(&reported), "{ran:?}");
    assert_eq!(round.sittings.len(), 1);
    let another = tree.paceline(&SHORT).env_remove("PACELINE_SHARE_MACHINE").output().unwrap();
    let stderr = String::from_utf8_lossy(&another.stderr);
    assert_eq!(another.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("another round runs on this machine: "), "{stderr}");
    assert!(stderr.contains(&format!("process {} (round {})", lab.id(), round.id)), "{stderr}");
    end(lab, &mut generators);
}

/// Interrupts a round whose generators never end.
fn end(lab: Child, generators: &mut Witness) {
    kill(&lab, libc::SIGINT);
    generators.wait_end();
    let ended = lab.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130));
    assert!(stderr.contains("\nstopping the current trial (a few seconds); "), "{stderr}");
}

#[test]
fn a_missing_plan_and_an_unwritable_report_are_usage_errors() {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    fs::create_dir_all(tree.path("plans")).unwrap();
    fs::write(tree.path("plans/quick.toml"), "").unwrap();
    let ran = tree.run(&["round", "plans/quik.toml"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("no plan `plans/quik.toml`; did you mean `quick`?"), "{ran:?}");

    let mut command = tree.paceline(&[&SHORT[..], &["--repeats", "1"]].concat());
    // An empty variable counts as unset.
    assert!(command.env("PACELINE_STORE", "").output().unwrap().status.success());
    let ran = tree.run(&["report", "-o", "nowhere/r.md"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(!tree.path("nowhere").exists());
    let ran = tree.run(&["report", "-o", "r.pdf"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("use .txt, .md, .csv, .json, .html, .svg"), "{ran:?}");
    let ran = tree.run(&["report", "-o", "-", "--format", "csv"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("python-good"), "{ran:?}");
    assert!(!tree.path("-").exists());
}
