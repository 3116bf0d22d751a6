//! wrk's and wrk2's command line (`parse_args` in `src/wrk.c`) as a job.
//!
//! A header that wrk would ignore without a word (no blank after the colon) is refused too.

use super::script::ScriptCall;
use crate::getopt::{GivenOptions, OptionTable};
use crate::tool::{ToolOutput, take_record_file};
use paceline_http::{Scheme, Url};
use paceline_job::{Arrivals, Bound, Headers, Job, LoadModel, Nanos, Rate, RequestSpec, Shape, TlsSpec};

/// Which of the two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// wrk: a closed loop.
    Wrk,
    /// wrk2: an open loop, with a rate.
    Wrk2,
}

/// A parsed command line.
#[derive(Clone, Debug)]
pub struct WrkCommand {
    /// Which program.
    pub variant: Variant,
    /// The URL as given.
    pub given_url: String,
    url: Url,
    /// Number of threads.
    pub threads: u32,
    /// Number of connections.
    pub connections: u32,
    /// Length of the run, in seconds.
    pub duration_s: u64,
    timeout_s: u64,
    rate: Option<Rate>,
    headers: Headers,
    /// Whether the distribution is printed.
    pub latency: bool,
    /// Whether wrk2 also prints the distribution from the actual sends.
    pub uncorrected: bool,
    script: Option<String>,
    arguments: Vec<String>,
    record_file: Option<String>,
}

const WRK_USAGE: &str = "\
Usage: wrk <options> <url>                            
  Options:                                            
    -c, --connections <N>  Connections to keep open   
    -d, --duration    <T>  Duration of test           
    -t, --threads     <N>  Number of threads to use   
                                                      
    -s, --script      <S>  Load Lua script file       
    -H, --header      <H>  Add header to request      
        --latency          Print latency statistics   
        --timeout     <T>  Socket/request timeout     
    -v, --version          Print version details      
                                                      
  Numeric arguments may include a SI unit (1k, 1M, 1G)
  Time arguments may include a time unit (2s, 2m, 2h)
";

const WRK2_USAGE: &str = "\
Usage: wrk <options> <url>                            
  Options:                                            
    -c, --connections <N>  Connections to keep open   
    -d, --duration    <T>  Duration of test           
    -t, --threads     <N>  Number of threads to use   
                                                      
    -s, --script      <S>  Load Lua script file       
    -H, --header      <H>  Add header to request      
    -L  --latency          Print latency statistics   
    -U  --u_latency        Print uncorrected latency statistics
        --timeout     <T>  Socket/request timeout     
    -B, --batch_latency    Measure latency of whole   
                           batches of pipelined ops   
                           (as opposed to each op)    
    -v, --version          Print version details      
    -R, --rate        <T>  work rate (throughput)     
                           in requests/sec (total)    
                           [Required Parameter]       
                                                      
                                                      
  Numeric arguments may include a SI unit (1k, 1M, 1G)
  Time arguments may include a time unit (2s, 2m, 2h)
";

const WRK_OPTIONS: OptionTable = OptionTable {
    program: "wrk",
    permutes: true,
    short: &[
        ('t', true),
        ('c', true),
        ('d', true),
        ('s', true),
        ('H', true),
        ('T', true),
        ('L', false),
        ('r', false),
        ('v', false),
    ],
    long: &[
        ("connections", 'c'),
        ("duration", 'd'),
        ("threads", 't'),
        ("script", 's'),
        ("header", 'H'),
        ("latency", 'L'),
        ("timeout", 'T'),
        ("help", 'h'),
        ("version", 'v'),
    ],
};

const WRK2_OPTIONS: OptionTable = OptionTable {
    program: "wrk",
    permutes: true,
    short: &[
        ('t', true),
        ('c', true),
        ('d', true),
        ('s', true),
        ('H', true),
        ('T', true),
        ('R', true),
        ('L', false),
        ('U', false),
        ('B', false),
        ('r', false),
        ('v', false),
    ],
    long: &[
        ("connections", 'c'),
        ("duration", 'd'),
        ("threads", 't'),
        ("script", 's'),
        ("header", 'H'),
        ("latency", 'L'),
        ("u_latency", 'U'),
        ("batch_latency", 'B'),
        ("timeout", 'T'),
        ("help", 'h'),
        ("version", 'v'),
        ("rate", 'R'),
    ],
};

impl Variant {
    fn options(self) -> &'static OptionTable {
        match self {
            Self::Wrk => &WRK_OPTIONS,
            Self::Wrk2 => &WRK2_OPTIONS,
        }
    }

    /// What to use for arguments that are not this program's: wrk2's README calls its program wrk.
    fn hint(self, arguments: &[String]) -> &'static str {
        match self {
            Self::Wrk if WRK2_OPTIONS.parse(arguments).is_ok() => {
                "\npaceline: this is a command line of wrk2, whose program is named wrk too: use `paceline wrk2`"
            }
            Self::Wrk | Self::Wrk2 => "",
        }
    }

    /// The text of a wrong command line: the message, then the usage.
    fn usage(self, message: &str) -> ToolOutput {
        let usage = match self {
            Self::Wrk => WRK_USAGE,
            Self::Wrk2 => WRK2_USAGE,
        };
        let stderr = if message.is_empty() { String::new() } else { format!("{message}\n") };
        ToolOutput { stdout: usage.to_owned(), stderr, status: 1, ..ToolOutput::default() }
    }

    fn version(self) -> ToolOutput {
        let version = match self {
            Self::Wrk => "4.2.0",
            Self::Wrk2 => "4.0.0",
        };
        let usage = self.usage("");
        let name = concat!("Paceline ", env!("CARGO_PKG_VERSION"));
        ToolOutput { stdout: format!("wrk {version} [{name}]\n{}", usage.stdout), ..usage }
    }
}

/// What Paceline refuses, with what to use instead.
fn refusal(what: &str) -> ToolOutput {
    ToolOutput { stderr: format!("paceline: {what}\n"), status: 1, ..ToolOutput::default() }
}

impl WrkCommand {
    /// Parses the arguments after the program's name.
    ///
    /// # Errors
    /// What the program prints instead of a run.
    pub fn parse(variant: Variant, arguments: &[String]) -> Result<Self, ToolOutput> {
        let (arguments, record_file) = take_record_file(arguments).map_err(|problem| refusal(&problem))?;
        let given = variant
            .options()
            .parse(&arguments)
            .map_err(|message| variant.usage(&format!("{message}{}", variant.hint(&arguments))))?;
        let mut command = Self {
            variant,
            given_url: given.arguments.first().cloned().unwrap_or_default(),
            url: Job::default().url,
            threads: 2,
            connections: 10,
            duration_s: 10,
            timeout_s: 2,
            rate: None,
            headers: Headers::default(),
            latency: false,
            uncorrected: false,
            script: None,
            arguments: given.arguments.clone(),
            record_file,
        };
        command.set(&given)?;
        if given.arguments.is_empty() || command.threads == 0 || command.duration_s == 0 {
            return Err(variant.usage(""));
        }
        let url = Some(&command.given_url).filter(|url| url.contains("://"));
        command.url = url
            .and_then(|url| Url::parse_http(url).ok())
            .ok_or_else(|| variant.usage(&format!("invalid URL: {}", command.given_url)))?;
        if command.connections < command.threads {
            return Err(variant.usage("number of connections must be >= threads"));
        }
        if variant == Variant::Wrk2 && command.rate.is_none() {
            return Err(variant.usage("Throughput MUST be specified with the --rate or -R option"));
        }
        Ok(command)
    }

    fn set(&mut self, given: &GivenOptions) -> Result<(), ToolOutput> {
        let variant = self.variant;
        let small = |value: &str| u32::try_from(number(value)?).ok();
        for (name, value) in &given.options {
            let is_set = match name {
                't' => small(value).map(|threads| self.threads = threads),
                'c' => small(value).map(|connections| self.connections = connections),
                'd' => seconds(value).map(|duration_s| self.duration_s = duration_s),
                'T' => seconds(value).map(|timeout_s| self.timeout_s = timeout_s.max(1)),
                'R' => number(value).map(|rate| self.rate = Rate::per_second(rate as f64)),
                'H' => {
                    self.add_header(value)?;
                    Some(())
                }
                'L' => {
                    self.latency = true;
                    Some(())
                }
                'U' => {
                    (self.latency, self.uncorrected) = (true, true);
                    Some(())
                }
                's' => {
                    self.script = Some(value.clone());
                    Some(())
                }
                'v' => return Err(variant.version()),
                'h' => None,
                // -B: a batch of one request is timed as a whole; -r has no effect in wrk either.
                _ => Some(()),
            };
            is_set.ok_or_else(|| variant.usage(""))?;
        }
        Ok(())
    }

    /// The last field of a name counts, as in wrk's table.
    fn add_header(&mut self, field: &str) -> Result<(), ToolOutput> {
        let (name, value) = field.split_once(": ").ok_or_else(|| {
            refusal(&format!("-H {field:?}: write \"Name: value\" with a blank; wrk ignores other forms"))
        })?;
        self.headers.0.retain(|(given, _)| given != name);
        self.headers.0.push((name.to_owned(), value.to_owned()));
        Ok(())
    }
}

/// A number with an SI unit in any case: `1k`, `2M`, `3G` (`scan_metric`).
fn number(text: &str) -> Option<u64> {
    scaled(text, &[("k", 1_000), ("m", 1_000_000), ("g", 1_000_000_000)])
}

/// A time in seconds: `2s`, `2m`, `2h`, or a number alone (`scan_time`).
fn seconds(text: &str) -> Option<u64> {
    scaled(text, &[("s", 1), ("m", 60), ("h", 3600)])
}

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = (text[..end].parse::<u64>().ok()?, &text[end..]);
    if unit.is_empty() {
        return Some(number);
    }
    let scale = units.iter().find(|(known, _)| unit.eq_ignore_ascii_case(known))?.1;
    number.checked_mul(scale)
}

impl WrkCommand {
    /// The job that it describes.
    pub fn job(&self) -> Job {
        let timeout = Nanos::from_secs(self.timeout_s);
        let load = match self.rate {
            Some(rate) => LoadModel::Open { shape: Shape::Steady { rate }, arrivals: Arrivals::Constant },
            None => LoadModel::Closed,
        };
        Job {
            url: self.url.clone(),
            // wrk never checks a certificate.
            tls: TlsSpec { insecure: self.url.scheme == Scheme::Https, ..TlsSpec::default() },
            load,
            connections: self.connections,
            threads: self.threads,
            window: Bound::Duration(Nanos::from_secs(self.duration_s)),
            warmup: Nanos::ZERO,
            drain: timeout,
            timeout,
            requests: vec![RequestSpec {
                headers: self.headers.clone(),
                omit: vec!["User-Agent".to_owned(), "Accept".to_owned()],
                literal: true,
                ..RequestSpec::default()
            }],
            ..Job::default()
        }
    }

    /// The URL.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The service that the host's name is looked up with: the port as given, or the scheme.
    pub fn service(&self) -> String {
        self.given_parts().1.unwrap_or_else(|| self.url.scheme.name().to_owned())
    }

    /// The URL after the scheme, its port if one is given, and where its path begins.
    fn given_parts(&self) -> (&str, Option<String>, usize) {
        let rest = self.given_url.split_once("://").map_or("", |(_, rest)| rest);
        let path_at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let authority = rest[..path_at].rsplit('@').next().unwrap_or_default();
        let has_port = |port: &&str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = authority.rsplit_once(':').map(|(_, port)| port).filter(has_port);
        (rest, port.map(str::to_owned), path_at)
    }

    /// The script, with what it is given.
    pub fn script(&self) -> Option<ScriptCall> {
        let file = self.script.clone()?;
        let (rest, port, path_at) = self.given_parts();
        let path = &rest[path_at..];
        Some(ScriptCall {
            file,
            arguments: self.arguments.clone(),
            headers: self.headers.0.clone(),
            scheme: self.url.scheme.name().to_owned(),
            host: self.url.host.trim_matches(['[', ']']).to_owned(),
            port,
            path: if path.starts_with('/') { path.to_owned() } else { "/".to_owned() },
            method: None,
            body: None,
            is_wrk2: self.variant == Variant::Wrk2,
            has_connections: false,
        })
    }

    /// A file for the whole record.
    pub fn record_file(&self) -> Option<&str> {
        self.record_file.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(variant: Variant, line: &str) -> Result<WrkCommand, ToolOutput> {
        WrkCommand::parse(variant, &line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn flags_fill_a_job() {
        let job = parse(Variant::Wrk, "-t4 -c1k -d 2m --timeout 5s --latency http://127.0.0.1:8080/a?b")
            .unwrap()
            .job();
        assert_eq!((job.threads, job.connections, job.load), (4, 1000, LoadModel::Closed));
        assert_eq!((job.window, job.timeout), (Bound::Duration(Nanos::from_secs(120)), Nanos::from_secs(5)));
        assert_eq!((job.warmup, job.url.path.as_str()), (Nanos::ZERO, "/a?b"));
        let job = parse(Variant::Wrk, "http://127.0.0.1/").unwrap().job();
        assert_eq!((job.threads, job.connections, job.timeout), (2, 10, Nanos::from_secs(2)));
        let job = parse(Variant::Wrk2, "-R2k http://127.0.0.1/").unwrap().job();
        let LoadModel::Open { shape: Shape::Steady { rate }, .. } = job.load else { panic!() };
        assert_eq!((rate.get(), job.check()), (2000.0, Ok(())));
    }

    #[test]
    fn the_last_header_of_a_name_counts() {
        let given = ["-H", "A: 1", "-H", "Host: x", "-H", "A: 2", "http://127.0.0.1/"].map(str::to_owned);
        let job = WrkCommand::parse(Variant::Wrk, &given).unwrap().job();
        let fields: Vec<_> =
            job.requests[0].headers.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(fields, ["Host=x", "A=2"]);
    }

    #[test]
    fn a_script_is_given_the_parts_of_the_url() {
        let line = "-s a.lua -H A:\u{a0}1 http://[::1]:8080/b?c=1#d -- one -two";
        let arguments: Vec<_> = line.split(' ').map(|word| word.replace('\u{a0}', " ")).collect();
        let call = WrkCommand::parse(Variant::Wrk, &arguments).unwrap().script().unwrap();
        let url = "http://[::1]:8080/b?c=1#d".to_owned();
        assert_eq!(call.arguments, [url, "one".to_owned(), "-two".to_owned()]);
        assert_eq!((call.host.as_str(), call.port.as_deref()), ("::1", Some("8080")));
        assert_eq!((call.path.as_str(), call.scheme.as_str()), ("/b?c=1#d", "http"));
        assert_eq!(call.headers, [("A".to_owned(), "1".to_owned())]);
        let call = parse(Variant::Wrk2, "-R1 -sa http://a").unwrap().script().unwrap();
        assert_eq!((call.port, call.path.as_str(), call.is_wrk2), (None, "/", true));
        assert_eq!(parse(Variant::Wrk, "http://a").unwrap().script(), None);
    }

    #[test]
    fn what_does_not_run_says_so() {
        for (line, stderr, has_usage) in [
            ("", "", true),
            ("nourl", "invalid URL: nourl\n", true),
            ("-c1 -t2 http://127.0.0.1/", "number of connections must be >= threads\n", true),
            ("-d10ms http://127.0.0.1/", "", true),
            ("-t0 http://127.0.0.1/", "", true),
            ("-x http://127.0.0.1/", "wrk: invalid option -- 'x'\n", true),
            ("-h", "wrk: invalid option -- 'h'\n", true),
            ("--help", "", true),
            ("-H A:1 http://127.0.0.1/", "paceline: -H \"A:1\": write", false),
        ] {
            let output = parse(Variant::Wrk, line).unwrap_err();
            assert!(output.stderr.starts_with(stderr), "{line}: {output:?}");
            assert_eq!((output.status, output.stdout == WRK_USAGE), (1, has_usage), "{line}");
        }
        for line in ["-t2 -R2000 http://127.0.0.1/", "--rate 2000 http://127.0.0.1/"] {
            let output = parse(Variant::Wrk, line).unwrap_err();
            assert!(output.stderr.ends_with("use `paceline wrk2`\n"), "{line}: {output:?}");
            assert_eq!((output.status, output.stdout.as_str()), (1, WRK_USAGE));
        }
        assert!(!parse(Variant::Wrk, "-x http://127.0.0.1/").unwrap_err().stderr.contains("wrk2"));
        for line in ["http://127.0.0.1/", "-R0 http://127.0.0.1/"] {
            let output = parse(Variant::Wrk2, line).unwrap_err();
            assert_eq!(output.stderr, "Throughput MUST be specified with the --rate or -R option\n");
        }
        let version = parse(Variant::Wrk, "-v").unwrap_err();
        assert!(version.stdout.starts_with("wrk 4.2.0 [Paceline ") && version.stdout.ends_with(WRK_USAGE));
    }
}
