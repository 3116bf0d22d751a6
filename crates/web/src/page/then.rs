//! Figures that sources published beside those of the newest round of each plan.
//!
//! A separate page, because it shows only a small part of the pages of those rounds.

use super::index::RoundEntry;
use super::round::RoundPage;
use paceline_record::Load;
use paceline_report::Beside;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The rounds with published figures beside their own.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ThenPage {
    /// The newest of each plan, newest first.
    pub rounds: Vec<ThenRound>,
}

/// A round with published figures beside its own.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ThenRound {
    /// The round.
    pub round: RoundEntry,
    /// The figures.
    pub observed: Vec<Beside>,
    /// The loads that the figures name.
    pub loads: BTreeMap<String, Load>,
}

impl ThenRound {
    /// The figures of a round.
    pub fn from_page(round: RoundEntry, page: &RoundPage) -> Self {
        let is_named =
            |name: &str| page.observed.iter().any(|beside| beside.observed.load.as_deref() == Some(name));
        let loads = page.tables.iter().map(|table| &table.load).filter(|load| is_named(&load.name));
        Self {
            round,
            observed: page.observed.clone(),
            loads: loads.map(|load| (load.name.clone(), load.clone())).collect(),
        }
    }
}
