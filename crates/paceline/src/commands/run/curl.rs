//! `--curl 'curl ...'`: converts a curl command line, as browsers copy it, into a job.
//!
//! The request is sent literally, without placeholders. Flags that only change what curl prints are ignored; any other
//! unknown flag is an error, since without it the request would be different.

use super::form;
use crate::exit::Complaint;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use paceline_job::{Content, Headers, Job, Protocol};

/// The meaning of a curl flag.
#[derive(Clone, Copy)]
enum CurlFlag {
    Method,
    Header,
    Data,
    RawData,
    EncodedData,
    Json,
    Part,
    DataInQuery,
    Head,
    User,
    Agent,
    Referer,
    Cookie,
    Insecure,
    Compressed,
    Http(Protocol),
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
    ("-d", "--data", CurlFlag::Data),
    ("", "--data-ascii", CurlFlag::Data),
    ("", "--data-binary", CurlFlag::Data),
    ("", "--data-raw", CurlFlag::RawData),
    ("", "--data-urlencode", CurlFlag::EncodedData),
    ("", "--json", CurlFlag::Json),
    ("-F", "--form", CurlFlag::Part),
    ("-G", "--get", CurlFlag::DataInQuery),
    ("-I", "--head", CurlFlag::Head),
    ("-u", "--user", CurlFlag::User),
    ("-A", "--user-agent", CurlFlag::Agent),
    ("-e", "--referer", CurlFlag::Referer),
    ("-b", "--cookie", CurlFlag::Cookie),
    ("-k", "--insecure", CurlFlag::Insecure),
    ("", "--compressed", CurlFlag::Compressed),
    ("-0", "--http1.0", CurlFlag::Http(Protocol::Http10)),
    ("", "--http1.1", CurlFlag::Http(Protocol::Http11)),
    ("", "--http2", CurlFlag::Http(Protocol::Http2)),
    ("", "--http2-prior-knowledge", CurlFlag::Http(Protocol::Http2)),
    ("", "--url", CurlFlag::Url),
    ("-s", "--silent", CurlFlag::Ignored),
    ("-S", "--show-error", CurlFlag::Ignored),
    ("-v", "--verbose", CurlFlag::Ignored),
    ("-i", "--include", CurlFlag::Ignored),
    ("-f", "--fail", CurlFlag::Ignored),
    ("-N", "--no-buffer", CurlFlag::Ignored),
    ("-#", "--progress-bar", CurlFlag::Ignored),
    ("-g", "--globoff", CurlFlag::Ignored),
    ("-o", "--output", CurlFlag::IgnoredValue),
    ("-w", "--write-out", CurlFlag::IgnoredValue),
    ("-m", "--max-time", CurlFlag::IgnoredValue),
];

impl CurlFlag {
    fn takes_value(self) -> bool {
        use CurlFlag::*;
        match self {
            Method | Header | Data | RawData | EncodedData | Json | Part | User | Agent | Referer
            | Cookie | Url | IgnoredValue => true,
            DataInQuery | Head | Insecure | Compressed | Http(_) | Ignored => false,
        }
    }
}

/// A command line of curl.
#[derive(Debug, Default)]
pub struct CurlCommand {
    pub url: String,
    method: Option<String>,
    headers: Vec<(String, String)>,
    data: Vec<Data>,
    parts: Vec<String>,
    in_query: bool,
    insecure: bool,
    protocol: Option<Protocol>,
}

/// One piece of a body.
#[derive(Debug)]
enum Data {
    Text(String),
    File(String),
}

impl CurlCommand {
    /// Reads a command line.
    pub fn parse(line: &str) -> Result<Self, Complaint> {
        let mut words = shell_words(line)?.into_iter();
        if words.next().as_deref() != Some("curl") {
            return Err(Complaint::usage("--curl: the command does not begin with \"curl\"")
                .hint("quote the whole command: --curl 'curl -H \"A: b\" http://127.0.0.1:8080/'"));
        }
        let mut command = Self::default();
        while let Some(word) = words.next() {
            if let Some(flag) = word.strip_prefix("--") {
                let (name, value) =
                    flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
                let meaning = meaning(&format!("--{name}"))?;
                let value = match (meaning.takes_value(), value) {
                    (false, _) => String::new(),
                    (true, Some(value)) => value.to_owned(),
                    (true, None) => words.next().ok_or_else(|| no_value(&word))?,
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
        let mut header = |name: &str, value: String| self.headers.push((name.to_owned(), value));
        match meaning {
            CurlFlag::Method => self.method = Some(value),
            CurlFlag::Header => self.headers.push(Headers::parse(&value).ok_or_else(|| {
                Complaint::usage(format!("--curl: -H {value:?} is not a header field"))
                    .hint("write the header field as \"Name: value\"")
            })?),
            CurlFlag::Data => self.data.push(match value.strip_prefix('@') {
                Some(file) => Data::File(file.to_owned()),
                None => Data::Text(value),
            }),
            CurlFlag::RawData => self.data.push(Data::Text(value)),
            CurlFlag::EncodedData => self.data.push(Data::Text(match value.split_once('=') {
                Some(("", value)) => form::percent_encoded(value),
                Some((name, value)) => format!("{name}={}", form::percent_encoded(value)),
                None => form::percent_encoded(&value),
            })),
            CurlFlag::Json => {
                header("Content-Type", "application/json".to_owned());
                header("Accept", "application/json".to_owned());
                self.data.push(Data::Text(value));
            }
            CurlFlag::Part => self.parts.push(value),
            CurlFlag::DataInQuery => self.in_query = true,
            CurlFlag::Head => self.method = Some("HEAD".to_owned()),
            CurlFlag::User => header("Authorization", format!("Basic {}", BASE64_STANDARD.encode(value))),
            CurlFlag::Agent => header("User-Agent", value),
            CurlFlag::Referer => header("Referer", value),
            CurlFlag::Cookie if value.contains('=') => header("Cookie", value),
            CurlFlag::Cookie => {
                return Err(Complaint::usage(format!(
                    "--curl: -b {value} names a cookie file, which is not supported"
                ))
                .hint("write the cookies on the command line: -b 'name=value'"));
            }
            CurlFlag::Insecure => self.insecure = true,
            CurlFlag::Compressed => header("Accept-Encoding", "gzip, deflate".to_owned()),
            CurlFlag::Http(protocol) => self.protocol = Some(protocol),
            CurlFlag::Url if self.url.is_empty() => self.url = value,
            CurlFlag::Url => {
                return Err(Complaint::usage(format!("--curl: the command has a second URL, {value:?}"))
                    .hint("--curl takes one URL: remove the others, or send several requests with a request file (--mix)"));
            }
            CurlFlag::Ignored | CurlFlag::IgnoredValue => {}
        }
        Ok(())
    }

    /// Puts the request and its URL into a job.
    pub fn fill(&self, job: &mut Job) -> Result<(), Complaint> {
        job.tls.insecure |= self.insecure;
        job.protocol = self.protocol.unwrap_or(job.protocol);
        let body = self.body()?;
        let Some(request) = job.requests.first_mut() else { return Ok(()) };
        request.literal = true;
        request.headers.0.extend(self.headers.iter().cloned());
        match body {
            Some((Content::Text(query), _)) if self.in_query => {
                let joint = if job.url.path.contains('?') { '&' } else { '?' };
                job.url.path = format!("{}{joint}{query}", job.url.path);
            }
            Some((content, kind)) => {
                request.body = Some(content);
                request.method = "POST".to_owned();
                request.headers.set_default("Content-Type", kind);
            }
            None => {}
        }
        if let Some(method) = &self.method {
            request.method.clone_from(method);
        }
        Ok(())
    }

    /// The body and its type.
    fn body(&self) -> Result<Option<(Content, String)>, Complaint> {
        if !self.parts.is_empty() {
            return form::multipart(&self.parts).map(|form| Some((form.body, form.content_type)));
        }
        let kind = "application/x-www-form-urlencoded".to_owned();
        let texts = self.data.iter().map(|data| match data {
            Data::Text(text) => Some(text.as_str()),
            Data::File(_) => None,
        });
        match (self.data.as_slice(), texts.collect::<Option<Vec<_>>>()) {
            ([], _) => Ok(None),
            ([Data::File(file)], _) => Ok(Some((Content::File { file: file.into() }, kind))),
            (_, Some(texts)) => Ok(Some((Content::Text(texts.join("&")), kind))),
            (_, None) => Err(Complaint::usage(
                "--curl: several -d flags cannot be combined if one of them names a file",
            )
            .hint("put the whole body into one file: -d @FILE")),
        }
    }
}

fn meaning(flag: &str) -> Result<CurlFlag, Complaint> {
    let known = FLAGS.iter().find(|(short, long, _)| *short == flag || *long == flag);
    known.map(|(.., meaning)| *meaning).ok_or_else(|| {
        let instead = match flag {
            "-L" | "--location" => "remove it, and use --follow 5 of `paceline run`, or request the final URL",
            "-x" | "--proxy" => "remove it, and use --proxy of `paceline run`",
            _ => "remove it from the command, and use the flag of `paceline run` that does the same, if there is one",
        };
        Complaint::usage(format!("--curl: the flag {flag} is not supported")).hint(instead)
    })
}

fn no_value(flag: &str) -> Complaint {
    Complaint::usage(format!("--curl: {flag} has no value"))
}

/// The words of a command as a POSIX shell reads them, with bash's $'...', which browsers write.
fn shell_words(line: &str) -> Result<Vec<String>, Complaint> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
            '\\' => match letters.next() {
                Some('\n') | None => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            '\'' => quoted(&mut letters, '\'', word.get_or_insert_default())?,
            '"' => quoted(&mut letters, '"', word.get_or_insert_default())?,
            '$' if letters.peek() == Some(&'\'') => {
                letters.next();
                quoted(&mut letters, '$', word.get_or_insert_default())?;
            }
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

/// The rest of a quoted text: of '...', "..." or, if `kind` is a dollar sign, $'...'.
fn quoted(letters: &mut impl Iterator<Item = char>, kind: char, word: &mut String) -> Result<(), Complaint> {
    let end = if kind == '$' { '\'' } else { kind };
    while let Some(letter) = letters.next() {
        match (letter, kind) {
            (letter, _) if letter == end => return Ok(()),
            ('\\', '"') => match letters.next() {
                Some(escaped @ ('"' | '\\' | '$' | '`')) => word.push(escaped),
                Some('\n') | None => {}
                Some(other) => word.extend(['\\', other]),
            },
            ('\\', '$') => word.push(ansi_escape(letters)?),
            _ => word.push(letter),
        }
    }
    Err(Complaint::usage("--curl: a quote is not closed")
        .hint("put the whole curl command between one pair of quotes"))
}

/// The character of an escape in $'...'.
fn ansi_escape(letters: &mut impl Iterator<Item = char>) -> Result<char, Complaint> {
    let escaped = match letters.next() {
        Some('n') => Some('\n'),
        Some('r') => Some('\r'),
        Some('t') => Some('\t'),
        Some(same @ ('\\' | '\'' | '"' | '!' | '?')) => Some(same),
        Some('u') => hexadecimal(letters, 4),
        Some('x') => hexadecimal(letters, 2),
        Some(_) | None => None,
    };
    escaped.ok_or_else(|| {
        Complaint::usage(
            "--curl: unsupported escape in $'...'; use only \\n, \\r, \\t, \\xHH, \\uHHHH, \\\\ and quotes",
        )
    })
}

/// The character with this number of hexadecimal digits.
fn hexadecimal(letters: &mut impl Iterator<Item = char>, digits: usize) -> Option<char> {
    let text: String = letters.take(digits).collect();
    u32::from_str_radix(&text, 16).ok().and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(line: &str) -> Job {
        let command = CurlCommand::parse(line).unwrap();
        let mut job = Job { url: paceline_http::Url::parse(&command.url).unwrap(), ..Job::default() };
        command.fill(&mut job).unwrap();
        job
    }

    #[test]
    fn a_curl_command_of_a_browser_is_read() {
        let job = job(
            "curl 'http://127.0.0.1:8080/a?b=1' \\\n  -X PUT -H 'Accept: text/html' --compressed -k \\\n  \
                       -b 'sid=1' --data-raw $'{\"it\\'s\": \"\\u00e9\"}'",
        );
        let request = &job.requests[0];
        assert_eq!((request.method.as_str(), job.url.path.as_str()), ("PUT", "/a?b=1"));
        assert_eq!(request.body, Some(Content::Text("{\"it's\": \"\u{e9}\"}".to_owned())));
        assert_eq!(request.headers.get("accept-encoding"), Some("gzip, deflate"));
        assert_eq!(request.headers.get("cookie"), Some("sid=1"));
        assert!(job.tls.insecure && request.literal);
    }

    #[test]
    fn short_flags_can_be_combined() {
        let joined = job("curl -sXPOST -uAladdin:'open sesame' -d a=1 -d b=2 http://h/");
        let request = &joined.requests[0];
        assert_eq!(request.headers.get("authorization"), Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
        assert_eq!(request.body, Some(Content::Text("a=1&b=2".to_owned())));
        let query = job("curl -G --data-urlencode 'q=a b' http://h/s");
        assert_eq!((query.url.path.as_str(), &query.requests[0].body), ("/s?q=a+b", &None));
    }

    #[test]
    fn unknown_curl_flags_are_named() {
        for (line, part) in [
            ("wget http://h/", "does not begin with \"curl\""),
            ("curl -L http://h/", "flag -L is not supported"),
            ("curl --ntlm http://h/", "flag --ntlm is not supported"),
            ("curl http://h/ http://g/", "a second URL"),
            ("curl -H", "-H has no value"),
            ("curl 'http://h/", "a quote is not closed"),
            ("curl -s", "has no URL"),
        ] {
            let error = CurlCommand::parse(line).unwrap_err();
            assert!(error.what.contains(part), "{line}: {}", error.what);
        }
    }
}
