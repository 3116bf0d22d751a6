//! Durations in plans and manifests, as text.

use paceline_job::{format_duration, parse_duration};
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
