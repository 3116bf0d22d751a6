//! How each launch of a plan is warmed up: continuously until it no longer becomes faster, or in bursts.

use paceline_job::{format_duration, parse_duration};
use paceline_record::WarmUpBursts;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::time::Duration;

/// The length of a burst, if the plan does not say it.
const BURST: Duration = Duration::from_secs(2);
/// Whole seconds of the load are judged, and a burst shorter than this has none.
const MIN_BURST: Duration = Duration::from_secs(1);
/// More bursts, or longer ones, are a mistake.
const MAX_BURSTS: u32 = 1_000;
/// As [`MAX_BURSTS`].
const MAX_LENGTH: Duration = Duration::from_secs(3600);
/// A continuous warm-up: the shortest is 8 s, a native server needs little more, a virtual machine 20 s.
const GUESS: Duration = Duration::from_secs(10);

/// Bursts of a closed loop with pauses between them, which a compiler that shares the server's core can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// The number of bursts.
    pub count: u32,
    /// The length of each.
    pub length: Duration,
    /// The pause after each.
    pub pause: Duration,
}

impl Bursts {
    /// All of it, pauses included.
    pub fn total(&self) -> Duration {
        (self.length + self.pause) * self.count
    }

    /// As the record has it.
    pub fn record(&self) -> WarmUpBursts {
        WarmUpBursts {
            count: self.count,
            length_s: self.length.as_secs_f64(),
            pause_s: self.pause.as_secs_f64(),
        }
    }
}

/// The form in a plan: `warmup = { bursts = 10, pause = "15s" }`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BurstsValue {
    bursts: u32,
    pause: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    length: Option<String>,
}

impl<'de> Deserialize<'de> for Bursts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = BurstsValue::deserialize(deserializer)?;
        let length = |text: &str| parse_duration(text).map_err(D::Error::custom);
        let bursts = Self {
            count: value.bursts,
            length: value.length.as_deref().map_or(Ok(BURST), length)?,
            pause: length(&value.pause)?,
        };
        if bursts.count == 0 || bursts.count > MAX_BURSTS {
            return Err(D::Error::custom(format!("`bursts` must be 1 to {MAX_BURSTS}")));
        }
        if bursts.length < MIN_BURST || bursts.length.max(bursts.pause) > MAX_LENGTH {
            let least = format_duration(MIN_BURST);
            return Err(D::Error::custom(format!(
                "`length` must be at least {least}, `length` and `pause` at most {}",
                format_duration(MAX_LENGTH)
            )));
        }
        Ok(bursts)
    }
}

impl Serialize for Bursts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let length = Some(format_duration(self.length));
        BurstsValue { bursts: self.count, pause: format_duration(self.pause), length }.serialize(serializer)
    }
}

/// The warm-up of each launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchWarmUp {
    /// A closed loop until the server no longer becomes faster.
    Continuous {
        /// Its longest time; zero for no warm-up.
        limit: Duration,
    },
    /// Bursts, all of them.
    Bursts(Bursts),
}

impl LaunchWarmUp {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.limit().is_zero()
    }

    /// Its longest time.
    pub fn limit(&self) -> Duration {
        match self {
            Self::Continuous { limit } => *limit,
            Self::Bursts(bursts) => bursts.total(),
        }
    }

    /// Its expected time.
    pub fn guess(&self) -> Duration {
        match self {
            Self::Continuous { limit } => GUESS.min(*limit),
            Self::Bursts(bursts) => bursts.total(),
        }
    }
}
