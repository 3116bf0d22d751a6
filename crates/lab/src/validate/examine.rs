//! The checks of `lab check` on a server: its workloads, its traits, the protocol's edge cases, computed answers, an
//! idle connection.
//!
//! It requests more than a round does before a load, and is strict: a manifest that disagrees with the results is a
//! failure here. The idle connection waits in parallel with all other checks.

use super::changed_file::{self, CHANGE_LIMIT};
use super::client::{CheckClient, check, same};
use super::idle::{self, Idle};
use super::trait_check::{self, TraitTest};
use super::{CheckedServer, answers, computed_answers, own_answers, protocol};
use crate::LabError;
use crate::probe::{ProbeError, RequestMode};
use paceline_catalogue::DATE;
use paceline_catalogue::{Trait, Traits, Workload, WorkloadCase};
use paceline_record::{Check, CheckOutcome};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pipelined requests: the depth of TechEmpower's plaintext test.
const PIPELINE_DEPTH: usize = 16;
/// How long after the first `Date` a second one is read: a date that does not change is off by more than the allowance
/// then.
const DATE_AGAIN: Duration = Duration::from_secs(5);
/// A case with a longer body is requested only once.
const SMALL_BYTES: u64 = 64 * 1024;

/// Why a server with right answers does not get the other checks.
const NOTHING_SMALL: &str = "traits (pipelining, HEAD, ...), unusual requests and an idle connection are not checked: these checks need a GET \
    with a response of at most 64 KiB";

/// Whose rules a server must follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rules {
    /// Every check.
    #[default]
    Paceline,
    /// The requests and responses of the workloads alone, as a board asks for them: it has no rule about HEAD, other
    /// methods, or unusual requests.
    Board,
}

/// The options of an examination.
#[derive(Clone, Copy, Debug)]
pub struct ExamineOptions {
    /// Whose rules count.
    pub rules: Rules,
    /// Limit of the time that a connection is left idle.
    pub idle: Duration,
    /// The seed of random paths and numbers.
    pub seed: u64,
}

/// The results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExamineResult {
    /// Each check, in order.
    pub checks: Vec<Check>,
    /// The server's handling of an idle connection, in a few words.
    pub idle: String,
}

/// Examines a server on `workloads`, with the traits of its manifest.
///
/// # Errors
/// [`LabError::Interrupted`] alone: everything else is the outcome of a check.
pub fn examine(
    server: CheckedServer<'_>,
    workloads: &[Arc<Workload>],
    options: ExamineOptions,
) -> Result<ExamineResult, LabError> {
    examined(&server, workloads, options).map_err(|_only_interrupted| LabError::Interrupted)
}

fn examined(
    server: &CheckedServer<'_>,
    workloads: &[Arc<Workload>],
    options: ExamineOptions,
) -> Result<ExamineResult, ProbeError> {
    let (client, begun) = (&server.client(), Instant::now());
    let found = answers(client, workloads)?;
    let mut checks = found.validation.checks;
    let right = |case: &&WorkloadCase| found.bodies.contains_key(&case.address) && is_small(case);
    let mut small: Vec<&WorkloadCase> =
        workloads.iter().flat_map(|one| one.requests()).filter(right).collect();
    small.sort_by_key(|case| case.stream.is_some());
    checks.extend(changed_file::checks(client, workloads, server.static_files, CHANGE_LIMIT)?);
    if options.rules == Rules::Paceline {
        checks.extend(own_answers(client, workloads)?);
        checks.extend(trait_check::secure(server, workloads, &found.bodies, CheckOutcome::Fail)?);
    }
    let Some(case) = small.first().copied() else {
        // Without a right answer, every other check would only repeat that.
        let has_http = workloads.iter().flat_map(|one| one.requests()).any(WorkloadCase::is_plain);
        if !found.bodies.is_empty() && has_http {
            checks.push(check("not examined", CheckOutcome::Warn, NOTHING_SMALL));
        }
        return Ok(ExamineResult { checks, idle: String::new() });
    };
    if options.rules == Rules::Board {
        checks.extend(dates_go_on(client, &small, begun)?);
        checks.push(protocol::still_serves(client, case, "all other checks")?);
        return Ok(ExamineResult { checks, idle: String::new() });
    }
    let attempt = TraitTest { case, other: small.get(1).copied().unwrap_or(case), depth: PIPELINE_DEPTH };
    let (rest, idle) = std::thread::scope(|scope| {
        let wait = || idle::wait(client, case, options.idle);
        let idle = std::thread::Builder::new().spawn_scoped(scope, wait);
        let rest = corners(client, workloads, server.traits, &attempt, options.seed);
        let idle = match idle {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // Without another thread (`ulimit -u`) the checks run in sequence.
            Err(_) => wait(),
        };
        (rest, idle)
    });
    checks.extend(rest?);
    let Idle { check, summary } = idle?;
    checks.push(check);
    checks.extend(dates_go_on(client, &small, begun)?);
    checks.push(protocol::still_serves(client, case, "all other checks")?);
    Ok(ExamineResult { checks, idle: summary })
}

fn is_small(case: &WorkloadCase) -> bool {
    let is_short = case.expect.body.length().is_none_or(|length| length <= SMALL_BYTES);
    case.is_plain() && case.method == "GET" && is_short
}

/// All checks that run beside an idle connection.
fn corners(
    client: &CheckClient<'_>,
    workloads: &[Arc<Workload>],
    traits: &Traits,
    attempt: &TraitTest<'_>,
    seed: u64,
) -> Result<Vec<Check>, ProbeError> {
    let mut checks = Vec::new();
    for one in Trait::ALL {
        // Pipelining does not apply to a server that closes after each answer, unless its manifest states it.
        let moot = one == Trait::Pipelining && traits.has(Trait::KeepAlive) == Some(false);
        if !moot || traits.stated(one).is_some() {
            checks.extend(trait_check::compare(client, attempt, traits, one, CheckOutcome::Fail)?);
        }
    }
    checks.extend(protocol::checks(client, attempt.case, seed)?);
    for computed in workloads.iter().flat_map(|workload| &workload.computed) {
        checks.extend(computed_answers::checks(client, computed, seed)?);
    }
    Ok(checks)
}

/// A date rendered once, at the start, is right only at that time.
fn dates_go_on(
    client: &CheckClient<'_>,
    cases: &[&WorkloadCase],
    begun: Instant,
) -> Result<Vec<Check>, ProbeError> {
    let dated = || cases.iter().filter(|case| case.expect.headers.iter().any(|name| name == DATE));
    if dated().next().is_none() {
        return Ok(Vec::new());
    }
    while begun.elapsed() < DATE_AGAIN {
        if client.interrupt().requested() {
            return Err(ProbeError::Interrupted);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let seconds = begun.elapsed().as_secs();
    let again = |case: &&WorkloadCase| {
        let wrong = client.wrong(case, RequestMode::Http11)?;
        Ok(same(format!("{} {} {seconds} s later", case.method, case.path), wrong))
    };
    dated().map(again).collect()
}
