//! Mean, variance and order statistics (median, minimum, maximum, quantiles) of a few observations.
//!
//! Intervals over launches are in `launches.rs`. Percentiles within a launch come from the histogram.

/// Median and range of a few observations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Number of observations.
    pub count: usize,
    /// The minimum.
    pub min: f64,
    /// The median: the middle value, or the mean of the middle two.
    pub median: f64,
    /// The maximum.
    pub max: f64,
}

impl Spread {
    /// Computes the spread. None if there are no observations, or if one is NaN.
    pub fn from_observations(observations: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = observations.into_iter().collect();
        if sorted.is_empty() || sorted.iter().any(|value| value.is_nan()) {
            return None;
        }
        sorted.sort_by(f64::total_cmp);
        let median = quantile_of_sorted(&sorted, 0.5);
        Some(Self { count: sorted.len(), min: sorted[0], median, max: sorted[sorted.len() - 1] })
    }

    /// Half the range as a share of the median: 0.05 is ±5 %. 0 for a median of 0.
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

/// As [`quantile_of_sorted`], of observations in any order, which it reorders without sorting them completely.
pub(crate) fn quantile(values: &mut [f64], q: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    let place = q.clamp(0.0, 1.0) * last as f64;
    let (_, below, above) = values.select_nth_unstable_by(place.floor() as usize, f64::total_cmp);
    let next = above.iter().copied().min_by(f64::total_cmp).unwrap_or(*below);
    *below + (next - *below) * (place - place.floor())
}

/// An estimated variance and the degrees of freedom behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variance {
    /// The variance.
    pub value: f64,
    /// Degrees of freedom; infinite for a known variance.
    pub df: f64,
}

impl Variance {
    /// The sample variance of some values, with n - 1 degrees of freedom. None for fewer than two values.
    pub fn from_values(values: &[f64]) -> Option<Self> {
        if values.len() < 2 {
            return None;
        }
        let df = (values.len() - 1) as f64;
        let mean = mean(values);
        Some(Self { value: values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / df, df })
    }
}

/// The arithmetic mean.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_numpy() {
        // numpy.quantile([1, 2, 4, 8, 16], [0, .1, .25, .5, .9, 1])
        let sorted = [1.0, 2.0, 4.0, 8.0, 16.0];
        for (q, value) in [(0.0, 1.0), (0.1, 1.4), (0.25, 2.0), (0.5, 4.0), (0.9, 12.8), (1.0, 16.0)] {
            assert!((quantile_of_sorted(&sorted, q) - value).abs() < 1e-12, "quantile {q}");
            assert_eq!(quantile(&mut [16.0, 1.0, 8.0, 2.0, 4.0], q), quantile_of_sorted(&sorted, q));
        }
    }

    #[test]
    fn spread_of_three_launches() {
        let spread = Spread::from_observations([103.0, 97.0, 100.0]).unwrap();
        assert_eq!((spread.min, spread.median, spread.max, spread.count), (97.0, 100.0, 103.0, 3));
        assert!((spread.relative() - 0.03).abs() < 1e-12);
    }

    #[test]
    fn missing_observations_have_no_spread() {
        assert_eq!(Spread::from_observations([]), None);
        assert_eq!(Spread::from_observations([1.0, f64::NAN]), None);
        assert!(quantile_of_sorted(&[], 0.5).is_nan() && quantile(&mut [], 0.5).is_nan());
    }
}
