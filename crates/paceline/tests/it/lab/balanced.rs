//! Tests rounds with instances behind a balancer: one made for the tests, and HAProxy if it is installed.
//!
//! They cover the loads to one instance, through the balancer and to all instances, figures per process, a killed
//! instance, a balancer that does not start, and that an export loses nothing from a report. The expansion of templates
//! is tested in the lab crate.

use super::tree::{GOOD, Ran, Tree};
use crate::noise::within_five_tries;
use paceline_record::{FaultKind, ProcessRole, Route, Trial, VariantKind};
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

/// A tree with a server, the test balancer and the plan `lb` with these loads.
fn tree(loads: &str) -> Tree {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    write_balancer(&tree);
    let plan = format!("name = \"lb\"\nrepeats = 1\nworkloads = [\"hello\"]\ninstances = 2\n{loads}");
    tree.write("plans/lb.toml", &plan);
    tree
}

/// Adds the test balancer, `fake`.
pub(super) fn write_balancer(tree: &Tree) {
    let manifest = "name = \"Fake\"\nneeds = [\"python3\"]\nversion = \"echo fake 1\"\nconfig = \"fake.conf\"\n\
                    command = \"exec python3 balancer.py \\\"$BALANCER_CONFIG\\\"\"\n[policies]\nroundrobin = \"\"\n";
    tree.write("balancers/fake/balancer.toml", manifest);
    tree.write("balancers/fake/fake.conf", "listen @HOST@ @PORT@\nto @ADDRESS@\n");
    tree.write("balancers/fake/balancer.py", include_str!("balancer.py"));
}

const LOAD: &str = "[[load]]\nname = \"c4\"\nconnections = 4\nduration = \"1s\"\nwarmup = \"50ms\"\n";

fn last<'a>(trials: &'a [Trial], load: &str) -> &'a Trial {
    trials.iter().rfind(|trial| trial.load.name == load).unwrap()
}

fn assert_done(ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn direct_and_balanced_share_a_launch_and_have_separate_results() {
    let tree = tree(&format!("balancer = \"fake\"\n{LOAD}"));
    let ran = tree.run(&["round", "lb"]);
    assert_done(&ran);
    assert!(
        ran.stdout.contains("direct and balanced") && ran.stdout.contains("2 instances behind fake 1"),
        "{ran:?}"
    );
    let (round, trials) = tree.kept();
    let (direct, balanced) = (last(&trials, "c4"), last(&trials, "c4-balanced"));
    // A trial spoiled by the machine is retried in a separate launch.
    let launches = |load: &str| -> BTreeSet<&str> {
        let of_load = trials.iter().filter(|trial| trial.load.name == load);
        of_load.map(|trial| trial.launch.as_str()).collect()
    };
    assert!(!launches("c4").is_disjoint(&launches("c4-balanced")));
    let route = |trial: &Trial| trial.load.balanced.as_ref().map(|balanced| balanced.route);
    assert_eq!((route(direct), route(balanced)), (Some(Route::Direct), Some(Route::Balanced)));
    assert_eq!(balanced.load.variant.as_ref().map(|variant| variant.kind), Some(VariantKind::Balanced));
    let seen = balanced.balancing.as_ref().unwrap();
    assert_eq!((seen.balancer.versions.as_str(), balanced.pinning.instances.len()), ("fake 1", 2));
    assert!(seen.balancer.configuration.starts_with("listen 127.0.0.1 "), "{seen:?}");
    // If the machine is too busy to wake the sampler in time, there are no process figures, but a note.
    let is_sampled =
        |trial: &Trial| trial.verdicts.iter().all(|verdict| verdict.name != "window_not_sampled");
    if is_sampled(balanced) {
        let roles: Vec<ProcessRole> = seen.processes.iter().map(|process| process.role).collect();
        assert_eq!(roles, [ProcessRole::Instance, ProcessRole::Instance, ProcessRole::Balancer]);
        assert!(
            seen.processes.iter().all(|process| process.cpu_s > 0.0 && process.rss_bytes_peak > 0),
            "{seen:?}"
        );
    }
    if is_sampled(balanced) && is_sampled(direct) {
        let idle = &direct.balancing.as_ref().unwrap().processes[1];
        let (whole, one) = (balanced.usage.as_ref().unwrap(), direct.usage.as_ref().unwrap());
        assert!(whole.rss_bytes_peak > one.rss_bytes_peak, "two instances against one");
        assert!(idle.cpu_s < one.cpu_s, "the second instance is idle where requests go to the first");
    }
    assert_eq!(balanced.run.as_ref().unwrap().total.counts.not_ok(), 0);

    let folder = tree.path("history");
    assert_done(&tree.run(&["report", "--export", folder.to_str().unwrap()]));
    let stored = tree.run(&["report", &round.id, "--format", "json"]);
    let exported = tree.run(&["report", "--from", folder.to_str().unwrap(), "--format", "json"]);
    assert_done(&exported);
    assert_eq!(exported.stdout, stored.stdout, "nothing of a report is lost by an export");
    let home = tree.path("").to_string_lossy().trim_end_matches('/').to_owned();
    for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        let bytes = fs::read(&path).unwrap();
        let bytes = if paceline_files::is_gzip(&bytes) {
            paceline_files::gunzip(&bytes, 1 << 26).unwrap()
        } else {
            bytes
        };
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains(&home), "{} names a folder: {text}", path.display());
    }
}

#[test]
fn a_spread_load_asks_every_instance_without_the_balancer() {
    let tree = tree(&format!("balancer = \"fake\"\n{LOAD}twins = [\"spread\"]\n"));
    let ran = tree.run(&["round", "lb"]);
    assert_done(&ran);
    let is_shown = |text| ran.stdout.contains(text);
    assert!(is_shown("direct and spread") && is_shown("sent to 2 instances directly"), "{ran:?}");
    let (_, trials) = tree.kept();
    let trial = last(&trials, "c4-spread");
    assert_eq!(trial.load.balanced.as_ref().map(|balanced| balanced.route), Some(Route::Spread));
    let run = trial.run.as_ref().unwrap();
    let requests: Vec<u64> = run.connections.by_address.iter().map(|address| address.requests).collect();
    assert!(requests.len() == 2 && requests.iter().all(|requests| *requests > 0), "{requests:?}");
    assert_eq!(run.total.counts.not_ok(), 0);
}

#[test]
fn one_instance_killed_in_mid_run_is_in_the_record() {
    let tree = tree(&format!("balancer = \"fake\"\nfault = \"kill-one\"\n{LOAD}"));
    let ran = tree.run(&["round", "lb"]);
    assert_done(&ran);
    let (_, trials) = tree.kept();
    let trial = last(&trials, "c4");
    let fault = trial.balancing.as_ref().unwrap().fault.unwrap();
    assert_eq!((fault.kind, fault.instance, fault.balancer_tells), (FaultKind::KillOne, 1, false));
    let window = trial.run.as_ref().unwrap().phases.window;
    assert!(fault.at_ns > window.start_ns, "{fault:?} in {window:?}");
    let saw = fault.impact(trial.run.as_ref().unwrap());
    let failed = trial.run.as_ref().unwrap().total.counts.not_ok();
    assert_eq!(saw.failures.iter().map(|(_, count)| count).sum::<u64>(), failed, "{saw:?}");
    // If the machine delayed the kill until the window was nearly over, there may be nothing left to break.
    let in_time = fault.at_ns + 100_000_000 < window.end_ns;
    assert!(failed > 0 || !in_time, "its connections broke: {fault:?} in {window:?}");
    assert!(ran.stdout.contains("instance 1 killed"), "{ran:?}");
}

#[test]
fn a_balancer_that_does_not_start_is_a_record_with_its_log() {
    let tree = tree(&format!("balancer = \"fake\"\n{LOAD}"));
    fs::write(tree.path("balancers/fake/balancer.py"), "print('cannot find x')\nraise SystemExit(7)\n")
        .unwrap();
    let ran = tree.run(&["round", "lb"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let (_, trials) = tree.kept();
    assert_eq!(trials.len(), 2);
    for trial in &trials {
        let message = &trial.error.as_ref().unwrap().message;
        assert!(message.starts_with("the balancer: ") && message.contains("exit status 7"), "{message}");
        assert_eq!(trial.log_tail, "cannot find x");
    }
}

#[test]
fn a_balancer_that_is_missing_is_reported_before_the_first_trial() {
    let tree = tree(&format!("balancer = \"fake\"\n{LOAD}"));
    let manifest = tree.path("balancers/fake/balancer.toml");
    let lacking = fs::read_to_string(&manifest).unwrap().replace("\"python3\"", "\"no-such-program\"");
    fs::write(&manifest, lacking).unwrap();
    let ran = tree.run(&["round", "lb"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let why = "fake cannot be used: Fake is not installed (missing: no-such-program); ";
    let reported = ran.stderr.find(why).unwrap_or_else(|| panic!("{ran:?}"));
    assert!(ran.stderr.find("[1/2] ").is_some_and(|first| reported < first), "{ran:?}");
}

#[test]
fn a_plan_needs_an_existing_balancer_and_policy() {
    for (keys, part) in [
        ("balancer = \"faek\"", "there is no balancer `faek`; did you mean `fake`?"),
        ("balancer = \"fake\"\npolicy = \"roundrobbin\"", "did you mean `roundrobin`?"),
        ("balancer = \"fake\"\nbudget = \"1s\"", "--full"),
    ] {
        let ran = tree(&format!("{keys}\n{LOAD}")).run(&["round", "lb"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(part), "{ran:?}");
    }
}

#[test]
fn haproxy_counts_the_requests_of_each_instance() {
    if Command::new("haproxy").arg("-v").output().is_err() {
        eprintln!("skipped: haproxy is not installed");
        return;
    }
    let tree = tree(&format!("balancer = \"haproxy\"\n{LOAD}"));
    let ours = concat!(env!("CARGO_MANIFEST_DIR"), "/../../balancers");
    // Messages of HAProxy that a busy machine delays past its time limit are left out.
    let reported = within_five_tries(|| {
        let ran = tree.run(&["round", "lb", "--balancers-dir", ours]);
        assert_done(&ran);
        let (_, trials) = tree.kept();
        let seen = last(&trials, "c4-balanced").balancing.clone().unwrap();
        seen.counts.ok_or_else(|| format!("no counts: {ran:?}"))
    });
    assert!(reported.requests.is_some_and(|requests| requests > 0), "{reported:?}");
    let each: Vec<u64> = reported.by_instance.iter().filter_map(|instance| instance.requests).collect();
    assert_eq!(each.len(), 2);
    assert!(each[0].abs_diff(each[1]) <= 2, "round robin gave {each:?}");
    assert_eq!(reported.by_instance[0].state_at_end.as_deref().map(|state| &state[..2]), Some("UP"));
}

#[test]
fn a_balancer_is_set_up_with_the_plan_that_needs_it() {
    let tree = tree(&format!("balancer = \"fake\"\n{LOAD}"));
    for chosen in [&["--all"][..], &["--plan", "lb"], &["fake", "python-good"]] {
        let ran = tree.run(&[&["lab", "setup"], chosen].concat());
        assert_done(&ran);
        assert!(
            ran.stdout.contains("balancer-fake: nothing to set up") && ran.stdout.contains("2 set up"),
            "{ran:?}"
        );
    }
    let manifest = tree.path("balancers/fake/balancer.toml");
    let lacking = fs::read_to_string(&manifest).unwrap().replace("\"python3\"", "\"no-such-program\"");
    fs::write(&manifest, lacking).unwrap();
    let ran = tree.run(&["lab", "setup", "--plan", "lb"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stdout.contains(
            "balancer-fake is not set up: these programs are missing or not accessible: no-such-program. No package"
        ),
        "{ran:?}"
    );
}

#[test]
fn a_load_whose_fault_was_not_injected_is_not_a_trial() {
    let tree = tree(&format!("balancer = \"fake\"\nfault = \"kill-one\"\n{LOAD}"));
    // Our own generator without phase events: it is unknown when half of its window is over.
    let silent = format!(
        "#!/bin/sh\nfor word; do\n  shift\n  [ \"$word\" = --events ] && break\n  set -- \"$@\" \"$word\"\ndone\n\
         shift\nexec {} \"$@\"\n",
        env!("CARGO_BIN_EXE_paceline")
    );
    let silent = tree.script("silent", &silent);
    let ran = tree.run(&["round", "lb", "--generator", silent.to_str().unwrap()]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let (_, trials) = tree.kept();
    let fault = last(&trials, "c4").error.as_ref().expect("no instance was killed");
    assert_eq!(
        (fault.message.as_str(), fault.transient),
        (
            "the planned fault was not injected during the window: the generator did not report the start of its \
             window",
            true
        )
    );
}
