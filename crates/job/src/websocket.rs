//! How messages of a WebSocket are sent, and what answers them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How messages of a WebSocket are sent, and what answers them; for ws and wss URLs only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebSocketSpec {
    /// Whether messages are binary instead of text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub binary: bool,
    /// Which message answers one that was sent.
    #[serde(skip_serializing_if = "AnswerRule::is_default")]
    pub answer: AnswerRule,
}

/// Which message of a WebSocket answers one that was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "snake_case")]
pub enum AnswerRule {
    /// The next message, which must equal the sent one, or the expected body if there is one
    #[default]
    Next,
    /// The next message, which may be any
    Any,
    /// The next one that equals the sent message, or is as expected; others are skipped
    Match,
}

impl AnswerRule {
    fn is_default(&self) -> bool {
        *self == AnswerRule::default()
    }
}
