//! Validation before load: every case and every refusal of the workloads under test, and what the framework claims.
//!
//! A wrong answer fails and is not measured; a claim that does not hold is a warning. Each check says the exact
//! difference. The body that passed is handed on, so that the load compares bytes instead of digests.

mod difference;

pub(crate) use difference::difference;

use crate::probe::{self, Connection, Patience, Question, Trouble};
use crate::{Interrupt, Refusal, Traits, Workload, WorkloadCase};
use paceline_record::{Check, CheckOutcome, Validation};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// How long one answer may take. The slowest rightful one, a power of 35,000 digits in an interpreted language, takes
/// tens of milliseconds.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Requests sent ahead to see whether all are answered.
const PIPELINE_DEPTH: usize = 4;

/// What validation found.
#[derive(Clone, Debug, Default)]
pub struct Validated {
    /// Each check, in order.
    pub validation: Validation,
    /// The body of every case that passed, by the case's address.
    pub bodies: BTreeMap<String, Vec<u8>>,
    /// What failed, by workload.
    failures: BTreeMap<String, Vec<String>>,
}

impl Validated {
    /// The checks of a workload that failed, as one text for people.
    pub fn failures_of(&self, workload: &str) -> Option<String> {
        self.failures.get(workload).map(|failures| failures.join("; "))
    }

    fn keep(&mut self, workload: &str, check: Check) {
        if check.outcome == CheckOutcome::Fail {
            let failure = format!("{}: {}", check.name, check.detail);
            self.failures.entry(workload.to_owned()).or_default().push(failure);
        }
        self.validation.checks.push(check);
    }
}

/// Checks the server at `address` on every case and refusal of `workloads`, then what `traits` claims.
///
/// # Errors
/// [`Trouble::Interrupted`] alone: everything else is a check's outcome.
pub fn validate(
    address: SocketAddr,
    workloads: &[Arc<Workload>],
    traits: Traits,
    interrupt: Interrupt,
) -> Result<Validated, Trouble> {
    let asker = Asker { address, interrupt };
    let mut found = Validated::default();
    for workload in workloads {
        for case in &workload.cases {
            let (check, body) = asker.case(case)?;
            found.keep(&workload.name, check);
            if let Some(body) = body {
                found.bodies.insert(case.address.clone(), body);
            }
        }
        for refusal in &workload.refusals {
            found.keep(&workload.name, asker.refusal(refusal)?);
        }
    }
    if let Some(case) = workloads.iter().flat_map(|workload| &workload.cases).next() {
        found.validation.checks.extend(asker.connection_checks(case, traits)?);
    }
    Ok(found)
}

/// In hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

struct Asker {
    address: SocketAddr,
    interrupt: Interrupt,
}

impl Asker {
    fn patience(&self) -> Patience {
        Patience::of(ANSWER_LIMIT, self.interrupt)
    }

    fn case(&self, case: &WorkloadCase) -> Result<(Check, Option<Vec<u8>>), Trouble> {
        let name = format!("{} {}", case.method, case.path);
        let question = Question::new(&case.method, &case.path);
        let answer = passing_interrupt(probe::ask(self.address, question, self.patience()))?;
        Ok(match answer {
            Ok(answer) => match difference(&case.expect, &answer) {
                None => (check(name, CheckOutcome::Pass, String::new()), Some(answer.body)),
                Some(detail) => (check(name, CheckOutcome::Fail, detail), None),
            },
            Err(trouble) => (check(name, CheckOutcome::Fail, trouble.to_string()), None),
        })
    }

    fn refusal(&self, refusal: &Refusal) -> Result<Check, Trouble> {
        let name = format!("GET {} refused", refusal.path);
        let question = Question::new("GET", &refusal.path);
        let answer = passing_interrupt(probe::ask(self.address, question, self.patience()))?;
        Ok(match answer {
            Ok(answer) if refusal.status.admits(answer.status) => {
                check(name, CheckOutcome::Pass, String::new())
            }
            Ok(answer) => {
                let detail = format!("status {} instead of {}", answer.status, refusal.status);
                check(name, CheckOutcome::Fail, detail)
            }
            Err(trouble) => check(name, CheckOutcome::Fail, trouble.to_string()),
        })
    }

    /// What a connection can do, asked with one case, after the refusals: so that a server which they broke shows.
    fn connection_checks(&self, case: &WorkloadCase, traits: Traits) -> Result<Vec<Check>, Trouble> {
        let ordinary = Question::new(&case.method, &case.path);
        let mut checks = vec![self.claim("keep-alive", true, |asker| asker.twice(ordinary))?];
        if let Some(claimed) = traits.pipelining {
            let ahead = [ordinary; PIPELINE_DEPTH];
            let answers_all = |asker: &Asker| {
                let answers = Connection::open(asker.address, asker.patience())?.ask_ahead(&ahead)?;
                Ok(answers.iter().all(|answer| difference(&case.expect, answer).is_none()))
            };
            checks.push(self.claim("pipelining", claimed, answers_all)?);
        }
        if let Some(claimed) = traits.http10_keep_alive {
            let old = Question { http10: true, ..ordinary };
            checks.push(self.claim("HTTP/1.0 keep-alive", claimed, |asker| asker.twice(old))?);
        }
        Ok(checks)
    }

    /// Whether one connection answers twice.
    fn twice(&self, question: Question<'_>) -> Result<bool, Trouble> {
        let mut connection = Connection::open(self.address, self.patience())?;
        if !connection.ask(question)?.keeps_alive {
            return Ok(false);
        }
        connection.ask(question).map(|_| true)
    }

    fn claim(
        &self,
        name: &str,
        claimed: bool,
        holds: impl Fn(&Asker) -> Result<bool, Trouble>,
    ) -> Result<Check, Trouble> {
        let (does, why) = match passing_interrupt(holds(self))? {
            Ok(does) => (does, String::new()),
            Err(trouble) => (false, format!(": {trouble}")),
        };
        let detail = match (claimed, does) {
            (true, false) => format!("does not hold{why}"),
            (false, true) => "the manifest says no, the server does it".to_owned(),
            _ => String::new(),
        };
        let outcome = if detail.is_empty() { CheckOutcome::Pass } else { CheckOutcome::Warn };
        Ok(check(name.to_owned(), outcome, detail))
    }
}

fn check(name: String, outcome: CheckOutcome, detail: String) -> Check {
    Check { name, outcome, detail }
}

/// Ctrl-C ends validation; any other trouble is a finding about the server.
fn passing_interrupt<T>(answer: Result<T, Trouble>) -> Result<Result<T, Trouble>, Trouble> {
    match answer {
        Err(Trouble::Interrupted) => Err(Trouble::Interrupted),
        other => Ok(other),
    }
}
