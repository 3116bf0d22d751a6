//! From flags to a job: everything checked and looked up before anything starts.
//!
//! Called by `paceline run`. Requests are made in `asked`, the load in `shape.rs`, the target is found in `target`;
//! here they meet what this process may use: its cores, descriptors and threads. The self-test asks for the cores as
//! well.

use super::asked::{Asked, Named};
use super::flags::Arguments;
use super::inputs::Inputs;
use super::shape::Planned;
use super::sources::{asked_sources, sources};
use super::target::Destination;
use crate::exit::Complaint;
use paceline_engine::Settings;
use paceline_http::{Scheme, Url};
use paceline_job::{PaceChoice, PaceKind};
use paceline_judge::gate::Gate;

/// Descriptors a run needs beside its connections and what each thread opens: standard streams, files.
const DESCRIPTORS_BESIDE: u64 = 16;
/// Descriptors each thread needs beside its connections: an epoll, and at the edges of the window its schedstat.
const DESCRIPTORS_OF_THREAD: u64 = 2;
/// Threads that may be started to hold more connections than one descriptor table does.
const TABLES_MOST: u64 = 128;

/// What a run is asked to do, with what its record tells of it beside the engine's settings.
#[derive(Debug)]
pub struct Job {
    /// For the engine.
    pub settings: Settings,
    /// The target.
    pub url: Url,
    /// Where it was found.
    pub destination: Destination,
    /// What each kind of request is called; empty without a request file.
    pub named: Vec<Named>,
    /// The cores this process may run on.
    pub cores: Vec<u32>,
    /// The command line.
    pub argv: Vec<String>,
    /// Settings of the machine that are held for the run.
    pub held: Vec<String>,
    /// What the run must keep to.
    pub gates: Vec<Gate>,
}

impl Job {
    /// Checks and looks up what the flags ask for.
    pub fn from_flags(arguments: &Arguments, inputs: &mut Inputs) -> anyhow::Result<Self> {
        let url = url(&arguments.url)?;
        let wanted = Asked::from_flags(&arguments.asked, &arguments.life, &url, inputs)?;
        let gates = arguments.gates.all(is_open(arguments), url.scheme == Scheme::Https)?;
        let cores = allowed_cores();
        let asked = asked_sources(arguments.source.as_deref())?;
        let destination = arguments.target.find(&url, &asked, arguments.connect_timeout, inputs)?;
        let threads = threads_for(arguments.connections, arguments.threads, raise_descriptor_limit())?;
        let Planned { load, bound, warmup } = super::shape::planned(arguments, inputs)?;
        let mut asked_job = paceline_job::Job {
            load,
            connections: arguments.connections,
            depth: arguments.pipeline,
            batch: arguments.pipeline_batch,
            window: bound,
            warmup,
            drain: arguments.drain.unwrap_or(arguments.timeout).into(),
            timeout: arguments.timeout.into(),
            connect_timeout: arguments.connect_timeout.into(),
            pace: arguments.pace,
            timestamps: arguments.timestamps,
            threads: arguments.threads,
            seed: arguments.seed,
            ..paceline_job::Job::default()
        };
        arguments.life.fill(&mut asked_job);
        let settings = Settings {
            address: destination.address.clone(),
            tls: destination.tls.clone(),
            requests: wanted.requests,
            threads: threads.unwrap_or(arguments.threads),
            pace: pace(&asked_job, threads.unwrap_or(arguments.threads), &cores),
            sources: sources(asked, &destination.address, arguments.connections),
            own_descriptors: threads.is_some(),
            seed: arguments.seed.unwrap_or_else(paceline_catalogue::fresh_seed),
            job: asked_job,
        };
        settings.check().map_err(|error| Complaint::usage(error.to_string()))?;
        Ok(Self {
            settings,
            url,
            destination,
            named: wanted.named,
            cores,
            argv: argv(&arguments.asked.headers),
            held: Vec::new(),
            gates,
        })
    }
}

/// The target's URL.
fn url(text: &str) -> Result<Url, Complaint> {
    if let Some(path) = text.strip_prefix("unix:").or_else(|| text.strip_prefix("http+unix:")) {
        let path = path.trim_start_matches("//");
        return Err(Complaint::usage(format!("URL {text:?} is of a unix socket, not of a host"))
            .hint(format!("a socket has a flag of its own: http://localhost/ --unix-socket {path}")));
    }
    Url::parse(text).map_err(|error| Complaint::usage(error.to_string()))
}

/// Fields whose value lets whoever reads it in as another.
const SECRET: [&str; 3] = ["Authorization", "Proxy-Authorization", "Cookie"];

/// The command line, with stars for the values of fields that are secrets: a record is there to be shown to others.
fn argv(headers: &[String]) -> Vec<String> {
    let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    arguments.map(|argument| without_secret(argument, headers)).collect()
}

/// An argument that is, or ends with, a field that was given (`-H FIELD`, `-HFIELD`, `--header=FIELD`).
fn without_secret(argument: String, headers: &[String]) -> String {
    let starred = headers.iter().find_map(|field| {
        let name = field.split(':').next()?;
        let is_secret = SECRET.iter().any(|secret| secret.eq_ignore_ascii_case(name.trim()));
        let before = argument.strip_suffix(field.as_str()).filter(|_| is_secret)?;
        Some(format!("{before}{name}: ***"))
    });
    starred.unwrap_or(argument)
}

/// Whether requests are due at moments of their own, whatever the server does.
fn is_open(arguments: &Arguments) -> bool {
    arguments.rate.is_some() || arguments.schedule.is_some()
}

/// Spinning is fair only where it takes no core from the server: where this process has been confined to some cores
/// of several, and has one for each thread.
fn pace(job: &paceline_job::Job, threads: u32, cores: &[u32]) -> PaceKind {
    let online = std::thread::available_parallelism().map_or(1, usize::from).max(online_cores());
    let has_cores_to_itself = cores.len() < online && cores.len() >= threads as usize;
    match job.pace {
        PaceChoice::Spin => PaceKind::Spin,
        PaceChoice::Sleep => PaceKind::Sleep,
        PaceChoice::Auto if job.load.is_open() && has_cores_to_itself => PaceKind::Hybrid,
        PaceChoice::Auto => PaceKind::Sleep,
    }
}

/// Raises the limit of open files as far as allowed; what it comes to.
fn raise_descriptor_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid rlimit to write to, and to read from. A refusal leaves the limit as it was.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
    }
    limit.rlim_cur
}

/// How many threads it takes to hold the connections where one descriptor table does not: each gets its own, and the
/// limit counts by table. None where one suffices.
fn threads_for(connections: u32, threads: u32, descriptor_limit: u64) -> anyhow::Result<Option<u32>> {
    let of_threads = u64::from(threads) * DESCRIPTORS_OF_THREAD;
    if u64::from(connections) + of_threads + DESCRIPTORS_BESIDE <= descriptor_limit {
        return Ok(None);
    }
    let room = descriptor_limit.saturating_sub(DESCRIPTORS_BESIDE + DESCRIPTORS_OF_THREAD);
    let needed = u64::from(connections).div_ceil(room.max(1));
    if room == 0 || needed > TABLES_MOST {
        let what = format!(
            "{connections} connections: a thread may open {descriptor_limit} files, \
             and {TABLES_MOST} threads hold at most {}",
            room * TABLES_MOST
        );
        return Err(Complaint::environment(what)
            .hint("raise the hard limit (`ulimit -Hn`), or ask for fewer")
            .into());
    }
    let needed = u32::try_from(needed).unwrap_or(u32::MAX);
    if needed > threads {
        crate::exit::say(&format!(
            "{needed} threads instead of {threads}: each may open {descriptor_limit} files"
        ));
    }
    Ok(Some(needed.max(threads)))
}

/// The cores this process may run on.
pub fn allowed_cores() -> Vec<u32> {
    // SAFETY: cpu_set_t is plain old data, for which zeroes are a valid value; the size given is its own.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        set
    };
    // SAFETY: the indices are below the set's size.
    (0..libc::CPU_SETSIZE as u32).filter(|core| unsafe { libc::CPU_ISSET(*core as usize, &set) }).collect()
}

/// Processors online, whether this process may use them or not.
fn online_cores() -> usize {
    // SAFETY: sysconf reads a number of the system.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_in_the_command_line() {
        let field = "authorization: Bearer x".to_owned();
        let headers = [field.clone(), "X-Shown: yes".to_owned()];
        for (argument, told) in [
            ("authorization: Bearer x", "authorization: ***"),
            ("-Hauthorization: Bearer x", "-Hauthorization: ***"),
            ("--header=authorization: Bearer x", "--header=authorization: ***"),
            ("X-Shown: yes", "X-Shown: yes"),
            ("http://a/", "http://a/"),
        ] {
            assert_eq!(without_secret(argument.to_owned(), &headers), told);
        }
        assert_eq!(without_secret(field.clone(), &[]), field, "what is no header is none of ours");
    }

    #[test]
    fn threads_leave_room_for_what_they_open_themselves() {
        let threads = |connections, threads| threads_for(connections, threads, 1_024).unwrap();
        assert_eq!((threads(1_000, 4), threads(1_006, 1)), (None, None));
        // Over the limit with the epolls of 32 threads, and far from it in a table for each.
        assert_eq!((threads(1_000, 5), threads(1_000, 32)), (Some(5), Some(32)));
        assert_eq!((threads(1_007, 1), threads(2_012, 1), threads(2_013, 2)), (Some(2), Some(2), Some(3)));
        assert_eq!(threads(128 * 1_006, 1), Some(128));
        assert!(threads_for(128 * 1_006 + 1, 1, 1_024).is_err());
        assert!(threads_for(1, 1, 18).is_err());
    }
}
