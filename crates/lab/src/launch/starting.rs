//! Waits for a started server's first right answer.
//!
//! The launch decides what happens to a server that does not give it.

use super::processes::Processes;
use crate::case_request::{CaseRequest, ValidatedBodies};
use crate::error::LaunchError;
use crate::probe::engine::EngineProbe;
use crate::probe::{Answer, ProbeConnection, ProbeDeadline, ProbeError, ProbeRequest};
use crate::validate;
use paceline_catalogue::WorkloadCase;
use paceline_host::system;
use paceline_judge::core_list;
use paceline_record::{Stage, Startup, WorkloadProtocol};
use paceline_stats::duration_text;
use std::net::SocketAddr;
use std::time::Duration;

/// How often a starting server is polled. Refused connections cost it no CPU time.
const ASK_EVERY: Duration = Duration::from_millis(2);

/// The condition under which a started process is ready.
#[derive(Clone, Copy)]
pub enum ReadyCondition<'a> {
    /// Once it answers this correctly.
    Answers(&'a WorkloadCase),
    /// Once it answers a GET of this path with this status.
    Responds {
        /// The path, from `/`.
        path: &'a str,
        /// The status.
        status: u16,
    },
    /// Once this returns true.
    Succeeds(&'a dyn Fn() -> bool),
}

/// A server that does not answer yet.
pub(super) struct StartingServer<'a> {
    pub processes: Processes,
    pub address: SocketAddr,
    pub startup: Startup,
    /// For protocols that the probe does not speak.
    pub engine: EngineProbe<'a>,
}

impl StartingServer<'_> {
    /// What to say if the server listens, but not where it should.
    fn other_place(&mut self, ready: ReadyCondition<'_>) -> String {
        self.processes.tree.search();
        let (ports, (host, port)) = (self.processes.tree.ports(), (self.address.ip(), self.address.port()));
        let is_asked = !matches!(ready, ReadyCondition::Succeeds(_));
        if ports.contains(&port) && is_asked && self.startup.listening_ns == 0 {
            // Such as ::1, which is `localhost` for some runtimes.
            return format!("; the server listens on port {port}, but not at $PACELINE_HOST ({host})");
        }
        if ports.is_empty() || ports.contains(&port) {
            return String::new();
        }
        let noun = if ports.len() == 1 { "port" } else { "ports" };
        let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
        format!("; the server listens on {noun} {}, and not on $PACELINE_PORT ({port})", ports.join(", "))
    }

    /// Polls it until it is ready, at most `timeout`.
    pub fn wait_ready(&mut self, timeout: Duration, ready: ReadyCondition<'_>) -> Result<(), LaunchError> {
        let deadline = ProbeDeadline::after(timeout, self.engine.interrupt);
        let mut last = NotReady { stage: Stage::Start, why: "no process listens on its port".to_owned() };
        let mut heard = false;
        loop {
            if let Some(ended) = self.processes.shepherd.ended() {
                let after = duration_text(Duration::from_nanos(self.since_start_ns()));
                let message = format!("the process ended with {ended} after {after}, before it was ready");
                return Err(LaunchError::fault(Stage::Start, message, ended.is_unseen()));
            }
            match deadline.check() {
                Ok(()) => {}
                Err(ProbeError::Interrupted) => return Err(LaunchError::Interrupted),
                Err(_) => {
                    let limit = timeout.as_secs();
                    let NotReady { stage, why } = last;
                    let why = why + &self.other_place(ready);
                    let message = match ready {
                        ReadyCondition::Answers(case) => {
                            format!("no correct response to {} within {limit} s: {why}", case.title())
                        }
                        ReadyCondition::Responds { path, .. } => {
                            format!("no correct response to GET {path} within {limit} s: {why}")
                        }
                        ReadyCondition::Succeeds(_) => format!("not ready within {limit} s: {why}"),
                    };
                    return Err(LaunchError::fault(stage, message, false));
                }
            }
            match self.try_ready(ready, deadline) {
                Ok(()) => return Ok(()),
                // An attempt that the deadline cut short has less information than the one before it.
                Err(_) if heard && deadline.check().is_err() => {}
                Err(not_ready) => (last, heard) = (not_ready, true),
            }
            // There is no signal for the moment at which a server begins to listen.
            std::thread::sleep(ASK_EVERY);
        }
    }

    /// Checks that no thread has given itself other cores than those of its launch: the generator may have these. No
    /// cores stand for all.
    pub fn check_cores(&self, cores: &[u32]) -> Result<(), LaunchError> {
        let outside = || self.processes.tree.outside_cores(cores);
        let Some((pid, allowed)) = (!cores.is_empty()).then(outside).flatten() else { return Ok(()) };
        let message = format!(
            "process {pid} of the server may run on the cores {}, but the server has only {}: it must not set its own \
             affinity (taskset, sched_setaffinity)",
            core_list(&allowed),
            core_list(cores)
        );
        Err(LaunchError::fault(Stage::Start, message, false))
    }

    fn try_ready(&mut self, ready: ReadyCondition<'_>, deadline: ProbeDeadline) -> Result<(), NotReady> {
        match ready {
            ReadyCondition::Answers(case) if case.protocol != WorkloadProtocol::Http => {
                self.try_first_run(case, deadline)
            }
            ReadyCondition::Answers(case) => {
                self.try_first_answer(validate::request_for(case), deadline, |answer| {
                    validate::difference(&case.expect, answer)
                })
            }
            ReadyCondition::Responds { path, status } => {
                self.try_first_answer(ProbeRequest::new("GET", path), deadline, |answer| {
                    let is_right = answer.status == status;
                    (!is_right).then(|| format!("status {} instead of {status}", answer.status))
                })
            }
            ReadyCondition::Succeeds(is_ready) if is_ready() => Ok(()),
            ReadyCondition::Succeeds(_) => {
                let why = "the `ready` command in its manifest fails".to_owned();
                Err(NotReady { stage: Stage::Start, why })
            }
        }
    }

    fn try_first_answer(
        &mut self,
        request: ProbeRequest<'_>,
        deadline: ProbeDeadline,
        difference: impl FnOnce(&Answer) -> Option<String>,
    ) -> Result<(), NotReady> {
        let mut connection = self.connect(deadline)?;
        let answer = connection.ask(request).map_err(not_started)?;
        let answered_ns = self.since_start_ns();
        if let Some(difference) = difference(&answer) {
            return Err(NotReady { stage: Stage::Validate, why: difference });
        }
        self.note_ready(answered_ns);
        Ok(())
    }

    /// The same for a protocol that the probe does not speak. The time of the first answer then includes the start of
    /// the generator that asks for it.
    fn try_first_run(&mut self, case: &WorkloadCase, deadline: ProbeDeadline) -> Result<(), NotReady> {
        drop(self.connect(deadline)?);
        let request = CaseRequest { case, address: self.address, certificate: None };
        let wrong = self
            .engine
            .check(&request, None, &ValidatedBodies::new(), deadline.left())
            .map_err(not_started)?;
        if let Some(why) = wrong {
            return Err(NotReady { stage: Stage::Validate, why });
        }
        self.note_ready(self.since_start_ns());
        Ok(())
    }

    fn connect(&mut self, deadline: ProbeDeadline) -> Result<ProbeConnection, NotReady> {
        let connection = ProbeConnection::open(self.address, deadline).map_err(not_started)?;
        if self.startup.listening_ns == 0 {
            self.startup.listening_ns = self.since_start_ns();
        }
        Ok(connection)
    }

    fn note_ready(&mut self, answered_ns: u64) {
        let tree = &mut self.processes.tree;
        tree.search();
        let sample = tree.sample();
        self.startup.first_answer_ns = answered_ns;
        (self.startup.rss_bytes, self.startup.processes) = (sample.rss_bytes, sample.processes);
        self.startup.disk_read_bytes = tree.disk_read_bytes();
    }

    fn since_start_ns(&self) -> u64 {
        system::monotonic_ns().saturating_sub(self.processes.shepherd.started_monotonic_ns())
    }
}

fn not_started(error: ProbeError) -> NotReady {
    NotReady { stage: Stage::Start, why: error.to_string() }
}

/// Why a server is not ready yet, and the stage of the fault if it stays so: a wrong answer is not a failed start.
struct NotReady {
    stage: Stage,
    why: String,
}
