//! Random numbers from a seed: the same seed gives the same numbers on every machine and in every version.
//!
//! SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). Used for
//! distributions without a closed form, which are simulated, by the simulations that check this crate's coverage, and
//! for the orders of rounds and the rows of databases, and under the engine's draws of gaps and values.

use crate::special::acklam;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Creates the stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A uniform number below `bound`, with a bias below `bound` / 2^64 (multiply-shift: Lemire, "Fast random integer
    /// generation in an interval", 2019, without its rejection step).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// The Fisher-Yates shuffle (Knuth, volume 2, algorithm P).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }

    /// Uniform between 0 and 1, both excluded.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Standard normal, to nine digits: a tenth of the work of the exact quantile.
    pub fn normal(&mut self) -> f64 {
        let p = self.uniform();
        if p > 0.5 { -acklam(1.0 - p) } else { acklam(p) }
    }

    /// Chi-square with `df` degrees of freedom, divided by `df`: see [`VarianceRatio`].
    pub fn variance_ratio(&mut self, df: f64) -> f64 {
        VarianceRatio::new(df).draw(self)
    }
}

/// Chi-square with some degrees of freedom, divided by them: the ratio of a variance estimate to the true variance. 1
/// for infinitely many. Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VarianceRatio {
    shape: f64,
    /// For a shape below 1: gamma(shape + 1) times this power of a uniform number.
    power: Option<f64>,
    d: f64,
    c: f64,
}

impl VarianceRatio {
    /// The constants for `df` degrees of freedom.
    pub fn new(df: f64) -> Self {
        let shape = df / 2.0;
        let (shape_drawn, power) = if shape < 1.0 { (shape + 1.0, Some(1.0 / shape)) } else { (shape, None) };
        let d = shape_drawn - 1.0 / 3.0;
        Self { shape, power, d, c: 1.0 / (9.0 * d).sqrt() }
    }

    /// The next number.
    pub fn draw(&self, random: &mut Random) -> f64 {
        let Self { shape, power, d, c } = *self;
        if shape.is_infinite() {
            return 1.0;
        }
        let factor = power.map_or(1.0, |power| random.uniform().powf(power));
        loop {
            let x = random.normal();
            let v = (1.0 + c * x).powi(3);
            if v <= 0.0 {
                continue;
            }
            let u = random.uniform();
            // Their squeeze test: it nearly always decides without logarithms, with the same result.
            if u < 1.0 - 0.0331 * x.powi(4) || u.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return factor * d * v / shape;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_as_published() {
        // Output of the reference implementation (Vigna, splitmix64.c) for seed 1234567.
        let mut random = Random::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([random.bits(), random.bits(), random.bits()], expected);
    }

    #[test]
    fn draws_have_the_moments_of_their_distributions() {
        let mut random = Random::new(1);
        let mut moments = |draw: &mut dyn FnMut(&mut Random) -> f64| {
            let values: Vec<f64> = (0..40_000).map(|_| draw(&mut random)).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let variance =
                values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
            (mean, variance)
        };
        for (name, (mean, variance), expected) in [
            ("uniform", moments(&mut Random::uniform), (0.5, 1.0 / 12.0)),
            ("exponential", moments(&mut Random::exponential), (1.0, 1.0)),
            ("normal", moments(&mut Random::normal), (0.0, 1.0)),
            ("df 1", moments(&mut |random| random.variance_ratio(1.0)), (1.0, 2.0)),
            ("df 8", moments(&mut |random| random.variance_ratio(8.0)), (1.0, 0.25)),
        ] {
            assert!((mean - expected.0).abs() < 0.03, "{name}: mean {mean}");
            assert!(
                (variance - expected.1).abs() < 0.06 * expected.1.max(0.5),
                "{name}: variance {variance}"
            );
        }
    }
}
