//! A report on one round.

use crate::{Format, Options};
use paceline_record::{Round, Trial};

/// What the trials of a round say, grouped into tables and ranked.
#[derive(Clone, Debug)]
pub struct Report {
    title: String,
}

impl Report {
    /// Builds the report of a round from its trials, in any order.
    pub fn new(round: &Round, trials: &[Trial]) -> Self {
        Self { title: format!("{} {}: {} of {} trials", round.plan, round.id, trials.len(), round.planned) }
    }

    /// The report as text in the given format, ending in a newline.
    pub fn render(&self, _format: Format, _options: Options) -> String {
        format!("{}\n", self.title)
    }
}
