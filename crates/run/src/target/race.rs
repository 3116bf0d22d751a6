//! Which of several addresses to use: the first that accepts a connection, for the whole run.
//!
//! In the spirit of RFC 8305: they are tried in order, the next as soon as one has failed or has had a quarter of a
//! second to itself. A run goes to one address only, so that it measures one server by one way. An only address is not
//! tried: the run itself does that.

use crate::RunError;
use paceline_record::Tried;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// What an address has to itself before the next is tried beside it (RFC 8305 §5, Connection Attempt Delay).
const HEAD_START: Duration = Duration::from_millis(250);

/// The first address to accept a connection, and those that were tried and did not. An attempt still under way is left
/// to itself: it ends with its limit, and no process listens.
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
        let patience = if waiting.len() > 0 { HEAD_START } else { limit + HEAD_START };
        match reported.recv_timeout(patience) {
            Ok((address, Ok(()))) => {
                let slow = under_way.iter().filter(|other| **other != address);
                failed.extend(slow.map(|slow| tried(slow, "no answer while another one accepted")));
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
                failed.extend(under_way.drain(..).map(|slow| tried(&slow, "no answer within the limit")));
            }
        }
    }
}

fn try_it(address: SocketAddr, limit: Duration, tell: Sender<(SocketAddr, io::Result<()>)>) {
    let attempt = move || {
        let accepted = TcpStream::connect_timeout(&address, limit).map(drop);
        // Nobody listens any more where another one was faster.
        let _ = tell.send((address, accepted));
    };
    // Without another thread (`ulimit -u`) addresses are tried one after the other.
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
        .hint("is the server running, and listening on that port?")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::{AsRawFd as _, FromRawFd as _};

    /// An address where no process listens: every local address refuses this port, which is bound, so that no other
    /// process gets it.
    fn nobody() -> SocketAddr {
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
        // Kept until the tests end.
        std::mem::forget(bound);
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    /// Whether one of five tries is as on a machine that holds no answer up for longer than the head start.
    fn once_in_five(mut attempt: impl FnMut() -> bool) -> bool {
        (0..5).any(|_| attempt())
    }

    #[test]
    fn the_first_that_accepts_is_used() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let listens = listener.local_addr().unwrap();
        let refuses = nobody();
        let mut reported = Vec::new();
        assert!(
            once_in_five(|| {
                let (used, failed) =
                    first_to_accept("a", &[refuses, listens, nobody()], Duration::from_secs(9)).unwrap();
                assert_eq!(used, listens);
                assert_eq!(failed[0].address, refuses.to_string());
                let as_refused = failed.len() == 1 && failed[0].failure.contains("refused");
                reported.push(failed);
                as_refused
            }),
            "{reported:?}"
        );
        // Where there is no choice there is nothing to try.
        assert_eq!(first_to_accept("a", &[refuses], Duration::ZERO).unwrap().0, refuses);
    }

    #[test]
    fn an_address_that_says_nothing_holds_nobody_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let listens = listener.local_addr().unwrap();
        assert!(once_in_five(|| {
            // A backlog that is full answers no handshake.
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
    fn every_failure_is_told() {
        let [one, two] = [nobody(), nobody()];
        let error = first_to_accept("a.test", &[one, two], Duration::from_secs(9)).unwrap_err().to_string();
        for reported in ["a.test", &one.to_string(), &two.to_string(), "refused"] {
            assert!(error.contains(reported), "{error}");
        }
    }
}
