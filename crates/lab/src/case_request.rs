//! The requests of a case as arguments of `paceline run`: the URL, what is sent, and what is expected.
//!
//! The load of a trial, its warm-up, and the checks of protocols that the probe does not speak send the same requests.

use paceline_catalogue::{CERTIFICATE_NAME, ExpectedBody, RequestBody, WorkloadCase, hex, toml_text};
use paceline_job::{Nanos, StreamSpec};
use paceline_record::WorkloadProtocol;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The decoded bodies that passed validation, by the address of their request.
pub(crate) type ValidatedBodies = BTreeMap<String, Vec<u8>>;

/// A case, and where it is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CaseRequest<'a> {
    pub case: &'a WorkloadCase,
    /// Where the server answers its protocol.
    pub address: SocketAddr,
    /// The server's certificate, if it is asked over TLS.
    pub certificate: Option<&'a Path>,
}

impl CaseRequest<'_> {
    /// The URL. The requests of a mix have their own paths.
    pub fn url(&self) -> String {
        let scheme = self.case.protocol.scheme(self.certificate.is_some());
        let path = if self.case.mix.is_empty() { self.case.path.as_str() } else { "/" };
        format!("{scheme}://{}{path}", self.address)
    }

    /// The flags of what is sent and expected. `validated` has the bodies that passed validation, which the responses
    /// of HTTP must equal.
    ///
    /// # Errors
    /// In words: a file cannot be written, or there is no such body.
    pub fn flags(&self, bodies: BodyFolder<'_>, validated: &ValidatedBodies) -> Result<Vec<String>, String> {
        let mut flags = FlagList::default();
        let is_mix = !self.case.mix.is_empty();
        if is_mix {
            let requests: Vec<&WorkloadCase> = self.case.mix.iter().collect();
            let text = mix_of(&requests, bodies, Some(validated))?;
            flags.add("--mix", bodies.keep(text.as_bytes())?.display().to_string());
        } else {
            self.add_request(&mut flags, bodies)?;
        }
        if let Some(certificate) = self.certificate {
            flags.add("--cacert", certificate.display().to_string());
            flags.add("--sni", CERTIFICATE_NAME.to_owned());
        }
        if let Some(stream) = &self.case.stream {
            add_stream(&mut flags, stream);
        }
        match self.case.protocol {
            // The file has what is expected of each.
            _ if is_mix => {}
            WorkloadProtocol::Http => self.expect_response(&mut flags, bodies, validated)?,
            WorkloadProtocol::WebSocket => self.expect_answer(&mut flags, bodies)?,
            WorkloadProtocol::Grpc => self.expect_call(&mut flags),
        }
        Ok(flags.0)
    }

    fn add_request(&self, flags: &mut FlagList, bodies: BodyFolder<'_>) -> Result<(), String> {
        let case = self.case;
        if case.protocol == WorkloadProtocol::Http && case.method != "GET" {
            flags.add("-X", case.method.clone());
        }
        if let Some(proto) = &case.proto {
            flags.add("--proto", proto.display().to_string());
        }
        for (name, value) in &case.headers.0 {
            flags.add("-H", format!("{name}: {value}"));
        }
        if let Some(body) = &case.body {
            flags.add("--body", bodies.argument(body)?);
            flags.0.extend(case.chunk_bytes.map(|size| format!("--chunked={size}")));
            flags.0.push("--literal".to_owned());
        }
        Ok(())
    }

    fn expect_response(
        &self,
        flags: &mut FlagList,
        bodies: BodyFolder<'_>,
        validated: &ValidatedBodies,
    ) -> Result<(), String> {
        flags.add("--expect-status", self.case.expect.status.to_string());
        match &self.case.expect.body {
            // Its events are checked as they come.
            _ if self.case.stream.is_some() => {}
            ExpectedBody::Any => {}
            ExpectedBody::JsonForm(form) => {
                let form = serde_json::to_string(form).map_err(|error| error.to_string())?;
                flags.add("--expect-json-form", form);
            }
            ExpectedBody::Exact(_)
            | ExpectedBody::Digest { .. }
            | ExpectedBody::Json(_)
            | ExpectedBody::Html(_) => {
                flags.add("--expect-body", format!("@{}", bodies.validated(self.case, validated)?.display()));
            }
        }
        Ok(())
    }

    /// Without a flag, the answer of a WebSocket must equal the message.
    fn expect_answer(&self, flags: &mut FlagList, bodies: BodyFolder<'_>) -> Result<(), String> {
        let sent = self.case.body.as_ref().map(RequestBody::bytes).unwrap_or_default();
        match &self.case.expect.body {
            ExpectedBody::Exact(answer) if *answer != sent => {
                flags.add("--expect-body", format!("@{}", bodies.keep(answer)?.display()));
            }
            _ => {}
        }
        Ok(())
    }

    fn expect_call(&self, flags: &mut FlagList) {
        if let Some(status) = &self.case.expect.grpc_status {
            flags.add("--expect-grpc-status", status.clone());
        }
        if let ExpectedBody::Json(value) = &self.case.expect.body {
            flags.add("--expect-body", value.to_string());
        }
    }
}

fn add_stream(flags: &mut FlagList, stream: &StreamSpec) {
    let StreamSpec { format, events, length, until, count_json, message_time } = stream;
    flags.add("--stream", format.name().to_owned());
    flags.add_some("--stream-events", events.map(|events| events.to_string()));
    flags.add_some("--stream-for", length.map(|Nanos(length)| format!("{length}ns")));
    flags.add_some("--stream-until", until.clone());
    flags.add_some("--count-json", count_json.clone());
    flags.add_some("--message-time", message_time.clone());
}

/// Single requests of HTTP as a file for `--mix`, with their weights. A request is taken literally, so that its path is
/// not a template, unless a load sends a template instead. With `validated`, each response must have the body that
/// passed validation, or its form.
///
/// # Errors
/// As [`CaseRequest::flags`].
pub(crate) fn mix_of(
    requests: &[&WorkloadCase],
    bodies: BodyFolder<'_>,
    validated: Option<&ValidatedBodies>,
) -> Result<String, String> {
    requests.iter().map(|request| mixed_request(request, bodies, validated)).collect()
}

/// One request of such a file.
fn mixed_request(
    request: &WorkloadCase,
    bodies: BodyFolder<'_>,
    validated: Option<&ValidatedBodies>,
) -> Result<String, String> {
    let file = |path: PathBuf| toml_text(&path.display().to_string());
    let load = request.load.as_ref();
    let path = load.map_or(&request.path, |load| &load.path);
    let mut lines = vec![
        "[[request]]".to_owned(),
        format!("name = {}", toml_text(&request.address)),
        format!("method = {}", toml_text(&request.method)),
        format!("path = {}", toml_text(path)),
        format!("weight = {}", request.weight),
        format!("literal = {}", load.is_none()),
        format!("expect_status = {}", request.expect.status),
    ];
    if !request.headers.is_empty() {
        let field = |(name, value): &(String, String)| format!("{} = {}", toml_text(name), toml_text(value));
        let fields: Vec<String> = request.headers.0.iter().map(field).collect();
        lines.push(format!("headers = {{ {} }}", fields.join(", ")));
    }
    match (load.and_then(|load| load.body.as_ref()), &request.body) {
        (Some(body), _) => lines.push(format!("body = {}", toml_text(body))),
        (None, Some(body)) => lines.push(format!("body_file = {}", file(bodies.keep(&body.bytes())?))),
        (None, None) => {}
    }
    lines.extend(request.chunk_bytes.map(|size| format!("chunk_bytes = {size}")));
    if let Some(validated) = validated {
        lines.push(match &request.expect.body {
            ExpectedBody::JsonForm(form) => {
                let form = serde_json::to_string(form).map_err(|error| error.to_string())?;
                format!("expect_json_form = {}", toml_text(&form))
            }
            ExpectedBody::Exact(_)
            | ExpectedBody::Digest { .. }
            | ExpectedBody::Json(_)
            | ExpectedBody::Html(_)
            | ExpectedBody::Any => {
                format!("expect_body_file = {}", file(bodies.validated(request, validated)?))
            }
        });
    }
    Ok(lines.join("\n") + "\n")
}

/// The flags of a command, in order.
#[derive(Default)]
pub(crate) struct FlagList(pub Vec<String>);

impl FlagList {
    /// Adds a flag with its value.
    pub fn add(&mut self, flag: &str, value: String) {
        self.0.extend([flag.to_owned(), value]);
    }

    /// Adds a flag if it has a value.
    pub fn add_some(&mut self, flag: &str, value: Option<String>) {
        if let Some(value) = value {
            self.add(flag, value);
        }
    }
}

/// A folder for the bodies that a generator reads: expected ones, and those that it sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyFolder<'a>(pub &'a Path);

impl BodyFolder<'_> {
    /// The value of `--body`: a text, or a file.
    fn argument(self, body: &RequestBody) -> Result<String, String> {
        match body {
            RequestBody::Text(text) if !text.starts_with('@') => Ok(text.clone()),
            RequestBody::Text(_) | RequestBody::Filler(_) => {
                Ok(format!("@{}", self.keep(&body.bytes())?.display()))
            }
        }
    }

    /// Keeps the body of a request that passed validation.
    ///
    /// # Errors
    /// In words: there is none, or its file cannot be written.
    fn validated(self, request: &WorkloadCase, bodies: &ValidatedBodies) -> Result<PathBuf, String> {
        match bodies.get(&request.address) {
            Some(body) => self.keep(body),
            None => Err(format!("there is no validated response body for {}", request.address)),
        }
    }

    /// Writes a body to a file named by its digest, so that equal ones share a file. Other readers, including other
    /// rounds, always find the whole file, and a complete one is never rewritten.
    ///
    /// # Errors
    /// In words, with the file.
    pub fn keep(self, body: &[u8]) -> Result<PathBuf, String> {
        let path = self.0.join(hex(&Sha256::digest(body)[..8]));
        if fs::read(&path).is_ok_and(|kept| kept == body) {
            return Ok(path);
        }
        let written = fs::create_dir_all(self.0).and_then(|()| paceline_files::replace(&path, body));
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_catalogue::Workload;
    use paceline_catalogue::fixture::TestTree;
    use paceline_job::{BodyExpectation, Content, JsonForm};

    /// The only workload of a tree, whose text this is.
    fn workload(tree: &TestTree, text: &str) -> Workload {
        tree.write("workloads/some.toml", &format!("about = \"x\"\n{text}"));
        Workload::read(&tree.path("workloads/some.toml")).unwrap()
    }

    /// A validated body for every request of a workload.
    fn validated(workload: &Workload) -> ValidatedBodies {
        workload.requests().map(|request| (request.address.clone(), b"validated".to_vec())).collect()
    }

    /// The URL and the flags of the first case of a workload.
    fn command(text: &str, certificate: Option<&Path>) -> String {
        let tree = TestTree::new();
        let workload = workload(&tree, text);
        let address = "127.0.0.1:20000".parse().unwrap();
        let request = CaseRequest { case: &workload.cases[0], address, certificate };
        let bodies = tree.path("bodies");
        let flags = request.flags(BodyFolder(&bodies), &validated(&workload)).unwrap().join(" ");
        let flags = flags.replace(&bodies.display().to_string(), "BODIES");
        format!(
            "{} {}",
            request.url(),
            flags.replace(&tree.path("workloads").display().to_string(), "WORKLOADS")
        )
    }

    #[test]
    fn every_protocol_has_its_url_and_flags() {
        let http = "[[case]]\npath = \"/hello\"\nexpect = { status = 200, body = \"x\" }\n";
        let digest = hex(&Sha256::digest(b"validated")[..8]);
        assert_eq!(
            command(http, None),
            format!("http://127.0.0.1:20000/hello --expect-status 200 --expect-body @BODIES/{digest}")
        );
        let upload = http.replace("expect", "body_bytes = 3\nexpect");
        let sent = hex(&Sha256::digest(RequestBody::Filler(3).bytes())[..8]);
        assert_eq!(
            command(&upload, Some(Path::new("/c.pem"))),
            format!(
                "https://127.0.0.1:20000/hello -X POST --body @BODIES/{sent} --literal --cacert /c.pem --sni localhost \
                 --expect-status 200 --expect-body @BODIES/{digest}"
            )
        );
        let chunked = upload.replace("expect", "chunk_bytes = 2\nheaders = { X-A = \"b c\" }\nexpect");
        assert_eq!(
            command(&chunked, None),
            format!(
                "http://127.0.0.1:20000/hello -X POST -H X-A: b c --body @BODIES/{sent} --chunked=2 --literal \
                 --expect-status 200 --expect-body @BODIES/{digest}"
            )
        );
        let sse = format!("[stream]\nformat = \"sse\"\nuntil = \"[DONE]\"\n{http}");
        assert_eq!(
            command(&sse, None),
            "http://127.0.0.1:20000/hello --stream sse --stream-until [DONE] --expect-status 200"
        );
        let echo =
            "protocol = \"websocket\"\n[[case]]\npath = \"/ws\"\nbody = \"a\"\nexpect = { body = \"a\" }\n";
        assert_eq!(command(echo, None), "ws://127.0.0.1:20000/ws --body a --literal");
        let other = command(&echo.replace("expect = { body = \"a\"", "expect = { body = \"b\""), None);
        assert!(other.contains(" --expect-body @BODIES/"), "{other}");
        let call = "protocol = \"grpc\"\nproto = \"a.proto\"\n[[case]]\npath = \"/a.B/C\"\nbody = '{\"n\": 1}'\n\
                    expect = { json = '{\"n\": 2}' }\n";
        assert_eq!(
            command(call, None),
            "grpc://127.0.0.1:20000/a.B/C --proto WORKLOADS/a.proto --body {\"n\": 1} --literal --expect-body {\"n\":2}"
        );
        let refused = call.replace("json = '{\"n\": 2}'", "grpc_status = \"NOT_FOUND\"");
        assert!(command(&refused, None).ends_with(" --expect-grpc-status NOT_FOUND"));
    }

    #[test]
    fn a_mix_is_a_valid_request_file_with_everything_that_is_sent_and_expected() {
        let tree = TestTree::new();
        let workload = workload(
            &tree,
            "mix = true\nheaders = { Accept-Encoding = \"gzip, br\" }\n\
             [[case]]\nname = \"get\"\npath = \"/a?b={seq}\"\nexpect = { status = 200, body = \"x\" }\n\
             [[case]]\nname = \"post\"\npath = \"/b\"\nbody = \"20\"\nchunk_bytes = 1\n\
             expect = { status = 201, body = \"x\" }\n",
        );
        let bodies = tree.path("bodies");
        let address = "127.0.0.1:20000".parse().unwrap();
        let request = CaseRequest { case: &workload.cases[0], address, certificate: None };
        let flags = request.flags(BodyFolder(&bodies), &validated(&workload)).unwrap();
        assert_eq!((request.url().as_str(), flags.len()), ("http://127.0.0.1:20000/", 2));
        assert_eq!(flags[0], "--mix");
        let text = fs::read_to_string(&flags[1]).unwrap();
        let read = paceline_catalogue::RequestFile::from_text(Path::new("mix.toml"), &text);
        let read = read.unwrap_or_else(|error| panic!("{error}: {text}"));
        let [get, post] = &read.requests[..] else { panic!("{text}") };
        assert_eq!(
            (get.spec.name.as_deref(), get.spec.path.as_deref()),
            (Some("some/get"), Some("/a?b={seq}"))
        );
        assert_eq!((get.spec.weight, post.spec.weight), (1, 1));
        assert!(get.spec.literal && get.spec.body.is_none() && post.spec.body.is_some());
        assert_eq!(post.spec.headers.get("accept-encoding"), Some("gzip, br"));
        assert_eq!((post.spec.method.as_str(), post.spec.chunk_bytes.map(u32::from)), ("POST", Some(1)));
        assert_eq!((get.spec.expect_status, post.spec.expect_status), (Some(200), Some(201)));
        assert!(get.spec.expect_body.is_some() && post.spec.expect_body.is_some());
        let missing = request.flags(BodyFolder(&bodies), &ValidatedBodies::new()).unwrap_err();
        assert_eq!(missing, "there is no validated response body for some/get");
    }

    #[test]
    fn a_load_sends_templates_by_weight_and_expects_the_form() {
        let tree = TestTree::new();
        let workload = workload(
            &tree,
            "mix = true\n\
             [[case]]\nname = \"get\"\npath = \"/a/7\"\nweight = 15\nload = { path = \"/a/{rand:1:9}\" }\n\
             expect = { status = 200, json_form = '{\"id\": \"1..9\"}' }\n\
             [[case]]\nname = \"post\"\npath = \"/a\"\nbody = \"7\"\n\
             load = { path = \"/a\", body = '{\"id\": {seq:10}}' }\n\
             expect = { status = 201, json_form = '\"any\"' }\n",
        );
        let requests: Vec<&WorkloadCase> = workload.requests().collect();
        let bodies = tree.path("bodies");
        let text = mix_of(&requests, BodyFolder(&bodies), Some(&ValidatedBodies::new())).unwrap();
        let read = paceline_catalogue::RequestFile::from_text(Path::new("mix.toml"), &text);
        let read = read.unwrap_or_else(|error| panic!("{error}: {text}"));
        let [get, post] = &read.requests[..] else { panic!("{text}") };
        assert_eq!((get.spec.path.as_deref(), get.spec.weight), (Some("/a/{rand:1:9}"), 15));
        assert!(!get.spec.literal && !post.spec.literal);
        assert_eq!(post.spec.body, Some(Content::Text("{\"id\": {seq:10}}".to_owned())));
        let forms = ["{\"id\": \"1..9\"}", "\"any\""].map(|form| JsonForm::parse(form).unwrap());
        for (request, form) in [get, post].into_iter().zip(forms) {
            assert_eq!(request.spec.expect_body, Some(BodyExpectation::JsonForm(form)));
        }
        // A warm-up checks no body.
        let text = mix_of(&requests, BodyFolder(&bodies), None).unwrap();
        assert!(!text.contains("expect_json_form") && text.contains("{rand:1:9}"), "{text}");
    }

    #[test]
    fn a_body_is_written_once_and_completely() {
        use std::os::unix::fs::MetadataExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = |path: &Path| fs::metadata(path).map(|about| (about.ino(), about.mtime_nsec())).unwrap();
        let keep = || BodyFolder(folder.path()).keep(b"Hello World\n");
        let path = keep().unwrap();
        let first = file(&path);
        assert_eq!(keep().as_ref(), Ok(&path));
        assert_eq!(file(&path), first, "it was written again");
        // A file truncated by a crash is replaced by a new file, so that a reader of the old one is not disturbed.
        fs::write(&path, b"Hello").unwrap();
        let mut reader = fs::File::open(&path).unwrap();
        keep().unwrap();
        let mut half = String::new();
        std::io::Read::read_to_string(&mut reader, &mut half).unwrap();
        let whole = fs::read(&path).unwrap();
        assert_eq!((half.as_str(), whole.as_slice()), ("Hello", b"Hello World\n".as_slice()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
