//! What a busy machine does to a test's run: a verdict that is the machine's doing is no fault of what is tested.
//!
//! For `faults` and `outputs`, where an exit status is held, and for whatever only a machine with time to spare does at
//! the first try. A gate that failed stays a failure, and so does every other verdict. Which verdicts a machine
//! deserves is held by the judge crate.

use serde_json::Value;
use std::process::Output;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Verdicts that other people's work can bring on.
const OF_THE_MACHINE: [&str; 5] =
    ["generator_bound", "generator_descheduled", "generator_lag", "generator_stall", "steal"];

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

/// Whether a gate failed for another reason than that the run is invalid, by the record; by the report, for any.
fn has_failed_gate(printed: &str) -> bool {
    match serde_json::from_str::<Value>(printed) {
        Ok(record) => {
            let gates = record["gates"].as_array().into_iter().flatten();
            gates.flat_map(|gate| gate["reasons"].as_array().unwrap()).any(|reason| reason != "invalid")
        }
        Err(_) => printed.lines().any(|line| line.trim_start().starts_with("FAIL")),
    }
}

/// The exit status that a run would have had on a quiet machine: a 1 is taken for 0 where nothing but the machine
/// spoiled the run. `printed` is its record or its report.
pub fn quiet_status(status: i32, printed: &str) -> i32 {
    let spoilers = spoilers(printed);
    let noise = spoilers.iter().all(|name| OF_THE_MACHINE.contains(&name.as_str()));
    if status == 1 && noise && !spoilers.is_empty() && !has_failed_gate(printed) { 0 } else { status }
}

/// The same of a run that has ended.
pub fn quiet_status_of(output: &Output) -> i32 {
    quiet_status(output.status.code().unwrap(), &String::from_utf8_lossy(&output.stdout))
}

/// Does something up to five times, until it comes out as it does on a machine that has time for it. An error is what
/// such a machine may do to it; anything else is to panic.
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

/// How long the watch sleeps between its looks at the clock.
const NAP: Duration = Duration::from_millis(10);

/// Does something, and tells the longest that the machine kept a thread waiting meanwhile that had only slept.
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
fn only_the_machines_doing_is_passed_over() {
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
