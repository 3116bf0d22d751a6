//! Finds listening sockets and established connections, also those of Unix sockets, by asking the kernel over netlink:
//! sock_diag(7).
//!
//! Reading `/proc/net/tcp` makes the kernel print its whole table of connections, closed ones included, which costs
//! milliseconds of CPU time. Over netlink it returns only the listening sockets on one port, or only connections that
//! are open.

use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, sockopt};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

// linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h.
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_DUMP: u16 = 0x301;
const LISTEN_STATE: u32 = 1 << 10;
const ESTABLISHED_STATE: u32 = 1 << 1;
/// Lengths of `nlmsghdr`, `inet_diag_req_v2` and `inet_diag_msg`.
const HEADER: usize = 16;
const REQUEST: usize = 56;
const MESSAGE: usize = 72;
// linux/unix_diag.h: lengths of `unix_diag_req` and `unix_diag_msg`, attributes and what a request shows.
const UNIX_REQUEST: usize = 24;
const UNIX_MESSAGE: usize = 16;
const UNIX_DIAG_NAME: u16 = 0;
const UNIX_DIAG_PEER: u16 = 2;
const UDIAG_SHOW_NAME: u32 = 1;
const UDIAG_SHOW_PEER: u32 = 4;
/// The attribute with the connection's `tcp_info`, which a request names by the bit one below its number.
const INET_DIAG_INFO: u16 = 2;
/// A request for messages without attributes.
const NO_EXTENSION: u8 = 0;
/// Where `tcp_info` has the number of segments with data that were sent: linux/tcp.h.
const DATA_SEGMENTS_OUT: usize = 156;

/// A listening socket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ListeningSocket {
    pub(crate) inode: u64,
    /// Whether it listens at every address of the machine.
    pub(crate) is_wildcard: bool,
}

/// An end of an established connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConnectedSocket {
    pub(crate) inode: u64,
    /// Whether both ends have the same address: both are on this machine.
    pub(crate) is_local: bool,
    /// The port of the other end.
    pub(crate) remote_port: u16,
}

/// What was sent on an established connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SentSegments {
    pub(crate) inode: u64,
    pub(crate) local_port: u16,
    pub(crate) remote: SocketAddr,
    /// Segments with data since the connection was opened.
    pub(crate) segments: u32,
}

/// An end of a connected Unix socket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnixSocket {
    pub(crate) inode: u64,
    /// The inode of the other end; 0 if that was not accepted yet, or is closed.
    pub(crate) peer: u64,
    /// Its name: at the server's end that of the socket that listens, at the client's end mostly none.
    pub(crate) name: String,
    /// Whether it is a stream.
    pub(crate) is_stream: bool,
}

/// The TCP sockets that listen on a port, over IPv4 and IPv6.
///
/// # Errors
/// When the kernel does not answer such requests, for example inside a sandbox.
pub(crate) fn listening(port: u16) -> io::Result<Vec<ListeningSocket>> {
    dump(LISTEN_STATE, port, NO_EXTENSION, listener)
}

/// The ends of all established connections.
///
/// # Errors
/// As [`listening`].
pub(crate) fn established() -> io::Result<Vec<ConnectedSocket>> {
    dump(ESTABLISHED_STATE, 0, NO_EXTENSION, connected)
}

/// What was sent on each established connection of this network namespace.
///
/// # Errors
/// As [`listening`].
pub(crate) fn sent_segments() -> io::Result<Vec<SentSegments>> {
    dump(ESTABLISHED_STATE, 0, 1 << (INET_DIAG_INFO - 1), sent)
}

/// The ends of all connected Unix sockets of this network namespace.
///
/// # Errors
/// As [`listening`]; also if the kernel has no `unix_diag`.
pub(crate) fn unix_sockets() -> io::Result<Vec<UnixSocket>> {
    exchange(&[unix_request()], UNIX_MESSAGE, unix_socket)
}

/// The sockets in some states; with this local port, unless it is 0.
fn dump<S>(states: u32, port: u16, extensions: u8, of_message: fn(&[u8]) -> S) -> io::Result<Vec<S>> {
    let families = [AddressFamily::INET, AddressFamily::INET6];
    exchange(&families.map(|family| request(family, states, port, extensions)), MESSAGE, of_message)
}

/// The sockets in the answers to some requests; a message about a socket has at least this length.
fn exchange<S>(requests: &[Vec<u8>], shortest: usize, of_message: fn(&[u8]) -> S) -> io::Result<Vec<S>> {
    let socket = net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(Duration::from_secs(1)))?;
    let mut found = Vec::new();
    let mut buffer = vec![0; 32 * 1024];
    for request in requests {
        net::send(&socket, request, SendFlags::empty())?;
        while {
            let (_, length) = net::recv(&socket, &mut buffer[..], RecvFlags::empty())?;
            read(&buffer[..length.min(buffer.len())], shortest, of_message, &mut found)?
        } {}
    }
    Ok(found)
}

/// A request for the sockets of one address family in some states; with this local port, unless it is 0.
fn request(family: AddressFamily, states: u32, port: u16, extensions: u8) -> Vec<u8> {
    let mut bytes = request_header(REQUEST);
    bytes.extend([family.as_raw() as u8, net::ipproto::TCP.as_raw().get() as u8, extensions, 0]);
    bytes.extend(states.to_ne_bytes());
    bytes.extend(port.to_be_bytes());
    bytes.resize(HEADER + REQUEST, 0);
    bytes
}

/// A request for the connected Unix sockets with their names and peers.
fn unix_request() -> Vec<u8> {
    let mut bytes = request_header(UNIX_REQUEST);
    bytes.extend([AddressFamily::UNIX.as_raw() as u8, 0, 0, 0]);
    bytes.extend(ESTABLISHED_STATE.to_ne_bytes());
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend((UDIAG_SHOW_NAME | UDIAG_SHOW_PEER).to_ne_bytes());
    bytes.resize(HEADER + UNIX_REQUEST, 0);
    bytes
}

/// The `nlmsghdr` of a request with a content of this length.
fn request_header(length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + length);
    bytes.extend(((HEADER + length) as u32).to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(REQUEST_DUMP.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes
}

/// Adds the sockets of one datagram of messages; returns whether more datagrams follow.
fn read<S>(
    mut datagram: &[u8],
    shortest: usize,
    of_message: fn(&[u8]) -> S,
    found: &mut Vec<S>,
) -> io::Result<bool> {
    while datagram.len() >= HEADER {
        let length = u32_at(datagram, 0) as usize;
        let kind = u16::from_ne_bytes([datagram[4], datagram[5]]);
        let content = datagram.get(HEADER..length).ok_or(io::ErrorKind::InvalidData)?;
        match kind {
            NLMSG_DONE => return Ok(false),
            NLMSG_ERROR => return Err(io::ErrorKind::Unsupported.into()),
            SOCK_DIAG_BY_FAMILY if content.len() >= shortest => found.push(of_message(content)),
            _ => {}
        }
        // Messages begin at multiples of four bytes.
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(true)
}

/// The socket of an `inet_diag_msg`: the local address is at byte 8, the inode at the end.
fn listener(message: &[u8]) -> ListeningSocket {
    let is_wildcard = message[8..24].iter().all(|byte| *byte == 0);
    ListeningSocket { inode: u32_at(message, MESSAGE - 4).into(), is_wildcard }
}

/// The socket of an `inet_diag_msg`: after the ports, the local address is at byte 8 and the remote one at byte 24.
fn connected(message: &[u8]) -> ConnectedSocket {
    ConnectedSocket {
        inode: u32_at(message, MESSAGE - 4).into(),
        is_local: message[8..24] == message[24..40],
        remote_port: u16::from_be_bytes([message[6], message[7]]),
    }
}

/// The counts of an `inet_diag_msg`: as [`connected`], with its attributes after the message; 0 without `tcp_info`.
fn sent(message: &[u8]) -> SentSegments {
    let port = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
    let mut address = [0; 16];
    address.copy_from_slice(&message[24..40]);
    let address = match i32::from(message[0]) {
        libc::AF_INET6 => Ipv6Addr::from(address).to_canonical(),
        _ => IpAddr::V4(Ipv4Addr::new(address[0], address[1], address[2], address[3])),
    };
    let info = attribute(&message[MESSAGE..], INET_DIAG_INFO).unwrap_or_default();
    let segments = info.get(DATA_SEGMENTS_OUT..DATA_SEGMENTS_OUT + 4).map_or(0, |bytes| u32_at(bytes, 0));
    SentSegments {
        inode: u32_at(message, MESSAGE - 4).into(),
        local_port: port(4),
        remote: SocketAddr::new(address, port(6)),
        segments,
    }
}

/// The socket of a `unix_diag_msg`: the type is at byte 1, the inode at byte 4. A name ends at its zero byte, and an
/// abstract one begins with one, which is written as `@`.
fn unix_socket(message: &[u8]) -> UnixSocket {
    let attributes = &message[UNIX_MESSAGE..];
    let peer = attribute(attributes, UNIX_DIAG_PEER).filter(|peer| peer.len() >= 4);
    let name = String::from_utf8_lossy(attribute(attributes, UNIX_DIAG_NAME).unwrap_or_default());
    UnixSocket {
        inode: u32_at(message, 4).into(),
        peer: peer.map_or(0, |peer| u32_at(peer, 0).into()),
        name: name.trim_end_matches('\0').replace('\0', "@"),
        is_stream: i32::from(message[1]) == libc::SOCK_STREAM,
    }
}

/// The content of an attribute: each has its length, its number, and is padded to four bytes.
fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    while bytes.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
        let content = bytes.get(4..length)?;
        if u16::from_ne_bytes([bytes[2], bytes[3]]) == wanted {
            return Some(content);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
    None
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn listeners_are_found_in_both_families() {
        for (address, is_wildcard) in
            [("127.0.0.1:0", false), ("0.0.0.0:0", true), ("[::1]:0", false), ("[::]:0", true)]
        {
            let Ok(socket) = TcpListener::bind(address) else { continue };
            let port = socket.local_addr().unwrap().port();
            let found = listening(port).unwrap();
            assert!(found.iter().any(|one| one.is_wildcard == is_wildcard), "{address}: {found:?}");
            drop(socket);
            assert_eq!(listening(port).unwrap(), []);
        }
    }

    #[test]
    fn both_ends_of_a_connection_are_found() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, _) = listener.accept().unwrap();
            let found = established().unwrap();
            for end in [&client, &server] {
                let port = end.peer_addr().unwrap().port();
                let is_it = |socket: &&ConnectedSocket| socket.remote_port == port && socket.is_local;
                assert!(found.iter().find(is_it).is_some_and(|socket| socket.inode > 0), "{address}");
            }
        }
    }

    #[test]
    fn names_of_unix_sockets_are_read() {
        let message = |attributes: &[(u16, &[u8])]| {
            let mut bytes = vec![libc::AF_UNIX as u8, libc::SOCK_STREAM as u8, 1, 0];
            bytes.extend(7_u32.to_ne_bytes());
            bytes.resize(UNIX_MESSAGE, 0);
            for (number, content) in attributes {
                bytes.extend((content.len() as u16 + 4).to_ne_bytes());
                bytes.extend(number.to_ne_bytes());
                bytes.extend(*content);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
            unix_socket(&bytes)
        };
        let peer = 9_u32.to_ne_bytes();
        let named = message(&[(UNIX_DIAG_NAME, b"/run/x.sock\0"), (UNIX_DIAG_PEER, &peer)]);
        let expected = UnixSocket { inode: 7, peer: 9, name: "/run/x.sock".to_owned(), is_stream: true };
        assert_eq!(named, expected);
        assert_eq!(message(&[(UNIX_DIAG_NAME, b"\0x")]).name, "@x");
        let damaged = message(&[(UNIX_DIAG_PEER, &[1])]);
        assert_eq!(damaged, UnixSocket { peer: 0, name: String::new(), ..expected });
    }

    #[test]
    fn damaged_datagrams_are_errors() {
        let mut found = Vec::new();
        let header = |length: u32, kind: u16| {
            let mut bytes = length.to_ne_bytes().to_vec();
            bytes.extend(kind.to_ne_bytes());
            bytes.resize(HEADER, 0);
            bytes
        };
        assert!(
            read(&header(99, SOCK_DIAG_BY_FAMILY), MESSAGE, listener, &mut found).is_err(),
            "longer than the datagram"
        );
        assert!(
            read(&header(3, SOCK_DIAG_BY_FAMILY), MESSAGE, listener, &mut found).is_err(),
            "shorter than its header"
        );
        assert!(read(&header(16, NLMSG_ERROR), MESSAGE, listener, &mut found).is_err());
        assert!(!read(&header(16, NLMSG_DONE), MESSAGE, listener, &mut found).unwrap());
        assert!(read(&[0; 7], MESSAGE, listener, &mut found).unwrap() && found.is_empty());
    }
}
