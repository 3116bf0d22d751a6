//! Tests jobs through the binary: printing, running from a file, records without secrets, outputs by extension, exit
//! status.

use crate::reference::{PACELINE, ReferenceServer};
use serde_json::Value;
use std::process::{Command, Output};

/// These tests do not check the effects of a busy machine on the numbers.
const ALLOW: &str = "--allow-invalid";

fn run(arguments: &[&str]) -> Output {
    Command::new(PACELINE).arg("run").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_job_is_printed_run_from_a_file_and_repeated_from_a_record() {
    let server = ReferenceServer::start("immediate");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let url = server.url();
    let flags = [&url, "-n", "12", "-c", "3", "-H", "Cookie: session=1", "--expect-status", "200"];
    let printed = run(&[&flags[..], &["--print-job"]].concat());
    let job = text(&printed.stdout);
    assert!(printed.status.success() && job.contains("Cookie: ***") && !job.contains("session"), "{job}");
    std::fs::write(path("job.toml"), &job).unwrap();
    // A stored job contains no secrets: without them it is refused.
    let refused = run(&["--job", &path("job.toml")]);
    let error = text(&refused.stderr);
    assert!(refused.status.code() == Some(2) && error.contains("Cookie has the mask ***"), "{error}");
    let cookie = ["-H", "Cookie: session=1"];
    let from_file = ["--job", &path("job.toml"), ALLOW, "--json", "-o", &path("record.json")];
    let from_file = run(&[&from_file[..], &cookie].concat());
    assert!(from_file.status.success(), "{}", text(&from_file.stderr));
    let record: Value = serde_json::from_str(&std::fs::read_to_string(path("record.json")).unwrap()).unwrap();
    assert_eq!((&record["loop"]["requests"], &record["total"]["counts"]["ok"]), (&12.into(), &12.into()));
    // A flag given with the file changes the job.
    let again = run(&[&["--job", &path("record.json"), "-n", "5", "--json"][..], &cookie].concat());
    let record: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((&record["job"]["connections"], &record["total"]["counts"]["ok"]), (&3.into(), &5.into()));
    std::fs::write(path("typo.toml"), "url = 'http://a/'\nconections = 3\n").unwrap();
    let typo = run(&["--job", &path("typo.toml")]);
    let error = text(&typo.stderr);
    assert!(typo.status.code() == Some(2) && error.contains("conections"), "{error}");
}

#[test]
fn a_job_with_a_schedule_is_printed_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("schedule"), "0.1\n0.2\n0.3\n").unwrap();
    let first = run(&["http://127.0.0.1:9/", "--schedule", &path("schedule"), "--print-job"]);
    assert!(first.status.success(), "{}", text(&first.stderr));
    std::fs::write(path("job.toml"), &first.stdout).unwrap();
    let again = run(&["--job", &path("job.toml"), "--print-job"]);
    assert_eq!((again.status.code(), text(&again.stdout)), (Some(0), text(&first.stdout)));
    std::fs::write(path("schedule"), "0.2\n0.1\n").unwrap();
    let broken = run(&["--job", &path("job.toml"), "--print-job"]);
    let error = text(&broken.stderr);
    assert!(broken.status.code() == Some(2) && error.contains("schedule:2: "), "{error}");
}

#[test]
fn records_contain_no_secrets() {
    let server = ReferenceServer::start("immediate");
    let flags = ["-n", "1", "-c", "1", "--json", "-a", "user:open sesame", "-H", "Cookie: session=1"];
    let output = run(&[&[server.url().as_str()], &flags[..]].concat());
    let record = text(&output.stdout);
    assert!(record.contains("Authorization: ***"), "{record}");
    assert!(!record.contains("sesame") && !record.contains("session=1"), "{record}");
}

#[test]
fn outputs_have_the_format_of_their_extension() {
    let server = ReferenceServer::start("immediate");
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [json, txt, hgrm, svg] = ["a.json", "a.txt", "a.hgrm", "a.svg"].map(path);
    let outputs = ["-o", &json, "-o", &txt, "-o", &hgrm, "-o", &svg, "--histograms", "none", ALLOW];
    let output = run(&[&[server.url().as_str(), "-n", "1k", "-c", "2"], &outputs[..]].concat());
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let record: Value = serde_json::from_str(&read(&json)).unwrap();
    assert_eq!(record["total"]["counts"]["ok"], 1_000);
    assert!(record["total"]["service_time_ns"].get("histogram").is_none());
    assert!(read(&json).len() < 10_000, "{} bytes", read(&json).len());
    assert!(read(&txt).contains("requests/s"), "{}", read(&txt));
    assert!(read(&hgrm).contains("Percentile"), "{}", read(&hgrm));
    let [whole, page] = ["b.json", "b.html"].map(path);
    assert!(run(&[server.url().as_str(), "-n", "50", "-o", &whole, ALLOW]).status.success());
    let report = |arguments: &[&str]| Command::new(PACELINE).arg("report").args(arguments).output().unwrap();
    let made = report(&[&whole, "-o", &page]);
    assert!(made.status.success() && read(&page).contains("<html"), "{made:?}");
    let refused = report(&[&whole, "--format", "csv"]);
    assert!(text(&refused.stderr).contains("is the record of a run"), "{refused:?}");
    assert!(text(&report(&[&whole, "--full"]).stderr).contains("--full applies only to a round"));
    assert!(text(&report(&["a", "b", "--full"]).stderr).contains("--full applies to the report of one"));
    assert_eq!(report(&["--copies", "--svg", "ranking"]).status.code(), Some(2));
    assert!(text(&report(&[&json]).stderr).contains("without --histograms none"));
    assert!(read(&svg).contains("service time of the whole window"), "{}", read(&svg));
}

#[test]
fn redirects_are_not_ok_and_an_invalid_run_can_be_allowed() {
    let address = crate::faults::servers::always(
        b"HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n",
    );
    let url = format!("http://{address}/");
    let flags = [url.as_str(), "-n", "5", "-c", "1", "--json"];
    let output = run(&flags);
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &record["total"]["counts"]["bad_status"]), (Some(1), &5.into()));
    let allowed = run(&[&flags[..], &["--allow-invalid"]].concat());
    assert_eq!(allowed.status.code(), Some(0));
}
