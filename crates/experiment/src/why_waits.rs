//! Causes of waiting: where the threads of the server were seen at the limit and at half of its rate.
//!
//! A wait that requests cause grows with the rate. Threads that wait as often at half of the rate, or more often, are idle
//! or work in the background. A thread of an event loop stands for many requests: of these, only timers are seen.

use crate::why_cause::Cause;
use crate::why_profile::DIVIDE_LOCK;
use paceline_judge::judged_times;
use paceline_record::{LoopTimers, Run, ServerWaits, ThreadWait, WaitKind};
use paceline_stats::ratio;

/// Factor between the threads at the limit and at half of its rate, from which on requests cause a wait.
const GROWS: f64 = 1.3;
/// A wait below this share of the time of a request, at both rates, is not worth a step.
const MIN_SHARE: f64 = 0.1;
/// Without a second rate: this share of the connections must wait at a lock.
const MIN_LOCK_SHARE: f64 = 0.25;
/// From this number of messages for each request on, they are many.
const MANY_MESSAGES: f64 = 3.0;
/// From this number of messages for each request on, most requests call a service.
const CALLED_MESSAGES: f64 = 0.5;
/// What to do about a sleep.
pub(crate) const REMOVE_SLEEP: &str =
    "Requests sleep: remove the sleep, the timer or the retry from their path.";
/// Event loops that wait for a timer at fewer looks than this, on average, have one now and then.
const MIN_LOOP_THREADS: f64 = 0.25;
/// Factor between the time to a timer and the time to the next one of the requests, within which they may be the same:
/// requests that come together make it longer, up to their whole wait.
const NEAR: f64 = 5.0;
/// Loops round the time to a timer up to milliseconds.
const TIMER_STEP_NS: f64 = 1e6;

/// Fewer looks at the threads than this are no basis: the machine was too busy to look.
const MIN_LOOKS: u32 = 10;

/// A wait that requests cause.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WaitCause {
    pub kind: WaitKind,
    /// The file or the service.
    pub on: String,
    /// Threads that wait at any moment, at the limit.
    pub full_threads: f64,
    /// The same at half of its rate; none without that load.
    pub light_threads: Option<f64>,
    /// The larger share of the time of a request, of both rates.
    pub share: f64,
}

impl WaitCause {
    pub(crate) fn cause(&self) -> Cause {
        Cause::of_wait(self.kind)
    }

    /// What a request does meanwhile.
    pub(crate) fn words(&self) -> String {
        match self.kind {
            WaitKind::Lock => "waiting for a lock".to_owned(),
            WaitKind::Timer => "sleeping".to_owned(),
            WaitKind::File => format!("waiting for the file {}", self.on),
            WaitKind::NameLookup => format!("waiting for the name server {}", self.on),
            WaitKind::Service => format!("waiting for {}", self.on),
        }
    }

    /// `61.2 threads at any moment at the limit, 3.1 at half of its rate`.
    pub(crate) fn evidence(&self) -> String {
        let light =
            self.light_threads.map_or(String::new(), |threads| format!(", {threads:.1} at half of its rate"));
        format!("{}: {:.1} threads at any moment at the limit{light}", self.words(), self.full_threads)
    }

    /// What to do about it.
    pub(crate) fn advice(&self) -> String {
        match self.kind {
            WaitKind::Lock => DIVIDE_LOCK.to_owned(),
            WaitKind::Timer => REMOVE_SLEEP.to_owned(),
            WaitKind::File => format!(
                "Requests wait for {}: write it in another thread or in larger pieces, without a sync for each request.",
                self.on
            ),
            WaitKind::NameLookup => format!(
                "Requests look up names at {}: cache the addresses, or keep connections open.",
                self.on
            ),
            WaitKind::Service => {
                format!("Requests wait for {}: make that service faster, or call it less often.", self.on)
            }
        }
    }

    /// A command that shows the calls of the server in which it waits.
    pub(crate) fn command(&self, pid: &str) -> String {
        let calls = match self.kind {
            WaitKind::Lock => return format!("gdb -p {pid} -batch -ex 'thread apply all backtrace 8'"),
            WaitKind::Timer => "nanosleep,clock_nanosleep",
            WaitKind::File => "desc",
            WaitKind::NameLookup | WaitKind::Service => "network",
        };
        format!("strace -f -T -e trace={calls} -p {pid}")
    }
}

/// The waits that requests cause, those of most threads at the limit first.
pub(crate) fn wait_causes(closed: &Run, half: Option<&Run>) -> Vec<WaitCause> {
    let Some(full) = often_seen(closed) else { return Vec::new() };
    let at_half = half.and_then(|half| Some((half, often_seen(half)?)));
    let cause = |wait: &ThreadWait| {
        let at_light = at_half.map(|(run, waits)| (run, waits, same(waits, wait)));
        let light_threads = at_light.map(|(_, _, wait)| wait.map_or(0.0, |wait| wait.threads));
        let light_share = match at_light {
            Some((run, waits, Some(wait))) => share(run, waits, wait),
            _ => 0.0,
        };
        // Idle threads of a pool wait at a lock, as many as at half of the rate. Runtimes have one thread that sleeps for
        // some time again and again while there is work.
        let light = light_threads.unwrap_or(0.0);
        let (idle, light_share) = match wait.kind {
            WaitKind::Lock => (light, 0.0),
            WaitKind::Timer => (0.0, light_share * ratio((light - 1.0).max(0.0), light)),
            WaitKind::File | WaitKind::NameLookup | WaitKind::Service => (0.0, light_share),
        };
        let not_idle = ratio((wait.threads - idle).max(0.0), wait.threads);
        WaitCause {
            kind: wait.kind,
            on: wait.on.clone(),
            full_threads: wait.threads,
            light_threads,
            share: (not_idle * share(closed, full, wait)).max(light_share),
        }
    };
    let mut causes: Vec<WaitCause> = full.waits.iter().map(cause).collect();
    causes.retain(|cause| cause.share >= MIN_SHARE && is_of_requests(cause, closed.loop_.connections));
    causes.sort_by(|one, other| other.full_threads.total_cmp(&one.full_threads));
    causes
}

/// The waits of a run, if its threads were looked at often enough.
fn often_seen(run: &Run) -> Option<&ServerWaits> {
    run.server_waits.as_ref().filter(|waits| waits.looks >= MIN_LOOKS)
}

/// Whether requests cause a wait, and not the lack of them.
fn is_of_requests(cause: &WaitCause, connections: u32) -> bool {
    match cause.light_threads {
        Some(light) => cause.full_threads >= GROWS * light,
        None if cause.kind == WaitKind::Lock => cause.full_threads >= MIN_LOCK_SHARE * f64::from(connections),
        None => true,
    }
}

fn same<'w>(waits: &'w ServerWaits, wanted: &ThreadWait) -> Option<&'w ThreadWait> {
    waits.waits.iter().find(|wait| wait.kind == wanted.kind && wait.on == wanted.on)
}

/// Share of the mean time of a request, 0 to 1.
fn share(run: &Run, waits: &ServerWaits, wait: &ThreadWait) -> f64 {
    let mean = judged_times(&run.total, run.loop_.kind).map_or(0.0, |times| times.mean);
    ratio(waits.ns_per_request(wait), mean).min(1.0)
}

/// The timers of event loops, if they are those of requests that wait for so long: then one is due as often as a request
/// that waits is done. From a run below the limit, in which requests come evenly.
pub(crate) fn timers_of_requests(run: &Run, waiting_ns: f64) -> Option<LoopTimers> {
    let seen = often_seen(run)?;
    let timers = seen.loop_timers.filter(|timers| timers.threads >= MIN_LOOP_THREADS)?;
    // Requests that wait in each loop, by Little's law. The first of n evenly spaced timers is due after 1 / (n + 1).
    let waiting = ratio(seen.achieved_per_s * waiting_ns / 1e9, timers.threads.max(1.0));
    let next_ns = waiting_ns / (waiting + 1.0);
    let near = next_ns / NEAR..=(NEAR * next_ns).min(waiting_ns) + TIMER_STEP_NS;
    near.contains(&timers.due_ns_mean).then_some(timers)
}

/// Services that get many messages for each request, with the number.
pub(crate) fn many_calls(closed: &Run) -> impl Iterator<Item = (&str, f64)> {
    calls(closed).filter(|(_, messages)| *messages >= MANY_MESSAGES)
}

/// The addresses of services that most requests call.
pub(crate) fn called(closed: &Run) -> impl Iterator<Item = &str> {
    calls(closed).filter(|(_, messages)| *messages >= CALLED_MESSAGES).map(|(address, _)| address)
}

fn calls(run: &Run) -> impl Iterator<Item = (&str, f64)> {
    let calls = run.server_waits.iter().flat_map(|waits| &waits.calls);
    calls.map(|calls| (calls.address.as_str(), calls.messages_per_request))
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::{LoopKind, ServiceCalls, fixture};

    /// A run with a mean time of 10 ms, a rate of 1,000/s and these waiting threads.
    fn run(kind: LoopKind, waits: &[(WaitKind, &str, f64)]) -> Run {
        let mut run = fixture::run(0);
        run.loop_.kind = kind;
        run.loop_.connections = 64;
        for times in [&mut run.total.response_time_ns, &mut run.total.service_time_ns].into_iter().flatten() {
            times.mean = 10e6;
        }
        let wait = |(kind, on, threads): &(WaitKind, &str, f64)| ThreadWait {
            kind: *kind,
            on: (*on).to_owned(),
            threads: *threads,
        };
        run.server_waits = Some(ServerWaits {
            looks: 100,
            achieved_per_s: 1_000.0,
            waits: waits.iter().map(wait).collect(),
            ..ServerWaits::default()
        });
        run
    }

    fn causes(full: &[(WaitKind, &str, f64)], light: &[(WaitKind, &str, f64)]) -> Vec<WaitKind> {
        let (full, light) = (run(LoopKind::Closed, full), run(LoopKind::Open, light));
        wait_causes(&full, Some(&light)).iter().map(|cause| cause.kind).collect()
    }

    #[test]
    fn waits_that_grow_with_the_rate_are_of_requests() {
        use WaitKind::{File, Lock, Timer};
        assert_eq!(causes(&[(Lock, "", 9.0), (Timer, "", 1.2)], &[(Lock, "", 1.0)]), [Lock, Timer]);
        assert_eq!(causes(&[(Lock, "", 2.0)], &[(Lock, "", 9.0)]), [], "idle threads");
        assert_eq!(causes(&[(Lock, "", 5.0)], &[(Lock, "", 3.0)]), [Lock], "two more than are idle");
        assert_eq!(causes(&[(Lock, "", 2.0)], &[(Lock, "", 1.5)]), [], "idle, and one more now and then");
        assert_eq!(causes(&[(Timer, "", 3.0)], &[(Timer, "", 3.0)]), [], "a thread in the background");
        assert_eq!(causes(&[(File, "/log", 0.5)], &[(File, "/log", 0.2)]), [], "a small part of the time");
        assert_eq!(causes(&[(File, "/a", 9.0)], &[(File, "/b", 9.0)]), [File], "another file");
    }

    #[test]
    fn one_thread_of_a_runtime_that_sleeps_is_no_sleep_of_requests() {
        let sleeps = |full, light| {
            let mut half = run(LoopKind::Open, &[(WaitKind::Timer, "", light)]);
            half.total.response_time_ns.as_mut().unwrap().mean = 2e6;
            wait_causes(&run(LoopKind::Closed, &[(WaitKind::Timer, "", full)]), Some(&half)).len()
        };
        assert_eq!(sleeps(0.9, 0.5), 0, "a quarter of the time of a request below the limit");
        assert_eq!(sleeps(0.9, 0.0), 0, "at the limit alone");
        assert_eq!(sleeps(4.0, 2.0), 1);
    }

    #[test]
    fn one_load_alone_names_a_lock_at_which_most_connections_wait() {
        let alone =
            |threads| wait_causes(&run(LoopKind::Closed, &[(WaitKind::Lock, "", threads)]), None).len();
        assert_eq!((alone(40.0), alone(8.0)), (1, 0));
        assert_eq!(wait_causes(&fixture::run(0), None), []);
    }

    #[test]
    fn timers_that_are_due_as_often_as_requests_are_theirs() {
        let of = |threads, due_ms: f64, waiting_ms: f64| {
            let mut half = run(LoopKind::Open, &[]);
            let timers = LoopTimers { threads, due_ns_mean: due_ms * 1e6 };
            half.server_waits.as_mut().unwrap().loop_timers = Some(timers);
            timers_of_requests(&half, waiting_ms * 1e6).is_some()
        };
        assert!(of(0.8, 1.0, 20.0), "20 requests wait for 20 ms each: one is done every millisecond");
        assert!(of(4.0, 4.0, 20.0), "the same in four loops");
        assert!(!of(0.8, 50.0, 20.0), "a timer in the background");
        assert!(!of(8.0, 1.0, 100.0), "a timer that is due more often than a request of its loop is done");
        assert!(!of(0.1, 1.0, 20.0), "a timer now and then");
        assert_eq!(timers_of_requests(&run(LoopKind::Open, &[]), 20e6), None);
    }

    #[test]
    fn a_service_with_many_messages_is_named() {
        let mut closed = run(LoopKind::Closed, &[]);
        let calls = |address: &str, messages_per_request| ServiceCalls {
            address: address.to_owned(),
            messages_per_request,
        };
        closed.server_waits.as_mut().unwrap().calls =
            vec![calls("127.0.0.1:5432", 20.0), calls("127.0.0.1:6379", 1.0)];
        assert_eq!(many_calls(&closed).collect::<Vec<_>>(), [("127.0.0.1:5432", 20.0)]);
        assert_eq!(called(&closed).collect::<Vec<_>>(), ["127.0.0.1:5432", "127.0.0.1:6379"]);
    }
}
