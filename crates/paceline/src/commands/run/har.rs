//! `--har FILE`: converts requests that a browser recorded (HTTP Archive 1.2) into a mix.
//!
//! Only requests to one host and port are used, since a run loads one target; the number of others is reported. The
//! weight of a request is the number of times it was recorded.

use crate::exit::Complaint;
use anyhow::Context as _;
use paceline_catalogue::REQUESTS_MOST;
use paceline_http::Url;
use paceline_job::{Content, Headers, RequestSpec};
use paceline_run::Inputs;
use paceline_stats::counted;
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

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarRequest {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<HarField>,
    post_data: Option<HarPostData>,
}

#[derive(serde::Deserialize)]
struct HarField {
    name: String,
    value: String,
}

#[derive(serde::Deserialize)]
struct HarPostData {
    #[serde(default)]
    text: String,
}

/// The requests of an archive to one target.
#[derive(Debug)]
pub struct HarMix {
    /// The target: the one given, or that of the first request.
    pub url: Url,
    pub specs: Vec<RequestSpec>,
    /// What was left out, as text.
    pub notice: Option<String>,
}

/// Reads an archive; `target` is the URL of the command line.
pub fn read(path: &Path, target: Option<&Url>, inputs: &mut Inputs) -> anyhow::Result<HarMix> {
    let wrong = || Complaint::usage(format!("--har {}", path.display()));
    let bytes = inputs.read("--har", path).with_context(wrong)?;
    let archive: HarArchive = serde_json::from_slice(&bytes).with_context(wrong)?;
    Ok(requests(archive, target)
        .map_err(|error| Complaint { what: format!("--har {}: {}", path.display(), error.what), ..error })?)
}

fn requests(archive: HarArchive, target: Option<&Url>) -> Result<HarMix, Complaint> {
    let mut target = target.cloned();
    let mut specs: Vec<RequestSpec> = Vec::new();
    let mut elsewhere = 0;
    for HarEntry { request } in archive.log.entries {
        let Ok(url) = Url::parse(&request.url) else {
            elsewhere += 1;
            continue;
        };
        let target = target.get_or_insert_with(|| url.clone());
        if (url.scheme, &url.host, url.port) != (target.scheme, &target.host, target.port) {
            elsewhere += 1;
            continue;
        }
        let spec = spec_of(request, url.path);
        let same = specs.iter_mut().find(|known| {
            (&known.method, &known.path, &known.headers, &known.body)
                == (&spec.method, &spec.path, &spec.headers, &spec.body)
        });
        match same {
            Some(known) => known.weight += 1,
            None => specs.push(spec),
        }
    }
    let url =
        target.ok_or_else(|| Complaint::usage("the archive contains no request to http:// or https://"))?;
    if specs.is_empty() {
        return Err(Complaint::usage(format!(
            "no request in the archive is for {}://{}",
            url.scheme.name(),
            url.authority()
        ))
        .hint("remove the URL: the load is then sent to the host of the first request in the file"));
    }
    if specs.len() > REQUESTS_MOST {
        let what =
            format!("the archive has {} different requests; the maximum is {REQUESTS_MOST}", specs.len());
        return Err(Complaint::usage(what).hint("record fewer requests, or remove entries from the file"));
    }
    name_all(&mut specs);
    let notice = (elsewhere > 0).then(|| {
        let left_out = counted(elsewhere, "request", "requests");
        format!(
            "paceline: --har: skipped {left_out}, because they are not for {}://{}",
            url.scheme.name(),
            url.authority()
        )
    });
    Ok(HarMix { url, specs, notice })
}

fn spec_of(request: HarRequest, path: String) -> RequestSpec {
    let is_sent = |field: &HarField| {
        !field.name.starts_with(':') && !LEFT_OUT.iter().any(|name| name.eq_ignore_ascii_case(&field.name))
    };
    let fields = request.headers.into_iter().filter(is_sent).map(|field| (field.name, field.value));
    RequestSpec {
        method: request.method,
        path: Some(path),
        headers: Headers(fields.collect()),
        body: request.post_data.map(|data| Content::Text(data.text)),
        literal: true,
        ..RequestSpec::default()
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
        assert!(requests.notice.unwrap().contains("skipped 2 requests"));
    }

    #[test]
    fn archives_without_a_request_for_the_target_are_refused() {
        assert!(requests(archive(&[]), None).is_err());
        let url = Url::parse("http://g/").unwrap();
        assert!(
            requests(archive(&[("GET", "http://h/")]), Some(&url)).unwrap_err().what.contains("http://g")
        );
        let many: Vec<String> = (0..=REQUESTS_MOST).map(|at| format!("http://h/{at}")).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|url| ("GET", url.as_str())).collect();
        assert!(requests(archive(&many), None).unwrap_err().what.contains("101 different requests"));
    }
}
