//! What repeated observations of one number say: across launches each figure is one observation, never pooled.
//!
//! Reports make their figures of it: median, lowest, highest. No deviation and no confidence interval: a handful of
//! launches cannot carry either. Percentiles within a launch are the histogram's.

/// The middle and the ends of a few observations of one number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// How many observations.
    pub count: usize,
    /// The lowest.
    pub min: f64,
    /// The middle one, or the mean of the middle two.
    pub median: f64,
    /// The highest.
    pub max: f64,
}

impl Spread {
    /// The spread of some observations; none where there is none, or where one is not a number.
    pub fn of(observations: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = observations.into_iter().collect();
        if sorted.is_empty() || sorted.iter().any(|value| value.is_nan()) {
            return None;
        }
        sorted.sort_by(f64::total_cmp);
        let median = quantile_of_sorted(&sorted, 0.5);
        Some(Self { count: sorted.len(), min: sorted[0], median, max: sorted[sorted.len() - 1] })
    }

    /// Half the distance between the ends, as a share of the median: 0.05 reads "plus or minus 5 %".
    /// Zero for a median of zero.
    pub fn relative(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.max - self.min) / 2.0 / self.median.abs() }
    }
}

/// The quantile `q` in 0..=1 of sorted observations, interpolated linearly between neighbours (Hyndman and Fan 1996,
/// type 7: the default of R and NumPy).
///
/// # Panics
/// Never: an empty slice gives NaN.
pub fn quantile_of_sorted(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = q.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_as_numpy_gives_them() {
        // numpy.quantile([1, 2, 4, 8, 16], [0, .1, .25, .5, .9, 1])
        let sorted = [1.0, 2.0, 4.0, 8.0, 16.0];
        for (q, value) in [(0.0, 1.0), (0.1, 1.4), (0.25, 2.0), (0.5, 4.0), (0.9, 12.8), (1.0, 16.0)] {
            assert!((quantile_of_sorted(&sorted, q) - value).abs() < 1e-12, "quantile {q}");
        }
    }

    #[test]
    fn spread_of_three_launches() {
        let spread = Spread::of([103.0, 97.0, 100.0]).unwrap();
        assert_eq!((spread.min, spread.median, spread.max, spread.count), (97.0, 100.0, 103.0, 3));
        assert!((spread.relative() - 0.03).abs() < 1e-12);
    }

    #[test]
    fn no_observation_no_spread() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([1.0, f64::NAN]), None);
        assert!(quantile_of_sorted(&[], 0.5).is_nan());
    }
}
