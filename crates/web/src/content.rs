//! The bytes of a response, compressed for clients that accept it.

use crate::WebError;
use axum::body::{Body, Bytes};
use axum::http::Response;
use axum::http::header::{self, HeaderMap, HeaderValue};
use flate2::Compression;
use flate2::read::GzEncoder;
use paceline_escape::JsonText;
use serde::Serialize;
use std::io::Read as _;
use std::sync::OnceLock;

/// Bytes of one media type. They are compressed once, when the first client accepts it.
#[derive(Debug)]
pub struct ResponseContent {
    media_type: &'static str,
    plain: Bytes,
    gzipped: OnceLock<Bytes>,
}

impl ResponseContent {
    /// Not compressed yet.
    pub fn new(media_type: &'static str, plain: impl Into<Bytes>) -> Self {
        Self { media_type, plain: plain.into(), gzipped: OnceLock::new() }
    }

    /// A page as JSON.
    ///
    /// # Errors
    /// [`WebError::Json`] when it cannot be written.
    pub fn json(page: &impl Serialize) -> Result<Self, WebError> {
        Ok(Self::new("application/json", page_json(page)?))
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

    /// The response to a client, which accepts gzip or not.
    pub fn response(&self, gzip: bool) -> Response<Body> {
        let bytes = if gzip { self.gzipped() } else { &self.plain };
        let mut response = typed(self.media_type, Body::from(bytes.clone()));
        if gzip {
            response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
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
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
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
