//! Local addresses to connect from: given by the user, or found where the ports of one address do not suffice.

use crate::exit::Complaint;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// Connections from one address to one target. Linux hands out 28,232 ephemeral ports; above half of them the search
/// for a free one becomes slow (20,000 took 12 s where 60,000 over five addresses took 0.65 s).
const CONNECTIONS_PER_SOURCE: u32 = 14_000;
/// Addresses a prefix may stand for: more have never been needed, and a /8 is a mistake.
const ADDRESSES_MOST: u32 = 4_096;

/// The addresses to spread connections over; none where one suffices.
pub(super) fn sources(
    asked: Option<&str>,
    target: &SocketAddr,
    connections: u32,
) -> anyhow::Result<Arc<[IpAddr]>> {
    let found: Vec<IpAddr> = match asked {
        Some(text) => text.split(',').map(parse).collect::<Result<Vec<_>, _>>()?.concat(),
        None if connections > CONNECTIONS_PER_SOURCE && target.is_ipv4() && target.ip().is_loopback() => {
            // Every address of 127.0.0.0/8 is this machine's own.
            let count = connections.div_ceil(CONNECTIONS_PER_SOURCE);
            (1..=count)
                .map(|n| IpAddr::V4(Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 0, 0, 1)) + n)))
                .collect()
        }
        None => Vec::new(),
    };
    Ok(Arc::from(found))
}

/// One address, or all the hosts of a prefix.
fn parse(text: &str) -> anyhow::Result<Vec<IpAddr>> {
    let wrong = |why: &str| {
        Complaint::usage(format!("--source {text:?}: {why}"))
            .hint("write 192.0.2.7, or a prefix such as 192.0.2.0/28")
    };
    let Some((address, bits)) = text.trim().split_once('/') else {
        return Ok(vec![text.trim().parse().map_err(|_| wrong("not an address"))?]);
    };
    let address: Ipv4Addr = address.parse().map_err(|_| wrong("prefixes are of IPv4 addresses"))?;
    let bits: u32 =
        bits.parse().ok().filter(|bits| *bits <= 32).ok_or_else(|| wrong("a prefix has 0 to 32 bits"))?;
    let size = 1u64 << (32 - bits);
    if size > u64::from(ADDRESSES_MOST) {
        return Err(wrong("that many addresses are never needed").into());
    }
    let network = u32::from(address) & u32::try_from((1u64 << 32) - size).unwrap_or(0);
    // The first and the last of a network are no hosts, unless there are no others.
    let hosts = if size > 2 { 1..size as u32 - 1 } else { 0..size as u32 };
    Ok(hosts.map(|host| IpAddr::V4(Ipv4Addr::from(network + host))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(asked: Option<&str>, connections: u32) -> Vec<String> {
        let target = "127.0.0.1:80".parse().unwrap();
        sources(asked, &target, connections).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn given_addresses_and_prefixes() {
        assert_eq!(texts(Some("10.0.0.7,::1"), 1), ["10.0.0.7", "::1"]);
        assert_eq!(texts(Some("10.0.0.9/30"), 1), ["10.0.0.9", "10.0.0.10"]);
        assert_eq!(texts(Some("10.0.0.9/32"), 1), ["10.0.0.9"]);
        for wrong in ["", "10.0.0", "10.0.0.0/33", "10.0.0.0/8", "::1/64", "a/b"] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn loopback_spreads_by_itself() {
        assert!(texts(None, 14_000).is_empty());
        assert_eq!(texts(None, 28_001), ["127.0.0.2", "127.0.0.3", "127.0.0.4"]);
        assert!(sources(None, &"192.0.2.1:80".parse().unwrap(), 50_000).unwrap().is_empty());
    }
}
