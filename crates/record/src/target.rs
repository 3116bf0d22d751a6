//! What was measured: a URL, the address behind it, and how it was spoken to.
//!
//! Part of a run: the binary tells what it looked up and tried, and what the first TLS handshake agreed on; the text of
//! a run shows it. Which server that was is not known to a run: the trial says it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// The URL as given, normalised.
    pub url: String,
    /// The protocol that was spoken, such as `http/1.1`.
    pub protocol: String,
    /// The address connections went to; a unix socket as `unix:/path`.
    pub address: String,
    /// The local addresses they came from, where they were spread over several.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sources: Vec<String>,
    /// Addresses of the same name that were tried before it, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tried: Vec<Tried>,
    /// TLS, where it was spoken.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls: Option<Tls>,
}

/// An address that was tried and not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tried {
    /// The address and port that were tried.
    pub address: String,
    /// Why it was not used, for people.
    pub failure: String,
}

/// What client and server agreed on in the first handshake, and how many there were in the whole run, the connect phase
/// included. Without any handshake that was done, nothing was agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tls {
    /// The protocol's version, `1.2` or `1.3`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// The cipher suite, by its name at IANA.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cipher: Option<String>,
    /// The group of the key exchange.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group: Option<String>,
    /// The application protocol the server chose; left out where it chose none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub alpn: Option<String>,
    /// The name asked for: sent to the server unless it is an address, and looked for in its certificate.
    pub name: String,
    /// Whether the server's certificate was checked.
    pub verified: bool,
    /// Whether sessions were resumed where the server allowed it.
    pub resumption: bool,
    /// Number of handshakes that resumed an earlier session.
    pub resumed: u64,
    /// Number of full handshakes.
    pub full: u64,
}
