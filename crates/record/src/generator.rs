//! The generator of a run: its connections, its CPU time and memory; and the loaders of a run that several shared.
//!
//! Loaders are filled in by the crate `loaders` and judged by the verdicts on a run. The measurements of a loader are
//! its block in [`crate::Run::by_generator`], at the same place in the list; the block of a lost loader is empty.

use crate::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Connections requested and opened, and the side that closed them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// The number of requested connections; of a number that changes, the highest one.
    pub asked: u64,
    /// Open at the same time when the warm-up began; of a number that changes, the most at any time from then on.
    pub had: u64,
    /// Closed by the server from then on, including the drain.
    pub closed_by_server: u64,
    /// Closed by the generator before the end of the run: after a timeout or a response that broke the rules.
    pub closed_by_us: u64,
    /// Closed by either side after the last request of the connection.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub closed_as_asked: u64,
    /// Attempts to connect that failed, the first connect phase included.
    pub failed_attempts: u64,
    /// Failed attempts caused by missing resources of this machine: descriptors, ports, memory.
    #[serde(default)]
    pub failed_here: u64,
    /// Redirects that were followed, including the warm-up.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub redirects_followed: u64,
    /// Connections abandoned because the received bytes were not HTTP, or were not requested.
    #[serde(default)]
    pub broke_rules: u64,
    /// Responses that timed out because they had neither a length nor chunks, and the server did not close the connection.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub responses_without_end: u64,
    /// HTTP/2 connections that the server ended with ENHANCE_YOUR_CALM after requests on it were cancelled: because they
    /// timed out, because their stream ended as asked, or because they were answered before their body was sent.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub ended_after_cancels: u64,
    /// Handshakes that this machine's kernel dropped during the run because a listen queue was full; if the target is on
    /// this machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub listen_overflows: Option<u64>,
    /// What the kernel counted on its TCP connections: segments that were lost or late, round-trip times, and what
    /// limited sending.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tcp: Option<TcpCounts>,
    /// Failures because a response had more than 64 KiB of headers, which Paceline does not read.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub heads_too_long: u64,
    /// Cookies that were not kept, because a user had 64 already or the cookie was longer than 4,096 bytes.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub cookies_dropped: u64,
    /// The most frequent reason of a failed attempt or broken connection, as text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commonest_failure: Option<String>,
    /// The lowest number of concurrent streams that the server allowed on a connection, if below `depth`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub streams_allowed: Option<u32>,
    /// Whether a response was compressed although no request accepts that.
    #[serde(skip_serializing_if = "is_false", default)]
    pub compressed_unasked: bool,
    /// Requests of the window served by each connection.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub served: Option<Served>,
    /// The median service time of each connection, in nanoseconds, within a ninth; open loop, of connections with at
    /// least 16 responses.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub service_time_ns_p50: Option<Served>,
    /// What became of the connections to each address of the target, if they were spread over several.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub by_address: Vec<AddressConnections>,
}

/// The connections to one of several addresses of the target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AddressConnections {
    /// The address and port.
    pub address: String,
    /// Connections that were made, in the whole run.
    pub made: u64,
    /// Attempts to connect that failed, in the whole run.
    pub failed_attempts: u64,
    /// Requests of the window that were sent on its connections and have ended.
    pub requests: u64,
    /// Those that failed: no response, or another one than expected.
    pub not_ok: u64,
    /// The most frequent reason of a failed attempt or broken connection, as text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub commonest_failure: Option<String>,
}

/// The distribution over connections: one number for each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Served {
    /// The lowest value of a connection.
    pub min: u64,
    /// The median over connections.
    pub median: u64,
    /// The highest value of a connection.
    pub max: u64,
}

/// What the kernel counted on the connections of a run over their whole lives, failed attempts included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpCounts {
    /// Connections that were counted.
    pub connections: u64,
    /// Segments that were sent again: they, or their acknowledgements, were lost or late.
    pub retransmits: u64,
    /// Segments that were received out of order: an earlier one was lost or late.
    pub out_of_order: u64,
    /// The smoothed round-trip time of each connection when it was closed or the run ended, in nanoseconds (`tcpi_rtt`
    /// of linux/tcp.h, in steps of a microsecond): from a segment to its acknowledgement. The server's kernel often
    /// delays that until the response, for up to 40 ms: then it contains the server's time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub round_trip_time_ns: Option<Served>,
    /// The congestion window of each connection at the same moment, in segments (`tcpi_snd_cwnd`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub congestion_window_segments: Option<Served>,
    /// What limited sending, since Linux 4.10.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub send_limits: Option<SendLimits>,
}

/// For how long sending was limited, added up over the connections of a run, from when each was opened until it was
/// closed or the run ended. The kernel counts these times in clock ticks (1 to 10 ms).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendLimits {
    /// Time in which the server's receive window was full, in nanoseconds (`tcpi_rwnd_limited` of linux/tcp.h).
    pub receive_window_ns: u64,
    /// Connections with such a time.
    pub receive_window_connections: u64,
    /// Time in which the send buffer of the generator's socket was too small, in nanoseconds (`tcpi_sndbuf_limited`).
    pub send_buffer_ns: u64,
    /// Connections with such a time.
    pub send_buffer_connections: u64,
}

/// CPU time and memory of the generator over the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// Number of threads that sent load.
    pub threads: u32,
    /// The cores they may run on.
    pub cores: Vec<u32>,
    /// CPU time of all of them over the window, in seconds.
    pub cpu_s: f64,
    /// Useful CPU time: `cpu_s` minus `spin_s`.
    pub busy_s: f64,
    /// CPU time of polls that found nothing.
    pub spin_s: f64,
    /// `busy_s` per request sent in the window, in nanoseconds.
    pub cpu_ns_per_request: f64,
    /// Share of wall-clock time for which the busiest thread was busy, or the share of all threads on all their cores
    /// if that is higher, 0 to 1.
    pub utilization: f64,
    /// Time runnable but not running, all threads, in seconds.
    pub run_delay_s: f64,
    /// Time the hypervisor took from the machine, all cores, in seconds.
    pub steal_s: f64,
    /// Time for which the machine was suspended during the run, in seconds, if it was. The clocks of all other figures
    /// stood still meanwhile. Of several loaders, the longest time of one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub suspended_s: Option<f64>,
    /// Peak resident memory of the process.
    pub rss_bytes_peak: u64,
    /// Longest time between two turns of a worker's loop in the window, excluding intended waits: the longest stall of
    /// the generator, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub longest_gap_ns: Option<u64>,
    /// Requests due and unsent when the window opened: the warm-up's backlog.
    pub backlog_at_window_start: u64,
    /// CPU time of each thread.
    pub by_thread: Vec<GeneratorThread>,
    /// Each core of the machine over the window, including the server's if it is on this machine.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub by_core: Vec<CoreTime>,
    /// Clock frequency of the generator's cores, and of the server's if it is on this machine: of the first 16, if the
    /// kernel reports it (rarely in a virtual machine). Of a run of several loaders it is in each loader's entry.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub core_frequencies: Vec<CoreFrequency>,
    /// What a CPU limit of the generator's control group cost in the window, if it was reached.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub throttling: Option<Throttling>,
    /// Resources left for further connections when the window ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub left: Option<Left>,
}

/// A CPU limit that was reached in the window: the kernel stopped all threads of the control group until the next
/// period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throttling {
    /// Periods of the limit in which the group ran.
    pub periods: u64,
    /// Periods in which the limit was reached.
    pub throttled_periods: u64,
    /// Time in which the group was stopped, added up over its cores, in seconds.
    pub throttled_s: f64,
    /// The CPU time that the limit allows, in cores.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cores_allowed: Option<f64>,
}

/// One generator thread over the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorThread {
    /// User CPU time, in seconds.
    pub user_s: f64,
    /// System CPU time, in seconds.
    pub system_s: f64,
    /// Time spent in polls that found nothing, in seconds.
    pub spin_s: f64,
    /// Time runnable but not running, in seconds.
    pub run_delay_s: f64,
    /// Number of voluntary context switches.
    pub voluntary_switches: u64,
    /// Number of involuntary context switches.
    pub involuntary_switches: u64,
}

/// Time of one core over the window, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreTime {
    /// Number of the core, from 0.
    pub core: u32,
    /// Length of the sample, in seconds.
    pub over_s: f64,
    /// Time that the core was not idle, interrupts included, in seconds.
    pub busy_s: f64,
    /// Time in hard and soft interrupts, in seconds.
    pub interrupt_s: f64,
    /// Time that the hypervisor took from it, in seconds.
    pub steal_s: f64,
}

/// Resolution of the kernel's CPU accounting, in seconds: `/proc/stat` counts in `USER_HZ`, a hundred ticks a second on
/// every architecture except Alpha and Itanium (proc_stat(5), include/uapi/asm-generic/param.h).
const TICK_S: f64 = 0.01;

impl CoreTime {
    /// The minimum share of its time that the hypervisor took, 0 to 1. Most of the first tick may have accumulated
    /// before the window: one tick in a window of 25 ms is not evidence.
    pub fn min_steal_share(&self) -> f64 {
        let least_s = (self.steal_s - TICK_S).max(0.0);
        if self.over_s > 0.0 { least_s / self.over_s } else { 0.0 }
    }
}

/// The clock frequency of one core at both ends of the window, and how often heat reduced it meanwhile. What the kernel
/// does not report is missing, and so is a frequency that took long to read or is that of an idle core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoreFrequency {
    /// Number of the core, from 0.
    pub core: u32,
    /// Its frequency at the beginning of the window, in MHz (`cpufreq/scaling_cur_freq`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub frequency_mhz_start: Option<u64>,
    /// The same at the end of the window.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub frequency_mhz_end: Option<u64>,
    /// Its frequency without turbo, in MHz (`cpufreq/base_frequency`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub frequency_mhz_base: Option<u64>,
    /// Its highest frequency, in MHz (`cpufreq/cpuinfo_max_freq`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub frequency_mhz_max: Option<u64>,
    /// How often the core was throttled in the window because it was too hot (`thermal_throttle/core_throttle_count`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub throttle_events: Option<u64>,
    /// The same for its package (`thermal_throttle/package_throttle_count`), whose cores all count it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub package_throttle_events: Option<u64>,
}

impl CoreFrequency {
    /// How often heat reduced its frequency, by its own count or its package's; none if neither is reported.
    pub fn heat_events(&self) -> Option<u64> {
        self.throttle_events.max(self.package_throttle_events)
    }
}

/// Resources left for further connections when the window ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Left {
    /// TCP sockets in use on the machine; a connection over loopback counts twice.
    pub sockets_in_use: u64,
    /// TCP sockets in TIME_WAIT on the machine.
    pub sockets_time_wait: u64,
    /// Local ports for further connections to the target, over all source addresses, assuming that all TIME_WAIT
    /// sockets are the generator's.
    pub ports: u64,
    /// File descriptors that the process could still open.
    pub descriptors: u64,
}

/// One of several generators of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Loader {
    /// The machine it ran on: `local`, or the name used to connect to it.
    pub host: String,
    /// Requests of the window that the schedule assigned to it; open loop.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share: Option<u64>,
    /// Why it has no result. Its share of the load was not sent, or not counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost: Option<String>,
    /// Its monotonic clock minus the coordinator's, before the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock_before: Option<ClockOffset>,
    /// Its monotonic clock minus the coordinator's, after the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock_after: Option<ClockOffset>,
    /// Delay of its warm-up after the agreed time; none if it began then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub late_ns: Option<u64>,
    /// Requests of its window that are not counted: they ended outside the part of the window common to all loaders.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub left_out: Option<u64>,
    /// Its window on the coordinator's clock, from the start of the run, before cutting.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window: Option<Span>,
    /// Connections of this loader.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connections: Option<Connections>,
    /// CPU time and memory of this loader.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub generator: Option<Generator>,
    /// The traffic of its network interface over the window, if the target is not on the same machine.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub network: Option<NetworkUse>,
}

impl Loader {
    /// The host of a loader on the coordinator's machine.
    pub const LOCAL: &str = "local";
}

/// Bounds of the difference between two clocks. Each round trip gives bounds; these are the tightest of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockOffset {
    /// The offset is at least this, in nanoseconds.
    pub low_ns: i64,
    /// The offset is at most this, in nanoseconds.
    pub high_ns: i64,
    /// Number of round trips measured.
    pub round_trips: u32,
}

impl ClockOffset {
    /// The middle of the bounds.
    pub fn middle_ns(&self) -> i64 {
        ((i128::from(self.low_ns) + i128::from(self.high_ns)) / 2) as i64
    }
}

/// The traffic of a network interface over the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkUse {
    /// Name of the network interface.
    pub interface: String,
    /// Bytes sent through it, per second.
    pub sent_bytes_per_s: f64,
    /// Bytes received through it, per second.
    pub received_bytes_per_s: f64,
    /// Speed of its device in bytes per second, in each direction. In records without `sent_limit_bytes_per_s`, a
    /// token bucket's rate may be here.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub speed_bytes_per_s: Option<f64>,
    /// Limit of what it sends, in bytes per second: the rate of a token bucket (`tc tbf`). It does not limit what is
    /// received.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sent_limit_bytes_per_s: Option<f64>,
}

/// One direction of a network interface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkDirection {
    /// `sent` or `received`.
    pub name: &'static str,
    /// Bytes per second over the window.
    pub bytes_per_s: f64,
    /// The limit of this direction, in bytes per second.
    pub limit_bytes_per_s: f64,
}

impl NetworkUse {
    /// The directions with a known limit: sending has the lower one of device and token bucket, receiving the device's.
    pub fn limited_directions(&self) -> impl Iterator<Item = LinkDirection> {
        let known = |limit: Option<f64>| limit.filter(|limit| *limit > 0.0);
        let (device, bucket) = (known(self.speed_bytes_per_s), known(self.sent_limit_bytes_per_s));
        let sent_limit = device.into_iter().chain(bucket).reduce(f64::min);
        let sent = sent_limit.map(|limit| ("sent", self.sent_bytes_per_s, limit));
        let received = device.map(|limit| ("received", self.received_bytes_per_s, limit));
        let direction =
            |(name, bytes_per_s, limit_bytes_per_s)| LinkDirection { name, bytes_per_s, limit_bytes_per_s };
        sent.into_iter().chain(received).map(direction)
    }
}
