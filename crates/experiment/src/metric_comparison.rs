//! One metric of a comparison: what a test says of the second side relative to the first.

use crate::compared_metric::ComparedMetric;
use crate::load::Range;
use paceline_judge::Better;
use paceline_stats::{Comparison, Decision, Spread};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A difference is claimed up to this p value, corrected for the number of tests.
const SIGNIFICANCE: f64 = 0.05;

/// How the second side compares with the first in one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "decision")]
pub enum Direction {
    /// The second is better: faster, or it uses less.
    Better,
    /// The second is worse.
    Worse,
    /// They differ by less than the margin.
    Equivalent,
    /// The second has more of it, which is neither better nor worse.
    Higher,
    /// The second has less of it, which is neither better nor worse.
    Lower,
    /// No decision is proven.
    Undecided {
        /// The approximate number of further pairs until a decision.
        more_pairs: usize,
    },
    /// A side has one launch, so that nothing is known of its spread.
    Single,
    /// A side's figure is a minimum, or a verdict says that its row does not answer the question.
    NotComparable,
}

impl Direction {
    pub(crate) fn from_decision(decision: Decision, metric: ComparedMetric) -> Self {
        match decision {
            Decision::Equivalent => Self::Equivalent,
            Decision::Undecided { more_pairs } => Self::Undecided { more_pairs },
            Decision::Higher | Decision::Lower => match (metric.better(), decision) {
                (Better::Higher, Decision::Higher) | (Better::Lower, Decision::Lower) => Self::Better,
                (Better::Neither, Decision::Higher) => Self::Higher,
                (Better::Neither, _) => Self::Lower,
                _ => Self::Worse,
            },
        }
    }

    /// Whether it claims a difference.
    pub fn is_claim(self) -> bool {
        match self {
            Self::Better | Self::Worse | Self::Higher | Self::Lower => true,
            Self::Equivalent | Self::Undecided { .. } | Self::Single | Self::NotComparable => false,
        }
    }

    /// Whether a test was made, whatever its result.
    pub fn is_tested(self) -> bool {
        !matches!(self, Self::Single | Self::NotComparable)
    }
}

/// One metric of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricComparison {
    /// The metric.
    pub metric: ComparedMetric,
    /// Geometric mean of the first side.
    pub first: f64,
    /// Geometric mean of the second side.
    pub second: f64,
    /// Second divided by first.
    pub ratio: f64,
    /// The ratio's 95 % interval, wide enough for all looks together.
    pub ratio_interval: Range,
    /// The p value of "equal", with Holm's correction: of two sides over the metrics that do not decide, of two rounds
    /// over the rows of the metric.
    pub p_value: f64,
    /// The decision.
    #[serde(flatten)]
    pub direction: Direction,
}

impl MetricComparison {
    /// A test of the second side's values relative to the first's, without a correction.
    pub(crate) fn tested(metric: ComparedMetric, [first, second]: [&[f64]; 2], test: Comparison) -> Self {
        Self {
            metric,
            first: geometric_mean(first).unwrap_or(0.0),
            second: geometric_mean(second).unwrap_or(0.0),
            ratio: test.ratio,
            ratio_interval: test.interval.into(),
            p_value: test.p_value,
            direction: Direction::from_decision(test.decision, metric),
        }
    }

    /// Values of which a side has only one: the interval is the range of all ratios.
    pub(crate) fn single(metric: ComparedMetric, [first, second]: [&[f64]; 2]) -> Option<Self> {
        let ends = |values: &[f64]| {
            let range = Spread::from_observations(values.iter().copied())?;
            Some((range.min, range.max, geometric_mean(values)?))
        };
        let ((low_a, high_a, first), (low_b, high_b, second)) = (ends(first)?, ends(second)?);
        let ratio_interval = Range { low: low_b / high_a, high: high_b / low_a };
        let (ratio, direction) = (second / first, Direction::Single);
        Some(Self { metric, first, second, ratio, ratio_interval, p_value: 1.0, direction })
    }

    /// Sets the p value that is corrected for a family of tests. A difference that does not survive is not claimed.
    pub(crate) fn correct(&mut self, p_value: f64, pairs: usize) {
        self.p_value = p_value;
        if self.direction.is_claim() && p_value > SIGNIFICANCE {
            self.direction = Direction::Undecided { more_pairs: pairs.max(1) };
        }
    }
}

/// The geometric mean of values above zero.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (sum / values.len() as f64).exp())
}
