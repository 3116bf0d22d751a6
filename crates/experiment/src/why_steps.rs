//! What to try next, from the limit, the waiting of requests and of threads at two rates, the functions of the profile and
//! the verdicts.
//!
//! A step names the finding that suggests it and, where there is one, a command that does it or shows more.

use crate::next_step::{LoadCommand, NextStep};
use crate::why_calls::{are_many, call_words};
use crate::why_cause::Cause;
use crate::why_profile::{COLLECT_LESS, kinds_of_work};
use crate::why_request_wait::{from_lock, from_waiting};
use crate::why_waits::{WaitCause, many_calls, wait_causes};
use paceline_judge::{
    MIN_FULL, VerdictName, core_list, cores_with_paceline, is_server_short_of_memory, most_delayed_share,
};
use paceline_record::{Blame, Limit, LimitKind, Profile, Run, Severity, Verdict};
use paceline_stats::{counted, percent_text, time_text};

/// Steps that are shown.
const STEPS: usize = 4;

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
    use crate::why_request_wait::tests::{of_url, run};
    use paceline_record::{GcLog, LoopKind, ServerUse, SessionPart, Throttling, fixture};

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
