//! One launch: a server started in one form, waited for until it answers correctly, sampled, stopped.
//!
//! What goes wrong comes back as a fault with the end of the log, since a failed launch is a record, not an exit.

use crate::probe::{Connection, Patience, Question, Trouble};
use crate::validate;
use paceline_catalogue::{Manifest, Variables, WorkloadCase};
use paceline_host::cgroup::ControlGroup;
use paceline_host::shepherd::{Ended, Gone, Guard, Order, Output, Shepherd};
use paceline_host::tree::Tree;
use paceline_host::{Interrupt, User, port, system};
use paceline_record::{Fault, Stage, Startup};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a server may take to end after SIGTERM: docs/adding-a-server.md.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// How often a starting server is asked. Connections that are refused cost it nothing.
const ASK_EVERY: Duration = Duration::from_millis(2);
/// How much of a launch's log is kept: where it began to go wrong, and where it ended.
const LOG_HEAD_BYTES: u64 = 64 * 1024;
const LOG_TAIL_BYTES: u64 = 192 * 1024;
/// How much of a log's end goes into a record.
const RECORD_TAIL_BYTES: usize = 4 * 1024;
/// Another process may take the port between our look and the server's bind.
const PORT_TRIES: u32 = 3;

/// What ended an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spoiled {
    /// Ctrl-C.
    Interrupted,
    /// Something to record.
    Fault {
        /// What went wrong, how far on.
        fault: Fault,
        /// The end of what the server printed.
        log_tail: String,
    },
}

impl Spoiled {
    /// A fault without a log.
    pub fn fault(stage: Stage, message: impl Into<String>, transient: bool) -> Self {
        Self::Fault { fault: Fault { stage, message: message.into(), transient }, log_tail: String::new() }
    }
}

/// How servers are started here, the same for every launch.
#[derive(Clone, Debug)]
pub struct Starter {
    /// The command that starts a shepherd.
    pub shepherd: Vec<String>,
    /// How descendants are held together.
    pub guard: Guard,
    /// Where logs are kept; none lets a person see them on standard error.
    pub logs: Option<PathBuf>,
    /// Ctrl-C.
    pub interrupt: Interrupt,
    /// As whom servers run; none for the lab's own user.
    pub user: Option<User>,
}

/// What to start.
#[derive(Clone)]
pub struct LaunchOf<'a> {
    /// Unique: names the log and the control group.
    pub id: &'a str,
    /// The server.
    pub server: &'a Manifest,
    /// The form it runs in.
    pub form: &'a str,
    /// What its commands are given; without a port one is chosen.
    pub variables: Variables,
    /// The cores it may run on.
    pub cores: &'a [u32],
    /// When it is ready.
    pub ready: Ready<'a>,
}

/// When what was started is ready.
#[derive(Clone, Copy)]
pub enum Ready<'a> {
    /// Once it answers this correctly.
    Answers(&'a WorkloadCase),
    /// Once this says so.
    Succeeds(&'a dyn Fn() -> bool),
}

/// A server that answers.
pub struct Launch {
    shepherd: Shepherd,
    log: Option<PathBuf>,
    /// Its process tree.
    pub tree: Tree,
    /// Where it listens.
    pub address: SocketAddr,
    /// How it started.
    pub startup: Startup,
}

impl Starter {
    /// Starts a server and waits until it answers.
    ///
    /// # Errors
    /// [`Spoiled`], with nothing left running.
    pub fn launch(&self, of: &LaunchOf<'_>) -> Result<Launch, Spoiled> {
        let mut tries = 0;
        loop {
            tries += 1;
            let port = match of.variables.port {
                Some(port) => port::check_free(port).map(|()| port),
                None => port::free_port(),
            };
            let port = port.map_err(|error| Spoiled::fault(Stage::Start, error.to_string(), true))?;
            let result = self.launch_on(of, port);
            // A port that is taken now, with our server gone, was taken by somebody else.
            let lost = matches!(&result, Err(Spoiled::Fault { .. })) && port::check_free(port).is_err();
            if !lost || of.variables.port.is_some() || tries >= PORT_TRIES {
                return result;
            }
        }
    }

    fn launch_on(&self, of: &LaunchOf<'_>, port: u16) -> Result<Launch, Spoiled> {
        let variables = Variables { port: Some(port), ..of.variables.clone() };
        let host: IpAddr = variables.host.parse().map_err(|_| {
            Spoiled::fault(Stage::Start, format!("`{}` is no address to listen on", variables.host), false)
        })?;
        let group = ControlGroup::create(of.id);
        let log = self.logs.as_ref().map(|logs| logs.join(format!("{}-{}.log", of.server.id, of.id)));
        let order = self.order(of, &variables, log.as_deref(), group.as_ref())?;
        let shepherd = Shepherd::start(&self.shepherd, &order)
            .map_err(|error| Spoiled::fault(Stage::Start, error.to_string(), false))?;
        let tree = Tree::new(&shepherd, group.filter(|_| shepherd.is_grouped())).with_port(port);
        let startup = Startup { guarantee: shepherd.guarantee().to_owned(), ..Startup::default() };
        let mut launch = Launch { shepherd, log, tree, address: SocketAddr::new(host, port), startup };
        match launch.wait_ready(of, self.interrupt) {
            Ok(()) => Ok(launch),
            Err(spoiled) => Err(launch.stop_spoiled(spoiled)),
        }
    }

    fn order(
        &self,
        of: &LaunchOf<'_>,
        variables: &Variables,
        log: Option<&Path>,
        group: Option<&ControlGroup>,
    ) -> Result<Order, Spoiled> {
        let fault = |message: String| Spoiled::fault(Stage::Start, message, false);
        let form = of
            .server
            .form(of.form)
            .ok_or_else(|| fault(format!("{} has no form `{}`", of.server.id, of.form)))?;
        if let Some(folder) = log.and_then(Path::parent) {
            fs::create_dir_all(folder)
                .map_err(|error| fault(format!("cannot make {}: {error}", folder.display())))?;
        }
        let output = match log {
            Some(path) => Output::Bounded {
                path: path.to_owned(),
                head_bytes: LOG_HEAD_BYTES,
                tail_bytes: LOG_TAIL_BYTES,
            },
            None => Output::Inherit,
        };
        Ok(Order {
            command: ["sh", "-c", &form.command].map(str::to_owned).into(),
            folder: of.server.folder.clone(),
            env: environment(form.environment(variables)).map_err(fault)?,
            cores: of.cores.to_vec(),
            output,
            groups: group.map(|group| group.folder().to_owned()).into_iter().collect(),
            guard: self.guard,
            stop_limit_ms: STOP_LIMIT.as_millis() as u64,
            user: self.user.clone(),
            inherit: None,
            restore: Vec::new(),
            restore_note: None,
        })
    }
}

impl Launch {
    /// How the server's own process ended, if it has.
    pub fn ended(&mut self) -> Option<Ended> {
        self.shepherd.ended()
    }

    /// Waits until the server ends by itself, at most `limit`.
    pub fn wait_ended(&mut self, limit: Duration) -> Option<Ended> {
        self.shepherd.wait_ended(limit)
    }

    /// The end of what it printed so far. Of a long log the very end is known only once the server has ended.
    pub fn log_tail(&mut self) -> String {
        if self.ended().is_some() {
            self.shepherd.settle();
        }
        self.log.as_deref().map(tail_of).unwrap_or_default()
    }

    /// Kills it at once, as a crash would; its shepherd tells the end.
    pub(crate) fn kill(&self) {
        self.tree.kill();
    }

    /// Stops it and waits until nothing is left.
    ///
    /// # Errors
    /// When a process does not end even by SIGKILL.
    pub fn stop(self) -> io::Result<Gone> {
        let Self { shepherd, tree, .. } = self;
        let gone = shepherd.stop();
        // A shepherd that was killed left it to us.
        tree.end();
        gone
    }

    /// Stops it because of what happened; the fault gets the end of the log, which is complete then.
    fn stop_spoiled(self, spoiled: Spoiled) -> Spoiled {
        let log = self.log.clone();
        // The fault at hand is the one to tell.
        let _ = self.stop();
        match spoiled {
            Spoiled::Fault { fault, .. } => {
                Spoiled::Fault { fault, log_tail: log.as_deref().map(tail_of).unwrap_or_default() }
            }
            Spoiled::Interrupted => Spoiled::Interrupted,
        }
    }

    fn wait_ready(&mut self, of: &LaunchOf<'_>, interrupt: Interrupt) -> Result<(), Spoiled> {
        let patience = Patience::of(of.server.start_timeout, interrupt);
        let mut last = NotReady { stage: Stage::Start, why: "nobody listens".to_owned() };
        let mut heard = false;
        loop {
            if let Some(ended) = self.shepherd.ended() {
                let after = seconds(self.since_start_ns());
                let message = format!("it ended with {ended} after {after} s, before it answered");
                return Err(Spoiled::fault(Stage::Start, message, ended.is_unseen()));
            }
            match patience.check() {
                Ok(()) => {}
                Err(Trouble::Interrupted) => return Err(Spoiled::Interrupted),
                Err(_) => {
                    let limit = of.server.start_timeout.as_secs();
                    let NotReady { stage, why } = last;
                    let message = match of.ready {
                        Ready::Answers(case) => {
                            format!("no correct answer to GET {} within {limit} s: {why}", case.path)
                        }
                        Ready::Succeeds(_) => format!("not ready within {limit} s: {why}"),
                    };
                    return Err(Spoiled::fault(stage, message, false));
                }
            }
            match self.try_ready(of.ready, patience) {
                Ok(()) => return Ok(()),
                // What the end of patience cut off says less than the attempt before it.
                Err(_) if heard && patience.check().is_err() => {}
                Err(not_ready) => (last, heard) = (not_ready, true),
            }
            // Nothing announces that a server has begun to listen.
            std::thread::sleep(ASK_EVERY);
        }
    }

    fn try_ready(&mut self, ready: Ready<'_>, patience: Patience) -> Result<(), NotReady> {
        match ready {
            Ready::Answers(case) => self.try_first_answer(case, patience),
            Ready::Succeeds(is_ready) if is_ready() => Ok(()),
            Ready::Succeeds(_) => {
                let why = "its ready command fails".to_owned();
                Err(NotReady { stage: Stage::Start, why })
            }
        }
    }

    fn try_first_answer(&mut self, ready: &WorkloadCase, patience: Patience) -> Result<(), NotReady> {
        let told = |trouble: Trouble| NotReady { stage: Stage::Start, why: trouble.to_string() };
        let mut connection = Connection::open(self.address, patience).map_err(told)?;
        if self.startup.listening_ns == 0 {
            self.startup.listening_ns = self.since_start_ns();
        }
        let answer = connection.ask(Question::new(&ready.method, &ready.path)).map_err(told)?;
        let answered_ns = self.since_start_ns();
        if let Some(difference) = validate::difference(&ready.expect, &answer) {
            return Err(NotReady { stage: Stage::Validate, why: difference });
        }
        self.tree.search();
        let sample = self.tree.sample();
        self.startup.first_answer_ns = answered_ns;
        (self.startup.rss_bytes, self.startup.processes) = (sample.rss_bytes, sample.processes);
        self.startup.disk_read_bytes = self.tree.disk_read_bytes();
        Ok(())
    }

    fn since_start_ns(&self) -> u64 {
        system::monotonic_ns().saturating_sub(self.shepherd.started_monotonic_ns())
    }
}

/// Why a server is not ready yet, and what that is should it stay so: a wrong answer is no matter of starting.
struct NotReady {
    stage: Stage,
    why: String,
}

fn seconds(ns: u64) -> String {
    format!("{:.1}", ns as f64 * 1e-9)
}

fn environment(pairs: Vec<(String, OsString)>) -> Result<BTreeMap<String, String>, String> {
    let text = |(name, value): (String, OsString)| match value.into_string() {
        Ok(value) => Ok((name, value)),
        Err(value) => Err(format!("{name} is no text: {}", value.display())),
    };
    pairs.into_iter().map(text).collect()
}

/// The end of a log, from the beginning of a line where there is one.
fn tail_of(path: &Path) -> String {
    let tail = paceline_files::tail(path, RECORD_TAIL_BYTES as u64).unwrap_or_default();
    let text = String::from_utf8_lossy(&tail);
    let whole = tail.len() < RECORD_TAIL_BYTES;
    let text = if whole { &*text } else { text.split_once('\n').map_or(&*text, |(_, rest)| rest) };
    text.trim_end().to_owned()
}
