//! Draws think times: how long a connection of a closed loop pauses between a response and its next request.

use crate::{Distribution, Nanos, Random, Think};

/// The pause this time.
pub(crate) fn draw(think: Think, random: &mut Random) -> Nanos {
    match think.distribution {
        Distribution::Constant => think.mean,
        Distribution::Exponential => Nanos(random.exponential(think.mean.0 as f64) as u64),
    }
}

/// No pause is longer: of exponential ones all but one in 10^17.
pub(crate) fn longest(think: Option<Think>) -> Nanos {
    match think {
        None => Nanos::ZERO,
        Some(Think { mean, distribution: Distribution::Constant }) => mean,
        Some(Think { mean, distribution: Distribution::Exponential }) => Nanos(mean.0.saturating_mul(40)),
    }
}
