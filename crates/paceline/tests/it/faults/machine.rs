//! Faults of the machine that runs the load: no descriptors, no ports; and the sockets in use and free ports that a
//! record reports.
//!
//! Each runs in a separate shell, so that limits do not affect other tests. Tests about ports need a network namespace;
//! if none can be created, they are skipped with a message.

use super::PACELINE;
use super::servers::{OK, always};
use crate::noise::quiet_status_of;
use serde_json::Value;
use std::process::{Command, Output};

/// Starts the reference server, sets `$PORT`, runs the script, and stops the server by closing its input.
const AROUND: &str = r#"
dir=$(mktemp -d); mkfifo "$dir/in" "$dir/out"
"$PACELINE" reference-server --service immediate <"$dir/in" >"$dir/out" &
exec 8>"$dir/in" 9<"$dir/out"
read -r PORT <&9
script() { eval "$SCRIPT"; }
script; code=$?
exec 8>&- ; wait; rm -r "$dir"; exit $code
"#;

/// Runs a shell script beside a reference server; `prefix` is put before the shell.
fn beside_server(prefix: &[&str], script: &str) -> Output {
    let words = [prefix, &["bash", "-c", AROUND]].concat();
    Command::new(words[0]).args(&words[1..]).env("PACELINE", PACELINE).env("SCRIPT", script).output().unwrap()
}

/// Everything that was printed, joined to one line: where lines break depends on the length of numbers.
fn text(output: &Output) -> String {
    let printed = [&output.stdout[..], &output.stderr].concat();
    String::from_utf8_lossy(&printed).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_low_descriptor_limit_is_handled_and_reported() {
    let script = r#"ulimit -n 40; "$PACELINE" run "http://127.0.0.1:$PORT/" -c 100 -n 1000 -t 1"#;
    let output = beside_server(&[], script);
    let printed = text(&output);
    assert!(printed.contains("each thread can open only 40 files and hold"), "{printed}");
    assert!(printed.contains("1,000 requests, all ok"), "{printed}");
    assert_eq!(quiet_status_of(&output), 0, "{printed}");
}

/// Runs `work` in a separate network namespace with a hundred local ports; none if namespaces are not available.
fn in_own_network<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> Option<R> {
    let apart = move || {
        // SAFETY: unshare(2) takes a number. The namespace applies only to the calling thread, which ends here.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return None;
        }
        assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
        std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "20000 20099").unwrap();
        Some(work())
    };
    std::thread::spawn(apart).join().unwrap()
}

/// The sockets in use and free ports in the record of a run of 30 connections. The server closes its end of a
/// connection as soon as the client does.
fn left_after(load: &'static [&'static str]) -> Value {
    let url = format!("http://{}/", always(OK));
    let common = ["run", &url, "-c", "30", "-t", "3", "--format", "json"];
    let output = Command::new(PACELINE).args(common).args(load).output().unwrap();
    let run: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    run["generator"]["left"].clone()
}

#[test]
fn free_resources_are_counted_while_connections_are_open() {
    let loads: [&'static [&'static str]; 3] =
        [&["-n", "500"], &["-d", "200ms", "--warmup", "0"], &["-d", "200ms", "--warmup", "0", "-r", "500"]];
    for load in loads {
        let Some(left) = in_own_network(move || left_after(load)) else {
            println!("skipped: no network namespace can be made here");
            return;
        };
        // Both ends of each connection, and the listener.
        assert_eq!(left["sockets_in_use"], 61, "{load:?}: {left}");
        assert_eq!((&left["sockets_time_wait"], &left["ports"]), (&0.into(), &70.into()), "{load:?}: {left}");
    }
}

#[test]
fn exhausted_ports_are_reported() {
    // A separate network namespace with ten local ports. This needs root.
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
    assert_eq!(output.status.code(), Some(1), "another load than requested: {printed}");
    for said in [
        "Not all connections could be opened (10 of 30)",
        "Cannot assign requested address",
        "connections_short",
    ] {
        assert!(printed.contains(said), "does not say {said:?}:\n{printed}");
    }
}
