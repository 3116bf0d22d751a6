//! The format of `workloads/*.toml`, and the checks that turn it into a [`Workload`].
//!
//! [`Workload::read`] is here. The workload's name is the file's, and a case's address follows from it. A body given by
//! its digest is not known here: validation passes on the first body that matches.

use super::headers::{accepted_codings, expected_header, request_headers, workload_headers};
use super::{
    Computed, Expect, ExpectedBody, ExpectedCoding, Formula, HtmlPage, LoadTemplate, Refusal, RefusedStatus,
    RequestBody, Workload, WorkloadCase,
};
use crate::CatalogueError;
use crate::document::Document;
use crate::request_file::{MAX_REQUESTS, chunk_bytes_of, weight_of};
use crate::stream::{WireStream, stream_of};
use paceline_job::{GrpcCode, Headers, JsonForm, StreamFormat, StreamSpec, hexadecimal};
use paceline_record::{DatabaseWork, WorkloadProtocol};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use toml::Spanned;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireWorkload {
    about: String,
    #[serde(default)]
    protocol: WorkloadProtocol,
    proto: Option<Spanned<String>>,
    stream: Option<Spanned<WireStream>>,
    base: Option<Spanned<String>>,
    static_files: Option<Spanned<String>>,
    mix: Option<Spanned<bool>>,
    headers: Option<Spanned<Headers>>,
    databases: Option<Spanned<Vec<String>>>,
    case: Vec<Spanned<WireCase>>,
    #[serde(default)]
    check: Vec<Spanned<WireCase>>,
    #[serde(default)]
    own_check: Vec<Spanned<WireCase>>,
    #[serde(default)]
    refuse: Vec<WireRefusal>,
    #[serde(default)]
    computed: Vec<WireComputed>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireComputed {
    path: Spanned<String>,
    answer: Formula,
    least: Spanned<u32>,
    most: u32,
    content_type: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireCase {
    name: Option<String>,
    method: Option<String>,
    path: Spanned<String>,
    headers: Option<Spanned<Headers>>,
    body: Option<Spanned<String>>,
    body_bytes: Option<Spanned<u64>>,
    chunk_bytes: Option<Spanned<i64>>,
    weight: Option<Spanned<i64>>,
    load: Option<WireLoad>,
    expect: Spanned<WireExpect>,
    database: Option<DatabaseWork>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireLoad {
    path: Spanned<String>,
    body: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireExpect {
    status: Option<u16>,
    grpc_status: Option<Spanned<String>>,
    content_type: Option<String>,
    charset: Option<String>,
    #[serde(default)]
    headers: Vec<Spanned<String>>,
    body: Option<String>,
    body_file: Option<Spanned<String>>,
    json: Option<Spanned<String>>,
    json_form: Option<Spanned<String>>,
    html_file: Option<Spanned<String>>,
    length: Option<u64>,
    sha256: Option<Spanned<String>>,
    #[serde(default)]
    compressed: bool,
    events: Option<u64>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireRefusal {
    path: Spanned<String>,
    status: Spanned<String>,
}

/// What all cases of a workload have in common.
struct Exchange {
    protocol: WorkloadProtocol,
    headers: Headers,
    stream: Option<StreamSpec>,
    proto: Option<PathBuf>,
    databases: Vec<String>,
}

impl Workload {
    /// Reads the workload in the file at `path`, and the bodies that it refers to, in the same folder.
    ///
    /// # Errors
    /// [`CatalogueError::Document`] with file and line when a key is unknown or wrong or a body is given twice or not
    /// at all; [`CatalogueError::File`] when the file or a body cannot be read.
    pub fn read(path: &Path) -> Result<Self, CatalogueError> {
        let document = Document::read(path)?;
        let wire: WireWorkload = document.parse()?;
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if wire.case.is_empty() {
            return Err(document.complain(None, "a workload needs at least one `[[case]]`"));
        }
        let mut errors = Vec::new();
        errors.extend(needs_http(&wire, &document));
        errors.extend(unfit_mix(&wire, &document));
        errors.extend(needs_mix(&wire, &document));
        errors.extend(needs_database(&wire, &document));
        let is_mix = wire.mix.is_some_and(Spanned::into_inner);
        let headers = workload_headers(wire.headers, wire.protocol, &document)?;
        let exchange = exchange_of(wire.protocol, headers, wire.proto, wire.stream, &document)?;
        let databases = wire.databases.map(Spanned::into_inner).unwrap_or_default();
        let exchange = Exchange { databases, ..exchange };
        let several = wire.case.len() > 1;
        let mut addresses = BTreeSet::new();
        let named = |spanned: Spanned<WireCase>| {
            let at = spanned.span().start;
            let case = case_of(&name, several, &exchange, spanned, &document)?;
            if addresses.insert(case.address.clone()) {
                return Ok(case);
            }
            let problem = format!("two cases have the same name `{}`", case.address);
            Err(document.complain(Some(at), problem))
        };
        let cases = CatalogueError::keep(wire.case.into_iter().map(named), &mut errors);
        let unnamed = |case: Spanned<WireCase>| case_of(&name, false, &exchange, case, &document);
        let checks = CatalogueError::keep(wire.check.into_iter().map(unnamed), &mut errors);
        let own_checks = CatalogueError::keep(wire.own_check.into_iter().map(unnamed), &mut errors);
        let refused = |refusal| refusal_of(refusal, &document);
        let refusals = CatalogueError::keep(wire.refuse.into_iter().map(refused), &mut errors);
        let computed = |computed| computed_of(computed, &document);
        let computed = CatalogueError::keep(wire.computed.into_iter().map(computed), &mut errors);
        let base = base_of(wire.base, &cases, &document).unwrap_or_else(|error| {
            errors.push(error);
            String::new()
        });
        let static_files = wire.static_files.map(|path| folder_path(path, &document));
        let static_files = CatalogueError::keep(static_files, &mut errors).pop();
        if let Some(error) = CatalogueError::of_all(errors) {
            return Err(error);
        }
        let checks_cache = checks.iter().any(WorkloadCase::expects_header_value);
        let cases = cases.into_iter().map(|case| WorkloadCase { checks_cache, ..case }).collect();
        let cases = if is_mix { as_mix(&name, cases) } else { cases };
        let about = wire.about;
        Ok(Workload { name, about, base, cases, checks, own_checks, refusals, computed, static_files })
    }
}

/// The requests as one case, which has the name of the workload and is otherwise the first.
fn as_mix(workload: &str, requests: Vec<WorkloadCase>) -> Vec<WorkloadCase> {
    let first = requests.first().cloned();
    let (address, database) = (workload.to_owned(), least_work(&requests));
    let mix = |first| WorkloadCase { address, database, load: None, weight: 1, mix: requests, ..first };
    first.map(mix).into_iter().collect()
}

/// The work that each request of a mix needs at least.
fn least_work(requests: &[WorkloadCase]) -> Option<DatabaseWork> {
    requests.iter().filter_map(|request| request.database).reduce(|one, other| DatabaseWork {
        selects: one.selects.min(other.selects),
        rows_read: one.rows_read.min(other.rows_read),
        rows_updated: one.rows_updated.min(other.rows_updated),
    })
}

/// The error in a request with a key that only the cases of a mix can have.
fn needs_mix(wire: &WireWorkload, document: &Document) -> Option<CatalogueError> {
    let is_mix = wire.mix.as_ref().is_some_and(|mix| *mix.get_ref());
    let mut others = wire.case.iter().filter(|_| !is_mix).chain(&wire.check).chain(&wire.own_check);
    let wrong = others.find(|case| case.get_ref().weight.is_some() || case.get_ref().load.is_some())?;
    let problem = "`weight` and `load` are keys of the cases of a workload with `mix = true`";
    Some(document.complain(Some(wrong.span().start), problem))
}

/// The error in a workload that names databases and needs none.
fn needs_database(wire: &WireWorkload, document: &Document) -> Option<CatalogueError> {
    let databases = wire.databases.as_ref()?;
    let is_needed = wire.case.iter().any(|case| case.get_ref().database.is_some());
    let problem = "`databases` needs a case with a `database`: the work that a request causes there";
    (!is_needed).then(|| document.complain(Some(databases.span().start), problem))
}

/// The error in a workload whose cases cannot be one mix.
fn unfit_mix(wire: &WireWorkload, document: &Document) -> Option<CatalogueError> {
    let mix = wire.mix.as_ref().filter(|mix| *mix.get_ref())?;
    let has = |is_one: fn(&WireCase) -> bool| wire.case.iter().any(|case| is_one(case.get_ref()));
    let is_plain = wire.protocol == WorkloadProtocol::Http && wire.stream.is_none();
    let fits = (2..=MAX_REQUESTS).contains(&wire.case.len());
    let reasons = [
        (!is_plain, "`mix` needs the protocol HTTP, without a stream".to_owned()),
        (!fits, format!("`mix` needs 2 to {MAX_REQUESTS} cases")),
        (
            has(|case| case.database.is_some()) && has(|case| case.database.is_none()),
            "all cases of a `mix` need a `database`, or none".to_owned(),
        ),
    ];
    let (_, problem) = reasons.into_iter().find(|(is_wrong, _)| *is_wrong)?;
    Some(document.complain(Some(mix.span().start), problem))
}

/// The error in a workload of another protocol that has parts which only HTTP has.
fn needs_http(wire: &WireWorkload, document: &Document) -> Option<CatalogueError> {
    let has_parts = !wire.refuse.is_empty() || !wire.computed.is_empty() || wire.static_files.is_some();
    if wire.protocol == WorkloadProtocol::Http || !has_parts {
        return None;
    }
    let name = wire.protocol.name();
    let problem = format!(
        "`refuse`, `computed` and `static_files` need the protocol HTTP, and this workload has {name}"
    );
    Some(document.complain(None, problem))
}

/// The protocol of a workload, with what belongs to it.
fn exchange_of(
    protocol: WorkloadProtocol,
    headers: Headers,
    proto: Option<Spanned<String>>,
    stream: Option<Spanned<WireStream>>,
    document: &Document,
) -> Result<Exchange, CatalogueError> {
    if let Some(file) = proto.as_ref().filter(|_| protocol != WorkloadProtocol::Grpc) {
        return Err(document.complain(Some(file.span().start), "`proto` needs `protocol = \"grpc\"`"));
    }
    let proto = proto.map(|file| document.path.with_file_name(file.into_inner()));
    let stream = match stream {
        Some(table) => {
            let at = table.span().start;
            let stream = stream_of(table, document)?;
            if (stream.format == StreamFormat::Messages) == (protocol == WorkloadProtocol::Http) {
                let problem =
                    "`stream.format` must be \"messages\" for WebSocket and gRPC, and another one for HTTP";
                return Err(document.complain(Some(at), problem));
            }
            Some(stream)
        }
        None => None,
    };
    Ok(Exchange { protocol, headers, stream, proto, databases: Vec::new() })
}

/// The beginning of the cases' paths, if it is given; else the whole path of the first.
fn base_of(
    base: Option<Spanned<String>>,
    cases: &[WorkloadCase],
    document: &Document,
) -> Result<String, CatalogueError> {
    let Some(base) = base else { return Ok(cases.first().map(|case| case.path.clone()).unwrap_or_default()) };
    match cases.iter().find(|case| !case.path.starts_with(base.get_ref())) {
        Some(other) => {
            let problem = format!("the path `{}` does not start with `base`", other.path);
            Err(document.complain(Some(base.span().start), problem))
        }
        None => Ok(base.into_inner()),
    }
}

/// The greatest x whose power of itself takes only a moment to compute, and little memory: half a million digits.
const MAX_X: u32 = 100_000;

fn computed_of(wire: WireComputed, document: &Document) -> Result<Computed, CatalogueError> {
    let (at, least) = (wire.least.span().start, wire.least.into_inner());
    if least > wire.most || wire.most > MAX_X {
        return Err(document.complain(
            Some(at),
            format!("`least` and `most` must be from 0 to {MAX_X}, and `least` not above `most`"),
        ));
    }
    if !wire.path.get_ref().contains("{x}") {
        let problem =
            format!("path `{}` has no `{{x}}`, the placeholder for the number", wire.path.get_ref());
        return Err(document.complain(Some(wire.path.span().start), problem));
    }
    let (answer, content_type) = (wire.answer, wire.content_type);
    Ok(Computed { path: path_of(wire.path, document)?, least, most: wire.most, answer, content_type })
}

fn case_of(
    workload: &str,
    several: bool,
    exchange: &Exchange,
    case: Spanned<WireCase>,
    document: &Document,
) -> Result<WorkloadCase, CatalogueError> {
    let at = case.span().start;
    let case = case.into_inner();
    let address = match (case.name, several) {
        (Some(name), _) => format!("{workload}/{name}"),
        (None, false) => workload.to_owned(),
        (None, true) => {
            return Err(document.complain(Some(at), "with several cases, each needs a `name`"));
        }
    };
    let headers = request_headers(case.headers, &exchange.headers, exchange.protocol, document)?;
    let body = body_of(case.body, case.body_bytes, exchange.protocol, document)?;
    let chunk_bytes = chunk_bytes_of(case.chunk_bytes.as_ref(), document)?;
    if let Some(size) = case.chunk_bytes.as_ref().filter(|_| !is_sent_in_chunks(body.as_ref(), exchange)) {
        let problem = "`chunk_bytes` needs the protocol HTTP, and a `body` or `body_bytes`";
        return Err(document.complain(Some(size.span().start), problem));
    }
    let method = if body.is_some() { "POST" } else { "GET" };
    let expect = match exchange.protocol {
        WorkloadProtocol::Http => expect_of(case.expect, accepted_codings(&headers), document)?,
        WorkloadProtocol::WebSocket | WorkloadProtocol::Grpc => {
            expected_message(case.expect, exchange, document)?
        }
    };
    let load = case.load.map(|load| load_of(load, &expect, document)).transpose()?;
    let weight = weight_of(case.weight.as_ref(), document)?;
    Ok(WorkloadCase {
        address,
        workload: workload.to_owned(),
        protocol: exchange.protocol,
        method: case.method.unwrap_or_else(|| method.into()),
        path: path_of(case.path, document)?,
        headers,
        body,
        load,
        weight,
        chunk_bytes,
        stream: exchange.stream.clone(),
        proto: exchange.proto.clone(),
        expect,
        database: case.database,
        databases: exchange.databases.clone(),
        checks_cache: false,
        mix: Vec::new(),
    })
}

/// What a load sends instead: the bodies of its responses differ.
fn load_of(load: WireLoad, expect: &Expect, document: &Document) -> Result<LoadTemplate, CatalogueError> {
    if !matches!(expect.body, ExpectedBody::JsonForm(_)) {
        let problem = "`load` needs an expected `json_form`, which the responses to all of its requests have";
        return Err(document.complain(Some(load.path.span().start), problem));
    }
    Ok(LoadTemplate { path: path_of(load.path, document)?, body: load.body })
}

/// Whether a request can be sent in chunks: it is one of HTTP, with a body.
fn is_sent_in_chunks(body: Option<&RequestBody>, exchange: &Exchange) -> bool {
    body.is_some() && exchange.protocol == WorkloadProtocol::Http
}

/// The longest body that a request may have: validation holds it in memory.
const MAX_BODY_BYTES: u64 = 64 << 20;

fn body_of(
    text: Option<Spanned<String>>,
    length: Option<Spanned<u64>>,
    protocol: WorkloadProtocol,
    document: &Document,
) -> Result<Option<RequestBody>, CatalogueError> {
    match (text, length) {
        (None, None) => Ok(None),
        (Some(text), None) => Ok(Some(RequestBody::Text(text.into_inner()))),
        (None, Some(length)) if protocol != WorkloadProtocol::Http => {
            let problem = format!(
                "`body_bytes` needs the protocol HTTP: write the message of {} as `body`",
                protocol.name()
            );
            Err(document.complain(Some(length.span().start), problem))
        }
        (None, Some(length)) if *length.get_ref() <= MAX_BODY_BYTES => {
            Ok(Some(RequestBody::Filler(length.into_inner())))
        }
        (None, Some(length)) => {
            let problem = format!("`body_bytes` is {}; the maximum is {MAX_BODY_BYTES}", length.get_ref());
            Err(document.complain(Some(length.span().start), problem))
        }
        (Some(_), Some(length)) => {
            let problem = "a request can have a `body` or `body_bytes`, not both";
            Err(document.complain(Some(length.span().start), problem))
        }
    }
}

/// Whether a text can be copied to the request line as a path.
pub(crate) fn is_path(text: &str) -> bool {
    text.starts_with('/') && text.chars().all(|c| c.is_ascii_graphic())
}

/// A path is copied to the request line: it starts with `/` and has no spaces or control characters.
fn path_of(path: Spanned<String>, document: &Document) -> Result<String, CatalogueError> {
    if is_path(path.get_ref()) {
        return Ok(path.into_inner());
    }
    let problem = format!(
        "`{}` is not a path: it must start with `/` and contain only ASCII characters and no spaces",
        path.get_ref()
    );
    Err(document.complain(Some(path.span().start), problem))
}

/// A path that other names follow.
fn folder_path(path: Spanned<String>, document: &Document) -> Result<String, CatalogueError> {
    let at = path.span().start;
    let path = path_of(path, document)?;
    if path.ends_with('/') {
        return Ok(path);
    }
    Err(document.complain(Some(at), format!("`static_files` is `{path}`: it must end with `/`")))
}

const ONE_BODY: &str = "`expect` needs exactly one of `body`, `body_file`, `json`, `json_form`, `html_file`, or \
                        `length` with `sha256`";

/// The expectation of a case of HTTP whose request accepts these codings.
fn expect_of(
    expect: Spanned<WireExpect>,
    accepted: Vec<String>,
    document: &Document,
) -> Result<Expect, CatalogueError> {
    let at = expect.span().start;
    let wire = expect.into_inner();
    let coding = ExpectedCoding { accepted, is_required: wire.compressed };
    if coding.is_required && coding.accepted.is_empty() {
        let problem =
            "`compressed` needs a request that accepts a coding: headers = { Accept-Encoding = \"gzip\" }";
        return Err(document.complain(Some(at), problem));
    }
    let of_messages = [("grpc_status", wire.grpc_status.is_some()), ("events", wire.events.is_some())];
    if let Some((key, _)) = of_messages.into_iter().find(|(_, is_given)| *is_given) {
        let problem = format!("`{key}` needs a workload with `protocol = \"grpc\"` or \"websocket\"");
        return Err(document.complain(Some(at), problem));
    }
    let Some(status) = wire.status else {
        return Err(document.complain(Some(at), "missing key `status`"));
    };
    let digest = match (wire.length, wire.sha256) {
        (Some(length), Some(digest)) => {
            Some(ExpectedBody::Digest { length, sha256: digest_of(&digest, document)? })
        }
        (None, None) => None,
        _ => return Err(document.complain(Some(at), ONE_BODY)),
    };
    let given = [
        wire.body.map(|text| ExpectedBody::Exact(text.into_bytes())),
        wire.body_file.map(|file| load(&file, document).map(ExpectedBody::Exact)).transpose()?,
        wire.json.map(|text| json_of(&text, document).map(ExpectedBody::Json)).transpose()?,
        wire.json_form.map(|text| form_of(&text, document).map(ExpectedBody::JsonForm)).transpose()?,
        wire.html_file.map(|file| page_of(&file, document).map(ExpectedBody::Html)).transpose()?,
        digest,
    ];
    let mut given = given.into_iter().flatten();
    let (Some(body), None) = (given.next(), given.next()) else {
        return Err(document.complain(Some(at), ONE_BODY));
    };
    let headers =
        wire.headers.iter().map(|header| expected_header(header, document)).collect::<Result<_, _>>()?;
    let (content_type, charset) = (wire.content_type, wire.charset);
    Ok(Expect { status, grpc_status: None, content_type, charset, headers, body, coding, events: None })
}

/// The expectation of a message: of a WebSocket, or of a call of gRPC.
fn expected_message(
    expect: Spanned<WireExpect>,
    exchange: &Exchange,
    document: &Document,
) -> Result<Expect, CatalogueError> {
    let at = expect.span().start;
    let wire = expect.into_inner();
    let is_grpc = exchange.protocol == WorkloadProtocol::Grpc;
    let foreign = [
        ("status", wire.status.is_some()),
        ("grpc_status", wire.grpc_status.is_some() && !is_grpc),
        ("content_type", wire.content_type.is_some()),
        ("charset", wire.charset.is_some()),
        ("headers", !wire.headers.is_empty()),
        ("body_file", wire.body_file.is_some()),
        ("json_form", wire.json_form.is_some()),
        ("html_file", wire.html_file.is_some()),
        ("length", wire.length.is_some()),
        ("sha256", wire.sha256.is_some()),
        ("compressed", wire.compressed),
        ("json", wire.json.is_some() && (!is_grpc || exchange.stream.is_some())),
        ("body", wire.body.is_some() && (is_grpc || exchange.stream.is_some())),
        ("events", wire.events.is_some() && exchange.stream.is_none()),
    ];
    if let Some((key, _)) = foreign.into_iter().find(|(_, is_given)| *is_given) {
        let with = if exchange.stream.is_some() { "with a stream " } else { "" };
        let problem = format!("`{key}` cannot be expected {with}of {}", exchange.protocol.name());
        return Err(document.complain(Some(at), problem));
    }
    let grpc_status = wire.grpc_status.map(|status| grpc_status_of(&status, document)).transpose()?;
    let body = match (wire.body, wire.json) {
        (Some(text), _) => Some(ExpectedBody::Exact(text.into_bytes())),
        (None, Some(text)) => json_of(&text, document).map(ExpectedBody::Json).map(Some)?,
        (None, None) => None,
    };
    let others = usize::from(wire.events.is_some()) + usize::from(grpc_status.is_some());
    if usize::from(body.is_some()) + others != 1 {
        let keys = match (is_grpc, exchange.stream.is_some()) {
            (true, true) => "`events` or `grpc_status`",
            (true, false) => "`json` or `grpc_status`",
            (false, true) => "`events`",
            (false, false) => "`body`",
        };
        return Err(document.complain(Some(at), format!("`expect` needs exactly one of: {keys}")));
    }
    Ok(Expect {
        status: if is_grpc { 200 } else { 101 },
        grpc_status,
        content_type: None,
        charset: None,
        headers: Vec::new(),
        body: body.unwrap_or(ExpectedBody::Any),
        coding: ExpectedCoding::default(),
        events: wire.events,
    })
}

/// The name of a status of gRPC.
fn grpc_status_of(status: &Spanned<String>, document: &Document) -> Result<String, CatalogueError> {
    match GrpcCode::parse(status.get_ref()) {
        Some(code) => Ok(code.name().to_owned()),
        None => {
            let problem =
                format!("`{}` is not a status of gRPC: use a name such as NOT_FOUND", status.get_ref());
            Err(document.complain(Some(status.span().start), problem))
        }
    }
}

fn json_of(text: &Spanned<String>, document: &Document) -> Result<serde_json::Value, CatalogueError> {
    serde_json::from_str(text.get_ref()).map_err(|error| {
        document.complain(Some(text.span().start), format!("`json` is not valid JSON: {error}"))
    })
}

fn form_of(text: &Spanned<String>, document: &Document) -> Result<JsonForm, CatalogueError> {
    JsonForm::parse(text.get_ref())
        .map_err(|error| document.complain(Some(text.span().start), format!("`json_form`: {error}")))
}

fn page_of(file: &Spanned<String>, document: &Document) -> Result<HtmlPage, CatalogueError> {
    Ok(HtmlPage::from_text(&String::from_utf8_lossy(&load(file, document)?)))
}

fn load(file: &Spanned<String>, document: &Document) -> Result<Vec<u8>, CatalogueError> {
    let path = document.path.with_file_name(file.get_ref());
    paceline_files::read(&path, paceline_files::MAX_OUTPUT_BYTES).map_err(|source| {
        document.complain(Some(file.span().start), format!("cannot read `{}`: {source}", path.display()))
    })
}

fn digest_of(digest: &Spanned<String>, document: &Document) -> Result<[u8; 32], CatalogueError> {
    hexadecimal::parse(digest.get_ref())
        .ok_or_else(|| document.complain(Some(digest.span().start), "`sha256` is not 64 hexadecimal digits"))
}

fn refusal_of(refusal: WireRefusal, document: &Document) -> Result<Refusal, CatalogueError> {
    let text = refusal.status.get_ref().as_str();
    let status = match (text.strip_suffix("xx"), text.parse::<u16>()) {
        (Some("4"), _) => RefusedStatus::Class(4),
        (Some("5"), _) => RefusedStatus::Class(5),
        (None, Ok(status)) if (400..600).contains(&status) => RefusedStatus::Exactly(status),
        _ => {
            let problem =
                format!("`{text}` is not an error status; write \"4xx\" or a status such as \"404\"");
            return Err(document.complain(Some(refusal.status.span().start), problem));
        }
    };
    Ok(Refusal { path: path_of(refusal.path, document)?, status })
}
