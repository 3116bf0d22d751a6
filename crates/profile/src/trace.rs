//! Counts the system calls of running processes with `perf trace -s`.
//!
//! perf attaches to every thread that the processes have, and not to those that they start later. It begins to count
//! some time after it was started, which is seen in its memory map, and prints its tables when it is asked to end. The
//! signal that asks it makes it ignore the events that it has not read yet, and it does not report them as lost
//! (tools/perf/builtin-trace.c, `interrupted`). So it is asked when it sleeps: then it has read all of them.

use crate::error::{PerfCommand, ProfileError};
use crate::perf::{MESSAGES, PerfProcess, perf_version, pid_list, read_text};
use crate::trace_summary::{CallCount, TraceSummary};
use paceline_record::{SystemCall, SystemCalls};
use std::fs;
use std::io::ErrorKind;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Kinds of system calls in a record.
const KINDS: usize = 20;
/// How often it is looked whether perf has begun to count. The window is known as exactly.
const LOOK: Duration = Duration::from_millis(5);
/// How long perf may take to read the events of the window after its end. The load is over then, so that this is the
/// time for full buffers; if they were full, perf reports lost events.
const READ_LIMIT: Duration = Duration::from_secs(2);
/// How often it is looked whether perf has read them. Until then it counts the last calls of requests in flight.
const LOOK_AT_END: Duration = Duration::from_millis(1);
/// Bytes of perf's output that are read: tables of some ten thousand threads.
const MAX_OUTPUT: u64 = 32 << 20;
/// Memory for the events of all threads, in KiB. perf has a buffer for each thread.
const BUFFERS_KIB: u64 = 64 << 10;
/// The smallest and the largest buffer of a thread, in KiB: perf's default, and 20,000 calls.
const BUFFER_KIB: [u64; 2] = [512, 4096];
/// The system calls that start threads and processes.
const STARTING: [&str; 4] = ["clone", "clone3", "fork", "vfork"];

/// A trace in progress.
#[derive(Debug)]
pub struct SystemCallTrace {
    perf: PerfProcess,
    watch: Option<BeginWatch>,
}

/// A thread that looks whether perf counts, until it does or its sender is dropped.
#[derive(Debug)]
struct BeginWatch {
    stop: Option<Sender<()>>,
    thread: JoinHandle<Option<Instant>>,
}

/// The system calls of a traced window.
#[derive(Debug)]
pub struct SystemCallCounts {
    tool: String,
    window_s: f64,
    before_stop: [Duration; 2],
    summary: TraceSummary,
}

impl SystemCallTrace {
    /// Begins to count the calls of processes with all their threads.
    ///
    /// # Errors
    /// [`ProfileError`] if perf is not installed or does not start. Missing rights are only known at the end.
    pub fn start(processes: &[i32]) -> Result<Self, ProfileError> {
        let buffer = format!("{}K", buffer_kib(threads_of(processes)));
        let perf = PerfProcess::start(PerfCommand::Trace, MESSAGES, |command, _| {
            // Numbers have a decimal point, in every language of the user.
            command.env("LC_ALL", "C").args(["-s", "-m", &buffer, "-p", &pid_list(processes)]);
        })?;
        let watch = BeginWatch::start(perf.id());
        Ok(Self { perf, watch })
    }

    /// Asks perf to end as soon as it has read the events of the window, which may take two seconds, and does not wait
    /// for its end.
    pub fn stop(&mut self) {
        self.watch.iter_mut().for_each(|watch| drop(watch.stop.take()));
        self.perf.stop_after(await_events);
    }

    /// Ends the trace. The caller knows the requests of the traced time ([`SystemCallCounts::before_stop`]).
    ///
    /// # Errors
    /// [`ProfileError`] if perf was not permitted to trace, had not begun, or saw no call.
    pub fn finish(mut self) -> Result<SystemCallCounts, ProfileError> {
        self.stop();
        let status = self.perf.end()?;
        let summary = TraceSummary::from_text(&read_text(self.perf.output(), MAX_OUTPUT));
        if !summary.is_there {
            return Err(self.perf.without_data(status));
        }
        // Without a thread that looks (`ulimit -u`), its start is the beginning.
        let begun = match self.watch.take() {
            Some(watch) => watch.thread.join().ok().flatten().ok_or(ProfileError::NotBegun)?,
            None => self.perf.begun(),
        };
        let window_s = self.perf.window_s(begun);
        if window_s <= 0.0 {
            return Err(ProfileError::NotBegun);
        }
        if summary.calls.is_empty() {
            return Err(if summary.has_table { ProfileError::UnknownTable } else { ProfileError::NoCalls });
        }
        let before_stop = self.perf.before_asked(begun);
        Ok(SystemCallCounts { tool: perf_version()?, window_s, before_stop, summary })
    }
}

impl BeginWatch {
    fn start(perf: u32) -> Option<Self> {
        let (stop, stopped) = mpsc::channel();
        let look = move || {
            while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if has_buffers(perf) {
                    return Some(Instant::now());
                }
            }
            None
        };
        let thread = thread::Builder::new().name("perf".to_owned()).spawn(look).ok()?;
        Some(Self { stop: Some(stop), thread })
    }
}

impl SystemCallCounts {
    /// When the traced time began and ended, as times before the call of [`SystemCallTrace::stop`]. It ended then, or
    /// earlier with the last process.
    pub fn before_stop(&self) -> [Duration; 2] {
        self.before_stop
    }

    /// The calls per request, if this many valid responses came in the traced time; none if that is less than one.
    /// `achieved_per_s` is the rate of the whole window.
    pub fn per_request(&self, requests: f64, achieved_per_s: f64) -> Option<SystemCalls> {
        let requests = Some(requests).filter(|requests| *requests >= 1.0)?;
        let of_name = |(name, count): (&String, &CallCount)| SystemCall {
            name: name.clone(),
            calls_per_request: count.calls as f64 / requests,
            errors_per_request: count.errors as f64 / requests,
            time_ns_mean: count.time_ms * 1e6 / count.calls.max(1) as f64,
        };
        let mut calls: Vec<SystemCall> = self.summary.calls.iter().map(of_name).collect();
        calls.sort_by(|one, other| other.calls_per_request.total_cmp(&one.calls_per_request));
        let calls_per_request = calls.iter().map(|call| call.calls_per_request).sum();
        calls.truncate(KINDS);
        let starting = STARTING.iter().filter_map(|name| self.summary.calls.get(*name));
        let started = starting.map(|count| count.calls.saturating_sub(count.errors));
        Some(SystemCalls {
            tool: self.tool.clone(),
            window_s: self.window_s,
            achieved_per_s,
            requests: requests.round() as u64,
            lost_events: self.summary.lost_events,
            threads_started: started.fold(0, u64::saturating_add),
            calls_per_request,
            calls,
        })
    }
}

/// Whether perf has buffers for events: it counts a few milliseconds later. If its map may not be read, because it has
/// more rights than this process, it counts from its start.
fn has_buffers(perf: u32) -> bool {
    match fs::read(format!("/proc/{perf}/maps")) {
        Ok(map) => String::from_utf8_lossy(&map).contains("[perf_event]"),
        Err(error) => error.kind() == ErrorKind::PermissionDenied,
    }
}

/// Waits until perf sleeps.
fn await_events(perf: u32) {
    let limit = Instant::now() + READ_LIMIT;
    let stat = || fs::read_to_string(format!("/proc/{perf}/stat")).unwrap_or_default();
    while is_at_work(&stat()) && Instant::now() < limit {
        thread::sleep(LOOK_AT_END);
    }
}

/// Whether a process runs, or waits for a core or a page, by its line of `/proc/PID/stat`: proc_pid_stat(5).
fn is_at_work(stat: &str) -> bool {
    stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with(['R', 'D']))
}

fn threads_of(processes: &[i32]) -> usize {
    let threads = |pid: &i32| fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    processes.iter().map(threads).sum()
}

/// The buffer of each of some threads: a power of two, as perf wants it.
fn buffer_kib(threads: usize) -> u64 {
    let [smallest, largest] = BUFFER_KIB;
    let share = BUFFERS_KIB / (threads.max(1) as u64);
    1 << share.clamp(smallest, largest).ilog2()
}

/// Reads any bytes as the output of perf, for fuzzing.
#[doc(hidden)]
pub fn fuzz_perf_trace(bytes: &[u8]) {
    let summary = TraceSummary::from_text(&String::from_utf8_lossy(bytes));
    let before_stop = [Duration::from_secs(1), Duration::ZERO];
    let counts = SystemCallCounts { tool: String::new(), window_s: 1.0, before_stop, summary };
    let Some(calls) = counts.per_request(10.0, 10.0) else { return };
    let listed: f64 = calls.calls.iter().map(|call| call.calls_per_request).sum();
    assert!(listed <= calls.calls_per_request * (1.0 + 1e-9) && calls.calls.len() <= KINDS);
    assert!(calls.calls.is_sorted_by(|one, other| one.calls_per_request >= other.calls_per_request));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn counts(rows: &[(&str, u64, u64)]) -> SystemCallCounts {
        let count = |(name, calls, errors): &(&str, u64, u64)| {
            ((*name).to_owned(), CallCount { calls: *calls, errors: *errors, time_ms: 5.0 })
        };
        let summary = TraceSummary { calls: rows.iter().map(count).collect(), ..TraceSummary::default() };
        let before_stop = [Duration::from_secs(2), Duration::ZERO];
        SystemCallCounts { tool: String::new(), window_s: 2.0, before_stop, summary }
    }

    #[test]
    fn calls_are_divided_by_the_requests_of_the_traced_time() {
        let calls = counts(&[("read", 400, 200), ("write", 1_000, 0)]).per_request(200.0, 90.0).unwrap();
        assert_eq!((calls.requests, calls.calls_per_request, calls.achieved_per_s), (200, 7.0, 90.0));
        let of = |call: &SystemCall| (call.calls_per_request, call.errors_per_request, call.time_ns_mean);
        assert_eq!(calls.calls.iter().map(of).collect::<Vec<_>>(), [(5.0, 0.0, 5e3), (2.0, 1.0, 12.5e3)]);
        assert_eq!((calls.calls[0].name.as_str(), calls.threads_started), ("write", 0));
        for requests in [0.0, 0.9, f64::NAN] {
            assert_eq!(counts(&[("read", 400, 200)]).per_request(requests, 90.0), None, "{requests}");
        }
    }

    #[test]
    fn all_calls_are_in_the_sum_and_the_most_frequent_in_the_list() {
        let names: Vec<String> = (0..30).map(|number| format!("call{number:02}")).collect();
        let rows: Vec<(&str, u64, u64)> = names.iter().map(|name| (name.as_str(), 10, 0)).collect();
        let calls = counts(&rows).per_request(10.0, 5.0).unwrap();
        assert_eq!((calls.calls_per_request, calls.calls.len()), (30.0, KINDS));
        assert_eq!(calls.calls[0].name, "call00", "equal numbers in the order of names");
    }

    #[test]
    fn threads_that_begin_meanwhile_make_the_counts_lower_bounds() {
        let calls = counts(&[("clone3", 9, 4), ("fork", 2, 3)]).per_request(10.0, 5.0).unwrap();
        assert!(calls.threads_started == 5 && calls.is_lower_bound(), "{calls:?}");
        let most = counts(&[("clone", u64::MAX, 0), ("vfork", 1, 0)]).per_request(10.0, 5.0).unwrap();
        assert_eq!(most.threads_started, u64::MAX);
    }

    #[test]
    fn a_process_that_sleeps_or_has_ended_is_not_at_work() {
        for (stat, is_busy) in [
            ("7 (perf) R 1 7", true),
            ("7 (perf) D 1 7", true),
            ("7 (perf) S 1 7", false),
            ("7 (a) R (b) S 1 7", false),
            ("7 (perf) Z 1 7", false),
            ("", false),
        ] {
            assert_eq!(is_at_work(stat), is_busy, "{stat}");
        }
    }

    #[test]
    fn few_threads_have_large_buffers() {
        assert_eq!([0, 1, 16, 17, 40, 1_000].map(buffer_kib), [4096, 4096, 4096, 2048, 1024, 512]);
    }

    #[test]
    fn any_output_is_read() {
        for text in ["", "\n", "---\n x 1 1 1 1 1 1 1%\n", "LOST events!\nLOST x events!\n", "\u{0}\u{1} :"] {
            fuzz_perf_trace(text.as_bytes());
        }
        fuzz_perf_trace(&[0xff, 0xfe, b'-', b'-', b'-', b'\n', 0xff]);
    }

    #[test]
    fn the_calls_of_a_process_are_counted_where_perf_may_do_so() {
        let mut busy = Command::new("sh")
            .args(["-c", "while :; do : < /dev/null; done"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let counted = SystemCallTrace::start(&[busy.id().cast_signed()]).and_then(|mut trace| {
            let limit = Instant::now() + Duration::from_secs(10);
            while !has_buffers(trace.perf.id()) && !trace.perf.has_ended() && Instant::now() < limit {
                thread::sleep(LOOK);
            }
            thread::sleep(Duration::from_millis(500));
            trace.stop();
            trace.finish()
        });
        busy.kill().unwrap();
        busy.wait().unwrap();
        match counted {
            Ok(counts) => {
                let calls = counts.per_request(1e6, 1e6).unwrap();
                assert!(calls.calls.iter().any(|call| call.name.starts_with("open")), "{calls:?}");
                assert!(calls.tool.starts_with("perf") && calls.window_s > 0.0, "{calls:?}");
                let [begun, ended] = counts.before_stop();
                let length_s = begun.saturating_sub(ended).as_secs_f64();
                assert!((length_s - calls.window_s).abs() < 1e-6, "{begun:?} {ended:?} {calls:?}");
            }
            // A machine without perf, or one that does not permit it: then the error says so.
            Err(error) => assert!(error.hint().is_some(), "{error:?}"),
        }
    }
}
