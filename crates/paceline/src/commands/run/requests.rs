//! Flags of requests: what is sent and what response is required; and the request file.

use super::form::{self, FormBody};
use crate::exit::Complaint;
use crate::lab_folders::complain;
use anyhow::Context as _;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use paceline_catalogue::RequestFile;
use paceline_http::{MAX_CHUNK_BYTES, Scheme, parse_bytes};
use paceline_job::{
    BodyExpectation, Content, ExpectedValue, Headers, Job, JsonForm, MASKED, RequestSpec, hexadecimal,
};
use paceline_run::Inputs;
use paceline_stats::counted;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// The request, and the required response.
#[derive(clap::Args, Debug)]
pub struct RequestFlags {
    /// Request method [default: GET]
    #[arg(short = 'X', long, value_name = "NAME", help_heading = "Requests")]
    pub method: Option<String>,

    /// Header field, "Name: value"; may be repeated
    ///
    /// It replaces a default field of that name.
    #[arg(short = 'H', long = "header", value_name = "FIELD", help_heading = "Requests")]
    pub headers: Vec<String>,

    /// Request body: text or @FILE; implies POST
    ///
    /// @- reads it from standard input. {seq}, {rand:1:100000} and {line:FILE} stand for the number of the request, a random
    /// number and the next line of a file, also in the URL's path and in headers; {bytes:20MB} alone for a body of that length.
    /// It, and a file above 32 MiB, is not kept in memory; a pipe is copied to $TMPDIR.
    #[arg(long, allow_negative_numbers = true, value_name = "TEXT|@FILE", help_heading = "Requests")]
    pub body: Option<String>,

    /// Send bodies in chunks of SIZE [default: 16KiB]
    ///
    /// They have no length then: with `Transfer-Encoding: chunked` over HTTP/1.1, in DATA frames of at most that size over HTTP/2 and HTTP/3. Write the
    /// size after an equals sign: --chunked=64k.
    #[arg(hide_short_help = true, long, value_name = "SIZE", num_args = 0..=1, require_equals = true, default_missing_value = "16KiB", value_parser = chunk_bytes, help_heading = "Requests")]
    pub chunked: Option<NonZeroU32>,

    /// Send bodies after `100 Continue`, at the latest after 1 s
    ///
    /// A final status, such as 417, ends the request without its body, and the connection. HTTP/1.1 only.
    #[arg(hide_short_help = true, long, help_heading = "Requests")]
    pub expect_continue: bool,

    /// Field of a URL-encoded form; may be repeated; implies POST
    #[arg(hide_short_help = true, long, value_name = "NAME=VALUE", conflicts_with_all = ["body", "multipart"], help_heading = "Requests")]
    pub form: Vec<String>,

    /// Part of a multipart form, NAME=VALUE or NAME=@FILE, as curl's -F; may be repeated
    #[arg(
        hide_short_help = true,
        short = 'F',
        long,
        value_name = "NAME=VALUE|@FILE",
        conflicts_with = "body",
        help_heading = "Requests"
    )]
    pub multipart: Vec<String>,

    /// Accept compressed responses: gzip, deflate, br, zstd
    ///
    /// Checks apply to the decompressed body.
    #[arg(hide_short_help = true, long, value_name = "CODINGS", help_heading = "Requests")]
    pub accept_encoding: Option<String>,

    /// Follow up to N redirects per request, to the same host only
    ///
    /// A request's times include its redirects, its status is that of the last response. If the server closes the connection with a redirect, the next request is sent on a new one, and its times
    /// include connecting.
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = super::values::whole::<u16>, help_heading = "Requests")]
    pub follow: Option<u16>,

    /// Basic authentication, USER:PASS
    #[arg(short = 'a', long, value_name = "USER:PASS", conflicts_with = "bearer", help_heading = "Requests")]
    pub auth: Option<String>,

    /// Send the header `Authorization: Bearer TOKEN`
    #[arg(hide_short_help = true, long, value_name = "TOKEN", help_heading = "Requests")]
    pub bearer: Option<String>,

    /// Do not expand placeholders
    ///
    /// Without it {rand:1:100000}, {seq} and {line:FILE} in path, headers and body are replaced in each request by a
    /// random number, the number of the request and the next line of the file; {{ sends one {.
    #[arg(hide_short_help = true, long, help_heading = "Requests")]
    pub literal: bool,

    /// Several requests with weights, from a TOML file
    ///
    /// Each has its own checks and results; docs/requests.md describes the file. -H is added to each request that has no field of that name.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["method", "body", "form", "multipart", "literal", "expect_status", "expect_body", "expect_sha256", "expect_json", "expect_json_form"],
        help_heading = "Requests"
    )]
    pub mix: Option<PathBuf>,

    /// Make the requests, and check responses, with a script in Lua
    ///
    /// docs/requests.md describes it. wrk's scripts: `paceline wrk -s`.
    #[arg(hide_short_help = true, long, value_name = "FILE", conflicts_with_all = ["mix", "debug"], help_heading = "Requests")]
    pub lua: Option<PathBuf>,

    /// Accept response heads whose lines end in LF instead of CR LF
    #[arg(hide_short_help = true, long, help_heading = "Checks")]
    pub lenient: bool,

    /// Required status [default: any 2xx]
    #[arg(long, value_name = "STATUS", value_parser = status, help_heading = "Checks")]
    pub expect_status: Option<u16>,

    /// Expected response body: text or @FILE
    ///
    /// Every response must match it byte for byte.
    #[arg(long, allow_negative_numbers = true, value_name = "TEXT|@FILE", help_heading = "Checks")]
    pub expect_body: Option<String>,

    /// Require a body with this SHA-256
    #[arg(hide_short_help = true, long, value_name = "HEX", value_parser = digest, conflicts_with = "expect_body", help_heading = "Checks")]
    pub expect_sha256: Option<[u8; 32]>,

    /// Required JSON, such as /message=hello
    ///
    /// Every response must have it. The pointer is a JSON Pointer (RFC 6901), such as /items/0/id in /items/0/id=5; a
    /// value that is not valid JSON is a string. May be repeated.
    #[arg(
        long,
        value_name = "POINTER=VALUE",
        value_parser = ExpectedValue::parse,
        conflicts_with_all = ["expect_body", "expect_sha256"],
        help_heading = "Checks"
    )]
    pub expect_json: Vec<ExpectedValue>,

    /// Require JSON of this form in every response, such as {"id":"1..100"}
    ///
    /// Use it for values that differ in each response. An object must have exactly the given fields, "MIN..MAX" stands
    /// for an integer from MIN to MAX (both included), and [20, FORM] stands for an array of 20 elements of that form.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FORM",
        value_parser = JsonForm::parse,
        conflicts_with_all = ["expect_body", "expect_sha256", "expect_json"],
        help_heading = "Checks"
    )]
    pub expect_json_form: Option<JsonForm>,
}

impl RequestFlags {
    /// Puts the flags that were given into a job.
    pub fn fill(&self, job: &mut Job, inputs: &mut Inputs) -> anyhow::Result<()> {
        if let Some(path) = &self.mix {
            job.requests = mix(path, inputs)?;
        }
        job.follow = self.follow.unwrap_or(job.follow);
        job.lenient |= self.lenient;
        job.lua = self.lua.clone().or(job.lua.take());
        let headers = self.headers()?;
        for request in &mut job.requests {
            self.fill_request(request);
            let authorization = self.authorization();
            let is_given = |field: &str| {
                let is_header = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(field));
                is_header || authorization.is_some() && field.eq_ignore_ascii_case("Authorization")
            };
            request.headers.0.retain(|(field, value)| value != MASKED || !is_given(field));
            for (name, value) in &headers {
                if self.mix.is_none() || request.headers.get(name).is_none() {
                    request.headers.0.push((name.clone(), value.clone()));
                }
            }
            if let Some(codings) = &self.accept_encoding {
                request.headers.set_default("Accept-Encoding", codings);
            }
            if let Some(authorization) = authorization {
                request.headers.set_default("Authorization", authorization);
            }
        }
        let form = self.form(job.url.scheme)?;
        if job.url.scheme.is_grpc() {
            // A call has one method and one type.
        } else if let Some(form) = form {
            for request in &mut job.requests {
                request.body = Some(form.body.clone());
                form::add_boundary(&mut request.headers, &form.content_type);
                request.headers.set_default("Content-Type", form.content_type.clone());
            }
            self.describe_body(job, form.flag);
        } else if job.is_websocket() {
            // A message has neither a method nor a type.
        } else if self.body.is_some() {
            self.describe_body(job, "--body");
        } else if self.mix.is_some() {
            describe_mix(job);
        }
        // A server closes the connection of such a request: none may be reused.
        let closes = |request: &RequestSpec| {
            request.headers.get("Connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
        };
        job.keep_alive &= !job.requests.iter().any(closes);
        if let Some(field) = job.masked_field() {
            let what = format!(
                "the job's field {field} has the mask {MASKED} instead of its value, because records contain no secrets"
            );
            let again = if field == "Proxy-Authorization" {
                "--proxy".to_owned()
            } else {
                format!("-H '{field}: VALUE'")
            };
            return Err(Complaint::usage(what).hint(format!("set the value with {again}")).into());
        }
        Ok(())
    }

    fn fill_request(&self, request: &mut RequestSpec) {
        let Self {
            method,
            body,
            chunked,
            expect_continue,
            literal,
            expect_status,
            expect_body,
            expect_sha256,
            expect_json,
            expect_json_form,
            ..
        } = self;
        if let Some(method) = method {
            request.method.clone_from(method);
        }
        if let Some(body) = body {
            request.body = Some(content(body));
        }
        request.literal |= literal;
        request.chunk_bytes = chunked.or(request.chunk_bytes);
        request.expect_continue |= expect_continue;
        request.expect_status = expect_status.or(request.expect_status);
        request.expect_body = match (expect_body, expect_sha256, expect_json.as_slice()) {
            (Some(body), ..) => Some(BodyExpectation::Exact(content(body))),
            (None, Some(digest), _) => Some(BodyExpectation::Sha256(*digest)),
            (None, None, []) => match expect_json_form {
                Some(form) => Some(BodyExpectation::JsonForm(form.clone())),
                None => request.expect_body.take(),
            },
            (None, None, values) => Some(BodyExpectation::Json(values.to_vec())),
        };
    }

    /// The body described by `--form` or `--multipart`. Messages of WebSocket and gRPC are no forms.
    fn form(&self, scheme: Scheme) -> anyhow::Result<Option<FormBody>> {
        let form = match (self.form.as_slice(), self.multipart.as_slice()) {
            ([], []) => None,
            (fields, []) => Some(form::url_encoded(fields)?),
            (_, parts) => Some(form::multipart(parts)?),
        };
        if let Some(FormBody { flag, .. }) = &form
            && !matches!(scheme, Scheme::Http | Scheme::Https)
        {
            let what = format!("{flag} cannot be combined with a {}:// URL", scheme.name());
            return Err(Complaint::usage(what).hint("use --body with the text of a message").into());
        }
        Ok(form)
    }

    /// The value of the Authorization field from `--auth` or `--bearer`.
    fn authorization(&self) -> Option<String> {
        let basic = |user: &String| format!("Basic {}", BASE64_STANDARD.encode(user));
        self.auth.as_ref().map(basic).or_else(|| self.bearer.as_ref().map(|token| format!("Bearer {token}")))
    }

    /// Sets the method of a request with a body to POST if no method was given, and adds a missing Content-Type;
    /// reports both.
    fn describe_body(&self, job: &mut Job, flag: &str) {
        let mut added = Vec::new();
        for request in &mut job.requests {
            if self.method.is_none() && request.method == "GET" {
                "POST".clone_into(&mut request.method);
                added.push("-X POST".to_owned());
            }
            if request.headers.get("Content-Type").is_none() {
                let content_type = content_type(request.body.as_ref());
                request.headers.0.push(("Content-Type".to_owned(), content_type.to_owned()));
                added.push(format!("-H 'Content-Type: {content_type}'"));
            }
        }
        if !added.is_empty() {
            crate::exit::say(&format!("paceline: {flag} implies {}", added.join(" ")));
        }
    }

    fn headers(&self) -> anyhow::Result<Vec<(String, String)>> {
        let parse = |field: &String| {
            Headers::parse(field).with_context(|| {
                Complaint::usage(format!("--header {field:?} has no colon"))
                    .hint("write the header field as \"Name: value\"")
            })
        };
        self.headers.iter().map(parse).collect()
    }
}

/// Adds a missing Content-Type to the requests of a file that have a JSON body; reports it. Other bodies get
/// no type.
fn describe_mix(job: &mut Job) {
    let mut added = 0;
    for request in &mut job.requests {
        let kind = content_type(request.body.as_ref());
        if kind == JSON && request.headers.get("Content-Type").is_none() {
            request.headers.set_default("Content-Type", kind);
            added += 1;
        }
    }
    if added > 0 {
        let requests = counted(added, "request", "requests");
        crate::exit::say(&format!(
            "paceline: --mix: added Content-Type: {JSON} to {requests} with a JSON body"
        ));
    }
}

/// The type of JSON (RFC 8259, section 11).
const JSON: &str = "application/json";

/// The text itself, or `@FILE`.
fn content(value: &str) -> Content {
    match value.strip_prefix('@') {
        Some(file) => Content::File { file: PathBuf::from(file) },
        None => Content::Text(value.to_owned()),
    }
}

/// The type of a body: JSON if it looks like JSON, otherwise a form, as curl sends it.
fn content_type(body: Option<&Content>) -> &'static str {
    let is_json = match body {
        Some(Content::Text(text)) if text.starts_with("{bytes:") => return "application/octet-stream",
        Some(Content::Text(text)) => looks_like_json(text.trim_start()),
        Some(Content::File { file }) => file.extension().is_some_and(|ending| ending == "json"),
        Some(Content::Base64 { .. } | Content::Multipart { .. }) | None => false,
    };
    if is_json { JSON } else { "application/x-www-form-urlencoded" }
}

/// Whether a text begins like JSON. A placeholder at its start is a value, or a line of a file, which is JSON by its name.
fn looks_like_json(text: &str) -> bool {
    if let Some((file, _)) = text.strip_prefix("{line:").and_then(|line| line.split_once('}')) {
        let ending = Path::new(file).extension().and_then(|ending| ending.to_str());
        return ending.is_some_and(|ending| ["json", "jsonl", "ndjson"].contains(&ending));
    }
    let is_value = ["{rand:", "{seq}", "{var:"].iter().any(|word| text.starts_with(word));
    text.starts_with(['{', '[']) && !is_value
}

/// The requests of a request file.
fn mix(path: &Path, inputs: &mut Inputs) -> anyhow::Result<Vec<RequestSpec>> {
    let text = inputs
        .read_text("--mix", path)
        .with_context(|| Complaint::usage(format!("--mix: cannot read {}", path.display())))?;
    let file = RequestFile::from_text(path, &text).map_err(complain)?;
    Ok(file.requests.into_iter().map(|request| request.spec).collect())
}

/// Parses the size of a chunk.
fn chunk_bytes(text: &str) -> Result<NonZeroU32, String> {
    let size =
        parse_bytes(text).and_then(|size| u32::try_from(size).ok()).filter(|size| *size <= MAX_CHUNK_BYTES);
    size.and_then(NonZeroU32::new)
        .ok_or_else(|| "write a size from 1 to 16MiB, such as 500 or 64k".to_owned())
}

fn digest(text: &str) -> Result<[u8; 32], String> {
    hexadecimal::parse(text).ok_or_else(|| "a SHA-256 has 64 hexadecimal digits".to_owned())
}

/// Parses a final status: 1xx only announces another response.
fn status(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|status| (200..600).contains(status));
    number.ok_or_else(|| "a status must be a number from 200 to 599".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    fn job(flags: &[&str]) -> Job {
        let line = [&["paceline", "run", "http://a/"], flags].concat();
        let crate::Command::Run(arguments) = crate::Arguments::try_parse_from(line).unwrap().command else {
            panic!("it is a run")
        };
        arguments.job(&mut Inputs::default()).unwrap()
    }

    #[test]
    fn a_body_implies_a_method_and_a_type() {
        for (flags, method, content_type) in [
            (&["--body", "{\"a\": 1}"][..], "POST", "application/json"),
            (&["--body", "a=1"], "POST", "application/x-www-form-urlencoded"),
            (&["--body", "{seq}"], "POST", "application/x-www-form-urlencoded"),
            (&["--body", "{bytes:1MB}"], "POST", "application/octet-stream"),
            (&["--body", "{line:bodies.jsonl}"], "POST", "application/json"),
            (&["--body", "{line:names.txt}"], "POST", "application/x-www-form-urlencoded"),
            (&["--body", "@a.json", "-X", "PUT"], "PUT", "application/json"),
            (&["--body", "x", "-H", "content-type: text/plain"], "POST", "text/plain"),
        ] {
            let request = &job(flags).requests[0];
            assert_eq!(request.method, method, "{flags:?}");
            assert_eq!(request.headers.get("Content-Type"), Some(content_type), "{flags:?}");
        }
        assert_eq!(job(&[]).requests[0].headers, Headers::default());
    }

    #[test]
    fn a_json_body_of_a_file_gets_its_type() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mix.toml");
        let request = |body: &str, more: &str| {
            format!("[[request]]\nname = 'of {body}'\nmethod = 'POST'\nbody = '{body}'\n{more}\n")
        };
        let typed = "headers = { Content-Type = \"a/b\" }";
        std::fs::write(&file, request("[1]", "") + &request("a=1", "") + &request("{}", typed)).unwrap();
        let requests = job(&["--mix", file.to_str().unwrap()]).requests;
        let types: Vec<_> = requests.iter().map(|request| request.headers.get("Content-Type")).collect();
        assert_eq!(types, [Some("application/json"), None, Some("a/b")]);
    }

    #[test]
    fn credentials_are_a_header_and_masked_in_the_record() {
        // RFC 7617, section 2.
        let basic = job(&["-a", "Aladdin:open sesame"]);
        let sent = basic.requests[0].headers.get("Authorization");
        assert_eq!(sent, Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
        assert_eq!(basic.masked().requests[0].headers.get("Authorization"), Some("***"));
        let bearer = job(&["--bearer", "abc"]);
        assert_eq!(bearer.requests[0].headers.get("Authorization"), Some("Bearer abc"));
    }

    #[test]
    fn a_masked_job_is_repeated_only_with_the_secret() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("job.toml");
        std::fs::write(&file, job(&["--bearer", "abc"]).masked().to_toml()).unwrap();
        let repeated = |flags: &[&str]| {
            let line = [&["paceline", "run", "--job", file.to_str().unwrap()], flags].concat();
            let crate::Command::Run(arguments) = crate::Arguments::try_parse_from(line).unwrap().command
            else {
                panic!("it is a run")
            };
            arguments.job(&mut Inputs::default())
        };
        let error = repeated(&[]).unwrap_err().to_string();
        assert!(error.contains("Authorization has the mask ***"), "{error}");
        for flags in [&["--bearer", "abc"][..], &["-H", "authorization: Bearer abc"]] {
            let headers = repeated(flags).unwrap().requests[0].headers.clone();
            assert_eq!((headers.get("Authorization"), headers.0.len()), (Some("Bearer abc"), 1));
        }
    }

    #[test]
    fn connection_close_is_never_sent_on_a_reused_connection() {
        assert!(!job(&["-H", "connection: Close"]).keep_alive);
        assert!(job(&["-H", "Connection: upgrade"]).keep_alive);
    }
}
