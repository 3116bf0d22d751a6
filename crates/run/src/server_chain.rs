//! The processes behind the server: those on this machine that serve its connections, such as the application behind a
//! proxy and the database behind the application.
//!
//! They are unknown before the load, and connections to them may exist only during it. Therefore the CPU time of every
//! process that listens on a port is read when the window begins, and the connections when it ends.

use crate::server::ServerWatch;
use paceline_host::port;
use paceline_record::ServerUse;
use std::sync::Mutex;

/// The server, and the processes that may be behind it.
#[derive(Debug)]
pub struct ServerChain {
    front: ServerWatch,
    candidates: Vec<Candidate>,
    /// The candidates that are behind the server, in order, at the end of the window.
    behind: Mutex<Vec<usize>>,
}

#[derive(Debug)]
struct Candidate {
    ports: Vec<u16>,
    watch: ServerWatch,
}

impl ServerChain {
    /// The chain that begins with a server.
    pub(crate) fn of(front: ServerWatch) -> Self {
        let mut candidates: Vec<Candidate> = Vec::new();
        for (pid, ports) in port::listening_processes() {
            let is_own = pid == std::process::id().cast_signed() || front.roots().contains(&pid);
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
        Self { front, candidates, behind: Mutex::default() }
    }

    /// Reads the counters, at one end of the window.
    pub(crate) fn sample(&self, edge: usize) {
        self.front.sample(edge);
        if edge == 0 {
            self.candidates.iter().for_each(|candidate| candidate.watch.sample(0));
            return;
        }
        let found = if self.candidates.is_empty() { Vec::new() } else { self.find_behind() };
        found
            .iter()
            .filter_map(|at| self.candidates.get(*at))
            .for_each(|candidate| candidate.watch.sample(1));
        if let Ok(mut behind) = self.behind.lock() {
            *behind = found;
        }
    }

    /// The candidates to which the server has connections, those to which these have some, and so on.
    fn find_behind(&self) -> Vec<usize> {
        let connections = port::local_connections();
        let mut found: Vec<usize> = Vec::new();
        let mut pids = self.front.pids();
        let mut next = 0;
        loop {
            let ports = connections.ports_from(&pids);
            for (at, candidate) in self.candidates.iter().enumerate() {
                if !found.contains(&at) && candidate.ports.iter().any(|port| ports.contains(port)) {
                    found.push(at);
                }
            }
            let Some(at) = found.get(next) else { return found };
            pids = self.candidates[*at].watch.pids();
            next += 1;
        }
    }

    /// The use of the server over the window; `None` unless it was sampled at both ends.
    pub(crate) fn used(&self, window_s: f64, requests: u64) -> Option<ServerUse> {
        self.front.used(window_s, requests)
    }

    /// The use of the processes behind it, each server of the chain once.
    pub(crate) fn used_behind(&self, window_s: f64, requests: u64) -> Vec<ServerUse> {
        let behind = self.behind.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let watches = behind.iter().filter_map(|at| self.candidates.get(*at));
        watches.filter_map(|candidate| candidate.watch.used(window_s, requests)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_host::process;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::process::{Command, Stdio};

    /// A shell that holds the socket of a listener, as a server does, until its standard input ends.
    fn holder(of: impl Into<std::os::fd::OwnedFd>) -> std::process::Child {
        let mut holder = Command::new("sh")
            .args(["-c", "echo ready; read line; while :; do :; done"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(of.into()))
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        holder
    }

    #[test]
    fn the_processes_that_serve_the_connections_of_the_server_are_found() {
        let [application, database] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let to = |listener: &TcpListener| TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (to_application, to_database) = (to(&application), to(&database));
        let mut database = holder(database);
        let mut application = holder(application);
        let mut front = holder(to_application);
        // A bystander listens, and has no connection of the chain.
        let mut bystander = holder(TcpListener::bind("127.0.0.1:0").unwrap());
        let chain = ServerChain::of(ServerWatch::of_processes(&[front.id()]).unwrap());
        chain.sample(0);
        writeln!(application.stdin.as_ref().unwrap()).unwrap();
        let pid = application.id().cast_signed();
        while process::core_time(pid, pid).is_some_and(|times| times.on_core_ns < 50_000_000) {
            std::thread::yield_now();
        }
        chain.sample(1);
        let behind = chain.used_behind(1.0, 10);
        let pids: Vec<u32> = behind.iter().map(|used| used.pid).collect();
        // This process has the connection to the database, and is no part of the chain.
        assert_eq!(pids, [application.id()], "{behind:?}");
        assert!(behind[0].cpu_s > 0.02 && behind[0].name == "sh", "{behind:?}");
        drop(to_database);
        for child in [&mut front, &mut application, &mut database, &mut bystander] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}
