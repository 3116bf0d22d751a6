//! What the kernel counts of lost and repeated packets since the machine started: in this network namespace, except for
//! packets dropped between the driver and the protocols, which are counted for the machine.

use paceline_record::KernelCounts;
use std::fs;

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelSnapshot {
    counts: KernelCounts,
}

impl KernelSnapshot {
    /// Reads the counts now. A count that this kernel does not have is 0.
    pub fn now() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let extended = read("/proc/thread-self/net/netstat");
        let basic = read("/proc/thread-self/net/snmp");
        Self::from_text(&extended, &basic, &read("/proc/net/softnet_stat"))
    }

    fn from_text(extended: &str, basic: &str, softnet: &str) -> Self {
        let count = |text, group, name| counter(text, group, name).unwrap_or_default();
        Self {
            counts: KernelCounts {
                syn_retransmits: count(extended, "TcpExt:", "TCPSynRetrans"),
                retransmits: count(basic, "Tcp:", "RetransSegs"),
                listen_drops: count(extended, "TcpExt:", "ListenDrops"),
                packets_dropped: packets_dropped(softnet),
                udp_buffer_errors: count(basic, "Udp:", "RcvbufErrors"),
            },
        }
    }

    /// The increase since an earlier moment.
    pub fn since(&self, earlier: &Self) -> KernelCounts {
        let more = |of: fn(&KernelCounts) -> u64| of(&self.counts).saturating_sub(of(&earlier.counts));
        KernelCounts {
            syn_retransmits: more(|counts| counts.syn_retransmits),
            retransmits: more(|counts| counts.retransmits),
            listen_drops: more(|counts| counts.listen_drops),
            packets_dropped: more(|counts| counts.packets_dropped),
            udp_buffer_errors: more(|counts| counts.udp_buffer_errors),
        }
    }
}

/// The value of a counter in `/proc/net/netstat` or `/proc/net/snmp`, where a line of names is followed by a line of
/// values that begins with the same word.
pub(crate) fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|known| known == name)?;
    values.split_whitespace().nth(place)?.parse().ok()
}

/// Packets dropped because the queue of a core was full (net.core.netdev_max_backlog): the second column, hexadecimal, of
/// the line of each core.
fn packets_dropped(softnet: &str) -> u64 {
    let dropped = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
    softnet.lines().filter_map(dropped).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXTENDED: &str = "\
TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPSynRetrans
TcpExt: 0 3 4 5
IpExt: InNoRoutes
IpExt: 7
";
    const BASIC: &str = "\
Tcp: RtoMin MaxConn RetransSegs
Tcp: 200 -1 6
Udp: InDatagrams RcvbufErrors
Udp: 1 2
UdpLite: InDatagrams RcvbufErrors
UdpLite: 8 9
";

    #[test]
    fn counters_are_found_by_their_names() {
        let softnet = "0000000e 00000000 00000001\n00008b67 0000000a 00000003\n";
        let counts = KernelSnapshot::from_text(EXTENDED, BASIC, softnet).since(&KernelSnapshot::default());
        let expected = KernelCounts {
            syn_retransmits: 5,
            retransmits: 6,
            listen_drops: 4,
            packets_dropped: 10,
            udp_buffer_errors: 2,
        };
        assert_eq!(counts, expected);
        assert_eq!(counter(EXTENDED, "TcpExt:", "ListenOverflows"), Some(3));
        assert_eq!(counter(EXTENDED, "TcpExt:", "Missing"), None);
        assert_eq!(counter("TcpExt: A\nTcpExt: x\n", "TcpExt:", "A"), None);
        assert_eq!(KernelSnapshot::from_text("", "", "x\n"), KernelSnapshot::default());
    }

    #[test]
    fn counts_of_this_machine_never_fall() {
        let before = KernelSnapshot::now();
        let after = KernelSnapshot::now();
        assert_eq!(before.since(&after), KernelCounts::default());
    }
}
