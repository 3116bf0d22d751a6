//! ab's command line (`main` in `support/ab.c`) as a job.
//!
//! HTTP/1.0, one connection and no keep-alive unless the flags say otherwise. What this engine cannot do is refused,
//! with what to use instead. `-t` sets `-n` to 50,000, as in ab, so that a larger `-n` must come after it.

use crate::getopt::OptionTable;
use crate::tool::{MAX_LISTED, ToolInputs, ToolOutput, take_record_file, unreadable_body};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use paceline_http::{Scheme, Url};
use paceline_job::{Bound, Content, Job, Nanos, Protocol, Proxy, RequestSpec, TlsSpec, TlsVersion};
use std::time::Duration;

/// A parsed command line.
#[derive(Clone, Debug, Default)]
pub struct AbCommand {
    job: Job,
    /// Number of requests.
    pub requests: u64,
    limit_s: Option<u64>,
    /// Whether connections are kept (`-k`).
    pub keep_alive: bool,
    /// Whether bodies may differ in length (`-l`).
    pub variable_length: bool,
    /// Whether failures to receive are counted instead of ending the run (`-r`).
    pub tolerates_failures: bool,
    /// Whether the progress is not shown (`-q`).
    pub is_quiet: bool,
    /// Whether the table of percentiles is left out (`-d`).
    pub without_percentiles: bool,
    /// Whether deviations and warnings are left out (`-S`).
    pub without_deviations: bool,
    /// The attributes of an HTML table, of its rows and of its cells, if it is wanted (`-w`, `-x`, `-y`, `-z`).
    pub html: Option<[String; 3]>,
    /// The file of percentiles (`-e`).
    pub csv: Option<String>,
    /// The file of `-g`, for a row for each request.
    pub gnuplot: Option<String>,
    record_file: Option<String>,
}

const OPTIONS: OptionTable = OptionTable {
    program: "ab",
    permutes: false,
    short: &[
        ('n', true),
        ('c', true),
        ('t', true),
        ('s', true),
        ('b', true),
        ('T', true),
        ('p', true),
        ('u', true),
        ('v', true),
        ('l', false),
        ('r', false),
        ('k', false),
        ('V', false),
        ('h', false),
        ('w', false),
        ('i', false),
        ('I', false),
        ('x', true),
        ('y', true),
        ('z', true),
        ('C', true),
        ('H', true),
        ('P', true),
        ('A', true),
        ('g', true),
        ('X', true),
        ('d', false),
        ('e', true),
        ('S', false),
        ('q', false),
        ('B', true),
        ('m', true),
        ('Z', true),
        ('f', true),
        ('E', true),
    ],
    long: &[],
};

const USAGE: &str = include_str!("usage.txt");
/// The exit status of a wrong command line: EINVAL.
const EINVAL: u8 = 22;
/// The number of requests with `-t`.
const REQUESTS_WITH_LIMIT: u64 = 50_000;
/// The most connections (`MAX_CONCURRENCY`).
const MAX_CONNECTIONS: u32 = 20_000;

fn usage(message: &str) -> ToolOutput {
    let message = if message.is_empty() { String::new() } else { format!("ab: {message}\n") };
    ToolOutput { stderr: format!("{message}{USAGE}"), status: EINVAL, ..ToolOutput::default() }
}

/// A message without the usage.
fn error(message: &str) -> ToolOutput {
    ToolOutput { stderr: format!("{message}\n"), status: 1, ..ToolOutput::default() }
}

/// What Paceline refuses, with what to use instead.
fn refusal(flag: char, instead: &str) -> ToolOutput {
    let stderr = format!("paceline: ab -{flag} is not supported: {instead}\n");
    ToolOutput { stderr, status: EINVAL, ..ToolOutput::default() }
}

/// The first lines of every report. The second and third are ab's copyright in the original.
pub fn heading() -> String {
    format!(
        "This is ApacheBench, Version 2.3 <$Revision$>\nThe command line and report of ab, measured by Paceline {}\nWhat differs from ab: docs/from-other-tools.md\n\n",
        env!("CARGO_PKG_VERSION")
    )
}

impl AbCommand {
    /// Parses the arguments after the program's name.
    ///
    /// # Errors
    /// What the program prints instead of a run.
    pub fn parse(arguments: &[String]) -> Result<Self, ToolOutput> {
        let (arguments, record_file) = take_record_file(arguments).map_err(|problem| error(&problem))?;
        let given = OPTIONS.parse(&arguments).map_err(|message| usage(message.trim_start_matches("ab: ")))?;
        let request = RequestSpec { literal: true, ..RequestSpec::default() };
        let job = Job {
            protocol: Protocol::Http10,
            connections: 1,
            keep_alive: false,
            warmup: Nanos::ZERO,
            timeout: Nanos::from_secs(30),
            requests: vec![request],
            ..Job::default()
        };
        let mut command = Self { job, requests: 1, record_file, ..Self::default() };
        let mut content_type = "text/plain".to_owned();
        for (flag, value) in &given.options {
            match flag {
                'T' => content_type.clone_from(value),
                'n' | 'c' | 't' | 's' | 'v' => command.set_number(*flag, value)?,
                'p' | 'u' | 'i' | 'm' | 'C' | 'H' | 'A' => command.set_request(*flag, value)?,
                'X' | 'P' | 'B' | 'f' | 'E' => command.set_connection(*flag, value)?,
                _ => command.set_report(*flag, value)?,
            }
        }
        let [url] = given.arguments.as_slice() else { return Err(usage("wrong number of arguments")) };
        command.finish(url, &content_type)?;
        Ok(command)
    }

    /// Checks that the file of the body can be opened.
    ///
    /// # Errors
    /// What the program prints instead of a run.
    pub fn with_body(self, inputs: &dyn ToolInputs) -> Result<Self, ToolOutput> {
        match unreadable_body(&self.job, inputs) {
            Some((file, why)) => Err(error(&format!("ab: Could not open POST data file ({file}): {why}"))),
            None => Ok(self),
        }
    }

    fn set_number(&mut self, flag: char, value: &str) -> Result<(), ToolOutput> {
        let number = value.parse::<u64>().ok().filter(|number| *number > 0);
        match (flag, number) {
            ('n', Some(number)) => self.requests = number,
            ('n', None) => return Err(error("Invalid number of requests\n")),
            ('c', Some(number)) if number <= MAX_CONNECTIONS.into() => self.job.connections = number as u32,
            ('c', _) => return Err(usage(&format!("Invalid Concurrency [Range 0..{MAX_CONNECTIONS}]\n"))),
            ('t', Some(number)) => (self.limit_s, self.requests) = (Some(number), REQUESTS_WITH_LIMIT),
            ('s', Some(number)) => self.job.timeout = Nanos::from_secs(number),
            ('v', _) if value == "0" || value == "1" => {}
            ('v', Some(_)) => {
                return Err(refusal('v', "`paceline run URL --debug` shows one request and its response"));
            }
            _ => return Err(usage(&format!("-{flag} {value}: use a number above 0"))),
        }
        Ok(())
    }

    fn set_request(&mut self, flag: char, value: &str) -> Result<(), ToolOutput> {
        let request = &mut self.job.requests[0];
        let mixed = |what: &str| Err(error(&format!("Cannot mix {what} with other methods\n")));
        let is_plain = request.method == "GET";
        match flag {
            'p' if !is_plain => return mixed("POST"),
            'u' if !is_plain => return mixed("PUT"),
            'i' if !is_plain => return mixed("HEAD"),
            'p' | 'u' => {
                request.method = if flag == 'p' { "POST" } else { "PUT" }.to_owned();
                request.body = Some(Content::File { file: value.into() });
            }
            'i' => "HEAD".clone_into(&mut request.method),
            'm' => value.clone_into(&mut request.method),
            'C' => request.headers.0.push(("Cookie".to_owned(), value.to_owned())),
            'A' => {
                let credentials = BASE64_STANDARD.encode(value);
                request.headers.0.push(("Authorization".to_owned(), format!("Basic {credentials}")));
            }
            _ => {
                let (name, content) = value
                    .split_once(':')
                    .ok_or_else(|| error(&format!("paceline: -H {value:?}: write \"Name: value\"")))?;
                request.headers.0.push((name.trim().to_owned(), content.trim().to_owned()));
            }
        }
        Ok(())
    }

    fn set_connection(&mut self, flag: char, value: &str) -> Result<(), ToolOutput> {
        match flag {
            'X' => {
                let proxy = Proxy::parse(value).map_err(|problem| error(&format!("ab: -X: {problem}")))?;
                let credentials = self.job.proxy.take().and_then(|given| given.credentials);
                self.job.proxy = Some(Proxy { credentials: credentials.or(proxy.credentials), ..proxy });
            }
            'P' => match &mut self.job.proxy {
                Some(proxy) => proxy.credentials = Some(value.to_owned()),
                None => return Err(refusal('P', "give -X PROXY:PORT before it")),
            },
            'B' => self.job.source = Some(value.to_owned()),
            'E' => self.job.tls.cert_file = Some(value.into()),
            _ => match value {
                "ALL" => {}
                "TLS1.2" => self.job.tls.version = Some(TlsVersion::Tls12),
                "TLS1.3" => self.job.tls.version = Some(TlsVersion::Tls13),
                _ => return Err(refusal('f', "use TLS1.2, TLS1.3 or ALL; earlier versions are not secure")),
            },
        }
        Ok(())
    }

    fn set_report(&mut self, flag: char, value: &str) -> Result<(), ToolOutput> {
        let table = || ["", "", "bgcolor=white"].map(str::to_owned);
        match flag {
            'k' => self.keep_alive = true,
            'l' => self.variable_length = true,
            'r' => self.tolerates_failures = true,
            'q' => self.is_quiet = true,
            'd' => self.without_percentiles = true,
            'S' => self.without_deviations = true,
            'w' => drop(self.html.get_or_insert_with(table)),
            'x' => value.clone_into(&mut self.html.get_or_insert_with(table)[0]),
            'y' => value.clone_into(&mut self.html.get_or_insert_with(table)[1]),
            'z' => value.clone_into(&mut self.html.get_or_insert_with(table)[2]),
            'e' => self.csv = Some(value.to_owned()),
            'V' => return Err(ToolOutput { stdout: heading(), ..ToolOutput::default() }),
            'g' => self.gnuplot = Some(value.to_owned()),
            'b' => return Err(refusal('b', "leave it out: the kernel sizes the buffers")),
            'I' => {
                return Err(refusal('I', "the name is always sent; `paceline run --sni` changes it"));
            }
            'Z' => return Err(refusal('Z', "leave it out: the suites of rustls are used")),
            _ => return Err(usage("")),
        }
        Ok(())
    }

    /// Checks the whole, and fills in what depends on several flags.
    fn finish(&mut self, url: &str, content_type: &str) -> Result<(), ToolOutput> {
        let whole = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
        let has_path = whole.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
        let parsed = Url::parse_http(&whole).ok().filter(|_| has_path);
        self.job.url = parsed.ok_or_else(|| usage("invalid URL"))?;
        if u64::from(self.job.connections) > self.requests {
            return Err(usage("Cannot use concurrency level greater than total number of requests"));
        }
        if self.gnuplot.is_some() && self.requests > MAX_LISTED as u64 {
            return Err(refusal('g', "with more than 1,000,000 requests, which would all be in memory"));
        }
        let is_secure = self.job.url.scheme == Scheme::Https;
        if !is_secure {
            self.job.tls = TlsSpec::default();
        }
        self.job.tls.insecure = is_secure;
        self.job.keep_alive = self.keep_alive;
        self.job.window = Bound::Requests(self.requests);
        self.job.drain = self.job.timeout;
        let request = &mut self.job.requests[0];
        if request.body.is_some() {
            request.headers.set_default("Content-type", content_type);
        }
        request.headers.set_default("User-Agent", "ApacheBench/2.3");
        request.headers.set_default("Accept", "*/*");
        Ok(())
    }

    /// The job that it describes.
    pub fn job(&self) -> Job {
        self.job.clone()
    }

    /// The time after which the run ends (`-t`).
    pub fn time_limit(&self) -> Option<Duration> {
        self.limit_s.map(Duration::from_secs)
    }

    /// A file for the whole record.
    pub fn record_file(&self) -> Option<&str> {
        self.record_file.as_deref()
    }

    /// The URL.
    pub fn url(&self) -> &Url {
        &self.job.url
    }

    /// The number of connections.
    pub fn connections(&self) -> u32 {
        self.job.connections
    }

    /// The proxy, if there is one.
    pub fn proxy(&self) -> Option<&Url> {
        self.job.proxy.as_ref().map(|proxy| &proxy.url)
    }

    /// Whether requests have a body.
    pub fn sends_body(&self) -> bool {
        self.job.requests[0].body.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<AbCommand, ToolOutput> {
        AbCommand::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn flags_fill_a_job() {
        let job = parse("http://127.0.0.1:8080/a").unwrap().job();
        assert_eq!((job.protocol, job.keep_alive, job.connections), (Protocol::Http10, false, 1));
        assert_eq!(
            (job.window, job.timeout, job.check()),
            (Bound::Requests(1), Nanos::from_secs(30), Ok(()))
        );
        let command = parse("-k -c 50 -n 15000 -s 3 127.0.0.1/").unwrap();
        let job = command.job();
        assert_eq!((job.keep_alive, job.connections, job.window), (true, 50, Bound::Requests(15_000)));
        assert_eq!((job.timeout, command.time_limit()), (Nanos::from_secs(3), None));
        let command = parse("-t 5 -p f -T a/b -A u:p -C x=1 -H X:y http://127.0.0.1/").unwrap();
        assert_eq!((command.requests, command.time_limit()), (50_000, Some(Duration::from_secs(5))));
        let request = &command.job().requests[0];
        assert_eq!(request.method, "POST");
        for (name, value) in [
            ("Content-type", "a/b"),
            ("Authorization", "Basic dTpw"),
            ("Cookie", "x=1"),
            ("X", "y"),
            ("User-Agent", "ApacheBench/2.3"),
        ] {
            assert_eq!(request.headers.get(name), Some(value));
        }
    }

    #[test]
    fn what_does_not_run_says_so() {
        let url = "http://127.0.0.1/";
        for (line, stderr, status) in [
            (String::new(), "ab: wrong number of arguments\nUsage: ab", 22),
            (format!("{url} -k"), "ab: wrong number of arguments\n", 22),
            ("http://127.0.0.1".to_owned(), "ab: invalid URL\n", 22),
            (format!("-n 5 -c 10 {url}"), "ab: Cannot use concurrency level greater than total", 22),
            (format!("-n x {url}"), "Invalid number of requests\n", 1),
            (format!("-p a -u b {url}"), "Cannot mix PUT with other methods\n", 1),
            (format!("-c 0 {url}"), "ab: Invalid Concurrency [Range 0..20000]\n", 22),
            (
                format!("-g f -n 1000001 {url}"),
                "paceline: ab -g is not supported: with more than 1,000,000",
                22,
            ),
            (format!("-v 4 {url}"), "paceline: ab -v is not supported: `paceline run URL --debug`", 22),
            (format!("-Q {url}"), "ab: invalid option -- 'Q'\nUsage: ab", 22),
            ("-h".to_owned(), "Usage: ab", 22),
        ] {
            let output = parse(&line).unwrap_err();
            assert!(output.stderr.starts_with(stderr), "{line}: {output:?}");
            assert_eq!((output.status, output.stdout.as_str()), (status, ""), "{line}");
        }
        let version = parse("-V").unwrap_err();
        assert!(version.status == 0 && version.stdout.starts_with("This is ApacheBench, Version 2.3 "));
    }
}
