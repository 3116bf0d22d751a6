//! Resources left for further connections: sockets, ports, descriptors. Read once, when the window has ended, from
//! counters that are cheap to read: no table of a hundred thousand sockets is scanned. `health.rs` counts the sockets
//! while the run's connections are open; the other values do not change with the run, and `outcome.rs` reads them
//! afterwards.

use paceline_engine::Settings;
use paceline_record::Left;
use std::fs;

/// TCP sockets of the machine, as counted by the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sockets {
    /// Of both IP versions, without those in TIME_WAIT.
    pub in_use: u64,
    /// In TIME_WAIT.
    pub time_wait: u64,
}

impl Sockets {
    /// Reads the current counts.
    pub fn now() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self::from_text(&read("/proc/net/sockstat"), &read("/proc/net/sockstat6"))
    }

    /// The counts in the two files. The first includes TIME_WAIT of both IP versions.
    fn from_text(sockstat: &str, sockstat6: &str) -> Self {
        let in_use = |text, line| number_after(text, line, "inuse");
        Self {
            in_use: in_use(sockstat, "TCP:") + in_use(sockstat6, "TCP6:"),
            time_wait: number_after(sockstat, "TCP:", "tw"),
        }
    }
}

/// Resources left while `had` connections and these sockets exist.
pub fn free_resources(settings: &Settings, had: u64, sockets: Sockets) -> Left {
    let sources = settings.sources.len().max(1) as u64;
    // With separate descriptor tables each thread has the whole limit.
    let tables = if settings.own_descriptors { u64::from(settings.threads) } else { 1 };
    Left {
        sockets_in_use: sockets.in_use,
        sockets_time_wait: sockets.time_wait,
        // A connection occupies its port while it is open, and for a minute after this side closed it, so the two
        // counts do not overlap.
        ports: (ports_of_an_address() * sources).saturating_sub(had + sockets.time_wait),
        descriptors: (open_files_soft().saturating_mul(tables)).saturating_sub(had),
    }
}

/// The ephemeral ports of one local address (ip(7), `ip_local_port_range`).
fn ports_of_an_address() -> u64 {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut ends = range.split_whitespace().filter_map(|end| end.parse::<u64>().ok());
    match (ends.next(), ends.next()) {
        (Some(first), Some(last)) if last >= first => last - first + 1,
        _ => 0,
    }
}

fn open_files_soft() -> u64 {
    // Without a limit, this returns the highest number.
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The number after `name` on the line that begins with `line`; 0 if missing.
fn number_after(text: &str, line: &str, name: &str) -> u64 {
    let fields = text.lines().find_map(|found| found.strip_prefix(line)).unwrap_or_default();
    let mut words = fields.split_whitespace();
    words.find(|word| *word == name).and_then(|_| words.next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_names() {
        let text = "sockets: used 41\nTCP: inuse 8 orphan 0 tw 7 alloc 9 mem 1\nUDP: inuse 3 mem 0\n";
        assert_eq!(number_after(text, "TCP:", "inuse"), 8);
        assert_eq!(number_after(text, "TCP:", "tw"), 7);
        assert_eq!(number_after(text, "TCP6:", "inuse"), 0);
        assert_eq!(number_after(text, "UDP:", "tw"), 0);
        assert_eq!(
            Sockets::from_text(text, "TCP6: inuse 5\nUDP6: inuse 3\n"),
            Sockets { in_use: 13, time_wait: 7 }
        );
    }

    #[test]
    fn this_machine_has_free_resources() {
        assert!(ports_of_an_address() > 1_000);
        assert!(open_files_soft() > 0);
    }
}
