//! Durations in plans and manifests, as text or in seconds.

use paceline_job::{MAX_DURATION, format_duration, parse_duration};
use serde::{Deserialize as _, Deserializer, Serializer};
use std::time::Duration;

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map(Some).map_err(serde::de::Error::custom)
}

pub(crate) fn serialize<S: Serializer>(value: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(duration) => serializer.serialize_str(&format_duration(*duration)),
        None => serializer.serialize_none(),
    }
}

/// Reads a whole number of seconds.
pub(crate) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let seconds = u64::deserialize(deserializer)?;
    let most = MAX_DURATION.as_secs();
    if seconds > most {
        let problem = format!("{seconds} seconds are too long: the maximum is {most}");
        return Err(serde::de::Error::custom(problem));
    }
    Ok(Some(Duration::from_secs(seconds)))
}
