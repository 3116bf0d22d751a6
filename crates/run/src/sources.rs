//! Local addresses to connect from: given by the user, or chosen if the ports of one address are not enough.
//!
//! Sockets are not bound here: the engine uses the addresses in turn, and connecting fails for an address that is not
//! on this machine.

use crate::RunError;
use paceline_engine::Address;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Connections from one address to one target. Linux has 28,232 ephemeral ports by default; when more than half of them
/// are in use, the search for a free port becomes slow (20,000 took 12 s, whereas 60,000 over five addresses took 0.65
/// s).
const CONNECTIONS_PER_SOURCE: u32 = 14_000;
/// Most addresses of a prefix: more have never been needed, and a /8 is a mistake.
const MAX_ADDRESSES: u32 = 4_096;

/// The addresses that `--source` names.
pub(crate) fn asked_sources(asked: Option<&str>) -> Result<Vec<IpAddr>, RunError> {
    Ok(asked
        .map_or(Ok(Vec::new()), |text| text.split(',').map(parse).collect::<Result<Vec<_>, _>>())?
        .concat())
}

/// The addresses to spread connections over: the requested ones that can reach one of the targets; empty if one is enough.
pub(crate) fn sources(asked: Vec<IpAddr>, targets: &[Address], connections: u32) -> Arc<[IpAddr]> {
    let ip = |target: &Address| match target {
        Address::Tcp(target) => Some(target.ip()),
        Address::Unix(_) => None,
    };
    let targets: Vec<IpAddr> = targets.iter().filter_map(ip).collect();
    if !asked.is_empty() {
        let reaches_one = |source: &IpAddr| targets.iter().any(|target| source.is_ipv4() == target.is_ipv4());
        return asked.into_iter().filter(reaches_one).collect();
    }
    let connections_of_each = connections / (targets.len() as u32).max(1);
    let are_here =
        !targets.is_empty() && targets.iter().all(|target| target.is_ipv4() && target.is_loopback());
    if connections_of_each <= CONNECTIONS_PER_SOURCE || !are_here {
        return Arc::from([]);
    }
    // Every address of 127.0.0.0/8 belongs to this machine.
    let first = u32::from(Ipv4Addr::LOCALHOST);
    (1..=connections_of_each.div_ceil(CONNECTIONS_PER_SOURCE))
        .map(|n| IpAddr::V4(Ipv4Addr::from(first + n)))
        .collect()
}

/// One address, or all the hosts of a prefix.
fn parse(text: &str) -> Result<Vec<IpAddr>, RunError> {
    let wrong = |why: &str| {
        RunError::usage(format!("--source {text:?}: {why}"))
            .hint("write 192.0.2.7, or a prefix such as 192.0.2.0/28")
    };
    let Some((address, bits)) = text.trim().split_once('/') else {
        return Ok(vec![text.trim().parse().map_err(|_| wrong("not an IP address"))?]);
    };
    let address: Ipv4Addr =
        address.parse().map_err(|_| wrong("a prefix (ADDRESS/BITS) is supported only for IPv4"))?;
    let bits: u32 = bits
        .parse()
        .ok()
        .filter(|bits| *bits <= 32)
        .ok_or_else(|| wrong("the length of a prefix must be 0 to 32"))?;
    let size = 1u64 << (32 - bits);
    if size > u64::from(MAX_ADDRESSES) {
        return Err(wrong("the prefix has more than the maximum of 4,096 addresses"));
    }
    let network = u32::from(address) & u32::try_from((1u64 << 32) - size).unwrap_or(0);
    // The first and the last address of a network are not hosts, unless there are no others.
    let hosts = if size > 2 { 1..size as u32 - 1 } else { 0..size as u32 };
    Ok(hosts.map(|host| IpAddr::V4(Ipv4Addr::from(network + host))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(asked: Option<&str>, target: &str, connections: u32) -> Vec<String> {
        let target = Address::Tcp(target.parse().unwrap());
        let asked = asked_sources(asked).unwrap();
        sources(asked, &[target], connections).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn given_addresses_and_prefixes() {
        let local = "127.0.0.1:80";
        assert_eq!(texts(Some("10.0.0.7,10.0.0.8"), local, 1), ["10.0.0.7", "10.0.0.8"]);
        assert_eq!(texts(Some("10.0.0.9/30"), local, 1), ["10.0.0.9", "10.0.0.10"]);
        assert_eq!(texts(Some("10.0.0.9/32"), local, 1), ["10.0.0.9"]);
        // Only addresses of the target's family are used.
        assert_eq!(texts(Some("10.0.0.7,::1"), local, 1), ["10.0.0.7"]);
        assert_eq!(texts(Some("10.0.0.7,::1"), "[::1]:80", 1), ["::1"]);
        for wrong in ["", "10.0.0", "10.0.0.0/33", "10.0.0.0/8", "::1/64", "a/b"] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn loopback_uses_several_sources_automatically() {
        assert!(texts(None, "127.0.0.1:80", 14_000).is_empty());
        assert_eq!(texts(None, "127.0.0.1:80", 28_001), ["127.0.0.2", "127.0.0.3", "127.0.0.4"]);
        assert!(texts(None, "192.0.2.1:80", 50_000).is_empty());
        let socket = Address::from(std::path::Path::new("/run/a.sock"));
        assert!(sources(Vec::new(), &[socket], 50_000).is_empty(), "there are no ports to run out of");
        let two = ["127.0.0.1:80", "127.0.0.9:80"].map(|target| Address::Tcp(target.parse().unwrap()));
        assert!(sources(Vec::new(), &two, 28_000).is_empty(), "each target has half of the connections");
        assert_eq!(sources(Vec::new(), &two, 28_002).len(), 2);
    }
}
