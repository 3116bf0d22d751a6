//! Warms a launch up: a closed loop until the server no longer becomes faster, so that its loads find a steady state; or
//! the same load in bursts, between which a compiler on the server's core has time.
//!
//! JIT compilers, caches and pools make a server faster for seconds to minutes after its start; a warm-up of a fixed
//! length measures some servers cold. `paceline_stats::is_warm` defines the rule, also for experiments, whose warm-ups
//! are several short runs. It always uses Paceline's own generator, even if another one measures, because its rate can
//! be read every second. The result is part of the record.

use crate::case_request::{BodyFolder, CaseRequest, ValidatedBodies, mix_of};
use crate::deployment::Deployment;
use crate::generator::{GeneratorExit, check_ended, stderr_tail};
use crate::launch::LaunchError;
use paceline_catalogue::{Cell, LaunchWarmUp, MAX_REQUESTS, WorkloadCase};
use paceline_host::Interrupt;
use paceline_host::shepherd::{CommandOutput, Ended, Shepherd, ShepherdOrder};
use paceline_record::{Phase, Route, Second, Stage, WarmUp, WorkloadProtocol};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

/// Connections of the closed loop at most: enough for every thread of a server to have work.
const MAX_CONNECTIONS: u32 = 64;
/// How often the rates are read.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How long the generator may take to end beyond its window.
const MARGIN: Duration = Duration::from_secs(20);
/// How long it may take to end when asked to.
const STOP_LIMIT: Duration = Duration::from_secs(2);
/// The file of its errors.
const ERRORS: &str = "warm-up.err";
/// A shorter row of the generator is not a whole second.
const WHOLE_SECOND_S: f64 = 0.9;
/// The rows of a minute take about 60 kB.
const MAX_ROWS_BYTES: u64 = 64 << 20;

/// How a launch is warmed up.
pub(crate) struct Warmer<'a> {
    /// The command of Paceline's own generator.
    pub generator: &'a [String],
    /// The command that starts a shepherd.
    pub shepherd: &'a [String],
    /// The generator's cores.
    pub cores: &'a [u32],
    /// A folder for the generator's files.
    pub folder: &'a Path,
    /// Continuous, or in bursts.
    pub form: LaunchWarmUp,
    /// Ctrl-C.
    pub interrupt: Interrupt,
}

impl Warmer<'_> {
    /// Loads `deployment` with requests of `cells` until it is warm or the limit is reached, or in all bursts: requests
    /// of HTTP by their weights in their workloads; without any, those of the first cell.
    ///
    /// # Errors
    /// [`LaunchError`] when the server ends, the generator cannot be started or fails, and on Ctrl-C.
    pub fn warm_up(&self, deployment: &mut Deployment, cells: &[Cell]) -> Result<WarmUp, LaunchError> {
        let address = deployment
            .address_by(Route::Balanced)
            .ok_or_else(|| LaunchError::fault(Stage::Load, "there is no server to warm up", false))?;
        let cases = cases(cells);
        let connections = cells.iter().map(|cell| cell.load.connections).max().unwrap_or(1);
        let connections = connections.clamp(1, MAX_CONNECTIONS);
        let target = self.target(address, &cases)?;
        let begun = Instant::now();
        let (rates, bursts) = match self.form {
            LaunchWarmUp::Continuous { limit } => {
                let rates = self.load(deployment, &target, connections, limit, paceline_stats::is_warm)?;
                (rates, None)
            }
            LaunchWarmUp::Bursts(bursts) => {
                let mut rates = Vec::new();
                for _ in 0..bursts.count {
                    rates.extend(self.load(deployment, &target, connections, bursts.length, |_| false)?);
                    self.pause(deployment, bursts.pause)?;
                }
                (rates, Some(bursts.record()))
            }
        };
        Ok(WarmUp {
            warmed_s: begun.elapsed().as_secs_f64(),
            steady_after_s: paceline_stats::warm_after(&rates).map(|seconds| seconds as f64),
            limit_s: self.form.limit().as_secs_f64(),
            bursts,
            connections,
            workloads: cases.iter().map(|case| case.address.clone()).collect(),
            rate_per_s: rates,
        })
    }

    /// A closed loop for at most `length`, until its rates are enough. Returns the rate in each whole second.
    fn load(
        &self,
        deployment: &mut Deployment,
        target: &[String],
        connections: u32,
        length: Duration,
        is_enough: fn(&[f64]) -> bool,
    ) -> Result<Vec<f64>, LaunchError> {
        let rows = self.folder.join("warm-up.ndjson");
        // Rows of an earlier burst must not be read again.
        let _ = fs::remove_file(&rows);
        let order = self.order(target.to_vec(), connections, length, &rows);
        let mut generator = Shepherd::start(self.shepherd, &order)
            .map_err(|error| fault(format!("cannot start the generator: {error}")))?;
        let begun = Instant::now();
        let (rates, ended) = loop {
            let ended = generator.wait_ended(LOOK_EVERY);
            self.check(deployment)?;
            let rates = rates(&rows);
            if ended.is_some() || begun.elapsed() > length + MARGIN || is_enough(&rates) {
                break (rates, ended);
            }
        };
        // If the generator does not end, the next launch will notice.
        let _ = generator.stop();
        let failed = ended.and_then(|ended| failure(ended, begun.elapsed(), &self.folder.join(ERRORS)));
        match failed {
            Some(failed) => {
                // Its clients notice the end of a server before the report of it arrives.
                self.pause(deployment, LOOK_EVERY)?;
                Err(failed)
            }
            None => Ok(rates),
        }
    }

    /// Leaves the server without load.
    fn pause(&self, deployment: &mut Deployment, length: Duration) -> Result<(), LaunchError> {
        let end = Instant::now() + length;
        loop {
            self.check(deployment)?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK_EVERY));
        }
    }

    /// The reasons to end a warm-up early.
    fn check(&self, deployment: &mut Deployment) -> Result<(), LaunchError> {
        if self.interrupt.requested() {
            return Err(LaunchError::Interrupted);
        }
        match deployment.ended() {
            Some((who, ended)) => {
                let message = format!("{who} ended with {ended} during the warm-up");
                Err(LaunchError::fault(Stage::Load, message, ended.is_unseen()))
            }
            None => Ok(()),
        }
    }

    /// The URL, and the flags of what is sent.
    fn target(&self, address: SocketAddr, cases: &[&WorkloadCase]) -> Result<Vec<String>, LaunchError> {
        let bodies = BodyFolder(self.folder);
        match cases {
            [case, ..] if case.protocol != WorkloadProtocol::Http => {
                let request = CaseRequest { case, address, certificate: None };
                let flags = request.flags(bodies, &ValidatedBodies::new()).map_err(fault)?;
                Ok([vec![request.url()], flags].concat())
            }
            _ => {
                let mix = self.folder.join("warm-up.toml");
                let requests: Vec<&WorkloadCase> =
                    cases.iter().flat_map(|case| case.requests()).take(MAX_REQUESTS).collect();
                let text = mix_of(&requests, bodies, None).map_err(fault)?;
                fs::write(&mix, text)
                    .map_err(|error| fault(format!("cannot write {}: {error}", mix.display())))?;
                let url = format!("http://{address}/");
                Ok(vec![url, "--mix".to_owned(), mix.display().to_string()])
            }
        }
    }

    fn order(&self, target: Vec<String>, connections: u32, length: Duration, rows: &Path) -> ShepherdOrder {
        let mut command = self.generator.to_vec();
        command.push("run".to_owned());
        command.extend(target);
        let mut say = |flag: &str, value: String| command.extend([flag.to_owned(), value]);
        say("-c", connections.to_string());
        say("-d", format!("{}ms", length.as_millis()));
        say("--warmup", "0s".to_owned());
        say("-t", (self.cores.len().max(1) as u32).min(connections).to_string());
        say("--ndjson", rows.display().to_string());
        say("--format", "json".to_owned());
        let output = CommandOutput::Files {
            stdout: self.folder.join("warm-up.json"),
            stderr: self.folder.join(ERRORS),
        };
        let plain = ShepherdOrder::plain(command, self.folder.to_owned(), STOP_LIMIT);
        ShepherdOrder { cores: self.cores.to_vec(), output, ..plain }
    }
}

fn fault(message: String) -> LaunchError {
    LaunchError::fault(Stage::Generate, format!("warm-up: {message}"), false)
}

/// The fault of a generator that has ended without having measured; its standard error says why.
fn failure(ended: Ended, elapsed: Duration, errors: &Path) -> Option<LaunchError> {
    let finished = GeneratorExit {
        ended,
        stdout: String::new(),
        stderr: stderr_tail(errors),
        cpu_s: 0.0,
        elapsed_s: elapsed.as_secs_f64(),
    };
    let problem = check_ended(&finished).err()?;
    Some(LaunchError::fault(Stage::Generate, format!("warm-up: {problem}"), ended.is_unseen()))
}

/// The different cases of some cells that one run can ask for: those of HTTP, or else one of another protocol.
fn cases(cells: &[Cell]) -> Vec<&WorkloadCase> {
    let mut cases: Vec<&WorkloadCase> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.case.protocol == WorkloadProtocol::Http) {
        if cases.iter().all(|case| case.address != cell.case.address) {
            cases.push(&cell.case);
        }
    }
    if cases.is_empty() {
        cases.extend(cells.first().map(|cell| &*cell.case));
    }
    cases
}

/// Responses per second in each whole second so far. The last line may be incomplete.
fn rates(rows: &Path) -> Vec<f64> {
    let text = paceline_files::read_text(rows, MAX_ROWS_BYTES).unwrap_or_default();
    let seconds = text.lines().filter_map(|line| serde_json::from_str::<Second>(line).ok());
    let whole = seconds.filter(|second| second.phase == Phase::Window && second.length_s >= WHOLE_SECOND_S);
    whole.map(|second| second.ok as f64 / second.length_s).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_whole_second_of_the_window_gives_a_rate() {
        let folder = tempfile::tempdir().unwrap();
        let rows = folder.path().join("rows");
        let row = |phase, length_s, ok| {
            serde_json::to_string(&Second { phase, length_s, ok, ..Second::default() }).unwrap()
        };
        let text = [
            row(Phase::Connect, 1.0, 7),
            row(Phase::Window, 1.0, 100),
            row(Phase::Window, 1.25, 100),
            row(Phase::Window, 0.5, 9),
            "{\"at\":\"20".to_owned(),
        ];
        fs::write(&rows, text.join("\n")).unwrap();
        assert_eq!(rates(&rows), [100.0, 80.0]);
        assert!(rates(&folder.path().join("none")).is_empty());
    }

    #[test]
    fn a_generator_that_failed_is_a_fault_with_its_error() {
        let folder = tempfile::tempdir().unwrap();
        let errors = folder.path().join(ERRORS);
        fs::write(&errors, "too many open files\n").unwrap();
        let of = |code| {
            let ended = Ended { code: Some(code), signal: None, asked: false };
            failure(ended, Duration::from_secs(1), &errors)
        };
        assert_eq!((of(0), of(1)), (None, None), "it has measured");
        let Some(LaunchError::Fault { fault, .. }) = of(3) else { panic!("it has not measured") };
        assert_eq!(fault.message, "warm-up: the generator ended with exit status 3: too many open files");
    }
}
