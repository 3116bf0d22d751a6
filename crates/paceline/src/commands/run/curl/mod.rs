//! `--curl 'curl ...'`: converts a curl command line, as browsers copy it, into a job.
//!
//! The request is sent literally, without placeholders. Flags that only change what curl prints are ignored; any other
//! unknown flag is an error, since without it the request would be different.

mod connection;
mod data;
mod globbing;
mod words;

use super::form;
use super::target::without_user_info;
use crate::exit::Complaint;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use connection::ConnectionSetting;
use data::{Data, Encoding};
use paceline_http::Scheme;
use paceline_job::{Content, Headers, IpVersion, Job, Protocol, TlsVersion};
use paceline_run::Inputs;
use std::path::Path;

/// The meaning of a curl flag.
#[derive(Clone, Copy)]
enum CurlFlag {
    Method,
    Header,
    Data(Encoding),
    Json,
    Part,
    Upload,
    DataInQuery,
    Head,
    User,
    Bearer,
    Agent,
    Referer,
    Cookie,
    Insecure,
    Compressed,
    NoGlobbing,
    Http(Protocol),
    Connect(ConnectionSetting),
    Follow,
    MostRedirects,
    Url,
    /// Does not change the request.
    Ignored,
    /// The same, with a value.
    IgnoredValue,
}

/// The curl flags that are supported.
const FLAGS: &[(&str, &str, CurlFlag)] = &[
    ("-X", "--request", CurlFlag::Method),
    ("-H", "--header", CurlFlag::Header),
    ("-d", "--data", CurlFlag::Data(Encoding::Lines)),
    ("", "--data-ascii", CurlFlag::Data(Encoding::Lines)),
    ("", "--data-binary", CurlFlag::Data(Encoding::Binary)),
    ("", "--data-raw", CurlFlag::Data(Encoding::Raw)),
    ("", "--data-urlencode", CurlFlag::Data(Encoding::Percent)),
    ("", "--json", CurlFlag::Json),
    ("-F", "--form", CurlFlag::Part),
    ("-T", "--upload-file", CurlFlag::Upload),
    ("-G", "--get", CurlFlag::DataInQuery),
    ("-I", "--head", CurlFlag::Head),
    ("-u", "--user", CurlFlag::User),
    ("", "--oauth2-bearer", CurlFlag::Bearer),
    ("-A", "--user-agent", CurlFlag::Agent),
    ("-e", "--referer", CurlFlag::Referer),
    ("-b", "--cookie", CurlFlag::Cookie),
    ("-k", "--insecure", CurlFlag::Insecure),
    ("", "--compressed", CurlFlag::Compressed),
    ("-g", "--globoff", CurlFlag::NoGlobbing),
    ("-0", "--http1.0", CurlFlag::Http(Protocol::Http10)),
    ("", "--http1.1", CurlFlag::Http(Protocol::Http11)),
    ("", "--http2", CurlFlag::Http(Protocol::Http2)),
    ("", "--http2-prior-knowledge", CurlFlag::Http(Protocol::Http2)),
    ("", "--http3", CurlFlag::Http(Protocol::Http3)),
    ("", "--http3-only", CurlFlag::Http(Protocol::Http3)),
    ("-x", "--proxy", CurlFlag::Connect(ConnectionSetting::Proxy)),
    ("", "--resolve", CurlFlag::Connect(ConnectionSetting::Resolve)),
    ("", "--connect-to", CurlFlag::Connect(ConnectionSetting::ConnectTo)),
    ("", "--unix-socket", CurlFlag::Connect(ConnectionSetting::UnixSocket)),
    ("-4", "--ipv4", CurlFlag::Connect(ConnectionSetting::IpVersion(IpVersion::V4))),
    ("-6", "--ipv6", CurlFlag::Connect(ConnectionSetting::IpVersion(IpVersion::V6))),
    ("", "--cacert", CurlFlag::Connect(ConnectionSetting::CaFile)),
    ("-E", "--cert", CurlFlag::Connect(ConnectionSetting::CertFile)),
    ("", "--key", CurlFlag::Connect(ConnectionSetting::KeyFile)),
    // Without --tls-max curl offers all versions from this one on, and Paceline 1.2 and 1.3.
    ("", "--tlsv1.2", CurlFlag::Ignored),
    ("", "--tlsv1.3", CurlFlag::Connect(ConnectionSetting::TlsVersion(TlsVersion::Tls13))),
    ("-L", "--location", CurlFlag::Follow),
    // Redirects to other hosts are not followed.
    ("", "--location-trusted", CurlFlag::Follow),
    ("", "--max-redirs", CurlFlag::MostRedirects),
    ("", "--url", CurlFlag::Url),
    ("", "--basic", CurlFlag::Ignored),
    ("", "--path-as-is", CurlFlag::Ignored),
    ("", "--ssl-no-revoke", CurlFlag::Ignored),
    ("", "--tcp-nodelay", CurlFlag::Ignored),
    ("-q", "--disable", CurlFlag::Ignored),
    ("-s", "--silent", CurlFlag::Ignored),
    ("-S", "--show-error", CurlFlag::Ignored),
    ("-v", "--verbose", CurlFlag::Ignored),
    ("-i", "--include", CurlFlag::Ignored),
    ("", "--show-headers", CurlFlag::Ignored),
    ("-f", "--fail", CurlFlag::Ignored),
    ("", "--fail-with-body", CurlFlag::Ignored),
    ("-N", "--no-buffer", CurlFlag::Ignored),
    ("-#", "--progress-bar", CurlFlag::Ignored),
    ("", "--no-progress-meter", CurlFlag::Ignored),
    ("-O", "--remote-name", CurlFlag::Ignored),
    ("-J", "--remote-header-name", CurlFlag::Ignored),
    ("", "--create-dirs", CurlFlag::Ignored),
    ("-o", "--output", CurlFlag::IgnoredValue),
    ("", "--output-dir", CurlFlag::IgnoredValue),
    ("", "--trace-ascii", CurlFlag::IgnoredValue),
    ("-D", "--dump-header", CurlFlag::IgnoredValue),
    ("-c", "--cookie-jar", CurlFlag::IgnoredValue),
    ("-w", "--write-out", CurlFlag::IgnoredValue),
    ("-m", "--max-time", CurlFlag::IgnoredValue),
    ("", "--connect-timeout", CurlFlag::IgnoredValue),
    ("", "--retry", CurlFlag::IgnoredValue),
    ("", "--retry-delay", CurlFlag::IgnoredValue),
    ("", "--retry-max-time", CurlFlag::IgnoredValue),
    ("", "--retry-connrefused", CurlFlag::Ignored),
    ("", "--retry-all-errors", CurlFlag::Ignored),
    // It could only refuse the URL.
    ("", "--proto", CurlFlag::IgnoredValue),
];

impl CurlFlag {
    fn takes_value(self) -> bool {
        use CurlFlag::*;
        match self {
            Method | Header | Data(_) | Json | Part | Upload | User | Bearer | Agent | Referer | Cookie
            | MostRedirects | Url | IgnoredValue => true,
            Connect(setting) => setting.takes_value(),
            DataInQuery | Head | Insecure | Compressed | NoGlobbing | Http(_) | Follow | Ignored => false,
        }
    }
}

/// The default fields that curl can leave out.
const OMITTED: [&str; 2] = ["User-Agent", "Accept"];
/// The most redirects that curl follows without `--max-redirs` (curl(1)).
const CURL_REDIRECTS: u16 = 50;

/// A command line of curl.
#[derive(Debug, Default)]
pub struct CurlCommand {
    url: String,
    method: Option<String>,
    /// The fields of `-H`.
    headers: Vec<(String, String)>,
    /// The names of fields without a value: curl does not send them.
    removed: Vec<String>,
    /// The fields that other flags add, unless `-H` has or removes them. Of a name the last counts.
    added: Vec<(&'static str, String)>,
    cookies: Vec<String>,
    data: Vec<Data>,
    parts: Vec<String>,
    /// The file of `-T`.
    upload: Option<String>,
    in_query: bool,
    insecure: bool,
    no_globbing: bool,
    protocol: Option<Protocol>,
    /// The settings of the connections, each with its value.
    connection: Vec<(ConnectionSetting, String)>,
    follows: bool,
    most_redirects: Option<u16>,
}

impl CurlCommand {
    /// Reads a command line.
    pub fn parse(line: &str) -> Result<Self, Complaint> {
        let mut words = words::words(line)?.into_iter();
        if !matches!(words.next().as_deref(), Some("curl" | "curl.exe")) {
            return Err(Complaint::usage("--curl: the command does not begin with \"curl\"")
                .hint("quote the whole command: --curl 'curl -H \"A: b\" http://127.0.0.1:8080/'"));
        }
        let mut command = Self::default();
        while let Some(word) = words.next() {
            if word.starts_with("--") {
                let meaning = meaning(&word)?;
                let value = match meaning.takes_value() {
                    false => String::new(),
                    true => words.next().ok_or_else(|| no_value(&word))?,
                };
                command.take(meaning, value)?;
            } else if word.len() > 1 && word.starts_with('-') {
                command.short(&word, &mut words)?;
            } else {
                command.take(CurlFlag::Url, word)?;
            }
        }
        if command.url.is_empty() {
            return Err(Complaint::usage("--curl: the command has no URL"));
        }
        if !command.no_globbing {
            command.url = globbing::single_url(&command.url)?;
        }
        Ok(command)
    }

    /// Parses a word of short flags: `-sk`, `-XPOST`, `-d a=1`.
    fn short(&mut self, word: &str, words: &mut impl Iterator<Item = String>) -> Result<(), Complaint> {
        let flags = word.get(1..).unwrap_or_default();
        for (at, letter) in flags.char_indices() {
            let meaning = meaning(&format!("-{letter}"))?;
            if !meaning.takes_value() {
                self.take(meaning, String::new())?;
                continue;
            }
            let rest = &flags[at + letter.len_utf8()..];
            let value = match rest {
                "" => words.next().ok_or_else(|| no_value(word))?,
                rest => rest.to_owned(),
            };
            return self.take(meaning, value);
        }
        Ok(())
    }

    fn take(&mut self, meaning: CurlFlag, value: String) -> Result<(), Complaint> {
        match meaning {
            CurlFlag::Method => self.method = Some(value),
            CurlFlag::Header => self.header(&value)?,
            CurlFlag::Data(encoding) => self.data.push(Data { encoding, value }),
            CurlFlag::Json => {
                self.added.push(("Content-Type", "application/json".to_owned()));
                self.added.push(("Accept", "application/json".to_owned()));
                self.data.push(Data { encoding: Encoding::Json, value });
            }
            CurlFlag::Part => self.parts.push(value),
            CurlFlag::Upload => self.upload = Some(value),
            CurlFlag::DataInQuery => self.in_query = true,
            CurlFlag::Head => self.method = Some("HEAD".to_owned()),
            CurlFlag::User if !value.contains(':') => {
                return Err(Complaint::usage("--curl: -u has no password, for which curl asks")
                    .hint("write -u 'USER:PASSWORD', or -u 'USER:' for an empty password"));
            }
            CurlFlag::User => {
                self.added.push(("Authorization", format!("Basic {}", BASE64_STANDARD.encode(value))));
            }
            CurlFlag::Bearer => self.added.push(("Authorization", format!("Bearer {value}"))),
            CurlFlag::Agent if value.is_empty() => self.removed.push("User-Agent".to_owned()),
            CurlFlag::Agent => self.added.push(("User-Agent", value)),
            CurlFlag::Referer => self.added.push(("Referer", value)),
            CurlFlag::Cookie if value.is_empty() || value.contains('=') => self.cookies.push(value),
            CurlFlag::Cookie => {
                return Err(Complaint::usage(format!(
                    "--curl: -b {value} names a cookie file, which is not supported"
                ))
                .hint("write the cookies on the command line: -b 'name=value'"));
            }
            CurlFlag::Insecure => self.insecure = true,
            CurlFlag::Compressed => self.added.push(("Accept-Encoding", "gzip, deflate".to_owned())),
            CurlFlag::NoGlobbing => self.no_globbing = true,
            CurlFlag::Http(protocol) => self.protocol = Some(protocol),
            CurlFlag::Connect(setting) => self.connection.push((setting, value)),
            CurlFlag::Follow => self.follows = true,
            // -1 is no limit.
            CurlFlag::MostRedirects if value == "-1" => self.most_redirects = Some(u16::MAX),
            CurlFlag::MostRedirects => {
                let most = value.parse().map_err(|_| {
                    Complaint::usage(format!("--curl: --max-redirs {value:?} is not a whole number to 65535"))
                })?;
                self.most_redirects = Some(most);
            }
            CurlFlag::Url if self.url.is_empty() => self.url = value,
            CurlFlag::Url => {
                return Err(Complaint::usage(format!("--curl: the command has a second URL, {value:?}"))
                    .hint("--curl takes one URL: remove the others, or send several requests with a request file (--mix)"));
            }
            CurlFlag::Ignored | CurlFlag::IgnoredValue => {}
        }
        Ok(())
    }

    /// Reads the value of `-H`: `Name: value`; `Name:` removes a field; `Name;` is a field without a value.
    fn header(&mut self, value: &str) -> Result<(), Complaint> {
        match (Headers::parse(value), value.strip_suffix(';')) {
            (Some((name, value)), _) if value.is_empty() => self.removed.push(name),
            (Some(field), _) => self.headers.push(field),
            (None, Some(name)) => self.headers.push((name.trim().to_owned(), String::new())),
            (None, None) => {
                return Err(Complaint::usage(format!("--curl: -H {value:?} is not a header field"))
                    .hint("write the header field as \"Name: value\""));
            }
        }
        Ok(())
    }

    /// The URL as curl requests it, and the credentials in it as the value of `Authorization`.
    pub fn target(&self) -> (String, Option<String>) {
        match self.url.contains("://") {
            true => without_user_info(&self.url),
            false => without_user_info(&format!("http://{}", self.url)),
        }
    }

    /// Puts the request into a job that has its URL.
    pub fn fill(&self, job: &mut Job, inputs: &mut Inputs) -> Result<(), Complaint> {
        // curl ignores it for other URLs.
        job.tls.insecure |= self.insecure && job.url.scheme == Scheme::Https;
        job.protocol = self.protocol.unwrap_or(job.protocol);
        self.connection.iter().try_for_each(|(setting, value)| setting.fill(value, job))?;
        let uploaded_name = self.uploaded_name(&job.url.path);
        job.url.path.push_str(&uploaded_name);
        if self.follows {
            job.follow = self.most_redirects.unwrap_or(CURL_REDIRECTS);
        }
        let body = self.body(inputs)?;
        let mut headers = Headers(self.headers.clone());
        let mut added: Vec<(&str, String)> = self.added.iter().rev().cloned().collect();
        added.extend(self.target().1.map(|credentials| ("Authorization", credentials)));
        let cookies: Vec<_> = self.cookies.iter().map(|cookie| cookie.trim_end_matches([' ', ';'])).collect();
        added.push(("Cookie", cookies.join("; ")));
        let Some(request) = job.requests.first_mut() else { return Ok(()) };
        match body {
            Some((content, _)) if self.in_query => {
                let joint = if job.url.path.contains('?') { '&' } else { '?' };
                let query = match content {
                    Content::Text(query) => query,
                    _ => return Err(Complaint::usage("--curl: -G needs data that is text")),
                };
                job.url.path = format!("{}{joint}{query}", job.url.path);
            }
            Some((content, kind)) => {
                request.body = Some(content);
                request.method = if self.upload.is_some() { "PUT" } else { "POST" }.to_owned();
                form::add_boundary(&mut headers, &kind);
                added.push(("Content-Type", kind));
            }
            None => {}
        }
        let is_removed = |name: &str| self.removed.iter().any(|removed| removed.eq_ignore_ascii_case(name));
        for (name, value) in added.into_iter().filter(|(name, value)| !value.is_empty() && !is_removed(name))
        {
            headers.set_default(name, value);
        }
        let without = OMITTED.into_iter().filter(|name| is_removed(name) && headers.get(name).is_none());
        request.omit = without.map(str::to_owned).collect();
        request.literal = true;
        request.headers.0.extend(headers.0);
        if let Some(method) = &self.method {
            request.method.clone_from(method);
        }
        self.check_removed()
    }

    /// Refuses to remove a field without which the server could not read the request.
    fn check_removed(&self) -> Result<(), Complaint> {
        let needed = ["Host", "Content-Length", "Transfer-Encoding"];
        match self.removed.iter().find(|name| needed.iter().any(|field| field.eq_ignore_ascii_case(name))) {
            Some(name) => Err(Complaint::usage(format!(
                "--curl: -H '{name}:' removes a field that Paceline has to send"
            ))
            .hint("remove this -H from the command")),
            None => Ok(()),
        }
    }

    /// The name that `-T` adds to a URL that ends with a slash (curl(1)); empty if it adds none.
    fn uploaded_name(&self, path: &str) -> String {
        let is_folder = path.ends_with('/') && !path.contains('?');
        let file = self.upload.as_deref().filter(|file| is_folder && *file != "-");
        let name = file.and_then(|file| Path::new(file).file_name()).unwrap_or_default();
        form::percent_encoded(name.as_encoded_bytes(), b"-._~").replace('+', "%20")
    }

    /// The body and its type; curl sends no type with `-T`.
    fn body(&self, inputs: &mut Inputs) -> Result<Option<(Content, String)>, Complaint> {
        if !self.parts.is_empty() {
            return form::multipart(&self.parts).map(|form| Some((form.body, form.content_type)));
        }
        if let Some(file) = &self.upload {
            return Ok(Some((Content::File { file: file.into() }, String::new())));
        }
        let content = data::content(&self.data, inputs)?;
        Ok(content.map(|content| (content, "application/x-www-form-urlencoded".to_owned())))
    }
}

fn meaning(flag: &str) -> Result<CurlFlag, Complaint> {
    let known = FLAGS.iter().find(|(short, long, _)| *short == flag || *long == flag);
    known.map(|(.., meaning)| *meaning).ok_or_else(|| {
        Complaint::usage(format!("--curl: the flag {flag} is not supported"))
            .hint("remove it, and use the flag of `paceline run` that does the same, if there is one")
    })
}

fn no_value(flag: &str) -> Complaint {
    Complaint::usage(format!("--curl: {flag} has no value"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_job::TlsSpec;

    fn job(line: &str) -> Job {
        let command = CurlCommand::parse(line).unwrap();
        let url = paceline_http::Url::parse(&command.target().0).unwrap();
        let mut job = Job { url, ..Job::default() };
        command.fill(&mut job, &mut Inputs::default()).unwrap();
        job
    }

    #[test]
    fn a_curl_command_of_a_browser_is_read() {
        let job = job(
            "curl 'https://127.0.0.1:8080/a?b\\[\\]=1' \\\n  -X PUT -H 'Accept: text/html' --compressed -k \\\n  \
                       -b 'sid=1' --data-raw $'{\"it\\'s\": \"\\u00e9\"}'",
        );
        let request = &job.requests[0];
        assert_eq!((request.method.as_str(), job.url.path.as_str()), ("PUT", "/a?b[]=1"));
        assert_eq!(request.body, Some(Content::Text("{\"it's\": \"\u{e9}\"}".to_owned())));
        assert_eq!(request.headers.get("accept-encoding"), Some("gzip, deflate"));
        assert_eq!(request.headers.get("cookie"), Some("sid=1"));
        assert!(job.tls.insecure && request.literal);
        assert!(!super::tests::job("curl -k http://h/").tls.insecure, "curl ignores it");
    }

    #[test]
    fn header_fields_replace_those_of_other_flags() {
        let sent = |line: &str| {
            let request = job(line).requests.remove(0);
            let fields = request.headers.0.iter().map(|(name, value)| format!("{name}: {value}"));
            (fields.collect::<Vec<_>>(), request.omit)
        };
        let field = |line: &str| sent(line).0.join(", ");
        assert_eq!(field("curl h --compressed -H 'accept-encoding: br'"), "accept-encoding: br");
        assert_eq!(field("curl h -A a -A b -H 'X: 1' -H 'X: 2'"), "X: 1, X: 2, User-Agent: b");
        assert_eq!(field("curl h -b a=1 -b 'b=2;'"), "Cookie: a=1; b=2");
        assert_eq!(field("curl h -H 'Referer;' -H 'X-B:' -e http://g/"), "Referer: ");
        assert_eq!(field("curl h -d a=1 -H 'Content-Type:'"), "");
        assert_eq!(
            sent("curl h -H 'User-Agent:' -H 'accept:'"),
            (vec![], vec!["User-Agent".into(), "Accept".into()])
        );
        assert_eq!(sent("curl h -A ''"), (vec![], vec!["User-Agent".into()]));
        let json = "Accept: application/json, Content-Type: application/json";
        assert_eq!(field("curl h --json {}"), json);
    }

    #[test]
    fn credentials_of_the_url_are_sent_as_curl_sends_them() {
        let authorization =
            |line: &str| job(line).requests[0].headers.get("Authorization").unwrap().to_owned();
        let basic = |user: &str| format!("Basic {}", BASE64_STANDARD.encode(user));
        assert_eq!(authorization("curl http://Aladdin:open%20sesame@h/"), basic("Aladdin:open sesame"));
        assert_eq!(authorization("curl http://a:b@h/ -u c:d"), basic("c:d"));
        assert_eq!(authorization("curl http://a@h/"), basic("a:"));
        assert_eq!(job("curl http://@h/").requests[0].headers.get("Authorization"), None);
        assert_eq!(job("curl a:b@h:81/x@y").url.to_string(), "http://h:81/x@y");
        assert_eq!(authorization("curl h --oauth2-bearer t"), "Bearer t");
    }

    #[test]
    fn brackets_are_sent_with_globoff() {
        let path = |line: &str| job(line).url.path;
        assert_eq!(path("curl 'http://h/?a[1]={b}' -g"), "/?a[1]={b}");
        assert_eq!(path("curl -g 'http://h/?a\\[\\]'"), "/?a\\[\\]");
    }

    #[test]
    fn short_flags_can_be_combined() {
        let joined = job("curl -sXPOST -uAladdin:'open sesame' -d a=1 -d b=2 http://h/");
        let request = &joined.requests[0];
        assert_eq!(request.headers.get("authorization"), Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
        assert_eq!(request.body, Some(Content::Text("a=1&b=2".to_owned())));
        let query = job("curl -G --data-urlencode 'q=a b~' http://h/s");
        assert_eq!((query.url.path.as_str(), &query.requests[0].body), ("/s?q=a+b~", &None));
    }

    #[test]
    fn files_of_data_are_read_as_curl_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("d");
        std::fs::write(&file, b"a b\r\nc\n\xff").unwrap();
        let body = |flags: &str| {
            job(&format!("curl h {}", flags.replace("FILE", file.to_str().unwrap())))
                .requests
                .remove(0)
                .body
                .unwrap()
        };
        assert_eq!(body("--data-binary @FILE"), Content::File { file: file.clone() });
        let bytes = |bytes: &[u8]| Content::of_bytes(bytes.to_vec());
        assert_eq!(body("-d @FILE -d x=1"), bytes(b"a bc\xff&x=1"));
        assert_eq!(body("--json '{' --json '}'"), Content::Text("{}".to_owned()));
        assert_eq!(body("--data-urlencode n@FILE"), Content::Text("n=a+b%0D%0Ac%0A%FF".to_owned()));
        assert_eq!(body("--data-raw @FILE"), Content::Text(format!("@{}", file.display())));
        assert_eq!(body("--data-binary @-"), Content::File { file: "-".into() });
    }

    #[test]
    fn forms_that_postman_writes_are_read() {
        let request = job("curl h --form 'name=\"a; b\"' --form 'file=@\"/c d.png\"'").requests.remove(0);
        let Some(Content::Multipart { parts, .. }) = request.body else { panic!("no form") };
        let contents: Vec<_> = parts.into_iter().map(|part| *part.content).collect();
        assert_eq!(contents, [Content::Text("a; b".to_owned()), Content::File { file: "/c d.png".into() }]);
        assert_eq!(request.method, "POST");
        // As Swagger UI writes it.
        let upload = "curl -X 'POST' 'http://h/' -H 'Content-Type: multipart/form-data' -F 'a=b'";
        let fields = job(upload).requests.remove(0).headers.0;
        assert_eq!(fields.len(), 1, "{fields:?}");
        assert!(fields[0].1.starts_with("multipart/form-data; boundary=paceline-"), "{fields:?}");
    }

    #[test]
    fn uploads_are_put_under_the_name_of_their_file() {
        let put = |line: &str| {
            let mut job = job(line);
            let request = job.requests.remove(0);
            assert_eq!(request.body, Some(Content::File { file: "/a/b c".into() }));
            assert_eq!(request.headers, Headers::default());
            (request.method, job.url.path)
        };
        let result = |method: &str, path: &str| (method.to_owned(), path.to_owned());
        assert_eq!(put("curl -T '/a/b c' http://h/d/"), result("PUT", "/d/b%20c"));
        assert_eq!(put("curl http://h --upload-file '/a/b c' -X POST"), result("POST", "/b%20c"));
        assert_eq!(put("curl http://h/d -T'/a/b c'"), result("PUT", "/d"));
        assert_eq!(put("curl http://h/?d/ -T '/a/b c'"), result("PUT", "/?d/"));
    }

    #[test]
    fn connections_are_those_of_curl() {
        let tls = job("curl --cacert a -E b --key c --tlsv1.3 --http3 https://h/");
        let files = [&tls.tls.ca_file, &tls.tls.cert_file, &tls.tls.key_file];
        assert_eq!(files.map(|file| file.as_deref()), ["a", "b", "c"].map(|file| Some(Path::new(file))));
        assert_eq!((tls.tls.version, tls.protocol), (Some(TlsVersion::Tls13), Protocol::Http3));
        let plain = job("curl --cacert a --tlsv1.3 -4 --unix-socket /s http://h/");
        assert_eq!((plain.tls, plain.ip_version), (TlsSpec::default(), Some(IpVersion::V4)));
        assert_eq!(plain.unix_socket.as_deref(), Some(Path::new("/s")));
        let named = job("curl --resolve +h:80:127.0.0.1 --resolve h:80:::1 --connect-to ::a: h");
        assert_eq!(named.resolve, ["h:80:127.0.0.1", "h:80:::1"]);
        assert_eq!(named.connect_to.as_deref(), Some("::a:"));
        assert_eq!(job("curl -x p:3128 h").proxy.unwrap().to_string(), "http://p:3128");
        let twice = CurlCommand::parse("curl h --connect-to ::a: --connect-to ::b:").unwrap();
        let complaint = twice.fill(&mut Job::default(), &mut Inputs::default()).unwrap_err();
        assert!(complaint.what.contains("--connect-to ::b: is a second one"), "{}", complaint.what);
    }

    #[test]
    fn redirects_are_followed_as_often_as_by_curl() {
        let most = |line: &str| job(line).follow;
        assert_eq!(most("curl --location --request GET 'http://h/'"), CURL_REDIRECTS);
        assert_eq!(most("curl -sL --max-redirs 3 http://h/"), 3);
        assert_eq!(most("curl -L --max-redirs -1 http://h/"), u16::MAX);
        assert_eq!(most("curl --max-redirs 3 http://h/"), 0, "curl follows none without -L");
    }

    #[test]
    fn unknown_curl_flags_are_named() {
        for (line, part) in [
            ("wget http://h/", "does not begin with \"curl\""),
            ("curl --max-redirs x http://h/", "--max-redirs \"x\" is not a whole number"),
            ("curl --ntlm http://h/", "flag --ntlm is not supported"),
            ("curl http://h/ http://g/", "a second URL"),
            ("curl -H", "-H has no value"),
            ("curl -u me h", "-u has no password"),
            ("curl -s", "has no URL"),
            ("curl 'http://h/page[1-3]'", "a list of URLs"),
        ] {
            let error = CurlCommand::parse(line).unwrap_err();
            assert!(error.what.contains(part), "{line}: {}", error.what);
        }
        let mut job = Job::default();
        let command = CurlCommand::parse("curl h -H host:").unwrap();
        assert!(command.fill(&mut job, &mut Inputs::default()).unwrap_err().what.contains("-H 'host:'"));
    }
}
