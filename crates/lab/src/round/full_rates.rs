//! Finds the 100 % of loads whose rate is a share: the rate that another load of the same block found.
//!
//! Read from trials as they are kept, in this sitting or an earlier one: a launch that is repeated, or a round that is
//! resumed, uses the rates that its block found before.

use paceline_record::{Fault, LoopKind, Stage, Trial};
use std::collections::HashMap;

/// A cell of a block: block, server, form, workload, load.
type CellKey = (u32, String, String, String, String);

/// The rates found so far, each with the trial that found it.
#[derive(Debug, Default)]
pub(super) struct FullRates(HashMap<CellKey, (f64, String)>);

impl FullRates {
    pub fn from_trials(kept: &[Trial]) -> Self {
        let mut rates = Self::default();
        let mut kept: Vec<&Trial> = kept.iter().collect();
        kept.sort_by(|a, b| a.started_at.cmp(&b.started_at));
        kept.into_iter().for_each(|trial| rates.learn(trial));
        rates
    }

    /// Adds the rate that a trial found.
    pub fn learn(&mut self, trial: &Trial) {
        let found = match (&trial.load.capacity, trial.load.kind) {
            (Some(_), _) => trial.capacity.as_ref().and_then(|found| found.half_pass_per_s),
            (None, LoopKind::Closed) => trial.usable_run().map(|run| run.rate_per_s.achieved),
            (None, LoopKind::Open) => None,
        };
        if let Some(rate) = found.filter(|rate| *rate > 0.0) {
            self.0.insert(place(trial, &trial.load.name), (rate, trial.id.clone()));
        }
    }

    /// Sets the rate of a trial that is offered a share.
    ///
    /// # Errors
    /// A [`Fault`] if the load that is 100 % found no rate.
    pub fn set_rate(&self, trial: &mut Trial) -> Result<(), Fault> {
        let Some(share) = &trial.load.share else { return Ok(()) };
        let Some((full_per_s, full_trial)) = self.0.get(&place(trial, &share.of)) else {
            let message = format!(
                "the rate is {} of the rate that load `{}` reaches on this server, but that load has no usable result",
                paceline_stats::percent_text(share.share),
                share.of
            );
            return Err(Fault { stage: Stage::Generate, message, transient: false });
        };
        trial.load.rate_per_s = Some(share.share * full_per_s);
        if let Some(share) = &mut trial.load.share {
            (share.full_per_s, share.full_trial) = (Some(*full_per_s), Some(full_trial.clone()));
        }
        Ok(())
    }
}

fn place(trial: &Trial, load: &str) -> CellKey {
    (trial.repeat, trial.server.id.clone(), trial.form.clone(), trial.workload.clone(), load.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::fixture::{run, trial};
    use paceline_record::{Load, RateShare};

    fn half(of: &str, repeat: u32) -> Trial {
        let share = Some(RateShare { share: 0.5, of: of.to_owned(), full_per_s: None, full_trial: None });
        Trial {
            load: Load { name: "half".to_owned(), share, ..Load::default() },
            repeat,
            run: None,
            ..trial()
        }
    }

    #[test]
    fn a_share_refers_to_the_rate_of_its_own_block() {
        let mut closed = Trial { run: Some(run(0)), ..trial() };
        closed.load.kind = LoopKind::Closed;
        let achieved = closed.usable_run().unwrap().rate_per_s.achieved;
        let rates = FullRates::from_trials(std::slice::from_ref(&closed));
        let mut share = half(&closed.load.name, closed.repeat);
        rates.set_rate(&mut share).unwrap();
        assert_eq!(share.load.rate_per_s, Some(0.5 * achieved));
        assert_eq!(share.load.share.unwrap().full_trial.as_deref(), Some(closed.id.as_str()));
        for mut other in [half(&closed.load.name, closed.repeat + 1), half("another", closed.repeat)] {
            let fault = rates.set_rate(&mut other).unwrap_err();
            assert!(fault.message.starts_with("the rate is 50 % of the rate that load"), "{fault:?}");
            assert_eq!(other.load.rate_per_s, None);
        }
        let failed = Trial { run: None, ..trial() };
        assert!(
            FullRates::from_trials(&[failed]).set_rate(&mut half(&closed.load.name, closed.repeat)).is_err()
        );
    }
}
