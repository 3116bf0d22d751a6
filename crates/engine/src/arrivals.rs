//! Samples the actual sends of random arrivals, so that a run can be tested for whether they were random.
//!
//! Sends are noted in some stretches of the window, each from its beginning until enough have been noted: memory is
//! bounded. Each worker notes its own sends; the first sends of all workers together are the first ones of the process.

use crate::profile::Profile;
use crate::random::GapDistribution;
use crate::{LoadModel, Nanos, Settings, Timeline, WindowLength};

/// The number of stretches of a long window.
const STRETCHES: u64 = 16;
/// The number of sends noted in each.
const NOTED: usize = 128;

/// The stretches in which sends are noted, and the rate expected there.
#[derive(Debug)]
pub(crate) struct SampledIntervals {
    profile: Profile,
    distribution: GapDistribution,
    epoch: Nanos,
    /// When they begin.
    pub starts: Vec<Nanos>,
    /// The number of sends noted from each beginning on.
    pub each: usize,
}

impl SampledIntervals {
    /// The stretches of a run; none if arrivals are not random.
    pub(crate) fn from_settings(settings: &Settings, timeline: &Timeline) -> Option<Self> {
        let LoadModel::Open { shape, arrivals } = &settings.job.load else { return None };
        let distribution = GapDistribution::from_arrivals(*arrivals)?;
        let window = timeline.window_end.since(timeline.window_start);
        let profile = Profile::from_shape(shape, settings.job.warmup, window)?;
        let before = profile.arrivals(settings.job.warmup.0 as f64);
        let expected = profile.arrivals((settings.job.warmup + window).0 as f64) - before;
        // A short window is one stretch: several would overlap.
        let max_noted = STRETCHES as usize * NOTED;
        let (count, each) =
            if expected < 2.0 * max_noted as f64 { (1, max_noted) } else { (STRETCHES, NOTED) };
        let mut cursor = profile.clone();
        let start = |i| {
            let at = cursor.moment(before + expected * i as f64 / count as f64);
            // Never in the warm-up, in spite of rounding.
            (timeline.epoch + Nanos(at as u64)).max(timeline.window_start)
        };
        let starts = (0..count).map(start).collect();
        Some(Self { profile, distribution, epoch: timeline.epoch, starts, each })
    }

    /// The gaps between the noted sends of all workers, as multiples of the mean gap requested at that time, and as
    /// their cumulative hazard: exponentially distributed with mean one, whatever the process.
    pub(crate) fn gaps(&self, workers: &[Vec<Vec<Nanos>>]) -> Vec<f64> {
        let mut gaps = Vec::new();
        for index in 0..self.starts.len() {
            let of_stretch = workers.iter().filter_map(|worker| worker.get(index)).flatten();
            let mut sends: Vec<Nanos> = of_stretch.copied().collect();
            sends.sort_unstable();
            sends.truncate(self.each);
            let gap = |pair: &[Nanos]| self.expected_until(pair[1]) - self.expected_until(pair[0]);
            gaps.extend(sends.windows(2).map(gap).map(self.distribution.hazard));
        }
        gaps
    }

    fn expected_until(&self, at: Nanos) -> f64 {
        self.profile.arrivals(at.since(self.epoch).0 as f64)
    }
}

/// The sends noted by one worker.
#[derive(Debug)]
pub(crate) struct SampledSends {
    /// No send before this moment is noted: sends that are not noted cost only this comparison.
    pub from: Nanos,
    starts: Vec<Nanos>,
    each: usize,
    sends: Vec<Vec<Nanos>>,
}

impl Default for SampledSends {
    /// Notes no sends.
    fn default() -> Self {
        Self { from: Nanos::NEVER, starts: Vec::new(), each: 0, sends: Vec::new() }
    }
}

impl SampledSends {
    /// Allocates the memory for the notes.
    pub(crate) fn from_intervals(stretches: Option<SampledIntervals>) -> Self {
        let Some(SampledIntervals { starts, each, .. }) = stretches else { return Self::default() };
        let sends = starts.iter().map(|_| Vec::with_capacity(each)).collect();
        Self { from: starts.first().copied().unwrap_or(Nanos::NEVER), starts, each, sends }
    }

    /// Notes a send at or after [`SampledSends::from`].
    #[cold]
    pub(crate) fn note(&mut self, at: Nanos) {
        let stretch = self.starts.partition_point(|start| *start <= at).saturating_sub(1);
        let Some(sends) = self.sends.get_mut(stretch) else { return };
        if sends.len() < self.each {
            sends.push(at);
        }
        if sends.len() == self.each {
            self.from = self.starts.get(stretch + 1).copied().unwrap_or(Nanos::NEVER);
        }
    }

    /// Returns all notes, by stretch.
    pub(crate) fn take(&mut self) -> Vec<Vec<Nanos>> {
        self.from = Nanos::NEVER;
        std::mem::take(&mut self.sends)
    }
}

/// The notes of several workers as one list, in time since the beginning of the warm-up.
pub(crate) fn since_epoch(workers: Vec<Vec<Vec<Nanos>>>, epoch: Nanos) -> Vec<Vec<Nanos>> {
    let mut all: Vec<Vec<Nanos>> = Vec::new();
    for worker in workers {
        all.resize_with(all.len().max(worker.len()), Vec::new);
        for (all, sends) in all.iter_mut().zip(worker) {
            all.extend(sends.into_iter().map(|send| send.since(epoch)));
        }
    }
    all
}

/// The gaps between the sends of all loaders of a run, corresponding to [`crate::RunOutcome::arrival_gaps`] of one:
/// `noted` has the `noted_sends` of each loader.
pub fn gaps_of_all(settings: &Settings, noted: &[Vec<Vec<Nanos>>]) -> Vec<f64> {
    let timeline = WindowLength::from_settings(settings).timeline(settings, Nanos::ZERO);
    SampledIntervals::from_settings(settings, &timeline)
        .map_or_else(Vec::new, |stretches| stretches.gaps(noted))
}
