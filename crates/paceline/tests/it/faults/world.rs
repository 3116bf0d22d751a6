//! Faults of the machine the run is on: no descriptors, no ports; and what a record says is left of them.
//!
//! Each in a shell of its own, so that a limit meets no other test. Those about ports need a network namespace, and
//! where none can be made they are skipped, and say so.

use super::PACELINE;
use super::servers::{OK, always};
use crate::noise::quiet_status_of;
use serde_json::Value;
use std::process::{Command, Output};

/// Starts the reference server, has `$PORT` set to its port, runs the script, and ends the server with its input.
const AROUND: &str = r#"
dir=$(mktemp -d); mkfifo "$dir/in" "$dir/out"
"$PACELINE" reference-server --service immediate <"$dir/in" >"$dir/out" &
exec 8>"$dir/in" 9<"$dir/out"
read -r PORT <&9
script() { eval "$SCRIPT"; }
script; code=$?
exec 8>&- ; wait; rm -r "$dir"; exit $code
"#;

/// Runs a script of the shell beside a reference server, `prefix` in front of the shell.
fn beside_server(prefix: &[&str], script: &str) -> Output {
    let words = [prefix, &["bash", "-c", AROUND]].concat();
    Command::new(words[0]).args(&words[1..]).env("PACELINE", PACELINE).env("SCRIPT", script).output().unwrap()
}

/// Everything that was printed, lines joined: where one is broken depends on the length of numbers.
fn text(output: &Output) -> String {
    let printed = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&printed).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn few_descriptors_are_sidestepped_and_said() {
    let script = r#"ulimit -n 40; "$PACELINE" run "http://127.0.0.1:$PORT/" -c 100 -n 1000 -t 1"#;
    let output = beside_server(&[], script);
    let printed = text(&output);
    assert!(printed.contains("each may open 40 files"), "{printed}");
    assert!(printed.contains("1,000 requests, all ok"), "{printed}");
    assert_eq!(quiet_status_of(&output), 0, "{printed}");
}

/// Does something in a network of its own, with a hundred ports to connect from; none where there can be none.
fn in_own_network<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> Option<R> {
    let apart = move || {
        // SAFETY: unshare(2) takes a number. A network is the calling thread's alone, and this thread ends here.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return None;
        }
        assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
        std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "20000 20099").unwrap();
        Some(work())
    };
    std::thread::spawn(apart).join().unwrap()
}

/// What a run of 30 connections leaves, of a server that closes what is closed at once.
fn left_after(load: &'static [&'static str]) -> Value {
    let url = format!("http://{}/", always(OK));
    let common = ["run", &url, "-c", "30", "-t", "3", "--format", "json"];
    let output = Command::new(PACELINE).args(common).args(load).output().unwrap();
    let run: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    run["generator"]["left"].clone()
}

#[test]
fn what_is_left_is_counted_while_connections_are_open() {
    let loads: [&'static [&'static str]; 3] =
        [&["-n", "500"], &["-d", "200ms", "--warmup", "0"], &["-d", "200ms", "--warmup", "0", "-r", "500"]];
    for load in loads {
        let Some(left) = in_own_network(move || left_after(load)) else {
            println!("skipped: no network namespace can be made here");
            return;
        };
        // Both ends of each connection, and what listens.
        assert_eq!(left["sockets_in_use"], 61, "{load:?}: {left}");
        assert_eq!((&left["sockets_time_wait"], &left["ports"]), (&0.into(), &70.into()), "{load:?}: {left}");
    }
}

#[test]
fn no_ports_left_is_said() {
    // A network of its own, with ten ports to connect from. It takes root.
    let alone = Command::new("unshare").args(["-n", "true"]).status();
    if !alone.is_ok_and(|status| status.success()) {
        println!("skipped: no network namespace can be made here");
        return;
    }
    let script = r#"
        ip link set lo up
        echo "20000 20009" >/proc/sys/net/ipv4/ip_local_port_range
        "$PACELINE" run "http://127.0.0.1:$PORT/" -c 30 -n 100 -t 1 --connect-timeout 500ms
    "#;
    let output = beside_server(&["unshare", "-n"], script);
    let printed = text(&output);
    for said in ["Only 10 of 30 connections opened", "Cannot assign requested address", "connections_short"] {
        assert!(printed.contains(said), "does not say {said:?}:\n{printed}");
    }
}
