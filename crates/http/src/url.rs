//! Parses the URL of a target, as far as a load generator needs it: `http://host[:port]/path?query` (RFC 3986, RFC 9110
//! §4.2, RFC 6455 §3); gRPC has `grpc://` and `grpcs://`.
//!
//! Parsed once, from a command line or a plan, and by hand: a general library accepts and repairs likely typing errors,
//! whereas here each error names the nearest valid form. Names are not resolved.

use std::net::Ipv6Addr;

use crate::request_error::RequestError;
use crate::syntax::{first_invalid, is_target};

/// The protocol of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Plain text, port 80 by default.
    Http,
    /// TLS, port 443 by default. Recognised here; the transport decides whether it is supported.
    Https,
    /// WebSocket in plain text, port 80 by default.
    Ws,
    /// WebSocket over TLS, port 443 by default.
    Wss,
    /// gRPC over HTTP/2 in plain text, port 80 by default.
    Grpc,
    /// gRPC over HTTP/2 and TLS, port 443 by default.
    Grpcs,
}

impl Scheme {
    /// All of them.
    const ALL: [Scheme; 6] =
        [Scheme::Http, Scheme::Https, Scheme::Ws, Scheme::Wss, Scheme::Grpc, Scheme::Grpcs];

    /// The port of a URL that names none.
    pub fn default_port(self) -> u16 {
        match self {
            Scheme::Http | Scheme::Ws | Scheme::Grpc => 80,
            Scheme::Https | Scheme::Wss | Scheme::Grpcs => 443,
        }
    }

    /// Whether connections use TLS.
    pub fn uses_tls(self) -> bool {
        matches!(self, Scheme::Https | Scheme::Wss | Scheme::Grpcs)
    }

    /// Whether connections change to WebSocket (RFC 6455).
    pub fn is_websocket(self) -> bool {
        matches!(self, Scheme::Ws | Scheme::Wss)
    }

    /// Whether requests are calls of gRPC.
    pub fn is_grpc(self) -> bool {
        matches!(self, Scheme::Grpc | Scheme::Grpcs)
    }

    /// As written in a request (`:scheme`, RFC 9113 §8.3.1).
    pub fn http_name(self) -> &'static str {
        if self.uses_tls() { "https" } else { "http" }
    }

    /// As written in a URL.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
            Scheme::Ws => "ws",
            Scheme::Wss => "wss",
            Scheme::Grpc => "grpc",
            Scheme::Grpcs => "grpcs",
        }
    }
}

/// A target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Its protocol.
    pub scheme: Scheme,
    /// A name or an address to resolve and connect to; an IPv6 address without its brackets and its zone.
    pub host: String,
    /// The zone of an IPv6 address: the interface of this machine through which it is reached (RFC 6874). It is never
    /// sent.
    pub zone: Option<String>,
    /// The port, given or the scheme's default.
    pub port: u16,
    /// The path and the query to request, `/` if none is given. A fragment is left out (RFC 9110 §4.2.5).
    pub path: String,
}

impl Url {
    /// Parses a URL.
    ///
    /// # Errors
    /// A [`RequestError`] that names the invalid part and, where there is one, the nearest valid form.
    pub fn parse(url: &str) -> Result<Url, RequestError> {
        let (scheme, rest) = split_scheme(url)?;
        let rest = rest.split('#').next().unwrap_or(rest);
        let authority_len = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(authority_len);
        if let Some(at) = authority.rfind('@') {
            let nearest = format!("{}://{}{path}", scheme.name(), &authority[at + 1..]);
            return Err(RequestError::UserInfo { nearest });
        }
        let (host, port) = split_port(url, scheme, authority, path)?;
        let (host, zone) = match host.split_once('%') {
            Some((host, zone)) => (host.to_owned(), Some(zone.strip_prefix("25").unwrap_or(zone).to_owned())),
            None => (host, None),
        };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        check_target(&path, "GET")?;
        Ok(Url { scheme, host, zone, port: port.unwrap_or(scheme.default_port()), path })
    }

    /// Parses a URL of HTTP.
    ///
    /// # Errors
    /// As [`Url::parse`], and for the URL of another protocol.
    pub fn parse_http(url: &str) -> Result<Url, RequestError> {
        let parsed = Url::parse(url)?;
        if matches!(parsed.scheme, Scheme::Http | Scheme::Https) {
            return Ok(parsed);
        }
        let (scheme, expected) = (parsed.scheme.name().to_owned(), "http or https");
        let nearest = format!("{}://{}{}", parsed.scheme.http_name(), parsed.authority(), parsed.path);
        Err(RequestError::Scheme { url: url.into(), scheme, expected, nearest })
    }

    /// Host and port as in the `Host` field: brackets around IPv6, no port if it is the scheme's default (RFC 9110
    /// §7.2).
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == self.scheme.default_port() { host } else { format!("{host}:{}", self.port) }
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let authority = match &self.zone {
            Some(zone) => self.authority().replacen(']', &format!("%25{zone}]"), 1),
            None => self.authority(),
        };
        write!(f, "{}://{authority}{}", self.scheme.name(), self.path)
    }
}

/// The scheme, in any case (RFC 3986 §3.1), and what follows `://`.
fn split_scheme(url: &str) -> Result<(Scheme, &str), RequestError> {
    let with_scheme = url.split_once("://").filter(|(scheme, _)| !scheme.contains(['/', '?', '#']));
    let Some((scheme, rest)) = with_scheme else { return Err(without_scheme(url)) };
    match Scheme::ALL.into_iter().find(|known| scheme.eq_ignore_ascii_case(known.name())) {
        Some(scheme) => Ok((scheme, rest)),
        None => {
            let nearest = format!("http://{rest}");
            let expected = "http, https, ws, wss, grpc or grpcs";
            Err(RequestError::Scheme { url: url.into(), scheme: scheme.into(), expected, nearest })
        }
    }
}

/// The error for a URL without `://`, with the form that was most likely meant.
fn without_scheme(url: &str) -> RequestError {
    for scheme in Scheme::ALL.map(Scheme::name) {
        if let Some(rest) = url.strip_prefix(scheme).and_then(|rest| rest.strip_prefix(':')) {
            let nearest = format!("{scheme}://{}", rest.trim_start_matches('/'));
            return RequestError::MissingSlashes { url: url.into(), nearest };
        }
    }
    let rest = url.strip_prefix("//").unwrap_or(url);
    if rest.is_empty() || rest.starts_with('/') {
        return RequestError::MissingHost { url: url.into() };
    }
    RequestError::MissingScheme { url: url.into(), nearest: format!("http://{rest}") }
}

/// The host, checked, and the port if one is given.
fn split_port(
    url: &str,
    scheme: Scheme,
    authority: &str,
    path: &str,
) -> Result<(String, Option<u16>), RequestError> {
    if let Some(bracketed) = authority.strip_prefix('[') {
        let Some((address, port)) = bracketed.split_once(']') else {
            let nearest = format!("{}://[{bracketed}]{path}", scheme.name());
            return Err(RequestError::OpenBracket { url: url.into(), address: bracketed.into(), nearest });
        };
        if !is_ipv6(address) {
            return Err(RequestError::Ipv6 { url: url.into(), address: address.into() });
        }
        return Ok((address.into(), parse_port(url, port)?));
    }
    if let Some(bracketed) = with_brackets(authority) {
        let nearest = format!("{}://{bracketed}{path}", scheme.name());
        return Err(RequestError::Brackets { url: url.into(), nearest });
    }
    let (host, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
    if host.is_empty() {
        return Err(RequestError::MissingHost { url: url.into() });
    }
    if let Some(at) =
        first_invalid(host, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
    {
        return Err(RequestError::Host { url: url.into(), host: host.into(), at });
    }
    Ok((host.into(), parse_port(url, port)?))
}

/// The valid form of an IPv6 address without brackets. The text after its last colon is a port if the rest is an
/// address too (so the colon is not part of a `::`): in `::1:8080` a port is more likely than a part of the address.
fn with_brackets(authority: &str) -> Option<String> {
    let is_address = |text: &str| text.parse::<Ipv6Addr>().is_ok();
    match authority.rsplit_once(':') {
        Some((host, port)) if is_address(host) && port.parse::<u16>().is_ok() => {
            Some(format!("[{host}]:{port}"))
        }
        _ => is_address(authority).then(|| format!("[{authority}]")),
    }
}

/// Whether it is an IPv6 address, possibly with a zone after a `%`, which RFC 6874 writes as `%25`.
fn is_ipv6(address: &str) -> bool {
    let (address, zone) = address.split_once('%').unwrap_or((address, "any"));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    address.parse::<Ipv6Addr>().is_ok() && !matches!(zone, "" | "25") && zone.bytes().all(plain)
}

/// The port after its colon; a colon alone means the default (RFC 3986 §3.2.3).
fn parse_port(url: &str, port: &str) -> Result<Option<u16>, RequestError> {
    if port.is_empty() || port == ":" {
        return Ok(None);
    }
    let digits = port.strip_prefix(':').unwrap_or(port);
    let plain = port.starts_with(':') && digits.bytes().all(|byte| byte.is_ascii_digit());
    match digits.parse() {
        Ok(number) if plain && number > 0 => Ok(Some(number)),
        _ => Err(RequestError::Port { url: url.into(), port: digits.into() }),
    }
}

/// RFC 9112 §3.2.1 and §3.2.4: a request target in origin form, or `*` for OPTIONS.
pub(crate) fn check_target(path: &str, method: &str) -> Result<(), RequestError> {
    check_target_bytes(path)?;
    if path.starts_with('/') || (path == "*" && method == "OPTIONS") {
        return Ok(());
    }
    Err(RequestError::PathNotAbsolute { path: path.into() })
}

/// Whether every byte of a target may be sent.
pub(crate) fn check_target_bytes(path: &str) -> Result<(), RequestError> {
    let Some(at) = first_invalid(path, is_target) else { return Ok(()) };
    let encode = |byte: u8| match is_target(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    let nearest = path.bytes().map(encode).collect();
    Err(RequestError::Path { path: path.into(), at, nearest })
}
