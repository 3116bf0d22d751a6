//! Other rounds on this machine: checked when a round begins, and before and after every trial.
//!
//! Each round listens on an abstract Unix socket (unix(7)) whose name contains the round's id. There is no file that
//! another user could replace or own or that could be left behind, and the kernel removes the name with the process.
//! `/proc/net/unix` lists the names to every user, so that rounds of two users also exclude each other. A new round
//! connects to each of the others: a pending connection tells a round of another one that has already ended. Process
//! numbers come from the kernel (SO_PEERCRED), not from the other process's text. Any user may take such a name and so
//! prevent others from measuring; `--share-machine` overrides that. Rounds in containers with a separate network are
//! not visible.

use crate::{Id, system};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// Socket names are `paceline-round/<round>/<process>`.
const PREFIX: &str = "paceline-round/";
/// Held by a round while it looks for others and joins, so that of two rounds that begin at the same time one is first.
const GATE: &str = "gate";
/// Longest wait for another round to release the gate. A round holds it for milliseconds; a process that holds it
/// longer is treated as hostile.
const GATE_LIMIT: Duration = Duration::from_secs(2);
const GATE_RETRY: Duration = Duration::from_millis(5);

/// This round's registration among the rounds of this machine, until dropped.
#[derive(Debug)]
pub struct Neighbours {
    prefix: String,
    own: String,
    listener: UnixListener,
}

/// The result of joining.
#[derive(Debug)]
pub enum JoinResult {
    /// Joined; the rounds that were there before.
    Placed(Neighbours, Vec<String>),
    /// Not joined, because of these rounds.
    Occupied(Vec<String>),
}

/// The rounds that were running at one moment.
#[derive(Debug)]
pub struct RoundsSeen {
    others: BTreeSet<String>,
}

impl Neighbours {
    /// Registers a round on this machine; if other rounds are running, only when `share` is set.
    ///
    /// # Errors
    /// When the system provides no socket or does not list them: other rounds cannot be seen then.
    pub fn join(round: &Id, share: bool) -> io::Result<JoinResult> {
        Self::join_as(PREFIX, round, share)
    }

    fn join_as(prefix: &str, round: &Id, share: bool) -> io::Result<JoinResult> {
        let own = format!("{prefix}{round}/{}", std::process::id());
        let _gate = pass_gate(prefix)?;
        let others: Vec<String> = rounds(prefix, &own)?.into_iter().collect();
        if !others.is_empty() && !share {
            return Ok(JoinResult::Occupied(others));
        }
        let listener = listen(&own)?;
        listener.set_nonblocking(true)?;
        Ok(JoinResult::Placed(Self { prefix: prefix.to_owned(), own, listener }, others))
    }

    /// The rounds running now.
    pub fn look(&self) -> RoundsSeen {
        // Earlier rounds are found by listing; connections pending from now on are from later rounds.
        self.accept_all();
        RoundsSeen { others: self.others() }
    }

    /// The other rounds that were running at any time since `earlier`: `process 17 (round 20261121-...)`.
    pub fn since(&self, earlier: RoundsSeen) -> Vec<String> {
        let mut others = self.others();
        others.extend(self.accept_all());
        others.extend(earlier.others);
        others.into_iter().collect()
    }

    fn others(&self) -> BTreeSet<String> {
        // An error is not expected: listing them succeeded when this round began.
        rounds(&self.prefix, &self.own).unwrap_or_default()
    }

    /// Accepts every pending connection: each is a round that looked for others.
    fn accept_all(&self) -> Vec<String> {
        std::iter::from_fn(|| self.listener.accept().ok())
            .filter_map(|(stream, _)| introduced(stream))
            .collect()
    }
}

/// The id that a connected round sent, with its process number from the kernel.
fn introduced(mut stream: UnixStream) -> Option<String> {
    stream.set_nonblocking(true).ok()?;
    let mut text = [0; 128];
    let length = stream.read(&mut text).ok()?;
    let round = Id::parse(std::str::from_utf8(text.get(..length)?).ok()?).ok()?;
    let process = system::peer_process(stream.as_fd()).ok()?;
    Some(named(&round, process))
}

fn named(round: &Id, process: u32) -> String {
    format!("process {process} (round {round})")
}

/// The rounds that listen now, except `own`; `own` is sent to each.
fn rounds(prefix: &str, own: &str) -> io::Result<BTreeSet<String>> {
    let sockets = fs::read_to_string("/proc/net/unix")?;
    let names = sockets.lines().filter_map(|line| line.rsplit_once(" @")).map(|(_, name)| name);
    let others: BTreeSet<&str> = names.filter(|name| name.starts_with(prefix) && *name != own).collect();
    let own_round = round_of(prefix, own);
    let named = |name: &&str| {
        let round = round_of(prefix, name)?;
        let process = call(name, own_round.as_ref())?;
        Some(named(&round, process))
    };
    Ok(others.iter().filter_map(named).collect())
}

/// The round in a socket's name; `None` if the name has another form.
fn round_of(prefix: &str, name: &str) -> Option<Id> {
    let (round, process) = name.strip_prefix(prefix)?.rsplit_once('/')?;
    process.parse::<u32>().ok()?;
    Id::parse(round).ok()
}

/// The process that listens on `name`, if there is one. `own` is sent to it without waiting.
fn call(name: &str, own: Option<&Id>) -> Option<u32> {
    let socket = connect(name).ok()?;
    let process = system::peer_process(socket.as_fd()).ok()?;
    if let Some(own) = own {
        // If the other round does not read it, it sees this one in its own listing.
        let _ = rustix::io::write(&socket, own.as_str().as_bytes());
    }
    Some(process)
}

/// Connects without waiting: a listener that does not accept could block this process forever.
fn connect(name: &str) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
    Ok(socket)
}

fn listen(name: &str) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Waits for the gate. After the limit the gate is ignored: in the worst case two rounds begin at once, and each sees
/// the other.
fn pass_gate(prefix: &str) -> io::Result<Option<UnixListener>> {
    let begun = Instant::now();
    loop {
        match listen(&format!("{prefix}{GATE}")) {
            Ok(gate) => return Ok(Some(gate)),
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => return Err(error),
            Err(_) if begun.elapsed() > GATE_LIMIT => return Ok(None),
            Err(_) => std::thread::sleep(GATE_RETRY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A prefix for one test: rounds of other tests run on this machine too.
    fn prefix(test: &str) -> String {
        format!("paceline-test-{}-{test}/", std::process::id())
    }

    fn join(prefix: &str, round: &str, share: bool) -> JoinResult {
        Neighbours::join_as(prefix, &Id::parse(round).unwrap(), share).unwrap()
    }

    fn placed(prefix: &str, round: &str) -> Neighbours {
        match join(prefix, round, true) {
            JoinResult::Placed(neighbours, _) => neighbours,
            JoinResult::Occupied(others) => panic!("{others:?}"),
        }
    }

    fn named_here(round: &str) -> String {
        named(&Id::parse(round).unwrap(), std::process::id())
    }

    #[test]
    fn each_round_detects_the_other_running_rounds() {
        let prefix = prefix("live");
        let first = placed(&prefix, "r1");
        let alone = first.look();
        assert!(alone.others.is_empty());
        let second = placed(&prefix, "r2");
        assert_eq!(first.look().others, BTreeSet::from([named_here("r2")]));
        assert_eq!(second.since(second.look()), [named_here("r1")]);
        assert_eq!(first.since(alone), [named_here("r2")]);
    }

    #[test]
    fn a_round_starts_beside_another_only_if_allowed() {
        let prefix = prefix("share");
        let first = placed(&prefix, "r1");
        assert!(
            matches!(join(&prefix, "r2", false), JoinResult::Occupied(others) if others == [named_here("r1")])
        );
        drop(first);
        // A child process that another test is starting may hold a copy of the socket for a moment.
        while matches!(join(&prefix, "r2", false), JoinResult::Occupied(_)) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn simultaneous_rounds_are_ordered() {
        let prefix = prefix("race");
        let joined: Vec<JoinResult> = std::thread::scope(|scope| {
            let begin = |n: usize| {
                scope.spawn({
                    let prefix = &prefix;
                    move || join(prefix, &format!("r{n}"), false)
                })
            };
            let threads: Vec<_> = (0..8).map(begin).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(
            joined.iter().filter(|one| matches!(one, JoinResult::Placed(..))).count(),
            1,
            "{joined:?}"
        );
    }

    #[test]
    fn a_round_that_started_and_ended_meanwhile_is_named() {
        let prefix = prefix("gone");
        let first = placed(&prefix, "r1");
        let before = first.look();
        drop(placed(&prefix, "r2"));
        assert_eq!(first.since(before), [named_here("r2")]);
        // It is reported once: the pending connection has been accepted.
        while !first.look().others.is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let later = first.look();
        assert!(first.since(later).is_empty());
    }

    #[test]
    fn names_and_messages_of_other_users_are_not_printed() {
        let prefix = prefix("strange");
        let first = placed(&prefix, "r1");
        let _strange = ["\u{1b}[2J/7", "r9/x", "r9"].map(|name| listen(&format!("{prefix}{name}")).unwrap());
        let before = first.look();
        let stranger = connect(&first.own).unwrap();
        rustix::io::write(&stranger, b"\x1b[2J\nprocess 1").unwrap();
        assert!(first.since(before).is_empty());
    }
}
