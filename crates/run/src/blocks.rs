//! The parts of a record that follow from the engine's tallies: blocks (outcomes, bytes and times, under their
//! published keys), each request, and bodies that differ from the expected ones.
//!
//! Bodies are not compared here: the engine compares them as they arrive, and keeps the first wrong one of each
//! request.

use paceline_engine::{
    BodyCheck, CountedStatus, Ending, Measure, ResponseCheck, RunOutcome, Settings, StreamCounts, Tally,
    TallyCounts as EngineCounts,
};
use paceline_job::hexadecimal::format as hex;
use paceline_record as record;
use paceline_record::{BadBody, Block, Expectations, RequestPart, TimeKind, Times};
use sha2::{Digest as _, Sha256};

/// Converts a tally's counts and times to a block of the record.
pub fn block(tally: &Tally) -> Block {
    let counts = &tally.counts;
    let mut block = Block {
        counts: outcomes(counts),
        completed_in_window: counts.completed_in_window,
        status: counts.status.iter().map(|(status, count)| (status_name(*status), *count)).collect(),
        bytes: record::Bytes {
            sent: counts.sent_bytes,
            received: counts.received_bytes,
            body: counts.body_bytes,
        },
        stream_events: events(&counts.streams),
        body_bytes: counts.body_lengths().map(|(min, max)| record::Lengths { min, max }),
        censored: counts.censored.map(|(count, lowest)| record::Censored { count, lowest_ns: lowest.0 }),
        ..Block::default()
    };
    for measure in Measure::ALL {
        let times = tally.times(measure);
        if let Some(kind) = TimeKind::parse(measure.key()).filter(|_| !times.is_empty()) {
            *block.times_mut(kind) = Some(Times::from_histogram(times));
        }
    }
    block
}

/// A status as records name it: the number of HTTP, or the name of gRPC's code.
fn status_name(number: u16) -> String {
    match CountedStatus::from_number(number) {
        CountedStatus::Http(status) => status.to_string(),
        CountedStatus::Grpc(code) => code.name().to_owned(),
    }
}

/// The events of streams; none without streams.
fn events(counts: &StreamCounts) -> Option<record::EventCounts> {
    let range = counts.events_per_stream();
    (*counts != StreamCounts::default()).then(|| record::EventCounts {
        streams: counts.streams,
        ended_early: counts.ended_early,
        events: counts.events,
        events_in_window: counts.events_in_window,
        events_of_ok_in_window: counts.events_of_ok_in_window,
        counted: counts.counted,
        counted_in_window: counts.counted_in_window,
        events_without_time: counts.without_time,
        events_ahead_of_clock: counts.ahead_of_clock,
        ahead_of_clock_ns_max: counts.ahead_most.0,
        events_min: range.map(|(min, _)| min),
        events_max: range.map(|(_, max)| max),
    })
}

fn outcomes(counts: &EngineCounts) -> record::Counts {
    record::Counts {
        scheduled: counts.scheduled,
        ok: counts.ended(Ending::Ok),
        bad_status: counts.ended(Ending::BadStatus),
        bad_body: counts.ended(Ending::BadBody),
        connect_failed: counts.ended(Ending::ConnectFailed),
        io_failed: counts.ended(Ending::IoFailed),
        timed_out: counts.ended(Ending::TimedOut),
        unsent: counts.ended(Ending::Unsent),
    }
}

/// The expectations for every response; with several requests, each request has its own.
pub(crate) fn expectations_of_all(settings: &Settings) -> Expectations {
    match settings.requests.kinds() {
        [only] => expectations(&only.check),
        _ => Expectations::default(),
    }
}

/// Each request of a request file with its block. For a single request the block is the total.
pub(crate) fn by_request(settings: &Settings, outcome: &RunOutcome) -> Option<Vec<RequestPart>> {
    let of_one = std::slice::from_ref(&outcome.total);
    let tallies = if outcome.by_request.is_empty() { of_one } else { &outcome.by_request };
    let kinds = settings.requests.kinds();
    let job = &settings.job;
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
pub(crate) fn bad_bodies(settings: &Settings, outcome: &RunOutcome) -> Vec<BadBody> {
    let job = &settings.job;
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

fn expectations(check: &ResponseCheck) -> Expectations {
    let mut expected = Expectations { status: check.status, ..Expectations::default() };
    match &check.body {
        BodyCheck::Any | BodyCheck::Stream(_) => {}
        BodyCheck::Exact(body) => {
            expected.body_bytes = Some(body.len() as u64);
            expected.body_sha256 = Some(hex(&Sha256::digest(body)));
        }
        BodyCheck::Sha256(digest) => expected.body_sha256 = Some(hex(digest)),
        BodyCheck::Json(checks) => expected.json = checks.to_vec(),
        BodyCheck::Echo => expected.echo = true,
        BodyCheck::Call(_) => {}
        BodyCheck::JsonForm(form) => expected.json_form = Some((**form).clone()),
    }
    if let Some(call) = check.body.call() {
        expected.grpc_status = Some(call.code.name().to_owned());
        expected.body_bytes = call.message.as_ref().map(|message| message.len() as u64);
        expected.body_sha256 = call.message.as_ref().map(|message| hex(&Sha256::digest(message)));
    }
    expected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_of_a_record_has_one_measure() {
        let kinds: Vec<Option<TimeKind>> =
            Measure::ALL.into_iter().map(|measure| TimeKind::parse(measure.key())).collect();
        assert_eq!(kinds.len(), TimeKind::ALL.len());
        assert!(TimeKind::ALL.into_iter().all(|kind| kinds.contains(&Some(kind))), "{kinds:?}");
    }
}
