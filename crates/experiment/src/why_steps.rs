//! What to try next, from the limit, the waiting of requests and of threads at two rates, the functions of the profile and
//! the verdicts.
//!
//! A step names the finding that suggests it and, where there is one, a command that does it or shows more.
//! Over 600 lines: each kind of finding has a step with its sentences.

use crate::request_time::RequestTime;
use crate::why_calls::{are_many, call_words};
use crate::why_cause::Cause;
use crate::why_profile::{COLLECT_LESS, DIVIDE_LOCK, contended_lock, kinds_of_work};
use crate::why_waits::{REMOVE_SLEEP, WaitCause, called, many_calls, timers_of_requests, wait_causes};
use paceline_escape::shell_word;
use paceline_judge::{
    MIN_FULL, VerdictName, core_list, cores_with_paceline, is_server_short_of_memory, most_delayed_share,
};
use paceline_record::{Blame, Limit, LimitKind, Profile, Run, Severity, Verdict};
use paceline_stats::{counted, percent_text, time_text};
use schemars::JsonSchema;
use serde::Serialize;

/// Steps that are shown.
const STEPS: usize = 4;
/// A wait for each request below this, in nanoseconds, is the cost of waking threads and of the network.
const MIN_WAIT_NS: f64 = 500_000.0;
/// Factor between the waits at two rates that differ.
const DIFFERS: f64 = 2.0;
/// Below this number of requests that get through at a time, they get through one after the other.
const ONE_AT_A_TIME: f64 = 2.0;

/// Verdicts that do not say why: too few requests, a rate that is not steady, a generator without a core, and the limit
/// itself.
const SAY_NOT_WHY: [VerdictName; 7] = [
    VerdictName::GeneratorDescheduled,
    VerdictName::NothingScheduled,
    VerdictName::FewSamples,
    VerdictName::TooShort,
    VerdictName::Unsteady,
    VerdictName::StillWarming,
    VerdictName::ServerBusy,
];

/// What to do if one thread does most of the work.
const MORE_THREADS: &str = "One thread does most of the work: start more processes or threads of the server, or divide what that thread does, and measure again.";
/// From this share of the server's CPU time on, one thread does most of the work.
const MIN_THREAD_SHARE: f64 = 0.75;
/// Pauses of a collector are named from this share of the window on.
const MIN_PAUSED_SHARE: f64 = 0.05;

/// Something to try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NextStep {
    /// What it would change.
    pub cause: Cause,
    /// What to do.
    pub what: String,
    /// A command that does it, or that shows more.
    pub command: Option<String>,
    /// The finding that suggests it.
    pub because: String,
}

/// The load in the commands of steps.
pub(crate) struct LoadCommand {
    /// The URL, as a shell reads it.
    url: String,
    /// `--job FILE`, with the record of the closed loop, if the load has settings that flags of a step do not contain.
    job: Option<String>,
    /// Whether the server was started for the load and has ended: its process has another number next time.
    is_ended: bool,
}

impl LoadCommand {
    /// The load of a closed loop whose record is the file `record`.
    pub(crate) fn new(url: &str, closed: &Run, record: &str) -> Self {
        let is_plain = closed.job.as_ref().is_none_or(|job| job.is_plain());
        let job = (!is_plain).then(|| format!("--job {}", shell_word(record)));
        Self { url: shell_word(url), job, is_ended: false }
    }

    /// The same load of a server that has ended.
    pub(crate) fn of_ended(self, is_ended: bool) -> Self {
        Self { is_ended, ..self }
    }

    /// The number of the server's process in commands, `PID` if it is not known.
    fn pid(&self, closed: &Run) -> String {
        let server = closed.server.as_ref().filter(|_| !self.is_ended);
        server.map_or("PID".to_owned(), |server| server.pid.to_string())
    }

    /// `paceline run` with this load and more flags, which override settings of the job.
    fn run(&self, flags: &str) -> String {
        format!("paceline run {} {flags}", self.job.as_ref().unwrap_or(&self.url))
    }

    /// `paceline why` with this load: `flags` are its own, `run_flags` those of its runs.
    fn why(&self, flags: &str, run_flags: &str) -> String {
        let of_runs = format!("{} {run_flags}", self.job.as_deref().unwrap_or_default());
        let separator = if of_runs.trim().is_empty() { "" } else { "--" };
        let words = ["paceline why", &self.url, flags, separator, of_runs.trim()];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// The steps, the most promising first.
pub(crate) fn next_steps(
    load: &LoadCommand,
    limit: &Limit,
    closed: &Run,
    half: Option<&Run>,
    verdicts: &[Verdict],
) -> Vec<NextStep> {
    let mut steps: Vec<NextStep> = from_verdicts(verdicts, true).collect();
    steps.extend(from_busiest_thread(load, closed));
    steps.extend(from_collector(closed));
    let waits = from_threads(load, closed, half);
    let waiting = match waits.is_empty() {
        true => from_waiting(load, closed, half).or_else(|| from_lock(load, limit.kind, closed, half)),
        false => None,
    };
    steps.extend(waits);
    let kinds = closed.profile.iter().flat_map(from_profile).chain(from_system_calls(load, closed));
    let kinds: Vec<NextStep> = kinds.collect();
    let limit_step = from_limit(load, limit, closed);
    // Functions say more than that the CPU is the limit, and that requests wait for their turn on it.
    match limit.kind {
        LimitKind::ServerCpu => steps.extend(kinds.into_iter().chain(limit_step).chain(waiting)),
        _ => steps.extend(waiting.into_iter().chain(limit_step).chain(kinds)),
    }
    steps.extend(from_verdicts(verdicts, false));
    steps.extend(from_failure(closed));
    let mut distinct: Vec<NextStep> = Vec::new();
    for step in steps {
        if !distinct.iter().any(|known| known.what == step.what) {
            distinct.push(step);
        }
    }
    distinct.truncate(STEPS);
    distinct
}

/// What the verdicts that name a cause, or the others, advise about the server, the machine and the load, the named causes
/// first, then the most severe. What the closed loop at its limit says about the generator is the limit.
fn from_verdicts(verdicts: &[Verdict], of_causes: bool) -> impl Iterator<Item = NextStep> + '_ {
    let says_why = move |verdict: &&Verdict| !says_not_why(verdict) && is_cause(verdict) == of_causes;
    let mut known: Vec<&Verdict> =
        verdicts.iter().filter(|verdict| verdict.blame != Blame::Generator).filter(says_why).collect();
    known.sort_by_key(|verdict| std::cmp::Reverse((Cause::of_verdict(verdict).is_some(), verdict.severity)));
    known.into_iter().map(|verdict| NextStep {
        cause: Cause::of_verdict(verdict).unwrap_or(Cause::Verdict),
        what: verdict.remedy.clone(),
        command: Some(format!("paceline explain {}", verdict.name)),
        because: title(verdict),
    })
}

/// The problem that a verdict names, as a sentence.
pub(crate) fn title(verdict: &Verdict) -> String {
    VerdictName::parse(&verdict.name).map_or(verdict.name.clone(), |name| name.doc().title.to_owned())
}

fn says_not_why(verdict: &Verdict) -> bool {
    VerdictName::parse(&verdict.name).is_some_and(|name| SAY_NOT_WHY.contains(&name))
}

/// Whether it comes before what the server waits for: it names a cause, or nothing else can be read from the run.
fn is_cause(verdict: &Verdict) -> bool {
    Cause::of_verdict(verdict).is_some() || verdict.severity == Severity::Invalid
}

/// One thread that always had work, and did most of it. Time in which it waited for a core that other programs used counts:
/// more cores would not help it. Time in which a CPU limit stopped it does not: more threads would be stopped, too.
fn from_busiest_thread(load: &LoadCommand, closed: &Run) -> Option<NextStep> {
    let server = closed.server.as_ref()?;
    let busiest = server.busiest_thread_utilization?;
    let delayed = most_delayed_share(server, closed.window_s).unwrap_or_default();
    let share = paceline_stats::ratio(busiest, paceline_stats::ratio(server.cpu_s, closed.window_s)).min(1.0);
    let is_one = server.cores_allowed > 1 && share >= MIN_THREAD_SHARE && busiest + delayed >= MIN_FULL;
    let delay = match delayed < 0.05 {
        true => String::new(),
        false => format!(", and waited for one {} of it", percent_text(delayed)),
    };
    is_one.then(|| NextStep {
        cause: Cause::OneThread,
        what: MORE_THREADS.to_owned(),
        command: Some(load.run(&format!("-c {}", closed.loop_.connections))),
        because: format!(
            "the busiest of {} did {} of the server's work: it was on a core {} of the time{delay}",
            counted(server.threads, "thread", "threads"),
            percent_text(share),
            percent_text(busiest)
        ),
    })
}

/// What the log of a garbage collector suggests (`--gc-log`).
fn from_collector(closed: &Run) -> Option<NextStep> {
    let log = closed.gc_log.as_ref()?;
    let share = paceline_stats::ratio(log.window_paused_s, closed.window_s);
    (share >= MIN_PAUSED_SHARE).then(|| NextStep {
        cause: Cause::GarbageCollection,
        what: COLLECT_LESS.to_owned(),
        command: None,
        because: format!(
            "its garbage collector paused it for {} of the time, {} times, at most {} ({})",
            percent_text(share),
            log.window_pauses,
            time_text(log.window_longest_ns.unwrap_or_default() as f64),
            log.path
        ),
    })
}

/// What the threads of the server wait for, and what it sends to other services.
fn from_threads(load: &LoadCommand, closed: &Run, half: Option<&Run>) -> Vec<NextStep> {
    let pid = load.pid(closed);
    let many: Vec<(&str, f64)> = many_calls(closed).collect();
    let calls = many.iter().map(|(address, messages)| NextStep {
        cause: Cause::ManyCalls,
        what: format!("Requests call {address} many times (N+1 queries): fetch what one needs with one query, or several at a time."),
        command: Some(format!("strace -f -e trace=network -p {pid}")),
        because: format!("each request sends {messages:.1} messages to {address}"),
    });
    let is_new = |cause: &WaitCause| !many.iter().any(|(address, _)| *address == cause.on);
    let causes = wait_causes(closed, half).into_iter().filter(is_new).map(|cause| NextStep {
        cause: cause.cause(),
        what: cause.advice(),
        command: Some(cause.command(&pid)),
        because: cause.evidence(),
    });
    calls.chain(causes).collect()
}

/// What the waiting of requests suggests, at the limit and at half of its rate.
fn from_waiting(load: &LoadCommand, closed: &Run, half: Option<&Run>) -> Option<NextStep> {
    let half = half?;
    let [full, light] = [closed, half].map(RequestTime::of_run);
    if light.waiting_ns < MIN_WAIT_NS || !light.is_mostly_waiting() {
        return None;
    }
    let because = waiting_words(full, light);
    Some(match full.waiting_ns > DIFFERS * light.waiting_ns {
        true => from_growing_wait(load, closed, light.waiting_ns, because),
        false => from_fixed_wait(load, closed, half, light.waiting_ns, because),
    })
}

/// `each request waits 1 ms at half of the rate and 20 ms at the limit, while the server uses 100 µs of CPU for it`.
fn waiting_words(full: RequestTime, light: RequestTime) -> String {
    format!(
        "each request waits {} at half of the rate and {} at the limit, while the server uses {} of CPU for it",
        time_text(light.waiting_ns),
        time_text(full.waiting_ns),
        time_text(light.cpu_ns.unwrap_or_default())
    )
}

/// A lock whose wait is short at half of the rate and most of the time of a request at the limit: requests get through one
/// after the other though there are idle cores, and the profile has code that waited for a lock.
fn from_lock(load: &LoadCommand, limit: LimitKind, closed: &Run, half: Option<&Run>) -> Option<NextStep> {
    let [full, light] = [closed, half?].map(RequestTime::of_run);
    let is_queue = full.waiting_ns >= MIN_WAIT_NS
        && full.is_mostly_waiting()
        && full.waiting_ns > DIFFERS * light.waiting_ns
        && at_a_time(closed, light.waiting_ns) < ONE_AT_A_TIME;
    let is_idle = matches!(limit, LimitKind::Waiting | LimitKind::Neighbours) && has_idle_cores(closed);
    (is_queue && is_idle).then(|| lock_step(load, closed, &waiting_words(full, light))).flatten()
}

/// Whether the server could have done more at the same time: on average, fewer of its threads ran or waited for a core than
/// it has cores, and none of them always did.
fn has_idle_cores(closed: &Run) -> bool {
    closed.server.as_ref().is_some_and(|server| {
        let busiest = server.busiest_thread_utilization.unwrap_or(1.0);
        let delayed = server.most_delayed_thread_share.unwrap_or_default();
        let wanted_s = server.cpu_s + server.run_delay_s.unwrap_or_default();
        let wanted = paceline_stats::ratio(wanted_s, closed.window_s);
        busiest + delayed < MIN_FULL && wanted < MIN_FULL * f64::from(server.cores_allowed.max(1))
    })
}

/// What to do about a lock for which code waited, if the profile shows one.
fn lock_step(load: &LoadCommand, closed: &Run, because: &str) -> Option<NextStep> {
    let lock = contended_lock(closed.profile.as_ref()?)?;
    let user = lock.user.map_or(String::new(), |user| format!(" of {user}"));
    let share = percent_text(lock.share);
    Some(NextStep {
        cause: Cause::Lock,
        what: DIVIDE_LOCK.to_owned(),
        command: Some(load.run("-c 1")),
        because: format!(
            "{because}; its code waits for a lock{user}, which costs {share} of the CPU time (profile)"
        ),
    })
}

/// How many requests get through at a time at the limit: by Little's law, with the time that a request waits while it waits
/// for few others.
fn at_a_time(closed: &Run, waiting_ns: f64) -> f64 {
    closed.rate_per_s.achieved * waiting_ns / 1e9
}

/// A wait that grows with the load: requests wait for something that few of them have at a time.
fn from_growing_wait(load: &LoadCommand, closed: &Run, waiting_ns: f64, because: String) -> NextStep {
    if let Some(step) = lock_step(load, closed, &because) {
        return step;
    }
    let at_a_time = at_a_time(closed, waiting_ns).max(1.0);
    NextStep {
        cause: Cause::Pool,
        what: format!(
            "The wait grows with the load, and about {at_a_time:.0} at a time get through: look for a lock, a pool (threads, database connections) or a single consumer; a larger pool moves the limit."
        ),
        command: Some(load.run(&format!("-c {}", closed.loop_.connections.saturating_mul(4)))),
        because,
    }
}

/// A wait that is the same at both rates: requests do not wait for each other.
fn from_fixed_wait(
    load: &LoadCommand,
    closed: &Run,
    half: &Run,
    waiting_ns: f64,
    because: String,
) -> NextStep {
    let pid = load.pid(closed);
    if let Some(timers) = timers_of_requests(half, waiting_ns) {
        return NextStep {
            cause: Cause::Sleep,
            what: REMOVE_SLEEP.to_owned(),
            command: Some(format!("strace -f -T -e trace=desc -p {pid}")),
            because: format!(
                "{because}; meanwhile {:.1} of its threads wait for events or a timer, which is due within {}",
                timers.threads,
                time_text(timers.due_ns_mean)
            ),
        };
    }
    let services = services_of(closed);
    let (cause, what) = match services.is_empty() {
        true => (Cause::FixedWait, "The wait is there without load, too: look for a sleep or timer, a write to a disk, a name lookup, or a call to another machine for each request.".to_owned()),
        false => (
            Cause::Service,
            format!("The wait is there without load, too: count the calls to {services} for each request, and make fewer of them or several at a time."),
        ),
    };
    NextStep { cause, what, command: Some(format!("strace -f -c -w -p {pid}")), because }
}

/// The servers behind the server on this machine, or else the addresses that most requests call.
fn services_of(run: &Run) -> String {
    let names: Vec<&str> = match run.behind_server.is_empty() {
        true => called(run).collect(),
        false => run.behind_server.iter().map(|server| server.name.as_str()).collect(),
    };
    names.join(" and ")
}

/// What the limit of the closed loop suggests.
fn from_limit(load: &LoadCommand, limit: &Limit, closed: &Run) -> Option<NextStep> {
    let connections = closed.loop_.connections;
    let (what, command) = match limit.kind {
        LimitKind::ServerCpu => (
            "Reduce the CPU time of the largest functions, or give the server more cores; then profile it again at the same rate.".to_owned(),
            load.run(&format!("-c {connections} -r {} --profile=after.svg", half_of_rate(closed))),
        ),
        LimitKind::ServerThread => (
            MORE_THREADS.to_owned(),
            load.run(&format!("-c {connections}")),
        ),
        LimitKind::Generator => (
            "Paceline was the limit, not the server: give it more threads.".to_owned(),
            load.why(&format!("-c {connections} -t {}", closed.generator.threads.saturating_add(1)), ""),
        ),
        LimitKind::Neighbours if !cores_with_paceline(closed).is_empty() => beside_paceline(load, closed),
        LimitKind::Neighbours => (
            "Other processes take the server's cores: stop them, or pin the server to cores of its own.".to_owned(),
            "top -H".to_owned(),
        ),
        LimitKind::Errors => (
            "Requests fail: look at a response and at the server's log first.".to_owned(),
            load.run("--debug"),
        ),
        LimitKind::Memory if !is_server_short(closed) => (
            "The machine was short of memory: find what else uses it, free it, and measure again.".to_owned(),
            "ps aux --sort -rss".to_owned(),
        ),
        LimitKind::Memory => (
            "Give the server more memory or a smaller heap, and watch its memory over a longer time.".to_owned(),
            load.run(&format!("-c {connections} -d 300s --full")),
        ),
        LimitKind::Waiting | LimitKind::Connections => (
            "Try more connections: if the rate rises, there were too few; if only the times rise, the server waits for something else than a core.".to_owned(),
            load.run(&format!("-c {}", connections.saturating_mul(4))),
        ),
        LimitKind::Unknown => (
            "Run this on the server's machine, as root or the server's user, or name its process: only there its CPU time is known.".to_owned(),
            load.why("", "--pid PID"),
        ),
        LimitKind::Balancer | LimitKind::Database | LimitKind::Network | LimitKind::OfferedRate => return None,
    };
    let cause = if limit.kind == LimitKind::ServerThread { Cause::OneThread } else { Cause::Limit };
    Some(NextStep { cause, what, command: Some(command), because: limit_words(limit) })
}

/// Whether a shortage of memory was the server's, and not only the machine's.
fn is_server_short(closed: &Run) -> bool {
    let memory = closed.server.as_ref().and_then(|server| server.memory.as_ref());
    memory.is_some_and(is_server_short_of_memory)
}

/// What to do, with a command, if Paceline may run on the server's cores: other programs need not be the reason.
fn beside_paceline(load: &LoadCommand, closed: &Run) -> (String, String) {
    let online = closed.environment.cores;
    let server = closed.server.as_ref();
    let is_free = |core: &u32| server.is_some_and(|server| !server.cores.contains(core));
    let what = "Paceline itself may take the server's cores:";
    let free: Vec<u32> = (0..online).filter(is_free).collect();
    if !free.is_empty() {
        let command = format!("taskset -c {} {}", core_list(&free), load.why("", ""));
        return (format!("{what} give it others, and stop other programs."), command);
    }
    if online < 2 {
        return (format!("{what} run it on another machine, and stop other programs."), "top -H".to_owned());
    }
    // `paceline why` runs on the cores that the server leaves.
    let fewer: Vec<u32> = (0..online - 1).collect();
    let pid = load.pid(closed);
    let what = format!(
        "{what} give the server fewer, so that Paceline has one of its own, and stop other programs."
    );
    (what, format!("taskset -acp {} {pid}", core_list(&fewer)))
}

/// Half of the achieved rate in the unit of `-r`: sessions per second if the load has sessions, else requests. A rate
/// of few per second keeps its decimals.
fn half_of_rate(closed: &Run) -> String {
    let half = closed.sessions_achieved_per_s().unwrap_or(closed.rate_per_s.achieved) / 2.0;
    if half < 10.0 { format!("{:.2}", half.max(0.01)) } else { format!("{half:.0}") }
}

/// `server CPU: 1.98 of 2 cores busy`.
pub(crate) fn limit_words(limit: &Limit) -> String {
    format!("{}: {}", limit.kind.words(), limit.evidence)
}

/// What kinds of functions suggest, the largest share first.
fn from_profile(profile: &Profile) -> impl Iterator<Item = NextStep> {
    kinds_of_work(profile).into_iter().map(|(share, kind)| NextStep {
        cause: kind.cause,
        what: kind.advice.to_owned(),
        command: None,
        because: format!("{} of the CPU time is {} (profile)", percent_text(share), kind.name),
    })
}

/// What the number of system calls for each request suggests.
fn from_system_calls(load: &LoadCommand, closed: &Run) -> Option<NextStep> {
    let calls = closed.syscalls.as_ref().filter(|calls| are_many(calls))?;
    let pid = load.pid(closed);
    Some(NextStep {
        cause: Cause::SystemCalls,
        what: "Each request makes many system calls: read and write larger pieces, keep files and connections open, and do not ask the system again for what does not change.".to_owned(),
        command: Some(format!("strace -f -c -w -p {pid}")),
        because: call_words(calls),
    })
}

/// What is missing for a profile.
fn from_failure(closed: &Run) -> Option<NextStep> {
    let failure = closed.profile_failure.as_ref()?;
    Some(NextStep {
        cause: Cause::NoProfile,
        what: "Make a profile possible: it names the functions that use the CPU.".to_owned(),
        command: None,
        because: format!("no profile: {failure}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why_calls::tests::calls;
    use crate::why_profile::tests::profile;
    use paceline_record::{
        GcLog, LoopKind, LoopTimers, ServerUse, ServerWaits, ServiceCalls, SessionPart, Throttling, fixture,
    };

    /// A load with no other settings than a URL.
    fn of_url() -> LoadCommand {
        LoadCommand::new("http://h/", &fixture::run(0), "closed.json")
    }

    /// A run whose mean time and CPU time for each request are these, in milliseconds.
    fn run(kind: LoopKind, mean_ms: f64, cpu_ms: f64) -> Run {
        let mut run = fixture::run(0);
        run.loop_.kind = kind;
        run.total.generator_lag_ns = None;
        for times in [&mut run.total.response_time_ns, &mut run.total.service_time_ns].into_iter().flatten() {
            times.mean = mean_ms * 1e6;
        }
        let cpu_ns_per_request = cpu_ms * 1e6;
        run.server = Some(ServerUse { cpu_ns_per_request, ..fixture::server_use(2, 1.0) });
        run
    }

    fn waiting(light: (f64, f64), full: (f64, f64)) -> Option<String> {
        let light = run(LoopKind::Open, light.0, light.1);
        let full = run(LoopKind::Closed, full.0, full.1);
        from_waiting(&of_url(), &full, Some(&light)).map(|step| step.what)
    }

    #[test]
    fn a_wait_without_load_is_told_from_one_that_grows_with_it() {
        let fixed = waiting((40.2, 0.1), (41.0, 0.1)).unwrap();
        assert!(fixed.contains("sleep or timer"), "{fixed}");
        let grows = waiting((2.0, 0.1), (60.0, 0.1)).unwrap();
        assert!(grows.contains("lock") && grows.contains("pool"), "{grows}");
        assert_eq!(waiting((0.3, 0.1), (3.0, 0.1)), None, "too short to matter");
        assert_eq!(waiting((2.0, 1.5), (9.0, 1.5)), None, "mostly CPU time");
        let mut full = run(LoopKind::Closed, 41.0, 0.1);
        full.behind_server = vec![ServerUse { name: "postgres".to_owned(), ..fixture::server_use(1, 0.1) }];
        let behind = from_waiting(&of_url(), &full, Some(&run(LoopKind::Open, 40.0, 0.1))).unwrap();
        assert!(behind.what.contains("calls to postgres"), "{behind:?}");
    }

    #[test]
    fn a_wait_that_grows_is_a_lock_if_the_profile_shows_one() {
        let mut full = run(LoopKind::Closed, 60.0, 0.1);
        let light = run(LoopKind::Open, 2.1, 0.1);
        let pool = from_waiting(&of_url(), &full, Some(&light)).unwrap();
        assert_eq!(pool.cause, Cause::Pool);
        assert!(pool.what.contains("about 2 at a time"), "1,000/s, 2 ms each: {pool:?}");
        full.profile = Some(profile(&[(0, "server", 90), (1, "main.handle", 8), (2, "lockSlow", 4)]));
        let lock = from_waiting(&of_url(), &full, Some(&light)).unwrap();
        assert_eq!(lock.cause, Cause::Lock);
        assert!(
            lock.because.ends_with("a lock of main.handle, which costs 4 % of the CPU time (profile)"),
            "{lock:?}"
        );
    }

    #[test]
    fn a_lock_at_which_requests_wait_at_the_limit_alone_is_named() {
        let cause = |limit, server: ServerUse, light_ms: f64, functions: &[(u32, &str, u64)]| {
            let mut full = run(LoopKind::Closed, 32.0, 0.4);
            full.server = Some(ServerUse { cpu_ns_per_request: 0.4e6, ..server });
            full.profile = Some(profile(functions));
            let light = run(LoopKind::Open, light_ms, 0.4);
            from_lock(&of_url(), limit, &full, Some(&light)).map(|step| step.cause)
        };
        let (idle, lock) = (fixture::server_use(2, 4.0), [(0, "server", 90), (1, "lockSlow", 2)]);
        assert_eq!(cause(LimitKind::Waiting, idle.clone(), 0.7, &lock), Some(Cause::Lock));
        assert_eq!(cause(LimitKind::Waiting, idle.clone(), 0.7, &lock[..1]), None, "no code that waited");
        assert_eq!(cause(LimitKind::Generator, idle.clone(), 0.7, &lock), None, "the generator is the queue");
        assert_eq!(cause(LimitKind::Waiting, idle.clone(), 10.4, &lock), None, "1,000/s, 10 ms each: a pool");
        let busy = ServerUse { busiest_thread_utilization: Some(0.95), ..idle.clone() };
        assert_eq!(cause(LimitKind::Neighbours, busy, 0.7, &lock), None, "one thread is the queue");
        let starved = ServerUse { run_delay_s: Some(15.0), ..idle };
        assert_eq!(cause(LimitKind::Neighbours, starved, 0.7, &lock), None, "the cores are the queue");
    }

    #[test]
    fn a_wait_without_load_is_a_sleep_if_event_loops_wait_for_timers() {
        let full = run(LoopKind::Closed, 21.0, 0.1);
        let mut light = run(LoopKind::Open, 20.1, 0.1);
        let cause = |full: &Run, light: &Run| from_waiting(&of_url(), full, Some(light)).unwrap().cause;
        assert_eq!(cause(&full, &light), Cause::FixedWait);
        let loop_timers = Some(LoopTimers { threads: 0.7, due_ns_mean: 1e6 });
        light.server_waits =
            Some(ServerWaits { looks: 100, achieved_per_s: 500.0, loop_timers, ..ServerWaits::default() });
        assert_eq!(cause(&full, &light), Cause::Sleep);
        let growing = run(LoopKind::Closed, 60.0, 0.1);
        assert_eq!(cause(&growing, &light), Cause::Pool, "the holder of a lock may sleep");
    }

    #[test]
    fn a_service_that_requests_call_is_named_by_its_address() {
        let mut full = run(LoopKind::Closed, 21.0, 0.1);
        let calls = vec![ServiceCalls { address: "10.0.0.2:5432".to_owned(), messages_per_request: 1.0 }];
        full.server_waits = Some(ServerWaits { looks: 100, calls, ..ServerWaits::default() });
        let step = from_waiting(&of_url(), &full, Some(&run(LoopKind::Open, 20.1, 0.1))).unwrap();
        assert!(step.cause == Cause::Service && step.what.contains("calls to 10.0.0.2:5432"), "{step:?}");
    }

    #[test]
    fn a_server_that_uses_its_cores_is_explained_by_its_functions_first() {
        let mut full = run(LoopKind::Closed, 60.0, 0.9);
        full.profile = Some(profile(&[(0, "server", 90), (1, "runtime.gcBgMarkWorker", 60)]));
        let light = run(LoopKind::Open, 2.1, 0.9);
        let causes = |kind| {
            let limit = Limit { kind, evidence: String::new() };
            let steps = next_steps(&of_url(), &limit, &full, Some(&light), &[]);
            steps.into_iter().map(|step| step.cause).collect::<Vec<_>>()
        };
        let of_functions = [Cause::GarbageCollection, Cause::Limit, Cause::Pool];
        assert_eq!(causes(LimitKind::ServerCpu), of_functions);
        let of_waiting = [Cause::Pool, Cause::Limit, Cause::GarbageCollection];
        assert_eq!(causes(LimitKind::Waiting), of_waiting);
    }

    #[test]
    fn many_system_calls_are_named_before_the_limit_if_that_is_the_cpu() {
        let causes = |rows: &[(&str, f64)]| {
            let closed = Run { syscalls: Some(calls(rows)), ..run(LoopKind::Closed, 60.0, 0.9) };
            let limit = Limit { kind: LimitKind::ServerCpu, evidence: String::new() };
            let steps = next_steps(&of_url(), &limit, &closed, None, &[]);
            steps.into_iter().map(|step| (step.cause, step.because)).collect::<Vec<_>>()
        };
        let found = causes(&[("stat", 30.0), ("read", 1.0)]);
        let because = "31.00 system calls per request: stat 30.00, read 1.00".to_owned();
        assert_eq!(found[0], (Cause::SystemCalls, because));
        assert_eq!(found[1].0, Cause::Limit);
        assert_eq!(causes(&[("read", 1.0), ("write", 1.0)]), found[1..]);
    }

    #[test]
    fn a_thread_that_always_has_work_is_named_also_beside_other_programs() {
        let step = |busiest: f64, delayed: f64, cpu_s: f64| {
            let mut closed = run(LoopKind::Closed, 5.0, 4.9);
            closed.window_s = 10.0;
            let server = ServerUse {
                cpu_s,
                threads: 6,
                busiest_thread_utilization: Some(busiest),
                most_delayed_thread_share: Some(delayed),
                ..fixture::server_use(2, 1.0)
            };
            closed.server = Some(server);
            from_busiest_thread(&of_url(), &closed).map(|step| step.because)
        };
        let expected = "the busiest of 6 threads did 87 % of the server's work: it was on a core 41 % of the time, and waited for one 58 % of it";
        assert_eq!(step(0.41, 0.58, 4.7).unwrap(), expected);
        assert!(step(0.99, 0.0, 10.4).unwrap().ends_with("on a core 99 % of the time"));
        assert_eq!(step(0.99, 0.0, 19.8), None, "another thread did as much");
        assert_eq!(step(0.41, 0.1, 4.7), None, "it was idle half of the time");
    }

    #[test]
    fn a_thread_that_a_cpu_limit_stops_does_not_need_more_threads() {
        let is_named = |throttled_s| {
            let mut closed = run(LoopKind::Closed, 5.0, 4.9);
            closed.window_s = 10.0;
            let throttling =
                Throttling { periods: 100, throttled_periods: 98, throttled_s, ..Throttling::default() };
            closed.server = Some(ServerUse {
                busiest_thread_utilization: Some(0.5),
                most_delayed_thread_share: Some(0.49),
                throttling: Some(throttling),
                ..fixture::server_use(4, 5.0)
            });
            from_busiest_thread(&of_url(), &closed).is_some()
        };
        assert!(is_named(0.0) && !is_named(4.9));
    }

    #[test]
    fn pauses_of_a_collector_are_named_if_they_are_a_part_of_the_window() {
        let mut closed = run(LoopKind::Closed, 5.0, 4.9);
        let pauses = |window_paused_s| {
            Some(GcLog { path: "gc.log".to_owned(), window_pauses: 7, window_paused_s, ..GcLog::default() })
        };
        closed.gc_log = pauses(0.01 * closed.window_s);
        assert_eq!(from_collector(&closed), None);
        closed.gc_log = pauses(0.2 * closed.window_s);
        let because = from_collector(&closed).unwrap().because;
        assert!(
            because.contains("for 20 % of the time, 7 times") && because.ends_with("(gc.log)"),
            "{because}"
        );
    }

    #[test]
    fn the_limit_and_the_cause_come_with_a_command() {
        let limit = |kind| Limit { kind, evidence: "2.00 of 2 cores busy".to_owned() };
        let closed = run(LoopKind::Closed, 5.0, 4.9);
        let step = from_limit(&of_url(), &limit(LimitKind::ServerCpu), &closed).unwrap();
        assert_eq!(step.because, "server CPU: 2.00 of 2 cores busy");
        assert!(step.command.unwrap().contains("-r 500 --profile"), "half of 1,000/s");
        let mut throttled = closed.clone();
        throttled.verdicts = vec![Verdict {
            name: "server_throttled".to_owned(),
            blame: Blame::Server,
            severity: Severity::Note,
            evidence: Default::default(),
            remedy: "Raise it".to_owned(),
        }];
        let steps = next_steps(
            &of_url(),
            &limit(LimitKind::ServerCpu),
            &throttled,
            None,
            &throttled.verdicts.clone(),
        );
        assert_eq!(steps[0].what, "Raise it");
        assert_eq!(steps[0].because, "The server's CPU limit was reached.");
        assert_eq!((steps[0].cause, steps[1].cause), (Cause::CpuLimit, Cause::Limit));
        assert!(steps.len() == 2, "{steps:?}");
    }

    #[test]
    fn paceline_gets_other_cores_if_it_may_take_the_server_s() {
        let limit = Limit { kind: LimitKind::Neighbours, evidence: String::new() };
        let mut closed = run(LoopKind::Closed, 5.0, 4.9);
        let command = |closed: &Run| from_limit(&of_url(), &limit, closed).unwrap().command.unwrap();
        closed.generator.cores = vec![1];
        closed.environment.cores = 2;
        assert_eq!(command(&closed), "taskset -acp 0 1");
        let ended = of_url().of_ended(true);
        let of_ended = from_limit(&ended, &limit, &closed).unwrap().command;
        assert_eq!(of_ended.unwrap(), "taskset -acp 0 PID", "the next process has another number");
        closed.environment.cores = 4;
        assert_eq!(command(&closed), "taskset -c 2,3 paceline why http://h/");
        closed.generator.cores = vec![3];
        assert_eq!(command(&closed), "top -H", "only other programs can be the reason");
    }

    #[test]
    fn a_command_repeats_settings_that_its_flags_do_not_contain() {
        let limit = |kind| Limit { kind, evidence: String::new() };
        let mut closed = run(LoopKind::Closed, 5.0, 4.9);
        let command = |closed: &Run, kind| {
            let load = LoadCommand::new("http://h/", closed, "my records/closed.json");
            from_limit(&load, &limit(kind), closed).unwrap().command.unwrap()
        };
        let plain = r#"{"url": "http://h/", "connections": 4, "warmup_s": 2.0, "seed": 1}"#;
        closed.job = Some(serde_json::from_str(plain).unwrap());
        assert_eq!(command(&closed, LimitKind::Waiting), "paceline run http://h/ -c 16");
        assert_eq!(command(&closed, LimitKind::Unknown), "paceline why http://h/ -- --pid PID");
        closed.job = Some(serde_json::from_str(r#"{"url": "http://h/", "follow": 3}"#).unwrap());
        let job = "--job 'my records/closed.json'";
        assert_eq!(command(&closed, LimitKind::Waiting), format!("paceline run {job} -c 16"));
        let why = format!("paceline why http://h/ -- {job} --pid PID");
        assert_eq!(command(&closed, LimitKind::Unknown), why);
        let why = command(&closed, LimitKind::Generator);
        assert!(why.starts_with("paceline why http://h/ -c 4 -t ") && why.ends_with(job), "{why}");
    }

    #[test]
    fn a_rate_of_sessions_is_in_sessions() {
        let mut closed = run(LoopKind::Closed, 5.0, 4.9);
        assert_eq!(half_of_rate(&closed), "500");
        closed.sessions = Some(vec![SessionPart {
            name: "shop".to_owned(),
            weight: 1,
            started: 40,
            completed: 40,
            completed_in_window: Some(30),
            failed: 0,
            unfinished: 0,
            steps: Vec::new(),
            session_time_ns: None,
        }]);
        assert_eq!(half_of_rate(&closed), "1.50", "30 sessions in 10 s");
    }
}
