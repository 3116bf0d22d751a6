//! Where a job connects to, and TLS.

use paceline_http::{Scheme, Url};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Which addresses of a name are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IpVersion {
    /// IPv4 only.
    #[serde(rename = "4")]
    V4,
    /// IPv6 only.
    #[serde(rename = "6")]
    V6,
}

/// How TLS is used; for https URLs only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSpec {
    /// Whether the server's certificate is not checked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// Trust the certificates in this PEM file instead of the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// The client certificate, PEM, with its chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_file: Option<PathBuf>,
    /// The client certificate's key, PEM; in `cert_file` if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// The server name to request and to look for in the certificate; the URL's host if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// The only version to offer; all if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<TlsVersion>,
    /// Whether every handshake is a full one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_resumption: bool,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246)
    #[serde(rename = "1.2")]
    #[cfg_attr(feature = "clap", value(name = "1.2"))]
    Tls12,
    /// TLS 1.3 (RFC 8446)
    #[serde(rename = "1.3")]
    #[cfg_attr(feature = "clap", value(name = "1.3"))]
    Tls13,
}

/// The URL of a job without one.
pub(crate) fn localhost() -> Url {
    Url { scheme: Scheme::Http, host: "localhost".to_owned(), zone: None, port: 80, path: "/".to_owned() }
}

/// A URL as text.
pub(crate) mod url {
    use paceline_http::Url;
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(crate) fn serialize<S: Serializer>(url: &Url, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(url)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Url, D::Error> {
        Url::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}
