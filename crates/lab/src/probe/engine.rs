//! Checks a case by Paceline's own generator: a few requests, with everything that the case expects.
//!
//! For protocols that the other clients do not speak. A generator is started for each check, under a shepherd, and its
//! record says what was wrong.

use super::{ProbeDeadline, ProbeError};
use crate::case_request::{BodyFolder, CaseRequest, ValidatedBodies};
use paceline_host::Interrupt;
use paceline_host::shepherd::{CommandOutput, Ended, Shepherd, ShepherdOrder};
use paceline_record::{Run, read_run};
use paceline_stats::counted;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Requests of a check, one after another on a connection.
const REQUESTS: u32 = 5;
/// Requests at once, where a connection has streams: as many as the probe sends over HTTP/2.
const STREAMS: u32 = 16;
/// How often the deadline and Ctrl-C are checked.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long the generator may take to end when asked to.
const STOP_LIMIT: Duration = Duration::from_secs(2);
/// How much of a body that differs is shown.
const SHOWN_CHARS: usize = 60;

/// How a check's generator is started.
#[derive(Clone, Copy, Debug)]
pub struct EngineProbe<'a> {
    /// The command that starts a shepherd; its program is the generator too.
    pub shepherd: &'a [String],
    /// A folder for files of checks.
    pub scratch: &'a Path,
    /// Ctrl-C.
    pub interrupt: Interrupt,
}

impl EngineProbe<'_> {
    /// Sends a few requests; returns what was wrong with the responses. `http` is the version of HTTP, if not that
    /// of the protocol; `validated` has the bodies that passed validation.
    ///
    /// # Errors
    /// [`ProbeError::Interrupted`] alone.
    pub(crate) fn check(
        &self,
        request: &CaseRequest<'_>,
        http: Option<&str>,
        validated: &ValidatedBodies,
        limit: Duration,
    ) -> Result<Option<String>, ProbeError> {
        static CHECKS: AtomicU64 = AtomicU64::new(0);
        let folder = self.scratch.join(format!("check-{}", CHECKS.fetch_add(1, Ordering::Relaxed)));
        let flags = match request.flags(BodyFolder(&folder.join("bodies")), validated) {
            Ok(flags) => flags,
            Err(problem) => return Ok(Some(problem)),
        };
        let command = self.command(request, http, flags, limit);
        let deadline = ProbeDeadline::after(limit, self.interrupt);
        let outcome = self.run(command, &folder, deadline);
        // The next check has another folder.
        let _ = fs::remove_dir_all(&folder);
        match outcome {
            Err(ProbeError::Interrupted) => Err(ProbeError::Interrupted),
            Err(error) => Ok(Some(error.to_string())),
            Ok(Err(problem)) => Ok(Some(problem)),
            Ok(Ok(run)) => Ok(failure(&run, request.case.expect.events)),
        }
    }

    fn command(
        &self,
        request: &CaseRequest<'_>,
        http: Option<&str>,
        flags: Vec<String>,
        limit: Duration,
    ) -> Vec<String> {
        let has_streams = matches!(http, Some("2" | "3"));
        let requests = if has_streams { STREAMS } else { REQUESTS };
        let timeout = format!("{}ms", limit.as_millis() / 2);
        let mut command: Vec<String> = self.shepherd.iter().take(1).cloned().collect();
        command.extend(["run".to_owned(), request.url()]);
        command.extend(["-c", "1", "-n", &requests.to_string(), "--timeout", &timeout].map(str::to_owned));
        command.extend(["--connect-timeout", &timeout, "--seed", "1", "--format", "json"].map(str::to_owned));
        if let Some(http) = http {
            command.extend(["--http", http].map(str::to_owned));
        }
        if has_streams {
            command.extend(["--streams", &STREAMS.to_string()].map(str::to_owned));
        }
        [command, flags].concat()
    }

    /// The record of a run, or why there is none, in words.
    fn run(
        &self,
        command: Vec<String>,
        folder: &Path,
        deadline: ProbeDeadline,
    ) -> Result<Result<Run, String>, ProbeError> {
        let failed = |error: std::io::Error| ProbeError::Generator(error.to_string());
        fs::create_dir_all(folder).map_err(failed)?;
        let (stdout, stderr) = (folder.join("stdout"), folder.join("stderr"));
        let output = CommandOutput::Files { stdout: stdout.clone(), stderr: stderr.clone() };
        let plain = ShepherdOrder::plain(command, folder.to_owned(), STOP_LIMIT);
        let order = ShepherdOrder { output, ..plain };
        let mut generator = Shepherd::start(self.shepherd, &order).map_err(failed)?;
        let ended = loop {
            if let Some(ended) = generator.wait_ended(LOOK_EVERY) {
                break ended;
            }
            deadline.check()?;
        };
        // It has ended already.
        let _ = generator.stop();
        let read = |path: &Path| {
            paceline_files::read_text(path, paceline_files::MAX_OUTPUT_BYTES).unwrap_or_default()
        };
        Ok(result(ended, &read(&stdout), &read(&stderr)))
    }
}

/// The record that the generator printed; else its own words.
fn result(ended: Ended, stdout: &str, stderr: &str) -> Result<Run, String> {
    let said = stderr.trim().lines().map(|line| line.trim_start_matches("paceline: ").trim());
    let said = said.collect::<Vec<_>>().join("; ");
    match read_run(stdout) {
        Ok(run) => Ok(run),
        Err(_) if !said.is_empty() => Err(said),
        Err(error) => Err(format!("the check ended with {ended}, without a record: {error}")),
    }
}

/// What was wrong with the responses of a run.
fn failure(run: &Run, events: Option<u64>) -> Option<String> {
    let counts = &run.total.counts;
    if counts.not_ok() == 0 && counts.ok > 0 {
        return events.and_then(|wanted| events_difference(run, wanted));
    }
    let mut parts =
        vec![format!("{} of {} failed", counts.not_ok(), counted(counts.scheduled, "request", "requests"))];
    if counts.bad_status > 0 {
        let statuses: Vec<&str> = run.total.status.keys().map(String::as_str).collect();
        parts.push(format!("status {}", statuses.join(", ")));
    }
    parts.extend(run.bad_bodies.first().map(|bad| {
        let shown: String = bad.shown.chars().take(SHOWN_CHARS).collect();
        format!("{}: \"{}\"", bad.fault, shown.escape_debug())
    }));
    parts.extend(run.connections.commonest_failure.clone());
    if counts.timed_out > 0 {
        parts.push("no complete response within the time limit".to_owned());
    }
    Some(parts.join("; "))
}

fn events_difference(run: &Run, wanted: u64) -> Option<String> {
    let counts = run.total.stream_events?;
    let (least, most) = (counts.events_min.unwrap_or(0), counts.events_max.unwrap_or(0));
    let is_right = (least, most) == (wanted, wanted);
    (!is_right).then(|| match least == most {
        true => format!("a stream has {} instead of {wanted}", counted(least, "event", "events")),
        false => format!("streams have {least} to {most} events instead of {wanted}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::{BadBody, EventCounts};

    fn ended() -> Ended {
        Ended { code: Some(3), signal: None, asked: false }
    }

    #[test]
    fn a_run_that_did_not_begin_says_why() {
        let stderr = "paceline: cannot connect to 127.0.0.1:1\n  hint: start it\n";
        let said = result(ended(), "", stderr).unwrap_err();
        assert_eq!(said, "cannot connect to 127.0.0.1:1; hint: start it");
        assert!(result(ended(), "", "").unwrap_err().contains("without a record"));
    }

    #[test]
    fn a_failure_names_what_was_wrong() {
        let mut run = Run::default();
        (run.total.counts.scheduled, run.total.counts.ok) = (5, 5);
        assert_eq!(failure(&run, None), None);
        let events = |least, most| EventCounts {
            events_min: Some(least),
            events_max: Some(most),
            ..EventCounts::default()
        };
        run.total.stream_events = Some(events(3, 3));
        assert_eq!(failure(&run, Some(3)), None);
        assert_eq!(failure(&run, Some(4)).as_deref(), Some("a stream has 3 events instead of 4"));
        run.total.stream_events = Some(events(3, 4));
        assert_eq!(failure(&run, Some(4)).as_deref(), Some("streams have 3 to 4 events instead of 4"));
        let counts = &mut run.total.counts;
        (counts.ok, counts.bad_body, counts.scheduled) = (3, 2, 5);
        let (fault, shown) = ("it differs".to_owned(), "a\u{1b}b".to_owned());
        let bad = BadBody {
            request: None,
            at_ns: 0,
            status: 101,
            body_bytes: 3,
            fault,
            differs_at: None,
            shown,
            shown_from: 0,
        };
        run.bad_bodies.push(bad);
        let expected = "2 of 5 requests failed; it differs: \"a\\u{1b}b\"";
        assert_eq!(failure(&run, None).as_deref(), Some(expected));
    }
}
