//! `paceline run --loaders N [--on WHERE]`: one run by several generators, on this machine or on others.
//!
//! The crate `loaders` carries it out. Here are the flags, what is said meanwhile, and the hidden command that a loader is.

use super::flags::{Arguments, whole};
use super::{argv, explain, with_hint};
use crate::exit::{Complaint, Status, say};
use anyhow::Context as _;
use paceline_host::{Interrupt, Place};
use paceline_job::Job;
use paceline_judge::gate::Gate;
use paceline_loaders::{Coordinator, LoadersError, Progress};
use paceline_record::Run;
use paceline_run::{Inputs, Prepared};
use std::io::BufReader;

/// How many generators share the load, and where they run.
#[derive(clap::Args, Debug)]
pub struct SeveralFlags {
    /// Share the load among N generators, each a process with its own threads (-t)
    ///
    /// They follow one schedule and begin at one moment; rate and connections are those of all together. The result is one
    /// record, with each generator under `by_generator`.
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = whole::<u32>, help_heading = "Machines")]
    loaders: Option<u32>,
}

impl SeveralFlags {
    /// Whether there is more to do than a run in this process.
    pub fn is_asked(&self) -> bool {
        self.loaders.is_some()
    }
}

/// Carries out a run by several generators.
pub fn run(arguments: &Arguments, job: Job, gates: Vec<Gate>, inputs: &mut Inputs) -> anyhow::Result<Run> {
    arguments.telling.check_for_several()?;
    let count = arguments.several.loaders.unwrap_or(1);
    if count == 0 {
        return Err(Complaint::usage("--loaders 0: ask for at least 1").into());
    }
    let connections = job.connections;
    let share = Coordinator::share_of_first(&job, count).map_err(complaint)?;
    let prepared = Prepared::new(share, gates, inputs).map_err(explain)?;
    prepared.notices.iter().for_each(|notice| say(notice));
    let interrupt = Interrupt::listen().context("cannot listen for Ctrl-C")?;
    let program = std::env::current_exe().context("cannot find the program's own file")?;
    let places = vec![(Place::Local, program.to_string_lossy().into_owned()); count as usize];
    let coordinator = Coordinator::start(prepared, connections, &places, interrupt).map_err(complaint)?;
    let run = coordinator.carry_out(argv(arguments), |progress, host| match progress {
        Progress::Started => {}
        Progress::Lost => say(&format!("paceline: the loader on {host} is lost; the others go on")),
    });
    run.map_err(complaint)
}

/// An error as a complaint: what to do, and the exit status.
fn complaint(error: LoadersError) -> anyhow::Error {
    let text = format!("nothing was measured: {error}");
    match error {
        LoadersError::Run(error) => explain(error),
        LoadersError::Refused { hint, .. } => with_hint(Complaint::usage(text), hint),
        LoadersError::NotReady { hint, .. } => with_hint(Complaint::environment(text), hint),
        LoadersError::TooFewConnections { .. } => {
            Complaint::usage(error.to_string()).hint("raise -c, or lower --loaders or -t").into()
        }
        LoadersError::Interrupted => Complaint::interrupted(error.to_string()).into(),
        LoadersError::Accounts { .. } => {
            Complaint::environment(text).hint("please report it, with the command line").into()
        }
        LoadersError::Start { .. } | LoadersError::AllLost { .. } | LoadersError::Record { .. } => {
            Complaint::environment(text).into()
        }
    }
}

/// The hidden command that a coordinator starts: a loader, which speaks with it over the standard streams.
pub fn loader() -> anyhow::Result<Status> {
    super::memory::large_blocks_from_kernel();
    let input = BufReader::new(std::io::stdin());
    paceline_loaders::serve(input, std::io::stdout()).context("cannot speak with the coordinator")?;
    Ok(Status::Done)
}
