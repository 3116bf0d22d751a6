//! `paceline run URL`: put load on one URL and report what came back.
//!
//! The lab starts this very command as a child process; nothing here knows of servers, plans or rounds.

mod asked;
mod deliver;
mod events;
mod flags;
mod follow;
mod gates;
pub mod health;
mod inputs;
mod left;
mod life;
mod memory;
mod outcome;
mod parts;
mod quiet;
mod segments;
pub mod settings;
mod shape;
mod sources;
mod stop;
mod target;
mod telling;
mod trace;

pub use flags::{Arguments, duration};

use crate::exit::{Complaint, Status};
use anyhow::Context as _;
use paceline_engine::tls::TlsError;
use paceline_engine::{Address, EngineError, Nanos};
use paceline_record::Severity;
use std::path::PathBuf;

/// Carries the command out.
pub fn run(arguments: Arguments) -> anyhow::Result<Status> {
    memory::large_blocks_from_kernel();
    // First of all, while the number can stand for nothing that was opened here.
    let events = arguments.events.map(events::Events::open).transpose()?;
    let output = arguments.output_file();
    if output.is_none() {
        crate::exit::check_printable().context(
            Complaint::environment("nothing was measured").hint("-o FILE writes the result to a file"),
        )?;
    }
    arguments.telling.check(output)?;
    let mut inputs = inputs::Inputs::default();
    let mut job = settings::Job::from_flags(&arguments, &mut inputs)?;
    inputs.keep_from(&arguments.telling.outputs(output))?;
    for path in output.into_iter().chain(arguments.telling.hgrms().map(PathBuf::as_path)) {
        crate::file::check_writable(path).context(Complaint::environment("nothing was measured"))?;
    }
    let _held_awake = arguments.quiet_cpu.then(|| hold_awake(&mut job));
    let files = follow::Files::open(&arguments.telling)?;
    let health = health::Health::new(job.settings.threads, events);
    let started_at = crate::moment::now_rfc3339();
    let stop = stop::listen()?;
    let follower =
        follow::Follower::new(health, follow::Plan::of(&job), files, !arguments.telling.no_live, stop)?;
    let outcome = paceline_engine::run(&job.settings, stop, &follower);
    let (health, unwritten) = follower.end();
    let outcome = outcome.map_err(explain)?;
    let stopped = outcome.stopped;
    let run = outcome::record(&job, outcome, health, started_at);
    deliver::deliver(&run, &arguments, unwritten)?;
    let invalid = run.verdicts.iter().any(|verdict| verdict.severity == Severity::Invalid);
    let failed = invalid || run.gates.iter().any(|gate| !gate.passed);
    Ok(match (stopped, failed) {
        (true, _) => Status::Interrupted,
        (false, true) => Status::Failed,
        (false, false) => Status::Done,
    })
}

/// Keeps processors awake for as long as what is returned lives.
fn hold_awake(job: &mut settings::Job) -> Option<std::fs::File> {
    match quiet::hold() {
        Ok(file) => {
            job.held.push(quiet::description());
            Some(file)
        }
        Err(why) => {
            crate::exit::say(&why);
            None
        }
    }
}

/// What the user can do about a target that could not be connected to in so many attempts.
fn way_there(error: &std::io::Error, address: &Address, attempts: u64, made: u64) -> &'static str {
    match TlsError::within(error) {
        Some(error) => target::remedy(error.fault),
        None if error.raw_os_error() == Some(libc::EADDRNOTAVAIL) => {
            "no local address or port to connect from: check --source, or wait for ports to become free"
        }
        None if attempts == 0 => {
            "the time to connect was over before an attempt had ended: give it longer (--connect-timeout)"
        }
        None if made > 0 => {
            "something listens there, and breaks connections before it is asked anything: is it the right port? Its \
             log should say why"
        }
        None if matches!(address, Address::Unix(_)) => "is the server running, and listening on that socket?",
        None => "is the server running, and listening on that address and port?",
    }
}

/// What the user can do about an engine that could not run.
fn explain(error: EngineError) -> anyhow::Error {
    let complaint = match &error {
        EngineError::Job(_) | EngineError::Settings(_) => Complaint::usage("the run makes no sense as asked"),
        EngineError::Unreachable { source, address, attempts, made } => {
            Complaint::environment("nothing was measured").hint(way_there(source, address, *attempts, *made))
        }
        EngineError::Tls { .. } => {
            Complaint::usage("nothing was measured").hint("check --cacert, --cert and --key")
        }
        EngineError::TooManyThreads { .. } => Complaint::environment("nothing was measured")
            .hint("ask for fewer threads (-t), or raise the limit of processes (`ulimit -u`)"),
        EngineError::Kernel { .. } => Complaint::environment("nothing was measured")
            .hint("fewer connections, or a higher limit of open files (`ulimit -n`), may help"),
        EngineError::StoppedEarly(_) => Complaint::interrupted("interrupted"),
        EngineError::Accounts(_) | EngineError::WorkerDied => {
            Complaint::environment("nothing that was measured can be trusted")
                .hint("please report it, with the command line")
        }
    };
    let told = match error {
        // Nobody means the moment to the nanosecond.
        EngineError::StoppedEarly(Nanos(at)) => {
            EngineError::StoppedEarly(Nanos(at.next_multiple_of(1_000_000)))
        }
        other => other,
    };
    anyhow::Error::new(told).context(complaint)
}
