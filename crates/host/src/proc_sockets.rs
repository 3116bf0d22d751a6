//! The sockets in `/proc/net/tcp`, `tcp6`, `udp` and `udp6`: proc_pid_net(5).

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The state of an established connection of TCP.
pub(crate) const ESTABLISHED: u8 = 0x01;
/// The state of a socket that listens.
pub(crate) const LISTEN: u8 = 0x0a;

/// A socket. An IPv4 address that is mapped to IPv6 is written as IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcSocket {
    pub(crate) inode: u64,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    pub(crate) state: u8,
}

impl ProcSocket {
    /// Reads a line; none of the heading.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        Some(Self {
            inode: fields.get(9)?.parse().ok()?,
            local: address(fields.get(1)?)?,
            remote: address(fields.get(2)?)?,
            state: u8::from_str_radix(fields.get(3)?, 16).ok()?,
        })
    }
}

/// The sockets of both families in the network namespace of a process (`self`, `thread-self` or its number), of these
/// protocols: `tcp`, `udp`. None where the files cannot be read.
pub(crate) fn sockets(process: &str, protocols: &[&str]) -> Vec<ProcSocket> {
    let tables = protocols.iter().flat_map(|protocol| [(*protocol).to_owned(), format!("{protocol}6")]);
    let read = |table: String| fs::read_to_string(format!("/proc/{process}/net/{table}")).unwrap_or_default();
    tables
        .map(read)
        .flat_map(|table| table.lines().filter_map(ProcSocket::parse).collect::<Vec<_>>())
        .collect()
}

/// An address as these files have it: words of the address in the byte order of the machine, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let word =
        |at: usize| u32::from_str_radix(address.get(8 * at..8 * at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let address = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for at in 0..4 {
                bytes[4 * at..4 * at + 4].copy_from_slice(&word(at)?);
            }
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, u16::from_str_radix(port, 16).ok()?))
}

/// See [`crate::fuzz_proc_text`].
pub(crate) fn fuzz(text: &str) {
    text.lines().for_each(|line| _ = ProcSocket::parse(line));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_have_their_ends_in_both_families() {
        let line = "  0: 0100007F:9C40 0200007F:0035 01 00000000:00000000 00:00000000 00000000     0        0 777 2 0";
        let expected = ProcSocket {
            inode: 777,
            local: "127.0.0.1:40000".parse().unwrap(),
            remote: "127.0.0.2:53".parse().unwrap(),
            state: ESTABLISHED,
        };
        assert_eq!(ProcSocket::parse(line), Some(expected));
        let mapped = address("0000000000000000FFFF00000100007F:1538").unwrap();
        assert_eq!(mapped, "127.0.0.1:5432".parse().unwrap());
        assert_eq!(address("00000000000000000000000001000000:0050"), Some("[::1]:80".parse().unwrap()));
        assert_eq!((address("01:1"), address("x"), ProcSocket::parse("sl local")), (None, None, None));
    }
}
