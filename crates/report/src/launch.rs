//! Chooses the trials of a cell that count: one for each repeat, the second attempt if the first was spoiled.
//!
//! Called for tables, pairings and balanced tables; `start.rs` counts start-ups by launch. The lab decides which trials
//! are repeated; a trial's verdicts show whether the machine spoiled it.

use paceline_judge::{self as judge, VerdictName, row_verdicts};
use paceline_record::{Blame, Fault, LoopKind, Run, Severity, Stage, Trial, Verdict};
use paceline_stats::whole;
use std::collections::BTreeMap;

/// Spoiled launches of a row are left out if at least so many others are sound: enough to see how launches differ.
const ENOUGH_SOUND: usize = 3;

/// A trial with a usable run.
#[derive(Clone, Copy, Debug)]
pub struct UsableTrial<'a> {
    /// The trial.
    pub trial: &'a Trial,
    /// Its run.
    pub run: &'a Run,
}

impl<'a> UsableTrial<'a> {
    /// None if the trial is not usable.
    pub fn from_trial(trial: &'a Trial) -> Option<Self> {
        Some(Self { trial, run: trial.usable_run()? })
    }
}

/// The trials of one cell, sorted into usable and failed.
#[derive(Debug, Default)]
pub struct CellTrials<'a> {
    /// One for each repeat that has a usable trial, in the order of repeats.
    pub usable: Vec<UsableTrial<'a>>,
    /// The number of launches that the machine or a stall of the generator spoiled, by verdict, where enough others are
    /// sound. What spoils a launch does not depend on the server, so leaving it out favours none.
    pub left_out: BTreeMap<String, u32>,
    /// Verdicts on all usable ones together.
    pub together: Vec<Verdict>,
    /// For each repeat without a usable trial, its last trial and the reason.
    pub failed: Vec<(&'a Trial, Fault)>,
}

impl<'a> CellTrials<'a> {
    /// Sorts the trials of one cell.
    pub fn from_trials(trials: &[&'a Trial]) -> Self {
        let mut sorted = Self::default();
        for tries in attempts(trials) {
            match counted(&tries) {
                Some(launch) => sorted.usable.push(launch),
                None => sorted.failed.extend(tries.last().map(|trial| (*trial, fault_of(trial)))),
            }
        }
        sorted.leave_out_spoiled();
        sorted.together = row_verdicts(sorted.usable.iter().map(|launch| launch.run));
        sorted
    }

    /// The number of launches with a trial, usable or not.
    pub fn measured(&self) -> u32 {
        (self.usable.len() + self.failed.len()) as u32 + self.left_out.values().sum::<u32>()
    }

    fn leave_out_spoiled(&mut self) {
        let is_invalid = |launch: &UsableTrial<'_>| invalid(launch).next().is_some();
        if self.usable.iter().filter(|launch| !is_invalid(launch)).count() < ENOUGH_SOUND {
            return;
        }
        for launch in std::mem::take(&mut self.usable) {
            match spoiled_by(&launch) {
                Some(verdict) => *self.left_out.entry(verdict.to_owned()).or_default() += 1,
                None => self.usable.push(launch),
            }
        }
    }
}

/// The trials of one cell from which its figures come: one for each repeat that has a usable trial, in the order of
/// repeats. The others are attempts that failed or were repeated, and launches that the machine spoiled.
pub fn counted_trials<'a>(trials: &[&'a Trial]) -> Vec<&'a Trial> {
    CellTrials::from_trials(trials).usable.into_iter().map(|launch| launch.trial).collect()
}

/// The verdicts of a launch, on its run and its trial, without a recorded one that its server's figures refute.
pub fn verdicts<'a>(launch: &UsableTrial<'a>) -> impl Iterator<Item = &'a Verdict> {
    let is_bound = judge::is_generator_bound(launch.trial, launch.run);
    let stands = move |verdict: &&Verdict| is_bound || verdict.name != VerdictName::GeneratorBound.as_str();
    launch.run.verdicts.iter().chain(&launch.trial.verdicts).filter(stands)
}

fn invalid<'a>(launch: &UsableTrial<'a>) -> impl Iterator<Item = &'a Verdict> {
    verdicts(launch).filter(|verdict| verdict.severity == Severity::Invalid)
}

/// The first of the verdicts that make a launch invalid, if all of them blame the machine or a stall of the generator. A
/// generator that was too slow for a server would be so in another launch too.
fn spoiled_by<'a>(launch: &UsableTrial<'a>) -> Option<&'a str> {
    let is_of_machine = |verdict: &Verdict| {
        matches!(verdict.blame, Blame::Environment | Blame::Generator)
            && verdict.name != VerdictName::GeneratorBound.as_str()
    };
    invalid(launch).all(is_of_machine).then(|| invalid(launch).next())?.map(|verdict| &*verdict.name)
}

/// The attempts at each repeat, in the order in which they ran.
fn attempts<'a>(trials: &[&'a Trial]) -> Vec<Vec<&'a Trial>> {
    let mut repeats: BTreeMap<u32, Vec<&'a Trial>> = BTreeMap::new();
    for trial in trials {
        repeats.entry(trial.repeat).or_default().push(trial);
    }
    for tries in repeats.values_mut() {
        tries.sort_by(|a, b| (&a.started_at, &a.id).cmp(&(&b.started_at, &b.id)));
    }
    repeats.into_values().collect()
}

/// Of several usable attempts at one repeat, the last one counts that the machine did not spoil, or the last if it
/// spoiled all.
fn counted<'a>(tries: &[&'a Trial]) -> Option<UsableTrial<'a>> {
    let usable: Vec<UsableTrial<'a>> =
        tries.iter().rev().filter_map(|trial| UsableTrial::from_trial(trial)).collect();
    let sound = usable.iter().find(|launch| !launch.trial.is_disturbed());
    sound.or(usable.first()).copied()
}

fn fault_of(trial: &Trial) -> Fault {
    if let Some(fault) = &trial.error {
        return fault.clone();
    }
    let (stage, message) = match &trial.run {
        None => (Stage::Generate, "the generator wrote no results".to_owned()),
        Some(run) => {
            let commonest = run.connections.commonest_failure.as_deref();
            let why = commonest.map(|failure| format!("; most often: {failure}")).unwrap_or_default();
            let what = match (run.total.counts.scheduled, run.loop_.kind) {
                (0, LoopKind::Closed) => {
                    "no request was sent in the window: every connection was waiting for a response"
                        .to_owned()
                }
                (scheduled, _) => format!("all {} requests failed", whole(scheduled as f64)),
            };
            (Stage::Load, what + &why)
        }
    };
    Fault { stage, message, transient: false }
}
