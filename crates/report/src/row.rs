//! A row: one server under one form, workload and load, over its launches.
//!
//! `table.rs` makes one for each server of a table, with the notes below the table: verdicts with their remedies, and
//! failures. This file decides the standing of a row; its figures are in `figure.rs`, and `rank.rs` sets its rank when
//! all rows are known.

use crate::figure::Figures;
use crate::launch::{CellTrials, UsableTrial, verdicts};
use paceline_judge::{self as judge, Better, MIN_ACHIEVED, Metric, VerdictName};
use paceline_record::{
    Blame, FoundCapacity, FrameworkPackage, Limit, LimitKind, Load, LoopKind, Run, Server, Severity, Stage,
    Verdict,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The standing of a row: whether its numbers measure the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It measures the server, and is ranked.
    Ranked,
    /// The generator was the bottleneck in some launch: the server can do at least this.
    GeneratorBound,
    /// Open loop: in some launch less than 99 % of the scheduled requests were answered in the window, or the queue
    /// grew.
    Overloaded,
    /// Closed loop: in some launch other processes or the hypervisor took so much CPU time, or the generator stalled for
    /// so long, that it is invalid. That can only lower the rate: the server can do at least this.
    Disturbed,
    /// Some launch has a verdict that makes it invalid.
    Invalid,
    /// No launch is usable.
    Failed,
}

/// The server of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Subject {
    /// The folder's name.
    pub id: String,
    /// The original if the server is a copy, which was added to check the table's noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<String>,
    /// Name of the server, for people.
    pub name: String,
    /// The language it is written in.
    pub language: String,
    /// Name of the framework.
    pub framework: String,
    /// Output of its version command; several if it changed between launches.
    pub versions: Vec<String>,
    /// The system package that its framework comes from; none if the framework comes from elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framework_package: Option<FrameworkPackage>,
    /// The framework's limits, from its manifest and as checked: `no pipelining`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

/// One server under one form, workload and load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// The best possible rank, from 1; none if it is not ranked.
    pub rank: Option<u32>,
    /// The worst possible rank. With 95 % confidence for the whole table its rank lies between the two.
    pub rank_worst: Option<u32>,
    /// The standing of the row.
    pub standing: Standing,
    /// The server that was measured.
    pub server: Subject,
    /// Number of launches with a usable run.
    pub launches_usable: u32,
    /// Number of launches that were planned.
    pub launches_planned: u32,
    /// The figures of the row.
    pub figures: Figures,
    /// What limited it, with the evidence of one launch: the limit of most launches. None without a usable launch, and
    /// in imported rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// The names of its verdicts, the most severe first.
    pub verdicts: Vec<String>,
    /// The worst severity among them; none without a verdict.
    #[serde(skip)]
    pub severity: Option<Severity>,
    /// The launches that failed, by reason.
    pub failures: Vec<Failure>,
    /// The number of launches that the machine spoiled, by verdict. They are left out where at least three others are
    /// sound.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, u32>,
}

impl Row {
    /// Makes the row of a cell's launches, without ranks.
    pub fn from_trials(servers: &[&Server], load: &Load, launches: &CellTrials<'_>, planned: u32) -> Self {
        let usable: Vec<&UsableTrial<'_>> = launches.usable.iter().collect();
        let verdicts = worst_first(launches);
        Self {
            rank: None,
            rank_worst: None,
            standing: standing(&usable, load),
            server: subject(servers),
            launches_usable: usable.len() as u32,
            launches_planned: planned.max(launches.measured()),
            figures: Figures::from_launches(&usable),
            limit: limit(&usable),
            severity: verdicts.first().map(|(severity, _)| *severity),
            verdicts: names(verdicts),
            failures: failures(launches),
            left_out: launches.left_out.clone(),
        }
    }

    /// Whether no reason speaks against its numbers, so that it is ranked.
    pub fn is_sound(&self) -> bool {
        matches!(self.standing, Standing::Ranked | Standing::GeneratorBound)
    }

    /// Whether the row's figure of a metric answers the question, as an estimate or as a minimum: only such figures are
    /// compared.
    pub fn counts(&self, metric: &Metric) -> bool {
        self.is_sound() || (self.standing == Standing::Disturbed && self.is_minimum(metric))
    }

    /// Whether the row's figure of a metric is a minimum: a rate that was limited by the generator or by a disturbance,
    /// or a time that includes requests without a response.
    pub fn is_minimum(&self, metric: &Metric) -> bool {
        let rates: &[&Metric] = match self.figures.get(&Metric::CAPACITY) {
            Some(_) => &[&Metric::CAPACITY],
            None => &[&Metric::ACHIEVED_PER_S, &Metric::ACHIEVED_PER_CORE],
        };
        let is_limited = matches!(self.standing, Standing::GeneratorBound | Standing::Disturbed);
        let figure = self.figures.get(metric);
        (is_limited && rates.contains(&metric)) || figure.is_some_and(|figure| figure.at_least == Some(true))
    }

    /// Whether the row may be any worse than its figure of a metric: a minimum of which less is better.
    pub fn may_be_worse(&self, metric: &Metric) -> bool {
        metric.better == Better::Lower && self.is_minimum(metric)
    }

    /// Whether no launch was disturbed or reports that the server was still changing: only then is it used to estimate
    /// the noise of others.
    pub fn is_steady(&self) -> bool {
        let changing = [VerdictName::SlowingDown, VerdictName::StillWarming, VerdictName::Unsteady];
        let is_changing =
            changing.iter().any(|name| self.verdicts.iter().any(|verdict| verdict == name.as_str()));
        !is_changing && self.standing != Standing::Disturbed
    }

    /// Whether the row has usable numbers.
    pub fn is_measured(&self) -> bool {
        self.standing != Standing::Failed
    }
}

/// The recorded limit of a launch. Older records are judged again if they have none, or if it is a busy generator beside
/// a full server.
fn launch_limit(launch: &UsableTrial<'_>) -> Option<Limit> {
    let is_refuted = |limit: &Limit| {
        let is_of_loop = launch.trial.capacity.is_none() && limit.kind == LimitKind::Generator;
        is_of_loop && !judge::is_generator_bound(launch.trial, launch.run)
    };
    let recorded = launch.trial.limit.clone().filter(|limit| !is_refuted(limit));
    recorded.or_else(|| judge::trial_limit(launch.trial))
}

/// The limit of most launches. What the others had is added to the evidence.
fn limit(launches: &[&UsableTrial<'_>]) -> Option<Limit> {
    let limits: Vec<Limit> = launches.iter().filter_map(|launch| launch_limit(launch)).collect();
    let mut counts: BTreeMap<LimitKind, usize> = BTreeMap::new();
    limits.iter().for_each(|limit| *counts.entry(limit.kind).or_default() += 1);
    let (kind, _) = counts.iter().rev().max_by_key(|(_, count)| **count)?;
    let mut limit = limits.iter().find(|limit| limit.kind == *kind)?.clone();
    for (other, count) in counts.iter().filter(|(other, _)| *other != kind) {
        limit.evidence.push_str(&format!(
            "; in {count} of {} launches the limit was: {}",
            limits.len(),
            other.words()
        ));
    }
    Some(limit)
}

fn standing(launches: &[&UsableTrial<'_>], load: &Load) -> Standing {
    let any = |test: &dyn Fn(&UsableTrial<'_>) -> bool| launches.iter().any(|launch| test(launch));
    let bound = any(&|launch| judge::is_generator_bound(launch.trial, launch.run));
    let short = load.kind == LoopKind::Open && any(&|launch| fell_short(launch));
    if load.capacity.is_some() && !launches.is_empty() {
        return standing_of_search(launches);
    }
    if launches.is_empty() {
        Standing::Failed
    } else if short {
        if bound { Standing::GeneratorBound } else { Standing::Overloaded }
    } else if any(&|launch| verdicts(launch).any(|verdict| verdict.severity == Severity::Invalid)) {
        let is_minimum = |launch: &&UsableTrial<'_>| lowers_only_the_rate(verdicts(launch));
        match load.kind == LoopKind::Closed && launches.iter().all(is_minimum) {
            true => Standing::Disturbed,
            false => Standing::Invalid,
        }
    } else if bound && load.kind == LoopKind::Closed {
        // A closed loop's rate is then a lower bound. An open loop that kept up is not affected.
        Standing::GeneratorBound
    } else {
        Standing::Ranked
    }
}

/// Verdicts on disturbances of the generator or the machine. In a closed loop they can only lower the rate, also where
/// they make a run invalid.
const DISTURBANCES: [VerdictName; 5] = [
    VerdictName::GeneratorDescheduled,
    VerdictName::GeneratorThrottled,
    VerdictName::GeneratorStall,
    VerdictName::Steal,
    VerdictName::StolenTime,
];

/// Whether every verdict that makes a run of a closed loop invalid can only have lowered its rate.
fn lowers_only_the_rate<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> bool {
    let mut invalid = verdicts.filter(|verdict| verdict.severity == Severity::Invalid);
    invalid.all(|verdict| DISTURBANCES.iter().any(|name| verdict.name == name.as_str()))
}

/// Whether the rate of a run is a minimum: the generator limited it, or a closed loop lost time because it waited for a
/// CPU or was disturbed otherwise.
pub fn rate_is_minimum(run: &Run) -> bool {
    is_lowered(run.loop_.kind, run.verdicts.iter())
}

/// Whether the rate of a launch is a minimum, see [`rate_is_minimum`]; by the verdicts that stand.
pub(crate) fn launch_is_minimum(launch: &UsableTrial<'_>) -> bool {
    is_lowered(launch.run.loop_.kind, verdicts(launch))
}

fn is_lowered<'a>(kind: LoopKind, verdicts: impl Iterator<Item = &'a Verdict>) -> bool {
    let verdicts: Vec<&Verdict> = verdicts.collect();
    let is_bound = |verdict: &Verdict| verdict.name == VerdictName::GeneratorBound.as_str();
    let waited = |verdict: &Verdict| verdict.name == VerdictName::GeneratorDescheduled.as_str();
    let is_invalid = |verdict: &Verdict| verdict.severity == Severity::Invalid;
    match kind {
        LoopKind::Closed => {
            let limits = |verdict: &&Verdict| is_bound(verdict) || waited(verdict) || is_invalid(verdict);
            lowers_only_the_rate(verdicts.iter().copied()) && verdicts.iter().any(limits)
        }
        LoopKind::Open => verdicts.iter().any(|verdict| is_bound(verdict) && is_invalid(verdict)),
    }
}

/// The standing of a search, which intentionally offers more than the server can do.
fn standing_of_search(launches: &[&UsableTrial<'_>]) -> Standing {
    let found = launches.iter().filter_map(|launch| launch.trial.capacity.as_ref());
    let all: Vec<&FoundCapacity> = found.filter(|found| found.half_pass_per_s.is_some()).collect();
    if all.len() < launches.len() {
        Standing::Invalid
    } else if all.iter().any(|found| found.limit.kind == LimitKind::Generator) {
        Standing::GeneratorBound
    } else {
        Standing::Ranked
    }
}

fn fell_short(launch: &UsableTrial<'_>) -> bool {
    judge::fell_short(launch.run, MIN_ACHIEVED)
        || verdicts(launch).any(|verdict| verdict.name == VerdictName::Saturated.as_str())
}

fn subject(servers: &[&Server]) -> Subject {
    let last = servers.last().copied().cloned().unwrap_or_default();
    let mut versions: Vec<String> = Vec::new();
    for server in servers {
        let version = server.versions.trim().to_owned();
        if !version.is_empty() && !versions.contains(&version) {
            versions.push(version);
        }
    }
    let lacking = last.traits.iter().filter(|(_, has)| !**has);
    let limits = lacking.map(|(name, _)| format!("no {}", name.replace('_', " "))).collect();
    let Server { id, copy_of, name, language, framework, framework_package, .. } = last;
    Subject { id, copy_of, name, language, framework, versions, framework_package, limits }
}

/// A verdict on some rows of a table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Note {
    /// Name of the verdict.
    pub name: String,
    /// Where the cause is: server, generator, environment or user.
    pub blame: Blame,
    /// The worst of its severities.
    pub severity: Severity,
    /// What to do about it: the remedy as a sentence.
    pub remedy: String,
    /// The servers with this verdict, and the number of affected launches.
    pub launches_by_server: BTreeMap<String, u32>,
    /// The first figure of its evidence over these launches; none if the evidence has no figure.
    #[serde(skip)]
    pub evidence: Option<EvidenceRange>,
}

/// A figure of the evidence for a verdict, over several launches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvidenceRange {
    /// Its key.
    pub key: &'static str,
    /// The lowest and the highest.
    pub ends: [f64; 2],
}

impl EvidenceRange {
    /// The first figure of a verdict's evidence, in the order of the judge's table.
    fn from_verdict(verdict: &Verdict) -> Option<Self> {
        let documented = VerdictName::parse(&verdict.name)?.doc().evidence.iter();
        let figure = |key: &'static str| Some((key, verdict.evidence.get(key)?.as_f64()?));
        let (key, value) = documented.map(|(key, _)| *key).find_map(figure)?;
        // A rate and a time change in opposite directions; the verdict's title has the direction.
        Some(Self { key, ends: [value.abs(); 2] })
    }

    /// A range that contains both, if they are the same figure; else the first.
    pub fn merged(self, other: Self) -> Self {
        if self.key != other.key {
            return self;
        }
        let ([low, high], [other_low, other_high]) = (self.ends, other.ends);
        Self { ends: [low.min(other_low), high.max(other_high)], ..self }
    }
}

/// A failure of some launches of one server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Failure {
    /// The stage that it reached.
    pub stage: Stage,
    /// The error message.
    pub message: String,
    /// The last line that the server or its build printed in the first of them, if there is one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub printed_last: String,
    /// Number of launches with this failure.
    pub launches: u32,
}

/// The names of verdicts.
fn names(verdicts: Vec<(Severity, &str)>) -> Vec<String> {
    verdicts.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// The verdicts on single launches or on all of them together, the most severe first, each once with its worst severity.
fn worst_first<'a>(launches: &'a CellTrials<'_>) -> Vec<(Severity, &'a str)> {
    let mut found: Vec<(Severity, &str)> = Vec::new();
    for verdict in launches.usable.iter().flat_map(verdicts).chain(&launches.together) {
        match found.iter_mut().find(|(_, name)| *name == verdict.name) {
            Some((severity, _)) => *severity = verdict.severity.max(*severity),
            None => found.push((verdict.severity, &verdict.name)),
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    found
}

/// Adds a row's verdicts to the notes of its table. A launch counts once for a name; a verdict on all launches together
/// counts for each.
pub fn collect(notes: &mut BTreeMap<String, Note>, server: &str, launches: &CellTrials<'_>) {
    for launch in &launches.usable {
        let mut counted: Vec<&str> = Vec::new();
        for verdict in verdicts(launch).chain(&launches.together) {
            let note = notes.entry(verdict.name.clone()).or_insert_with(|| Note {
                name: verdict.name.clone(),
                blame: verdict.blame,
                severity: verdict.severity,
                remedy: verdict.remedy.clone(),
                launches_by_server: BTreeMap::new(),
                evidence: None,
            });
            note.evidence = note
                .evidence
                .into_iter()
                .chain(EvidenceRange::from_verdict(verdict))
                .reduce(EvidenceRange::merged);
            if verdict.severity > note.severity {
                (note.severity, note.remedy) = (verdict.severity, verdict.remedy.clone());
            }
            if !counted.contains(&verdict.name.as_str()) {
                counted.push(&verdict.name);
                *note.launches_by_server.entry(server.to_owned()).or_default() += 1;
            }
        }
    }
}

/// The failures of a row, with equal ones counted together, in the order of first occurrence.
pub fn failures(launches: &CellTrials<'_>) -> Vec<Failure> {
    let mut failures: Vec<Failure> = Vec::new();
    for (trial, fault) in &launches.failed {
        match failures.iter_mut().find(|f| f.stage == fault.stage && f.message == fault.message) {
            Some(failure) => failure.launches += 1,
            None => {
                let message = fault.message.clone();
                let printed_last = printed_last(&trial.log_tail);
                failures.push(Failure { stage: fault.stage, message, printed_last, launches: 1 })
            }
        }
    }
    failures
}

/// The last non-empty line of a log, shortened: some programs print a page in one line.
fn printed_last(log: &str) -> String {
    const CHARACTERS: usize = 200;
    let line = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.trim().chars().take(CHARACTERS).collect()
}
