//! A request file: several requests with weights, and the expected response of each (`--mix`).
//!
//! Paths in it are relative to its folder; the caller reads those files.

use crate::CatalogueError;
use crate::document::Document;
use crate::stream::{WireStream, stream_of};
use paceline_job::{
    BodyExpectation, Content, ExpectedValue, ExtractFrom, Extraction, GrpcCode, Headers, JsonForm,
    MAX_CHUNK_BYTES, Nanos, RequestSpec, Think, hexadecimal, parse_duration,
};
use regex::bytes::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// Requests of one file: each has a separate block in a record and separate histograms in memory.
pub const MAX_REQUESTS: usize = 100;
/// The largest weight: shares finer than a millionth would not occur in a run.
pub const MAX_WEIGHT: u32 = 1_000_000;

/// Several requests, each with its share of the load.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestFile {
    path: PathBuf,
    /// In the order of the file, at least one.
    pub requests: Vec<FileRequest>,
}

/// One request of a request file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileRequest {
    /// The request; paths in it are relative to the working directory, like the path of the request file.
    pub spec: RequestSpec,
    /// The line in the file where it begins.
    pub line: usize,
}

impl RequestFile {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`CatalogueError::Document`] with the line of the problem.
    pub fn from_text(path: &Path, text: &str) -> Result<Self, CatalogueError> {
        let document = &Document::from_text(path, text);
        let wire: WireRequestFile = document.parse()?;
        if wire.request.is_empty() || wire.request.len() > MAX_REQUESTS {
            let problem = format!("a request file must contain 1 to {MAX_REQUESTS} `[[request]]` tables");
            return Err(document.complain(None, problem));
        }
        let mut names = BTreeSet::new();
        let mut requests = Vec::new();
        for request in wire.request {
            let at = request.span().start;
            let request = request_of(request, document)?;
            if !names.insert(request.spec.shown_name().to_owned()) {
                let problem = format!(
                    "two requests are named `{}`: give each a different `name`",
                    request.spec.shown_name()
                );
                return Err(document.complain(Some(at), problem));
            }
            requests.push(request);
        }
        Ok(RequestFile { path: document.path.clone(), requests })
    }

    /// An error in one of the requests, with its line.
    pub fn complain(&self, request: &FileRequest, problem: impl std::fmt::Display) -> CatalogueError {
        CatalogueError::Document {
            path: self.path.clone(),
            line: Some(request.line),
            problem: format!("request `{}`: {problem}", request.spec.shown_name()),
        }
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireRequestFile {
    request: Vec<Spanned<WireRequest>>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireRequest {
    name: Option<String>,
    weight: Option<Spanned<i64>>,
    method: Option<String>,
    path: Option<String>,
    #[serde(default)]
    headers: BTreeMap<Spanned<String>, String>,
    body: Option<String>,
    body_file: Option<Spanned<String>>,
    chunk_bytes: Option<Spanned<i64>>,
    #[serde(default)]
    expect_continue: bool,
    #[serde(default)]
    literal: bool,
    expect_status: Option<Spanned<i64>>,
    expect_grpc_status: Option<Spanned<String>>,
    expect_body: Option<String>,
    expect_body_file: Option<Spanned<String>>,
    expect_sha256: Option<Spanned<String>>,
    expect_json: Option<Spanned<BTreeMap<Spanned<String>, toml::Value>>>,
    expect_json_form: Option<Spanned<String>>,
    stream: Option<Spanned<WireStream>>,
    session: Option<String>,
    think: Option<Spanned<String>>,
    #[serde(default)]
    extract: BTreeMap<Spanned<String>, ExtractFrom>,
}

fn request_of(request: Spanned<WireRequest>, document: &Document) -> Result<FileRequest, CatalogueError> {
    let at = request.span().start;
    let mut wire = request.into_inner();
    let body = match (wire.body.take(), wire.body_file.take()) {
        (Some(_), Some(_)) => {
            return Err(document.complain(Some(at), "a request can have a `body` or a `body_file`, not both"));
        }
        (Some(text), None) => Some(Content::Text(text)),
        (None, Some(file)) => Some(beside(&file, document)),
        (None, None) => None,
    };
    let mut headers: Vec<(Spanned<String>, String)> = std::mem::take(&mut wire.headers).into_iter().collect();
    headers.sort_by_key(|(name, _)| name.span().start);
    let name = wire.name.clone().or_else(|| wire.path.clone()).unwrap_or_else(|| "/".into());
    let is_visible = !name.trim().is_empty() && !name.chars().any(char::is_control);
    if !is_visible {
        let problem = format!(
            "request `{}`: the name must contain a visible character and no control characters",
            name.escape_debug()
        );
        return Err(document.complain(Some(at), problem));
    }
    let shown = name.clone();
    let spec = RequestSpec {
        omit: Vec::new(),
        name: Some(name),
        weight: weight_of(wire.weight.as_ref(), document)?,
        method: wire.method.clone().unwrap_or_else(|| "GET".into()),
        path: wire.path.clone(),
        headers: Headers(headers.into_iter().map(|(name, value)| (name.into_inner(), value)).collect()),
        body,
        chunk_bytes: chunk_bytes_of(wire.chunk_bytes.as_ref(), document)?,
        expect_continue: wire.expect_continue,
        folder: document.path.parent().map(Into::into),
        literal: wire.literal,
        expect_status: status_of(wire.expect_status.as_ref(), document)?,
        expect_grpc_status: grpc_status_of(wire.expect_grpc_status.as_ref(), document)?,
        stream: wire.stream.take().map(|stream| stream_of(stream, document)).transpose()?,
        session: wire.session.take(),
        think: wire.think.take().map(|think| think_of(&think, document)).transpose()?,
        extract: extractions(std::mem::take(&mut wire.extract), &shown, document)?,
        expect_body: expected_body(wire, at, document)?,
    };
    Ok(FileRequest { spec, line: document.line(at) })
}

/// How often a request is sent, relative to the others.
pub(crate) fn weight_of(weight: Option<&Spanned<i64>>, document: &Document) -> Result<u32, CatalogueError> {
    let Some(weight) = weight else { return Ok(1) };
    match u32::try_from(*weight.get_ref()) {
        Ok(number @ 1..=MAX_WEIGHT) => Ok(number),
        _ => {
            let problem = format!("weight {} is not a whole number from 1 to {MAX_WEIGHT}", weight.get_ref());
            Err(document.complain(Some(weight.span().start), problem))
        }
    }
}

/// The size of the chunks of a body.
pub(crate) fn chunk_bytes_of(
    size: Option<&Spanned<i64>>,
    document: &Document,
) -> Result<Option<NonZeroU32>, CatalogueError> {
    let Some(size) = size else { return Ok(None) };
    let number = u32::try_from(*size.get_ref()).ok().filter(|size| *size <= MAX_CHUNK_BYTES);
    match number.and_then(NonZeroU32::new) {
        Some(number) => Ok(Some(number)),
        None => {
            let problem =
                format!("chunk_bytes {} is not a number from 1 to {MAX_CHUNK_BYTES}", size.get_ref());
            Err(document.complain(Some(size.span().start), problem))
        }
    }
}

fn status_of(status: Option<&Spanned<i64>>, document: &Document) -> Result<Option<u16>, CatalogueError> {
    let Some(status) = status else { return Ok(None) };
    match u16::try_from(*status.get_ref()) {
        Ok(number @ 200..=599) => Ok(Some(number)),
        _ => {
            let problem = format!("expect_status {} is not a final status: use 200 to 599", status.get_ref());
            Err(document.complain(Some(status.span().start), problem))
        }
    }
}

fn grpc_status_of(
    status: Option<&Spanned<String>>,
    document: &Document,
) -> Result<Option<GrpcCode>, CatalogueError> {
    let Some(status) = status else { return Ok(None) };
    match GrpcCode::parse(status.get_ref()) {
        Some(code) => Ok(Some(code)),
        None => {
            let problem = format!(
                "expect_grpc_status {:?} is not a status of gRPC: use a name such as NOT_FOUND, or its number",
                status.get_ref()
            );
            Err(document.complain(Some(status.span().start), problem))
        }
    }
}

/// A pause: `500ms`, or `500ms:exp` for random ones with this mean.
fn think_of(text: &Spanned<String>, document: &Document) -> Result<Think, CatalogueError> {
    let (length, is_random) = match text.get_ref().strip_suffix(":exp") {
        Some(length) => (length, true),
        None => (text.get_ref().as_str(), false),
    };
    let mean = parse_duration(length).map(Nanos::from).map_err(|error| {
        let problem = format!(
            "think {:?}: {error}; write \"500ms\", or \"500ms:exp\" for random pauses",
            text.get_ref()
        );
        document.complain(Some(text.span().start), problem)
    })?;
    Ok(if is_random { Think::exponential(mean) } else { Think::constant(mean) })
}

/// The values to extract from a response.
fn extractions(
    table: BTreeMap<Spanned<String>, ExtractFrom>,
    request: &str,
    document: &Document,
) -> Result<Vec<Extraction>, CatalogueError> {
    let extraction = |(name, from): (Spanned<String>, ExtractFrom)| {
        let is_word = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        };
        if let ExtractFrom::Regex(pattern) = &from
            && let Err(error) = Regex::new(pattern)
        {
            // The error draws the expression in several lines; the last one has the cause.
            let text = error.to_string();
            let cause = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let problem = format!(
                "request `{request}`: extract {:?}: the regular expression {pattern:?} is invalid: {cause}",
                name.get_ref()
            );
            return Err(document.complain(Some(name.span().start), problem));
        }
        if !is_word(name.get_ref()) {
            let problem = format!(
                "extract {:?}: a name may contain only letters, digits, \"-\" and \"_\"",
                name.get_ref()
            );
            return Err(document.complain(Some(name.span().start), problem));
        }
        if let ExtractFrom::Json(pointer) = &from {
            ExpectedValue::new(pointer, serde_json::Value::Null).map_err(|error| {
                document.complain(Some(name.span().start), format!("extract {}: {error}", name.get_ref()))
            })?;
        }
        Ok(Extraction { name: name.into_inner(), from })
    };
    table.into_iter().map(extraction).collect()
}

/// The expected body: at most one way to give it.
fn expected_body(
    wire: WireRequest,
    at: usize,
    document: &Document,
) -> Result<Option<BodyExpectation>, CatalogueError> {
    let (body, file, digest) = (wire.expect_body, wire.expect_body_file, wire.expect_sha256);
    match (body, file, digest, wire.expect_json, wire.expect_json_form) {
        (None, None, None, None, None) => Ok(None),
        (Some(text), None, None, None, None) => Ok(Some(BodyExpectation::Exact(Content::Text(text)))),
        (None, Some(file), None, None, None) => Ok(Some(BodyExpectation::Exact(beside(&file, document)))),
        (None, None, Some(digest), None, None) => match hexadecimal::parse(digest.get_ref()) {
            Some(digest) => Ok(Some(BodyExpectation::Sha256(digest))),
            None => {
                let problem = "`expect_sha256` is not 64 hexadecimal digits";
                Err(document.complain(Some(digest.span().start), problem))
            }
        },
        (None, None, None, Some(table), None) => json_of(table, document).map(Some),
        (None, None, None, None, Some(form)) => match JsonForm::parse(form.get_ref()) {
            Ok(form) => Ok(Some(BodyExpectation::JsonForm(form))),
            Err(error) => {
                Err(document.complain(Some(form.span().start), format!("`expect_json_form`: {error}")))
            }
        },
        _ => {
            let problem = "use only one of `expect_body`, `expect_body_file`, `expect_sha256`, `expect_json` \
                           and `expect_json_form`";
            Err(document.complain(Some(at), problem))
        }
    }
}

fn json_of(
    table: Spanned<BTreeMap<Spanned<String>, toml::Value>>,
    document: &Document,
) -> Result<BodyExpectation, CatalogueError> {
    if table.get_ref().is_empty() {
        let problem = "`expect_json` is empty; write { \"/pointer\" = value }";
        return Err(document.complain(Some(table.span().start), problem));
    }
    let value_of = |(pointer, value): (Spanned<String>, toml::Value)| {
        let wrong = |problem: String| document.complain(Some(pointer.span().start), problem);
        let value = json_value(value).map_err(|what| wrong(format!("`{}`: {what}", pointer.get_ref())))?;
        ExpectedValue::new(pointer.get_ref(), value).map_err(|error| wrong(format!("expect_json: {error}")))
    };
    Ok(BodyExpectation::Json(
        table.into_inner().into_iter().map(value_of).collect::<Result<_, CatalogueError>>()?,
    ))
}

/// A TOML value as JSON.
fn json_value(value: toml::Value) -> Result<serde_json::Value, &'static str> {
    Ok(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Boolean(truth) => truth.into(),
        toml::Value::Float(number) => serde_json::Number::from_f64(number)
            .ok_or("JSON cannot represent this number (infinity or NaN)")?
            .into(),
        toml::Value::Datetime(_) => return Err("JSON has no dates; write the date in quotes"),
        toml::Value::Array(values) => values.into_iter().map(json_value).collect::<Result<_, _>>()?,
        toml::Value::Table(values) => values
            .into_iter()
            .map(|(key, value)| Ok((key, json_value(value)?)))
            .collect::<Result<serde_json::Map<_, _>, &'static str>>()?
            .into(),
    })
}

/// A file in the folder of the document.
fn beside(file: &Spanned<String>, document: &Document) -> Content {
    Content::File { file: document.path.with_file_name(file.get_ref()) }
}

#[cfg(test)]
mod tests;
