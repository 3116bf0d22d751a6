//! Simulated draws of the means and variances of a table's servers, which tables share.
//!
//! A draw depends only on the seed and on the degrees of freedom of each server, which most tables of
//! a round have in common: their draws are simulated once.

use crate::random::{Random, VarianceRatio};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Draws for each table.
pub(crate) const DRAWS: usize = 10_000;
/// Numbers that are kept, in pairs of 16 bytes: 32 MB. Enough for four kinds of tables of 50 servers.
const PAIRS_KEPT: usize = 2_000_000;

/// For each server, a standard normal number, and the ratio of a variance estimate to the true variance.
pub(crate) type Draw = [(f64, f64)];

/// The draws of a seed. Threads may share them.
#[derive(Debug)]
pub struct Draws {
    seed: u64,
    kept: Mutex<VecDeque<Arc<DrawSet>>>,
}

/// All draws for some degrees of freedom, one after the other.
#[derive(Debug)]
struct DrawSet {
    df: Vec<f64>,
    pairs: OnceLock<Vec<(f64, f64)>>,
}

impl Draws {
    /// The draws of a seed: the same seed always gives the same.
    pub fn new(seed: u64) -> Self {
        Self { seed, kept: Mutex::default() }
    }

    /// Calls `use_draw` with each draw for servers with these degrees of freedom, in order.
    pub(crate) fn for_each(&self, df: &[f64], mut use_draw: impl FnMut(&Draw)) {
        // The draws of one large table would use the whole memory limit.
        if df.is_empty() || df.len() * DRAWS > PAIRS_KEPT {
            return simulate(self.seed, df, use_draw);
        }
        let kept = self.kept(df);
        let pairs = kept.pairs.get_or_init(|| {
            let mut pairs = Vec::with_capacity(df.len() * DRAWS);
            simulate(self.seed, df, |draw| pairs.extend_from_slice(draw));
            pairs
        });
        pairs.chunks_exact(df.len()).for_each(&mut use_draw);
    }

    /// The place for the draws of these degrees of freedom. The oldest places are removed to make room.
    fn kept(&self, df: &[f64]) -> Arc<DrawSet> {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = all.iter().find(|kept| kept.df == df) {
            return kept.clone();
        }
        let pairs =
            |all: &VecDeque<Arc<DrawSet>>| all.iter().map(|kept| kept.df.len() * DRAWS).sum::<usize>();
        while pairs(&all) + df.len() * DRAWS > PAIRS_KEPT {
            all.pop_front();
        }
        let kept = Arc::new(DrawSet { df: df.to_vec(), pairs: OnceLock::new() });
        all.push_back(kept.clone());
        kept
    }
}

fn simulate(seed: u64, df: &[f64], mut use_draw: impl FnMut(&Draw)) {
    let mut random = Random::new(seed);
    let ratios: Vec<VarianceRatio> = df.iter().map(|df| VarianceRatio::new(*df)).collect();
    let mut draw = vec![(0.0, 0.0); df.len()];
    for _ in 0..DRAWS {
        for (place, ratio) in draw.iter_mut().zip(&ratios) {
            *place = (random.normal(), ratio.draw(&mut random));
        }
        use_draw(&draw);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(draws: &Draws, df: &[f64]) -> Vec<Vec<(f64, f64)>> {
        let mut all = Vec::new();
        draws.for_each(df, |draw| all.push(draw.to_vec()));
        all
    }

    #[test]
    fn kept_draws_are_those_of_the_seed_and_the_degrees_of_freedom() {
        let draws = Draws::new(1);
        let mut random = Random::new(1);
        let mut draw = |df: &[f64]| -> Vec<_> {
            df.iter().map(|df| (random.normal(), random.variance_ratio(*df))).collect()
        };
        let df = [0.5, 3.0, f64::INFINITY];
        let expected: Vec<Vec<(f64, f64)>> = (0..DRAWS).map(|_| draw(&df)).collect();
        assert_eq!(all(&draws, &df), expected);
        assert_eq!(all(&draws, &df), expected, "the second time");
        assert_ne!(all(&draws, &[0.5, 4.0, f64::INFINITY]), expected);
        assert_ne!(all(&Draws::new(2), &df), expected);
        assert!(all(&draws, &[]).iter().all(Vec::is_empty));
    }

    #[test]
    fn draws_kept_have_a_limit() {
        let draws = Draws::new(1);
        for df in 1..8 {
            draws.kept(&[f64::from(df); 50]);
        }
        let kept: Vec<f64> = draws.kept.lock().unwrap().iter().map(|kept| kept.df[0]).collect();
        assert_eq!(kept, [4.0, 5.0, 6.0, 7.0]);
        let large = [2.0; PAIRS_KEPT / DRAWS + 1];
        draws.for_each(&large, |_| ());
        assert_eq!(draws.kept.lock().unwrap().len(), 4, "a large table is not kept");
    }
}
