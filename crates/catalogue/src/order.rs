//! The order of a round, drawn from its seed: the launches are shuffled within each block, and the cells within each
//! launch.
//!
//! Randomised blocks, so that a drift of the machine (heat, neighbours) does not favour the first. A
//! stored seed gives the same order in every later version, which no library's shuffle guarantees.

use crate::{Cell, MAX_SEED, Manifest};
use paceline_stats::Random;
use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

/// One start of a server, and the cells that are measured on it in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedLaunch {
    /// The block, from 0: the repeat of all its cells.
    pub block: u32,
    /// The server.
    pub server: Arc<Manifest>,
    /// The form it runs in.
    pub form: String,
    /// What is measured, in order.
    pub cells: Vec<Cell>,
}

impl PlannedLaunch {
    /// Whether its cells are valid only in sequence on one launch: none is measured without the others.
    pub fn is_whole(&self) -> bool {
        self.cells.iter().any(|cell| cell.load.group.is_ordered)
    }
}

/// The launches of `repeats` blocks in the order in which they are carried out. The same cells and seed give the same
/// order, and the order of fewer repeats is the beginning of the order of more.
pub fn order(cells: &[Cell], repeats: u32, seed: u64) -> Vec<PlannedLaunch> {
    (0..repeats).flat_map(|block| block_order(cells, block, seed)).collect()
}

/// A seed from the system's randomness, for a plan without one; at most [`MAX_SEED`].
pub fn fresh_seed() -> u64 {
    // The standard library seeds each hasher from the system.
    RandomState::new().hash_one(std::process::id()) & MAX_SEED
}

fn block_order(cells: &[Cell], block: u32, seed: u64) -> Vec<PlannedLaunch> {
    // A separate stream for each block, so that the number of blocks, or of draws in one, does not change the others.
    let mut random = Random::new(Random::new(seed).bits() ^ Random::new(u64::from(block)).bits());
    // A plain launch has no group: its place among the keys, and so every stored order, is the same as before groups
    // existed.
    let mut by_launch: BTreeMap<(&str, &str, String), Vec<Cell>> = BTreeMap::new();
    for cell in cells {
        by_launch.entry((&cell.server.id, &cell.form, cell.group())).or_default().push(cell.clone());
    }
    let mut launches: Vec<Vec<Cell>> = by_launch.into_values().collect();
    random.shuffle(&mut launches);
    launches.into_iter().filter_map(|cells| launch(block, cells, &mut random)).collect()
}

fn launch(block: u32, mut cells: Vec<Cell>, random: &mut Random) -> Option<PlannedLaunch> {
    // Sorted first, so that the order depends on the seed alone, not on the caller's order.
    cells.sort_by_cached_key(Cell::key);
    random.shuffle(&mut cells);
    // A first run is measured first; the shuffled order of its twins is kept.
    cells.sort_by_key(Cell::turn);
    let first = cells.first()?;
    Some(PlannedLaunch { block, server: Arc::clone(&first.server), form: first.form.clone(), cells })
}

#[cfg(test)]
mod tests;
