//! `paceline run --loaders N [--on WHERE]`: one run by several generators, on this machine or on others.
//!
//! The crate `loaders` executes it. This module has the flags, the messages, and the hidden command of a loader.

use super::explain::{explain, with_hint};
use super::once::read_once;
use super::values::{duration, whole};
use crate::exit::{Complaint, Status, say};
use anyhow::Context as _;
use paceline_host::{
    Allocation, AllocationRequest, Interrupt, Machines, Place, ProgramCopy, SlurmError, check_job,
};
use paceline_job::{Bound, Job, LoadModel, LoaderShare, MAX_DURATION, Nanos};
use paceline_judge::gate::Gate;
use paceline_loaders::{Coordinator, LoaderProgram, LoaderProgress, LoadersError};
use paceline_record::Run;
use paceline_run::{Inputs, PhaseEventWriter, Prepared};
use std::io::BufReader;
use std::time::Duration;

/// The role of a generator's machine, and the feature of its node.
const LOADER: &str = "loader";
/// Time limit of an allocation beyond the run: connecting, sending the program, comparing clocks.
const AROUND: Duration = Duration::from_secs(120);
/// Time limit of the window of a run that ends after a number of requests, unless its rate needs more.
const OPEN_ENDED: Duration = Duration::from_secs(3600);

/// How many generators share the load, and where they run.
#[derive(clap::Args, Debug)]
pub struct LoaderFlags {
    /// Share the load among N loaders, each a process with separate threads (-t)
    ///
    /// They follow one schedule and begin at the same moment; rate and connections are totals. The result is one
    /// record, with each generator under `by_generator`.
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = whole::<u32>, help_heading = "Load")]
    loaders: Option<u32>,

    /// Where the generators run: `ssh:loader=HOST,loader=HOST`, `slurm` or `slurm:PARTITION` [default: this machine]
    ///
    /// Slurm gives each generator a separate node, one with the feature `loader` if any node has it. Paceline is
    /// copied to hosts on which it is missing.
    #[arg(hide_short_help = true, long, value_name = "WHERE", help_heading = "Machines")]
    on: Option<Machines>,

    /// Maximum time to wait for nodes from Slurm
    #[arg(hide_short_help = true, long, value_name = "T", value_parser = duration, default_value = "60s", help_heading = "Machines")]
    queue_limit: Duration,
}

impl LoaderFlags {
    /// Whether the run needs more than this process.
    pub fn is_asked(&self) -> bool {
        self.loaders.is_some() || self.on.is_some()
    }

    /// The loaders' places, and the allocation that holds them until the run is over.
    fn places(&self, job: &Job, interrupt: Interrupt) -> anyhow::Result<(Vec<Place>, Option<Allocation>)> {
        let count = self.loaders.map(|count| count as usize);
        match &self.on {
            None => Ok((vec![Place::Local; count.unwrap_or(1)], None)),
            Some(Machines::Named(hosts)) => {
                let loaders = hosts.iter().filter(|(role, _)| role == LOADER).map(|(_, place)| place.clone());
                let hosts: Vec<Place> = loaders.collect();
                if hosts.is_empty() {
                    let what = "--on ssh: no host has the role `loader`";
                    return Err(Complaint::usage(what).hint("write --on ssh:loader=HOST,loader=HOST").into());
                }
                let job = hosts.iter().find_map(|place| match place {
                    Place::Slurm { job, .. } => Some(*job),
                    Place::Local | Place::Ssh { .. } => None,
                });
                job.map_or(Ok(()), check_job).map_err(no_allocation)?;
                let count = count.unwrap_or(hosts.len());
                Ok((hosts.into_iter().cycle().take(count).collect(), None))
            }
            Some(Machines::Slurm { partition }) => {
                let Some(count) = self.loaders else {
                    let what = "--on slurm: the number of loaders is missing";
                    return Err(Complaint::usage(what)
                        .hint("add --loaders N: the number of nodes, one for each load generator")
                        .into());
                };
                let request = AllocationRequest {
                    name: format!("paceline-{}", paceline_run::wall_clock::new_id()),
                    partition: partition.clone(),
                    roles: vec![(LOADER.to_owned(), count)],
                    limit: longest(job),
                    queue_limit: self.queue_limit,
                };
                let allocation = Allocation::request(&request, interrupt).map_err(no_allocation)?;
                let places = allocation.nodes().iter().map(|(_, place)| place.clone()).collect();
                Ok((places, Some(allocation)))
            }
        }
    }
}

/// The time limit of the allocation: the longest duration of the run, and the time around it. A number of requests at a
/// rate may take twice the expected time: random arrivals can end late.
fn longest(job: &Job) -> Duration {
    let window = match (job.window, &job.load) {
        (Bound::Duration(window), _) => Duration::from(window),
        (Bound::Requests(_), LoadModel::Closed) => OPEN_ENDED,
        (Bound::Requests(requests), LoadModel::Open { shape, .. }) => {
            let expected_s = requests as f64 / shape.offered_per_s(Nanos::ZERO, Nanos::NEVER);
            let twice = Duration::try_from_secs_f64(2.0 * expected_s).unwrap_or(MAX_DURATION);
            twice.clamp(OPEN_ENDED, MAX_DURATION)
        }
    };
    Duration::from(job.connect_timeout)
        + Duration::from(job.warmup)
        + window
        + Duration::from(job.drain)
        + AROUND
}

fn no_allocation(error: SlurmError) -> anyhow::Error {
    let text = error.to_string();
    match error {
        SlurmError::Interrupted => Complaint::interrupted(text).into(),
        SlurmError::NotGranted { .. } => Complaint::environment(format!("nothing was measured: {text}"))
            .hint("check `sinfo` and `squeue` for free nodes, or wait longer with --queue-limit")
            .into(),
        SlurmError::OtherJob { .. } => {
            Complaint::environment(format!("nothing was measured: {text}")).hint("repeat the command").into()
        }
        SlurmError::Start { .. } | SlurmError::Failed { .. } => {
            Complaint::environment(format!("nothing was measured: {text}"))
                .hint("check that this machine can submit jobs: `sinfo`")
                .into()
        }
    }
}

/// Executes a run by several generators; `argv` is the command line for its record.
pub fn run(
    flags: &LoaderFlags,
    argv: Vec<String>,
    job: Job,
    gates: Vec<Gate>,
    events: Option<&PhaseEventWriter>,
    inputs: &mut Inputs,
) -> anyhow::Result<Run> {
    if flags.loaders == Some(0) {
        return Err(Complaint::usage("--loaders 0: use at least 1").into());
    }
    let interrupt = Interrupt::listen().context("cannot install the handler for Ctrl-C (SIGINT)")?;
    let shared = Job { share: Some(LoaderShare::ALL), ..job.clone() };
    shared.check().map_err(|error| explain(error.into()))?;
    if let Some(pipe) = read_once(&job) {
        let what = format!("@{}: several load generators cannot read one pipe or open file", pipe.display());
        return Err(Complaint::usage(what)
            .hint("write the body to a file, and name it: @FILE; each generator reads it")
            .into());
    }
    if let Some(loaders) = flags.loaders {
        // Before nodes are waited for, and before so many places are listed.
        Coordinator::share_of_first(&job, loaders).map_err(complaint)?;
    }
    let (places, allocation) = flags.places(&job, interrupt)?;
    let connections = job.connections;
    let share = Coordinator::share_of_first(&job, places.len() as u32).map_err(complaint)?;
    let prepared = Prepared::new(share, gates, inputs).map_err(explain)?;
    prepared.notices.iter().for_each(|notice| say(notice));
    let program = program_for(&places)?;
    let coordinator =
        Coordinator::start(prepared, connections, &places, &program, interrupt).map_err(complaint)?;
    let run = coordinator.carry_out(argv, events, |progress, host| match progress {
        LoaderProgress::Started => {}
        LoaderProgress::Lost => {
            say(&format!("paceline: the load generator on {host} was lost; the others continue"))
        }
    });
    drop(allocation);
    run.map_err(complaint)
}

/// This program, for loaders on these places.
fn program_for(places: &[Place]) -> anyhow::Result<LoaderProgram> {
    let program = std::env::current_exe().context("cannot find the executable file of Paceline")?;
    // A shipment reads the whole program, which local loaders do not need.
    if places.iter().all(|place| *place == Place::Local) {
        return Ok(LoaderProgram::Here(program));
    }
    ProgramCopy::from_program(&program)
        .map(LoaderProgram::Sent)
        .context("cannot read the executable file of Paceline")
}

/// An error as a complaint, with its remedy and exit status.
fn complaint(error: LoadersError) -> anyhow::Error {
    let text = format!("nothing was measured: {error}");
    match error {
        LoadersError::Run(error) => explain(error),
        LoadersError::Place(_) => Complaint::environment(text)
            .hint(
                "check that `ssh HOST` needs no password, and that HOST has the same processor architecture and \
                 enough disk space in ~/.cache",
            )
            .into(),
        LoadersError::Refused { hint, .. } => with_hint(Complaint::usage(text), hint),
        LoadersError::NotReady { hint, .. } => with_hint(Complaint::environment(text), hint),
        LoadersError::TooFewConnections { .. } => {
            Complaint::usage(error.to_string()).hint("raise -c, or lower --loaders or -t").into()
        }
        LoadersError::Interrupted => Complaint::interrupted(error.to_string()).into(),
        LoadersError::Accounts { .. } | LoadersError::Contradiction { .. } => {
            Complaint::environment(text).hint("please report this bug, with the command line").into()
        }
        LoadersError::Start { .. } | LoadersError::AllLost { .. } | LoadersError::Record { .. } => {
            Complaint::environment(text).into()
        }
    }
}

/// The hidden command of a loader, started by a coordinator that communicates over the standard streams.
pub fn loader() -> anyhow::Result<Status> {
    super::process::large_blocks_from_kernel();
    let input = BufReader::new(std::io::stdin());
    paceline_loaders::serve(input, std::io::stdout()).context("cannot communicate with the coordinator")?;
    Ok(Status::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_job::{Arrivals, Rate, Shape};

    #[test]
    fn an_allocation_lasts_as_long_as_the_requests_at_a_rate() {
        let at = |per_s: f64| {
            let rate = Rate::per_second(per_s).unwrap();
            LoadModel::Open { shape: Shape::Steady { rate }, arrivals: Arrivals::Constant }
        };
        let limit = |requests, load| {
            let job = Job { window: Bound::Requests(requests), load, ..Job::default() };
            longest(&job) - longest(&Job { window: Bound::Duration(Nanos::ZERO), ..job.clone() })
        };
        assert_eq!(limit(1000, LoadModel::Closed), OPEN_ENDED);
        assert_eq!(limit(1000, at(100.0)), OPEN_ENDED);
        assert_eq!(limit(1_000_000, at(100.0)), Duration::from_secs(20_000));
        assert_eq!(limit(u64::MAX, at(1.0)), MAX_DURATION);
    }
}
