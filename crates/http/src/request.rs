//! Builds a request: from the user's settings to the bytes on the wire (RFC 9112 §3).
//!
//! The binary and the lab build one [`Request`] per run or workload and encode it once; the engine sends those bytes
//! again and again. Every value that could break out of its line is rejected here, so later code need not check. The
//! codec frames the body itself: by its length, or in chunks.

use crate::Method;
use crate::body::{BodyFraming, push_chunks};
use crate::request_error::RequestError;
use crate::syntax::{first_invalid, is_text, is_token};
use crate::url::{Scheme, Url, check_target};
use std::num::NonZeroU32;

/// The default value of `User-Agent`.
pub const USER_AGENT: &str = concat!("paceline/", env!("CARGO_PKG_VERSION"));

/// A request as specified. [`Request::get`] of `http://127.0.0.1:8080/` is exactly this, with every line ended by CR LF
/// and a blank line at the end:
///
/// ```text
/// GET / HTTP/1.1
/// Host: 127.0.0.1:8080
/// User-Agent: paceline/0.1.0
/// Accept: */*
/// ```
///
/// `Content-Length` follows when there is a body, or the method is POST, PUT or PATCH (RFC 9110 §8.6); for a body in chunks,
/// `Transfer-Encoding`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method's name, case as given.
    pub method: String,
    /// The request target in origin form, with its query: `/path?query`, or `*` for OPTIONS.
    pub path: String,
    /// The scheme, where the request is sent to a proxy: the request line then has the whole URL (RFC 9112 §3.2.2).
    pub through_proxy: Option<Scheme>,
    /// The value of `Host`: [`Url::authority`].
    pub host: String,
    /// Fields in order. A field with the name of a default field, in any case, takes the place of that default.
    pub headers: Vec<(String, String)>,
    /// Names of default fields that are left out; `Host` is always sent.
    pub omit: Vec<String>,
    /// The length of a body that is generated or read as it is sent, whose bytes follow those of the request; `body` is
    /// then empty.
    pub generated: Option<u64>,
    /// How the body is framed.
    pub framing: BodyFraming,
    /// Whether the body waits for 100 Continue (RFC 9110 §10.1.1).
    pub expects_continue: bool,
    /// The body, possibly empty.
    pub body: Vec<u8>,
    /// The version in the request line.
    pub version: HttpVersion,
}

/// The version that a request is sent as. Its fields determine whether the connection is kept (RFC 9112 §9.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0, as older benchmarks send it.
    Http10,
    /// HTTP/1.1.
    #[default]
    Http11,
}

impl HttpVersion {
    /// As written in the request line.
    pub fn as_str(self) -> &'static str {
        match self {
            HttpVersion::Http10 => "HTTP/1.0",
            HttpVersion::Http11 => "HTTP/1.1",
        }
    }
}

/// The fields that every request has, in this order, unless overridden; `Host` first (RFC 9110 §7.2).
const DEFAULTS: [&str; 3] = ["Host", "User-Agent", "Accept"];

/// Fields that may occur only once: a second would contradict the first.
const ONCE: [&str; 4] = ["Host", "User-Agent", "Content-Length", "Content-Type"];

impl Request {
    /// A plain GET of `url`.
    pub fn get(url: &Url) -> Self {
        Request {
            method: "GET".into(),
            path: url.path.clone(),
            through_proxy: None,
            host: url.authority(),
            headers: Vec::new(),
            omit: Vec::new(),
            generated: None,
            framing: BodyFraming::default(),
            expects_continue: false,
            body: Vec::new(),
            version: HttpVersion::default(),
        }
    }

    /// The kind of the method, for a decoder.
    pub fn method_kind(&self) -> Method {
        Method::from_name(&self.method)
    }

    /// The bytes to send.
    ///
    /// # Errors
    /// [`RequestError`] for a request that would not arrive as intended.
    pub fn encode(&self) -> Result<Vec<u8>, RequestError> {
        self.check_method()?;
        check_target(&self.path, &self.method)?;
        self.check_headers()?;
        self.check_length(self.body_bytes())?;
        let (method, prefix, version) = (&self.method, self.target_prefix(), self.version.as_str());
        let mut bytes = format!("{method} {prefix}{} {version}\r\n", self.path).into_bytes();
        for (name, value) in self.fields() {
            push(&mut bytes, name, value);
        }
        if self.sends_expect() {
            push(&mut bytes, "Expect", "100-continue");
        }
        match self.chunks() {
            Some(_) => push(&mut bytes, "Transfer-Encoding", "chunked"),
            None if self.adds_length() => push(&mut bytes, "Content-Length", &self.body_bytes().to_string()),
            None => {}
        }
        bytes.extend_from_slice(b"\r\n");
        match self.chunks() {
            Some(size) if self.generated.is_none() => push_chunks(&mut bytes, &self.body, size),
            _ => bytes.extend_from_slice(&self.body),
        }
        Ok(bytes)
    }

    /// The text before the path in the request line.
    pub(crate) fn target_prefix(&self) -> String {
        self.through_proxy.map_or_else(String::new, |scheme| format!("{}://{}", scheme.name(), self.host))
    }

    /// The fields in the order in which they are sent, except for a `Content-Length` that is added after them.
    pub(crate) fn fields(&self) -> Vec<(&str, &str)> {
        let mut fields = Vec::new();
        for name in DEFAULTS {
            let is_left_out = name != "Host" && self.omit.iter().any(|omit| omit.eq_ignore_ascii_case(name));
            match self.given(name).next() {
                None if is_left_out => {}
                None => fields.push((name, self.default_of(name))),
                Some(_) => fields.extend(self.given(name)),
            }
        }
        let is_default = |name: &str| DEFAULTS.iter().any(|default| default.eq_ignore_ascii_case(name));
        let others = self.headers.iter().filter(|(name, _)| !is_default(name));
        fields.extend(others.map(|(name, value)| (name.as_str(), value.as_str())));
        fields
    }

    /// The given fields of a name.
    fn given<'r>(&'r self, name: &'r str) -> impl Iterator<Item = (&'r str, &'r str)> {
        let same = move |(given, _): &&(String, String)| given.eq_ignore_ascii_case(name);
        self.headers.iter().filter(same).map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A default field's value.
    fn default_of(&self, name: &str) -> &str {
        match name {
            "Host" => &self.host,
            "User-Agent" => USER_AGENT,
            _ => "*/*",
        }
    }

    /// Whether there is a body.
    pub fn has_body(&self) -> bool {
        !self.body.is_empty() || self.generated.is_some_and(|length| length > 0)
    }

    /// The length of the body without placeholders.
    pub(crate) fn body_bytes(&self) -> u64 {
        self.generated.unwrap_or(self.body.len() as u64)
    }

    /// The size of the chunks of the body, if it is sent in chunks.
    pub(crate) fn chunks(&self) -> Option<NonZeroU32> {
        match self.framing {
            BodyFraming::Chunks(size) if self.has_body() => Some(size),
            BodyFraming::Chunks(_) | BodyFraming::Length => None,
        }
    }

    /// Whether an `Expect` is sent: not without a body (RFC 9110 §10.1.1).
    pub(crate) fn sends_expect(&self) -> bool {
        self.expects_continue && self.has_body()
    }

    /// RFC 9110 §8.6: a length is sent with a body, and without a body where servers expect one for the method.
    pub(crate) fn adds_length(&self) -> bool {
        let is_wanted = self.has_body() || matches!(self.method.as_str(), "POST" | "PUT" | "PATCH");
        is_wanted && self.chunks().is_none() && self.given_length().is_none()
    }

    /// The length given as a field.
    pub(crate) fn given_length(&self) -> Option<&str> {
        self.given("Content-Length").next().map(|(_, value)| value)
    }

    pub(crate) fn check_method(&self) -> Result<(), RequestError> {
        if self.method == "CONNECT" {
            return Err(RequestError::Connect);
        }
        match first_invalid(&self.method, is_token) {
            None if !self.method.is_empty() => Ok(()),
            at => Err(RequestError::Method { method: self.method.clone(), at: at.unwrap_or(0) }),
        }
    }

    pub(crate) fn check_headers(&self) -> Result<(), RequestError> {
        check_value("Host", &self.host)?;
        for (_, value) in self.given("Host") {
            check_host(value)?;
        }
        for (name, value) in &self.headers {
            match first_invalid(name, is_token) {
                None if !name.is_empty() => check_value(name, value)?,
                at => return Err(RequestError::HeaderName { name: name.clone(), at: at.unwrap_or(0) }),
            }
        }
        if self.given("Transfer-Encoding").next().is_some() {
            return Err(RequestError::TransferEncoding);
        }
        if self.chunks().is_some() && self.given_length().is_some() {
            return Err(RequestError::LengthWithChunks);
        }
        if self.given("Expect").next().is_some() {
            return Err(RequestError::Expect);
        }
        if let Some(name) = ONCE.into_iter().find(|name| self.given(name).count() > 1) {
            return Err(RequestError::HeaderTwice { name: name.into() });
        }
        Ok(())
    }

    /// Checks that a given length equals the body's.
    pub(crate) fn check_length(&self, bytes: u64) -> Result<(), RequestError> {
        match self.given_length().filter(|value| *value != bytes.to_string()) {
            None => Ok(()),
            Some(value) => Err(RequestError::ContentLength { value: value.into(), bytes }),
        }
    }
}

/// Appends one field line.
fn push(bytes: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        bytes.extend_from_slice(part.as_bytes());
    }
}

/// Checks that a value is one line.
fn check_value(name: &str, value: &str) -> Result<(), RequestError> {
    match first_invalid(value, is_text) {
        None => Ok(()),
        Some(at) => Err(RequestError::HeaderValue { name: name.into(), value: value.into(), at }),
    }
}

/// Checks that a host and port contain no blank (RFC 9112 §3.2); the value or name of a placeholder may.
fn check_host(value: &str) -> Result<(), RequestError> {
    match first_invalid(value, |byte| !matches!(byte, b' ' | b'\t')) {
        Some(at) if !value.contains('{') => Err(RequestError::HostValue { value: value.into(), at }),
        _ => Ok(()),
    }
}
