//! A bounded number of evenly spaced samples of a run of any length: for the record.

/// Samples that are kept at most; as many seconds as the engine keeps apart.
const KEPT: usize = 1_024;

/// Every sample at first; every second, fourth and so on of a long run.
#[derive(Debug)]
pub(crate) struct EvenSamples<T> {
    kept: Vec<T>,
    /// Every how many samples one is kept.
    stride: usize,
    taken: usize,
}

impl<T> Default for EvenSamples<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), stride: 1, taken: 0 }
    }
}

impl<T> EvenSamples<T> {
    pub(crate) fn add(&mut self, sample: T) {
        if self.taken.is_multiple_of(self.stride) {
            self.kept.push(sample);
        }
        self.taken += 1;
        if self.kept.len() > KEPT {
            // The samples at even places are those of twice the stride.
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.stride *= 2;
        }
    }

    pub(crate) fn into_vec(self) -> Vec<T> {
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_keeps_a_bounded_number_of_evenly_spaced_samples() {
        let mut samples = EvenSamples::default();
        (0..10_000_u64).for_each(|second| samples.add(second));
        let samples = samples.into_vec();
        assert!(samples.len() > KEPT / 2 && samples.len() <= KEPT, "{}", samples.len());
        let gaps: Vec<u64> = samples.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| *gap == gaps[0]), "{gaps:?}");
    }
}
