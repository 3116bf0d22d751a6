//! Our own generator, or another program that takes the same flags: `paceline run`.
//!
//! `generator` in `mod.rs` chooses it for every command that is no program of `foreign`. It writes the line that a
//! person could repeat by hand, and reads the record left behind. The run brings its verdicts along: none is added
//! here. The phases it reports meanwhile are read by `follow`.

use super::assignment::{Assignment, Finished, Generator, Measured};
use paceline_record::{Arrivals, read_run};
use std::fs;
use std::io;
use std::path::Path;

/// Exit status of a run that was measured, whether or not it is valid.
const MEASURED: [i32; 2] = [0, 1];

/// `PROGRAM run URL ...`.
pub struct Paceline {
    program: Vec<String>,
    flags: Vec<String>,
}

impl Paceline {
    /// The program, with arguments that come before `run`.
    pub fn new(program: Vec<String>) -> Self {
        Self { program, flags: Vec::new() }
    }

    /// The same with further flags of `paceline run`.
    pub fn with_flags(self, flags: &[String]) -> Self {
        Self { flags: flags.to_vec(), ..self }
    }
}

impl Generator for Paceline {
    fn command(&self, assignment: &Assignment) -> Vec<String> {
        let mut words = self.program.clone();
        let mut say = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
        say("run", assignment.url.clone());
        if assignment.method != "GET" {
            say("-X", assignment.method.clone());
        }
        say("-c", assignment.load.connections.to_string());
        if assignment.load.depth > 1 {
            let is_http2 = assignment.load.http.as_deref() == Some("2");
            say(if is_http2 { "--streams" } else { "--pipeline" }, assignment.load.depth.to_string());
        }
        if let Some(http) = &assignment.load.http {
            say("--http", http.clone());
        }
        if let Some(requests) = assignment.load.requests_per_connection {
            say("--requests-per-connection", requests.to_string());
        }
        match (assignment.load.requests, assignment.load.duration_s) {
            (Some(requests), _) => say("-n", requests.to_string()),
            (None, duration_s) => say("-d", milliseconds(duration_s.unwrap_or_default())),
        }
        if let Some(rate_per_s) = assignment.load.rate_per_s {
            say("-r", rate_per_s.to_string());
            let arrivals = match assignment.load.arrivals {
                Some(Arrivals::Poisson) => "poisson",
                Some(Arrivals::Constant) | None => "constant",
            };
            say("--arrivals", arrivals.to_owned());
        }
        if assignment.load.requests.is_none() {
            say("--warmup", milliseconds(assignment.load.warmup_s));
        }
        say("-t", assignment.threads.to_string());
        say("--expect-status", assignment.status.to_string());
        match &assignment.json_form {
            Some(form) => say("--expect-json-form", form.clone()),
            None => say("--expect-body", format!("@{}", assignment.body.display())),
        }
        say("--seed", assignment.seed.to_string());
        say("--format", "json".to_owned());
        say("-o", assignment.record.display().to_string());
        say("--events", assignment.events.to_string());
        words.extend(assignment.load.no_keep_alive.then(|| "--no-keepalive".to_owned()));
        words.extend(assignment.places.as_ref().unwrap_or(&self.flags).iter().cloned());
        words
    }

    fn read(&self, assignment: &Assignment, finished: &Finished) -> Result<Measured, String> {
        let failed = |what: String| match finished.stderr.trim() {
            "" => what,
            stderr => format!("{what}: {stderr}"),
        };
        if !finished.ended.code.is_some_and(|code| MEASURED.contains(&code)) {
            return Err(failed(format!("the generator ended with {}", finished.ended)));
        }
        let text = paceline_files::read_text(&assignment.record, paceline_files::OUTPUT_BYTES_MOST)
            .map_err(|error| failed(format!("the generator left no record ({error})")))?;
        let run = read_run(&text).map_err(|error| format!("the generator's record: {error}"))?;
        if run.tool.version.trim().is_empty() {
            return Err(
                "the generator's record names no version, and what has none is not measured".to_owned()
            );
        }
        Ok(Measured { run, verdicts: Vec::new() })
    }
}

/// Sees to it that no record is there: the cells of a launch share its place, and a generator that leaves none is not to
/// be credited with the one before.
pub fn without_record(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A length of time as a flag takes it.
fn milliseconds(seconds: f64) -> String {
    format!("{}ms", (seconds * 1e3).round())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::tests::assignment;
    use paceline_host::shepherd::Ended;
    use paceline_record::{Load, LoopKind};

    fn closed() -> Load {
        assignment().load
    }

    fn line(load: Load) -> String {
        Paceline::new(vec!["paceline".into()]).command(&Assignment { load, ..assignment() }).join(" ")
    }

    #[test]
    fn the_command_can_be_repeated_by_hand() {
        let expected = "paceline run http://127.0.0.1:20000/hello -c 64 -d 3000ms --warmup 1000ms -t 1 \
                        --expect-status 200 --expect-body @/tmp/body --seed 7 --format json -o /tmp/run.json --events 9";
        assert_eq!(line(closed()), expected);
    }

    #[test]
    fn every_shape_of_load_has_its_flags() {
        let open = Load {
            kind: LoopKind::Open,
            rate_per_s: Some(2500.0),
            arrivals: Some(Arrivals::Poisson),
            ..closed()
        };
        assert!(line(open).contains(" -d 3000ms -r 2500 --arrivals poisson --warmup"));
        let old = Load { http: Some("1.0".into()), requests_per_connection: Some(100), ..closed() };
        assert!(line(old).contains(" -c 64 --http 1.0 --requests-per-connection 100 -d 3000ms"));
        let streams = Load { http: Some("2".into()), depth: 10, ..closed() };
        assert!(line(streams).contains(" -c 64 --streams 10 --http 2 -d 3000ms"));
        assert!(line(Load { no_keep_alive: true, ..closed() }).ends_with(" --events 9 --no-keepalive"));
        let form = Assignment { json_form: Some("{}".to_owned()), ..assignment() };
        let with_form = Paceline::new(vec!["paceline".into()]).command(&form).join(" ");
        assert!(with_form.contains(" --expect-json-form {} "), "{with_form}");
        let counted = Load { requests: Some(1000), duration_s: None, depth: 16, ..closed() };
        let counted = line(counted);
        assert!(counted.contains(" -c 64 --pipeline 16 -n 1000 -t 1"), "{counted}");
    }

    #[test]
    fn a_record_that_was_left_is_nobodys_result() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("run.json");
        fs::write(&record, "{\"of\": \"the cell before\"}").unwrap();
        without_record(&record).unwrap();
        without_record(&record).unwrap();
        // A wrapper that exits as after a run that was measured, and wrote nothing.
        let ended = Ended { code: Some(1), signal: None, asked: false };
        let (stdout, stderr) = (String::new(), String::new());
        let finished = Finished { ended, stdout, stderr, cpu_s: 0.0, elapsed_s: 1.0 };
        let ours = Paceline::new(vec!["paceline".into()]);
        let error = ours.read(&Assignment { record, ..assignment() }, &finished).unwrap_err();
        assert!(error.starts_with("the generator left no record"), "{error}");
    }
}
