//! siege's command line (`parse_cmdline` in `src/main.c`) and settings as a job.
//!
//! Each user is a connection, which is closed after each request unless `connection = keep-alive`. What this engine
//! cannot do is refused, with what to use instead.

use super::settings::Settings;
use super::urls::{self, Data, Target};
use crate::getopt::OptionTable;
use crate::tool::{ToolInputs, ToolOutput, take_record_file};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use paceline_http::{Scheme, Url};
use paceline_job::{Bound, Content, Headers, Job, Nanos, Protocol, Proxy, RequestSpec, Think, TlsSpec};

const OPTIONS: OptionTable = OptionTable {
    program: "siege",
    permutes: true,
    short: &[
        ('V', false),
        ('h', false),
        ('C', false),
        ('v', false),
        ('q', false),
        ('D', false),
        ('N', false),
        ('F', false),
        ('g', false),
        ('p', false),
        ('c', true),
        ('r', true),
        ('t', true),
        ('d', true),
        ('b', false),
        ('i', false),
        ('f', true),
        ('R', true),
        ('l', false),
        ('m', true),
        ('H', true),
        ('A', true),
        ('T', true),
        ('j', false),
    ],
    long: &[
        ("version", 'V'),
        ("help", 'h'),
        ("config", 'C'),
        ("verbose", 'v'),
        ("quiet", 'q'),
        ("debug", 'D'),
        ("get", 'g'),
        ("print", 'p'),
        ("concurrent", 'c'),
        ("reps", 'r'),
        ("time", 't'),
        ("delay", 'd'),
        ("benchmark", 'b'),
        ("internet", 'i'),
        ("file", 'f'),
        ("rc", 'R'),
        ("log", 'l'),
        ("mark", 'm'),
        ("header", 'H'),
        ("user-agent", 'A'),
        ("content-type", 'T'),
        ("json-output", 'j'),
        ("no-parser", 'N'),
        ("no-follow", 'F'),
    ],
};

const USAGE: &str = include_str!("usage.txt");
/// The version whose report is printed.
pub const VERSION: &str = "SIEGE 4.0.7";
const USER_AGENT: &str = "Mozilla/5.0 (pc-x86_64-linux-gnu) Siege/4.0.7";
/// The log without a name.
const LOG_FILE: &str = "/var/log/siege.log";
/// The users without a flag and a setting.
const USERS: u32 = 10;
/// A run without an end lasts until it is interrupted.
const NO_END: Nanos = Nanos::from_secs(365 * 86_400);
/// siege follows redirects without a limit; this is more than a browser follows.
const MAX_REDIRECTS: u16 = 20;

/// A parsed command line.
#[derive(Clone, Debug)]
pub struct SiegeCommand {
    job: Job,
    /// The number of requests, if it ends the run.
    pub requests: Option<u64>,
    /// Whether nothing is printed.
    pub is_quiet: bool,
    /// Whether single transactions are to be printed, which ends the line before them.
    pub is_verbose: bool,
    /// Whether the report is JSON.
    pub is_json: bool,
    /// The log, if one is written.
    pub log: Option<Log>,
    /// What the user is told that siege would do.
    pub notes: Vec<&'static str>,
    record_file: Option<String>,
}

/// The log file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Its path.
    pub path: String,
    /// The text that marks this run.
    pub mark: Option<String>,
    /// Whether the report names it.
    pub is_shown: bool,
    /// The file of the settings.
    pub settings_file: String,
}

/// What is collected from flags and settings.
struct Reading {
    settings: Settings,
    settings_file: String,
    users: u32,
    reps: Option<u64>,
    /// Whether each user requests each URL once.
    is_once: bool,
    time: Option<Nanos>,
    delay: f64,
    is_benchmark: bool,
    file: Option<String>,
    headers: Headers,
    user_agent: String,
    content_type: Option<String>,
    has_log: bool,
    log_file: Option<String>,
    mark: Option<String>,
    has_parser: bool,
    follows: bool,
}

fn usage() -> ToolOutput {
    ToolOutput { stdout: USAGE.to_owned(), stderr: format!("{VERSION}\n"), ..ToolOutput::default() }
}

fn wrong(message: &str) -> ToolOutput {
    ToolOutput { stderr: format!("{message}\n"), status: 1, ..ToolOutput::default() }
}

fn refusal(flag: char, instead: &str) -> ToolOutput {
    wrong(&format!("paceline: siege -{flag} is not supported: {instead}"))
}

impl SiegeCommand {
    /// Parses the arguments after the program's name.
    ///
    /// # Errors
    /// What the program prints instead of a run.
    pub fn parse(arguments: &[String], inputs: &dyn ToolInputs) -> Result<Self, ToolOutput> {
        let (arguments, record_file) =
            take_record_file(arguments).map_err(|problem| wrong(&format!("paceline: {problem}")))?;
        let (arguments, log_file) = take_log_file(arguments);
        let given = OPTIONS.parse(&arguments).map_err(|message| ToolOutput {
            stderr: format!("{message}\n{VERSION}\n"),
            status: 1,
            ..usage()
        })?;
        if arguments.is_empty() {
            return Err(usage());
        }
        let named = given.options.iter().rev().find(|(flag, _)| *flag == 'R').map(|(_, file)| file.as_str());
        let (settings_file, settings) = read_settings(named, inputs)?;
        let mut command = Self {
            job: Job::default(),
            requests: None,
            is_quiet: settings.is_on("quiet", false),
            is_verbose: settings.is_on("verbose", true),
            is_json: settings.is_on("json_output", false),
            log: None,
            notes: Vec::new(),
            record_file,
        };
        let mut reading = Reading::from_settings(settings, settings_file)?;
        for (flag, value) in &given.options {
            match flag {
                'q' => command.is_quiet = true,
                'j' => command.is_json = true,
                'v' => {
                    command.is_verbose = true;
                    command.notes.push("single transactions are not printed (-v)");
                }
                _ => reading.set(*flag, value)?,
            }
        }
        reading.has_log |= log_file.is_some();
        reading.log_file = log_file.filter(|file| !file.is_empty()).or(reading.log_file);
        if given.arguments.len() > 1 {
            command.notes.push("of several URLs only the last is requested, as with siege");
        }
        let targets = reading.targets(&given.arguments, inputs)?;
        command.finish(&reading, &targets, inputs)?;
        Ok(command)
    }

    fn finish(
        &mut self,
        reading: &Reading,
        targets: &[Target],
        inputs: &dyn ToolInputs,
    ) -> Result<(), ToolOutput> {
        let first = targets.first().ok_or_else(usage)?;
        let place = |url: &Url| (url.scheme, url.host.clone(), url.port);
        if let Some(other) = targets.iter().find(|target| place(&target.url) != place(&first.url)) {
            return Err(wrong(&format!(
                "paceline: {} and {} are different servers: a run has one; start a run for each",
                first.url.host, other.url.host
            )));
        }
        self.job = reading.job(first)?;
        self.job.requests = targets.iter().map(|target| reading.request(target, inputs)).collect();
        let users = u64::from(reading.users);
        // With a time, siege ignores -r N (`ds_module_check` in `src/init.c`), and goes through the URLs of -r once
        // repeatedly (`start` in `src/browser.c`).
        let reps = if reading.is_once { Some(targets.len() as u64) } else { reading.reps };
        self.requests = reps.filter(|_| reading.time.is_none()).map(|reps| reps.saturating_mul(users));
        self.job.window = match (reading.time, self.requests) {
            (Some(time), _) => Bound::Duration(time),
            (None, Some(requests)) => Bound::Requests(requests),
            (None, None) => Bound::Duration(NO_END),
        };
        if reading.time.is_some() && reading.reps.is_some() && !reading.is_once {
            self.notes.push("-r is ignored: with -t the time alone ends the run, as with siege");
        }
        if reading.is_once && targets.len() > 1 {
            self.notes
                .push("URLs are drawn at random: with -r once a user may request one twice and miss another");
        }
        if reading.has_parser {
            self.notes.push("resources of HTML pages are not fetched: --no-parser is the default here");
        }
        if reading.has_log {
            let path = reading.log_file.clone().unwrap_or_else(|| LOG_FILE.to_owned());
            self.log = Some(Log {
                path,
                mark: reading.mark.clone(),
                is_shown: reading.settings.is_on("show-logfile", true),
                settings_file: reading.settings_file.clone(),
            });
        }
        Ok(())
    }

    /// The job that it describes.
    pub fn job(&self) -> Job {
        self.job.clone()
    }

    /// Whether the run ends at a time, or is interrupted.
    pub fn is_timed(&self) -> bool {
        matches!(self.job.window, Bound::Duration(_))
    }

    /// The number of users.
    pub fn users(&self) -> u32 {
        self.job.connections
    }

    /// A file for the whole record.
    pub fn record_file(&self) -> Option<&str> {
        self.record_file.as_deref()
    }
}

impl Reading {
    fn from_settings(settings: Settings, settings_file: String) -> Result<Self, ToolOutput> {
        let number = |key: &str| settings.number(key);
        let text = |key: &str| settings.get(key).map(str::to_owned);
        let mut reading = Self {
            users: USERS,
            reps: None,
            is_once: false,
            time: None,
            delay: number("delay").unwrap_or(0.0),
            is_benchmark: settings.is_on("benchmark", false),
            file: text("file"),
            headers: Headers::default(),
            user_agent: text("user-agent").unwrap_or_else(|| USER_AGENT.to_owned()),
            content_type: None,
            has_log: settings.is_on("logging", false),
            log_file: text("logfile"),
            mark: None,
            has_parser: settings.is_on("parser", true),
            follows: settings.is_on("follow-location", true),
            settings,
            settings_file,
        };
        for field in reading.settings.headers.clone() {
            reading.set('H', &field)?;
        }
        for (flag, key) in [('c', "concurrent"), ('r', "reps"), ('t', "time")] {
            if let Some(value) = reading.settings.get(key).map(str::to_owned) {
                reading.set(flag, &value)?;
            }
        }
        Ok(reading)
    }

    fn set(&mut self, flag: char, value: &str) -> Result<(), ToolOutput> {
        let bad = || wrong(&format!("paceline: siege -{flag} {value}: use a number above 0"));
        match flag {
            'c' => self.users = value.parse().ok().filter(|users| *users > 0).ok_or_else(bad)?,
            'r' if value == "once" => self.is_once = true,
            'r' => {
                self.reps = Some(value.parse().ok().filter(|reps| *reps > 0).ok_or_else(bad)?);
                self.is_once = false;
            }
            't' => self.time = Some(time(value).ok_or_else(bad)?),
            'd' => self.delay = value.parse().ok().filter(|delay: &f64| *delay >= 0.0).ok_or_else(bad)?,
            'b' => self.is_benchmark = true,
            'f' => self.file = Some(value.to_owned()),
            // Alone it was read before; here it ends a group of flags.
            'l' => self.has_log = true,
            'm' => (self.mark, self.has_log) = (Some(value.to_owned()), true),
            'H' => {
                let (name, content) = value.split_once(':').ok_or_else(|| {
                    wrong(&format!("siege: invalid header: {value:?}: write \"Name: value\""))
                })?;
                self.headers.0.push((name.trim().to_owned(), content.trim().to_owned()));
            }
            'A' => value.clone_into(&mut self.user_agent),
            'T' => self.content_type = Some(value.to_owned()),
            'N' => self.has_parser = false,
            'F' => self.follows = false,
            'V' => {
                let stderr = format!(
                    "{VERSION}\n\nThe command line and report of siege, measured by Paceline {}\n\n",
                    env!("CARGO_PKG_VERSION")
                );
                return Err(ToolOutput { stderr, ..ToolOutput::default() });
            }
            'h' => return Err(usage()),
            'g' | 'p' => {
                return Err(refusal(flag, "`paceline run URL --debug` shows one request and its response"));
            }
            'C' => {
                return Err(refusal('C', &format!("the settings are in {}", self.settings_file)));
            }
            // -R was read before; URLs are drawn at random always, as with -i; -D prints more.
            _ => {}
        }
        Ok(())
    }

    /// The URLs to request: the last one of the command line (`parse_cmdline`), or those of the file.
    fn targets(&self, given: &[String], inputs: &dyn ToolInputs) -> Result<Vec<Target>, ToolOutput> {
        if let Some(url) = given.last().map(String::as_str).or(self.settings.get("url")) {
            return Ok(vec![Target::parse(url).map_err(|problem| wrong(&format!("siege: {problem}")))?]);
        }
        let file = self.file.as_deref().ok_or_else(usage)?;
        let text = inputs.read(file).map_err(|problem| wrong(&format!("siege: {file}: {problem}")))?;
        urls::parse_file(&text).map_err(|problem| wrong(&format!("siege: {file}: {problem}")))
    }

    fn job(&self, first: &Target) -> Result<Job, ToolOutput> {
        let keeps =
            self.settings.get("connection").is_some_and(|value| value.eq_ignore_ascii_case("keep-alive"));
        let is_old = self.settings.get("protocol").is_some_and(|value| value.ends_with("1.0"));
        let timeout = self.settings.number("timeout").filter(|seconds| *seconds > 0.0).unwrap_or(30.0);
        let delay = if self.is_benchmark { 0.0 } else { self.delay };
        // siege draws each pause evenly between 0 and the delay: random pauses with the same mean.
        let think = (delay > 0.0).then(|| Think::exponential(Nanos((delay / 2.0 * 1e9) as u64)));
        // Without keep-alive or with pauses, the engine keeps nothing from one request to the next.
        let has_users = keeps && think.is_none();
        Ok(Job {
            url: first.url.clone(),
            // siege never checks a certificate.
            tls: TlsSpec { insecure: first.url.scheme == Scheme::Https, ..TlsSpec::default() },
            proxy: self.proxy()?,
            protocol: if is_old { Protocol::Http10 } else { Protocol::Http11 },
            connections: self.users,
            keep_alive: keeps,
            think,
            warmup: Nanos::ZERO,
            timeout: Nanos((timeout * 1e9) as u64),
            drain: Nanos((timeout * 1e9) as u64),
            cookies: has_users,
            follow: if self.follows && has_users { MAX_REDIRECTS } else { 0 },
            ..Job::default()
        })
    }

    fn proxy(&self) -> Result<Option<Proxy>, ToolOutput> {
        let Some(host) = self.settings.get("proxy-host") else { return Ok(None) };
        let port = self.settings.get("proxy-port").unwrap_or("3128");
        let mut proxy = Proxy::parse(&format!("{host}:{port}"))
            .map_err(|problem| wrong(&format!("siege: proxy-host: {problem}")))?;
        proxy.credentials = self.settings.get("proxy-login").map(login);
        Ok(Some(proxy))
    }

    /// A request with siege's headers, in its order.
    fn request(&self, target: &Target, inputs: &dyn ToolInputs) -> RequestSpec {
        let mut headers = Headers::default();
        let mut add = |name: &str, value: &str| headers.0.push((name.to_owned(), value.to_owned()));
        if let Some(credentials) = self.settings.get("login") {
            add("Authorization", &format!("Basic {}", BASE64_STANDARD.encode(login(credentials))));
        }
        add("Accept", "*/*");
        add("Accept-Encoding", self.settings.get("accept-encoding").unwrap_or("gzip, deflate"));
        add("User-Agent", &self.user_agent);
        if let Some(data) = &target.data {
            add("Content-Type", self.content_type.as_deref().unwrap_or(data.content_type()));
        }
        let given = &self.headers.0;
        headers.0.retain(|(default, _)| !given.iter().any(|(name, _)| default.eq_ignore_ascii_case(name)));
        headers.0.extend(given.iter().cloned());
        RequestSpec {
            method: target.method.clone(),
            path: Some(target.url.path.clone()),
            headers,
            body: target.data.as_ref().map(|data| content(data, inputs)),
            omit: ["User-Agent", "Accept"].map(str::to_owned).to_vec(),
            literal: true,
            ..RequestSpec::default()
        }
    }
}

/// What is sent of some data. siege trims a file of text (`load_file` in `src/load.c` of 4.0.7). One that is not UTF-8
/// is sent as it is, and one that cannot be opened is left to the run, which names it.
fn content(data: &Data, inputs: &dyn ToolInputs) -> Content {
    // The white space of C.
    let blank = [' ', '\t', '\n', '\r', '\u{b}', '\u{c}'];
    match data {
        Data::Text(text) => Content::Text(text.clone()),
        Data::File(file) => match data.is_trimmed().then(|| inputs.read(file)) {
            Some(Ok(text)) => Content::Text(text.trim_matches(blank).to_owned()),
            Some(Err(_)) | None => Content::File { file: file.into() },
        },
    }
}

/// `user:password` of `user:password:realm`.
fn login(value: &str) -> String {
    value.splitn(3, ':').take(2).collect::<Vec<_>>().join(":")
}

/// `10S`, `2M` or `1H`; minutes without a letter.
fn time(value: &str) -> Option<Nanos> {
    let value = value.trim();
    let end = value.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(value.len());
    let number: u64 = value[..end].parse().ok().filter(|number| *number > 0)?;
    let unit = match value[end..].trim().to_ascii_lowercase().as_str() {
        "s" => 1,
        "" | "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    number.checked_mul(unit).map(Nanos::from_secs)
}

/// Takes `-l[FILE]` and `--log[=FILE]` out: the value is attached or missing. An empty name stands for none.
fn take_log_file(arguments: Vec<String>) -> (Vec<String>, Option<String>) {
    let mut log = None;
    let others = arguments.into_iter().filter(|argument| {
        let short = argument.strip_prefix("-l").filter(|_| !argument.starts_with("--"));
        let long = argument.strip_prefix("--log").map(|rest| rest.strip_prefix('=').unwrap_or(rest));
        let file = short.or(long);
        log = file.map(str::to_owned).or(log.take());
        file.is_none()
    });
    let others = others.collect();
    (others, log)
}

/// The settings: of the named file, of `SIEGERC`, or of the user.
fn read_settings(named: Option<&str>, inputs: &dyn ToolInputs) -> Result<(String, Settings), ToolOutput> {
    if let Some(file) = named.map(str::to_owned).or_else(|| inputs.variable("SIEGERC")) {
        let text = inputs.read(&file).map_err(|problem| wrong(&format!("siege: {file}: {problem}")))?;
        return Ok((file, Settings::read(&text)));
    }
    let home = inputs.variable("HOME").unwrap_or_default();
    let files = [".siege/siege.conf", ".siegerc"].map(|file| format!("{home}/{file}"));
    let found = files.iter().find_map(|file| Some((file.clone(), inputs.read(file).ok()?)));
    Ok(found.map_or_else(
        || (files[0].clone(), Settings::default()),
        |(file, text)| (file, Settings::read(&text)),
    ))
}

#[cfg(test)]
mod tests;
