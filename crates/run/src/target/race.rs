//! Chooses one of several addresses for the whole run: the first that accepts a connection.
//!
//! As in RFC 8305, they are tried in order, the next one as soon as one has failed or after a quarter of a second. A
//! run uses one address only, so that it measures one server over one path. A single address is not tried here: the run
//! connects to it.

use crate::RunError;
use paceline_record::Tried;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// How long an address is tried alone before the next is tried in parallel (RFC 8305 §5, Connection Attempt Delay).
const HEAD_START: Duration = Duration::from_millis(250);

/// The first address to accept a connection, and those that were tried and did not. An attempt in progress is not
/// stopped: it ends at its time limit, and its result is ignored.
pub(super) fn first_to_accept(
    name: &str,
    candidates: &[SocketAddr],
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
            try_it(*address, limit, tell.clone());
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

fn try_it(address: SocketAddr, limit: Duration, tell: Sender<(SocketAddr, io::Result<()>)>) {
    let attempt = move || {
        let accepted = TcpStream::connect_timeout(&address, limit).map(drop);
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
                let (used, failed) =
                    first_to_accept("a", &[refuses, listens, closed_port()], Duration::from_secs(9)).unwrap();
                assert_eq!(used, listens);
                assert_eq!(failed[0].address, refuses.to_string());
                let as_refused = failed.len() == 1 && failed[0].failure.contains("refused");
                reported.push(failed);
                as_refused
            }),
            "{reported:?}"
        );
        // With a single address no attempt is made.
        assert_eq!(first_to_accept("a", &[refuses], Duration::ZERO).unwrap().0, refuses);
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
            let (used, failed) = first_to_accept("a", &[silent, listens], Duration::from_secs(60)).unwrap();
            (used, failed.len()) == (listens, 1)
        }));
    }

    #[test]
    fn every_failure_is_reported() {
        let [one, two] = [closed_port(), closed_port()];
        let error = first_to_accept("a.test", &[one, two], Duration::from_secs(9)).unwrap_err().to_string();
        for reported in ["a.test", &one.to_string(), &two.to_string(), "refused"] {
            assert!(error.contains(reported), "{error}");
        }
    }
}
