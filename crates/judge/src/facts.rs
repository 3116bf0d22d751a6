//! Facts of a run that several judges use: its loop, its stalls, and its window as a series.
//!
//! A record keeps intervals by cohort; a judge of change and growth needs them by time, in whichever phase a request
//! was due. Intervals that lie only partly in the window are left out.

use crate::judged_times;
use paceline_escape::shell_word;
use paceline_record::{Blame, Block, Connections, Counts, Interval, LoopKind, Phase, Run, Span, Times};
use paceline_stats::{Histogram, RunPercentile, run_percentile};

/// Below this length of the window, in seconds, shares of it mean nothing: the kernel counts CPU time in steps of 10 ms,
/// and a single time slice of another process takes some milliseconds.
pub(crate) const SHARES_NEED_S: f64 = 0.1;
/// Below this share of the scheduled requests a load counts as not delivered.
pub const MIN_ACHIEVED: f64 = 0.99;
/// A core, a thread, or a process on its cores, is full from this share of its time.
pub const MIN_FULL: f64 = 0.9;

/// Below this share of time lost to the environment a verdict is not justified: the 99th percentile may be affected above
/// it.
pub(crate) const MIN_DISTURBANCE: f64 = 0.01;

/// How to look at a response: with curl if the run sent nothing but a GET of its URL, else with `--debug`, which sends
/// the run's own requests.
pub(crate) fn look(run: &Run) -> String {
    if is_websocket(run) {
        return look_at_handshake(run);
    }
    let is_plain = run.job.as_ref().is_none_or(|job| match job.requests.as_slice() {
        [only] => {
            let is_get = only.method == "GET" && only.headers.is_empty() && only.path.is_none();
            is_get && job.unix_socket.is_none() && job.connect_to.is_none() && job.proxy.is_none()
        }
        _ => false,
    });
    match url_for_curl(&run.target.url).filter(|_| is_plain) {
        Some(url) => format!("Check with: curl -i {url}"),
        None => "Add --debug to the command: it sends each request once and shows the response.".to_owned(),
    }
}

/// Whether most of these requests of a run failed because this machine could open no connection for them: it was out of
/// ports, descriptors or memory, which the server cannot help.
pub(crate) fn fails_here(run: &Run, counts: &Counts) -> bool {
    let Connections { failed_here, failed_attempts, .. } = run.connections;
    let without_connection = counts.connect_failed.saturating_add(counts.unsent);
    failed_here > failed_attempts / 2 && counts.connect_failed > 0 && without_connection > counts.not_ok() / 2
}

/// The party to blame for the failures of these requests, if it is not the user.
pub(crate) fn blame_for(run: &Run, counts: &Counts) -> Blame {
    if fails_here(run, counts) { Blame::Environment } else { Blame::Server }
}

/// The remedy if this machine could open no more connections.
pub(crate) fn raise_limits(run: &Run) -> String {
    format!(
        "This machine could not open more connections. Raise the limit of open files (ulimit -n {}), check that local ports are free (ss -s), or lower -c.",
        run.connections.asked.saturating_add(100)
    )
}

/// A URL in a command of curl, as a word for a shell; none with braces, since curl does not know placeholders. Brackets
/// are a range to curl, and need `-g`.
fn url_for_curl(url: &str) -> Option<String> {
    let flag = if url.contains(['[', ']']) { "-g " } else { "" };
    (!url.contains(['{', '}'])).then(|| format!("{flag}{}", shell_word(url)))
}

/// Whether the run sent messages over WebSocket.
pub(crate) fn is_websocket(run: &Run) -> bool {
    ["ws://", "wss://"].iter().any(|scheme| run.target.url.starts_with(scheme))
}

/// How to look at the answer to a WebSocket's handshake: with curl, if the handshake has no field of the user.
fn look_at_handshake(run: &Run) -> String {
    let is_plain = run.job.as_ref().is_none_or(|job| {
        let has_fields = job.requests.iter().any(|request| !request.headers.is_empty());
        !has_fields && job.unix_socket.is_none() && job.connect_to.is_none() && job.proxy.is_none()
    });
    let Some(url) = url_for_curl(&run.target.url.replacen("ws", "http", 1)).filter(|_| is_plain) else {
        return "The report shows the reason of a failed handshake and the first wrong answer.".to_owned();
    };
    // The key is that of RFC 6455 §1.3. curl would wait for more after status 101.
    format!(
        "Check the handshake with: curl -i -m 2 --http1.1 -H 'Connection: Upgrade' -H 'Upgrade: websocket' \
         -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' {url}"
    )
}

/// A stretch of a run between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RunSlice {
    pub start_ns: u64,
    pub end_ns: u64,
    /// The outcomes of the requests that ended in it.
    pub counts: Counts,
    /// The median service time in nanoseconds of the cohort with the most requests in it, and their number. A few
    /// requests that were due in another phase may all be slow ones.
    pub service: (u64, u64),
}

impl RunSlice {
    pub fn length_s(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }

    /// Responses, good and bad.
    pub fn answered(&self) -> u64 {
        [self.counts.ok, self.counts.bad_status, self.counts.bad_body]
            .iter()
            .fold(0, |sum, n| sum.saturating_add(*n))
    }
}

/// The intervals from the warm-up to the end of the drain, in order of time.
pub(crate) fn slices(run: &Run) -> Vec<RunSlice> {
    let is_request = |interval: &&Interval| interval.phase != Phase::Connect;
    let parts = run.intervals_by_time().into_iter();
    let of_requests = parts.filter(|(_, intervals)| intervals.iter().any(is_request));
    of_requests.map(|(span, intervals)| slice(span, &intervals)).collect()
}

/// The intervals that lie wholly in the window, in order of time.
pub(crate) fn window(run: &Run) -> Vec<RunSlice> {
    let window = run.phases.window;
    let is_inside = |span: &Span| {
        window.start_ns <= span.start_ns && span.start_ns < span.end_ns && span.end_ns <= window.end_ns
    };
    let inside = run.intervals_by_time().into_iter().filter(|(span, _)| is_inside(span));
    inside.map(|(span, intervals)| slice(span, &intervals)).collect()
}

fn slice(Span { start_ns, end_ns }: Span, intervals: &[&Interval]) -> RunSlice {
    let mut slice = RunSlice { start_ns, end_ns, ..RunSlice::default() };
    for Interval { block, .. } in intervals.iter().filter(|interval| interval.phase != Phase::Connect) {
        slice.counts.add(&block.counts);
        if let Some(times) = block.service_time_ns.as_ref().filter(|times| times.count > slice.service.1) {
            slice.service = (times.p50, times.count);
        }
    }
    slice
}

pub(crate) fn is_open(run: &Run) -> bool {
    run.loop_.kind == LoopKind::Open
}

/// Whether the generator was pinned to fewer cores than the machine has.
pub(crate) fn is_pinned(run: &Run) -> bool {
    run.generator.cores.len() < run.environment.cores as usize
}

/// The share of the window in which a CPU limit of its control group stopped the generator's threads.
pub(crate) fn throttled_share(run: &Run) -> f64 {
    let available_s = run.window_s * f64::from(run.generator.threads);
    let throttled_s = run.generator.throttling.map_or(0.0, |limit| limit.throttled_s);
    paceline_stats::ratio(throttled_s, available_s)
}

/// Whether a CPU limit stopped the generator for long enough to matter.
pub(crate) fn is_throttled(run: &Run) -> bool {
    throttled_share(run) > MIN_DISTURBANCE
}

/// The remedy if other processes disturbed the generator: a command that pins the generator (to the machine's last core),
/// unless it was pinned, and a command that moves the server to the other cores, unless it was restricted to some.
pub(crate) fn pin(run: &Run) -> String {
    if is_throttled(run) {
        return "Remove or raise the CPU limit of Paceline's control group.".to_owned();
    }
    let online = run.environment.cores;
    let own = if is_pinned(run) { run.generator.cores.clone() } else { vec![online.saturating_sub(1)] };
    let mut advice = match is_pinned(run) {
        true if own.len() == 1 => format!("Keep other processes off core {}: Paceline uses it.", own[0]),
        true => format!("Keep other processes off the cores {}: Paceline uses them.", core_list(&own)),
        false => format!("Pin Paceline: taskset -c {} paceline run ...", core_list(&own)),
    };
    let others: Vec<u32> = (0..online).filter(|core| !own.contains(core)).collect();
    let server = run.server.as_ref().filter(|server| server.cores_allowed >= online && !others.is_empty());
    if let Some(server) = server {
        let command = format!("taskset -acp {} {}", core_list(&others), server.pid);
        advice += &match is_pinned(run) {
            true => format!(" The server may run on the same cores; move it to others: {command}"),
            false => format!(" and the server: {command}"),
        };
    }
    advice
}

/// Cores as `taskset -c` reads them: `0,2,3`.
pub fn core_list(cores: &[u32]) -> String {
    cores.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// Percentiles of the judged times of a run, with their intervals within the run: none if the record's intervals have
/// no histograms, or if there are fewer than ten intervals.
pub fn percentiles_of_run<const N: usize>(run: &Run, ps: [f64; N]) -> [Option<RunPercentile>; N] {
    percentiles_of(run, ps, |block| judged_times(block, run.loop_.kind))
}

/// The same for other times of its blocks.
pub(crate) fn percentiles_of<const N: usize>(
    run: &Run,
    ps: [f64; N],
    times: impl Fn(&Block) -> Option<&Times>,
) -> [Option<RunPercentile>; N] {
    let of_window = run.intervals.iter().filter(|interval| interval.phase == Phase::Window);
    let histograms: Vec<Histogram> = of_window
        .filter_map(|interval| times(&interval.block))
        .map_while(|times| times.decode().ok())
        .collect();
    let recorded = histograms.iter().map(Histogram::count).fold(0, u64::saturating_add);
    // A smaller record has left out some intervals.
    let whole = times(&run.total).is_some_and(|times| times.count == recorded);
    ps.map(|p| run_percentile(&histograms, p).filter(|_| whole))
}

/// A time that is spread over the requests of a run, as a share of their mean time.
pub(crate) fn share_of_mean_time(run: &Run, seconds: f64) -> f64 {
    let mean_ns = judged_times(&run.total, run.loop_.kind).map_or(0.0, |times| times.mean);
    let all_s = mean_ns / 1e9 * run.total.counts.attempted() as f64;
    if all_s > 0.0 { seconds / all_s } else { 0.0 }
}

/// Valid responses completed in the window for each request scheduled in it.
pub fn achieved_share(run: &Run) -> f64 {
    run.total.completed_in_window as f64 / (run.total.counts.scheduled as f64).max(1.0)
}

/// The longest stall of the generator, in nanoseconds: between two turns of its loop if the record has it, else the
/// longest lag of a schedule.
pub(crate) fn longest_stall_ns(run: &Run) -> u64 {
    let lag = run.total.generator_lag_ns.as_ref().map_or(0, |lag| lag.max);
    run.generator.longest_gap_ns.unwrap_or(0).max(lag)
}

/// Maximum number of requests outstanding on a connection: the depth, or the number of streams that the server allows.
/// If that was ever 0, it was so for a short time (RFC 9113 §6.5.2), or no request was sent at all.
pub(crate) fn outstanding_on_connection(run: &Run) -> f64 {
    let depth = run.loop_.depth;
    let allowed = run.connections.streams_allowed.filter(|streams| *streams > 0);
    allowed.map_or(depth, |streams| streams.min(depth)).into()
}

/// Maximum number of outstanding requests.
pub(crate) fn outstanding_max(run: &Run) -> f64 {
    run.connections.had as f64 * outstanding_on_connection(run)
}

/// The highest sustained offered rate, per second; none in a closed loop.
pub(crate) fn offered_per_s_peak(run: &Run) -> Option<f64> {
    let segments = run.by_segment.as_deref().unwrap_or_default();
    Some(segments.iter().map(|segment| segment.offered_per_s).fold(run.loop_.offered_per_s?, f64::max))
}
