//! The percentile distribution in the form of HdrHistogram's tools: steps that approach 100 %.
//!
//! Used for `--percentiles` and `.hgrm` files, with the standard deviation for the latter.

use super::Histogram;

/// One line of a spectrum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpectrumStep {
    /// The percentile as a share, 0 to 1.
    pub quantile: f64,
    /// The value at the percentile, in nanoseconds: the highest value of a cell, as in [`Histogram::quantile`].
    pub value: u64,
    /// The number of values at or below it.
    pub count: u64,
}

impl Histogram {
    /// Percentiles with `steps_per_half` steps for each halving of the distance to 100 (the `percentiles` iterator of
    /// HdrHistogram). The last is the maximum, at 1. Empty for an empty histogram.
    pub fn spectrum(&self, steps_per_half: u32) -> Vec<SpectrumStep> {
        let mut steps = Vec::new();
        let mut levels = levels(steps_per_half.max(1)).peekable();
        let mut count = 0;
        for (_, highest, here) in self.bars() {
            count += here;
            let value = highest.clamp(self.min, self.max);
            if count == self.count() {
                // All further levels have the maximum as their value: keep the first.
                steps.extend(levels.next().map(|quantile| SpectrumStep { quantile, value, count }));
                break;
            }
            let share = count as f64 / self.count() as f64;
            while let Some(quantile) = levels.next_if(|level| *level <= share) {
                steps.push(SpectrumStep { quantile, value, count });
            }
        }
        steps.extend(self.max().map(|value| SpectrumStep { quantile: 1.0, value, count: self.count() }));
        steps
    }

    /// The standard deviation of the values, each represented by the middle of its cell; none while empty.
    pub fn standard_deviation(&self) -> Option<f64> {
        let mean = self.mean()?;
        let squares = self.bars().map(|(lowest, highest, count)| {
            let distance = (lowest as f64 + highest as f64) / 2.0 - mean;
            distance * distance * count as f64
        });
        Some((squares.sum::<f64>() / self.count() as f64).sqrt())
    }
}

/// 0, 0.1, ... 0.4, 0.5, 0.55, ... 0.75, 0.775, ... with five steps to a half: halves are exact. Levels closer to 1
/// than 2^-50 cannot be distinguished.
fn levels(steps: u32) -> impl Iterator<Item = f64> {
    let halves = (0..50).map(|half| 0.5f64.powi(half));
    halves.flat_map(move |left| {
        (0..steps).map(move |step| 1.0 - left + left / 2.0 * f64::from(step) / f64::from(steps))
    })
}
