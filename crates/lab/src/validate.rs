//! Validation before load: every case and every refusal of the workloads under test, and what the framework claims.
//!
//! A wrong answer fails and is not measured; a claim that does not hold is a warning. Each check says the exact
//! difference. The body that passed is handed on, so that the load compares bytes instead of digests.

use crate::probe::{self, Answer, Connection, Patience, Question, Trouble};
use crate::{Expect, ExpectedBody, Interrupt, Refusal, Traits, Workload, WorkloadCase};
use paceline_record::{Check, CheckOutcome, Validation};
use sha2::{Digest as _, Sha256};
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

/// What is wrong with an answer, exactly; `None` when nothing is.
pub fn difference(expect: &Expect, answer: &Answer) -> Option<String> {
    let mut wrong = Vec::new();
    if answer.status != expect.status {
        wrong.push(format!("status {} instead of {}", answer.status, expect.status));
    }
    if let Some(wanted) = &expect.content_type {
        let said = answer.header("content-type");
        let media = said.map(|value| value.split(';').next().unwrap_or_default().trim());
        if !media.is_some_and(|media| media.eq_ignore_ascii_case(wanted)) {
            wrong.push(format!("content type {} instead of {wanted}", said.unwrap_or("missing")));
        }
    }
    wrong.extend(body_difference(&expect.body, &answer.body));
    (!wrong.is_empty()).then(|| wrong.join(", "))
}

fn body_difference(expected: &ExpectedBody, body: &[u8]) -> Option<String> {
    if expected.matches(body) {
        return None;
    }
    let ExpectedBody::Exact(wanted) = expected else {
        let (length, digest) = (expected.length(), expected.sha256());
        let (was, is) = (hex(&digest), hex(&Sha256::digest(body)));
        return Some(if body.len() as u64 == length {
            format!("a body with SHA-256 {is} instead of {was}")
        } else {
            format!("a body of {} bytes instead of {length}", body.len())
        });
    };
    let at = wanted.iter().zip(body).position(|(a, b)| a != b).unwrap_or(wanted.len().min(body.len()));
    let length = if wanted.len() == body.len() {
        String::new()
    } else {
        format!(" of {} bytes instead of {}", body.len(), wanted.len())
    };
    Some(format!("a body{length} with {} instead of {} at byte {at}", excerpt(body, at), excerpt(wanted, at)))
}

/// What stands at an offset, in quotes, for people.
fn excerpt(bytes: &[u8], at: usize) -> String {
    const LENGTH: usize = 24;
    let rest = &bytes[at.min(bytes.len())..];
    if rest.is_empty() {
        return "its end".to_owned();
    }
    format!("\"{}\"", rest[..rest.len().min(LENGTH)].escape_ascii())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, content_type: &str, body: &str) -> Answer {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Answer { status, headers, body: body.as_bytes().to_vec(), keeps_alive: true }
    }

    fn expect(body: ExpectedBody) -> Expect {
        Expect { status: 200, content_type: Some("text/plain".into()), body }
    }

    #[test]
    fn differences_are_exact() {
        let hello = expect(ExpectedBody::Exact(b"Hello World\n".to_vec()));
        let table = [
            (answer(200, "text/plain", "Hello World\n"), None),
            (answer(200, "Text/Plain; charset=utf-8", "Hello World\n"), None),
            (answer(500, "text/plain", "Hello World\n"), Some("status 500 instead of 200")),
            (answer(200, "text/html", "Hello World\n"), Some("content type text/html instead of text/plain")),
            (
                answer(200, "text/plain", "Hello World"),
                Some(r#"a body of 11 bytes instead of 12 with its end instead of "\n" at byte 11"#),
            ),
            (
                answer(200, "text/plain", "Hello world\n"),
                Some(r#"a body with "world\n" instead of "World\n" at byte 6"#),
            ),
        ];
        for (answer, expected) in table {
            assert_eq!(difference(&hello, &answer).as_deref(), expected);
        }
    }

    #[test]
    fn a_digest_is_compared() {
        let sha256 = Sha256::digest(b"27").into();
        let power = expect(ExpectedBody::Digest { length: 2, sha256 });
        assert_eq!(difference(&power, &answer(200, "text/plain", "27")), None);
        let wrong = difference(&power, &answer(200, "text/plain", "28")).unwrap();
        assert!(wrong.starts_with("a body with SHA-256 59e19706d51d39f6"), "{wrong}");
        let short = difference(&power, &answer(200, "text/plain", "2"));
        assert_eq!(short.as_deref(), Some("a body of 1 bytes instead of 2"));
    }
}
