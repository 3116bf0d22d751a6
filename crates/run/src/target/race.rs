//! Chooses one of several addresses for the whole run: the first that accepts a connection.
//!
//! As in RFC 8305, they are tried in order, the next one as soon as one has failed or after a quarter of a second. A
//! run uses one address only, so that it measures one server over one path. A single address is not tried here: the run
//! connects to it.

use crate::RunError;
use paceline_record::Tried;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// How long an address is tried alone before the next is tried in parallel (RFC 8305 §5, Connection Attempt Delay).
const HEAD_START: Duration = Duration::from_millis(250);

/// How an address is tried: an error if it does not answer within a limit.
pub(super) type Attempt = fn(SocketAddr, Duration) -> io::Result<()>;

/// Connects over TCP.
pub(super) fn over_tcp(address: SocketAddr, limit: Duration) -> io::Result<()> {
    TcpStream::connect_timeout(&address, limit).map(drop)
}

/// The length of a datagram to which a server of QUIC must answer: no shorter one may begin a connection (RFC 9000 §14.1).
const INITIAL_BYTES: usize = 1200;
/// A version that is reserved, so that every server answers with the versions that it speaks (RFC 9000 §6.3).
const RESERVED_VERSION: [u8; 4] = [0x1a, 0x2a, 0x3a, 0x4a];
/// The time after which a datagram counts as lost and is sent again.
const RETRY: Duration = Duration::from_millis(300);

/// Asks for the versions of QUIC that a server speaks (RFC 9000 §6), which begins no connection.
pub(super) fn over_quic(address: SocketAddr, limit: Duration) -> io::Result<()> {
    let local = match address {
        SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((local, 0))?;
    socket.connect(address)?;
    // A long header with a connection id of eight bytes for each side (RFC 9000 §17.2); the rest has no meaning.
    let mut packet = [0; INITIAL_BYTES];
    packet[0] = 0xc0;
    packet[1..5].copy_from_slice(&RESERVED_VERSION);
    (packet[5], packet[14]) = (8, 8);
    let began = Instant::now();
    let mut answer = [0; 2048];
    loop {
        socket.send(&packet)?;
        let left = limit.saturating_sub(began.elapsed());
        socket.set_read_timeout(Some(left.min(RETRY).max(Duration::from_millis(1))))?;
        match socket.recv(&mut answer) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) if began.elapsed() >= limit => return Err(io::ErrorKind::TimedOut.into()),
            Err(_) => {}
        }
    }
}

/// The first address to accept a connection, and those that were tried and did not. An attempt in progress is not
/// stopped: it ends at its time limit, and its result is ignored.
pub(super) fn first_to_accept(
    name: &str,
    candidates: &[SocketAddr],
    attempt: Attempt,
    limit: Duration,
) -> Result<(SocketAddr, Vec<Tried>), RunError> {
    if let [only] = candidates {
        return Ok((*only, Vec::new()));
    }
    let (tell, reported) = mpsc::channel();
    let mut waiting = candidates.iter();
    let mut under_way: Vec<SocketAddr> = Vec::new();
    let mut failed: Vec<Tried> = Vec::new();
    loop {
        let next = waiting.next();
        if let Some(address) = next {
            under_way.push(*address);
            try_it(*address, attempt, limit, tell.clone());
        } else if under_way.is_empty() {
            return Err(none_accepts(name, &failed));
        }
        let wait = if waiting.len() > 0 { HEAD_START } else { limit + HEAD_START };
        match reported.recv_timeout(wait) {
            Ok((address, Ok(()))) => {
                let slow = under_way.iter().filter(|other| **other != address);
                failed.extend(slow.map(|slow| {
                    tried(slow, "not yet connected when another address accepted the connection")
                }));
                failed
                    .sort_by_key(|tried| candidates.iter().position(|one| one.to_string() == tried.address));
                return Ok((address, failed));
            }
            Ok((address, Err(error))) => {
                under_way.retain(|other| *other != address);
                failed.push(tried(&address, &error.to_string()));
            }
            Err(RecvTimeoutError::Timeout) if waiting.len() > 0 => {}
            Err(_) => {
                failed.extend(under_way.drain(..).map(|slow| tried(&slow, "connecting timed out")));
            }
        }
    }
}

fn try_it(
    address: SocketAddr,
    attempt: Attempt,
    limit: Duration,
    tell: Sender<(SocketAddr, io::Result<()>)>,
) {
    let attempt = move || {
        let accepted = attempt(address, limit);
        // The receiver is gone if another address was faster.
        let _ = tell.send((address, accepted));
    };
    // If no thread can be started (`ulimit -u`), addresses are tried one after the other.
    if thread::Builder::new().spawn(attempt.clone()).is_err() {
        attempt();
    }
}

fn tried(address: &SocketAddr, failure: &str) -> Tried {
    Tried { address: address.to_string(), failure: failure.to_owned() }
}

fn none_accepts(name: &str, failed: &[Tried]) -> RunError {
    let reported: Vec<String> =
        failed.iter().map(|tried| format!("{} ({})", tried.address, tried.failure)).collect();
    RunError::environment(format!("no address of {name:?} accepts a connection: {}", reported.join(", ")))
        .hint("check that the server is running and listens on that port")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::{AsRawFd as _, FromRawFd as _};

    /// An address on which no process listens: the port is bound without listening, so that connections are refused and
    /// no other process gets it.
    fn closed_port() -> SocketAddr {
        let address = libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: 0,
            sin_addr: libc::in_addr { s_addr: libc::INADDR_ANY },
            sin_zero: [0; 8],
        };
        // SAFETY: the pointer is to a live address of the size given, and the descriptor is new and ours.
        let bound = unsafe {
            let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
            let length = size_of_val(&address) as libc::socklen_t;
            assert_eq!(libc::bind(socket, (&raw const address).cast(), length), 0);
            TcpListener::from_raw_fd(socket)
        };
        let port = bound.local_addr().unwrap().port();
        // Kept open until the tests end.
        std::mem::forget(bound);
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    /// Whether one of five attempts succeeds; a busy machine may delay an answer for longer than the head start.
    fn once_in_five(mut attempt: impl FnMut() -> bool) -> bool {
        (0..5).any(|_| attempt())
    }

    #[test]
    fn the_first_that_accepts_is_used() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let listens = listener.local_addr().unwrap();
        let refuses = closed_port();
        let mut reported = Vec::new();
        assert!(
            once_in_five(|| {
                let (used, failed) = first_to_accept(
                    "a",
                    &[refuses, listens, closed_port()],
                    over_tcp,
                    Duration::from_secs(9),
                )
                .unwrap();
                assert_eq!(used, listens);
                assert_eq!(failed[0].address, refuses.to_string());
                let as_refused = failed.len() == 1 && failed[0].failure.contains("refused");
                reported.push(failed);
                as_refused
            }),
            "{reported:?}"
        );
        // With a single address no attempt is made.
        assert_eq!(first_to_accept("a", &[refuses], over_tcp, Duration::ZERO).unwrap().0, refuses);
    }

    #[test]
    fn a_server_of_quic_is_found_by_its_answer_to_an_unknown_version() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let listens = server.local_addr().unwrap();
        let serve = thread::spawn(move || {
            let mut datagram = [0; 2048];
            let (length, client) = server.recv_from(&mut datagram).unwrap();
            server.send_to(b"versions", client).unwrap();
            datagram[..length].to_vec()
        });
        let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (used, failed) =
            first_to_accept("a", &[closed, listens], over_quic, Duration::from_secs(9)).unwrap();
        assert_eq!((used, failed.len()), (listens, 1), "{failed:?}");
        let asked = serve.join().unwrap();
        assert_eq!((asked.len(), &asked[..6]), (1200, &[0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 8][..]));
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let error = over_quic(silent.local_addr().unwrap(), Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_silent_address_does_not_delay_the_others() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let listens = listener.local_addr().unwrap();
        assert!(once_in_five(|| {
            // A server with a full backlog does not answer handshakes.
            let full = TcpListener::bind("127.0.0.1:0").unwrap();
            // SAFETY: listen(2) on an open listener sets its backlog again.
            unsafe { libc::listen(full.as_raw_fd(), 0) };
            let silent = full.local_addr().unwrap();
            let fill = || TcpStream::connect_timeout(&silent, Duration::from_millis(50));
            let _held: Vec<_> = (0..4).map_while(|_| fill().ok()).collect();
            let (used, failed) =
                first_to_accept("a", &[silent, listens], over_tcp, Duration::from_secs(60)).unwrap();
            (used, failed.len()) == (listens, 1)
        }));
    }

    #[test]
    fn every_failure_is_reported() {
        let [one, two] = [closed_port(), closed_port()];
        let error =
            first_to_accept("a.test", &[one, two], over_tcp, Duration::from_secs(9)).unwrap_err().to_string();
        for reported in ["a.test", &one.to_string(), &two.to_string(), "refused"] {
            assert!(error.contains(reported), "{error}");
        }
    }
}
