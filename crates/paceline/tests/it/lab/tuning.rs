//! Tests `round --tune` and `--quiet-cpu` on a simulated machine: what is set, reported, recorded and restored,
//! whatever ends the round.
//!
//! The machine is a folder of files (`--tune-root`), so that the tests need no root and change no real setting. They do
//! not check whether a kernel accepts the values.

use super::survivors::kill;
use super::tree::{GOOD, Tree};
use super::witness::Witness;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

const SHORT: [&str; 11] = [
    "round",
    "--servers",
    "python-*",
    "--connections",
    "4",
    "--duration",
    "100ms",
    "--warmup",
    "0s",
    "--repeats",
    "1",
];
const LIMIT: Duration = Duration::from_secs(60);

/// A tree with a machine: three settings and a governor, of which one is already high enough.
fn tree() -> Tree {
    let tree = Tree::new().with_server("python-good", GOOD, 60);
    for (path, value) in [
        ("proc/sys/net/core/somaxconn", "4096\n"),
        ("proc/sys/fs/file-max", "9223372036854775807\n"),
        ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
    ] {
        let file = tree.path("machine").join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, value).unwrap();
    }
    tree
}

fn somaxconn(tree: &Tree) -> String {
    fs::read_to_string(tree.path("machine/proc/sys/net/core/somaxconn")).unwrap().trim().to_owned()
}

fn flags(tree: &Tree) -> Vec<String> {
    let root = tree.path("machine").display().to_string();
    SHORT.iter().map(|flag| (*flag).to_owned()).chain(["--tune".into(), "--tune-root".into(), root]).collect()
}

#[test]
fn changed_settings_are_recorded_and_restored() {
    let tree = tree();
    let flags = flags(&tree);
    let ran = tree.run(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("machine settings changed for this round: net.core.somaxconn 4096 -> 65535; "),
        "{ran:?}"
    );
    let amiss = ran.stderr.lines().find(|line| line.ends_with(": this machine has no such setting")).unwrap();
    assert!(
        amiss.starts_with("could not change a machine setting: fs.nr_open, ")
            && amiss.contains("tcp_tw_recycle"),
        "{amiss}"
    );
    assert!(!ran.stderr.contains("fs.file-max"), "it is high enough: {ran:?}");
    let (round, _) = tree.kept();
    let setting = |name: &str| round.sittings[0].tuned.iter().find(|tuned| tuned.name == name).unwrap();
    let values = |name: &str| (setting(name).before.as_str(), setting(name).after.as_str());
    assert_eq!(values("net.core.somaxconn"), ("4096", "65535"));
    assert_eq!(values("net.ipv4.ip_local_port_range"), ("32768 60999", "25000 65535"));
    assert_eq!(values("governor of cpu0"), ("powersave", "performance"));
    assert_eq!(values("fs.file-max"), ("9223372036854775807", "9223372036854775807"));
    assert!(!setting("vm.overcommit_memory").why.is_empty());
    assert_eq!(somaxconn(&tree), "4096");
    assert!(!tree.path("state/tuned.json").exists());
    let report = tree.run(&["report"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        report.contains(
            "machine settings changed for the round, then restored: net.core.somaxconn 4096 -> 65535; "
        ),
        "{report}"
    );
}

#[test]
fn quiet_cpu_is_recorded_and_changes_nothing_else() {
    let tree = tree();
    let device = tree.path("machine/dev/cpu_dma_latency");
    fs::create_dir_all(device.parent().unwrap()).unwrap();
    fs::write(&device, 2_000_000_000i32.to_ne_bytes()).unwrap();
    let root = tree.path("machine");
    let flags = [&SHORT[..], &["--quiet-cpu", "--tune-root", root.to_str().unwrap()]].concat();
    let ran = tree.run(&flags);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("machine settings changed for this round: CPU wake-up limit none -> 0 µs\n"),
        "{ran:?}"
    );
    let tuned = &tree.kept().0.sittings[0].tuned;
    assert_eq!(tuned.len(), 1, "{tuned:?}");
    assert_eq!(fs::read(&device).unwrap()[4..], [0; 4]);
    assert_eq!(somaxconn(&tree), "4096");

    fs::remove_file(&device).unwrap();
    let ran = tree.run(&flags);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("could not change a machine setting: CPU wake-up limit: cannot write "),
        "{ran:?}"
    );
}

#[test]
fn settings_are_restored_however_the_round_ends() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGKILL] {
        let tree = tree();
        let mut generators = Witness::new(&tree.path("generators-witness"));
        let endless =
            tree.script("endless", "#!/bin/sh\nexec 9>\"$GENERATORS\"\nprintf x >&9\nexec sleep 100\n");
        let flags = flags(&tree);
        let mut command = tree.paceline(&flags.iter().map(String::as_str).collect::<Vec<_>>());
        command.args(["--generator", endless.to_str().unwrap()]);
        command
            .env("GENERATORS", tree.path("generators-witness"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut lab = command.spawn().unwrap();
        generators.wait_signatures(1);
        assert_eq!(somaxconn(&tree), "65535");
        kill(&lab, signal);
        lab.wait().unwrap();
        // A killed lab does not wait for the shepherd that restores the setting.
        let begun = Instant::now();
        while somaxconn(&tree) != "4096" {
            assert!(begun.elapsed() < LIMIT, "signal {signal}: somaxconn is {}", somaxconn(&tree));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn the_next_round_restores_settings_left_by_a_killed_shepherd() {
    let tree = tree();
    let file = tree.path("machine/proc/sys/net/core/somaxconn");
    fs::write(&file, "65535\n").unwrap();
    fs::create_dir_all(tree.path("state")).unwrap();
    let left = serde_json::json!([{ "path": file, "value": "4096" }]);
    fs::write(tree.path("state/tuned.json"), left.to_string()).unwrap();
    let root = tree.path("machine");
    let ran = tree.run(&[&SHORT[..], &["--tune-root", root.to_str().unwrap()]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("machine settings that a killed round changed and did not restore: ")
            && ran.stderr.contains("restored"),
        "{ran:?}"
    );
    assert_eq!(somaxconn(&tree), "4096");
    assert!(!tree.path("state/tuned.json").exists());
}

#[test]
fn a_note_of_another_user_is_ignored() {
    let tree = tree();
    fs::create_dir_all(tree.path("state")).unwrap();
    fs::write(tree.path("precious"), "precious").unwrap();
    let planted = serde_json::json!([{ "path": tree.path("precious"), "value": "4096" }]);
    fs::write(tree.path("state/tuned.json"), planted.to_string()).unwrap();
    let root = tree.path("machine");
    let ran = tree.run(&[&SHORT[..], &["--tune-root", root.to_str().unwrap()]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("tuned.json cannot be used: the file lists "), "{ran:?}");
    assert_eq!(fs::read_to_string(tree.path("precious")).unwrap(), "precious");
}
