//! Keeps a round's trials in the store.
//!
//! The lab carries a round out and knows no store; `mod.rs` gives it this keeper. The round's own record is not its
//! business: `open.rs` puts it when a sitting begins, `mod.rs` when the round is finished.

use paceline_lab::{KeepError, Keeper};
use paceline_record::Trial;
use paceline_store::Store;

/// The trials of one round, in the store.
pub struct StoreKeeper<'a> {
    store: &'a Store,
    round: &'a str,
}

impl<'a> StoreKeeper<'a> {
    /// For the round of that id, which the store has.
    pub fn new(store: &'a Store, round: &'a str) -> Self {
        Self { store, round }
    }
}

impl Keeper for StoreKeeper<'_> {
    fn keep(&mut self, trial: &Trial) -> Result<(), KeepError> {
        Ok(self.store.put_trial(trial)?)
    }

    fn kept(&mut self) -> Result<Vec<Trial>, KeepError> {
        // What cannot be read is measured anew.
        Ok(self.store.readable_trials(self.round)?.0)
    }
}
