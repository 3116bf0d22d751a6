//! The addresses a URL's host stands for: literal, given by `--resolve`, or the resolver's, in its order (RFC 6724).

use super::TargetFlags;
use crate::exit::Complaint;
use anyhow::Context as _;
use paceline_http::Url;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};

/// Every address that may be connected to, at least one.
pub(super) fn candidates(
    flags: &TargetFlags,
    url: &Url,
    sources: &[IpAddr],
) -> anyhow::Result<Vec<SocketAddr>> {
    let found = match given(flags, url)? {
        Some(given) => given,
        None => look_up(url)?,
    };
    let wanted = |address: &&SocketAddr| {
        let family = (!flags.ipv4 || address.is_ipv4()) && (!flags.ipv6 || address.is_ipv6());
        family && (sources.is_empty() || sources.iter().any(|source| source.is_ipv4() == address.is_ipv4()))
    };
    let mut fitting: Vec<SocketAddr> = Vec::new();
    for address in found.iter().filter(wanted) {
        if !fitting.contains(address) {
            fitting.push(*address);
        }
    }
    if fitting.is_empty() {
        return Err(none_fits(flags, url, &found).into());
    }
    match fitting.iter().find(|address| lacks_zone(address)) {
        Some(address) => Err(no_zone(address).into()),
        None => Ok(fitting),
    }
}

fn none_fits(flags: &TargetFlags, url: &Url, found: &[SocketAddr]) -> Complaint {
    let what = match (flags.ipv4, flags.ipv6) {
        (true, _) => "IPv4 address",
        (_, true) => "IPv6 address",
        _ => "address of the family of --source",
    };
    let others: Vec<String> = found.iter().map(|address| address.ip().to_string()).collect();
    Complaint::usage(format!("{:?} has no {what}, only {}", url.host, others.join(", ")))
        .hint("leave the choice of the family out")
}

/// A link-local address is on every link: without an interface the kernel does not know which.
fn lacks_zone(address: &SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() && v6.scope_id() == 0)
}

fn no_zone(address: &SocketAddr) -> Complaint {
    let ip = address.ip();
    Complaint::usage(format!("{ip} is a link-local address: it needs the interface it is behind"))
        .hint(format!("write it with its zone: http://[{ip}%25eth0]:{}/", address.port()))
}

/// The resolver's answer; a literal address is its own.
fn look_up(url: &Url) -> anyhow::Result<Vec<SocketAddr>> {
    let name = match &url.zone {
        Some(zone) => format!("{}%{zone}", url.host),
        None => url.host.clone(),
    };
    let unknown = || {
        let hint = match &url.zone {
            Some(_) => "is there an interface of that name? `ip link` lists them",
            None => "check the spelling, or give an address (--resolve HOST:PORT:ADDR)",
        };
        Complaint::environment(format!("the name {name:?} does not resolve")).hint(hint)
    };
    let found: Vec<SocketAddr> = (name.as_str(), url.port).to_socket_addrs().with_context(unknown)?.collect();
    if found.is_empty() { Err(unknown().into()) } else { Ok(found) }
}

/// What `--resolve` gives for the URL's host and port. One that is for another target is a mistake: it would have been
/// meant for this one.
fn given(flags: &TargetFlags, url: &Url) -> anyhow::Result<Option<Vec<SocketAddr>>> {
    let mut found: Option<Vec<SocketAddr>> = None;
    for text in &flags.resolve {
        let (host, port, addresses) = parse(text)?;
        if host != "*" && !host.eq_ignore_ascii_case(&url.host) || port != url.port {
            let what = format!("--resolve {text}: the target is {}:{}", url.host, url.port);
            return Err(Complaint::usage(what).hint("give the host and port of the URL").into());
        }
        found.get_or_insert_default().extend(addresses);
    }
    Ok(found)
}

fn parse(text: &str) -> anyhow::Result<(&str, u16, Vec<SocketAddr>)> {
    let wrong = || {
        Complaint::usage(format!("--resolve {text}: not HOST:PORT:ADDR[,ADDR]"))
            .hint("such as example.test:443:127.0.0.1,::1")
    };
    let mut parts = text.splitn(3, ':');
    let (Some(host), Some(port), Some(addresses)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(wrong().into());
    };
    let port: u16 = port.parse().map_err(|_| wrong())?;
    let addresses = addresses.split(',').map(|address| {
        let address = address.trim();
        let bare = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(address);
        bare.parse::<IpAddr>()
            .map(|ip| SocketAddr::new(ip, port))
            .or_else(|_| zoned(bare, port).ok_or_else(wrong))
    });
    Ok((host, port, addresses.collect::<Result<_, _>>()?))
}

/// An IPv6 address with its zone, which the resolver turns into a number.
fn zoned(text: &str, port: u16) -> Option<SocketAddr> {
    let (ip, _) = text.split_once('%')?;
    ip.parse::<std::net::Ipv6Addr>().ok()?;
    (text, port).to_socket_addrs().ok()?.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_given_for_a_host() {
        let told = |text| {
            let (host, port, addresses) = parse(text).unwrap();
            format!(
                "{host} {port} {}",
                addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
            )
        };
        assert_eq!(told("a.test:80:127.0.0.1"), "a.test 80 127.0.0.1:80");
        assert_eq!(told("a:443:::1,[::2], 10.0.0.1"), "a 443 [::1]:443 [::2]:443 10.0.0.1:443");
        assert_eq!(told("a:80:fe80::1%lo"), "a 80 [fe80::1%1]:80");
        for text in
            ["", "a", "a:80", "a:x:127.0.0.1", "a:80:", "a:80:b", "a:80:127.0.0.1,", "a:80:::1%none-such"]
        {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
