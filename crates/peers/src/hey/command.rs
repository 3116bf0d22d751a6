//! hey's command line (`main` in `hey.go`) as a job.
//!
//! What this engine cannot do is refused, with what to use instead.

use super::flags::{self, GivenFlags};
use crate::tool::{ToolInputs, ToolOutput, take_record_file, unreadable_body};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use paceline_http::{Scheme, Url};
use paceline_job::{
    Arrivals, Bound, Content, Headers, Job, LoadModel, Nanos, Protocol, Proxy, Rate, RequestSpec, Shape,
    TlsSpec,
};
use std::str::FromStr;

/// The flags, each with whether it takes a value.
const FLAGS: &[(&str, bool)] = &[
    ("n", true),
    ("c", true),
    ("q", true),
    ("z", true),
    ("o", true),
    ("m", true),
    ("h", true),
    ("H", true),
    ("t", true),
    ("A", true),
    ("d", true),
    ("D", true),
    ("T", true),
    ("U", true),
    ("a", true),
    ("x", true),
    ("h2", false),
    ("host", true),
    ("cpus", true),
    ("disable-compression", false),
    ("disable-keepalive", false),
    ("disable-redirects", false),
    ("more", false),
];

const USAGE: &str = include_str!("usage.txt");
/// The status of a wrong value of a flag: that of Go's package `flag`.
const WRONG_FLAG: u8 = 2;
/// The redirects that Go's client follows.
const MAX_REDIRECTS: u16 = 10;
/// The time of a request without a limit.
const NO_TIMEOUT: Nanos = Nanos::from_secs(86_400);

/// A parsed command line.
#[derive(Clone, Debug)]
pub struct HeyCommand {
    job: Job,
    requests: u64,
    workers: u32,
    /// For each worker.
    rate: f64,
    duration: Option<Nanos>,
    content_type: String,
    headers: Headers,
    user_agent: String,
    /// Whether the report is a list of all requests (`-o csv`).
    pub lists_requests: bool,
    record_file: Option<String>,
}

fn usage(message: &str, status: u8) -> ToolOutput {
    let message = match (message, status) {
        ("", _) => String::new(),
        (message, WRONG_FLAG) => format!("{message}\n"),
        (message, _) => format!("{message}\n\n"),
    };
    ToolOutput { stderr: format!("{message}{USAGE}"), status, ..ToolOutput::default() }
}

fn refusal(flag: &str, instead: &str) -> ToolOutput {
    let stderr = format!("paceline: hey -{flag} is not supported: {instead}\n");
    ToolOutput { stderr, status: 1, ..ToolOutput::default() }
}

/// The value of a flag as a number.
fn parsed<T: FromStr>(flag: &str, value: &str) -> Result<T, ToolOutput> {
    value
        .parse()
        .map_err(|_| usage(&format!("invalid value {value:?} for flag -{flag}: parse error"), WRONG_FLAG))
}

impl HeyCommand {
    /// Parses the arguments after the program's name.
    ///
    /// # Errors
    /// What the program prints instead of a run.
    pub fn parse(arguments: &[String]) -> Result<Self, ToolOutput> {
        let (arguments, record_file) =
            take_record_file(arguments).map_err(|problem| usage(&format!("paceline: {problem}"), 1))?;
        let GivenFlags { flags, arguments } =
            flags::parse(FLAGS, &arguments).map_err(|message| usage(&message, WRONG_FLAG))?;
        let request = RequestSpec {
            literal: true,
            omit: ["User-Agent", "Accept"].map(str::to_owned).to_vec(),
            ..RequestSpec::default()
        };
        let job = Job {
            connections: 50,
            warmup: Nanos::ZERO,
            timeout: Nanos::from_secs(20),
            follow: MAX_REDIRECTS,
            requests: vec![request],
            ..Job::default()
        };
        let mut command = Self {
            job,
            requests: 200,
            workers: 50,
            rate: 0.0,
            duration: None,
            content_type: "text/html".to_owned(),
            headers: Headers::default(),
            user_agent: String::new(),
            lists_requests: false,
            record_file,
        };
        for (flag, value) in &flags {
            command.set(flag, value)?;
        }
        let url = arguments.first().ok_or_else(|| usage("", 1))?;
        command.finish(url)?;
        Ok(command)
    }

    /// Checks that the file of the body can be opened.
    ///
    /// # Errors
    /// What the program prints instead of a run.
    pub fn with_body(self, inputs: &dyn ToolInputs) -> Result<Self, ToolOutput> {
        match unreadable_body(&self.job, inputs) {
            Some((file, why)) => {
                let stderr = format!("open {file}: {}\n", why.to_lowercase());
                Err(ToolOutput { stderr, status: 1, ..ToolOutput::default() })
            }
            None => Ok(self),
        }
    }

    fn set(&mut self, flag: &str, value: &str) -> Result<(), ToolOutput> {
        match flag {
            "n" => self.requests = parsed::<i64>(flag, value)?.max(0).unsigned_abs(),
            "c" => self.workers = u32::try_from(parsed::<i64>(flag, value)?.max(0)).unwrap_or(u32::MAX),
            "q" => self.rate = parsed::<f64>(flag, value)?,
            "z" => self.duration = Some(duration(flag, value)?).filter(|time| *time > Nanos::ZERO),
            "t" => {
                let seconds = parsed::<i64>(flag, value)?.max(0).unsigned_abs();
                self.job.timeout = if seconds == 0 { NO_TIMEOUT } else { Nanos::from_secs(seconds) };
            }
            "cpus" => self.job.threads = parsed::<u32>(flag, value)?.max(1),
            "o" if value == "csv" => self.lists_requests = true,
            "o" if !value.is_empty() => {
                return Err(refusal(&format!("o {value}"), "use csv, or leave it out for the summary"));
            }
            "o" | "more" => {}
            "h2" => self.job.protocol = if is_set(flag, value)? { Protocol::Http2 } else { Protocol::Http11 },
            "disable-keepalive" => self.job.keep_alive = !is_set(flag, value)?,
            "disable-redirects" => {
                self.job.follow = if is_set(flag, value)? { 0 } else { MAX_REDIRECTS };
            }
            _ => self.set_request(flag, value)?,
        }
        Ok(())
    }

    fn set_request(&mut self, flag: &str, value: &str) -> Result<(), ToolOutput> {
        let wrong_input = || usage(&format!("could not parse the provided input; input = {value}"), 1);
        let request = &mut self.job.requests[0];
        match flag {
            "m" => request.method = value.to_uppercase(),
            "H" => {
                let (name, content) = value.split_once(':').ok_or_else(wrong_input)?;
                self.set_header(name.trim(), content.trim());
            }
            "h" => return Err(usage("Flag '-h' is deprecated, please use '-H' instead.", 1)),
            "A" => self.set_header("Accept", value),
            "T" => value.clone_into(&mut self.content_type),
            "U" => value.clone_into(&mut self.user_agent),
            "host" => self.set_header("Host", value),
            "a" => {
                let has_both =
                    value.split_once(':').is_some_and(|(user, rest)| !user.is_empty() && !rest.is_empty());
                let credentials = has_both.then(|| BASE64_STANDARD.encode(value)).ok_or_else(wrong_input)?;
                self.set_header("Authorization", &format!("Basic {credentials}"));
            }
            // A file counts more than a text, in any order, and an empty value is none.
            "d" if matches!(request.body, Some(Content::File { .. })) => {}
            "d" => request.body = Some(Content::Text(value.to_owned())).filter(|_| !value.is_empty()),
            "D" if value.is_empty() => {}
            "D" => request.body = Some(Content::File { file: value.into() }),
            "x" => {
                let proxy = Proxy::parse(value).map_err(|problem| usage(&format!("-x: {problem}"), 1))?;
                self.job.proxy = Some(proxy);
            }
            // Go asks for gzip unless it is disabled, and keeps the coded size apart; the answer is checked as it is.
            _ if is_set(flag, value)? => self.set_header("Accept-Encoding", ""),
            _ => {}
        }
        Ok(())
    }

    fn set_header(&mut self, name: &str, value: &str) {
        self.headers.0.retain(|(given, _)| !given.eq_ignore_ascii_case(name));
        self.headers.0.push((name.to_owned(), value.to_owned()));
    }

    /// Checks the whole, and fills in what depends on several flags.
    fn finish(&mut self, url: &str) -> Result<(), ToolOutput> {
        match self.duration {
            Some(_) if self.workers == 0 => return Err(usage("-c cannot be smaller than 1.", 1)),
            None if self.requests == 0 || self.workers == 0 => {
                return Err(usage("-n and -c cannot be smaller than 1.", 1));
            }
            None if self.requests < self.workers.into() => {
                return Err(usage("-n cannot be less than -c.", 1));
            }
            _ => {}
        }
        self.job.url = Url::parse_http(url).map_err(|problem| usage(&format!("{url:?}: {problem}"), 1))?;
        if self.job.url.scheme == Scheme::Http {
            // Go's client speaks HTTP/2 with TLS only.
            self.job.protocol = Protocol::Http11;
        }
        // hey never checks a certificate.
        self.job.tls = TlsSpec { insecure: self.job.url.scheme == Scheme::Https, ..TlsSpec::default() };
        self.job.connections = self.workers;
        if !self.job.keep_alive {
            // The engine keeps nothing from one connection to the next.
            self.job.follow = 0;
        }
        self.job.threads = self.job.threads.min(self.workers);
        self.job.drain = self.job.timeout;
        let workers = u64::from(self.workers);
        // Each worker sends the same number; the rest of the division is left out, as hey does.
        self.job.window =
            self.duration.map_or(Bound::Requests(self.requests / workers * workers), Bound::Duration);
        // No rate and one below 0 are no limit, as with hey.
        match Rate::per_second(self.rate * f64::from(self.workers)) {
            Some(rate) => {
                let shape = Shape::Steady { rate };
                self.job.load = LoadModel::Open { shape, arrivals: Arrivals::Constant };
            }
            None if self.rate <= 0.0 => {}
            None => {
                let problem = format!("paceline: -q {}: not a rate that can be sent", self.rate);
                return Err(usage(&problem, 1));
            }
        }
        self.set_default_headers();
        Ok(())
    }

    /// The headers that Go's client and hey add.
    fn set_default_headers(&mut self) {
        let mut headers = std::mem::take(&mut self.headers);
        let named = headers.0.iter().position(|(name, _)| name.eq_ignore_ascii_case("User-Agent"));
        let given = named.map(|place| headers.0.remove(place).1);
        let agent = match (self.user_agent.is_empty(), given) {
            (false, _) => format!("{} hey/0.0.1", self.user_agent),
            (true, Some(given)) => format!("{given} hey/0.0.1"),
            (true, None) => "hey/0.0.1".to_owned(),
        };
        headers.0.insert(0, ("User-Agent".to_owned(), agent));
        headers.set_default("Content-Type", &self.content_type);
        headers.set_default("Accept-Encoding", "gzip");
        headers.0.retain(|(name, value)| !(name == "Accept-Encoding" && value.is_empty()));
        self.job.requests[0].headers = headers;
    }

    /// The job that it describes.
    pub fn job(&self) -> Job {
        self.job.clone()
    }

    /// The number of requests of a run that is not bounded by time.
    pub fn requests(&self) -> u64 {
        match self.job.window {
            Bound::Requests(requests) => requests,
            Bound::Duration(_) => self.workers.into(),
        }
    }

    /// Whether the rate is limited.
    pub fn has_rate(&self) -> bool {
        self.job.load.is_open()
    }

    /// The URL.
    pub fn url(&self) -> &Url {
        &self.job.url
    }

    /// The method.
    pub fn method(&self) -> &str {
        &self.job.requests[0].method
    }

    /// A file for the whole record.
    pub fn record_file(&self) -> Option<&str> {
        self.record_file.as_deref()
    }
}

fn is_set(flag: &str, value: &str) -> Result<bool, ToolOutput> {
    match value {
        "true" | "1" | "t" | "T" | "TRUE" | "True" => Ok(true),
        "false" | "0" | "f" | "F" | "FALSE" | "False" => Ok(false),
        _ => Err(usage(&format!("invalid boolean value {value:?} for -{flag}: parse error"), WRONG_FLAG)),
    }
}

/// A time in Go's notation: `10s`, `1m30s`, `500ms`.
fn duration(flag: &str, value: &str) -> Result<Nanos, ToolOutput> {
    const UNITS: [(&str, f64); 6] =
        [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 6e10), ("h", 3.6e12)];
    let wrong = || usage(&format!("invalid value {value:?} for flag -{flag}: parse error"), WRONG_FLAG);
    let (mut rest, mut ns) = (value, 0.0);
    if value == "0" {
        return Ok(Nanos::ZERO);
    }
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').ok_or_else(wrong)?;
        let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        let letters = rest[digits..].find(|letter: char| !letter.is_alphabetic());
        let end = letters.map_or(rest.len(), |length| digits + length);
        let unit = UNITS.iter().find(|(unit, _)| *unit == &rest[digits..end]).ok_or_else(wrong)?.1;
        (ns, rest) = (ns + number * unit, &rest[end..]);
    }
    if value.is_empty() { Err(wrong()) } else { Ok(Nanos(ns as u64)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<HeyCommand, ToolOutput> {
        HeyCommand::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn headers(line: &str) -> Vec<String> {
        let job = parse(line).unwrap().job();
        job.requests[0].headers.0.iter().map(|(name, value)| format!("{name}: {value}")).collect()
    }

    #[test]
    fn flags_fill_a_job() {
        let job = parse("http://127.0.0.1/").unwrap().job();
        assert_eq!((job.connections, job.window, job.load.is_open()), (50, Bound::Requests(200), false));
        assert_eq!((job.timeout, job.keep_alive, job.follow), (Nanos::from_secs(20), true, 10));
        assert_eq!(job.check(), Ok(()));
        let job =
            parse("-n 7 -c 2 -t 0 -disable-keepalive -disable-redirects http://127.0.0.1/").unwrap().job();
        assert_eq!((job.window, job.timeout, job.keep_alive), (Bound::Requests(6), NO_TIMEOUT, false));
        let job = parse("-z 1m30s -q 2.5 -c 4 -n 9 http://127.0.0.1/").unwrap().job();
        assert_eq!(job.window, Bound::Duration(Nanos::from_secs(90)));
        let LoadModel::Open { shape: Shape::Steady { rate }, .. } = job.load else { panic!() };
        assert_eq!(rate.get(), 10.0);
        let job = parse("-m post -d a=1 -x 127.0.0.1:3128 http://127.0.0.1/").unwrap().job();
        let request = &job.requests[0];
        assert_eq!(
            (request.method.as_str(), &request.body),
            ("POST", &Some(Content::Text("a=1".to_owned())))
        );
        assert!(job.proxy.is_some());
    }

    #[test]
    fn http_2_needs_tls() {
        for (url, protocol) in [("http://a/", Protocol::Http11), ("https://a/", Protocol::Http2)] {
            let job = parse(&format!("-h2 {url}")).unwrap().job();
            assert_eq!((job.protocol, job.check()), (protocol, Ok(())), "{url}");
        }
    }

    #[test]
    fn a_body_is_a_file_before_a_text() {
        let body = |flags: &[&str]| {
            let line: Vec<String> =
                flags.iter().chain(&["http://a/"]).map(|flag| (*flag).to_owned()).collect();
            HeyCommand::parse(&line).unwrap().job().requests.remove(0).body
        };
        let file = Some(Content::File { file: "f".into() });
        assert_eq!([body(&["-D", "f", "-d", "a"]), body(&["-d", "a", "-D", "f"])], [file.clone(), file]);
        assert_eq!([body(&["-d", ""]), body(&["-D", ""])], [None, None]);
    }

    #[test]
    fn headers_are_those_of_gos_client() {
        assert_eq!(
            headers("http://127.0.0.1/"),
            ["User-Agent: hey/0.0.1", "Content-Type: text/html", "Accept-Encoding: gzip"]
        );
        let given = "-H X-A:b -H user-agent:me -T a/b -A c/d -a u:p -host h -disable-compression http://a/";
        assert_eq!(
            headers(given),
            [
                "User-Agent: me hey/0.0.1",
                "X-A: b",
                "Accept: c/d",
                "Authorization: Basic dTpw",
                "Host: h",
                "Content-Type: a/b"
            ]
        );
        assert_eq!(headers("-U you -H user-agent:me http://a/")[0], "User-Agent: you hey/0.0.1");
    }

    #[test]
    fn what_does_not_run_says_so() {
        for (line, message, status) in [
            ("", "Usage: hey", 1),
            ("-n 1 -c 2 http://a/", "-n cannot be less than -c.\n\nUsage", 1),
            ("-n 0 http://a/", "-n and -c cannot be smaller than 1.\n\nUsage", 1),
            ("-z 1s -c 0 http://a/", "-c cannot be smaller than 1.\n\nUsage", 1),
            ("-z abc http://a/", "invalid value \"abc\" for flag -z: parse error\nUsage", 2),
            ("-h", "flag needs an argument: -h\nUsage", 2),
            ("-v http://a/", "flag provided but not defined: -v\nUsage", 2),
            ("-q NaN http://a/", "paceline: -q NaN: not a rate that can be sent\n\nUsage", 1),
            ("-q 1e300 http://a/", "paceline: -q 1000", 1),
            ("-H bad http://a/", "could not parse the provided input; input = bad\n\nUsage", 1),
            ("-o xml http://a/", "paceline: hey -o xml is not supported", 1),
        ] {
            let output = parse(line).unwrap_err();
            assert!(output.stderr.starts_with(message) && output.stdout.is_empty(), "{line}: {output:?}");
            assert_eq!(output.status, status, "{line}");
        }
    }
}
