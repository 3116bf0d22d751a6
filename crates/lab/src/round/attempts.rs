//! The interface that stores trials, and the count of what is still to be done, given those that are kept.
//!
//! `carry_out` counts with it, first the kept trials and then each new one; `estimate` shows the rest. The binary's
//! `round/store.rs` stores the trials. The record defines which trials are usable.

use paceline_catalogue::{Cell, PlannedLaunch, key_of};
use paceline_record::Trial;
use std::collections::{BTreeMap, BTreeSet};

/// Why a trial could not be kept: the store's own error.
pub type TrialStoreError = Box<dyn std::error::Error + Send + Sync>;

/// Keeps the trials of one round.
pub trait TrialStore {
    /// Stores a trial durably: it survives a later crash.
    ///
    /// # Errors
    /// When it could not be stored.
    fn keep(&mut self, trial: &Trial) -> Result<(), TrialStoreError>;

    /// Every trial kept so far; histograms may be left out.
    ///
    /// # Errors
    /// When they cannot be read.
    fn kept(&mut self) -> Result<Vec<Trial>, TrialStoreError>;
}

/// Two passes: first the cells that were never tried, then a retry of those that the environment spoiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Never tried.
    First,
    /// Tried once, and spoiled.
    Again,
}

/// The results of each cell's repeats so far.
#[derive(Clone, Debug, Default)]
pub struct RoundAttempts {
    tries: BTreeMap<(String, u32), CellAttempts>,
    usable: BTreeSet<String>,
}

#[derive(Clone, Debug, Default)]
struct CellAttempts {
    count: u32,
    spoiled: bool,
    /// Each launch on which it was tried, and whether that was spoiled.
    launches: BTreeMap<String, bool>,
}

impl CellAttempts {
    /// Whether the only launch that it shares with a partner was spoiled for one of the two. One is then to be retried,
    /// or was and the round was interrupted before the other's turn. If each had its turn and the server did not
    /// outlive the first, they are retried only once more.
    fn is_parted_from(&self, partner: &Self) -> bool {
        let shared = self.launches.iter().filter_map(|(launch, is_spoiled)| {
            let is_spoiled_there = *partner.launches.get(launch)?;
            Some(*is_spoiled || is_spoiled_there)
        });
        self.count.min(partner.count) <= 2 && shared.collect::<Vec<_>>() == [true]
    }
}

impl RoundAttempts {
    /// Counts these trials.
    pub fn from_trials(kept: &[Trial]) -> Self {
        let mut tally = Self::default();
        // In the order in which they were tried, whatever the keeper's order.
        let mut kept: Vec<&Trial> = kept.iter().collect();
        kept.sort_by(|a, b| a.started_at.cmp(&b.started_at));
        kept.into_iter().for_each(|trial| tally.count(trial));
        tally
    }

    /// Counts one more trial.
    pub fn count(&mut self, trial: &Trial) {
        let cell = key_of(trial);
        if trial.is_usable() {
            self.usable.insert(cell.clone());
        }
        let tries = self.tries.entry((cell, trial.repeat)).or_default();
        // A success stands: the cell may have been retried only because of its partner.
        tries.spoiled = is_spoiled(trial) && (tries.count == 0 || tries.spoiled);
        tries.count += 1;
        tries.launches.insert(trial.launch.clone(), is_spoiled(trial));
    }

    /// The part of `launches` that is left for a pass. Launches with no cells left are omitted.
    pub fn left(&self, launches: &[PlannedLaunch], pass: Pass) -> Vec<PlannedLaunch> {
        let left = launches.iter().map(|launch| {
            let belongs: Vec<&Cell> =
                launch.cells.iter().filter(|cell| self.belongs(cell, launch, pass)).collect();
            // On a launch whose cells are valid only together, one that is left brings the others back; on any other
            // launch, its partners, since they are compared launch by launch.
            let is_left = |cell: &&Cell| {
                let brought = |left: &&Cell| left.key() == cell.key() || are_partners(left, cell);
                belongs.iter().any(|left| launch.is_whole() || brought(left))
            };
            let cells = launch.cells.iter().filter(is_left);
            PlannedLaunch { cells: cells.cloned().collect(), ..launch.clone() }
        });
        left.filter(|launch| !launch.cells.is_empty()).collect()
    }

    fn belongs(&self, cell: &Cell, launch: &PlannedLaunch, pass: Pass) -> bool {
        let Some(tries) = self.tries_of(cell, launch) else { return pass == Pass::First };
        // The twin is checked for both: it brings its load along, and no other twin.
        let is_parted = |load: &Cell| {
            is_twin_of(cell, load)
                && self.tries_of(load, launch).is_some_and(|of_load| tries.is_parted_from(of_load))
        };
        pass == Pass::Again && (tries.count == 1 && tries.spoiled || launch.cells.iter().any(is_parted))
    }

    fn tries_of(&self, cell: &Cell, launch: &PlannedLaunch) -> Option<&CellAttempts> {
        self.tries.get(&(cell.key(), launch.block))
    }

    /// The cells without a usable trial, each once: those of `launches`, and the planned ones that are `gone`.
    pub fn unusable(&self, launches: &[PlannedLaunch], gone: &[String]) -> Vec<String> {
        let cells =
            launches.iter().flat_map(|launch| &launch.cells).map(Cell::key).chain(gone.iter().cloned());
        let unusable: BTreeSet<String> = cells.filter(|cell| !self.usable.contains(cell)).collect();
        unusable.into_iter().collect()
    }
}

/// Whether one of two cells of a launch is the twin of the other, under the same workload.
fn are_partners(a: &Cell, b: &Cell) -> bool {
    is_twin_of(a, b) || is_twin_of(b, a)
}

fn is_twin_of(twin: &Cell, cell: &Cell) -> bool {
    twin.case.address == cell.case.address
        && twin.load.variant.as_ref().is_some_and(|variant| variant.of == cell.load.name)
}

/// Whether the environment spoiled a trial, so that a retry may succeed. Spoiled does not mean unusable: if the retry
/// is disturbed too, its numbers stand, with the verdict beside them.
fn is_spoiled(trial: &Trial) -> bool {
    trial.error.as_ref().is_some_and(|fault| fault.transient) || trial.is_disturbed()
}

#[cfg(test)]
mod tests;
