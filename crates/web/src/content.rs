//! The bytes of a response, compressed for clients that accept it.

use crate::WebError;
use axum::body::{Body, Bytes};
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Response, StatusCode};
use flate2::Compression;
use flate2::read::GzEncoder;
use paceline_escape::JsonText;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::io::Read as _;
use std::sync::OnceLock;

/// Bytes of one media type. They are compressed once, when the first client accepts it.
#[derive(Debug)]
pub struct ResponseContent {
    media_type: &'static str,
    plain: Bytes,
    gzipped: OnceLock<Bytes>,
    tag: OnceLock<String>,
    kept: Kept,
}

/// How long a browser may use a response without asking again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Not at all: it asks each time, and is told if the response is unchanged.
    Asked,
    /// For ever, because the address changes with the content.
    Forever,
}

impl Kept {
    /// The `Cache-Control` header (RFC 9111; `immutable`: RFC 8246). Results are private, because a server that listens
    /// for other machines requires a token.
    fn cache_control(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Asked => "private, no-cache",
            Self::Forever => "public, max-age=31536000, immutable",
        })
    }
}

impl ResponseContent {
    /// Not compressed yet.
    pub fn new(media_type: &'static str, plain: impl Into<Bytes>) -> Self {
        let plain = plain.into();
        Self { media_type, plain, gzipped: OnceLock::new(), tag: OnceLock::new(), kept: Kept::Asked }
    }

    /// The same, at an address that changes with the content.
    pub fn forever(self) -> Self {
        Self { kept: Kept::Forever, ..self }
    }

    /// A page as JSON.
    ///
    /// # Errors
    /// [`WebError::Json`] when it cannot be written.
    pub fn json(page: &impl Serialize) -> Result<Self, WebError> {
        Ok(Self::new("application/json", page_json(page)?))
    }

    /// The bytes.
    pub fn plain(&self) -> &[u8] {
        &self.plain
    }

    /// The bytes compressed with gzip, to about a third for programs and an eighth for pages.
    pub fn gzipped(&self) -> &Bytes {
        self.gzipped.get_or_init(|| {
            let mut gzipped = Vec::new();
            // Writing to memory cannot fail.
            let _ = GzEncoder::new(&*self.plain, Compression::default()).read_to_end(&mut gzipped);
            gzipped.into()
        })
    }

    /// The entity tag: a digest of the bytes, weak because both encodings have it (RFC 9110 §8.8.3).
    fn tag(&self) -> &str {
        self.tag.get_or_init(|| {
            let digest = Sha256::digest(&*self.plain);
            let digits: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
            format!("W/\"{digits}\"")
        })
    }

    /// The response to a request with these headers: compressed if the client accepts it, and without a body if the
    /// client has it already.
    pub fn response(&self, headers: &HeaderMap) -> Response<Body> {
        let gzip = accepts_gzip(headers);
        let has = |value: &HeaderValue| value.to_str().is_ok_and(|tags| tags.contains(self.tag()));
        let is_known = headers.get_all(header::IF_NONE_MATCH).iter().any(has);
        let mut response = match is_known {
            true => Response::new(Body::empty()),
            false => {
                let bytes = if gzip { self.gzipped() } else { &self.plain };
                typed(self.media_type, Body::from(bytes.clone()))
            }
        };
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let headers = response.headers_mut();
        if gzip && !is_known {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        headers.insert(header::CACHE_CONTROL, self.kept.cache_control());
        if let Ok(tag) = HeaderValue::from_str(self.tag()) {
            headers.insert(header::ETAG, tag);
        }
        response
    }
}

/// The data of a page. Pages show texts of other people: characters that change how the text around them is displayed
/// become visible.
///
/// # Errors
/// [`serde_json::Error`] when it cannot be written.
pub fn page_json(page: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(JsonText::visible(serde_json::to_string(page)?))
}

/// A response of a media type.
pub fn typed(media_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// Whether a client accepts gzip: an `Accept-Encoding` names it without refusing it by the weight 0 (RFC 9110 §12.5.3).
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let codings = |value: &HeaderValue| {
        value.to_str().unwrap_or_default().split(',').any(|coding| {
            let mut parts = coding.split(';').map(str::trim);
            let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
            let weight = parts.next().and_then(|weight| weight.strip_prefix("q=")?.parse::<f32>().ok());
            named && weight != Some(0.0)
        })
    };
    headers.get_all(header::ACCEPT_ENCODING).iter().any(codings)
}
