//! Judges what the kernel counted: packets that were lost or late, requests that the server did not read, and memory
//! that was read from a disk.
//!
//! The counts alone say little: those of the machine include other programs, and a few lost packets change no percentile.
//! A verdict is given where a time that they explain was measured, too.

use crate::answers::{SYN_RETRY_NS, listen_overflows, longest_connect_ns};
use crate::{TypedVerdict, judged_times};
use paceline_record::Run;
use paceline_stats::time_text;

/// The shortest retransmission timeout of an open connection on Linux (TCP_RTO_MIN).
const MIN_RTO_NS: u64 = 200_000_000;
/// From this many lost or late segments for each request on, the 99.9th percentile contains them.
const MIN_LOST_SHARE: f64 = 0.001;
/// From this share of the connections' time on, waiting for the server to read is a part of the times that matters.
const MIN_WINDOW_FULL_SHARE: f64 = 0.1;
/// Page faults from a disk for each request below which the 99th percentile does not contain them.
const MIN_FAULT_SHARE: f64 = 0.01;

/// Connecting took a second or longer because attempts were repeated. A full listen queue on this machine is named by
/// `listen_overflows`.
pub(crate) fn syn_retransmits(run: &Run) -> Option<TypedVerdict> {
    let retransmits = run.kernel?.syn_retransmits;
    let longest = longest_connect_ns(run).filter(|longest| *longest >= SYN_RETRY_NS)?;
    (retransmits > 0 && listen_overflows(run).is_none()).then(|| TypedVerdict::SynRetransmits {
        retransmits,
        connect_time_ns_max: longest,
        longest: time_text(longest as f64),
    })
}

/// Segments of the run's own connections were lost or late, and high percentiles contain the timeout of TCP.
pub(crate) fn retransmits(run: &Run) -> Option<TypedVerdict> {
    let tcp = run.connections.tcp?;
    // Repeated attempts to connect are counted as sent again, too.
    let attempts = run.kernel.map_or(0, |kernel| kernel.syn_retransmits);
    let sent_again = tcp.retransmits.saturating_sub(attempts);
    let requests = run.total.counts.attempted();
    let lost = (sent_again + tcp.out_of_order) as f64;
    let times = judged_times(&run.total, run.loop_.kind)?;
    let is_in_times = times.p99_9 >= MIN_RTO_NS && times.p50 < MIN_RTO_NS;
    (lost > 0.0 && lost >= MIN_LOST_SHARE * requests as f64 && is_in_times).then(|| {
        let dropped = run.kernel.map_or(0, |kernel| kernel.packets_dropped);
        TypedVerdict::Retransmits {
            retransmits: sent_again,
            out_of_order: tcp.out_of_order,
            packets_dropped: (dropped > 0).then_some(dropped),
            time_ns_p99_9: times.p99_9,
            advice: match dropped {
                0 => "Look for lost packets on the way: `ip -s link` on both machines.",
                _ => "This machine dropped packets itself: raise net.core.netdev_max_backlog.",
            },
        }
    })
}

/// The server did not read its requests as fast as they were sent. The kernel counts over the whole life of a
/// connection: the share is that of the time from the warm-up to the end of the drain.
pub(crate) fn receive_window_full(run: &Run) -> Option<TypedVerdict> {
    let limits = run.connections.tcp?.send_limits?;
    let length_ns = run.phases.drain.end_ns.saturating_sub(run.phases.warmup.start_ns);
    let full_s = limits.receive_window_ns as f64 / 1e9;
    let open_s = length_ns as f64 / 1e9 * run.connections.had as f64;
    let full_share = paceline_stats::ratio(full_s, open_s).min(1.0);
    (full_share > MIN_WINDOW_FULL_SHARE).then_some(TypedVerdict::ReceiveWindowFull {
        full_share,
        full_s,
        limited_connections: limits.receive_window_connections,
        connections: run.connections.had,
        percent: 100.0 * full_share,
    })
}

/// The server waited for a disk to read its own memory.
pub(crate) fn major_faults(run: &Run) -> Option<TypedVerdict> {
    let faults = run.server.as_ref()?.major_faults?;
    let per_request = paceline_stats::ratio(faults as f64, run.total.counts.attempted() as f64);
    (faults > 0 && per_request >= MIN_FAULT_SHARE)
        .then_some(TypedVerdict::MajorFaults { faults, faults_per_request: per_request })
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_record::{KernelCounts, SendLimits, ServerUse, TcpCounts, Times, fixture};
    use paceline_stats::Histogram;

    /// A run with counts of the kernel, whose longest connect time and 99.9th percentile are these.
    fn run(kernel: KernelCounts, tcp: TcpCounts, connect_ns: u64, p99_9: u64) -> Run {
        let mut run = fixture::run(0);
        (run.kernel, run.connections.tcp) = (Some(kernel), Some(tcp));
        let mut histogram = Histogram::new();
        histogram.record(connect_ns);
        run.intervals[0].block.connect_time_ns = Some(Times::from_histogram(&histogram));
        if let Some(times) = &mut run.total.response_time_ns {
            times.p99_9 = p99_9;
        }
        run
    }

    #[test]
    fn repeated_attempts_are_named_where_connecting_took_a_second() {
        let kernel = KernelCounts { syn_retransmits: 3, ..KernelCounts::default() };
        let judged = |run: &Run| syn_retransmits(run).is_some();
        let slow = run(kernel, TcpCounts::default(), 1_020_000_000, 1);
        assert!(judged(&slow));
        assert!(!judged(&run(kernel, TcpCounts::default(), 500_000_000, 1)), "it changed no connect time");
        assert!(!judged(&run(KernelCounts::default(), TcpCounts::default(), 1_020_000_000, 1)));
        let mut overflowed = slow;
        overflowed.connections.listen_overflows = Some(3);
        assert!(!judged(&overflowed), "the cause is known");
    }

    #[test]
    fn lost_segments_are_named_where_a_percentile_contains_their_timeout() {
        let tcp = |retransmits, out_of_order| TcpCounts {
            connections: 4,
            retransmits,
            out_of_order,
            ..TcpCounts::default()
        };
        let judged = |kernel, tcp, p99_9| retransmits(&run(kernel, tcp, 1, p99_9));
        let none = KernelCounts::default();
        assert!(judged(none, tcp(0, 10), 210_000_000).is_some(), "10 of 10,000 requests");
        assert_eq!(judged(none, tcp(4, 5), 210_000_000), None, "too few");
        assert_eq!(judged(none, tcp(10, 0), 20_000_000), None, "no time contains a timeout");
        let attempts = KernelCounts { syn_retransmits: 10, ..none };
        assert_eq!(judged(attempts, tcp(10, 0), 210_000_000), None, "they were attempts to connect");
        let dropped = KernelCounts { packets_dropped: 7, ..none };
        let Some(TypedVerdict::Retransmits { packets_dropped, advice, .. }) =
            judged(dropped, tcp(10, 0), 210_000_000)
        else {
            panic!("no verdict")
        };
        assert!(packets_dropped == Some(7) && advice.contains("netdev_max_backlog"));
    }

    #[test]
    fn a_full_receive_window_is_named_from_a_tenth_of_the_connections_time_on() {
        // Four connections for 11.2 s, from the warm-up to the end of the drain.
        let judged = |send_limits| {
            let tcp = TcpCounts { connections: 4, send_limits, ..TcpCounts::default() };
            let mut run = run(KernelCounts::default(), tcp, 1, 1);
            run.connections.had = 4;
            receive_window_full(&run)
        };
        let full = |receive_window_ns| {
            Some(SendLimits { receive_window_ns, receive_window_connections: 3, ..SendLimits::default() })
        };
        assert_eq!(judged(full(4_400_000_000)), None);
        let Some(TypedVerdict::ReceiveWindowFull { full_s, limited_connections, .. }) =
            judged(full(4_600_000_000))
        else {
            panic!("no verdict")
        };
        assert_eq!((full_s, limited_connections), (4.6, 3));
        assert_eq!(judged(None), None, "an old kernel does not count it");
        let by_us = SendLimits { send_buffer_ns: 9_000_000_000, ..SendLimits::default() };
        assert_eq!(judged(Some(by_us)), None, "the generator's buffer is not the server's");
    }

    #[test]
    fn faults_are_named_from_one_for_a_hundred_requests_on() {
        let judged = |faults| {
            let server = ServerUse { major_faults: Some(faults), ..fixture::server_use(1, 1.0) };
            major_faults(&Run { server: Some(server), ..fixture::run(0) })
        };
        assert_eq!(judged(99), None);
        assert_eq!(judged(100), Some(TypedVerdict::MajorFaults { faults: 100, faults_per_request: 0.01 }));
    }
}
