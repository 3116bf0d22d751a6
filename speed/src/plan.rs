//! What an experiment is, as data: who runs against what, which numbers are shown, which are held against each other.
//!
//! `experiments/` writes these, `runner` carries them out, `page` prints them. Nothing here runs anything.

use crate::tools::Tool;
use std::collections::BTreeMap;

/// One experiment: one section of the page.
pub struct Plan {
    /// What it is called on the command line.
    pub name: &'static str,
    /// The section's heading.
    pub title: String,
    /// What it shows and how to read it, a paragraph.
    pub about: &'static str,
    /// Who runs, in the order of every round.
    pub contenders: Vec<Contender>,
    /// At most so many rounds, where one takes long.
    pub rounds_most: Option<u32>,
    /// The numbers shown of each.
    pub columns: Vec<Column>,
    /// The numbers held against each other, or against a goal.
    pub comparisons: Vec<Comparison>,
    /// Samples computed from the others of a round, such as the truth about a known server.
    pub derive: Option<Derive>,
}

/// Samples computed from the others of a round.
pub type Derive = fn(&[Sample]) -> Vec<Sample>;

/// One program in one setting, against a server of its own.
#[derive(Clone)]
pub struct Contender {
    /// Its row.
    pub name: String,
    /// What it is, and so how to read its output.
    pub tool: Tool,
    /// What to run. `{url}`, `{port}`, `{response_bytes}`, `{body}` and `{work}` are filled in.
    pub command: Command,
    /// The server it runs against.
    pub server: ServerSetting,
    /// The cores the generator may use; the server's are beside the server.
    pub cores: Side,
    /// A flag of `paceline run` without which this row is left out.
    pub needs_flag: Option<&'static str>,
}

/// A program and its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Its name, as `PATH` would find it, or `paceline`, `floor-closed`, `floor-open`.
    pub program: &'static str,
    /// Its arguments, with places to fill in.
    pub arguments: Vec<String>,
    /// Variables of its environment.
    pub environment: Vec<(&'static str, String)>,
}

impl Command {
    /// A program with arguments separated by spaces; none of ours contains one.
    pub fn new(program: &'static str, arguments: &str) -> Self {
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        Self { program, arguments, environment: Vec::new() }
    }

    /// With a variable of the environment.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.environment.push((name, value.to_owned()));
        self
    }
}

/// A program that answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerProgram {
    /// `speed/floor/server.c`: HTTP/1.1, as cheap as a server can be.
    Floor,
    /// nghttp2's `nghttpd`, for HTTP/2 without TLS. Of the setting it takes the body alone.
    Nghttpd,
}

/// The server, as it is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSetting {
    /// Which.
    pub program: ServerProgram,
    /// Length of every response's body.
    pub body_bytes: usize,
    /// Processes that share the port.
    pub processes: u32,
    /// Whether responses say `Connection: keep-alive`, which `ab` and `siege` wait for.
    pub says_keep_alive: bool,
    /// Seconds of a freeze, once in every so many.
    pub freeze: Option<(u32, u32)>,
    /// Where it runs.
    pub cores: Side,
}

impl ServerSetting {
    /// One process on the server's core.
    pub fn body(body_bytes: usize) -> Self {
        Self {
            program: ServerProgram::Floor,
            body_bytes,
            processes: 1,
            says_keep_alive: false,
            freeze: None,
            cores: Side::Server,
        }
    }
}

/// Which cores a program is kept on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The server's core.
    Server,
    /// The generator's core.
    Generator,
    /// Both.
    Both,
    /// These, on a machine that has more than two.
    These(&'static [u32]),
}

/// What one run of one contender came to.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Sample {
    /// Whose.
    pub contender: String,
    /// In which round, from 0.
    pub round: u32,
    /// Requests answered well.
    pub requests: u64,
    /// Requests that were not.
    pub failures: u64,
    /// What `requests` were counted over, in seconds.
    pub wall_s: f64,
    /// User CPU time of the generator for them.
    pub user_s: f64,
    /// System CPU time of the generator for them.
    pub system_s: f64,
    /// Time the generator's cores were busy during the whole run, interrupts included; nothing where the server shares
    /// them.
    pub core_busy_s: Option<f64>,
    /// CPU time of neither the server nor the generator, as a share of one core: how quiet the machine was.
    pub others_share: f64,
    /// Peak resident memory of the generator.
    pub rss_bytes_peak: u64,
    /// What only this tool reports, under a name that says its unit.
    pub extra: BTreeMap<&'static str, f64>,
    /// What the tool said of its own run, such as verdicts.
    pub remarks: Vec<String>,
    /// Why there are no numbers.
    pub error: Option<String>,
}

impl Sample {
    /// CPU microseconds of the generator for each request.
    pub fn cpu_us(&self) -> Option<f64> {
        per_request(self.user_s + self.system_s, self.requests)
    }

    /// User CPU microseconds of the generator for each request.
    pub fn user_us(&self) -> Option<f64> {
        per_request(self.user_s, self.requests)
    }

    /// Requests per second of wall-clock time.
    pub fn achieved_per_s(&self) -> Option<f64> {
        (self.requests > 0 && self.wall_s > 0.0).then(|| self.requests as f64 / self.wall_s)
    }
}

fn per_request(seconds: f64, requests: u64) -> Option<f64> {
    (requests > 0).then(|| seconds * 1e6 / requests as f64)
}

/// A number of a sample.
#[derive(Clone, Copy)]
pub struct Column {
    /// Its heading, with the unit.
    pub heading: &'static str,
    /// The number, where this sample has it.
    pub of: fn(&Sample) -> Option<f64>,
    /// Digits after the point.
    pub digits: usize,
}

/// CPU time for each request.
pub const CPU_US: Column = Column { heading: "CPU us/request", of: Sample::cpu_us, digits: 3 };
/// User CPU time for each request.
pub const USER_US: Column = Column { heading: "user us/request", of: Sample::user_us, digits: 3 };
/// The rate.
pub const RATE: Column = Column { heading: "requests/s", of: Sample::achieved_per_s, digits: 0 };
/// The rate as the tool itself counts it, where it does: completed inside the window.
pub const ACHIEVED: Column = Column {
    heading: "achieved/s",
    of: |s| s.extra.get("achieved_per_s").copied().or_else(|| s.achieved_per_s()),
    digits: 1,
};
/// Requests that failed.
pub const FAILURES: Column = Column { heading: "failed", of: |s| Some(s.failures as f64), digits: 0 };
/// How busy the generator's core was, against a request: everything the kernel did there included.
pub const CORE_US: Column =
    Column { heading: "core us/request", of: |s| per_request(s.core_busy_s?, s.requests), digits: 3 };
/// Peak resident memory.
pub const RSS_MB: Column = Column {
    heading: "resident MB, peak",
    of: |s| (s.rss_bytes_peak > 0).then_some(s.rss_bytes_peak as f64 / 1e6),
    digits: 1,
};

/// A number held against another's of the same round, or against nothing but its goal.
pub struct Comparison {
    /// Whose number.
    pub of: &'static str,
    /// Divided by whose, of the same round.
    pub to: Option<&'static str>,
    /// Which number.
    pub column: Column,
    /// What it should come to.
    pub goal: Option<Goal>,
}

/// A bound on a median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
}

impl Goal {
    /// Whether a number meets it.
    pub fn met_by(self, number: f64) -> bool {
        match self {
            Goal::AtMost(bound) => number <= bound,
            Goal::AtLeast(bound) => number >= bound,
        }
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Goal::AtMost(bound) => write!(f, "at most {bound}"),
            Goal::AtLeast(bound) => write!(f, "at least {bound}"),
        }
    }
}
