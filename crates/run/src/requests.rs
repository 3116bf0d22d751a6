//! Converts the requests of a job to those of the engine: reads contents, compiles templates, prepares checks.

use crate::body_file::BodyFile;
use crate::body_pieces::BodyPieces;
use crate::content::{BodyContent, ContentReader, MAX_BODY_BYTES, read};
use crate::grpc::Calls;
use crate::proxy::proxy_authorization;
use crate::{Inputs, RunError, sessions};
use paceline_engine::kernel::wall_clock_distance;
use paceline_engine::stream::{JsonPlace, MessageTime, StreamPlan, TextSearch};
use paceline_engine::{
    BodyCheck, BodySource, CallCheck, ReadBody, RequestKind, Requests, ResponseCheck, Upload, UploadBody,
};
use paceline_files::without_byte_order_mark;
use paceline_http::h2::Http2Request;
use paceline_http::{
    BodyFraming, BodyLayout, EventFormat, GeneratedBody, HttpVersion, LineFiles, Request, RequestError,
    RequestTemplate, generated_bytes, h3,
};
use paceline_job::{
    BodyExpectation, Headers, Job, Protocol, RequestSpec, StreamFormat, StreamSpec, check_pointer,
};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

/// Codings of a body that can be decoded for a check.
const DECODED: [&str; 7] = ["gzip", "x-gzip", "deflate", "br", "zstd", "identity", ""];

/// A generated body up to this length is kept in memory, and sent with its head.
const KEPT_BYTES: u64 = 64 << 10;
/// A body over HTTP/2 above this length is sent in several turns of its connection.
const LONG_BODY_BYTES: u64 = 128 << 10;

/// Prepares the requests of a job over HTTP. Also returns the files of bodies that are read while they are sent.
pub(crate) fn requests(
    job: &Job,
    calls: Option<&Calls>,
    inputs: &mut Inputs,
) -> Result<(Requests, Vec<Arc<BodyFile>>), RunError> {
    let mut files = LineFiles::default();
    let mut contents = ContentReader::default();
    let mut body_files = Vec::new();
    let (mut kinds, mut http2, mut uploads) = (Vec::new(), Vec::new(), Vec::new());
    let plan = sessions::plan(job)?;
    for (kind, spec) in job.requests.iter().enumerate() {
        files.set_variables(plan.as_ref().map_or_else(Vec::new, |plan| sessions::variables(plan, kind)));
        let (mut request, read) = request(job, spec, &mut contents, inputs)?;
        if let Some(calls) = calls {
            request = calls.request(kind, spec, request, &mut files, inputs)?;
        }
        let invalid = |error: CompileError| {
            if job.is_mix() { error.of_request(spec) } else { error.into() }
        };
        let template = template(&request, spec, &mut files, inputs).map_err(invalid)?;
        uploads.push(upload(job, &request, read.as_ref()));
        body_files.extend(read.iter().flat_map(|read| read.files().cloned()));
        if job.protocol.has_streams() {
            http2.push(over_http2(job, &request, spec, &files).map_err(|error| invalid(error.into()))?);
        }
        let check = match calls {
            Some(calls) => {
                let call = calls.check(kind, spec, &mut contents, inputs)?;
                ResponseCheck { status: Some(200), body: call_check(spec, call)? }
            }
            None => {
                let body = check(job, spec, &mut contents, inputs)?;
                ResponseCheck { status: spec.expect_status, body }
            }
        };
        kinds.push(RequestKind { weight: spec.weight, template, method: request.method_kind(), check });
    }
    let requests = Requests::from_kinds(kinds, files.count()).with_http2(http2).with_uploads(uploads);
    let requests = match plan {
        Some(plan) => requests.with_sessions(plan),
        None => requests,
    };
    Ok((requests, body_files))
}

/// How the body of a request is sent; `read` is what it is read from.
fn upload(job: &Job, request: &Request, read: Option<&Arc<BodyPieces>>) -> Upload {
    let length = request.generated.unwrap_or(request.body.len() as u64);
    let body = match (read, request.generated) {
        (Some(read), _) => {
            let layout = match job.protocol {
                Protocol::Http10 | Protocol::Http11 => BodyLayout::over_http1(length, request.framing),
                Protocol::Http2 => BodyLayout::plain(length),
                Protocol::Http3 => h3::body_layout(length, request.framing),
            };
            let source: Arc<dyn BodySource> = Arc::<BodyPieces>::clone(read);
            Some(UploadBody::Read(ReadBody::new(source, layout)))
        }
        (None, Some(length)) if !job.protocol.has_streams() => {
            Some(UploadBody::Generated(GeneratedBody::over_http1(length, request.framing)))
        }
        (None, _) => None,
    };
    Upload {
        body,
        awaits_continue: request.expects_continue && request.has_body(),
        is_long: job.protocol == Protocol::Http2 && length > LONG_BODY_BYTES,
    }
}

/// The request in the form of HTTP/2 and HTTP/3.
fn over_http2(
    job: &Job,
    request: &Request,
    spec: &RequestSpec,
    files: &LineFiles,
) -> Result<Http2Request, RequestError> {
    without_literals(request, spec).compile_http2(job.url.scheme, files)
}

/// The request in a form whose placeholders are all replaced: with `--literal` it has none.
pub(crate) fn without_literals<'r>(request: &'r Request, spec: &RequestSpec) -> Cow<'r, Request> {
    if spec.literal { Cow::Owned(request.with_doubled_braces()) } else { Cow::Borrowed(request) }
}

/// The flag that names a body: the request file's flag if there is one.
fn named_by(job: &Job, flag: &'static str) -> &'static str {
    if job.is_mix() { "--mix" } else { flag }
}

/// Prepares one request. Also returns the content of its body, if that is read while it is sent.
pub(crate) fn request(
    job: &Job,
    spec: &RequestSpec,
    contents: &mut ContentReader,
    inputs: &mut Inputs,
) -> Result<(Request, Option<Arc<BodyPieces>>), RunError> {
    let get = Request::get(&job.url);
    let (body, generated, read) = match body(job, spec, contents, inputs)? {
        RequestBody::Kept(bytes) => (bytes, None, None),
        RequestBody::Generated(length) => (Vec::new(), Some(length), None),
        RequestBody::Read(pieces) => (Vec::new(), Some(pieces.length()), Some(Arc::new(pieces))),
    };
    let mut headers = spec.headers.clone();
    let version = connection_fields(job, &mut headers);
    let through_proxy = job.proxy.as_ref().filter(|_| !job.url.scheme.uses_tls());
    if let Some(authorization) = through_proxy.and_then(proxy_authorization) {
        headers.set_default("Proxy-Authorization", authorization);
    }
    let request = Request {
        method: spec.method.clone(),
        path: spec.path.clone().unwrap_or(get.path),
        headers: headers.0,
        omit: spec.omit.clone(),
        body,
        generated,
        framing: spec.chunk_bytes.map_or(BodyFraming::Length, BodyFraming::Chunks),
        expects_continue: spec.expect_continue,
        through_proxy: through_proxy.map(|_| job.url.scheme),
        host: get.host,
        version,
    };
    Ok((request, read))
}

/// The body of a request.
enum RequestBody {
    /// These bytes.
    Kept(Vec<u8>),
    /// It is generated while it is sent, with this length.
    Generated(u64),
    /// It is read while it is sent.
    Read(BodyPieces),
}

/// The body of a request. A file that must be kept in memory is read.
fn body(
    job: &Job,
    spec: &RequestSpec,
    contents: &mut ContentReader,
    inputs: &mut Inputs,
) -> Result<RequestBody, RunError> {
    let named_by = named_by(job, "--body");
    let wrong = |size: &str, why: &str| {
        RunError::usage(format!("{named_by}: {{bytes:{size}}}: {why}"))
            .hint("write a size such as 500, 64k, 20MB or 1GiB")
    };
    match spec.generated_body().map_err(|size| wrong(&size, "not a size"))? {
        Some(length) if length > MAX_BODY_BYTES => Err(wrong(&length.to_string(), "the maximum is 1 PiB")),
        Some(length) if length <= KEPT_BYTES => Ok(RequestBody::Kept(generated_bytes(length as usize))),
        Some(length) => Ok(RequestBody::Generated(length)),
        None => {
            let Some(content) = &spec.body else { return Ok(RequestBody::Kept(Vec::new())) };
            match contents.body(named_by, content, spec.literal, job.body_conflict(), inputs)? {
                BodyContent::Kept(bytes) => Ok(RequestBody::Kept(bytes)),
                BodyContent::Read(pieces) => Ok(RequestBody::Read(pieces)),
            }
        }
    }
}

/// The version of the request line. Adds a `Connection` field if the connection behaves differently from the version's
/// default (RFC 9112 §9.3); a `Connection` field of the job is not changed.
fn connection_fields(job: &Job, headers: &mut Headers) -> HttpVersion {
    if job.is_websocket() {
        return HttpVersion::Http11;
    }
    let (version, option) = match (job.protocol, job.keep_alive) {
        (Protocol::Http11, false) => (HttpVersion::Http11, Some("close")),
        (Protocol::Http10, true) => (HttpVersion::Http10, Some("Keep-Alive")),
        (Protocol::Http11, true) => (HttpVersion::Http11, None),
        (Protocol::Http10, false) => (HttpVersion::Http10, None),
        // HTTP/2 and HTTP/3 have neither a request line nor connection fields.
        (Protocol::Http2 | Protocol::Http3, _) => (HttpVersion::Http11, None),
    };
    if let Some(option) = option {
        headers.set_default("Connection", option);
    }
    version
}

/// The check of the response to a call, with one message or with a stream of them.
fn call_check(spec: &RequestSpec, call: CallCheck) -> Result<BodyCheck, RunError> {
    Ok(match &spec.stream {
        None => BodyCheck::Call(Arc::new(call)),
        Some(stream) => BodyCheck::Stream(Arc::new(StreamPlan {
            format: EventFormat::LengthPrefixed,
            call: Some(call),
            ..stream_plan(stream)?
        })),
    })
}

/// The check of a response's body.
pub(crate) fn check(
    job: &Job,
    spec: &RequestSpec,
    contents: &mut ContentReader,
    inputs: &mut Inputs,
) -> Result<BodyCheck, RunError> {
    if let Some(stream) = &spec.stream {
        return Ok(BodyCheck::Stream(Arc::new(stream_plan(stream)?)));
    }
    let check = match &spec.expect_body {
        None => return Ok(BodyCheck::Any),
        Some(BodyExpectation::Exact(content)) => {
            BodyCheck::Exact(Arc::from(contents.read(named_by(job, "--expect-body"), content, inputs)?))
        }
        Some(BodyExpectation::Sha256(digest)) => BodyCheck::Sha256(*digest),
        Some(BodyExpectation::Json(values)) => BodyCheck::Json(Arc::from(values.as_slice())),
        Some(BodyExpectation::JsonForm(form)) => BodyCheck::JsonForm(Arc::new(form.clone())),
    };
    match spec.headers.get("Accept-Encoding") {
        None => Ok(check),
        Some(codings) => decodable(codings).map(|()| check),
    }
}

/// How the engine reads a stream.
fn stream_plan(spec: &StreamSpec) -> Result<StreamPlan, RunError> {
    for (flag, pointer) in [("--count-json", &spec.count_json), ("--message-time", &spec.message_time)] {
        if let Some(pointer) = pointer {
            check_pointer(pointer).map_err(|error| RunError::usage(format!("{flag}: {error}")))?;
        }
    }
    let time = |pointer: &str| MessageTime::at(pointer, wall_clock_distance());
    Ok(StreamPlan {
        format: match spec.format {
            StreamFormat::Sse => EventFormat::ServerSent,
            StreamFormat::Ndjson | StreamFormat::Lines => EventFormat::Lines,
            StreamFormat::Chunks => EventFormat::Chunks,
            StreamFormat::Messages => EventFormat::Messages,
        },
        must_be_json: spec.format == StreamFormat::Ndjson,
        events: spec.events,
        length: spec.length,
        until: spec.until.as_ref().and_then(|text| TextSearch::new(text.as_bytes())),
        count: spec.count_json.as_deref().map(JsonPlace::at),
        time: spec.message_time.as_deref().map(time),
        call: None,
    })
}

/// Refuses a request that accepts a coding of a body to be checked which cannot be decoded.
fn decodable(codings: &str) -> Result<(), RunError> {
    let coding = |item: &str| item.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match codings.split(',').map(coding).find(|coding| !DECODED.contains(&coding.as_str())) {
        None => Ok(()),
        Some(unknown) => {
            let what = format!(
                "Accept-Encoding {unknown}: Paceline cannot decompress this encoding to check the body"
            );
            Err(RunError::usage(what)
                .hint("use --accept-encoding gzip, deflate, br or zstd, or remove the check of the body"))
        }
    }
}

/// Why a request could not be compiled.
pub(crate) enum CompileError {
    Request(RequestError),
    File(RunError),
}

impl From<RequestError> for CompileError {
    fn from(error: RequestError) -> Self {
        CompileError::Request(error)
    }
}

impl From<CompileError> for RunError {
    fn from(error: CompileError) -> RunError {
        match error {
            CompileError::Request(error @ RequestError::Placeholder { .. }) => {
                RunError::usage(error.to_string())
                    .hint("--literal sends the text unchanged, without replacing placeholders")
            }
            CompileError::Request(error) => RunError::usage(error.to_string()),
            CompileError::File(error) => error,
        }
    }
}

impl CompileError {
    /// The error with the name of the request.
    pub(crate) fn of_request(self, spec: &RequestSpec) -> RunError {
        let problem = match self {
            CompileError::Request(error) => error.to_string(),
            CompileError::File(error) => error.to_string(),
        };
        RunError::usage(format!("request `{}`: {problem}", spec.shown_name()))
    }
}

/// The template from which the request is sent repeatedly.
fn template(
    request: &Request,
    spec: &RequestSpec,
    files: &mut LineFiles,
    inputs: &mut Inputs,
) -> Result<RequestTemplate, CompileError> {
    if spec.literal {
        return Ok(RequestTemplate::fixed(request.encode()?));
    }
    read_lines(request, spec, files, inputs)?;
    Ok(request.compile(files)?)
}

/// Reads the files whose lines a request contains, each once.
pub(crate) fn read_lines(
    request: &Request,
    spec: &RequestSpec,
    files: &mut LineFiles,
    inputs: &mut Inputs,
) -> Result<(), CompileError> {
    for name in request.line_files()? {
        if !files.has(&name) {
            let named_by = format!("{{line:{name}}}");
            let path = spec.folder.as_ref().map_or_else(|| PathBuf::from(&name), |folder| folder.join(&name));
            let lines = read(&named_by, &path, inputs).map_err(|error| {
                let shown = path.display();
                CompileError::File(RunError::usage(format!("{named_by}: cannot read {shown}")).because(error))
            })?;
            files.add(name, without_byte_order_mark(&lines).to_vec());
        }
    }
    request.check_doubled_braces()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_the_right_connection_field() {
        let sent = |protocol, keep_alive, given: &[(&str, &str)]| {
            let job = Job { protocol, keep_alive, ..Job::default() };
            let headers =
                given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let spec = RequestSpec { headers: Headers(headers), ..RequestSpec::default() };
            let (request, _) =
                request(&job, &spec, &mut ContentReader::default(), &mut Inputs::default()).unwrap();
            String::from_utf8(request.encode().unwrap()).unwrap()
        };
        let with_close = sent(Protocol::Http11, false, &[]);
        assert!(
            with_close.starts_with("GET / HTTP/1.1\r\n") && with_close.contains("\r\nConnection: close\r\n")
        );
        let like_ab = sent(Protocol::Http10, true, &[]);
        assert!(
            like_ab.starts_with("GET / HTTP/1.0\r\n") && like_ab.contains("\r\nConnection: Keep-Alive\r\n")
        );
        for silent in [sent(Protocol::Http11, true, &[]), sent(Protocol::Http10, false, &[])] {
            assert!(!silent.contains("Connection"), "{silent}");
        }
        let given = sent(Protocol::Http11, false, &[("connection", "upgrade")]);
        assert_eq!(given.matches("onnection").count(), 1);
    }

    #[test]
    fn literal_text_is_sent_unchanged_over_http2() {
        let (job, spec) = (Job::default(), RequestSpec { literal: true, ..RequestSpec::default() });
        let blocks = |path: &str, body: &str| {
            let request = Request { path: path.into(), body: body.into(), ..Request::get(&job.url) };
            let compiled = over_http2(&job, &request, &spec, &LineFiles::default()).unwrap();
            paceline_http::h2::RequestBlocks::new(&[compiled])
        };
        for body in
            ["{user{id}}", "{{name}}", "{seq} {rand:1:9}", "{name}", "{line:", "{{ and {{{", "\u{e9}{"]
        {
            assert_eq!(blocks("/{seq}", body).fixed_body(0), Some(body.as_bytes()), "{body}");
        }
        assert!(blocks("/{seq}", "").repeated(0).is_some(), "the path has no placeholder either");
    }
}
