//! How load is applied: closed or open loop, how arrivals are spaced, and how long users think.

use crate::time::nanoseconds;
use crate::{Nanos, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When the next request is sent: the open and the closed model of Schroeder, Wierman and Harchol-Balter, "Open versus
/// closed: a cautionary tale" (NSDI 2006).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum LoadModel {
    /// A connection sends its next request when the previous one is answered.
    #[default]
    Closed,
    /// Requests are due on a schedule, whatever the server does.
    Open {
        /// The offered rate over time.
        shape: Shape,
        /// How arrivals are spaced.
        #[serde(default)]
        arrivals: Arrivals,
    },
}

impl LoadModel {
    /// Whether requests are due on a schedule.
    pub fn is_open(&self) -> bool {
        matches!(self, LoadModel::Open { .. })
    }
}

/// Distribution of the arrivals of an open loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At equal intervals
    #[default]
    Constant,
    /// At random, as independent users arrive: exponentially distributed gaps
    Poisson,
}

impl Arrivals {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Constant, Self::Poisson];

    /// The name in flags and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Poisson => "poisson",
        }
    }

    /// The words in reports.
    pub fn words(self) -> &'static str {
        match self {
            Self::Constant => "evenly spaced",
            Self::Poisson => "Poisson arrivals",
        }
    }

    /// Whether the gaps are random.
    pub fn is_random(self) -> bool {
        match self {
            Self::Constant => false,
            Self::Poisson => true,
        }
    }
}

/// The part of a load for one of several loaders: the ticks of the open loop with this index modulo the number of
/// loaders. Threads divide the share of their loader in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoaderShare {
    /// Number of this loader, from 0.
    pub index: u32,
    /// Number of loaders.
    pub of: u32,
}

impl LoaderShare {
    /// The whole load.
    pub const ALL: LoaderShare = LoaderShare { index: 0, of: 1 };
}

/// Time between a response and the same user's next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Think {
    /// Mean length of the pause, in nanoseconds.
    #[serde(rename = "mean_ns", with = "nanoseconds")]
    #[schemars(with = "u64")]
    pub mean: Nanos,
    /// Distribution of the pause.
    pub distribution: Distribution,
}

impl Think {
    /// A constant time.
    pub fn constant(mean: Nanos) -> Self {
        Self { mean, distribution: Distribution::Constant }
    }

    /// Exponentially distributed times with this mean.
    pub fn exponential(mean: Nanos) -> Self {
        Self { mean, distribution: Distribution::Exponential }
    }
}

/// Distribution of a time around its mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Constant.
    Constant,
    /// Exponentially distributed.
    Exponential,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_arrival_process_by_its_name() {
        let schema = serde_json::to_value(schemars::schema_for!(Arrivals)).unwrap();
        assert_eq!(schema["oneOf"].as_array().unwrap().len(), Arrivals::ALL.len());
        for arrivals in Arrivals::ALL {
            assert_eq!(serde_json::to_value(arrivals).unwrap(), arrivals.name());
        }
    }
}
