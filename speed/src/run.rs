//! Carries an experiment out: round after round, in each round one row after the other (A B A B).
//!
//! Each run has a separate server; both are started by a shepherd, which pins them and reports their CPU time. A row
//! that fails leaves a sample with the error, never a missing row; a row whose program is not installed is skipped,
//! with the reason. No run is repeated.

use crate::experiment::{Experiment, ExperimentRow};
use crate::number::{Observed, numbers};
use crate::workspace::{ExpandedCommand, Workspace};
use crate::{freeze, tool};
use anyhow::{Context as _, bail};
use paceline_host::shepherd::{CommandOutput, Shepherd, ShepherdOrder, TrackingMethod};
use paceline_host::tree::ProcessTree;
use paceline_host::{CoreTicks, InheritedVariables, port};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longer than any run here: a run that has not ended by then hangs.
const RUN_LIMIT: Duration = Duration::from_secs(180);
/// How long a server may take to listen: it reads one small file.
const START_LIMIT: Duration = Duration::from_secs(10);
/// Interval of requests to a starting server, before the measurement.
const ASK_EVERY: Duration = Duration::from_millis(5);
/// How long a program may take to end after SIGTERM, in milliseconds.
const STOP_LIMIT_MS: u64 = 1_000;
/// Length of the shown end of a program's output.
const LAST_BYTES: u64 = 400;

/// The result of an experiment.
pub struct Outcome {
    /// Every run, in the order in which they were made.
    pub samples: Vec<RowSample>,
    /// Rounds carried out.
    pub rounds: u32,
    /// Rows left out, and why.
    pub left_out: Vec<String>,
}

/// One run of one row.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct RowSample {
    /// Whose.
    pub row: String,
    /// In which round, from 0.
    pub round: u32,
    /// Its numbers, by their keys.
    pub numbers: BTreeMap<String, f64>,
    /// CPU time of neither the server nor the generator, as a share of one core; none of a computed row.
    pub others_share: Option<f64>,
    /// The tool's remarks on its own run, such as verdicts.
    pub remarks: Vec<String>,
    /// Whether it ended with another exit status than 0, as an invalid run does: its numbers meet no goal.
    pub is_invalid: bool,
    /// Why there are no numbers.
    pub error: Option<String>,
}

/// Carries out so many rounds.
pub fn run(experiment: &mut Experiment, rounds: u32, workspace: &Workspace) -> Outcome {
    let left_out = leave_out(experiment, workspace);
    let rounds = experiment.rounds_most.map_or(rounds, |most| rounds.min(most));
    let mut samples = Vec::new();
    for round in 0..rounds {
        let mut of_round: Vec<RowSample> =
            experiment.rows.iter().map(|row| sample(row, round, workspace)).collect();
        of_round.extend(truth(experiment, round, &of_round));
        crate::progress::say(&format!(
            "{}: round {} of {rounds}: {}",
            experiment.name,
            round + 1,
            in_short(&of_round)
        ));
        samples.extend(of_round);
    }
    Outcome { samples, rounds, left_out }
}

/// Removes rows whose program is missing, with a note.
fn leave_out(experiment: &mut Experiment, workspace: &Workspace) -> Vec<String> {
    let mut reasons = Vec::new();
    experiment.rows.retain(|row| {
        let programs =
            [&row.command, &row.server].map(|command| workspace.fill(command, row, "", "").program);
        let missing = programs.into_iter().find(|program| workspace.find(program).is_none());
        reasons.extend(missing.iter().map(|program| format!("{}: {program} is not installed", row.name)));
        missing.is_none()
    });
    reasons
}

fn truth(experiment: &Experiment, round: u32, samples: &[RowSample]) -> Option<RowSample> {
    let served_per_s = *samples.first()?.numbers.get("requests_per_s")?;
    let numbers = freeze::percentiles(experiment.truth?, served_per_s);
    Some(RowSample { row: freeze::TRUTH.to_owned(), round, numbers, ..RowSample::default() })
}

fn in_short(samples: &[RowSample]) -> String {
    let short = samples.iter().map(|sample| match (&sample.error, sample.numbers.get("cpu_us")) {
        (Some(_), _) => format!("{} failed", sample.row),
        (None, Some(us)) => format!("{} {us:.2} us", sample.row),
        (None, None) => sample.row.clone(),
    });
    short.collect::<Vec<_>>().join(", ")
}

fn sample(row: &ExperimentRow, round: u32, workspace: &Workspace) -> RowSample {
    let named = RowSample { row: row.name.clone(), round, ..RowSample::default() };
    match measure(row, workspace) {
        Ok(sample) => RowSample { row: named.row, round, ..sample },
        Err(error) => RowSample { error: Some(workspace.shown(&format!("{error:#}"))), ..named },
    }
}

fn measure(row: &ExperimentRow, workspace: &Workspace) -> anyhow::Result<RowSample> {
    workspace.make_body(row.body_bytes)?;
    let server = ServerProcess::start(row, workspace)?;
    let mut tree = ProcessTree::new(&server.shepherd, None);
    let filled = workspace.fill(&row.command, row, &server.port.to_string(), &server.response_bytes);
    let cores = workspace.cores(&row.cores)?;
    let (started, ticks, server_before) = (Instant::now(), CoreTicks::now(), tree.sample());
    let mut generator = start(&filled, &cores, "generator", workspace)?;
    let ended = generator.wait_ended(RUN_LIMIT);
    let (all_s, cores_time) = (started.elapsed().as_secs_f64(), CoreTicks::now().since(&ticks));
    let server_s = tree.sample().cpu_s - server_before.cpu_s;
    let usage = generator.stop().context("the generator does not end")?.usage;
    let Some(ended) = ended else { bail!("did not end within {} s and was killed", RUN_LIMIT.as_secs()) };

    let [out, err] = outputs(workspace, "generator");
    let output = paceline_files::read_text(&out, paceline_files::MAX_OUTPUT_BYTES)?;
    let well = ended.code == Some(0);
    let mut report = match (tool::read(filled.tool(), &output), well) {
        (Err(_), false) => bail!("ended with {ended}: {}", last_words(&err)),
        (report, _) => report?,
    };
    if !well {
        report.remarks.push(format!("ended with {ended}"));
    }
    let busy = |core: Option<&u32>| {
        let of = cores_time.iter().filter(|time| core.is_none_or(|core| *core == time.core));
        of.map(|time| time.busy_s).sum::<f64>()
    };
    let others_s = busy(None) - usage.user_s - usage.system_s - server_s;
    let core_busy_s = (row.cores == "generator").then(|| busy(cores.first()));
    let observed = Observed { all_s, usage, core_busy_s, body_bytes: row.body_bytes };
    Ok(RowSample {
        numbers: numbers(&report, &observed, row.cpu),
        others_share: Some((others_s / all_s).max(0.0)),
        remarks: report.remarks,
        is_invalid: !well,
        ..RowSample::default()
    })
}

/// A server that listens. Dropped, it is gone.
struct ServerProcess {
    shepherd: Shepherd,
    port: u16,
    /// Length of every response, head included, as the floor server prints it; empty for others.
    response_bytes: String,
}

#[derive(serde::Deserialize)]
struct ServerReady {
    response_bytes: u64,
}

impl ServerProcess {
    fn start(row: &ExperimentRow, workspace: &Workspace) -> anyhow::Result<Self> {
        let port = port::free_port(Ipv4Addr::LOCALHOST.into()).context("no free port")?;
        let filled = workspace.fill(&row.server, row, &port.to_string(), "");
        let is_floor = filled.program == "floor-server";
        let mut shepherd = start(&filled, &workspace.cores(&row.server_cores)?, "server", workspace)?;
        let ([out, err], started) = (outputs(workspace, "server"), Instant::now());
        while started.elapsed() < START_LIMIT {
            let line = std::fs::read_to_string(&out).unwrap_or_default();
            if is_floor && line.ends_with('\n') {
                let ready: ServerReady =
                    serde_json::from_str(&line).context("the floor server's first line")?;
                return Ok(Self { shepherd, port, response_bytes: ready.response_bytes.to_string() });
            }
            if !is_floor && TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Ok(Self { shepherd, port, response_bytes: String::new() });
            }
            if let Some(ended) = shepherd.wait_ended(ASK_EVERY) {
                bail!("{} ended with {ended} before it listened: {}", filled.program, last_words(&err));
            }
        }
        bail!("{} did not listen within {} s", filled.program, START_LIMIT.as_secs())
    }
}

fn start(
    filled: &ExpandedCommand,
    cores: &[u32],
    name: &str,
    workspace: &Workspace,
) -> anyhow::Result<Shepherd> {
    let program = workspace.find(&filled.program).with_context(|| format!("{} has gone", filled.program))?;
    let command = std::iter::once(program.display().to_string()).chain(filled.arguments.iter().cloned());
    let [stdout, stderr] = outputs(workspace, name);
    let order = ShepherdOrder {
        command: command.collect(),
        folder: workspace.folder.clone(),
        env: filled.env.iter().cloned().collect(),
        inherits: InheritedVariables::All,
        pass_env: Vec::new(),
        cores: cores.to_vec(),
        output: CommandOutput::Files { stdout, stderr },
        groups: Vec::new(),
        guard: TrackingMethod::Subreaper,
        stop_limit_ms: STOP_LIMIT_MS,
        user: None,
        view: None,
        inherit: None,
        restore: Vec::new(),
        restore_note: None,
    };
    Ok(Shepherd::start(&workspace.shepherd, &order)?)
}

fn outputs(workspace: &Workspace, name: &str) -> [PathBuf; 2] {
    ["out", "err"].map(|stream| workspace.folder.join(format!("{name}.{stream}")))
}

/// The last lines that a program wrote to standard error.
fn last_words(path: &Path) -> String {
    let bytes = paceline_files::tail(path, LAST_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join(" / ")
}
