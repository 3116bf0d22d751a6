//! How the messages of gRPC calls are described.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How the JSON of request bodies becomes messages of gRPC. Without source files, the server is asked for its schema
/// (server reflection).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GrpcSpec {
    /// The `.proto` files that define the services.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proto: Vec<PathBuf>,
    /// The folders in which imports are looked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proto_path: Vec<PathBuf>,
    /// Whether request bodies are encoded messages, which are sent as they are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub raw: bool,
}
