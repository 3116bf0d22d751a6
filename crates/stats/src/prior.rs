//! The noise that the servers of one table share: their variances are moderated by empirical Bayes (G. K. Smyth, "Linear
//! models and empirical Bayes methods for assessing differential expression in microarray experiments", *Statistical
//! Applications in Genetics and Molecular Biology* 3(1), 2004; the estimator is limma's `squeezeVar`).
//!
//! The weight of the prior is capped, so that a noisy server keeps a wide interval. Servers that vary more than the
//! others by far are not used for the prior of the others (the aim of B. Phipson, S. Lee, I. J. Majewski, W. S. Alexander
//! and G. K. Smyth, "Robust hyperparameter estimation protects against hypervariable genes and improves power to detect
//! differential expression", *The Annals of Applied Statistics* 10(2), 2016).

use crate::special::{digamma, incomplete_beta, trigamma, trigamma_inverse};
use crate::spread::{Variance, mean};

/// Minimum number of servers in a table that share variances. With fewer, each has a plain t interval.
const ROWS_TO_SHARE: usize = 4;
/// The share of tables whose servers vary alike in which one of them is taken for a server that varies more.
const HYPERVARIABLE: f64 = 0.05;

/// The prior for the variance of a server, estimated from the servers of a table: scaled inverse chi-square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Prior {
    /// The prior's degrees of freedom: the number of observations that it is worth. Capped at 2 d + 2.
    pub df: f64,
    /// The prior's variance.
    pub variance: f64,
    /// If the cap applies: the degrees of freedom of all variances together, on which the estimate of the prior's
    /// variance rests.
    pub pooled_df: Option<f64>,
}

impl Prior {
    /// The weight of the prior's variance beside that of a server with some degrees of freedom, 0 to 1.
    pub fn weight(&self, own_df: f64) -> f64 {
        self.df / (self.df + own_df)
    }

    /// Shrinks a server's variance towards the prior's.
    ///
    /// If the servers do not differ beyond chance, the cap only limits the prior's weight; the degrees of freedom are
    /// then those of a sum of two independent variances (Satterthwaite 1946), which are more.
    fn moderate(&self, own: Variance) -> Variance {
        let sum = self.df + own.df;
        let of_prior = self.weight(own.df);
        let of_own = 1.0 - of_prior;
        let of_sum = |pooled: f64| 1.0 / (of_prior.powi(2) / pooled + of_own.powi(2) / own.df);
        let df = self.pooled_df.map_or(sum, |pooled| of_sum(pooled).max(sum));
        Variance { value: of_prior * self.variance + of_own * own.value, df }
    }
}

/// The prior of each server of a table. None for a server without a variance, for one that was not steady, and for all
/// if fewer than four are left or if most of their variances are zero.
///
/// The prior of a server that varies more than the others is estimated from all, that of the others without it.
pub(crate) fn priors(own: &[Option<Variance>], is_steady: &[bool]) -> Vec<Option<Prior>> {
    let used = own.iter().zip(is_steady).enumerate();
    let used =
        used.filter_map(|(at, (own, is_steady))| Some((at, own.filter(|own| *is_steady && own.df > 0.0)?)));
    let mut used: Vec<(usize, Variance)> = used.collect();
    used.sort_by(|(_, a), (_, b)| b.value.total_cmp(&a.value));
    let (places, falling): (Vec<usize>, Vec<Variance>) = used.into_iter().unzip();
    let more = hypervariable(&falling);
    let of_all = SharedNoise::estimate(&falling).map(SharedNoise::prior);
    let of_others = SharedNoise::estimate(&falling[more..]).map(SharedNoise::prior);
    let mut priors = vec![None; own.len()];
    for (rank, place) in places.into_iter().enumerate() {
        priors[place] =
            if rank < more { of_all.map(|prior| Prior { pooled_df: None, ..prior }) } else { of_others };
    }
    priors
}

/// The variances of a table, each moderated by its prior, if it has one.
pub(crate) fn moderated(own: &[Option<Variance>], priors: &[Option<Prior>]) -> Vec<Option<Variance>> {
    let moderate = |(own, prior): (&Option<Variance>, &Option<Prior>)| match prior {
        Some(prior) => own.map(|own| prior.moderate(own)),
        None => *own,
    };
    own.iter().zip(priors).map(moderate).collect()
}

/// How many of the first of falling variances belong to servers that vary more than the others, at most a quarter: the
/// most of them of which the last is too large for the prior of the rest (B. Rosner, "Percentage points for a
/// generalized ESD many-outlier procedure", *Technometrics* 25(2), 1983, with the F distribution of a variance). So two
/// such servers do not hide each other.
fn hypervariable(falling: &[Variance]) -> usize {
    let is_too_large = |count: &usize| {
        let rest = &falling[*count..];
        let candidates = (rest.len() + 1) as f64;
        SharedNoise::estimate(rest)
            .is_some_and(|noise| candidates * noise.exceeded(falling[count - 1]) < HYPERVARIABLE)
    };
    (1..=falling.len() / 4).rev().find(is_too_large).unwrap_or(0)
}

/// What the variances of some servers say about the variance of another.
#[derive(Clone, Copy)]
struct SharedNoise {
    /// The prior's degrees of freedom, before the cap; infinite if the servers do not differ beyond chance.
    df: f64,
    /// The prior's variance.
    variance: f64,
    /// Mean and sum of the degrees of freedom of the servers' variances.
    mean_df: f64,
    pooled_df: f64,
}

impl SharedNoise {
    /// The estimate of Smyth 2004, section 6.2. None for fewer than four variances, or if most of them are zero.
    ///
    /// Smyth's variance is raised to the smaller of the estimates from the median variance and from the mean variance.
    /// With bimodal launches, many servers have all of their launches in one mode, and their small variances lower the
    /// mean of the logarithms. One server with outliers raises only the mean.
    fn estimate(falling: &[Variance]) -> Option<Self> {
        if falling.len() < ROWS_TO_SHARE {
            return None;
        }
        let values: Vec<f64> = falling.iter().rev().map(|v| v.value).collect();
        // A variance of zero has no logarithm: limma raises those to 1e-5 of the median.
        let floor = 1e-5 * crate::quantile_of_sorted(&values, 0.5);
        if floor <= 0.0 {
            return None;
        }
        let e: Vec<f64> = falling
            .iter()
            .map(|v| v.value.max(floor).ln() - digamma(v.df / 2.0) + (v.df / 2.0).ln())
            .collect();
        let expected = mean(&falling.iter().map(|v| trigamma(v.df / 2.0)).collect::<Vec<_>>());
        let excess = Variance::from_values(&e)?.value - expected;
        let (df, variance) = if excess > 0.0 {
            let df = 2.0 * trigamma_inverse(excess);
            (df, (mean(&e) + digamma(df / 2.0) - (df / 2.0).ln()).exp())
        } else {
            (f64::INFINITY, mean(&values))
        };
        let by_median = {
            let mut scaled: Vec<f64> = falling.iter().map(|v| v.value / median_variance(v.df)).collect();
            scaled.sort_by(f64::total_cmp);
            crate::quantile_of_sorted(&scaled, 0.5)
        };
        let variance = variance.max(by_median.min(mean(&values)));
        let pooled_df: f64 = falling.iter().map(|v| v.df).sum();
        Some(Self { df, variance, mean_df: pooled_df / falling.len() as f64, pooled_df })
    }

    fn prior(self) -> Prior {
        let cap = 2.0 * self.mean_df + 2.0;
        Prior {
            df: self.df.min(cap),
            variance: self.variance,
            pooled_df: (self.df > cap).then_some(self.pooled_df),
        }
    }

    /// The probability that the variance of another such server is at least this one: their ratio has an F
    /// distribution (Smyth 2004, section 4).
    fn exceeded(&self, own: Variance) -> f64 {
        let df = self.df.min(self.pooled_df);
        let ratio = own.value / self.variance;
        incomplete_beta(df / 2.0, own.df / 2.0, df / (df + own.df * ratio))
    }
}

/// The median of a sample variance with `df` degrees of freedom whose expectation is 1 (Wilson and Hilferty 1931).
fn median_variance(df: f64) -> f64 {
    (1.0 - 2.0 / (9.0 * df)).max(0.1).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: f64) -> Variance {
        Variance { value, df: 2.0 }
    }

    fn priors_of(values: &[f64]) -> Vec<Option<Prior>> {
        priors(&values.iter().map(|value| Some(of(*value))).collect::<Vec<_>>(), &vec![true; values.len()])
    }

    #[test]
    fn servers_alike_share_more_degrees_of_freedom_than_the_cap() {
        let prior = priors_of(&[1.0, 1.4, 0.7, 1.2, 0.9])[0].unwrap();
        assert_eq!((prior.df, prior.pooled_df), (6.0, Some(10.0)));
        // Weights 6/8 and 2/8: 1 / (0.75² / 10 + 0.25² / 2).
        assert!((prior.moderate(of(1.0)).df - 1.0 / 0.0875).abs() < 1e-9, "{prior:?}");
    }

    #[test]
    fn servers_that_vary_more_do_not_widen_the_others() {
        let alike = [1.0, 1.4, 0.7, 1.2, 0.9, 0.5, 1.1, 2.0, 0.8, 1.3];
        // Two of them: neither hides the other.
        let with_two = [&alike[..], &[300.0, 250.0]].concat();
        let (without, with) = (priors_of(&alike), priors_of(&with_two));
        assert_eq!(without[..], with[..alike.len()], "the prior of the others");
        let of_two = with[alike.len()].unwrap();
        assert_eq!(of_two.pooled_df, None);
        assert!(of_two.df < 6.0 && of_two.variance > without[0].unwrap().variance, "{of_two:?}");
        // No other server varies so much that it cannot be one of many alike.
        assert_eq!(priors_of(&with_two[..11])[0].unwrap(), without[0].unwrap());
        let with_five = [&alike[..9], &[5.0]].concat();
        assert!(priors_of(&with_five).iter().all(|prior| *prior == priors_of(&with_five)[0]));
    }

    #[test]
    fn a_probability_of_the_f_distribution_matches_scipy() {
        let noise = SharedNoise { df: 12.0, variance: 2.0, mean_df: 2.0, pooled_df: 40.0 };
        // scipy.stats.f.sf(5, 2, 12) = (1 + 2 * 5 / 12) ** -6.
        assert!((noise.exceeded(of(10.0)) - (1.0f64 + 10.0 / 12.0).powi(-6)).abs() < 1e-12);
    }
}
