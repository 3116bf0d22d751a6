//! Tests the files that a run writes: each is read by an independent parser and compared with the record.
//!
//! The HdrHistogram log is read by the crate of that name. Files that cannot be written or combined are reported before
//! the run. Files of runs that ended early are in `endings.rs`.

use super::{ReferenceServer, Runs as _, text};
use crate::faults::closed_port;
use crate::noise::quiet_status;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use paceline_record::TimeKind;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Flags of a run of two seconds at 500/s over two threads, after a warm-up of one second.
const SHORT: [&str; 6] = ["-r", "500", "-d", "2s", "-t", "2"];

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The rows of a CSV, by column.
fn csv(path: &Path) -> Vec<BTreeMap<String, String>> {
    let file = fs::read_to_string(path).unwrap();
    let mut lines = file.split("\r\n").filter(|line| !line.is_empty());
    let header: Vec<String> = lines.next().unwrap().split(',').map(str::to_owned).collect();
    let row = |line: &str| {
        let cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        assert_eq!(cells.len(), header.len(), "{line}");
        header.iter().cloned().zip(cells).collect()
    };
    lines.map(row).collect()
}

#[test]
fn seconds_add_up_to_the_achieved_rate() {
    let (server, folder) = (ReferenceServer::start("immediate"), tempfile::tempdir().unwrap());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let names = [path("run.json"), path("s.csv"), path("s.ndjson")];
    let files = ["--format", "json", "-o", &names[0], "--csv", &names[1], "--ndjson", &names[2]];
    let output = server.output(&[&SHORT[..], &files].concat());
    assert_eq!(quiet_status(output.status.code().unwrap(), &fs::read_to_string(&names[0]).unwrap()), 0);
    assert!(output.stdout.is_empty());
    let (record, rows) = (json(names[0].as_ref()), csv(names[1].as_ref()));
    let phases: Vec<&str> = rows.iter().map(|row| row["phase"].as_str()).collect();
    assert!(phases.starts_with(&["connect", "warmup", "window", "window"]), "{phases:?}");
    let sum = |phase: &str, column: &str| -> u64 {
        rows.iter().filter(|row| row["phase"] == phase).map(|row| row[column].parse::<u64>().unwrap()).sum()
    };
    assert_eq!(sum("window", "ok"), record["total"]["completed_in_window"].as_u64().unwrap());
    let ok: u64 = record["intervals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|interval| interval["block"]["counts"]["ok"].as_u64().unwrap())
        .sum();
    assert_eq!(ok, rows.iter().map(|row| row["ok"].parse::<u64>().unwrap()).sum::<u64>());
    for row in rows.iter().filter(|row| row["phase"] == "window") {
        assert_eq!((row["offered_per_s"].as_str(), row["length_s"].as_str()), ("500.0", "1.0"));
    }
    // On a busy machine a second may pass without a response.
    let answered: Vec<_> = rows.iter().filter(|row| row["phase"] == "window" && row["ok"] != "0").collect();
    assert!(!answered.is_empty());
    for row in answered {
        let p50: f64 = row["response_time_ns_p50"].parse().unwrap();
        assert!(p50 > 0.0 && p50 <= row["response_time_ns_max"].parse().unwrap());
    }
    // The same as JSON, line by line.
    let ndjson = fs::read_to_string(&names[2]).unwrap();
    let lines: Vec<Value> = ndjson.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), rows.len());
    for (line, row) in lines.iter().zip(&rows) {
        for (column, cell) in row {
            let reported = match &line[column] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(&reported, cell, "{column}");
        }
    }
}

/// The histograms of a log, added up by tag, as read by the HdrHistogram crate.
fn logged(path: &str) -> BTreeMap<String, Histogram<u64>> {
    let bytes = fs::read(path).unwrap();
    let mut sums = BTreeMap::<String, Histogram<u64>>::new();
    let mut started = false;
    for entry in IntervalLogIterator::new(&bytes) {
        match entry.unwrap() {
            LogEntry::StartTime(_) => started = true,
            LogEntry::BaseTime(_) => {}
            LogEntry::Interval(interval) => {
                assert!(started && interval.duration().as_millis() <= 1_000);
                let encoded = base64_of(interval.encoded_histogram());
                let histogram: Histogram<u64> =
                    Deserializer::new().deserialize(&mut encoded.as_slice()).unwrap();
                let tag = interval.tag().unwrap().as_str().to_owned();
                match sums.get_mut(&tag) {
                    Some(sum) => sum.add(histogram).unwrap(),
                    None => drop(sums.insert(tag, histogram)),
                }
            }
        }
    }
    sums
}

fn base64_of(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

#[test]
fn hdrhistogram_tools_read_the_same_values_as_the_record() {
    let (server, folder) = (ReferenceServer::start("immediate"), tempfile::tempdir().unwrap());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let names = [path("run.json"), path("a.hlog"), path("a.hgrm")];
    let files = ["--format", "json", "-o", &names[0], "--hdr", &names[1], "--hdr", &names[2]];
    let output = server.output(&[&SHORT[..], &files].concat());
    assert_eq!(quiet_status(output.status.code().unwrap(), &fs::read_to_string(&names[0]).unwrap()), 0);
    let (record, logged) = (json(names[0].as_ref()), logged(&names[1]));
    let tags = ["connection_wait", "first_byte", "generator_lag", "response", "service"];
    assert_eq!(logged.keys().collect::<Vec<_>>(), tags);
    for (tag, sum) in &logged {
        let kind = TimeKind::ALL.into_iter().find(|kind| kind.tag() == tag).unwrap();
        let times = &record["total"][kind.key()];
        assert_eq!(sum.len(), times["count"].as_u64().unwrap(), "{tag}");
        assert_eq!(sum.value_at_quantile(0.5), times["p50"].as_u64().unwrap(), "{tag}");
        assert!(sum.equivalent(sum.value_at_quantile(0.99), times["p99"].as_u64().unwrap()), "{tag}");
    }
    let hgrm = fs::read_to_string(&names[2]).unwrap();
    assert!(hgrm.contains("#[Value unit: milliseconds]") && hgrm.contains("#[Response time of "), "{hgrm}");
    let rows: Vec<Vec<f64>> = hgrm
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().filter_map(|cell| cell.parse().ok()).collect())
        .filter(|row: &Vec<f64>| row.len() >= 3)
        .collect();
    let last = rows.last().unwrap();
    let response = &record["total"]["response_time_ns"];
    assert_eq!((last[1], last[2]), (1.0, response["count"].as_f64().unwrap()));
    assert!((last[0] * 1e6 - response["max"].as_f64().unwrap()).abs() < 1.0);
    assert!(rows.windows(2).all(|pair| pair[0][0] <= pair[1][0] && pair[0][1] < pair[1][1]));
}

#[test]
fn a_closed_loop_logs_no_response_times() {
    let (server, folder) = (ReferenceServer::start("immediate"), tempfile::tempdir().unwrap());
    let log = folder.path().join("a.HLOG");
    let output = server.output(&["-n", "500", "--hdr", log.to_str().unwrap(), "--format", "json"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    let logged = logged(log.to_str().unwrap());
    assert_eq!(
        logged.iter().map(|(tag, sum)| (tag.as_str(), sum.len())).collect::<Vec<_>>(),
        [("first_byte", 500), ("service", 500)]
    );
}

#[test]
fn invalid_files_are_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.csv");
    let path = path.to_str().unwrap();
    let server = ReferenceServer::start("immediate");
    for (flags, code, said) in [
        (["--csv", path, "--ndjson", path], 2, "is used for two outputs"),
        (["--csv", "/dev/no/such", "--ndjson", "/dev/no/such"], 2, "is used for two outputs"),
        (["--hdr", "x.txt", "-n", "1"], 2, "FILE.hlog"),
        (["--csv", "no/such/folder.csv", "-n", "1"], 3, "cannot write no/such/folder.csv"),
        (["--hdr", "no/such/folder.hgrm", "-n", "1"], 3, "cannot write no/such/folder.hgrm"),
    ] {
        let output = server.output(&flags);
        let reported = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{reported}");
        assert!(reported.contains(said), "{reported}");
    }
    assert!(!Path::new(path).exists());
}

#[test]
fn a_run_that_does_not_start_keeps_an_existing_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("older.csv");
    fs::write(&path, "what was here").unwrap();
    let url = format!("http://{}/", closed_port());
    let flags = ["run", &url, "--csv", path.to_str().unwrap(), "--connect-timeout", "1s"];
    let output = std::process::Command::new(super::PACELINE).args(flags).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(fs::read_to_string(&path).unwrap(), "what was here");
}

/// The content of a file after runs whose standard output appends to it.
fn appended(server: &ReferenceServer, file: &Path, runs: &[&[&str]]) -> String {
    for flags in runs {
        let end = fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
        let output = server.run(&[&["-n", "100"], *flags].concat()).stdout(end).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    }
    fs::read_to_string(file).unwrap()
}

#[test]
fn standard_output_is_written_to_and_never_replaced() {
    let (server, folder) = (ReferenceServer::start("immediate"), tempfile::tempdir().unwrap());
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("/dev/stdout", &link).unwrap();
    let runs = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", link.to_str().unwrap()];
    let flags = runs.map(|name| ["--format", "json", "-o", name]);
    let file = folder.path().join("runs.ndjson");
    fs::write(&file, "{}\n").unwrap();
    let held = appended(&server, &file, &flags.each_ref().map(|flags| flags.as_slice()));
    let records: Vec<Value> = held.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len(), 1 + runs.len());
    assert!(records[1..].iter().all(|record| record["total"]["counts"]["ok"] == 100));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn seconds_and_report_share_standard_output() {
    let (server, folder) = (ReferenceServer::start("immediate"), tempfile::tempdir().unwrap());
    let path = folder.path().join("all.txt");
    // As opened by `> all.txt`: output continues where the previous output ended.
    let file = fs::File::create(&path).unwrap();
    let output = server.run(&["-n", "100", "--csv", "/dev/stdout"]).stdout(file).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    let held = fs::read_to_string(&path).unwrap();
    assert!(held.starts_with("at,start_s,length_s,phase,"), "{held}");
    assert!(held.contains(",window,") && held.contains("100 requests, all ok"), "{held}");
    let held = appended(&server, &path, &[&["--csv", "/dev/stdout"]]);
    assert_eq!(held.matches("100 requests, all ok").count(), 2, "{held}");
}
