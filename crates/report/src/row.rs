//! A row: one server under one form, workload and load, over its launches.
//!
//! Made by `table.rs` for each server of a table. Here it is settled what a row can be taken for; its figures are
//! `figure.rs`'s, and its rank comes later, from `rank.rs`, when all rows are known.

use crate::figure::Figures;
use crate::launch::{Launch, Launches};
use crate::note::{Failure, failures, names, verdicts};
use paceline_judge::{self as judge, ACHIEVED_LEAST, GENERATOR_BUSY_MOST, VerdictName};
use paceline_record::{Load, LoopKind, Server, Severity};
use schemars::JsonSchema;
use serde::Serialize;

/// What a row can be taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It measures the server, and is ranked.
    Ranked,
    /// The generator was busier than 90 % of its core in some launch: the server can do at least this.
    GeneratorBound,
    /// Open loop: in some launch less than 99 % of what was scheduled was answered in the window, or the queue grew.
    Overloaded,
    /// Some launch has a verdict that says its numbers do not answer the question.
    Invalid,
    /// No launch is usable.
    Failed,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Subject {
    /// The folder's name.
    pub id: String,
    /// For people.
    pub name: String,
    /// The language it is written in.
    pub language: String,
    /// The framework.
    pub framework: String,
    /// What its version command printed; several where it changed between launches.
    pub versions: Vec<String>,
    /// The framework's limits, as its manifest says and as was checked: `no pipelining`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<String>,
}

/// One server under one form, workload and load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// The best rank it may have, 1 being the first; none where it is not ranked.
    pub rank: Option<u32>,
    /// The worst rank it may have. With 95 % confidence for the whole table its rank lies between the two.
    pub rank_worst: Option<u32>,
    /// What it can be taken for.
    pub standing: Standing,
    /// What was measured.
    pub server: Subject,
    /// Launches with a usable run.
    pub launches_usable: u32,
    /// Launches that were planned.
    pub launches_planned: u32,
    /// Its figures.
    pub figures: Figures,
    /// The names of its verdicts, the most severe first.
    pub verdicts: Vec<String>,
    /// What failed.
    pub failures: Vec<Failure>,
}

impl Row {
    /// The row of a cell's launches, not yet ranked.
    pub fn of(servers: &[&Server], load: &Load, launches: &Launches<'_>, planned: u32) -> Self {
        let usable: Vec<&Launch<'_>> = launches.usable.iter().collect();
        Self {
            rank: None,
            rank_worst: None,
            standing: standing(&usable, load),
            server: subject(servers),
            launches_usable: usable.len() as u32,
            launches_planned: planned.max((usable.len() + launches.failed.len()) as u32),
            figures: Figures::of(&usable),
            verdicts: names(&usable),
            failures: failures(launches),
        }
    }

    /// Whether nothing is held against its numbers, so that it would be ranked.
    pub fn is_sound(&self) -> bool {
        matches!(self.standing, Standing::Ranked | Standing::GeneratorBound)
    }

    /// Whether no launch says that the server was still changing: only then it says something about the noise of others.
    pub fn is_steady(&self) -> bool {
        let changing = [
            VerdictName::SlowingDown,
            VerdictName::StillWarming,
            VerdictName::Unsteady,
            VerdictName::LaunchNotSteady,
        ];
        !changing.iter().any(|name| self.verdicts.iter().any(|verdict| verdict == name.as_str()))
    }

    /// Whether its numbers count for something.
    pub fn is_measured(&self) -> bool {
        self.standing != Standing::Failed
    }
}

fn standing(launches: &[&Launch<'_>], load: &Load) -> Standing {
    let any = |test: &dyn Fn(&Launch<'_>) -> bool| launches.iter().any(|launch| test(launch));
    let bound = any(&|launch| launch.run.generator.utilization > GENERATOR_BUSY_MOST);
    let short = load.kind == LoopKind::Open && any(&|launch| fell_short(launch));
    if launches.is_empty() {
        Standing::Failed
    } else if short {
        if bound { Standing::GeneratorBound } else { Standing::Overloaded }
    } else if any(&|launch| verdicts(launch).any(|verdict| verdict.severity == Severity::Invalid)) {
        Standing::Invalid
    } else if bound && load.kind == LoopKind::Closed {
        // A closed loop's rate is a lower bound then. An open loop that kept up is not touched by it.
        Standing::GeneratorBound
    } else {
        Standing::Ranked
    }
}

fn fell_short(launch: &Launch<'_>) -> bool {
    judge::fell_short(launch.run, ACHIEVED_LEAST)
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
    let Server { id, name, language, framework, .. } = last;
    Subject { id, name, language, framework, versions, limits }
}
