//! The parts of a record that describe each request, and bodies that differ from the expected ones.
//!
//! Called by `outcome.rs`, whose blocks it uses. Bodies are not compared here: the engine compares them as they arrive,
//! and keeps the first wrong one of each request.

use crate::Prepared;
use crate::block::block;
use paceline_engine::{BodyCheck, Check, RunOutcome};
use paceline_job::hexadecimal::format as hex;
use paceline_record::{BadBody, Expectations, RequestPart};
use sha2::{Digest as _, Sha256};

/// The expectations for every response; with several requests, each request has its own.
pub(crate) fn expectations_of_all(prepared: &Prepared) -> Expectations {
    match prepared.settings.requests.kinds() {
        [only] => expectations(&only.check),
        _ => Expectations::default(),
    }
}

/// Each request of a request file with its block. For a single request the block is the total.
pub(crate) fn by_request(prepared: &Prepared, outcome: &RunOutcome) -> Option<Vec<RequestPart>> {
    let of_one = std::slice::from_ref(&outcome.total);
    let tallies = if outcome.by_request.is_empty() { of_one } else { &outcome.by_request };
    let kinds = prepared.settings.requests.kinds();
    let job = &prepared.settings.job;
    let parts = job.requests.iter().zip(kinds).zip(tallies).map(|((spec, kind), tally)| RequestPart {
        name: spec.shown_name().to_owned(),
        weight: kind.weight,
        method: spec.method.clone(),
        path: spec.path.clone().unwrap_or_else(|| job.url.path.clone()),
        expectations: expectations(&kind.check),
        block: block(tally),
    });
    job.is_mix().then(|| parts.collect())
}

/// The first wrong body of each request.
pub(crate) fn bad_bodies(prepared: &Prepared, outcome: &RunOutcome) -> Vec<BadBody> {
    let job = &prepared.settings.job;
    let wrong = outcome.wrong_bodies.iter().enumerate();
    let reported = wrong.filter_map(|(kind, wrong)| {
        let wrong = wrong.as_ref()?;
        Some(BadBody {
            request: job.requests.get(kind).filter(|_| job.is_mix()).map(|spec| spec.shown_name().to_owned()),
            at_ns: wrong.at.since(outcome.spans.start).0,
            status: wrong.status,
            body_bytes: wrong.length,
            fault: wrong.fault.to_string(),
            differs_at: wrong.differs_at,
            shown: String::from_utf8_lossy(&wrong.shown).into_owned(),
            shown_from: wrong.shown_from,
        })
    });
    reported.collect()
}

fn expectations(check: &Check) -> Expectations {
    let mut expected = Expectations { status: check.status, ..Expectations::default() };
    let body = match &check.body {
        BodyCheck::Decoded(body) => body,
        body => body,
    };
    match body {
        // Decoding is not nested.
        BodyCheck::Any | BodyCheck::Decoded(_) => {}
        BodyCheck::Exact(body) => {
            expected.body_bytes = Some(body.len() as u64);
            expected.body_sha256 = Some(hex(&Sha256::digest(body)));
        }
        BodyCheck::Sha256(digest) => expected.body_sha256 = Some(hex(digest)),
        BodyCheck::Json(checks) => expected.json = checks.to_vec(),
        BodyCheck::JsonForm(form) => expected.json_form = Some((**form).clone()),
    }
    expected
}
