//! What an HTTP proxy is sent.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use paceline_job::Proxy;

/// The credentials for a proxy (RFC 9110 §11.7.2, RFC 7617).
pub(crate) fn proxy_authorization(proxy: &Proxy) -> Option<String> {
    proxy.credentials.as_ref().map(|credentials| format!("Basic {}", BASE64_STANDARD.encode(credentials)))
}
