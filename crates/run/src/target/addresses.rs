//! The addresses of a URL's host: literal, given by `--resolve`, or from the resolver in its order (RFC 6724).
//!
//! Called by `mod.rs`, once before the run, and not for a unix socket. This module does not connect; the choice between
//! several addresses is in `race.rs`.

use crate::RunError;
use paceline_http::Url;
use paceline_job::{IpVersion, Job};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};

/// Every address that may be connected to, at least one.
pub(super) fn candidates(job: &Job, sources: &[IpAddr]) -> Result<Vec<SocketAddr>, RunError> {
    let mut found = Vec::new();
    for peer in peers(job)? {
        found.extend(match given(job, &peer)? {
            Some(given) => given,
            None => look_up(&peer)?,
        });
    }
    let of_source = |address: &SocketAddr| {
        sources.is_empty() || sources.iter().any(|source| source.is_ipv4() == address.is_ipv4())
    };
    let wanted = |address: &&SocketAddr| of_family(job, address) && of_source(address);
    let mut fitting: Vec<SocketAddr> = Vec::new();
    for address in found.iter().filter(wanted) {
        if !fitting.contains(address) {
            fitting.push(*address);
        }
    }
    if fitting.is_empty() {
        return Err(none_fits(job, sources, &found));
    }
    match fitting.iter().find(|address| lacks_zone(address)) {
        Some(address) => Err(no_zone(address)),
        None => Ok(fitting),
    }
}

/// The URL of the proxy; without a proxy the URL of the target, with host and port replaced by each of `--connect-to`.
fn peers(job: &Job) -> Result<Vec<Url>, RunError> {
    if let Some(proxy) = &job.proxy {
        return Ok(vec![proxy.url.clone()]);
    }
    let url = &job.url;
    let Some(text) = &job.connect_to else { return Ok(vec![url.clone()]) };
    let wrong = || {
        RunError::usage(format!("--connect-to {text}: not in the form HOST:PORT:HOST2:PORT2[,HOST3:PORT3]"))
            .hint(
                "write for example example.test:443:127.0.0.1:8443, or ::127.0.0.1:8443 for any host and port",
            )
    };
    let (host, rest) = host_of(text).ok_or_else(wrong)?;
    let (port, to) = rest.split_once(':').ok_or_else(wrong)?;
    let is_meant = (host.is_empty() || host.eq_ignore_ascii_case(&url.host))
        && (port.is_empty() || port.parse() == Ok(url.port));
    if !is_meant {
        let what =
            format!("--connect-to {text}: host and port do not match the URL's, {}:{}", url.host, url.port);
        return Err(RunError::usage(what)
            .hint("in HOST:PORT:HOST2:PORT2, HOST and PORT must be those of the URL, or empty as in \"::HOST2:PORT2\""));
    }
    let peer = |to: &str| -> Result<Url, RunError> {
        let (host, port) = host_of(to.trim()).ok_or_else(wrong)?;
        let host = if host.is_empty() { url.host.clone() } else { host.to_owned() };
        let port = if port.is_empty() { url.port } else { port.parse().map_err(|_| wrong())? };
        Ok(Url { host, port, zone: None, ..url.clone() })
    };
    to.split(',').map(peer).collect()
}

/// Splits a host (in brackets if it is an IPv6 address) from the text after its colon.
fn host_of(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('[') {
        Some(rest) => rest.split_once("]:"),
        None => text.split_once(':'),
    }
}

/// Whether an address is of the family that -4 or -6 selects.
fn of_family(job: &Job, address: &SocketAddr) -> bool {
    match job.ip_version {
        None => true,
        Some(IpVersion::V4) => address.is_ipv4(),
        Some(IpVersion::V6) => address.is_ipv6(),
    }
}

/// The error for the cause: the requested family has no address, or the sources have another family.
fn none_fits(job: &Job, sources: &[IpAddr], found: &[SocketAddr]) -> RunError {
    let listed = |addresses: &[&SocketAddr]| {
        addresses.iter().map(|address| address.ip().to_string()).collect::<Vec<_>>().join(", ")
    };
    let family = |is_ipv4: bool| if is_ipv4 { "IPv4" } else { "IPv6" };
    let left: Vec<&SocketAddr> = found.iter().filter(|address| of_family(job, address)).collect();
    match sources.first() {
        Some(source) if !left.is_empty() => {
            let (family, left) = (family(source.is_ipv4()), listed(&left));
            RunError::usage(format!("--source {source} is an {family} address and cannot reach {left}"))
                .hint("use a --source of the same IP version as the target, or remove it")
        }
        _ => {
            let (family, all) =
                (family(job.ip_version == Some(IpVersion::V4)), listed(&found.iter().collect::<Vec<_>>()));
            RunError::usage(format!("{:?} has no {family} address, only {all}", job.url.host))
                .hint("remove -4/-6")
        }
    }
}

/// A link-local address exists on every link: without an interface the kernel cannot choose one.
fn lacks_zone(address: &SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() && v6.scope_id() == 0)
}

fn no_zone(address: &SocketAddr) -> RunError {
    let ip = address.ip();
    RunError::usage(format!("{ip} is a link-local address, which needs the name of a network interface"))
        .hint(format!("add the interface after %25: http://[{ip}%25eth0]:{}/", address.port()))
}

/// The resolver's answer; a literal address is returned as it is.
fn look_up(url: &Url) -> Result<Vec<SocketAddr>, RunError> {
    let name = match &url.zone {
        Some(zone) => format!("{}%{zone}", url.host),
        None => url.host.clone(),
    };
    let unknown = || {
        let hint = match &url.zone {
            Some(_) if !url.host.starts_with("fe80") => {
                "remove the zone after %: only link-local addresses (fe80::) have one"
            }
            Some(_) => "check the name of the network interface: `ip link` lists all",
            None => "check the spelling, or give an address (--resolve HOST:PORT:ADDR)",
        };
        RunError::environment(format!("the name {name:?} does not resolve")).hint(hint)
    };
    let mut found: Vec<SocketAddr> =
        (name.as_str(), url.port).to_socket_addrs().map_err(|error| unknown().because(error))?.collect();
    if url.host.eq_ignore_ascii_case("localhost") {
        found.extend(other_loopback(&found, url.port));
    }
    if found.is_empty() { Err(unknown()) } else { Ok(found) }
}

/// The loopback address of the IP version that a file of hosts leaves out: `localhost` stands for both (RFC 6761
/// section 6.3), and a server may listen on either.
fn other_loopback(found: &[SocketAddr], port: u16) -> Option<SocketAddr> {
    let both = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    let missing =
        both.into_iter().find(|ip| found.iter().all(|address| address.is_ipv4() != ip.is_ipv4()))?;
    // A machine without this IP version has no such address.
    UdpSocket::bind((missing, 0)).ok()?;
    Some(SocketAddr::new(missing, port))
}

/// The addresses that `--resolve` gives for the URL's host and port. An entry for another target is an error: it was
/// probably meant for this one.
fn given(job: &Job, url: &Url) -> Result<Option<Vec<SocketAddr>>, RunError> {
    let mut found = None::<Vec<SocketAddr>>;
    for text in &job.resolve {
        let (host, port, addresses) = parse(text)?;
        if host != "*" && !host.eq_ignore_ascii_case(&url.host) || port != url.port {
            let what =
                format!("--resolve {text}: host and port do not match the URL's, {}:{}", url.host, url.port);
            return Err(
                RunError::usage(what).hint(format!("write --resolve {}:{}:ADDRESS", url.host, url.port))
            );
        }
        found.get_or_insert_default().extend(addresses);
    }
    Ok(found)
}

fn parse(text: &str) -> Result<(&str, u16, Vec<SocketAddr>), RunError> {
    let wrong = || {
        RunError::usage(format!("--resolve {text}: not in the form HOST:PORT:ADDR[,ADDR]"))
            .hint("write for example example.test:443:127.0.0.1,::1")
    };
    let mut parts = text.splitn(3, ':');
    let (Some(host), Some(port), Some(addresses)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(wrong());
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

/// Parses an IPv6 address with its zone, which the resolver converts to a number.
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
        let reported = |text| {
            let (host, port, addresses) = parse(text).unwrap();
            format!(
                "{host} {port} {}",
                addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
            )
        };
        assert_eq!(reported("a.test:80:127.0.0.1"), "a.test 80 127.0.0.1:80");
        assert_eq!(reported("a:443:::1,[::2], 10.0.0.1"), "a 443 [::1]:443 [::2]:443 10.0.0.1:443");
        assert_eq!(reported("a:80:fe80::1%lo"), "a 80 [fe80::1%1]:80");
        for text in
            ["", "a", "a:80", "a:x:127.0.0.1", "a:80:", "a:80:b", "a:80:127.0.0.1,", "a:80:::1%none-such"]
        {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn connections_may_go_to_several_hosts_and_ports() {
        let found = |to: &str| {
            let url = Url::parse("http://127.0.0.1/").unwrap();
            let found = candidates(&Job { url, connect_to: Some(to.to_owned()), ..Job::default() }, &[]);
            let listed =
                |found: Vec<SocketAddr>| found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            found.map(listed).map_err(|error| error.to_string())
        };
        let several = "127.0.0.1:8081, 127.0.0.2:8082,:8083,[::1]:";
        let expected = "127.0.0.1:8081 127.0.0.2:8082 127.0.0.1:8083 [::1]:80";
        assert_eq!(found(&format!("::{several}")).unwrap(), expected);
        assert_eq!(found(&format!("127.0.0.1:80:{several}")).unwrap(), expected);
        assert_eq!(found("::127.0.0.1:8081").unwrap(), "127.0.0.1:8081");
        for wrong in ["::127.0.0.1:8081,", "::127.0.0.1:8081,8082", "::127.0.0.1:8081,127.0.0.1:x"] {
            assert!(found(wrong).unwrap_err().contains("HOST2:PORT2[,HOST3:PORT3]"), "{wrong}");
        }
    }

    #[test]
    fn localhost_has_both_loopback_addresses() {
        let address = |text: &str| text.parse::<SocketAddr>().unwrap();
        let (v4, v6) = (address("127.0.0.1:80"), address("[::1]:80"));
        assert_eq!(other_loopback(&[v6], 80), Some(v4));
        assert_eq!(other_loopback(&[v4, v6], 80), None);
        let has_v6 = UdpSocket::bind("[::1]:0").is_ok();
        assert_eq!(other_loopback(&[v4], 80), has_v6.then_some(v6));
    }

    #[test]
    fn mismatched_addresses_are_named() {
        let error = |resolve: &str, ip_version, source: Option<&str>| {
            let resolve = vec![format!("a.test:80:{resolve}")];
            let url = Url::parse("http://a.test/").unwrap();
            let job = Job { url, resolve, ip_version, ..Job::default() };
            let sources: Vec<IpAddr> = source.iter().map(|source| source.parse().unwrap()).collect();
            candidates(&job, &sources).unwrap_err().to_string()
        };
        let (v4, v6) = (Some(IpVersion::V4), Some(IpVersion::V6));
        let no_address = "\"a.test\" has no IPv6 address, only 127.0.0.1";
        let of_source = "--source ::1 is an IPv6 address and cannot reach 127.0.0.1";
        for (resolve, ip_version, source, expected) in [
            ("127.0.0.1", v6, None, no_address),
            ("127.0.0.1", v6, Some("::1"), no_address),
            ("127.0.0.1", None, Some("::1"), of_source),
            ("127.0.0.1", v4, Some("::1"), of_source),
            (
                "127.0.0.1,::1",
                v6,
                Some("10.0.0.7"),
                "--source 10.0.0.7 is an IPv4 address and cannot reach ::1",
            ),
        ] {
            assert_eq!(error(resolve, ip_version, source), expected);
        }
    }
}
