//! What is asked and what must come back: from the flags, or from the request file, to the engine's kinds of request.
//!
//! Everything is read and checked here, before anything starts; a complaint names the flag, or the file and line.

mod content;
mod flags;

pub use flags::AskedFlags;

use super::inputs::Inputs;
use super::life::LifeFlags;
use crate::exit::Complaint;
use crate::places::complain;
use anyhow::Context as _;
use content::Contents;
use paceline_catalogue::{FileBody, FileRequest, RequestFile};
use paceline_engine::{BodyCheck, Check, JsonCheck, RequestKind, Requests};
use paceline_http::{LineFiles, Request, RequestError, RequestTemplate, Url};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is asked.
#[derive(Debug)]
pub struct Asked {
    /// For the engine.
    pub requests: Arc<Requests>,
    /// What records call each kind of request; none where there is one and no request file.
    pub named: Vec<Named>,
}

/// How a kind of request is called, and what it asks for.
#[derive(Debug)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Its method.
    pub method: String,
    /// Its path, placeholders as written.
    pub path: String,
}

impl Asked {
    /// What the flags ask for.
    pub fn from_flags(
        flags: &AskedFlags,
        life: &LifeFlags,
        url: &Url,
        inputs: &mut Inputs,
    ) -> anyhow::Result<Self> {
        match &flags.mix {
            Some(path) => of_file(&request_file(path, inputs)?, flags, life, url, inputs),
            None => of_flags(flags, life, url, inputs),
        }
    }
}

/// The request file, with the bodies it names.
fn request_file(path: &Path, inputs: &mut Inputs) -> anyhow::Result<RequestFile> {
    let read = inputs.read("--mix", path).map_err(anyhow::Error::from);
    let text = read
        .and_then(|bytes| Ok(String::from_utf8(bytes)?))
        .with_context(|| Complaint::usage(format!("--mix: cannot read {}", path.display())))?;
    let file = RequestFile::of(path, &text, &mut |body| inputs.read("--mix", body)).map_err(complain)?;
    match file.requests.iter().find(|entry| !is_name(&entry.name)) {
        Some(entry) => {
            let shown = FileRequest { name: entry.name.escape_debug().to_string(), ..entry.clone() };
            Err(complain(file.complain(&shown, "a name has something to see, and no control character")))
        }
        None => Ok(file),
    }
}

/// Whether there is something to see of a name, and nothing in it that steers a terminal.
fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && !name.chars().any(char::is_control)
}

fn of_flags(flags: &AskedFlags, life: &LifeFlags, url: &Url, inputs: &mut Inputs) -> anyhow::Result<Asked> {
    let mut contents = Contents::default();
    let body = contents.of("--body", flags.body.as_deref(), inputs)?.unwrap_or_default();
    let expected = contents.of("--expect-body", flags.expect_body.as_deref(), inputs)?;
    let check = match (expected, flags.expect_sha256, flags.expect_json.as_slice()) {
        (Some(body), ..) => BodyCheck::Exact(Arc::from(body)),
        (None, Some(digest), _) => BodyCheck::Sha256(digest),
        (None, None, []) => BodyCheck::Any,
        (None, None, checks) => BodyCheck::Json(Arc::from(checks)),
    };
    let headers = headers(&flags.headers)?;
    let mut request = Request { method: flags.method.clone(), headers, body, ..Request::get(url) };
    life.dress(&mut request);
    let mut files = LineFiles::default();
    let template = template(&request, flags.literal, &mut files, inputs, &|name| PathBuf::from(name));
    let template = template.map_err(|told| match told {
        Told::Request(error) => wrong(&error),
        Told::File(complaint) => complaint.into(),
    })?;
    let check = Check { status: flags.expect_status, body: check };
    let kind = RequestKind { weight: 1, template, method: request.method_kind(), check };
    Ok(Asked { requests: Arc::new(Requests::of(vec![kind], files.count())), named: Vec::new() })
}

fn of_file(
    file: &RequestFile,
    flags: &AskedFlags,
    life: &LifeFlags,
    url: &Url,
    inputs: &mut Inputs,
) -> anyhow::Result<Asked> {
    let common = headers(&flags.headers)?;
    let mut files = LineFiles::default();
    let mut asked = Vec::new();
    let mut kinds = Vec::new();
    for entry in &file.requests {
        let at_fault = |problem: String| complain(file.complain(entry, problem));
        let mut request = request_of(entry, &common, url);
        life.dress(&mut request);
        let template = template(&request, entry.literal, &mut files, inputs, &|name| file.beside(name));
        let template = template.map_err(|told| match told {
            Told::Request(error) => at_fault(error.to_string()),
            Told::File(complaint) => at_fault(complaint.what),
        })?;
        let body = check_of(entry).map_err(at_fault)?;
        let check = Check { status: entry.expect_status, body };
        kinds.push(RequestKind { weight: entry.weight, template, method: request.method_kind(), check });
        asked.push(Named { name: entry.name.clone(), method: request.method, path: request.path });
    }
    Ok(Asked { requests: Arc::new(Requests::of(kinds, files.count())), named: asked })
}

/// A request of the file, with the fields that all have.
fn request_of(entry: &FileRequest, common: &[(String, String)], url: &Url) -> Request {
    let is_own = |name: &str| entry.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    let headers = common.iter().filter(|(name, _)| !is_own(name)).chain(&entry.headers).cloned().collect();
    let get = Request::get(url);
    Request {
        method: entry.method.clone(),
        path: entry.path.clone().unwrap_or(get.path),
        headers,
        body: entry.body.clone(),
        host: get.host,
        version: get.version,
    }
}

fn check_of(entry: &FileRequest) -> Result<BodyCheck, String> {
    Ok(match &entry.expect_body {
        None => BodyCheck::Any,
        Some(FileBody::Exact(body)) => BodyCheck::Exact(Arc::from(body.as_slice())),
        Some(FileBody::Sha256(digest)) => BodyCheck::Sha256(*digest),
        Some(FileBody::Json(values)) => {
            let check =
                |(pointer, value): &(String, _)| JsonCheck::new(pointer, serde_json::Value::clone(value));
            let checks: Result<Vec<_>, _> = values.iter().map(check).collect();
            BodyCheck::Json(Arc::from(checks.map_err(|error| format!("expect_json: {error}"))?))
        }
    })
}

/// Why a request could not be made ready.
enum Told {
    Request(RequestError),
    File(Complaint),
}

impl From<RequestError> for Told {
    fn from(error: RequestError) -> Self {
        Told::Request(error)
    }
}

/// The request as it is sent again and again. Files of lines that it names are read, each once, from where `place` says.
fn template(
    request: &Request,
    literal: bool,
    files: &mut LineFiles,
    inputs: &mut Inputs,
    place: &dyn Fn(&str) -> PathBuf,
) -> Result<RequestTemplate, Told> {
    if literal {
        return Ok(RequestTemplate::fixed(request.encode()?));
    }
    for name in request.line_files()? {
        if !files.has(&name) {
            let named_by = format!("{{line:{name}}}");
            let lines = content::read(&named_by, &place(&name), inputs)
                .map_err(|why| Told::File(Complaint::usage(format!("{named_by}: {why}"))))?;
            files.add(name, lines);
        }
    }
    Ok(request.compile(files)?)
}

/// What is wrong with a request made of flags.
fn wrong(error: &RequestError) -> anyhow::Error {
    let complaint = Complaint::usage(error.to_string());
    match error {
        RequestError::Placeholder { .. } => {
            complaint.hint("--literal sends everything as it stands, without placeholders").into()
        }
        _ => complaint.into(),
    }
}

fn headers(fields: &[String]) -> anyhow::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    for field in fields {
        let (name, value) = field.split_once(':').with_context(|| {
            Complaint::usage(format!("--header {field:?} is not a header field"))
                .hint("write it as \"Name: value\"")
        })?;
        // A blank before the colon is left where it is: no name has one, and a server could take it for another field
        // (RFC 9112 §5.1).
        headers.push((name.trim_start().to_owned(), value.trim().to_owned()));
    }
    Ok(headers)
}
