//! Handles the effects of a busy machine on tests: a verdict caused by the machine is not a failure of the tested code.
//!
//! Used by `faults` and `outputs` where an exit status is checked, and for behaviour that only an idle machine shows at
//! the first try. A failed gate remains a failure, and so does every other verdict. The judge crate tests which
//! verdicts a machine gets.

use serde_json::Value;
use std::process::Output;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Verdicts that other load on the machine can cause.
const OF_THE_MACHINE: [&str; 5] =
    ["generator_bound", "generator_descheduled", "generator_lag", "generator_stall", "steal"];

/// The names of the verdicts that make a run invalid, from its record or its report.
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

/// Whether a gate failed for another reason than an invalid run, from a record; from a report, whether any gate failed.
fn has_failed_gate(printed: &str) -> bool {
    match serde_json::from_str::<Value>(printed) {
        Ok(record) => {
            let gates = record["gates"].as_array().into_iter().flatten();
            gates.flat_map(|gate| gate["reasons"].as_array().unwrap()).any(|reason| reason != "invalid")
        }
        Err(_) => printed.lines().any(|line| line.trim_start().starts_with("FAIL")),
    }
}

/// The exit status that a run would have had on an idle machine: 1 counts as 0 if only the machine spoiled the run.
/// `printed` is its record or its report.
pub fn quiet_status(status: i32, printed: &str) -> i32 {
    let spoilers = spoilers(printed);
    let noise = spoilers.iter().all(|name| OF_THE_MACHINE.contains(&name.as_str()));
    if status == 1 && noise && !spoilers.is_empty() && !has_failed_gate(printed) { 0 } else { status }
}

/// The same for a finished run.
pub fn quiet_status_of(output: &Output) -> i32 {
    quiet_status(output.status.code().unwrap(), &String::from_utf8_lossy(&output.stdout))
}

/// Tries `attempt` up to five times, until it gives its idle-machine result. It returns an error for effects of a busy
/// machine and panics on anything else.
pub fn within_five_tries<T>(mut attempt: impl FnMut() -> Result<T, String>) -> T {
    let mut reported = Vec::new();
    while reported.len() < 5 {
        match attempt() {
            Ok(done) => return done,
            Err(why) => reported.push(why),
        }
    }
    panic!("not once in five tries: {reported:#?}")
}

/// How long the watching thread sleeps between its readings of the clock.
const NAP: Duration = Duration::from_millis(10);

/// Runs `work` and returns the longest delay of a sleeping thread meanwhile.
pub fn watched<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let (over, is_over) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        let mut longest = Duration::ZERO;
        loop {
            let begun = Instant::now();
            let reported = is_over.recv_timeout(NAP);
            longest = longest.max(begun.elapsed().saturating_sub(NAP));
            if reported != Err(RecvTimeoutError::Timeout) {
                return longest;
            }
        }
    });
    let done = work();
    drop(over);
    (done, watch.join().unwrap())
}

#[test]
fn only_effects_of_the_machine_are_ignored() {
    let text = "  closed loop\n  invalid  steal (steal share 20.5%)\n  caution  own_queue (x)\n";
    assert_eq!((quiet_status(1, text), quiet_status(3, text)), (0, 3));
    let worse = format!("{text}  invalid  gave_up (x)\n");
    assert_eq!((quiet_status(1, &worse), quiet_status(1, "FAIL p99<1ns: 3 ms")), (1, 1));
    assert_eq!(quiet_status(1, &format!("FAIL p99<1ns: 3 ms\n{text}")), 1);
    let record = |name: &str, reasons: &str| {
        let gates = format!(r#"[{{"reasons":[{reasons}]}}]"#);
        format!(r#"{{"verdicts":[{{"name":{name:?},"severity":"invalid"}}],"gates":{gates}}}"#)
    };
    let status = |name, reasons| quiet_status(1, &record(name, reasons));
    assert_eq!((status("steal", ""), status("steal", r#""invalid""#), status("gave_up", "")), (0, 0, 1));
    assert_eq!(status("steal", r#""invalid","beyond_limit""#), 1);
}
