//! The format of `workloads/*.toml`, and the checks that turn it into a [`Workload`].
//!
//! [`Workload::read`] is here. The workload's name is the file's, and a case's address follows from it. A body given by
//! its digest is not known here: validation passes on the first body that matches.

use super::{
    Computed, Expect, ExpectedBody, Formula, HtmlPage, Refusal, RefusedStatus, Workload, WorkloadCase,
};
use crate::CatalogueError;
use crate::document::Document;
use paceline_job::{JsonForm, hexadecimal};
use paceline_record::DatabaseWork;
use std::collections::BTreeSet;
use std::path::Path;
use toml::Spanned;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireWorkload {
    about: String,
    base: Option<Spanned<String>>,
    case: Vec<Spanned<WireCase>>,
    #[serde(default)]
    check: Vec<Spanned<WireCase>>,
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
    expect: Spanned<WireExpect>,
    database: Option<DatabaseWork>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireExpect {
    status: u16,
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
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireRefusal {
    path: Spanned<String>,
    status: Spanned<String>,
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
        let several = wire.case.len() > 1;
        let mut addresses = BTreeSet::new();
        let named = |spanned: Spanned<WireCase>| {
            let at = spanned.span().start;
            let case = case_of(&name, several, spanned, &document)?;
            if addresses.insert(case.address.clone()) {
                return Ok(case);
            }
            let problem = format!("two cases have the same name `{}`", case.address);
            Err(document.complain(Some(at), problem))
        };
        let cases = CatalogueError::keep(wire.case.into_iter().map(named), &mut errors);
        let unnamed = |case: Spanned<WireCase>| case_of(&name, false, case, &document);
        let checks = CatalogueError::keep(wire.check.into_iter().map(unnamed), &mut errors);
        let refused = |refusal| refusal_of(refusal, &document);
        let refusals = CatalogueError::keep(wire.refuse.into_iter().map(refused), &mut errors);
        let computed = |computed| computed_of(computed, &document);
        let computed = CatalogueError::keep(wire.computed.into_iter().map(computed), &mut errors);
        let base = base_of(wire.base, &cases, &document).unwrap_or_else(|error| {
            errors.push(error);
            String::new()
        });
        match CatalogueError::of_all(errors) {
            Some(error) => Err(error),
            None => Ok(Workload { name, about: wire.about, base, cases, checks, refusals, computed }),
        }
    }
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
const MOST_X: u32 = 100_000;

fn computed_of(wire: WireComputed, document: &Document) -> Result<Computed, CatalogueError> {
    let (at, least) = (wire.least.span().start, wire.least.into_inner());
    if least > wire.most || wire.most > MOST_X {
        return Err(document.complain(
            Some(at),
            format!("`least` and `most` must be from 0 to {MOST_X}, and `least` not above `most`"),
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
    Ok(WorkloadCase {
        address,
        workload: workload.to_owned(),
        method: case.method.unwrap_or_else(|| "GET".into()),
        path: path_of(case.path, document)?,
        expect: expect_of(case.expect, document)?,
        database: case.database,
    })
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

const ONE_BODY: &str = "`expect` needs exactly one of `body`, `body_file`, `json`, `json_form`, `html_file`, or \
                        `length` with `sha256`";

fn expect_of(expect: Spanned<WireExpect>, document: &Document) -> Result<Expect, CatalogueError> {
    let at = expect.span().start;
    let wire = expect.into_inner();
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
        wire.headers.into_iter().map(|header| header_of(header, document)).collect::<Result<_, _>>()?;
    Ok(Expect { status: wire.status, content_type: wire.content_type, charset: wire.charset, headers, body })
}

/// A header name, or several of which one is required: `Content-Length|Transfer-Encoding`.
fn header_of(header: Spanned<String>, document: &Document) -> Result<String, CatalogueError> {
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if header.get_ref().split('|').all(is_name) {
        return Ok(header.into_inner().to_ascii_lowercase());
    }
    let problem = format!(
        "`{}` is not a header name: write one name, or several names separated by `|`",
        header.get_ref()
    );
    Err(document.complain(Some(header.span().start), problem))
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
