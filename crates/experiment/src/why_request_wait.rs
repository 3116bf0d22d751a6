//! What the waiting of requests suggests, at the limit and at half of its rate: a lock, a pool, a sleep or a service.

use crate::next_step::{LoadCommand, NextStep};
use crate::request_time::RequestTime;
use crate::why_cause::Cause;
use crate::why_profile::{DIVIDE_LOCK, contended_lock};
use crate::why_waits::{REMOVE_SLEEP, called, timers_of_requests};
use paceline_judge::MIN_FULL;
use paceline_record::{LimitKind, Run};
use paceline_stats::{percent_text, time_text};

/// A wait for each request below this, in nanoseconds, is the cost of waking threads and of the network.
const MIN_WAIT_NS: f64 = 500_000.0;
/// Factor between the waits at two rates that differ.
const DIFFERS: f64 = 2.0;
/// Below this number of requests that get through at a time, they get through one after the other.
const ONE_AT_A_TIME: f64 = 2.0;

/// What the waiting of requests suggests, at the limit and at half of its rate.
pub(crate) fn from_waiting(load: &LoadCommand, closed: &Run, half: Option<&Run>) -> Option<NextStep> {
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

/// A lock whose wait is short at half of the rate and most of the time of a request at the limit: requests get through
/// one after the other though there are idle cores, and the profile has code that waited for a lock.
pub(crate) fn from_lock(
    load: &LoadCommand,
    limit: LimitKind,
    closed: &Run,
    half: Option<&Run>,
) -> Option<NextStep> {
    let [full, light] = [closed, half?].map(RequestTime::of_run);
    let is_queue = full.waiting_ns >= MIN_WAIT_NS
        && full.is_mostly_waiting()
        && full.waiting_ns > DIFFERS * light.waiting_ns
        && at_a_time(closed, light.waiting_ns) < ONE_AT_A_TIME;
    let is_idle = matches!(limit, LimitKind::Waiting | LimitKind::Neighbours) && has_idle_cores(closed);
    (is_queue && is_idle).then(|| lock_step(load, closed, &waiting_words(full, light))).flatten()
}

/// Whether the server could have done more at the same time: on average, fewer of its threads ran or waited for a core
/// than it has cores, and none of them always did.
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

/// How many requests get through at a time at the limit: by Little's law, with the time that a request waits while it
/// waits for few others.
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::why_profile::tests::profile;
    use paceline_record::{LoopKind, LoopTimers, ServerUse, ServerWaits, ServiceCalls, fixture};

    /// A load with no other settings than a URL.
    pub(crate) fn of_url() -> LoadCommand {
        LoadCommand::new("http://h/", &fixture::run(0), "closed.json")
    }

    /// A run whose mean time and CPU time for each request are these, in milliseconds.
    pub(crate) fn run(kind: LoopKind, mean_ms: f64, cpu_ms: f64) -> Run {
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
}
