//! Adds up what the kernel counted on TCP connections: lost segments, round-trip times, and what limited sending.
//!
//! The kernel's transport reads each connection once, when it is closed or when the run has ended. Many runs open a
//! connection for each request: histograms keep the distribution over connections in bounded memory.

use crate::Nanos;
use paceline_stats::Histogram;

/// What the kernel counted on one TCP connection over its whole life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// Segments that were sent more than once.
    pub retransmits: u64,
    /// Segments that were received out of order.
    pub out_of_order: u64,
    /// The smoothed round-trip time; none if no round trip was measured, as in a failed attempt to connect.
    pub round_trip_time: Option<Nanos>,
    /// The congestion window, in segments.
    pub congestion_window: u64,
    /// For how long sending was limited; none before Linux 4.10.
    pub limited: Option<LimitedTimes>,
}

/// For how long sending on one connection was limited, in steps of the kernel's clock tick (1 to 10 ms).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LimitedTimes {
    /// By the receive window of the peer.
    pub receive_window: Nanos,
    /// By the send buffer of the socket.
    pub send_buffer: Nanos,
}

/// What the kernel counted on TCP connections over their whole lives; nothing for other sockets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcpCounts {
    /// Connections that were counted.
    pub connections: u64,
    /// Segments that were sent more than once: they, or their acknowledgements, were lost or late.
    pub retransmits: u64,
    /// Segments that were received out of order: an earlier one was lost or late.
    pub out_of_order: u64,
    /// The smoothed round-trip time of each connection with a round trip, in nanoseconds.
    pub round_trip_times: Histogram,
    /// The congestion window of the same connections, in segments.
    pub congestion_windows: Histogram,
    /// What limited sending; none if the kernel does not report it (before Linux 4.10).
    pub send_limits: Option<SendLimits>,
}

/// For how long sending was limited, added up over connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendLimits {
    /// Time in which the receive window of the peer was full.
    pub receive_window: Nanos,
    /// Connections with such a time.
    pub receive_window_connections: u64,
    /// Time in which the send buffer of the socket was too small.
    pub send_buffer: Nanos,
    /// Connections with such a time.
    pub send_buffer_connections: u64,
}

impl TcpCounts {
    /// Adds a connection.
    pub(crate) fn add(&mut self, info: &TcpInfo) {
        self.connections += 1;
        self.retransmits += info.retransmits;
        self.out_of_order += info.out_of_order;
        if let Some(time) = info.round_trip_time {
            self.round_trip_times.record(time.0);
            self.congestion_windows.record(info.congestion_window);
        }
        if let Some(LimitedTimes { receive_window, send_buffer }) = info.limited {
            self.add_limits(SendLimits {
                receive_window,
                receive_window_connections: u64::from(receive_window > Nanos::ZERO),
                send_buffer,
                send_buffer_connections: u64::from(send_buffer > Nanos::ZERO),
            });
        }
    }

    /// Adds the connections of another worker.
    pub fn absorb(&mut self, other: &TcpCounts) {
        self.connections += other.connections;
        self.retransmits += other.retransmits;
        self.out_of_order += other.out_of_order;
        self.round_trip_times.merge(&other.round_trip_times);
        self.congestion_windows.merge(&other.congestion_windows);
        other.send_limits.into_iter().for_each(|limits| self.add_limits(limits));
    }

    fn add_limits(&mut self, more: SendLimits) {
        let sum = self.send_limits.get_or_insert_default();
        sum.receive_window += more.receive_window;
        sum.receive_window_connections += more.receive_window_connections;
        sum.send_buffer += more.send_buffer;
        sum.send_buffer_connections += more.send_buffer_connections;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(round_trip_us: u64, limited_ms: u64) -> TcpInfo {
        TcpInfo {
            retransmits: 1,
            out_of_order: 2,
            round_trip_time: (round_trip_us > 0).then(|| Nanos::from_micros(round_trip_us)),
            congestion_window: 10,
            limited: Some(LimitedTimes {
                receive_window: Nanos::from_millis(limited_ms),
                send_buffer: Nanos::ZERO,
            }),
        }
    }

    #[test]
    fn the_counts_of_two_workers_are_those_of_all_connections() {
        let all = [connection(50, 0), connection(0, 0), connection(900, 4), connection(70, 12)];
        let of = |connections: &[TcpInfo]| {
            let mut counts = TcpCounts::default();
            connections.iter().for_each(|info| counts.add(info));
            counts
        };
        let mut halves = of(&all[..1]);
        halves.absorb(&of(&all[1..]));
        assert_eq!(halves, of(&all));
        assert_eq!((halves.connections, halves.retransmits, halves.out_of_order), (4, 4, 8));
        // An attempt without a round trip has no time.
        assert_eq!((halves.round_trip_times.count(), halves.congestion_windows.count()), (3, 3));
        assert_eq!(halves.round_trip_times.min(), Some(50_000));
        let limits = halves.send_limits.unwrap();
        assert_eq!(limits.receive_window, Nanos::from_millis(16));
        assert_eq!((limits.receive_window_connections, limits.send_buffer_connections), (2, 0));
    }

    #[test]
    fn an_old_kernel_reports_no_limits() {
        let mut counts = TcpCounts::default();
        counts.add(&TcpInfo { limited: None, ..connection(50, 0) });
        assert_eq!((counts.connections, counts.send_limits), (1, None));
    }
}
