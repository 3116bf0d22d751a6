//! What a busy machine does to a test's run: a verdict that is the machine's doing is no fault of what is tested.
//!
//! For `faults` and `outputs`, where an exit status is held. A gate that failed stays a failure, and so does every
//! other verdict. Which verdicts a machine deserves is held by the record crate.

use serde_json::Value;
use std::process::Output;

/// Verdicts that other people's work can bring on.
const OF_THE_MACHINE: [&str; 4] = ["generator_bound", "generator_descheduled", "generator_lag", "steal"];

/// The names of the verdicts that make a run invalid, read off its record or its report.
fn spoilers(printed: &str) -> Vec<String> {
    let named = |name: &str| name.to_owned();
    match serde_json::from_str::<Value>(printed) {
        Ok(record) => {
            let verdicts = record["verdicts"].as_array().unwrap();
            let invalid = verdicts.iter().filter(|verdict| verdict["severity"] == "invalid");
            invalid.map(|verdict| named(verdict["name"].as_str().unwrap())).collect()
        }
        Err(_) => {
            let said = printed.lines().filter_map(|line| line.trim_start().strip_prefix("invalid "));
            said.filter_map(|rest| rest.split_whitespace().next().map(named)).collect()
        }
    }
}

/// The exit status that a run would have had on a quiet machine: a 1 is taken for 0 where nothing but the machine
/// spoiled the run. `printed` is its record or its report.
pub fn quiet_status(status: i32, printed: &str) -> i32 {
    let spoilers = spoilers(printed);
    let noise = spoilers.iter().all(|name| OF_THE_MACHINE.contains(&name.as_str()));
    if status == 1 && noise && !spoilers.is_empty() { 0 } else { status }
}

/// The same of a run that has ended.
pub fn quiet_status_of(output: &Output) -> i32 {
    quiet_status(output.status.code().unwrap(), &String::from_utf8_lossy(&output.stdout))
}

#[test]
fn only_the_machines_doing_is_passed_over() {
    let text = "  closed loop\n  invalid  steal (steal share 20.5%)\n  caution  own_queue (x)\n";
    assert_eq!((quiet_status(1, text), quiet_status(3, text)), (0, 3));
    let worse = format!("{text}  invalid  gave_up (x)\n");
    assert_eq!((quiet_status(1, &worse), quiet_status(1, "FAIL p99<1ns: 3 ms")), (1, 1));
    let record = |name: &str| format!(r#"{{"verdicts":[{{"name":{name:?},"severity":"invalid"}}]}}"#);
    assert_eq!((quiet_status(1, &record("steal")), quiet_status(1, &record("gave_up"))), (0, 1));
}
