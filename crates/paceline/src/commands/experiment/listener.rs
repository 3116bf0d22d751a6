//! The processes of this machine that listen on a port: their cores and their memory.
//!
//! Only processes of the same user are found, except by root.

use paceline_host::{MemoryAccount, port, process};
use paceline_http::Url;
use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, ToSocketAddrs as _};

/// Processes that listen on one port.
pub(super) struct ListeningProcesses {
    processes: BTreeSet<i32>,
    /// The cores they may run on.
    pub(super) cores: Vec<u32>,
}

impl ListeningProcesses {
    /// The listener behind a URL, if it is on this machine's loopback interface and visible.
    pub(super) fn of_url(url: &str) -> Option<Self> {
        let url = Url::parse(url).ok()?;
        let mut addresses = (url.host.as_str(), url.port).to_socket_addrs().ok()?;
        let is_here = addresses.all(|address| match address.ip() {
            IpAddr::V4(ip) => ip.is_loopback(),
            IpAddr::V6(ip) => ip.is_loopback(),
        });
        if !is_here {
            return None;
        }
        let owners = port::listeners(url.port);
        let descendants = process::descendants(&owners);
        let all: BTreeSet<i32> = owners.into_iter().chain(descendants).collect();
        let cores = all.iter().flat_map(|pid| allowed_cores(*pid)).collect::<BTreeSet<u32>>();
        (!all.is_empty()).then(|| Self { processes: all, cores: cores.into_iter().collect() })
    }

    /// Their memory limit, and what happened for lack of memory so far.
    pub(super) fn memory(&self) -> MemoryAccount {
        MemoryAccount::from_pid(self.processes.first().copied())
    }
}

fn allowed_cores(pid: i32) -> Vec<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map(parse_cores).unwrap_or_default()
}

/// `0-2,5` as numbers; invalid parts are ignored.
fn parse_cores(list: &str) -> Vec<u32> {
    let range = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_by_its_port() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let found = ListeningProcesses::of_url(&url).unwrap();
        assert!(found.processes.contains(&(std::process::id() as i32)));
        assert!(!found.cores.is_empty());
        drop(listener);
        assert!(ListeningProcesses::of_url(&url).is_none());
    }

    #[test]
    fn lines_of_the_kernel_are_read_without_panicking() {
        assert_eq!((parse_cores("0-2,5\n"), parse_cores("x")), (vec![0, 1, 2, 5], vec![]));
    }
}
