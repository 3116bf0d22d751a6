//! `--syscalls`: after the measured window, the same load once more, in which perf counts the system calls of the server.

use super::repeat::{RepeatedLoad, ServerObserver, explain_profiler};
use crate::exit::Complaint;
use paceline_engine::{Nanos, Phase};
use paceline_profile::{ProfileError, SystemCallTrace};
use paceline_record::{Run, Span, SystemCalls};

/// Shortest and longest traced window of a load that does not change: thousands of requests of most servers, and not
/// longer, because every program on the machine is slower meanwhile.
const WINDOW: [Nanos; 2] = [Nanos(2_000_000_000), Nanos(3_000_000_000)];

/// The trace, or why perf did not start.
struct Tracer(Result<SystemCallTrace, ProfileError>);

/// Counts the system calls of the server of a run that is over, and adds them, or why they were not counted, to its
/// record.
pub fn add_system_calls(run: &mut Run, load: &RepeatedLoad<'_>) {
    match system_calls(load) {
        Ok(calls) => run.syscalls = Some(calls),
        Err(error) => run.syscalls_failure = Some(crate::exit::failure_text(&error)),
    }
}

fn system_calls(load: &RepeatedLoad<'_>) -> anyhow::Result<SystemCalls> {
    let (Tracer(trace), run) = load.observe(WINDOW)?;
    let counts = trace.and_then(SystemCallTrace::finish).map_err(explain_profiler)?;
    // The trace was stopped at the end of the window. The load may have changed since it began.
    let [start_ns, end_ns] = counts.before_stop().map(|time| {
        let before_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        run.phases.window.end_ns.saturating_sub(before_ns)
    });
    let requests = run.ok_within(Span { start_ns, end_ns });
    counts.per_request(requests, run.rate_per_s.achieved).ok_or_else(|| {
        Complaint::failed("no valid response came while system calls were counted")
            .hint("look at a response: --debug")
            .into()
    })
}

impl ServerObserver for Tracer {
    /// perf takes some time until it counts. The connections are open then, so that the threads that serve them exist.
    const BEGINS_WITH: Phase = Phase::Warmup;

    fn start(processes: &[i32]) -> Self {
        Self(SystemCallTrace::start(processes))
    }

    fn stop(&mut self) {
        if let Ok(trace) = &mut self.0 {
            trace.stop();
        }
    }
}
