//! The known distributions of service time.
//!
//! `mod.rs` draws from them for each request; the self-test names them on the command line and computes the expected
//! response times of a freeze. This module only computes when an answer is due; it does not wait.

use paceline_engine::{Nanos, Random};

/// The service time of the reference server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Service {
    /// At once.
    Immediate,
    /// Always 1 ms.
    Fixed,
    /// 0.5 ms for nine in ten, 5 ms for the others.
    Bimodal,
    /// Exponential with a mean of 2 ms.
    Exponential,
    /// At once, but frozen for the first 200 ms of every 2 s.
    Freeze,
}

/// Length of a period of [`Service::Freeze`].
pub const FREEZE_PERIOD: Nanos = Nanos::from_secs(2);
/// Length of the freeze in each period.
pub const FREEZE: Nanos = Nanos::from_millis(200);

impl Service {
    /// The name shown to people.
    pub fn name(self) -> &'static str {
        match self {
            Service::Immediate => "no delay",
            Service::Fixed => "fixed, 1 ms",
            Service::Bimodal => "bimodal, 0.5 and 5 ms",
            Service::Exponential => "exponential, mean 2 ms",
            Service::Freeze => "freezes 0.2 s in every 2 s",
        }
    }

    /// When the answer to a request that arrived at `arrived` is due.
    pub fn answer_at(self, arrived: Nanos, random: &mut Random) -> Nanos {
        match self {
            Service::Immediate => arrived,
            Service::Fixed => arrived + Nanos::from_millis(1),
            Service::Bimodal if random.below(10) == 0 => arrived + Nanos::from_millis(5),
            Service::Bimodal => arrived + Nanos::from_micros(500),
            Service::Exponential => arrived + Nanos(random.exponential(2e6) as u64),
            Service::Freeze => {
                let into = arrived.0 % FREEZE_PERIOD.0;
                if into < FREEZE.0 { Nanos(arrived.0 - into + FREEZE.0) } else { arrived }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_have_their_documented_values() {
        let mut random = Random::new(3);
        let mut mean_ms = |service: Service| {
            let total: u64 = (0..20_000).map(|_| service.answer_at(Nanos(0), &mut random).0).sum();
            total as f64 / 20_000.0 / 1e6
        };
        assert_eq!(mean_ms(Service::Immediate), 0.0);
        assert_eq!(mean_ms(Service::Fixed), 1.0);
        // 0.9 * 0.5 + 0.1 * 5, and 2, each within five standard errors.
        assert!((mean_ms(Service::Bimodal) - 0.95).abs() < 0.05);
        assert!((mean_ms(Service::Exponential) - 2.0).abs() < 0.071);
    }

    #[test]
    fn the_freeze_comes_at_the_beginning_of_a_period() {
        let mut random = Random::new(3);
        let mut at = |millis| Service::Freeze.answer_at(Nanos::from_millis(millis), &mut random);
        assert_eq!(at(4_000), Nanos::from_millis(4_200));
        assert_eq!(at(4_199), Nanos::from_millis(4_200));
        assert_eq!(at(4_200), Nanos::from_millis(4_200));
        assert_eq!(at(5_999), Nanos::from_millis(5_999));
    }
}
