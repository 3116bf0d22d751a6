//! Finds a TCP port for a server: free, and outside the range of ports that the kernel uses for outgoing connections.
//!
//! Inside that range a connection of the generator could get the port first.

use crate::kernel_counts::counter;
use crate::proc_sockets::{self, ESTABLISHED, LISTEN, ProcSocket};
use crate::process;
use crate::sock_diag::{self, ListeningSocket, UnixSocket};
use crate::system::Pid;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::ops::Range;
use std::path::PathBuf;

/// Lowest port tried below the ephemeral range: above the ports of common services.
const LOWEST: u16 = 20_000;
/// How many ports are tried before giving up.
const TRIES: u64 = 200;
/// This process in `/proc`, with the network namespace of the calling thread.
const OWN: &str = "thread-self";
/// Linux's default ephemeral range, used when `/proc` cannot be read.
const DEFAULT_EPHEMERAL: (u16, u16) = (32_768, 60_999);
/// The first process of the machine, or of a container. As systemd, it holds the sockets of services that it starts.
const INIT: Pid = 1;
/// Where the sockets of systemd's journal are.
const JOURNAL: &str = "/run/systemd/journal/";

/// Returns a port outside the ephemeral range on which no process listens now, at `address` or loopback. The search
/// starts at a random port.
///
/// # Errors
/// When none of the ports tried is free.
pub fn free_port(address: IpAddr) -> io::Result<u16> {
    first_free(|port| check_free(address, port))
}

/// As [`free_port`]; the ports of TCP and UDP at these offsets from it are free as well.
///
/// # Errors
/// As [`free_port`].
pub fn free_port_with(address: IpAddr, tcp: &[u16], udp: &[u16]) -> io::Result<u16> {
    first_free(|port| check_free_with(address, port, tcp, udp))
}

/// How often a handshake was dropped on this machine because the queue of a listening socket was full, since it started
/// (`ListenOverflows` of `/proc/net/netstat`). The client tries again after 1, 3 and 7 s.
pub fn listen_overflows() -> Option<u64> {
    counter(&fs::read_to_string("/proc/thread-self/net/netstat").ok()?, "TcpExt:", "ListenOverflows")
}

fn first_free(check: impl Fn(u16) -> io::Result<()>) -> io::Result<u16> {
    let range = candidates(ephemeral());
    let start = RandomState::new().hash_one(std::process::id());
    let length = u64::from(range.end - range.start);
    // A step that shares no factor with most lengths visits ports far apart: adjacent ports are often used together.
    let tried =
        (0..TRIES.min(length)).map(|step| range.start + ((start % length + step * 97) % length) as u16);
    let mut last = io::Error::new(io::ErrorKind::AddrInUse, "no port was tried");
    for port in tried {
        match check(port) {
            Ok(()) => return Ok(port),
            Err(error) => last = error,
        }
    }
    let what = format!("no free port found between {} and {}: {last}", range.start, range.end);
    Err(io::Error::new(last.kind(), what))
}

/// As [`free_port`], for several different ports: each is held until the last one is found.
///
/// # Errors
/// As [`free_port`].
pub fn free_ports<const COUNT: usize>(address: IpAddr) -> io::Result<[u16; COUNT]> {
    let mut held = Vec::new();
    let mut ports = [0; COUNT];
    for place in &mut ports {
        *place = free_port(address)?;
        held.extend(TcpListener::bind((address, *place)));
    }
    Ok(ports)
}

/// Whether a server could listen on `port` of `address` now. The port must be free on loopback as well: there listen
/// servers that choose the address themselves, and a listener of another process would be taken for the server's.
///
/// # Errors
/// The error names the process that holds the port, where that can be read.
pub fn check_free(address: IpAddr, port: u16) -> io::Result<()> {
    each_listener(address, port).try_for_each(check_free_at)
}

fn check_free_at(listener: SocketAddr) -> io::Result<()> {
    // The standard library sets SO_REUSEADDR, so that closed connections in TIME_WAIT do not count.
    match TcpListener::bind(listener) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let port = listener.port();
            let by = holder(port).map(|holder| format!(" by {holder}")).unwrap_or_default();
            Err(io::Error::new(io::ErrorKind::AddrInUse, format!("port {port} is in use{by}")))
        }
        Err(error) => Err(io::Error::new(error.kind(), format!("cannot listen on {listener}: {error}"))),
    }
}

/// The port at loopback, and at the address if that is another one.
fn each_listener(address: IpAddr, port: u16) -> impl Iterator<Item = SocketAddr> {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let other = Some(address).filter(|address| *address != loopback);
    std::iter::once(loopback).chain(other).map(move |address| SocketAddr::new(address, port))
}

/// Whether a server could listen on `port`, and on the ports of TCP and UDP at these offsets from it, now.
///
/// # Errors
/// As [`check_free`].
pub fn check_free_with(address: IpAddr, port: u16, tcp: &[u16], udp: &[u16]) -> io::Result<()> {
    let at = |offset: &u16| port.saturating_add(*offset);
    check_free(address, port)?;
    tcp.iter().map(at).try_for_each(|port| check_free(address, port))?;
    udp.iter().map(at).try_for_each(|port| check_free_for_udp(address, port))
}

/// Whether a server could listen on a UDP port now.
fn check_free_for_udp(address: IpAddr, port: u16) -> io::Result<()> {
    each_listener(address, port).try_for_each(|listener| match UdpSocket::bind(listener) {
        Ok(_) => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), format!("cannot use UDP port {port}: {error}"))),
    })
}

fn ephemeral() -> (u16, u16) {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut fields = text.split_ascii_whitespace().map_while(|field| field.parse().ok());
    fields.next().zip(fields.next()).unwrap_or(DEFAULT_EPHEMERAL)
}

/// The larger part of the port range, above or below the ephemeral range.
fn candidates((low, high): (u16, u16)) -> Range<u16> {
    let below = LOWEST.min(low.saturating_sub(1000)).max(1024)..low;
    let above = high.saturating_add(1)..u16::MAX;
    let length = |range: &Range<u16>| range.end.saturating_sub(range.start);
    match (length(&below), length(&above)) {
        // An ephemeral range that covers all ports: its ports must be used.
        (0, 0) => LOWEST..u16::MAX,
        (b, a) if b >= a => below,
        _ => above,
    }
}

/// The process that listens on a port, as `name (process 7)`, if `/proc` shows it.
fn holder(port: u16) -> Option<String> {
    let pid = *listeners(port).first()?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(format!("{} (process {pid})", name.trim()))
}

/// The processes that serve a TCP port: those that listen on it, except for ancestors of this process that only hold
/// the socket for others. The descendants of such an ancestor are not the server.
pub fn servers(port: u16) -> Vec<Pid> {
    let listening = listeners(port).into_iter().map(|pid| (pid, vec![port])).collect();
    without_holders(listening, &process::ancestors(process::own())).into_iter().map(|(pid, _)| pid).collect()
}

/// Whether only the first process listens on a TCP port, for a service that it starts or may start.
pub fn is_held_by_init(port: u16) -> bool {
    servers(port).is_empty() && listeners(port).contains(&INIT)
}

/// Processes with their ports, without the ports that an ancestor holds and others listen on too. The first process
/// serves none: with systemd's `Accept=yes`, the services do not even have the socket that listens.
fn without_holders(listening: Vec<(Pid, Vec<u16>)>, ancestors: &[Pid]) -> Vec<(Pid, Vec<u16>)> {
    let of_others = listening.iter().filter(|(pid, _)| !ancestors.contains(pid)).flat_map(|(_, ports)| ports);
    let of_others: BTreeSet<u16> = of_others.copied().collect();
    let served = listening.into_iter().map(|(pid, mut ports)| {
        if ancestors.contains(&pid) {
            ports.retain(|port| pid != INIT && !of_others.contains(port));
        }
        (pid, ports)
    });
    served.filter(|(_, ports)| !ports.is_empty()).collect()
}

/// Every process that listens on a TCP port, as far as `/proc` shows them: all of them for root, else the user's own.
pub fn listeners(port: u16) -> Vec<Pid> {
    let sockets: Vec<String> =
        listening(port).iter().map(|listener| format!("socket:[{}]", listener.inode)).collect();
    if sockets.is_empty() {
        return Vec::new();
    }
    let listens = |pid: &Pid| {
        let mut links = process::descriptors(*pid);
        links.any(|link| sockets.iter().any(|socket| link.as_os_str() == socket.as_str()))
    };
    process::all().into_iter().filter(listens).collect()
}

/// The TCP ports on which these processes listen, as far as `/proc` shows them, in ascending order. Each is looked for
/// in its own network namespace: a container has another one than this process.
pub fn ports_of(pids: &[Pid]) -> Vec<u16> {
    let theirs: Vec<PathBuf> = pids.iter().flat_map(|pid| process::descriptors(*pid)).collect();
    let is_theirs = |listener: &ListeningSocket| {
        let socket = format!("socket:[{}]", listener.inode);
        theirs.iter().any(|link| link.as_os_str() == socket.as_str())
    };
    let listening = one_of_each_network(pids).into_iter().flat_map(|pid| listening_in_proc(&pid.to_string()));
    let listening = listening.filter(|(_, listener)| is_theirs(listener));
    let ports: BTreeSet<u16> = listening.map(|(port, _)| port).collect();
    ports.into_iter().collect()
}

/// One of the processes of each network namespace, as far as `/proc` shows these.
pub(crate) fn one_of_each_network(pids: &[Pid]) -> Vec<Pid> {
    let mut known = HashSet::new();
    let network = |pid: Pid| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    pids.iter().copied().filter(|pid| known.insert(network(*pid))).collect()
}

/// Every process that serves TCP ports, with these, as far as `/proc` shows them: as [`servers`].
pub fn listening_processes() -> Vec<(Pid, Vec<u16>)> {
    let ports: HashMap<u64, u16> =
        listening_in_proc(OWN).into_iter().map(|(port, listener)| (listener.inode, port)).collect();
    let of_process = |pid: Pid| {
        let theirs: BTreeSet<u16> = sockets_of(pid).filter_map(|inode| ports.get(&inode).copied()).collect();
        (!theirs.is_empty()).then(|| (pid, theirs.into_iter().collect()))
    };
    let listening = process::all().into_iter().filter_map(of_process).collect();
    without_holders(listening, &process::ancestors(process::own()))
}

/// The established connections from this machine to itself.
#[derive(Debug)]
pub struct LocalConnections {
    /// The inode of the socket at one end, and the port of the other.
    ends: HashMap<u64, u16>,
}

/// Reads the connections of this machine to itself.
pub fn local_connections() -> LocalConnections {
    if let Ok(sockets) = sock_diag::established() {
        let local = sockets.into_iter().filter(|socket| socket.is_local);
        return LocalConnections { ends: local.map(|socket| (socket.inode, socket.remote_port)).collect() };
    }
    let sockets = proc_sockets::sockets(OWN, &["tcp"]).into_iter();
    let local =
        sockets.filter(|socket| socket.state == ESTABLISHED && socket.local.ip() == socket.remote.ip());
    LocalConnections { ends: local.map(|socket| (socket.inode, socket.remote.port())).collect() }
}

impl LocalConnections {
    /// The ports that these processes are connected to.
    pub fn ports_from(&self, pids: &[Pid]) -> BTreeSet<u16> {
        let sockets = pids.iter().flat_map(|pid| sockets_of(*pid));
        sockets.filter_map(|inode| self.ends.get(&inode).copied()).collect()
    }
}

/// The connected Unix sockets of this network namespace.
#[derive(Debug)]
pub struct UnixConnections {
    sockets: Vec<UnixSocket>,
}

/// Reads the connected Unix sockets; none where the kernel does not report them.
pub fn unix_connections() -> UnixConnections {
    UnixConnections { sockets: sock_diag::unix_sockets().unwrap_or_default() }
}

impl UnixConnections {
    /// The names of the sockets through which these processes are connected to others, except for systemd's journal: a
    /// service that it starts writes its output there.
    pub fn names_from(&self, pids: &[Pid]) -> BTreeSet<String> {
        let theirs: HashSet<u64> = pids.iter().flat_map(|pid| sockets_of(*pid)).collect();
        let own = self.sockets.iter().filter(|socket| socket.is_stream && theirs.contains(&socket.inode));
        let peers: HashSet<u64> = own.map(|socket| socket.peer).filter(|peer| *peer != 0).collect();
        let is_other = |inode: u64| peers.contains(&inode) && !theirs.contains(&inode);
        let names = self.sockets.iter().filter(|socket| is_other(socket.inode)).map(|socket| &socket.name);
        names.filter(|name| !name.is_empty() && !name.starts_with(JOURNAL)).cloned().collect()
    }
}

/// The inodes of a process's sockets.
pub(crate) fn sockets_of(pid: Pid) -> impl Iterator<Item = u64> {
    process::descriptors(pid)
        .filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok())
}

/// Whether a process listens on a port at every address of the machine, so that other machines can also reach it.
pub fn is_open_to_others(port: u16) -> bool {
    listening(port).iter().any(|listener| listener.is_wildcard)
}

/// The sockets that listen on a TCP port. Kernels that do not answer over netlink have them in `/proc/net/tcp`.
fn listening(port: u16) -> Vec<ListeningSocket> {
    sock_diag::listening(port).unwrap_or_else(|_| {
        let all = listening_in_proc(OWN).into_iter();
        all.filter(|(its, _)| *its == port).map(|(_, listener)| listener).collect()
    })
}

/// Every socket that listens in the network namespace of a process, with its port, by `/proc/PID/net/tcp`.
fn listening_in_proc(process: &str) -> Vec<(u16, ListeningSocket)> {
    proc_sockets::sockets(process, &["tcp"]).iter().filter_map(listener).collect()
}

/// The port of a socket that listens.
fn listener(socket: &ProcSocket) -> Option<(u16, ListeningSocket)> {
    let is_wildcard = socket.local.ip().is_unspecified();
    let listener = ListeningSocket { inode: socket.inode, is_wildcard };
    (socket.state == LISTEN).then(|| (socket.local.port(), listener))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::process::{Command, Stdio};

    const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn this_machine_counts_overflows() {
        assert!(listen_overflows().is_some());
    }

    #[test]
    fn the_ports_of_a_process_are_found() {
        let [first, second] = [(); 2].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let ours = ports_of(&[std::process::id().cast_signed()]);
        for listener in [first, second] {
            let port = listener.local_addr().unwrap().port();
            assert!(ours.contains(&port), "{port}: {ours:?}");
        }
        assert!(ports_of(&[]).is_empty());
    }

    #[test]
    fn processes_of_one_network_are_read_once() {
        let own = std::process::id().cast_signed();
        assert_eq!(one_of_each_network(&[own, own]), [own]);
        // The namespace of a process that has ended is not known.
        assert_eq!(one_of_each_network(&[i32::MAX, own, i32::MAX]), [i32::MAX, own]);
    }

    #[test]
    fn ports_lie_outside_the_ephemeral_range() {
        assert_eq!(candidates((32_768, 60_999)), 20_000..32_768);
        assert_eq!(candidates((1024, 40_000)), 40_001..65_535);
        assert_eq!(candidates((1024, 65_535)), 20_000..65_535);
        let (low, high) = ephemeral();
        let port = free_port(LOCALHOST).unwrap();
        assert!(port < low || port > high, "{port} is inside {low}-{high}");
    }

    #[test]
    fn several_ports_differ() {
        let [a, b, c] = free_ports(LOCALHOST).unwrap();
        assert!(a != b && b != c && a != c);
    }

    #[test]
    fn a_port_is_free_if_all_that_belong_to_it_are() {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = tcp.local_addr().unwrap().port();
        assert!(check_free_with(LOCALHOST, port - 1, &[1], &[]).is_err());
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = udp.local_addr().unwrap().port();
        assert!(check_free_with(LOCALHOST, port - 2, &[], &[2]).is_err());
        assert!(free_port_with(LOCALHOST, &[1, 2], &[2]).is_ok());
    }

    #[test]
    fn a_taken_port_names_its_holder() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let message = check_free(LOCALHOST, listener.local_addr().unwrap().port()).unwrap_err().to_string();
        assert!(message.ends_with(&format!("(process {})", std::process::id())), "{message}");
    }

    #[test]
    fn a_port_that_is_taken_at_the_server_s_address_alone_is_not_free() {
        let address = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
        let listener = TcpListener::bind((address, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(check_free(address, port).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let every_address = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        assert_eq!(check_free(every_address, port).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn proc_shows_the_listeners_that_netlink_returns() {
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
            let Ok(socket) = TcpListener::bind(address) else { continue };
            let port = socket.local_addr().unwrap().port();
            let in_proc = listening_in_proc(OWN).into_iter().filter(|(its, _)| *its == port);
            let in_proc: Vec<ListeningSocket> = in_proc.map(|(_, listener)| listener).collect();
            assert_eq!(in_proc, sock_diag::listening(port).unwrap(), "{address}");
        }
    }

    #[test]
    fn a_listener_is_distinguished_from_a_connection() {
        let line =
            "  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 4711 1 0";
        let listener = |line: &str| listener(&ProcSocket::parse(line)?);
        let (port, found) = listener(line).unwrap();
        assert_eq!((port, found.inode, found.is_wildcard), (8080, 4711, false));
        assert!(listener(&line.replace(" 0A ", " 01 ")).is_none());
        assert!(listener(&line.replace("0100007F", "00000000")).unwrap().1.is_wildcard);
    }

    #[test]
    fn a_connection_of_this_machine_to_itself_is_found() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let own = std::process::id().cast_signed();
        assert!(!local_connections().ports_from(&[own]).contains(&port));
        let connection = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        assert!(local_connections().ports_from(&[own]).contains(&port));
        assert!(listening_processes().iter().any(|(pid, ports)| *pid == own && ports.contains(&port)));
        drop(connection);
    }

    #[test]
    fn an_ancestor_that_holds_a_socket_for_others_is_no_server() {
        let served = |listening: &[(Pid, &[u16])]| {
            let listening = listening.iter().map(|(pid, ports)| (*pid, ports.to_vec())).collect();
            without_holders(listening, &[30, 1])
        };
        // systemd holds a socket of process 40, and one of a service that does not run.
        assert_eq!(served(&[(1, &[22, 80]), (40, &[80])]), [(40, vec![80])]);
        // A test that serves a port itself and starts this program, without and with a child that has the socket.
        assert_eq!(served(&[(30, &[80])]), [(30, vec![80])]);
        assert_eq!(served(&[(30, &[80, 81]), (40, &[80])]), [(30, vec![81]), (40, vec![80])]);
        assert_eq!(without_holders(vec![(1, vec![80])], &[]), [(1, vec![80])], "a container's server");
    }

    #[test]
    fn the_unix_socket_of_a_service_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let client = UnixStream::connect(&path).unwrap();
        let (service, _) = listener.accept().unwrap();
        let mut front =
            Command::new("sleep").arg("60").stdin(Stdio::from(OwnedFd::from(client))).spawn().unwrap();
        let names = unix_connections().names_from(&[front.id().cast_signed()]);
        let of_service = unix_connections().names_from(&[process::own()]);
        front.kill().unwrap();
        front.wait().unwrap();
        drop(service);
        // A sandbox's kernel may not report them.
        if sock_diag::unix_sockets().is_ok() {
            let name = path.to_str().unwrap().to_owned();
            assert!(names.contains(&name) && !of_service.contains(&name), "{names:?} {of_service:?}");
        }
    }

    #[test]
    fn the_parent_is_the_nearest_ancestor() {
        let parent = std::os::unix::process::parent_id().cast_signed();
        let ancestors = process::ancestors(process::own());
        assert_eq!(ancestors.first().copied(), Some(parent).filter(|parent| *parent > 0));
        assert!(!ancestors.contains(&process::own()));
    }

    #[test]
    fn a_port_s_listeners_are_found() {
        let local = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = local.local_addr().unwrap().port();
        // A child process that another test is starting at this moment holds the socket too.
        assert!(listeners(port).contains(&std::process::id().cast_signed()));
        assert!(!is_open_to_others(port));
    }
}
