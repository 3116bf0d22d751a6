//! The processes behind the server: those on this machine that serve its connections, such as the application behind a
//! proxy and the database behind the application.
//!
//! They are unknown before the load, and connections to them may exist only during it, one for each request. Therefore
//! the CPU time of every process that listens on a port is read when the window begins, and a thread of the lowest
//! priority looks at the connections a few times during the window. Those that are reached through Unix sockets are not
//! watched: only the names of the sockets are noted.

use crate::server::ServerWatch;
use paceline_host::{MemoryAccount, WatchedProcesses, port, process};
use paceline_record::ServerUse;
use std::collections::BTreeSet;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How often the connections are looked at, and the pause before each look.
const MAX_LOOKS: u32 = 25;
const PAUSE: Duration = Duration::from_millis(20);

/// The server, and the processes that may be behind it.
#[derive(Debug)]
pub struct ServerChain {
    links: Arc<ChainLinks>,
    /// Dropped to end the search.
    search: Mutex<Option<Sender<()>>>,
}

#[derive(Debug)]
struct ChainLinks {
    front: ServerWatch,
    candidates: Vec<Candidate>,
    /// The candidates that are behind the server, in the order in which they were found.
    behind: Mutex<Vec<usize>>,
    /// The Unix sockets that the server, or one behind it, has connections to.
    unix_sockets: Mutex<BTreeSet<String>>,
}

#[derive(Debug)]
struct Candidate {
    ports: Vec<u16>,
    watch: ServerWatch,
}

impl ServerChain {
    /// The chain that begins with a server.
    pub(crate) fn from_front(front: ServerWatch) -> Self {
        let mut candidates: Vec<Candidate> = Vec::new();
        for (pid, ports) in port::listening_processes() {
            let is_own = pid == process::own() || front.roots().contains(&pid);
            let same =
                candidates.iter_mut().find(|known| known.ports.iter().any(|port| ports.contains(port)));
            match same {
                // Several processes that listen on one port are one server.
                Some(known) if !is_own => known.watch.add(pid),
                None if !is_own => candidates.push(Candidate { ports, watch: ServerWatch::behind(pid) }),
                _ => {}
            }
        }
        let of_front = front.pids();
        candidates.retain(|candidate| !candidate.watch.roots().iter().any(|root| of_front.contains(root)));
        candidates.iter_mut().for_each(|candidate| candidate.watch.fix_processes());
        let (behind, unix_sockets) = (Mutex::default(), Mutex::default());
        let links = ChainLinks { front, candidates, behind, unix_sockets };
        Self { links: Arc::new(links), search: Mutex::default() }
    }

    /// Reads the counters, at one end of the window.
    pub(crate) fn sample(&self, edge: usize) {
        self.links.front.sample(edge);
        if edge == 0 {
            self.links.candidates.iter().for_each(|candidate| candidate.watch.sample(0));
            self.begin_search();
            return;
        }
        drop(self.search.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.links.look();
        let found = self.links.behind().clone();
        self.links.of(&found).for_each(|candidate| candidate.watch.sample(1));
    }

    /// Looks at the connections during the window. Without a thread (`ulimit -u`) they are looked at once, at its end.
    fn begin_search(&self) {
        let (sender, stop) = mpsc::channel();
        let links = Arc::clone(&self.links);
        if thread::Builder::new().name("behind".to_owned()).spawn(move || links.search(&stop)).is_ok() {
            *self.search.lock().unwrap_or_else(PoisonError::into_inner) = Some(sender);
        }
    }

    /// The memory limit of the server, and the pressure on memory so far.
    pub(crate) fn memory(&self) -> MemoryAccount {
        MemoryAccount::from_pid(self.links.front.roots().first().copied())
    }

    /// The cores that the server may run on.
    pub(crate) fn cores(&self) -> Vec<u32> {
        self.links.front.cores()
    }

    /// The processes of the server with their descendants.
    pub(crate) fn processes(&self) -> Vec<i32> {
        self.links.front.pids()
    }

    /// The processes of the server, to be sampled during the run.
    pub(crate) fn watched(&self) -> WatchedProcesses {
        WatchedProcesses::new(self.links.front.roots().to_vec())
    }

    /// The use of the server over the window; `None` unless it was sampled at both ends.
    pub(crate) fn used(&self, window_s: f64, requests: u64) -> Option<ServerUse> {
        self.links.front.used(window_s, requests)
    }

    /// The Unix sockets that it, or a server behind it, had connections to in the window.
    pub(crate) fn unix_sockets(&self) -> Vec<String> {
        self.links.unix_sockets().iter().cloned().collect()
    }

    /// The use of the processes behind it, each server of the chain once.
    pub(crate) fn used_behind(&self, window_s: f64, requests: u64) -> Vec<ServerUse> {
        let found = self.links.behind().clone();
        let used = self.links.of(&found).filter_map(|candidate| candidate.watch.used(window_s, requests));
        used.collect()
    }
}

impl ChainLinks {
    fn behind(&self) -> MutexGuard<'_, Vec<usize>> {
        self.behind.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unix_sockets(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.unix_sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of<'l>(&'l self, found: &'l [usize]) -> impl Iterator<Item = &'l Candidate> {
        found.iter().filter_map(|at| self.candidates.get(*at))
    }

    fn search(&self, stop: &Receiver<()>) {
        process::run_thread_last();
        for _ in 0..MAX_LOOKS {
            if stop.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            self.look();
        }
    }

    /// Adds the candidates to which the server has connections now, those to which these have some, and so on.
    fn look(&self) {
        let mut pids = self.front.pids();
        let (connections, unix_connections) = (port::local_connections(), port::unix_connections());
        let mut next = 0;
        loop {
            let names = unix_connections.names_from(&pids);
            self.unix_sockets().extend(names);
            let ports = connections.ports_from(&pids);
            let mut behind = self.behind();
            for (at, candidate) in self.candidates.iter().enumerate() {
                if !behind.contains(&at) && candidate.ports.iter().any(|port| ports.contains(port)) {
                    behind.push(at);
                }
            }
            let Some(candidate) = behind.get(next).and_then(|at| self.candidates.get(*at)) else { return };
            pids = candidate.watch.pids();
            next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::tests::KilledOnDrop;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::process::{Command, Stdio};

    /// A shell that holds the socket of a listener, as a server does, until its standard input ends.
    fn holder(of: impl Into<std::os::fd::OwnedFd>) -> KilledOnDrop {
        let shell = Command::new("sh")
            .args(["-c", "echo ready; read line; while :; do :; done"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(of.into()))
            .spawn()
            .unwrap();
        let mut holder = KilledOnDrop(shell);
        let mut line = String::new();
        BufReader::new(holder.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        holder
    }

    #[test]
    fn the_processes_that_serve_the_connections_of_the_server_are_found() {
        let [application, database] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let to = |listener: &TcpListener| TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (to_application, to_database) = (to(&application), to(&database));
        let _database = holder(database);
        let application = holder(application);
        let front = holder(to_application);
        // A bystander listens, and has no connection of the chain.
        let _bystander = holder(TcpListener::bind("127.0.0.1:0").unwrap());
        let watch = ServerWatch::of_processes(&[front.pid().cast_unsigned()]).unwrap();
        let chain = ServerChain::from_front(watch);
        chain.sample(0);
        writeln!(application.0.stdin.as_ref().unwrap()).unwrap();
        let pid = application.pid();
        while process::core_time(pid, pid).is_some_and(|times| times.on_core_ns < 50_000_000) {
            std::thread::yield_now();
        }
        chain.sample(1);
        let behind = chain.used_behind(1.0, 10);
        let pids: Vec<u32> = behind.iter().map(|used| used.pid).collect();
        // This process has the connection to the database, and is no part of the chain.
        assert_eq!(pids, [pid.cast_unsigned()], "{behind:?}");
        assert!(behind[0].cpu_s > 0.02 && behind[0].name == "sh", "{behind:?}");
        drop(to_database);
    }
}
