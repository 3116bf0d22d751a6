//! The scale of a plan: one factor on every load, so that a small machine carries out a smaller plan of the same shape.
//!
//! Only its format: `size` replaces `auto` by a number when a round begins, `expand` multiplies by it, `check` knows
//! its bounds. The scale does not change the length of windows or the depth of connections.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// One factor on connections, rate and number of requests of every load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// As much as the machine can hold: determined once, when a round begins.
    Auto,
    /// This factor.
    Factor(f64),
}

/// The form in a plan.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ScaleValue {
    Number(f64),
    Word(String),
}

impl<'de> Deserialize<'de> for Scale {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match ScaleValue::deserialize(deserializer) {
            Ok(ScaleValue::Number(factor)) => Ok(Scale::Factor(factor)),
            Ok(ScaleValue::Word(word)) if word == "auto" => Ok(Scale::Auto),
            _ => Err(D::Error::custom("`scale` must be a number above 0 and at most 1, or \"auto\"")),
        }
    }
}

impl Serialize for Scale {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Scale::Auto => serializer.serialize_str("auto"),
            Scale::Factor(factor) => serializer.serialize_f64(*factor),
        }
    }
}
