//! What a record says of what was asked, request by request, and of bodies that were not as expected.
//!
//! Called by `outcome.rs`, whose blocks it uses. No body is compared here: the engine did that as they came, and kept
//! the first wrong one of each request.

use super::outcome::block;
use super::settings::Job;
use paceline_engine::{BodyCheck, Check, JsonCheck, RunOutcome};
use paceline_record::{BadBody, Expectations, ExpectedValue, RequestPart};
use sha2::{Digest as _, Sha256};

/// What every response had to be; where there are several requests, each says its own.
pub(super) fn expectations_of_all(job: &Job) -> Expectations {
    match job.settings.requests.kinds() {
        [only] => expectations(&only.check),
        _ => Expectations::default(),
    }
}

/// Each request of a request file with its block. Of one request alone the block is the total.
pub(super) fn by_request(job: &Job, outcome: &RunOutcome) -> Option<Vec<RequestPart>> {
    let of_one = std::slice::from_ref(&outcome.total);
    let tallies = if outcome.by_request.is_empty() { of_one } else { &outcome.by_request };
    let kinds = job.settings.requests.kinds();
    let parts = job.named.iter().zip(kinds).zip(tallies).map(|((named, kind), tally)| RequestPart {
        name: named.name.clone(),
        weight: kind.weight,
        method: named.method.clone(),
        path: named.path.clone(),
        expectations: expectations(&kind.check),
        block: block(tally),
    });
    (!job.named.is_empty()).then(|| parts.collect())
}

/// The first wrong body of each request.
pub(super) fn bad_bodies(job: &Job, outcome: &RunOutcome) -> Vec<BadBody> {
    let wrong = outcome.wrong_bodies.iter().enumerate();
    let told = wrong.filter_map(|(kind, wrong)| {
        let wrong = wrong.as_ref()?;
        Some(BadBody {
            request: job.named.get(kind).map(|named| named.name.clone()),
            at_ns: wrong.at.since(outcome.spans.start).0,
            status: wrong.status,
            body_bytes: wrong.length,
            fault: wrong.fault.to_string(),
            differs_at: wrong.differs_at,
            shown: String::from_utf8_lossy(&wrong.shown).into_owned(),
            shown_from: wrong.shown_from,
        })
    });
    told.collect()
}

fn expectations(check: &Check) -> Expectations {
    let (body_bytes, body_sha256, json) = match &check.body {
        BodyCheck::Any => (None, None, [].as_slice()),
        BodyCheck::Exact(body) => (Some(body.len() as u64), Some(hex(&Sha256::digest(body))), [].as_slice()),
        BodyCheck::Sha256(digest) => (None, Some(hex(digest)), [].as_slice()),
        BodyCheck::Json(checks) => (None, None, checks.as_ref()),
    };
    let value_of = |check: &JsonCheck| ExpectedValue {
        pointer: check.pointer().to_owned(),
        value: check.value().clone(),
    };
    let json = json.iter().map(value_of).collect();
    Expectations { status: check.status, body_bytes, body_sha256, json }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
