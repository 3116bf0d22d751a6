//! Causes of waiting: where the threads of the server were seen at the limit and at half of its rate.
//!
//! A wait that requests cause grows with the rate. Threads that wait as often at half of the rate, or more often, are idle
//! or work in the background.

use paceline_judge::judged_times;
use paceline_record::{Run, ServerWaits, ThreadWait, WaitKind};
use paceline_stats::ratio;

/// Factor between the threads at the limit and at half of its rate, from which on requests cause a wait.
const GROWS: f64 = 1.3;
/// A wait below this share of the time of a request, at both rates, is not worth a step.
const MIN_SHARE: f64 = 0.1;
/// Without a second rate: this share of the connections must wait at a lock.
const MIN_LOCK_SHARE: f64 = 0.25;
/// From this number of messages for each request on, they are many.
const MANY_MESSAGES: f64 = 3.0;

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
            WaitKind::Lock => {
                "Threads compete for a lock: hold it for a shorter time, or divide what it protects."
                    .to_owned()
            }
            WaitKind::Timer => {
                "Requests sleep: remove the sleep, the timer or the retry from their path.".to_owned()
            }
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
    pub(crate) fn command(&self, pid: u32) -> String {
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
    let light = half.and_then(|half| Some((half, often_seen(half)?)));
    let cause = |wait: &ThreadWait| {
        let at_light = light.map(|(run, waits)| (run, waits, same(waits, wait)));
        let light_threads = at_light.map(|(_, _, wait)| wait.map_or(0.0, |wait| wait.threads));
        let light_share = match at_light {
            Some((run, waits, Some(wait))) => share(run, waits, wait),
            _ => 0.0,
        };
        // Runtimes have a thread that sleeps for some microseconds at a time while there is work.
        let light_share = if wait.kind == WaitKind::Timer { light_share / 3.0 } else { light_share };
        WaitCause {
            kind: wait.kind,
            on: wait.on.clone(),
            full_threads: wait.threads,
            light_threads,
            share: share(closed, full, wait).max(light_share),
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

/// Services that get many messages for each request, with the number.
pub(crate) fn many_calls(closed: &Run) -> impl Iterator<Item = (&str, f64)> {
    let calls = closed.server_waits.iter().flat_map(|waits| &waits.calls);
    let many = calls.filter(|calls| calls.messages_per_request >= MANY_MESSAGES);
    many.map(|calls| (calls.address.as_str(), calls.messages_per_request))
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
            calls: Vec::new(),
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
        assert_eq!(causes(&[(Timer, "", 3.0)], &[(Timer, "", 3.0)]), [], "a thread in the background");
        assert_eq!(causes(&[(File, "/log", 0.5)], &[(File, "/log", 0.2)]), [], "a small part of the time");
        assert_eq!(causes(&[(File, "/a", 9.0)], &[(File, "/b", 9.0)]), [File], "another file");
    }

    #[test]
    fn one_load_alone_names_a_lock_at_which_most_connections_wait() {
        let alone =
            |threads| wait_causes(&run(LoopKind::Closed, &[(WaitKind::Lock, "", threads)]), None).len();
        assert_eq!((alone(40.0), alone(8.0)), (1, 0));
        assert_eq!(wait_causes(&fixture::run(0), None), []);
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
    }
}
