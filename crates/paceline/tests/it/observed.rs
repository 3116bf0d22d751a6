//! Tests what a run and `why` show of a server on this machine: its seconds, its profile, and where time goes.
//!
//! The server is the reference server, a process that is not the generator. A profile needs perf and a kernel that permits
//! it; without them the tests check that the result is as good and says why there is none.

use crate::reference::{PACELINE, ReferenceServer};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn paceline(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(PACELINE).args(arguments).current_dir(folder).output().unwrap()
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_server_is_sampled_once_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let server = ReferenceServer::start("immediate");
    let outputs = ["--csv", "seconds.csv", "-o", "run.json", "-o", "run.txt", "--full"];
    let load = ["run", &server.url(), "-c", "4", "-d", "2s", "--warmup", "1s"];
    let output = paceline(folder.path(), &[&load[..], &outputs].concat());
    assert!(output.status.code() < Some(2), "{output:?}");
    let run = json(&folder.path().join("run.json"));
    let samples = run["server_samples"].as_array().unwrap();
    assert!(samples.len() >= 3 && samples[0]["at_ns"] == 0, "{samples:?}");
    let of = |key: &str| samples.iter().map(|sample| sample[key].as_f64().unwrap()).collect::<Vec<_>>();
    assert!(of("at_ns").is_sorted() && of("cpu_s").is_sorted(), "{samples:?}");
    assert!(of("rss_bytes").iter().all(|bytes| *bytes > 100_000.0), "{samples:?}");
    assert!(run["server"]["rss_bytes_before"].as_u64() > Some(0), "{}", run["server"]);
    assert!(run["connections"]["tcp"]["connections"] == 4 && run["kernel"].is_object(), "{run}");
    let text = std::fs::read_to_string(folder.path().join("run.txt")).unwrap();
    for shown in ["server at second", "before the load, peak", "segments sent again", "page faults"] {
        assert!(text.contains(shown), "{shown} is missing in\n{text}");
    }
    let csv = std::fs::read_to_string(folder.path().join("seconds.csv")).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = rows[0].iter().position(|name| *name == "server_rss_bytes").unwrap();
    assert!(rows[1..].iter().any(|row| !row[column].is_empty()), "{csv}");
}

/// Serves a page of metrics, with the number of the request as a counter.
fn metrics_page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let page =
                format!("# TYPE seen_total counter\nseen_total {number}\npool{{name=\"a\"}} 3\nother 1\n");
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", page.len());
            let _ = stream.write_all((head + &page).as_bytes());
        }
    });
    url
}

#[test]
fn a_server_tells_of_itself_by_its_metrics_page_and_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let server = ReferenceServer::start("immediate");
    std::fs::write(folder.path().join("gc.log"), "").unwrap();
    let load = ["run", &server.url(), "-c", "2", "-d", "2s", "--warmup", "1s", "--full"];
    let page = metrics_page();
    let sources =
        ["--scrape", &page, "--scrape-series", "seen_*", "--scrape-series", "pool", "--gc-log", "gc.log"];
    let outputs = ["--csv", "seconds.csv", "-o", "run.json"];
    let output = paceline(folder.path(), &[&load[..], &sources, &outputs].concat());
    assert!(output.status.code() < Some(2), "{output:?}");
    let run = json(&folder.path().join("run.json"));
    let metrics = &run["server_metrics"];
    assert!(metrics["scrapes"].as_u64() >= Some(2) && metrics["failed"] == 0, "{metrics}");
    let names: Vec<&str> =
        metrics["series"].as_array().unwrap().iter().map(|series| series["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["seen_total", "pool{name=\"a\"}"]);
    let csv = std::fs::read_to_string(folder.path().join("seconds.csv")).unwrap();
    assert!(
        csv.lines().next().unwrap().ends_with("server_threads,\"pool{name=\"\"a\"\"}\",seen_total"),
        "{csv}"
    );
    assert!(csv.lines().skip(2).any(|line| line.contains(",3,")), "{csv}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for shown in ["server metric", "seen_total", "none in gc.log (0 lines"] {
        assert!(text.contains(shown), "{shown} is missing in\n{text}");
    }
}

#[test]
fn a_profile_or_its_failure_is_beside_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let server = ReferenceServer::start("immediate");
    let load = ["run", &server.url(), "-c", "2", "-d", "200ms", "--warmup", "50ms"];
    let outputs = ["-o", "run.json", "--profile=flame.svg"];
    let output = paceline(folder.path(), &[&load[..], &outputs].concat());
    assert!(output.status.code() < Some(2), "{output:?}");
    let (run, picture) = (json(&folder.path().join("run.json")), folder.path().join("flame.svg"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if let Some(failure) = run["profile_failure"].as_str() {
        println!("no profile here: {failure}");
        assert!(text.contains("no profile: ") && !picture.exists(), "{text}");
    } else {
        let profile = &run["profile"];
        assert!(profile["samples"].as_u64() > Some(0), "{profile}");
        assert!(!profile["functions"].as_array().unwrap().is_empty(), "{profile}");
        assert!(std::fs::read_to_string(picture).unwrap().starts_with("<svg"));
        assert!(text.contains("CPU time by function"), "{text}");
    }
    assert_eq!(run["window_s"].as_f64().unwrap().round(), 0.0, "the measured window is the requested one");
    // Without perf the result is the same.
    let mut command = Command::new(PACELINE);
    command.args([&load[..], &outputs].concat()).current_dir(folder.path()).env("PATH", folder.path());
    let output = command.output().unwrap();
    assert!(output.status.code() < Some(2), "{output:?}");
    let run = json(&folder.path().join("run.json"));
    let failure = run["profile_failure"].as_str().unwrap();
    assert!(failure.contains("perf is not installed") && failure.contains("apt-get"), "{failure}");
}

#[test]
fn system_calls_or_why_they_were_not_counted_are_beside_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let server = ReferenceServer::start("immediate");
    let load = ["run", &server.url(), "-c", "2", "-d", "200ms", "--warmup", "200ms"];
    let outputs = ["-o", "run.json", "--syscalls"];
    let output = paceline(folder.path(), &[&load[..], &outputs].concat());
    assert!(output.status.code() < Some(2), "{output:?}");
    let run = json(&folder.path().join("run.json"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if let Some(failure) = run["syscalls_failure"].as_str() {
        println!("no system calls here: {failure}");
        assert!(text.contains("system calls not counted: "), "{text}");
    } else {
        let calls = &run["syscalls"];
        assert!(calls["calls_per_request"].as_f64() > Some(0.5), "{calls}");
        assert!(!calls["calls"].as_array().unwrap().is_empty(), "{calls}");
        assert!(text.contains("System calls per request"), "{text}");
    }
    assert!(run["profile"].is_null() && run["profile_failure"].is_null(), "no profile was requested");
    assert_eq!(run["window_s"].as_f64().unwrap().round(), 0.0, "the measured window is the requested one");
    // Without perf the result is the same, and each of two observations says why it is missing.
    let mut command = Command::new(PACELINE);
    let both = [&load[..], &outputs, &["--profile=flame.svg"]].concat();
    command.args(both).current_dir(folder.path()).env("PATH", folder.path());
    let output = command.output().unwrap();
    assert!(output.status.code() < Some(2), "{output:?}");
    let run = json(&folder.path().join("run.json"));
    for key in ["syscalls_failure", "profile_failure"] {
        let failure = run[key].as_str().unwrap();
        assert!(failure.contains("perf is not installed") && failure.contains("apt-get"), "{key}: {failure}");
    }
}

#[test]
fn a_server_is_explained_by_two_loads() {
    let folder = tempfile::tempdir().unwrap();
    let server = ReferenceServer::start("immediate");
    let load = ["-d", "300ms", "--warmup", "50ms", "--warm-limit", "0s", "-c", "4"];
    let outputs = ["--json", "-o", "why.txt", "--records", "kept"];
    let output = paceline(folder.path(), &[&["why", &server.url()][..], &load, &outputs].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let why: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        why["limit"]["kind"].is_string() && why["closed"]["achieved_per_s"].as_f64() > Some(0.0),
        "{why}"
    );
    assert!(!why["costs"].as_array().unwrap().is_empty(), "{why}");
    assert!(why["profile"].is_object() || why["profile_failure"].is_string(), "{why}");
    assert!(why["syscalls"].is_object() || why["syscalls_failure"].is_string(), "{why}");
    let records = why["records"].as_array().unwrap();
    assert_eq!(records.len(), 2, "{why}");
    for record in records {
        let text = std::fs::read_to_string(folder.path().join(record.as_str().unwrap())).unwrap();
        assert!(paceline_record::read_run(&text).is_ok());
    }
    let text = std::fs::read_to_string(folder.path().join("why.txt")).unwrap();
    for shown in ["limit ", "where the time of a request goes", "try next", "records "] {
        assert!(text.contains(shown), "{shown} is missing in\n{text}");
    }
}

/// What `why` says of a server of `slow.py`: its first step; an error without Python, or where the kernel does not show the
/// calls of threads.
fn first_step(reason: &str) -> Result<String, &'static str> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/slow.py");
    let mut command = Command::new("python3");
    command.arg(script).arg(reason).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut server) = command.spawn() else { return Err("python3 is not installed") };
    let mut port = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://127.0.0.1:{}/", port.trim());
    let load = ["why", &url, "-d", "1s", "--warmup", "200ms", "--warm-limit", "0s", "-c", "16"];
    let output = paceline(folder.path(), &[&load[..], &["--json", "--records", "kept"]].concat());
    drop(server.stdin.take());
    server.wait().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let why: Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = json(&folder.path().join(why["records"][0].as_str().unwrap()));
    if run["server_waits"].is_null() {
        return Err("the kernel does not show what threads wait for");
    }
    Ok(format!("{} because {}", why["next"][0]["what"], why["next"][0]["because"]))
}

#[test]
fn a_lock_is_the_first_thing_to_try() {
    let step = match first_step("lock") {
        Ok(step) => step,
        Err(why) => return println!("skipped: {why}"),
    };
    assert!(step.contains("compete for a lock"), "{step}");
}

#[test]
fn a_sleep_is_the_first_thing_to_try() {
    let step = match first_step("sleep") {
        Ok(step) => step,
        Err(why) => return println!("skipped: {why}"),
    };
    assert!(step.contains("Requests sleep"), "{step}");
}

#[test]
fn many_calls_to_a_service_are_the_first_thing_to_try() {
    let step = match first_step("calls") {
        Ok(step) => step,
        Err(why) => return println!("skipped: {why}"),
    };
    assert!(step.contains("N+1") && step.contains("each request sends"), "{step}");
}
