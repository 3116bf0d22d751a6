//! The flags of `paceline run`, and the job that they describe.
//!
//! Every flag that describes the job is optional: a flag that is not given leaves the job's value, from `--job` or the
//! default. Flags that cannot be combined are refused by clap, by `shape.rs`, or by [`Job::check`].

use super::connections::ConnectionFlags;
use super::curl::CurlCommand;
use super::gates::GateFlags;
use super::grpc_flags::GrpcFlags;
use super::loaders::LoaderFlags;
use super::metrics_flags::MetricsFlags;
use super::output_flags::OutputFlags;
use super::requests::RequestFlags;
use super::shape::ShapeFlags;
use super::stream_flags::StreamFlags;
use super::target::TargetFlags;
use super::values::{duration, whole};
use super::websocket_flags::WebSocketFlags;
use crate::exit::Complaint;
use anyhow::Context as _;
use paceline_http::Url;
use paceline_job::{Job, Nanos, PaceChoice, Timestamps};
use paceline_run::Inputs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Put load on one URL and report the results
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE_EXAMPLES)]
pub struct Arguments {
    /// Target URL: http://host[:port]/path; or https, ws, wss, grpc, grpcs
    #[arg(required_unless_present_any = ["job", "curl", "har"])]
    pub url: Option<String>,

    #[command(flatten)]
    pub shape: ShapeFlags,

    /// Threads that share the connections [default: 1]
    #[arg(short, long, value_name = "N", value_parser = whole::<u32>, help_heading = "Load")]
    pub threads: Option<u32>,

    /// Maximum number of requests outstanding on a connection: pipelined, or with --http 2 or 3 as concurrent
    /// streams [default: 1]
    #[arg(hide_short_help = true, long, visible_alias = "streams", value_name = "DEPTH", value_parser = whole::<u16>, help_heading = "Load")]
    pub pipeline: Option<u16>,

    /// With --pipeline: send the next batch after all responses to the previous one, as wrk's scripts do
    #[arg(hide_short_help = true, long, requires = "pipeline", help_heading = "Load")]
    pub pipeline_batch: bool,

    /// Run the job in FILE (TOML, .json); flags override it
    #[arg(long, value_name = "FILE", help_heading = "Load")]
    pub job: Option<PathBuf>,

    /// Print the job that the flags describe, as TOML, and exit
    #[arg(hide_short_help = true, long, help_heading = "Load")]
    pub print_job: bool,

    /// Send each request once, show all traffic, and exit
    #[arg(long, conflicts_with_all = ["print_job", "loaders", "on"], help_heading = "Requests")]
    pub debug: bool,

    /// Take the request from a curl command, as copied from a browser: 'curl ...'
    #[arg(hide_short_help = true, long, value_name = "COMMAND", conflicts_with_all = ["har", "mix", "body", "form", "multipart"], help_heading = "Requests")]
    pub curl: Option<String>,

    /// Take the requests from FILE, a browser's HTTP Archive (HAR)
    ///
    /// Requests to other hosts than that of the URL are left out.
    #[arg(hide_short_help = true, long, value_name = "FILE", conflicts_with_all = ["mix", "body", "form", "multipart", "method"], help_heading = "Requests")]
    pub har: Option<PathBuf>,

    /// Load before the measured window [default: 1s, or 0 with -n]
    #[arg(long, value_name = "T", value_parser = duration, help_heading = "Phases")]
    pub warmup: Option<Duration>,

    /// How long to wait for outstanding responses after the window [default: that of --timeout]
    #[arg(hide_short_help = true, long, value_name = "T", value_parser = duration, help_heading = "Phases")]
    pub drain: Option<Duration>,

    /// Longest wait for a complete response [default: 10s]
    ///
    /// With --stream: for the first event, and for each further one.
    #[arg(long, value_name = "T", value_parser = duration, help_heading = "Phases")]
    pub timeout: Option<Duration>,

    /// Longest wait for a connection, TLS handshake included [default: 10s]
    ///
    /// Limits each attempt, and the time in which all connections are opened at the beginning; the load then starts with
    /// those that are open.
    #[arg(hide_short_help = true, long, value_name = "T", value_parser = duration, help_heading = "Phases")]
    pub connect_timeout: Option<Duration>,

    #[command(flatten)]
    pub target: TargetFlags,

    #[command(flatten)]
    pub metrics: MetricsFlags,

    #[command(flatten)]
    pub connection: ConnectionFlags,

    #[command(flatten)]
    pub request: RequestFlags,

    #[command(flatten)]
    pub stream: StreamFlags,

    #[command(flatten)]
    pub websocket: WebSocketFlags,

    #[command(flatten)]
    pub grpc: GrpcFlags,

    #[command(flatten)]
    pub gates: GateFlags,

    #[command(flatten)]
    pub loaders: LoaderFlags,

    #[command(flatten)]
    pub output: OutputFlags,

    /// How to wait until the next request is due [default: auto]
    #[arg(hide_short_help = true, long, value_enum, help_heading = "Generator")]
    pub pace: Option<PaceChoice>,

    /// Which timestamps to use for responses: user space only, or the kernel's as well [default: user]
    #[arg(hide_short_help = true, long, value_enum, help_heading = "Generator")]
    pub timestamps: Option<Timestamps>,

    /// Keep processors out of idle states during the run, if permitted (/dev/cpu_dma_latency)
    ///
    /// On a virtual machine this prevents most steal: a hypervisor gives a core to other machines mainly while the
    /// core is idle.
    #[arg(hide_short_help = true, long, help_heading = "Generator")]
    pub quiet_cpu: bool,

    /// Seed of every random choice [default: random, recorded]
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = whole::<u64>, help_heading = "Generator")]
    pub seed: Option<u64>,
}

impl Arguments {
    /// The job described by the flags.
    pub fn job(&self, inputs: &mut Inputs) -> anyhow::Result<Job> {
        let mut job = match &self.job {
            Some(path) => read_job(path, self.url.is_some(), inputs)?,
            None => Job::default(),
        };
        if let Some(text) = &self.url {
            job.url = url(text)?;
        }
        self.import(&mut job, inputs)?;
        job.threads = self.threads.unwrap_or(job.threads);
        job.depth = self.pipeline.unwrap_or(job.depth);
        job.batch |= self.pipeline_batch;
        job.pace = self.pace.unwrap_or(job.pace);
        job.timestamps = self.timestamps.unwrap_or(job.timestamps);
        job.quiet_cpu |= self.quiet_cpu;
        job.seed = self.seed.or(job.seed);
        if let Some(timeout) = self.timeout {
            (job.timeout, job.drain) = (timeout.into(), timeout.into());
        }
        job.drain = self.drain.map_or(job.drain, Nanos::from);
        job.connect_timeout = self.connect_timeout.map_or(job.connect_timeout, Nanos::from);
        self.shape.fill(self.warmup, &mut job, inputs)?;
        self.target.fill(&mut job);
        self.connection.fill(&mut job);
        self.request.fill(&mut job, inputs)?;
        self.websocket.fill(&mut job);
        self.grpc.fill(&mut job, self.connection.http);
        self.stream.fill(&mut job, self.drain.is_some());
        Ok(job)
    }
}

impl Arguments {
    /// Adds requests from formats of other programs (curl, HAR) to a job.
    fn import(&self, job: &mut Job, inputs: &mut Inputs) -> anyhow::Result<()> {
        if let Some(line) = &self.curl {
            let command = CurlCommand::parse(line)?;
            if self.url.is_none() {
                job.url = url(&command.target().0)?;
            }
            command.fill(job, inputs)?;
        }
        if let Some(path) = &self.har {
            let found = super::har::read(path, self.url.as_ref().map(|_| &job.url), inputs)?;
            found.notices.iter().for_each(|notice| crate::exit::say(notice));
            (job.url, job.requests) = (found.url, found.specs);
        }
        Ok(())
    }
}

/// Reads a job file.
fn read_job(path: &Path, has_url: bool, inputs: &mut Inputs) -> anyhow::Result<Job> {
    let wrong = || Complaint::usage(format!("--job {}", path.display()));
    let text = inputs.read_text("--job", path).with_context(wrong)?;
    let is_json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    let job = if is_json { Job::from_json(&text, has_url) } else { Job::from_toml(&text, has_url) };
    job.with_context(wrong)
}

/// The hint for a host that is not ASCII.
fn url_hint(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("://")?;
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let host = authority.split(':').next().unwrap_or(authority);
    let hint = || format!("a host name must be ASCII: convert it to punycode first, with `idn2 {host}`");
    (!host.is_ascii()).then(hint)
}

/// The target's URL.
fn url(text: &str) -> Result<Url, Complaint> {
    if let Some(path) = text.strip_prefix("unix:").or_else(|| text.strip_prefix("http+unix:")) {
        let path = path.trim_start_matches("//");
        return Err(Complaint::usage(format!("URL {text:?} names a unix socket, not a host"))
            .hint(format!("use --unix-socket: paceline run http://localhost/ --unix-socket {path}")));
    }
    Url::parse(text).map_err(|error| {
        let complaint = Complaint::usage(error.to_string());
        match url_hint(text) {
            Some(hint) => complaint.hint(hint),
            None => complaint,
        }
    })
}

const EXAMPLES: &str = "\
Examples:
  paceline run http://localhost:8080/                    64 connections, 10 s
  paceline run http://localhost:8080/ -c 1000 -r 20000   20,000/s offered
  paceline run http://localhost:8080/ --max-errors 0.1%  exits 1 if more fail
  paceline run http://localhost:8080/ --mix shop.toml    several requests

Exit status: 0 done, 1 the result is invalid or a check failed, 2 wrong usage,
3 environment, 130 interrupted";

const MORE_EXAMPLES: &str = "\
Examples:
  The maximum rate of 64 connections:
    paceline run http://127.0.0.1:8080/
  20,000/s offered for 30 s, whatever the server does:
    paceline run http://127.0.0.1:8080/ -c 1000 -r 20000 -d 30s
  A ramp, to find the rate at which the server is overloaded:
    paceline run http://127.0.0.1:8080/ -c 1000 -r 1000:50000
  100,000 requests, every byte of every response compared, the record as JSON:
    paceline run http://127.0.0.1:8080/ -n 100000 --expect-body @page.txt --json
  In CI: fail if the server is too slow:
    paceline run http://127.0.0.1:8080/ -r 2000 --slo 'response.p99<10ms'
  A different path each time, and a value required in the JSON of each response:
    paceline run 'http://127.0.0.1:8080/user/{rand:1:9}' --expect-json /active=true
  Output for a dashboard during the run, and for HdrHistogram's tools:
    paceline run http://127.0.0.1:8080/ -r 2000 --ndjson run.ndjson --hdr run.hlog

Exit status: 0 done, 1 the run is invalid or a check failed, 2 usage,
3 environment, 130 interrupted. Ctrl-C ends the run and reports the results so
far; a second one exits at once.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_urls_are_answered_with_a_correction() {
        for (text, nearest) in
            [("http://::1:8080/a", "http://[::1]:8080/a"), ("http://fe80::1", "http://[fe80::1]")]
        {
            let complaint = url(text).unwrap_err();
            assert!(complaint.hint.is_none() && complaint.to_string().contains(nearest), "{complaint}");
        }
        let hint = url("http://b\u{fc}cher.example/").unwrap_err().hint.unwrap();
        assert!(hint.contains("idn2 b\u{fc}cher.example"));
    }
}
