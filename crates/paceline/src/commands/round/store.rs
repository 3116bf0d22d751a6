//! Stores the trials of a round.
//!
//! The lab runs a round without knowing the store; `mod.rs` gives it this keeper. The round's record is written
//! elsewhere: by `open.rs` when a sitting begins, by `mod.rs` when the round is finished.

use crate::commands::dashboards::Dashboards;
use paceline_lab::{TrialStore, TrialStoreError};
use paceline_record::Trial;
use paceline_report::RoundMetrics;
use paceline_store::Store;
use paceline_web::LiveFeed;
use serde_json::json;

/// The trials of one round, in the store.
pub struct RoundTrialStore<'a> {
    store: &'a Store,
    round: &'a str,
    watched: Option<TrialFeed>,
    dashboards: Option<&'a Dashboards<RoundMetrics>>,
}

/// A live view that receives each trial.
pub struct TrialFeed {
    /// Where events go.
    pub live: LiveFeed,
    /// Trials that were kept before this sitting.
    pub kept: u32,
    /// Trials of the whole round.
    pub planned: u32,
}

impl<'a> RoundTrialStore<'a> {
    /// For the round with this id, which must be in the store.
    pub fn new(
        store: &'a Store,
        round: &'a str,
        watched: Option<TrialFeed>,
        dashboards: Option<&'a Dashboards<RoundMetrics>>,
    ) -> Self {
        Self { store, round, watched, dashboards }
    }
}

impl TrialStore for RoundTrialStore<'_> {
    fn keep(&mut self, trial: &Trial) -> Result<(), TrialStoreError> {
        self.store.put_trial(trial)?;
        if let Some(dashboards) = self.dashboards {
            dashboards.update(|metrics| metrics.add(trial));
        }
        if let Some(watched) = &mut self.watched {
            watched.kept += 1;
            let trial = json!({
                "id": trial.id,
                "server": trial.server.name,
                "workload": trial.workload,
                "load": trial.load.name,
                "usable": trial.is_usable(),
                "done": watched.kept,
                "planned": watched.planned.max(watched.kept),
            });
            watched.live.publish("changed", &trial);
        }
        Ok(())
    }

    fn kept(&mut self) -> Result<Vec<Trial>, TrialStoreError> {
        // Unreadable trials are measured again.
        Ok(self.store.readable_trials(self.round)?.0)
    }
}
