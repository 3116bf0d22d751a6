//! Paceline's own generator, or another program with the same flags: `paceline run`, and `paceline capacity` for a
//! search.
//!
//! `generator` in `mod.rs` uses it for every command that is not a program of `third_party`. It writes a command line
//! that can be repeated by hand, and reads the record. The verdicts are those of the run. `follow` reads the phases
//! that it reports.

use super::assignment::{Assignment, GeneratorExit, GeneratorResult, LoadGenerator};
use super::personality::Personality;
use super::record::{check_ended, no_record, read_record};
use crate::case_request::FlagList;
use paceline_catalogue::WorkloadCase;
use paceline_record::{CapacityLoad, FoundCapacity, Load, WorkloadProtocol};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// `PROGRAM run URL ...`.
pub struct Paceline {
    program: Vec<String>,
    flags: Vec<String>,
}

impl Paceline {
    /// The program, with arguments before `run`.
    pub fn new(program: Vec<String>) -> Self {
        Self { program, flags: Vec::new() }
    }

    /// The same with further flags of `paceline run`.
    pub fn with_flags(self, flags: &[String]) -> Self {
        Self { flags: flags.to_vec(), ..self }
    }
}

impl Paceline {
    /// `PROGRAM run URL ...`.
    fn run(&self, assignment: &Assignment) -> Vec<String> {
        let mut flags = FlagList(vec!["run".to_owned(), assignment.url.clone()]);
        flags.add("-c", assignment.load.connections.to_string());
        add_connections(&mut flags, assignment);
        match (assignment.load.requests, assignment.load.duration_s) {
            (Some(requests), _) => flags.add("-n", requests.to_string()),
            (None, duration_s) => flags.add("-d", milliseconds(duration_s.unwrap_or_default())),
        }
        if let Some(rate_per_s) = assignment.load.rate_per_s {
            flags.add("-r", rate_per_s.to_string());
            flags.add("--arrivals", assignment.load.arrivals.unwrap_or_default().name().to_owned());
        }
        if assignment.load.requests.is_none() {
            flags.add("--warmup", milliseconds(assignment.load.warmup_s));
        }
        flags.add("-t", assignment.threads.to_string());
        add_request(&mut flags, assignment);
        flags.add("--format", "json".to_owned());
        flags.add("-o", assignment.record.display().to_string());
        self.add_other_flags(&mut flags, assignment);
        [self.program.clone(), flags.0].concat()
    }

    /// `PROGRAM capacity URL ... -- FLAGS OF EACH RUN`. Every run reports its phases; the last one is used.
    fn capacity(&self, assignment: &Assignment, search: &CapacityLoad) -> Vec<String> {
        let mut flags = FlagList(vec!["capacity".to_owned(), assignment.url.clone()]);
        flags.add("--slo", search.objective.clone());
        flags.add("-c", assignment.load.connections.to_string());
        flags.add("--window", milliseconds(assignment.load.duration_s.unwrap_or_default()));
        flags.add("--warmup", milliseconds(assignment.load.warmup_s));
        flags.add("--windows", search.windows_most.to_string());
        flags.add("--confirm", milliseconds(search.confirm_s));
        // The launch is warm already.
        flags.add("--warm-limit", milliseconds(0.0));
        flags.add("-t", assignment.threads.to_string());
        flags.add("--records", records_of_search(assignment).display().to_string());
        flags.add("--format", "json".to_owned());
        flags.0.extend(["--no-curve", "--"].map(str::to_owned));
        add_connections(&mut flags, assignment);
        if let Some(arrivals) = assignment.load.arrivals.filter(|arrivals| arrivals.is_random()) {
            flags.add("--arrivals", arrivals.name().to_owned());
        }
        add_request(&mut flags, assignment);
        self.add_other_flags(&mut flags, assignment);
        [self.program.clone(), flags.0].concat()
    }

    fn add_other_flags(&self, flags: &mut FlagList, assignment: &Assignment) {
        flags.add("--events", assignment.events.to_string());
        flags.0.extend(assignment.load.no_keep_alive.then(|| "--no-keepalive".to_owned()));
        flags.0.extend(assignment.places.as_ref().unwrap_or(&self.flags).iter().cloned());
    }
}

fn add_connections(flags: &mut FlagList, assignment: &Assignment) {
    let load = &assignment.load;
    if load.depth > 1 {
        let has_streams =
            matches!(load.http.as_deref(), Some("2" | "3")) || load.protocol == WorkloadProtocol::Grpc;
        flags.add(if has_streams { "--streams" } else { "--pipeline" }, load.depth.to_string());
    }
    flags.add_some("--http", load.http.clone());
    flags.add_some(
        "--requests-per-connection",
        load.requests_per_connection.map(|requests| requests.to_string()),
    );
}

fn add_request(flags: &mut FlagList, assignment: &Assignment) {
    flags.0.extend(assignment.request.iter().cloned());
    flags.add("--seed", assignment.seed.to_string());
}

/// The folder for the records of a search's runs, separate for this cell.
fn records_of_search(assignment: &Assignment) -> PathBuf {
    assignment.record.with_extension(format!("search-{}", assignment.seed))
}

/// The record of a search's last run; the files are numbered.
fn last_record(folder: &Path) -> io::Result<PathBuf> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    let records = entries.into_iter().map(|entry| entry.path());
    records
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .max()
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

impl LoadGenerator for Paceline {
    fn command(&self, assignment: &Assignment) -> Vec<String> {
        match (&assignment.load.tool, &assignment.load.capacity) {
            (Some(line), _) => Personality::of_load(&self.program, line).command(assignment),
            (None, Some(search)) => self.capacity(assignment, search),
            (None, None) => self.run(assignment),
        }
    }

    fn refuses(&self, load: &Load, case: &WorkloadCase) -> Option<String> {
        Personality::of_load(&self.program, load.tool.as_deref()?).refuses(load, case)
    }

    fn read(&self, assignment: &Assignment, finished: &GeneratorExit) -> Result<GeneratorResult, String> {
        if assignment.load.capacity.is_none() {
            return read_record(&assignment.record, finished);
        }
        check_ended(finished)?;
        let no_record = |error: &dyn fmt::Display| no_record(error, finished);
        let found: FoundCapacity =
            serde_json::from_str(&finished.stdout).map_err(|error| no_record(&error))?;
        let record = last_record(&records_of_search(assignment)).map_err(|error| no_record(&error))?;
        Ok(GeneratorResult { capacity: Some(found), ..read_record(&record, finished)? })
    }
}

/// Removes a record at this path: the cells of a launch use the same path, and the record of an earlier one must not be
/// read if a generator writes none.
pub fn without_record(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A duration in the format of a flag.
fn milliseconds(seconds: f64) -> String {
    format!("{}ms", (seconds * 1e3).round())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::tests::assignment;
    use paceline_host::shepherd::Ended;
    use paceline_record::LoopKind;

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
            arrivals: Some(paceline_record::Arrivals::Poisson),
            ..closed()
        };
        assert!(line(open).contains(" -d 3000ms -r 2500 --arrivals poisson --warmup"));
        let old = Load { http: Some("1.0".into()), requests_per_connection: Some(100), ..closed() };
        assert!(line(old).contains(" -c 64 --http 1.0 --requests-per-connection 100 -d 3000ms"));
        let streams = Load { http: Some("2".into()), depth: 10, ..closed() };
        assert!(line(streams).contains(" -c 64 --streams 10 --http 2 -d 3000ms"));
        assert!(line(Load { no_keep_alive: true, ..closed() }).ends_with(" --events 9 --no-keepalive"));
        let http3 = Load { http: Some("3".into()), depth: 10, tls: true, ..closed() };
        assert!(line(http3).contains(" -c 64 --streams 10 --http 3 -d 3000ms"));
        let calls = Load { protocol: WorkloadProtocol::Grpc, depth: 4, ..closed() };
        assert!(line(calls).contains(" -c 64 --streams 4 -d 3000ms"));
        let messages = Load { protocol: WorkloadProtocol::WebSocket, depth: 4, ..closed() };
        assert!(line(messages).contains(" -c 64 --pipeline 4 -d 3000ms"));
        let counted = Load { requests: Some(1000), duration_s: None, depth: 16, ..closed() };
        let counted = line(counted);
        assert!(counted.contains(" -c 64 --pipeline 16 -n 1000 -t 1"), "{counted}");
    }

    #[test]
    fn a_search_is_a_separate_command_whose_last_run_is_recorded() {
        let search =
            CapacityLoad { objective: "response.p99<10ms".to_owned(), confirm_s: 20.0, windows_most: 40 };
        let load = Load { capacity: Some(search), kind: LoopKind::Open, ..closed() };
        assert_eq!(
            line(load.clone()),
            "paceline capacity http://127.0.0.1:20000/hello --slo response.p99<10ms -c 64 --window 3000ms --warmup \
             1000ms --windows 40 --confirm 20000ms --warm-limit 0ms -t 1 --records /tmp/run.search-7 --format json \
             --no-curve -- --expect-status 200 --expect-body @/tmp/body --seed 7 --events 9"
        );
        let folder = tempfile::tempdir().unwrap();
        let assignment = Assignment { load, record: folder.path().join("run.json"), ..assignment() };
        let records = records_of_search(&assignment);
        fs::create_dir(&records).unwrap();
        for (name, achieved) in [("001", 50.0), ("002", 100.0)] {
            let mut run = crate::generator::tests::run_of(3);
            run.rate_per_s.achieved = achieved;
            fs::write(records.join(format!("{name}.json")), serde_json::to_string(&run).unwrap()).unwrap();
        }
        let found = r#"{"window_s": 3.0, "closed_loop_per_s": 120.0, "half_pass_per_s": 110.0, "is_precise": true,
            "interval_per_s": {"low": 105.0, "high": 115.0}, "long_run_per_s": 100.0, "a_later_key": 1,
            "limit": {"kind": "server_cpu", "evidence": "all of it"}, "windows": []}"#;
        let ended = Ended { code: Some(0), signal: None, asked: false };
        let (stdout, stderr) = (found.to_owned(), String::new());
        let finished = GeneratorExit { ended, stdout, stderr, cpu_s: 0.0, elapsed_s: 1.0 };
        let measured = Paceline::new(vec!["paceline".into()]).read(&assignment, &finished).unwrap();
        assert_eq!(measured.run.rate_per_s.achieved, 100.0);
        assert_eq!(measured.capacity.and_then(|found| found.half_pass_per_s), Some(110.0));
    }

    #[test]
    fn a_stale_record_is_not_a_result() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("run.json");
        fs::write(&record, "{\"of\": \"the cell before\"}").unwrap();
        without_record(&record).unwrap();
        without_record(&record).unwrap();
        // A wrapper with the exit status of a measured run that wrote no record.
        let ended = Ended { code: Some(1), signal: None, asked: false };
        let (stdout, stderr) = (String::new(), String::new());
        let finished = GeneratorExit { ended, stdout, stderr, cpu_s: 0.0, elapsed_s: 1.0 };
        let ours = Paceline::new(vec!["paceline".into()]);
        let error = ours.read(&Assignment { record, ..assignment() }, &finished).unwrap_err();
        assert!(error.starts_with("the generator wrote no record"), "{error}");
    }
}
