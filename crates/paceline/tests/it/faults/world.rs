//! Faults of the machine the run is on: no descriptors, no ports.

use super::PACELINE;
use crate::noise::quiet_status_of;
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
    for said in ["10 of 30 asked for", "Cannot assign requested address", "connections_short"] {
        assert!(printed.contains(said), "does not say {said:?}:\n{printed}");
    }
}
