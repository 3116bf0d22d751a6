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
use std::time::{Duration, Instant};

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
    live: LiveFeed,
    /// Trials that were kept before this sitting.
    before: u32,
    /// Trials that are kept now.
    kept: u32,
    /// Trials of the whole round.
    planned: u32,
    /// When this sitting began.
    begun: Instant,
}

impl TrialFeed {
    /// A feed of a sitting that begins now, of a round with this many planned trials, of which some are kept already.
    pub fn begin(live: LiveFeed, kept: u32, planned: u32) -> Self {
        Self { live, before: kept, kept, planned, begun: Instant::now() }
    }

    /// The time for the remaining trials, at the pace of this sitting.
    fn left(&self) -> Duration {
        let done = self.kept.saturating_sub(self.before).max(1);
        self.begun.elapsed() / done * self.planned.saturating_sub(self.kept)
    }
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
                "left_s": watched.left().as_secs_f64(),
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
