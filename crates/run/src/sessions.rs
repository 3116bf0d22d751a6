//! Sessions: converts the requests of a job to the engine's session plan, and the engine's outcome to the record.
//!
//! Consecutive requests that name the same session are its steps. How many sessions failed, and at which step, follows
//! from the counts of the steps: all of them are counted in the cohort of their session.

use crate::RunError;
use crate::blocks::block;
use paceline_engine::session::{Extract, ExtractSource, PlannedStep, Session, SessionPlan};
use paceline_engine::{Ending, RunOutcome, Settings, Tally};
use paceline_job::{ExtractFrom, Job, RequestSpec};
use paceline_record::{SessionPart, SessionStep, Times};
use regex::bytes::RegexBuilder;

/// Most memory of a compiled regular expression.
const MAX_REGEX_BYTES: usize = 1 << 20;

/// The sessions of a job, if it has any.
pub(crate) fn plan(job: &Job) -> Result<Option<SessionPlan>, RunError> {
    if !job.has_users() {
        return Ok(None);
    }
    let (mut sessions, mut steps, mut variables) = (Vec::<Session>::new(), Vec::new(), 0);
    let mut names: Vec<&str> = Vec::new();
    for (index, spec) in job.requests.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| job.requests.get(before));
        let goes_on = spec.session.is_some() && before.is_some_and(|before| before.session == spec.session);
        check(job, index, goes_on)?;
        if !goes_on {
            names.clear();
            let first = u16::try_from(index)
                .map_err(|_| wrong(spec, "the file has more than the maximum of 65,536 requests"))?;
            sessions.push(Session { weight: spec.weight, first, count: 0 });
        }
        sessions.last_mut().into_iter().for_each(|session| session.count += 1);
        let extract = spec.extract.iter().map(|extraction| {
            let known = names.iter().position(|name| **name == extraction.name);
            let variable = known.unwrap_or(names.len());
            if known.is_none() {
                names.push(&extraction.name);
            }
            let from = source(spec, &extraction.from)?;
            Ok(Extract { variable, name: extraction.name.clone(), from })
        });
        let extract = extract.collect::<Result<_, RunError>>()?;
        steps.push(PlannedStep { think: spec.think, extract });
        variables = variables.max(names.len());
    }
    let keeps_cookies = job.requests.iter().all(|spec| spec.session.is_none());
    let takes_cookies = job.cookies || job.has_sessions();
    let begins_with_each = false;
    Ok(Some(SessionPlan { sessions, steps, variables, takes_cookies, keeps_cookies, begins_with_each }))
}

/// The variables that a request may use, with their numbers: those of the earlier steps of its session.
pub(crate) fn variables(plan: &SessionPlan, kind: usize) -> Vec<(String, usize)> {
    let holds = |session: &&Session| {
        let first = usize::from(session.first);
        (first..first + usize::from(session.count)).contains(&kind)
    };
    let first = plan.sessions.iter().find(holds).map_or(kind, |session| session.first.into());
    let extracts = plan.steps.get(first..kind).unwrap_or_default().iter().flat_map(|step| &step.extract);
    extracts.map(|extract| (extract.name.clone(), extract.variable)).collect()
}

/// Checks that a request is valid at its place in a session.
fn check(job: &Job, index: usize, goes_on: bool) -> Result<(), RunError> {
    let Some(spec) = job.requests.get(index) else { return Ok(()) };
    let is_split = spec.session.is_some()
        && !goes_on
        && job.requests.iter().take(index).any(|other| other.session == spec.session);
    if is_split {
        return Err(wrong(
            spec,
            "the requests of this session are separated by a request of another session, or of none",
        )
        .hint("list the requests of a session directly after each other"));
    }
    if spec.session.is_none() && !spec.extract.is_empty() {
        return Err(wrong(spec, "the request has `extract`, but is not part of a session")
            .hint("add `session = \"NAME\"` to this request and to the requests that use the value from its response"));
    }
    if !goes_on && spec.think.is_some() {
        return Err(wrong(spec, "`think` needs an earlier request in the same session").hint(
            "move `think` to a later request of a session; to set the time between sessions, use a rate (-r)",
        ));
    }
    Ok(())
}

fn wrong(spec: &RequestSpec, what: &str) -> RunError {
    RunError::usage(format!("request {:?}: {what}", spec.shown_name()))
}

fn source(spec: &RequestSpec, from: &ExtractFrom) -> Result<ExtractSource, RunError> {
    Ok(match from {
        ExtractFrom::Json(pointer) => ExtractSource::Json(pointer.clone()),
        ExtractFrom::Header(name) => ExtractSource::Header(name.clone()),
        ExtractFrom::Regex(text) => ExtractSource::Regex(
            RegexBuilder::new(text).size_limit(MAX_REGEX_BYTES).unicode(true).build().map_err(|error| {
                wrong(spec, &format!("the regular expression {text:?} is invalid")).because(error)
            })?,
        ),
    })
}

/// The results of the sessions; `None` if no request names a session.
pub(crate) fn of_run(settings: &Settings, outcome: &RunOutcome) -> Option<Vec<SessionPart>> {
    let job = &settings.job;
    let plan = settings.requests.sessions()?;
    if plan.keeps_cookies {
        return None;
    }
    let of_one = std::slice::from_ref(&outcome.total);
    let tallies = if outcome.by_request.is_empty() { of_one } else { &outcome.by_request };
    let part = |(number, session): (usize, &Session)| {
        let range = usize::from(session.first)..usize::from(session.first) + usize::from(session.count);
        let (specs, tallies) = (job.requests.get(range.clone())?, tallies.get(range)?);
        let first = specs.first()?;
        let times = outcome.session_times.get(number).filter(|times| !times.is_empty());
        let part = part_of(first, session.weight, specs, tallies, times.map(Times::from_histogram));
        Some(SessionPart { completed_in_window: outcome.sessions_completed.get(number).copied(), ..part })
    };
    plan.sessions.iter().enumerate().map(part).collect()
}

fn part_of(
    first: &RequestSpec,
    weight: u32,
    specs: &[RequestSpec],
    tallies: &[Tally],
    session_time_ns: Option<Times>,
) -> SessionPart {
    let scheduled = |tally: &Tally| block(tally).counts.scheduled;
    let ok = |tally: &Tally| tally.counts.endings[Ending::Ok as usize];
    let started = tallies.first().map_or(0, scheduled);
    let completed = tallies.last().map_or(0, ok);
    let failed = tallies.iter().map(|tally| scheduled(tally) - ok(tally)).sum();
    let steps = specs.iter().zip(tallies).map(|(spec, tally)| SessionStep {
        name: spec.shown_name().to_owned(),
        not_reached: started.saturating_sub(scheduled(tally)),
    });
    SessionPart {
        name: first.session.clone().unwrap_or_else(|| first.shown_name().to_owned()),
        weight,
        started,
        completed,
        completed_in_window: None,
        failed,
        unfinished: started.saturating_sub(completed + failed),
        steps: steps.collect(),
        session_time_ns,
    }
}
