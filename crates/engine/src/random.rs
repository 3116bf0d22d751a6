//! Generates random numbers for arrivals and simulations: small, seeded, the same on every machine.
//!
//! Gaps, think times, the choice among requests and the values in them come from here, each from its own sequence. This
//! module never takes a seed from the system: the binary draws one if `--seed` is not given.

use crate::{Arrivals, Distribution, Nanos, Think};

/// SplitMix64 with the draws that a load needs: 64 bits of state, passes BigCrush, good enough for arrivals and cheap
/// enough for the hot path. Not for secrets.
#[derive(Clone, Debug)]
pub struct Random(paceline_stats::Random);

impl Random {
    /// A sequence determined by `seed`.
    pub fn new(seed: u64) -> Self {
        Self(paceline_stats::Random::new(seed))
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.bits()
    }

    /// Uniform in the half-open interval (0, 1]: its logarithm is finite.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `0..below`; 0 when `below` is 0. The bias is below 2^-32 for every use here.
    #[inline]
    pub fn below(&mut self, below: u64) -> u64 {
        self.0.below(below)
    }

    /// Exponential with the given mean, by inversion.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -self.unit().ln() * mean
    }

    /// The think time of one pause between a response and the next request of its connection.
    pub(crate) fn draw_think(&mut self, think: Think) -> Nanos {
        match think.distribution {
            Distribution::Constant => think.mean,
            Distribution::Exponential => Nanos(self.exponential(think.mean.0 as f64) as u64),
        }
    }
}

/// The maximum think time; exponential ones exceed it once in 10^17.
pub(crate) fn longest_think(think: Option<Think>) -> Nanos {
    match think {
        None => Nanos::ZERO,
        Some(Think { mean, distribution: Distribution::Constant }) => mean,
        Some(Think { mean, distribution: Distribution::Exponential }) => Nanos(mean.0.saturating_mul(40)),
    }
}

/// The distribution of random gaps with mean one. The gaps of a process are independent (a renewal process). Each
/// process has one entry in [`GapDistribution::from_arrivals`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct GapDistribution {
    /// The gap for a number that is uniform in (0, 1].
    gap: fn(f64) -> f64,
    /// The cumulative hazard of a gap: exponentially distributed with mean one, if the gap is of this distribution.
    pub hazard: fn(f64) -> f64,
    /// The standard deviation of a gap.
    deviation: f64,
}

impl GapDistribution {
    /// The distribution of a process; none if its gaps are not random.
    pub(crate) fn from_arrivals(arrivals: Arrivals) -> Option<Self> {
        match arrivals {
            Arrivals::Constant => None,
            Arrivals::Poisson => Some(Self { gap: |unit| -unit.ln(), hazard: |gap| gap, deviation: 1.0 }),
        }
    }
}

/// Draws the gaps of random arrivals: the same for every worker of a run.
#[derive(Clone, Debug)]
pub(crate) struct RandomGaps {
    distribution: GapDistribution,
    random: Random,
}

impl RandomGaps {
    /// The gaps of a process from a seed; none if they are not random.
    pub(crate) fn from_arrivals(arrivals: Arrivals, seed: u64) -> Option<Self> {
        GapDistribution::from_arrivals(arrivals)
            .map(|distribution| Self { distribution, random: Random::new(seed) })
    }

    /// The next gap, where `mean` is the mean.
    #[inline]
    pub(crate) fn draw(&mut self, mean: f64) -> f64 {
        (self.distribution.gap)(self.random.unit()) * mean
    }

    /// The standard deviation of a gap, in mean gaps.
    pub(crate) fn deviation(&self) -> f64 {
        self.distribution.deviation
    }
}

impl paceline_http::RandomBits for Random {
    #[inline]
    fn next_bits(&mut self) -> u64 {
        self.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_has_its_mean() {
        let mut random = Random::new(7);
        let mean = (0..100_000).map(|_| random.exponential(5.0)).sum::<f64>() / 100_000.0;
        // Four standard errors of the mean: 4 * 5 / sqrt(100,000).
        assert!((mean - 5.0).abs() < 0.064, "{mean}");
    }
}
