//! `paceline audit`: exit statuses, text and JSON. What it finds is tested in `crates/import`.

use std::path::Path;
use std::process::{Command, Output};

fn audit(arguments: &[&str]) -> Output {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/fixtures");
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline"));
    command.arg("audit").args(arguments).current_dir(fixtures).output().unwrap()
}

#[test]
fn an_audit_shows_its_arithmetic_and_fails() {
    let output = audit(&["httparena-profile.json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with("httparena-profile.json (httparena, 2 rows)\n"), "{text}");
    assert!(text.contains("a 99th percentile that is the mean: 1 of 2 rows"), "{text}");
    let output = audit(&["httparena-profile.json", "oha.json", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let formats: Vec<_> =
        document["reports"].as_array().unwrap().iter().map(|report| &report["format"]).collect();
    assert_eq!(formats, ["httparena", "oha"]);
}

#[test]
fn a_report_without_faults_and_a_file_that_is_none() {
    let output = audit(&["hey.txt"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("nothing wrong was found") && text.contains("one run per row"), "{text}");
    let output = audit(&["none.json"]);
    let reported = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && reported.contains("cannot read none.json"), "{reported}");
}
