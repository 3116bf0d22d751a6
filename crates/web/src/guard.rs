//! Access control: which requests may read the results, and headers that restrict the browser.
//!
//! On loopback the `Host` header must name this machine: a page of another site whose name resolves to 127.0.0.1 (DNS
//! rebinding) sends that site's name. On any other address a token is required as well. Every response has a
//! Content-Security-Policy that allows only this server's files.

use axum::body::Body;
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Request, Response, StatusCode};
use std::net::{IpAddr, SocketAddr};

/// The longest path and query that is read: overall scores name each of the chosen tables, of which a plan may have
/// some 100, with about 40 bytes each.
const TARGET_BYTES: usize = 32_768;
/// The cookie that carries the token. The port follows, because browsers send the cookies of a host to all of its ports
/// (RFC 6265 §8.5): the token of another server would replace this one's.
const COOKIE: &str = "paceline_token_";

/// What a page may load: only files of its own server.
pub(crate) const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Access to the results.
#[derive(Clone, Debug)]
pub struct Access {
    loopback: bool,
    token: Option<String>,
    /// The name of the cookie that carries the token.
    cookie: String,
    names: Vec<String>,
}

impl Access {
    /// Access at an address: free on loopback, with `token` anywhere else. `names` are further host names of the
    /// machine.
    pub fn at(address: SocketAddr, token: String, names: Vec<String>) -> Self {
        let loopback = address.ip().is_loopback();
        let cookie = format!("{COOKIE}{}", address.port());
        Self { loopback, token: (!loopback).then_some(token), cookie, names }
    }

    /// The token that is required, if any.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// The response that refuses a request; none if it is allowed.
    pub fn refusal<B>(&self, request: &Request<B>) -> Option<(StatusCode, &'static str)> {
        if request.uri().path_and_query().map_or(0, |target| target.as_str().len()) > TARGET_BYTES {
            return Some((StatusCode::URI_TOO_LONG, "the path and query of the URL are too long"));
        }
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        if !host.is_some_and(|host| self.is_ours(host)) || hosts.next().is_some() {
            let what = "the Host header does not name this server; use its IP address, or start `paceline view` with \
                        --allow-host NAME";
            return Some((StatusCode::FORBIDDEN, what));
        }
        let mut presented = self.presented(request.headers());
        let known = self.token.as_ref().is_none_or(|token| presented.any(|t| same(t, token)));
        let what = "a token is required: open the address that paceline view printed";
        (!known).then_some((StatusCode::UNAUTHORIZED, what))
    }

    /// The header that stores the token for further requests, if the address contains the right one.
    pub fn cookie<B>(&self, request: &Request<B>) -> Option<HeaderValue> {
        let token = self.token.as_ref()?;
        let mut given = request.uri().query()?.split('&').filter_map(|part| part.strip_prefix("token="));
        let cookie = format!("{}={token}; Path=/; HttpOnly; SameSite=Strict", self.cookie);
        given.any(|given| same(given, token)).then(|| HeaderValue::from_str(&cookie).ok()).flatten()
    }

    /// The tokens of a request: as a bearer or in this server's cookie.
    fn presented<'a>(&'a self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
        let bearers = headers.get_all(header::AUTHORIZATION).iter().filter_map(|value| value.to_str().ok());
        let bearers = bearers.filter_map(|value| value.strip_prefix("Bearer "));
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let cookies = cookies.flat_map(|value| value.split(';'));
        let name = self.cookie.as_str();
        let own = move |pair: &'a str| pair.trim().strip_prefix(name)?.strip_prefix('=');
        bearers.chain(cookies.filter_map(own))
    }

    /// Whether a `Host` header names this machine. A name in another party's DNS does not.
    fn is_ours(&self, host: &str) -> bool {
        let Some(name) = name_of(host) else { return false };
        match name.parse::<IpAddr>() {
            Ok(address) => !self.loopback || address.is_loopback(),
            Err(_) => {
                name.eq_ignore_ascii_case("localhost")
                    || self.names.iter().any(|ours| ours.eq_ignore_ascii_case(name))
            }
        }
    }
}

/// The name or address in a `Host` header, without the brackets of an IPv6 address; none if what follows is not a port
/// (RFC 3986 §3.2.3: a colon and digits, possibly none).
fn name_of(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(name)
}

/// Whether two texts are the same, in constant time.
fn same(a: &str, b: &str) -> bool {
    let differences = a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && differences == 0
}

/// Adds the headers that make the browser load and send nothing else.
pub fn protect(response: &mut Response<Body>) {
    const HEADERS: [(HeaderName, &str); 6] = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    // Pages and files say how long they may be kept; refusals, downloads and live events are not kept.
    let kept = response.headers_mut().entry(header::CACHE_CONTROL);
    kept.or_insert(HeaderValue::from_static("no-store"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(host: &str, headers: &[(&str, &str)], uri: &str) -> Request<()> {
        let mut request = Request::builder().uri(uri).header("host", host);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    fn access(address: &str) -> Access {
        Access::at(address.parse().unwrap(), "secret".to_owned(), vec!["bench.example".to_owned()])
    }

    #[test]
    fn only_host_names_of_this_machine_are_answered_on_loopback() {
        let access = access("127.0.0.1:0");
        for host in ["127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080", "[::1]", "bench.example:1"] {
            assert_eq!(access.refusal(&request(host, &[], "/")), None, "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example:80",
            "10.0.0.1",
            "",
            "[fe80::1]",
            "localhost.evil.example",
            "127.0.0.1:8080@evil.example",
            "localhost:abc",
            "localhost:80:80",
            "::1",
            "[::1]evil.example",
            "[::1]:8080@evil.example",
            "[::1",
        ] {
            let refusal = access.refusal(&request(host, &[], "/")).map(|(status, _)| status);
            assert_eq!(refusal, Some(StatusCode::FORBIDDEN), "{host}");
        }
        assert!(access.refusal(&Request::builder().uri("/").body(()).unwrap()).is_some(), "no Host");
        assert!(access.refusal(&request("localhost", &[("host", "localhost")], "/")).is_some(), "two Hosts");
    }

    #[test]
    fn a_token_is_required_on_other_addresses() {
        let access = access("10.0.0.1:80");
        let refused = |headers: &[(&str, &str)]| access.refusal(&request("10.0.0.1", headers, "/"));
        assert_eq!(refused(&[]).map(|(status, _)| status), Some(StatusCode::UNAUTHORIZED));
        assert!(refused(&[("authorization", "Bearer secreT")]).is_some());
        assert!(refused(&[("cookie", "paceline_token_80=secret2")]).is_some());
        assert!(refused(&[("cookie", "paceline_token_8080=secret")]).is_some());
        assert_eq!(refused(&[("authorization", "Bearer secret")]), None);
        assert_eq!(refused(&[("cookie", "a=b; paceline_token_80=secret")]), None);
        assert!(access.cookie(&request("h", &[], "/?token=wrong")).is_none());
        let cookie = access.cookie(&request("h", &[], "/?token=secret")).unwrap();
        let cookie = cookie.to_str().unwrap();
        assert!(cookie.starts_with("paceline_token_80=") && cookie.contains("HttpOnly; SameSite=Strict"));
        // A second server of this host has another cookie, so that a browser keeps both.
        let second = Access::at("10.0.0.1:81".parse().unwrap(), "other".to_owned(), Vec::new());
        let second = second.cookie(&request("h", &[], "/?token=other")).unwrap();
        assert!(second.to_str().unwrap().starts_with("paceline_token_81="));
    }

    #[test]
    fn every_table_of_a_large_plan_can_be_chosen() {
        let tables = ["cached-worlds~closed-512-haproxy-4~cores~A"; 200].join("|");
        let scores = format!("/api/rounds/r/overall?metric=achieved_per_s&tables={tables}");
        assert_eq!(access("127.0.0.1:0").refusal(&request("localhost", &[], &scores)), None);
    }

    #[test]
    fn an_address_too_long_is_refused() {
        let long = format!("/api/rounds/{}", "x".repeat(TARGET_BYTES));
        let refusal = access("127.0.0.1:0").refusal(&request("localhost", &[], &long));
        assert_eq!(refusal.map(|(status, _)| status), Some(StatusCode::URI_TOO_LONG));
    }
}
