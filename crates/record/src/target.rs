//! The target of a run: a URL, its address, and the protocol used.
//!
//! Part of a run: the binary records the addresses that it looked up and tried, and the result of the first TLS
//! handshake; the text of a run shows them. A run does not know which server the target is: see the trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The measured target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// The URL as given, normalised.
    pub url: String,
    /// The protocol used, such as `http/1.1`.
    pub protocol: String,
    /// The address of the connections; a unix socket as `unix:/path`.
    pub address: String,
    /// The local addresses of the connections, if they were spread over several.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sources: Vec<String>,
    /// Addresses of the same name that were tried before it, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tried: Vec<Tried>,
    /// TLS, if it was used.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls: Option<Tls>,
}

impl Target {
    /// Whether requests are calls of gRPC.
    pub fn is_grpc(&self) -> bool {
        self.url.starts_with("grpc://") || self.url.starts_with("grpcs://")
    }
}

/// An address that was tried and not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tried {
    /// The address and port that were tried.
    pub address: String,
    /// Why it was not used, for people.
    pub failure: String,
}

/// The parameters negotiated in the first TLS handshake, and the number of handshakes in the whole run, the connect
/// phase included. Without a completed handshake the negotiated parameters are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tls {
    /// The protocol's version, `1.2` or `1.3`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// The cipher suite, by its IANA name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cipher: Option<String>,
    /// The group of the key exchange.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group: Option<String>,
    /// The application protocol that the server chose; left out if it chose none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub alpn: Option<String>,
    /// The requested name: sent to the server unless it is an address, and checked against its certificate.
    pub name: String,
    /// Whether the server's certificate was checked.
    pub verified: bool,
    /// Whether sessions were resumed if the server allowed it.
    pub resumption: bool,
    /// Number of handshakes that resumed an earlier session.
    pub resumed: u64,
    /// Number of full handshakes.
    pub full: u64,
    /// Early data, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub early_data: Option<EarlyData>,
}

/// Requests that were sent before the handshake of a resumed connection was done (0-RTT), in the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlyData {
    /// Number of connections on which at least one request was sent early, of those whose handshake was completed.
    pub sent: u64,
    /// Number of those whose server accepted early data. On the others the requests were sent again.
    pub accepted: u64,
}
