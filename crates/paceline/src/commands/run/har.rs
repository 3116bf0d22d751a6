//! `--har FILE`: converts requests that a browser recorded (HTTP Archive 1.2) into a mix.
//!
//! Only requests to one host and port are used, since a run loads one target; the number of others is reported. The
//! weight of a request is the number of times it was recorded.

use super::form;
use super::target::without_user_info;
use crate::exit::Complaint;
use anyhow::Context as _;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use paceline_catalogue::MAX_REQUESTS;
use paceline_http::{RequestError, Url};
use paceline_job::{Content, FormPart, Headers, RequestSpec};
use paceline_run::Inputs;
use paceline_stats::counted;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

/// Fields that belong to the browser's connection, or that Paceline sets.
const LEFT_OUT: [&str; 7] =
    ["host", "connection", "content-length", "transfer-encoding", "keep-alive", "upgrade", "te"];

#[derive(serde::Deserialize)]
struct HarArchive {
    log: HarLog,
}

#[derive(serde::Deserialize)]
struct HarLog {
    entries: Vec<HarEntry>,
}

#[derive(serde::Deserialize)]
struct HarEntry {
    request: HarRequest,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HarRequest {
    method: String,
    url: String,
    headers: Vec<HarField>,
    cookies: Vec<HarField>,
    query_string: Vec<HarField>,
    post_data: Option<HarPostData>,
    /// Bytes of the body; -1 if unknown.
    body_size: i64,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct HarField {
    name: String,
    /// Some programs write null for an empty value.
    value: Option<String>,
}

/// A body: its text, or its parameters (HAR 1.2). Programs write both.
#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HarPostData {
    mime_type: String,
    text: Option<String>,
    /// `base64`, as in the content of a response; not in HAR 1.2, but in use.
    #[serde(alias = "_encoding")]
    encoding: Option<String>,
    params: Vec<HarParam>,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HarParam {
    name: String,
    value: Option<String>,
    file_name: Option<String>,
    content_type: Option<String>,
}

/// The requests of an archive to one target.
#[derive(Debug)]
pub struct HarMix {
    /// The target: the one given, or that of the first request.
    pub url: Url,
    pub specs: Vec<RequestSpec>,
    /// What was left out, as text.
    pub notices: Vec<String>,
}

/// The parts of an archive that cannot be sent.
#[derive(Default)]
struct LeftOut {
    /// Requests to other targets.
    elsewhere: u64,
    /// Requests with an invalid URL, and the first error.
    invalid: u64,
    invalid_because: String,
    /// Requests whose body, or a file in it, is not in the archive; and the first.
    without_body: u64,
    without_body_first: String,
}

/// Reads an archive; `target` is the URL of the command line.
pub fn read(path: &Path, target: Option<&Url>, inputs: &mut Inputs) -> anyhow::Result<HarMix> {
    let wrong = || Complaint::usage(format!("--har {}", path.display()));
    let text = inputs.read_text("--har", path).with_context(wrong)?;
    let archive: HarArchive = serde_json::from_str(&text).with_context(wrong)?;
    Ok(requests(archive, target)
        .map_err(|error| Complaint { what: format!("--har {}: {}", path.display(), error.what), ..error })?)
}

fn requests(archive: HarArchive, target: Option<&Url>) -> Result<HarMix, Complaint> {
    let mut target = target.cloned();
    let mut specs: Vec<RequestSpec> = Vec::new();
    let mut places: HashMap<_, usize> = HashMap::new();
    let mut left_out = LeftOut::default();
    for HarEntry { request } in archive.log.entries {
        let (text, credentials) = without_user_info(&request.url);
        let url = match Url::parse_http(&text) {
            Ok(url) => url,
            Err(error) => {
                left_out.no_target(&text, &error);
                continue;
            }
        };
        let target = target.get_or_insert_with(|| url.clone());
        if (url.scheme, &url.host, url.port) != (target.scheme, &target.host, target.port) {
            left_out.elsewhere += 1;
            continue;
        }
        let spec = spec_of(request, url.path, credentials, &mut left_out)?;
        let key = (spec.method.clone(), spec.path.clone(), spec.headers.clone(), spec.body.clone());
        match places.entry(key) {
            Entry::Occupied(place) => specs[*place.get()].weight += 1,
            Entry::Vacant(place) => {
                place.insert(specs.len());
                specs.push(spec);
            }
        }
    }
    let invalid = left_out.invalid_because.clone();
    let url = target.ok_or_else(|| {
        let complaint = Complaint::usage("the archive contains no request to http:// or https://");
        if invalid.is_empty() { complaint } else { complaint.hint(invalid) }
    })?;
    check_count(&specs, &url)?;
    name_all(&mut specs);
    let notices = left_out.notices(&url);
    Ok(HarMix { url, specs, notices })
}

fn check_count(specs: &[RequestSpec], url: &Url) -> Result<(), Complaint> {
    if specs.is_empty() {
        return Err(Complaint::usage(format!(
            "no request in the archive is for {}://{}",
            url.scheme.name(),
            url.authority()
        ))
        .hint("remove the URL: the load is then sent to the host of the first request in the file"));
    }
    if specs.len() > MAX_REQUESTS {
        let what =
            format!("the archive has {} different requests; the maximum is {MAX_REQUESTS}", specs.len());
        return Err(Complaint::usage(what).hint("record fewer requests, or remove entries from the file"));
    }
    Ok(())
}

impl LeftOut {
    /// Counts a request whose URL is invalid or of another scheme, such as `data:`.
    fn no_target(&mut self, url: &str, error: &RequestError) {
        if !url.starts_with("http") {
            self.elsewhere += 1;
            return;
        }
        self.invalid += 1;
        if self.invalid_because.is_empty() {
            self.invalid_because = error.to_string();
        }
    }

    fn no_body(&mut self, request: &HarRequest) {
        self.without_body += 1;
        if self.without_body_first.is_empty() {
            self.without_body_first = format!("{} {}", request.method, request.url);
        }
    }

    fn notices(&self, url: &Url) -> Vec<String> {
        let requests = |count: u64| counted(count, "request", "requests");
        let elsewhere = || {
            let target = format!("{}://{}", url.scheme.name(), url.authority());
            format!("skipped {}, because they are not for {target}", requests(self.elsewhere))
        };
        let invalid = || {
            format!(
                "skipped {} with an invalid URL; the first: {}",
                requests(self.invalid),
                self.invalid_because
            )
        };
        let without_body = || {
            format!(
                "the archive does not contain the whole body of {}, of which that part is sent empty; the first: {}",
                requests(self.without_body),
                self.without_body_first
            )
        };
        let all: [(u64, &dyn Fn() -> String); 3] =
            [(self.elsewhere, &elsewhere), (self.invalid, &invalid), (self.without_body, &without_body)];
        let notices = all.iter().filter(|(count, _)| *count > 0);
        notices.map(|(_, notice)| format!("paceline: --har: {}", notice())).collect()
    }
}

fn spec_of(
    request: HarRequest,
    path: String,
    credentials: Option<String>,
    left_out: &mut LeftOut,
) -> Result<RequestSpec, Complaint> {
    let body = body_of(&request, left_out)?;
    let path = with_query(path, &request.query_string);
    let is_sent = |field: &HarField| {
        !field.name.starts_with(':') && !LEFT_OUT.iter().any(|name| name.eq_ignore_ascii_case(&field.name))
    };
    let fields = request.headers.into_iter().filter(is_sent);
    let fields = fields.map(|field| (field.name, field.value.unwrap_or_default()));
    let mut headers = Headers(fields.collect());
    if let Some(credentials) = credentials {
        headers.set_default("Authorization", credentials);
    }
    let cookies: Vec<_> =
        request.cookies.iter().map(|cookie| format!("{}={}", cookie.name, cookie.value())).collect();
    if !cookies.is_empty() {
        headers.set_default("Cookie", cookies.join("; "));
    }
    if let Some((_, content_type)) = &body
        && !content_type.is_empty()
    {
        match body {
            // The parts are separated by this boundary, not by the recorded one.
            Some((Content::Multipart { .. }, _)) => {
                headers.0.retain(|(name, _)| !name.eq_ignore_ascii_case("Content-Type"));
                headers.0.push(("Content-Type".to_owned(), content_type.clone()));
            }
            _ => headers.set_default("Content-Type", content_type),
        }
    }
    Ok(RequestSpec {
        method: request.method,
        path: Some(path),
        headers,
        body: body.map(|(body, _)| body),
        literal: true,
        ..RequestSpec::default()
    })
}

/// The path with the recorded query, if the recorded URL has none.
fn with_query(path: String, query: &[HarField]) -> String {
    if path.contains('?') || query.is_empty() {
        return path;
    }
    let fields: Vec<_> = query.iter().map(|field| (field.name.as_str(), field.value())).collect();
    format!("{path}?{}", form::encoded_fields(&fields))
}

/// The body, and its type.
fn body_of(request: &HarRequest, left_out: &mut LeftOut) -> Result<Option<(Content, String)>, Complaint> {
    let Some(data) = &request.post_data else {
        if request.body_size > 0 {
            left_out.no_body(request);
        }
        return Ok(None);
    };
    let kind = data.mime_type.clone();
    let is_multipart = kind.to_ascii_lowercase().starts_with("multipart/");
    let text = data.text.as_deref().unwrap_or_default();
    let body = match (text, data.params.as_slice()) {
        ("", []) => {
            if request.body_size > 0 {
                left_out.no_body(request);
            }
            (Content::Text(String::new()), kind)
        }
        ("", params) if is_multipart => {
            if params.iter().any(|param| param.file_name.is_some() && param.value.is_none()) {
                left_out.no_body(request);
            }
            form::multipart_of(params.iter().map(HarParam::to_part).collect())
        }
        ("", params) => {
            let field = |param: &HarParam| (param.name.clone(), param.value.clone().unwrap_or_default());
            let fields: Vec<_> = params.iter().map(field).collect();
            let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            (Content::Text(form::encoded_fields(&fields)), kind)
        }
        (text, _) => (data.decoded(text, request)?, kind),
    };
    Ok(Some(body))
}

impl HarField {
    fn value(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }
}

impl HarPostData {
    /// The body that is recorded as text.
    fn decoded(&self, text: &str, request: &HarRequest) -> Result<Content, Complaint> {
        match self.encoding.as_deref() {
            None | Some("") => Ok(Content::Text(text.to_owned())),
            Some(coding) if coding.eq_ignore_ascii_case("base64") => {
                let bytes = BASE64_STANDARD.decode(text).map_err(|error| {
                    let of = format!("{} {}", request.method, request.url);
                    Complaint::usage(format!("the body of {of} is not valid base64: {error}"))
                })?;
                Ok(Content::of_bytes(bytes))
            }
            Some(other) => Err(Complaint::usage(format!(
                "the body of {} {} has the unknown encoding {other:?}",
                request.method, request.url
            ))),
        }
    }
}

impl HarParam {
    fn to_part(&self) -> FormPart {
        FormPart {
            name: self.name.clone(),
            content: Box::new(Content::Text(self.value.clone().unwrap_or_default())),
            file_name: self.file_name.clone(),
            content_type: self.content_type.clone(),
        }
    }
}

/// Gives each request a unique name.
fn name_all(specs: &mut [RequestSpec]) {
    let mut names: Vec<String> = Vec::new();
    for spec in specs {
        let path = spec.path.as_deref().unwrap_or("/");
        let plain = format!("{} {}", spec.method, path.split('?').next().unwrap_or(path));
        let taken = names.iter().filter(|name| **name == plain).count();
        names.push(plain.clone());
        spec.name = Some(if taken == 0 { plain } else { format!("{plain} ({})", taken + 1) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn archive(urls: &[(&str, &str)]) -> HarArchive {
        let entry = |(method, url): &(&str, &str)| {
            json!({ "request": { "method": method, "url": url, "httpVersion": "HTTP/2",
                "headers": [{ "name": ":authority", "value": "h" }, { "name": "accept", "value": "*/*" }] } })
        };
        let entries: Vec<_> = urls.iter().map(entry).collect();
        serde_json::from_value(json!({ "log": { "version": "1.2", "entries": entries } })).unwrap()
    }

    #[test]
    fn requests_to_one_target_are_a_mix() {
        let entries = [
            ("GET", "http://h/a?x=1"),
            ("GET", "http://h/a?x=2"),
            ("GET", "http://h/a?x=1"),
            ("GET", "http://other/a"),
            ("GET", "data:text/plain,x"),
            ("POST", "http://h/a"),
        ];
        let requests = requests(archive(&entries), None).unwrap();
        assert_eq!(requests.url.host, "h");
        let reported: Vec<_> =
            requests.specs.iter().map(|spec| (spec.shown_name().to_owned(), spec.weight)).collect();
        let expected = [("GET /a", 2), ("GET /a (2)", 1), ("POST /a", 1)];
        assert_eq!(reported, expected.map(|(name, weight)| (name.to_owned(), weight)));
        assert_eq!(requests.specs[0].headers.0, [("accept".to_owned(), "*/*".to_owned())]);
        assert!(requests.notices[0].contains("skipped 2 requests"));
    }

    /// The single request of an archive with this `request`, and what was left out.
    fn single(request: serde_json::Value) -> (RequestSpec, Vec<String>) {
        let archive = json!({ "log": { "entries": [{ "request": request }] } });
        let mut found = requests(serde_json::from_value(archive).unwrap(), None).unwrap();
        (found.specs.remove(0), found.notices)
    }

    #[test]
    fn bodies_are_read_in_each_of_their_forms() {
        let body = |data: serde_json::Value| {
            let request = json!({ "method": "POST", "url": "http://h/", "bodySize": 9, "postData": data });
            let (spec, notices) = single(request);
            (spec.headers.get("Content-Type").unwrap().to_owned(), spec.body.unwrap(), notices.len())
        };
        let form = "application/x-www-form-urlencoded";
        let params = json!([{ "name": "user", "value": "a n" }, { "name": "x" }]);
        let text = |kind: &str, text: &str| (kind.to_owned(), Content::Text(text.to_owned()), 0);
        assert_eq!(body(json!({ "mimeType": form, "params": params })), text(form, "user=a+n&x="));
        assert_eq!(body(json!({ "mimeType": form, "text": "a=%20", "params": params })), text(form, "a=%20"));
        let packed = json!({ "mimeType": "a/b", "text": "aGVsbG8=", "encoding": "base64" });
        assert_eq!(body(packed), text("a/b", "hello"));
        let binary = json!({ "mimeType": "a/b", "text": "/w==", "encoding": "base64" });
        assert_eq!(body(binary).1, Content::Base64 { base64: "/w==".to_owned() });
        let (kind, parts, left_out) = body(
            json!({ "mimeType": "multipart/form-data; boundary=x", "params": [
            { "name": "a", "value": "1" }, { "name": "f", "fileName": "f.txt", "contentType": "text/plain" }] }),
        );
        let Content::Multipart { boundary, parts } = parts else { panic!("{parts:?}") };
        assert_eq!(kind, format!("multipart/form-data; boundary={boundary}"));
        assert_eq!((parts.len(), parts[1].file_name.as_deref(), left_out), (2, Some("f.txt"), 1));
        assert_eq!(body(json!({ "mimeType": form, "text": "" })).2, 1, "the archive has no body of 9 bytes");
    }

    #[test]
    fn credentials_cookies_and_queries_are_sent() {
        let (spec, notices) = single(json!({ "method": "GET", "url": "http://a:b@h/p%2Fq",
            "cookies": [{ "name": "c", "value": "1" }, { "name": "d", "value": "2" }],
            "queryString": [{ "name": "q", "value": "a b" }] }));
        assert_eq!(spec.path.as_deref(), Some("/p%2Fq?q=a+b"));
        assert_eq!(spec.headers.get("Authorization"), Some("Basic YTpi"));
        assert_eq!(spec.headers.get("Cookie"), Some("c=1; d=2"));
        assert!(notices.is_empty());
        let (spec, _) = single(json!({ "method": "GET", "url": "http://h/",
            "headers": [{ "name": "x", "value": null }], "queryString": [{ "name": "q", "value": null }] }));
        assert_eq!((spec.path.as_deref(), spec.headers.get("x")), (Some("/?q="), Some("")));
        let entries = [("GET", "http://h/"), ("GET", "http://h/a b")];
        let notices = requests(archive(&entries), None).unwrap().notices;
        assert!(notices[0].contains("skipped 1 request with an invalid URL"), "{notices:?}");
    }

    #[test]
    fn archives_without_a_request_for_the_target_are_refused() {
        assert!(requests(archive(&[]), None).is_err());
        let url = Url::parse_http("http://g/").unwrap();
        assert!(
            requests(archive(&[("GET", "http://h/")]), Some(&url)).unwrap_err().what.contains("http://g")
        );
        let many: Vec<String> = (0..=MAX_REQUESTS).map(|at| format!("http://h/{at}")).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|url| ("GET", url.as_str())).collect();
        assert!(requests(archive(&many), None).unwrap_err().what.contains("101 different requests"));
    }
}
