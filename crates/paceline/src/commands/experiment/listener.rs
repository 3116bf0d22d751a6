//! The cores of the processes of this machine that listen on a port.
//!
//! Only processes of the same user are found, except by root.

use paceline_host::{port, process, system};
use paceline_http::Url;
use std::collections::BTreeSet;
use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::Path;

/// The cores that the processes which listen behind a URL may run on; none if they are not on this machine's loopback
/// interface, or not visible.
pub(super) fn server_cores(url: &str) -> Vec<u32> {
    let processes = listening_processes(url).unwrap_or_default();
    let cores_of = |pid: &i32| system::affinity_of(*pid).unwrap_or_default();
    let cores: BTreeSet<u32> = processes.iter().flat_map(cores_of).collect();
    cores.into_iter().collect()
}

/// Whether a process is running, and the processes that listen behind a URL, if any are visible, are it and its
/// descendants. The process of a command ends early if the command becomes a daemon.
pub(super) fn all_descend_from(process: i32, url: &str) -> bool {
    if !Path::new("/proc").join(process.to_string()).exists() {
        return false;
    }
    let family: BTreeSet<i32> = process::with_descendants(&[process]).into_iter().collect();
    listening_processes(url).is_none_or(|listening| listening.is_subset(&family))
}

/// The processes that listen on the port of a URL, and their descendants.
fn listening_processes(url: &str) -> Option<BTreeSet<i32>> {
    let url = Url::parse(url).ok()?;
    let mut addresses = (url.host.as_str(), url.port).to_socket_addrs().ok()?;
    let is_here = addresses.all(|address| match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    });
    let owners = if is_here { port::servers(url.port) } else { return None };
    Some(process::with_descendants(&owners).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_found_by_its_port() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        assert!(listening_processes(&url).unwrap().contains(&(std::process::id() as i32)));
        assert!(!server_cores(&url).is_empty());
        let own = std::process::id() as i32;
        assert!(all_descend_from(own, &url));
        assert!(!all_descend_from(i32::MAX, &url), "a process that is not there");
        drop(listener);
        assert!(server_cores(&url).is_empty());
        assert!(all_descend_from(own, &url) && !all_descend_from(i32::MAX, &url), "no listener is visible");
    }
}
