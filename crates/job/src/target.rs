//! The target of a job, and TLS.

use crate::request::MASKED;
use paceline_http::{Scheme, Url};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The IP version of the addresses that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IpVersion {
    /// IPv4 only.
    #[serde(rename = "4")]
    V4,
    /// IPv6 only.
    #[serde(rename = "6")]
    V6,
}

/// An HTTP proxy for the requests: for http URLs it receives requests with the whole URL (RFC 9112 §3.2.2), for https
/// URLs it opens a tunnel (CONNECT, RFC 9110 §9.3.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Proxy {
    /// Its URL.
    pub url: Url,
    /// Name and password for the proxy, with a colon between them.
    pub credentials: Option<String>,
}

/// Why a text is not a proxy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProxyError {
    /// Another scheme than http.
    #[error("the URL of a proxy must begin with http://, not {0}://")]
    Scheme(String),
    /// No host and port, or an invalid form.
    #[error("{0:?} is not [http://][USER:PASS@]HOST:PORT")]
    Form(String),
}

impl Proxy {
    /// Parses `[http://][USER:PASS@]HOST:PORT`.
    ///
    /// # Errors
    /// [`ProxyError`] with the problem; it does not contain a password.
    pub fn parse(text: &str) -> Result<Self, ProxyError> {
        let rest = match text.split_once("://") {
            None => text,
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some((scheme, _)) => return Err(ProxyError::Scheme(scheme.to_owned())),
        };
        let (credentials, host) = match rest.rsplit_once('@') {
            Some((credentials, host)) => (Some(credentials.to_owned()), host),
            None => (None, rest),
        };
        let url = Url::parse(&format!("http://{host}")).ok().filter(|url| url.path == "/");
        let url = url.ok_or_else(|| ProxyError::Form(host.to_owned()))?;
        Ok(Self { url, credentials })
    }

    /// The proxy with its credentials replaced.
    #[must_use]
    pub fn masked(&self) -> Self {
        let credentials = self.credentials.as_ref().map(|_| MASKED.to_owned());
        Self { credentials, ..self.clone() }
    }
}

impl std::fmt::Display for Proxy {
    /// Prints its URL, without its credentials.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.url.to_string().trim_end_matches('/'))
    }
}

impl TryFrom<String> for Proxy {
    type Error = ProxyError;

    fn try_from(text: String) -> Result<Self, ProxyError> {
        Self::parse(&text)
    }
}

impl From<Proxy> for String {
    fn from(proxy: Proxy) -> Self {
        let credentials = proxy.credentials.as_ref().map_or_else(String::new, |text| format!("{text}@"));
        proxy.to_string().replacen("://", &format!("://{credentials}"), 1)
    }
}

/// How TLS is used; for https URLs only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSpec {
    /// Whether the check of the server's certificate is disabled.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    /// Trust the certificates in this PEM file instead of the system's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// The file of the client certificate and its chain, PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cert_file: Option<PathBuf>,
    /// The file of the client certificate's key, PEM; `cert_file` if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// The server name to request and to expect in the certificate; the URL's host if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// The only version to offer; all if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<TlsVersion>,
    /// Whether session resumption is disabled, so that every handshake is a full one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_resumption: bool,
    /// Whether GET and HEAD requests may leave in the handshake of a resumed connection (RFC 8446 §2.3), over HTTP/3.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub early_data: bool,
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

/// The URL of a job without a URL.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_read_and_their_passwords_not_shown() {
        for (text, shown, credentials) in [
            ("http://a:3128", "http://a:3128", None),
            ("a:3128", "http://a:3128", None),
            ("HTTP://u:p@ss@[::1]:8080/", "http://[::1]:8080", Some("u:p@ss")),
        ] {
            let proxy = Proxy::parse(text).unwrap();
            assert_eq!((proxy.to_string().as_str(), proxy.credentials.as_deref()), (shown, credentials));
            assert_eq!(Proxy::parse(&String::from(proxy.clone())).unwrap(), proxy);
            assert!(!String::from(proxy.masked()).contains("p@ss"));
        }
        assert_eq!(Proxy::parse("https://a:1").unwrap_err(), ProxyError::Scheme("https".to_owned()));
        for text in ["", "http://u:secret@", "u:secret@a:x", "a:1/path"] {
            assert!(!Proxy::parse(text).unwrap_err().to_string().contains("secret"), "{text}");
        }
    }
}
