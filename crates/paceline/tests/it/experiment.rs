//! Tests `capacity`, `compare` and `gate` as commands: exit status, files, and one run of each kind.
//!
//! Their decisions are tested in the experiment crate with a simulated server; no figure of a real run is asserted
//! here.

use crate::noise::within_five_tries;
use crate::reference::{PACELINE, ReferenceServer};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn paceline(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(PACELINE).args(arguments).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A baseline file with these rates.
fn baseline(folder: &Path, name: &str, rates: &[f64]) {
    let samples = serde_json::json!({ "name": name, "values": { "rate_per_s": rates } });
    std::fs::write(folder.join(name), samples.to_string()).unwrap();
}

#[test]
fn stored_baselines_are_compared_and_gated() {
    let folder = tempfile::tempdir().unwrap();
    baseline(folder.path(), "old.json", &[100.0, 102.0, 98.0, 101.0]);
    baseline(folder.path(), "new.json", &[80.0, 81.0, 79.0, 80.5]);
    let compared = paceline(folder.path(), &["compare", "old.json", "new.json"]);
    assert!(compared.status.success(), "{compared:?}");
    assert!(text(&compared.stdout).starts_with("new.json is slower: 20"), "{compared:?}");
    let json = paceline(folder.path(), &["compare", "old.json", "new.json", "--format", "json"]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["metrics"][0]["decision"], "worse");
    let gate = ["gate", "new.json", "--against", "old.json", "--junit", "gate.xml", "--markdown", "gate.md"];
    let gated = paceline(folder.path(), &gate);
    assert_eq!(gated.status.code(), Some(1), "{gated:?}");
    let read = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("gate.xml").contains("failures=\"1\""));
    assert_eq!(read("gate.md"), text(&gated.stdout));
    let back = paceline(folder.path(), &["gate", "old.json", "--against", "new.json"]);
    assert_eq!(back.status.code(), Some(0), "faster passes: {back:?}");
}

#[test]
fn files_get_the_format_of_their_extension_and_inputs_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    baseline(folder.path(), "old.json", &[100.0, 102.0, 98.0, 101.0]);
    baseline(folder.path(), "new.json", &[80.0, 81.0, 79.0, 80.5]);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let compare = |output: &[&str]| {
        let files: Vec<&str> = output.iter().flat_map(|file| ["-o", file]).collect();
        paceline(folder.path(), &[&["compare", "old.json", "new.json"][..], &files].concat())
    };
    let written = compare(&["r.html", "r.json", "r.md"]);
    assert!(text(&written.stdout).starts_with("new.json is slower"), "text is printed as well: {written:?}");
    assert!(read("r.html").starts_with("<!doctype html>") && read("r.md").contains("| rate |"));
    let json: Value = serde_json::from_str(&read("r.json")).unwrap();
    assert_eq!(json["metrics"][0]["decision"], "worse");
    let silent = compare(&["r.txt"]);
    assert!(silent.stdout.is_empty() && read("r.txt").starts_with("new.json is slower"), "{silent:?}");

    let before = read("old.json");
    for (files, message) in [
        (&["./old.json"][..], "an input, or is named twice"),
        (&["a.json", "a.json"], "an input, or is named twice"),
        (&["r.pdf"], "use .txt, .md, .json, .html"),
    ] {
        let refused = compare(files);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(text(&refused.stderr).contains(message), "{refused:?}");
    }
    assert_eq!(read("old.json"), before);
    assert_eq!(compare(&["missing/r.html"]).status.code(), Some(3));
}

#[test]
fn a_gate_without_a_result_writes_its_files_and_exits_with_three() {
    let folder = tempfile::tempdir().unwrap();
    baseline(folder.path(), "old.json", &[100.0, 102.0, 98.0, 101.0]);
    let files = ["--junit", "gate.xml", "--markdown", "gate.md"];
    let gate = ["gate", "http://127.0.0.1:1/", "--against", "old.json"];
    let gated = paceline(folder.path(), &[&gate[..], &files[..]].concat());
    assert_eq!(gated.status.code(), Some(3), "{gated:?}");
    let read = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(
        read("gate.xml").contains("errors=\"1\"") && read("gate.xml").contains("<error message="),
        "{gated:?}"
    );
    assert!(read("gate.md").starts_with("### Performance gate not evaluated"), "{gated:?}");
}

#[test]
fn invalid_arguments_exit_with_two_and_say_why() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("no.json"), "{}").unwrap();
    baseline(folder.path(), "zero.json", &[0.0, 1.0]);
    for (arguments, said) in [
        (&["capacity", "http://127.0.0.1:1/", "--slo", "p99<1ms"][..], "only times"),
        (&["compare", "no.json", "no.json"], "neither a run's record nor a baseline"),
        (&["compare", "zero.json", "zero.json"], "not above 0"),
        (&["compare", "no.json", "no.json", "--metric", "speed"], "there is no metric \"speed\""),
        (&["gate", "no.json"], "--against"),
    ] {
        let output = paceline(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(text(&output.stderr).contains(said), "{arguments:?}: {output:?}");
    }
}

#[test]
fn a_capacity_search_keeps_every_record() {
    let folder = tempfile::tempdir().unwrap();
    let server = ReferenceServer::start("fixed");
    let url = server.url();
    let short =
        ["--window", "200ms", "--warmup", "50ms", "--warm-limit", "0s", "--confirm", "0s", "--no-curve"];
    let arguments = ["capacity", &url, "--slo", "response.mean<10s,errors<50%", "--windows", "2", "-c", "4"];
    let rest = ["--records", "kept", "-o", "found.json", "-o", "found.html", "--", "-H", "Cookie: a"];
    let output = paceline(folder.path(), &[&arguments[..], &short, &rest].concat());
    assert!(text(&output.stdout).starts_with("capacity"), "{output:?}");
    let found = std::fs::read(folder.path().join("found.json")).unwrap();
    let capacity: Value =
        serde_json::from_slice(&found).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_eq!(capacity["target"], url);
    assert_eq!(capacity["argv"].as_array().unwrap().last().unwrap(), "Cookie: ***");
    let page = std::fs::read_to_string(folder.path().join("found.html")).unwrap();
    assert!(page.contains("<title>Capacity of http://"), "{page:.500}");
    let windows = capacity["windows"].as_array().unwrap();
    assert!(!windows.is_empty() && capacity["closed_loop_per_s"].as_f64().unwrap() > 0.0, "{capacity}");
    for window in windows {
        let record = std::fs::read_to_string(folder.path().join(window["record"].as_str().unwrap())).unwrap();
        assert!(paceline_record::read_run(&record).is_ok());
    }
}

#[test]
fn pairs_are_measured_until_a_look() {
    let folder = tempfile::tempdir().unwrap();
    let server = ReferenceServer::start("immediate");
    let (url, record) = (server.url(), ["--records", "kept", "--format", "json"]);
    let short = ["-d", "100ms", "--warmup", "20ms", "--warm-limit", "0s", "--pairs", "4", "-c", "2"];
    // On a busy machine three runs in a row may be unusable.
    let comparison: Value = within_five_tries(|| {
        let output = paceline(folder.path(), &[&["compare", &url, &url][..], &short, &record].concat());
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {output:?}"))
    });
    assert_eq!(comparison["pairs"], 4);
    assert_eq!(comparison["samples"][1]["values"]["rate_per_s"].as_array().unwrap().len(), 4);
}

#[test]
fn a_missing_target_is_an_error_of_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let server = ReferenceServer::start("immediate");
    let url = server.url();
    drop(server);
    let output =
        paceline(folder.path(), &["capacity", &url, "--slo", "response.p99<1ms", "--warm-limit", "0s"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

#[test]
fn a_round_does_not_differ_from_itself() {
    let history = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../history");
    let round = "archive/tetration-2026-11-21";
    let output = paceline(&history, &["compare", round, round, "--format", "json"]);
    let cells: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let cells = cells.as_array().unwrap();
    assert!(cells.len() > 3, "{} cells", cells.len());
    for cell in cells {
        assert_eq!(cell["comparison"]["failures"]["direction"], "equivalent", "{cell}");
        // Launches that were overloaded are compared in no other figure.
        let Some(decision) = cell["comparison"]["metrics"].get(0) else {
            assert_ne!(cell["comparison"]["failures"]["first"]["unusable"], 0, "{cell}");
            continue;
        };
        assert_eq!(decision["ratio"], 1.0, "{cell}");
        assert!(decision["decision"] != "better" && decision["decision"] != "worse", "{cell}");
    }
    let missing = paceline(&history, &["compare", round, "."]);
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
}

/// A server that answers most requests with status 500 after its first answers.
fn mostly_failing() -> String {
    let answer = |stream: &mut std::net::TcpStream, number: usize| {
        let status = if number.is_multiple_of(10) { "200 OK" } else { "500 Internal Server Error" };
        let response = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok");
        std::io::Write::write_all(stream, response.as_bytes()).is_ok()
    };
    format!("http://{}/", crate::faults::servers::request_by_request(answer))
}

#[test]
fn failed_requests_fail_a_gate_and_a_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let server = ReferenceServer::start("immediate");
    let (good, bad) = (server.url(), mostly_failing());
    let short = ["-d", "500ms", "--warmup", "20ms", "--warm-limit", "0s", "--pairs", "4", "-c", "2"];
    let gate = |more: &[&str]| {
        let gate = ["gate", &bad, "--against", &good, "--junit", "gate.xml", "--markdown", "gate.md"];
        within_five_tries(|| {
            let output = paceline(folder.path(), &[&gate[..], &short, more].concat());
            if output.status.code() == Some(3) { Err(format!("{output:?}")) } else { Ok(output) }
        })
    };
    let gated = gate(&[]);
    assert_eq!(gated.status.code(), Some(1), "{gated:?}");
    let said = text(&gated.stdout);
    assert!(
        said.contains("cannot be used; failed requests: 0 % of") && said.contains("| not usable |"),
        "{said}"
    );
    let read = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(read("gate.xml").contains("name=\"failed requests\"><failure message="), "{}", read("gate.xml"));
    assert!(read("gate.md").starts_with("### Performance gate failed"), "{}", read("gate.md"));
    let accepted = gate(&["--max-errors", "95%"]);
    assert!(text(&accepted.stdout).contains("| accepted |"), "90 % are accepted: {accepted:?}");
    let compared = paceline(folder.path(), &[&["compare", &good, &bad][..], &short].concat());
    assert_eq!(compared.status.code(), Some(1), "{compared:?}");
    let saved = paceline(folder.path(), &[&["gate", &bad, "--save", "b.json"][..], &short].concat());
    assert_eq!(saved.status.code(), Some(1), "{saved:?}");
    assert!(text(&saved.stderr).contains("no baseline was written"), "{saved:?}");
}

#[test]
fn flags_that_a_gate_would_ignore_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    baseline(folder.path(), "a.json", &[100.0, 102.0, 98.0, 101.0]);
    for more in [
        ["--against", "a.json", "--budget", "5m"],
        ["--against", "a.json", "--build", "make"],
        ["--save", "b.json", "--junit", "gate.xml"],
        ["--save", "b.json", "--profile=difference.svg", "-c2"],
    ] {
        let refused = paceline(folder.path(), &[&["gate", "a.json"][..], &more].concat());
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(text(&refused.stderr).contains("cannot be used with"), "{refused:?}");
    }
}

#[test]
fn a_baseline_of_another_load_or_machine_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let set = |name: &str, connections: u32, cores: u32| {
        let samples = serde_json::json!({
            "name": name,
            "values": { "rate_per_s": [100.0, 102.0, 98.0, 101.0] },
            "conditions": {
                "measured_at": "2026-01-02T03:04:05Z", "paceline": "0.1.0",
                "load": { "connections": connections }, "machine": { "cores": cores },
            },
        });
        std::fs::write(folder.path().join(name), samples.to_string()).unwrap();
    };
    set("a.json", 64, 2);
    set("load.json", 128, 2);
    set("machine.json", 64, 4);
    let gate = |more: &[&str]| paceline(folder.path(), &[&["gate", "a.json", "--against"], more].concat());
    let load = gate(&["load.json"]);
    assert_eq!(load.status.code(), Some(2), "{load:?}");
    assert!(text(&load.stderr).contains("different loads: connections 128 / 64"), "{load:?}");
    let machine = gate(&["machine.json"]);
    assert_eq!(machine.status.code(), Some(2), "{machine:?}");
    let said = text(&machine.stderr);
    assert!(said.contains("different machines: cores 4 / 2") && said.contains("gate --base REF"), "{said}");
    assert_eq!(gate(&["machine.json", "--accept-other-machine"]).status.code(), Some(0));
    assert_eq!(gate(&["load.json", "--accept-other-machine"]).status.code(), Some(2));
}
